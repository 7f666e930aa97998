/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared between the files of src/abi/uverbs: the open file, handles, the command in execution, the tables of commands. */
#ifndef RUSE_ABI_UVERBS_INTERNAL_H
#define RUSE_ABI_UVERBS_INTERNAL_H

#include <errno.h>
#include <string.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include "abi/uverbs/uverbs.h"
#include "core/umem.h"

/* A handle: an id and its object, owned by the uverbs_file. A failed create command frees both. */
struct uobj {
	uint32_t id;
	uint16_t kind;		/* enum uverbs_default_objects */
	bool live;		/* committed; lookups find only live handles */
	void *obj;		/* struct pd, mr, mw, ah, cq, qp or srq; NULL: destroyed */
	uint32_t async_reported, comp_reported;	/* events that the program has read; set when obj is destroyed */
	struct list_head entry;	/* uverbs_file.objs, newest first */
};

struct uverbs_file {
	struct ucontext *uctx;
	const struct uverbs_ops *host;
	const struct event_file_ops *ev_ops;
	struct idtable ids;	/* handles of all kinds */
	struct list_head objs;
	struct event_file **evs;	/* event files made by this file; holds references */
	uint32_t nevs, evs_size;
	bool has_context;
	bool gone;		/* disassociated */
};

/* Memory of the program: access it with user_*() or core/umem.h only. */
struct ubuf {
	uint64_t addr;
	size_t len;
};

/* An attribute passed by the program. */
struct attr_val {
	uint64_t data;
	uint16_t len, flags, index;	/* index: position in the program's array */
	bool present;
	struct uobj *obj;	/* for type ATTR_IDR */
	struct event_file *ev;	/* for type ATTR_FD */
};

#define MAX_ATTRS 20		/* at least the number of attributes of any method, UHW_IN and UHW_OUT included */

/* A command in execution, from write() or ioctl(). */
struct uverbs_req {
	struct uverbs_file *f;
	struct ubuf in, out;		/* core request and response of a write() command */
	struct ubuf drv_in, drv_out;	/* provider data */
	struct uobj *new_obj;		/* handle made by a write() command, for write_run() to commit */
	const char *name;		/* of the command, for the log */
	struct uobj gone;		/* copy of the handle that an ioctl method destroys */
	const struct method_spec *m;	/* NULL for write() */
	struct ib_uverbs_attr *uattrs;	/* the program's array */
	struct attr_val attr[MAX_ATTRS];	/* in the order of m->attrs */
};

typedef int (*uverbs_handler)(struct uverbs_req *r);

/* A row of a table of write() commands: write_rows has the plain ones, write_ex_rows the extended ones. */
struct write_row {
	const char *name;
	uint16_t req_size, resp_size;	/* core structs, without headers and provider data */
	bool has_resp, has_udata, enabled;
	uverbs_handler handler;
};

#define WRITE_ROWS 41
#define WRITE_EX_ROWS 58
extern const struct write_row write_rows[WRITE_ROWS], write_ex_rows[WRITE_EX_ROWS];

/* Finds the row of a command word. 0; *row is NULL if ruse lacks the command. -EINVAL: bad flag; -EOPNOTSUPP: rxe lacks it. */
int write_find(uint32_t command, bool *ex, const struct write_row **row);
/* Runs the handler, then commits the new object, or destroys it after an error. */
int write_run(struct uverbs_req *r, const struct write_row *row);

enum attr_type { ATTR_PTR_IN, ATTR_PTR_OUT, ATTR_IDR, ATTR_FD };
enum attr_access { ACC_NONE, ACC_READ, ACC_NEW, ACC_DESTROY };

struct attr_spec {
	uint16_t id;
	uint16_t min_len, max_len;
	uint8_t type, access, kind;	/* kind: enum uverbs_default_objects, for ATTR_IDR and ATTR_FD */
	bool mandatory, zero_tail;
	bool copied;		/* if the data is unreadable the parser fails with -EFAULT, as the kernel's, which copies it */
};

struct method_spec {
	const char *name;
	uint16_t object, method;
	bool enabled;
	uint8_t nattrs;
	const struct attr_spec *attrs;
	uverbs_handler handler;		/* NULL: a destroy method; ioctl_destroy_first() does all its work */
};

/* Row i of spec_device[] followed by spec_verbs[]; NULL after the last one. */
const struct method_spec *method_row(uint32_t i);
bool uverbs_kind_enabled(uint16_t kind);
/* Functions of obj.c. They return 0 or the -errno of the kernel's rdma_core.c. */
int uverbs_check_gone(const struct uverbs_file *f);	/* -EIO: gone; else 0 */
int uverbs_check_context(const struct uverbs_file *f);	/* -EIO: gone; -EINVAL: no context */
int uobj_alloc(struct uverbs_file *f, uint16_t kind, struct uobj **o);
void uobj_commit(struct uverbs_file *f, struct uobj *o);
/* Calls obj_shown(): an object was created or has changed. */
void uobj_changed(struct uverbs_file *f, uint16_t kind, void *obj);
void uobj_abort(struct uverbs_file *f, struct uobj *o);
int uobj_lookup(struct uverbs_file *f, uint16_t kind, int64_t id, bool destroying, struct uobj **o);
/* Destroys object and handle, or -errno. *gone (may be NULL) gets a copy with the event counts. */
int uobj_destroy(struct uverbs_file *f, struct uobj *o, struct uobj *gone);
int uobj_destroy_id(struct uverbs_file *f, uint16_t kind, uint32_t id, struct uobj *gone);
void uobj_destroy_all(struct uverbs_file *f, bool keep_handles);
/* Finds a handle of this kind and stores its object at obj, the address of a pointer (struct pd *, ...). 0 or -errno. */
int uobj_get(struct uverbs_file *f, uint16_t kind, uint32_t id, void *obj);

/* do_event.c */
int ev_lookup(struct uverbs_file *f, bool is_async, int64_t fd, struct event_file **ev);
int ev_install(struct uverbs_file *f, bool is_async, int *fd);
void ev_uninstall(struct uverbs_file *f, int fd);
void ev_forget_all(struct uverbs_file *f);
bool ev_has_descriptor(const struct uverbs_file *f, const struct event_file *ev);

/* io.c: copies by the kernel's rules for structs that may grow. 0, -EFAULT, -EOPNOTSUPP. */
int req_get(struct uverbs_req *r, void *cmd, size_t len);
int req_put(struct uverbs_req *r, const void *resp, size_t len);
uint32_t req_response_length(const struct uverbs_req *r, size_t len);
int user_get(void *dst, uint64_t addr, size_t len);
int user_put(uint64_t addr, const void *src, size_t len);
int user_clear(uint64_t addr, size_t len);
bool user_is_zero(uint64_t addr, size_t len);
/* The attribute of this id; NULL: the program has not passed it. */
const struct attr_val *attr_find(const struct uverbs_req *r, uint16_t id);
/* The program's memory with the data of an attribute; length 0: not passed. */
struct ubuf attr_buf(struct uverbs_req *r, uint16_t id, bool in);
int attr_get(const struct uverbs_req *r, uint16_t id, void *dst, size_t len);
int attr_const(const struct uverbs_req *r, uint16_t id, uint64_t max, uint64_t *v);
int attr_flags(const struct uverbs_req *r, uint16_t id, uint64_t allowed, uint32_t *v);
/* -ENOENT: not passed */
int attr_put(struct uverbs_req *r, uint16_t id, const void *src, size_t len);
int attr_put_struct(struct uverbs_req *r, uint16_t id, const void *src, size_t len);
int attr_set_output(struct uverbs_req *r, const struct attr_val *a);

#endif

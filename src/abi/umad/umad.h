/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /dev/infiniband/umadN and issmN (ABI 5) as functions: the bytes of a write(),
 * read() or ioctl() in, what the program gets out, with the sizes, the errno and
 * their order of Linux 6.1 user_mad.c. The host moves bytes and waits: nothing
 * here blocks. One umad_port a port of a device, over its mad_port.
 */
#ifndef RUSE_ABI_UMAD_UMAD_H
#define RUSE_ABI_UMAD_UMAD_H

#include <sys/types.h>
#include "mad/mad.h"

#define UMAD_ABI_VERSION 5
#define UMAD_MAX_AGENTS 32
#define UMAD_MAX_RECVS 200000	/* received MADs that wait in a file; more are dropped */

struct umad_port_ops {
	/* What creating an address handle for a send says: 0 or -errno (RoCE: -EINVAL without GRH). */
	int (*check_addr)(void *ctx, const struct mad_addr *a);
	/* Sets or clears IB_PORT_SM in the port's capability mask: 0 or -errno. */
	int (*set_sm)(void *ctx, bool sm);
};

struct umad_port {
	struct mad_port *mad;
	const struct umad_port_ops *ops;
	void *ctx;
	bool removed;			/* the device is gone */
	struct list_head files;
	struct umad_sm *sm;		/* who has issmN open */
	struct list_head sm_waiting;	/* in the order they came */
};

struct umad_file_ops {
	/* One more packet can be read; called from within anything that makes the MAD layer move. */
	void (*queued)(void *ctx);
	/* The device is gone: poll says POLLERR, a waiting read() is to be asked again (-EIO). */
	void (*dead)(void *ctx);
	/*
	 * A send is open from now on; is no more. mad: the headers of its MAD, with our half of the
	 * transaction ID. Both may be NULL.
	 */
	void (*begun)(void *ctx, const uint8_t *mad);
	void (*ended)(void *ctx, const uint8_t *mad);
};

struct umad_file;

/* mad, ops and ctx are set before. */
void umad_port_init(struct umad_port *p);
/*
 * The device goes: agents end, files and issm holders stay open but are dead.
 * The mad_port may be finished afterwards; the umad_port lives until all are closed.
 */
void umad_port_remove(struct umad_port *p, ns_t now);

/* open(): 0, -ENXIO on a removed port, -ENOMEM. */
int umad_open(struct umad_port *p, const struct umad_file_ops *ops, void *ctx,
	      struct umad_file **out);
/* The last close: agents end, packets nobody has read are gone. */
void umad_close(struct umad_file *f, ns_t now);

/*
 * write(): len, or -EINVAL (shorter than header + 36, agent id of 32 and more,
 * a MAD too long or too short for its class, the same transaction still open),
 * -EIO (no such agent, device gone), what check_addr() or the port says, -ENOMEM.
 */
ssize_t umad_write(struct umad_file *f, const void *buf, size_t len, ns_t now);

/*
 * read() into buf of count bytes: the length, or -EINVAL (no room for the
 * header, or for header and first segment), -EIO, -EAGAIN (nothing there: a
 * blocking reader waits for queued()), or -ENOSPC: header and first segment
 * are in buf, the length wanted in the header. The packet stays on any error.
 * *copied: bytes that belong into the program's buffer, whatever the outcome.
 */
ssize_t umad_read(struct umad_file *f, void *buf, size_t count, size_t *copied);
/* The program's buffer was not there (-EFAULT): the packet of the last successful read() is first again. */
void umad_unread(struct umad_file *f);
/* What read() of the next packet needs, 0 if there is none: for a host that allocates the buffer. */
size_t umad_next_len(const struct umad_file *f);
/* Of the header that packets have, 56 or 64. */
size_t umad_file_hdr_len(const struct umad_file *f);
/* Packets that can be read. */
uint32_t umad_pending(const struct umad_file *f);
/* Bits of poll(): always writable; readable if a packet waits; POLLERR alone once the device is gone. */
short umad_poll(const struct umad_file *f);

struct umad_answer {
	int rc;			/* 0 or -errno; -ENOTTY: no such command */
	uint32_t off, len;	/* bytes of the argument that go back to the program, also on error */
};

/*
 * ioctl(): arg is the argument's umad_ioctl_len() bytes, any alignment. In the
 * kernel's order: -EPIPE (removed), -EINVAL, -ENOMEM (32 agents), what
 * mad_agent_create() says.
 */
struct umad_answer umad_ioctl(struct umad_file *f, unsigned int cmd, void *arg, ns_t now);
/* Bytes that arg points to: 0 none; -1 no such command. */
int umad_ioctl_len(unsigned int cmd);
/* "REGISTER_AGENT"; NULL: no such command. */
const char *umad_ioctl_name(unsigned int cmd);

/* An open of issmN, the host's memory. */
struct umad_sm {
	struct list_head link;
	struct umad_port *port;
	void (*granted)(struct umad_sm *sm, int rc);	/* after -EINPROGRESS */
	bool waiting;
};

/*
 * open(issmN): 0, the port has the IsSM bit; -EAGAIN: nonblock, and another has
 * it; -EINPROGRESS: granted(0 or -errno) follows when that one is closed;
 * -ENXIO; what set_sm() says. Not open after -errno.
 */
int umad_sm_open(struct umad_port *p, struct umad_sm *sm, bool nonblock);
/* close(), or a waiting open() that was interrupted: the bit goes, the next in line is granted it. */
void umad_sm_close(struct umad_sm *sm);

#endif

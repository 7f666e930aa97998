/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Open rdma_cm files. The program has one end of a SOCK_SEQPACKET pair, rused the other. While the
 * shared memory of the file has events, the program's end has a byte to read. The hang-up after the
 * last close is seen by rused, even if the process that opened the file is gone.
 *
 * A closed file must release the rdma_cm ports to which its ids were bound before the next command is executed, as in
 * a kernel, although the close and the command arrive on different sockets. Therefore a command that fails with
 * "address in use" is repeated after a check for closed files (cmfiles_free_ports()).
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <rdma/rdma_user_cm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/netlink/nldev.h"
#include "abi/ucma/ucma.h"
#include "base/fds.h"
#include "base/log.h"
#include "base/memfd.h"
#include "base/rand.h"
#include "daemon/files/cmfile.h"
#include "daemon/state/port.h"
#include "daemon/state/process.h"
#include "fabrics/client.h"
#include "fabrics/cm.h"
#include "fabrics/fabrics.h"
#include "gsi/gsi.h"
#include "ipc/ucma_msg.h"
#include "cmshare/ucma_shm.h"

#define INDEX_BITS 12
#define TRIM_AFTER (3 * NS_S)	/* timewait has ended by then */
#define CAP_NET_BIND_SERVICE 10
#define WRITE_MAX (sizeof(struct rdma_ucm_cmd_hdr) + UINT16_MAX)

_Static_assert(CMFILES_MAX == 1 << INDEX_BITS, "an index of them");

struct cmfile {
	struct list_head node;	/* only for freeing */
	struct cmfiles *all;
	struct loop_fd f;
	struct ucma_file *file;
	struct list_head woken;	/* cmfiles.woken */
	struct fabric_cm *cm;	/* rdma_cm of the fabric host on which the file was opened; NULL: rdma_cm of the machine */
	uint32_t number;
	struct cmshare_file *shm;	/* shared with the program */
	int pid;		/* process that opened it */
	uint32_t poster;	/* number of the process that opened it or last sent IPC_UCMA_POST for it */
};

static struct ucma *cmfile_ucma(const struct cmfile *u)
{
	return u->cm ? u->cm->ucma : u->all->ucma;
}

/* Marks the file for cmfiles_flush(). */
static void cmfile_mark(void *ctx, void *host, unsigned int n)
{
	struct cmfile *u = host;

	if (list_empty(&u->woken))
		list_add_tail(&u->woken, &u->all->woken);
}

const struct ucma_ops cmfile_ucma_ops = { .added_events = cmfile_mark, .pid = cmfile_pid };

/* Returns free memory to the kernel some time after files were closed. */
void cmfiles_trim(struct timer *t, ns_t now)
{
	struct cmfiles *us = container_of(t, struct cmfiles, trim);

	if (!ucma_ids(us->ucma))
		madvise(us->recs, CMSHARE_RECS * sizeof(struct cmshare_rec), MADV_REMOVE);
	malloc_trim(0);
}

/*
 * Creates the shared memory of the id records (struct cmshare_rec), where programs read the state of
 * their rdma_cm ids. Programs get a read-only descriptor. Sealing the memory against writes would
 * also prevent MADV_REMOVE, which frees it.
 */
int cmfiles_recs_make(struct cmfiles *us)
{
	char path[40];
	int fd;

	us->recs = memfd_new("ruse-cm-recs", CMSHARE_RECS * sizeof(struct cmshare_rec), &fd);
	if (!us->recs)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	us->recs_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (us->recs_fd < 0)
		us->recs_fd = fd;
	else
		close(fd);
	ucma_share(us->ucma, us->recs);
	return 0;
}

void cmfiles_recs_free(struct cmfiles *us)
{
	if (!us->recs)
		return;
	munmap(us->recs, CMSHARE_RECS * sizeof(struct cmshare_rec));
	close(us->recs_fd);
	us->recs = NULL;
}

void cmfiles_flush(struct cmfiles *us)
{
	if (us->ucma)
		ucma_flush(us->ucma);
	/* Also flush the rdma_cm of the fabric host on which each woken file was opened. */
	while (!list_empty(&us->woken)) {
		struct cmfile *u = list_first_entry(&us->woken, struct cmfile, woken);

		list_del(&u->woken);
		ucma_flush(cmfile_ucma(u));
	}
}

static void cmfile_close(struct cmfile *u)
{
	struct cmfiles *us = u->all;

	idtable_remove(&us->ids, u->number & (CMFILES_MAX - 1));
	ucma_file_close(u->file);
	list_del(&u->woken);
	if (u->cm)
		fabric_cm_put(u->cm);
	munmap(u->shm, sizeof(*u->shm));
	loop_del(us->loop, &u->f);
	/* If the timer cannot be set, the memory is not returned. */
	timer_set(&us->loop->timers, &us->trim, us->loop->now + TRIM_AFTER);
	list_add_tail(&u->node, &us->loop->dead);
}

_Static_assert(offsetof(struct cmfile, node) == 0, "freed by its node");

static struct cmfile *cmfile_find(const struct cmfiles *us, uint32_t number);

/*
 * Closes a file after its hang-up. Commands that the program sent before the close without waiting for an answer
 * (IPC_UCMA_POST) arrive through another channel, that of the process, so they are handled first.
 */
static void cmfile_hang_up(struct cmfile *u)
{
	u->all->ops->drain(u->all->ctx, u->poster);
	/* cmfiles_sweep(), called for one of these commands, may have closed the file. */
	if (cmfile_find(u->all, u->number) == u)
		cmfile_close(u);
}

/* Programs write through IPC_UCMA_WRITE. Bytes sent to the socket in other ways are dropped. */
static void cmfile_event(struct loop_fd *f, uint32_t events)
{
	struct cmfile *u = container_of(f, struct cmfile, f);
	char c;

	if (recv(f->fd, &c, sizeof(c), MSG_DONTWAIT | MSG_TRUNC) > 0)
		return;
	if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
		cmfile_hang_up(u);
}

int cmfile_pid(const void *host)
{
	return host ? ((const struct cmfile *)host)->pid : 0;
}

void cmfiles_close_all(struct cmfiles *us)
{
	struct cmfile *u;

	for (uint32_t i = 0; (u = idtable_next(&us->ids, &i)); i++)
		cmfile_close(u);
}

/* Closes files whose hang-up was not handled yet. True: there were some. */
static bool cmfiles_sweep(struct cmfiles *us)
{
	struct cmfile *u;
	bool any = false;

	for (uint32_t i = 0; (u = idtable_next(&us->ids, &i)); i++) {
		char c;

		if (!recv(u->f.fd, &c, sizeof(c), MSG_PEEK | MSG_DONTWAIT)) {
			cmfile_close(u);
			any = true;
		}
	}
	return any;
}

/*
 * Handles closed files and commands sent without waiting for an answer (IPC_UCMA_POST). Both may free ports of
 * rdma_cm ids. True: there were some.
 */
static bool cmfiles_free_ports(struct cmfiles *us)
{
	bool posted = us->ops->drain_posted(us->ctx);

	return cmfiles_sweep(us) || posted;
}

/* True if the process has CAP_NET_BIND_SERVICE. */
static bool cmfile_may_bind(pid_t pid)
{
	unsigned long long caps = 0;
	char path[40], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	if (!f)
		return geteuid() == 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	fclose(f);
	return caps >> CAP_NET_BIND_SERVICE & 1;
}

/* Creates the file. 0: fd, rused's end of the socket pair, is taken over; -errno: the caller still owns fd. */
static int cmfile_new(struct cmfiles *us, struct process *pr, int fd, struct cmfile *u,
		      uint32_t *number)
{
	int64_t id;
	int rc;

	/* 0 is not used as a number. */
	id = idtable_alloc_cyclic(&us->ids, 1, u);
	if (id < 0)
		return id == -ENOSPC ? -EMFILE : (int)id;
	u->all = us;
	list_init(&u->woken);
	u->pid = pr->pid;
	u->poster = pr->proc;
	u->number = rand_u32() << INDEX_BITS | (uint32_t)id;
	u->f.fn = cmfile_event;
	u->shm->generation = us->page->generation;
	u->shm->number = u->number;
	u->cm = pr->fabric->host ? pr->fabric->host->cm : NULL;
	u->file = ucma_file_open(u->cm ? u->cm->ucma : us->ucma, u, cmfile_may_bind(pr->pid));
	rc = u->file ? loop_add(us->loop, &u->f, fd, EPOLLIN | EPOLLRDHUP) : -ENOMEM;
	if (rc) {
		if (u->file)
			ucma_file_close(u->file);
		idtable_remove(&us->ids, (uint32_t)id);
		return rc;
	}
	ucma_file_share(u->file, u->shm, fd);
	if (u->cm)
		fabric_cm_get(u->cm);
	*number = u->number;
	return 0;
}

int cmfile_open(struct cmfiles *us, struct process *pr, uint32_t *number, int fds[CMFILE_OPEN_FDS])
{
	struct cmfile *u;
	int sv[2], rc = 0;

	/* The fabric was removed. */
	if (pr->fabric->number && !pr->fabric->host)
		return -ENODEV;
	/*
	 * RoCE connections to other hosts use UDP port 4791. If it cannot be opened, connections within this host still
	 * work. A host of an InfiniBand fabric (pr->fabric->host) does not use UDP.
	 */
	if (!pr->fabric->host)
		(void)port_want(us->port);
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	rc = fds_pair(SOCK_SEQPACKET | SOCK_CLOEXEC, sv);
	if (rc)
		goto free;
	u->shm = memfd_new("ruse-cm-file", sizeof(*u->shm), &fds[1]);
	if (!u->shm) {
		rc = fds[1];
		goto close;
	}
	rc = cmfile_new(us, pr, sv[0], u, number);
	if (rc)
		goto unmap;
	fds[0] = sv[1];
	return 0;
unmap:
	munmap(u->shm, sizeof(*u->shm));
	close(fds[1]);
close:
	close(sv[0]);
	close(sv[1]);
free:
	free(u);
	return rc;
}

/* The command number of a write(); an invalid number if the write is too short. */
static uint32_t cmfile_command(const void *body, size_t len)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = UINT32_MAX };

	if (len >= sizeof(hdr))
		memcpy(&hdr, body, sizeof(hdr));
	return hdr.cmd;
}

static struct cmfile *cmfile_find(const struct cmfiles *us, uint32_t number)
{
	struct cmfile *u = idtable_find(&us->ids, number & (CMFILES_MAX - 1));

	return u && u->number == number ? u : NULL;
}

/* `ruse run --shake` of the program: the message that this command sends is late. */
static void cmfile_late(struct gsi_late *late, const struct ipc_ucma *q, uint32_t nr)
{
	if (nr != RDMA_USER_CM_CMD_CONNECT && nr != RDMA_USER_CM_CMD_ACCEPT &&
	    nr != RDMA_USER_CM_CMD_DISCONNECT)
		return;
	late->wait = min(q->aux & ~IPC_UCMA_TWICE, IPC_UCMA_LATE) * NS_US;
	late->twice = q->aux & IPC_UCMA_TWICE;
}

int cmfile_write(struct cmfiles *us, const struct ipc_ucma *q, const void *body, size_t opt,
		 struct ipc_ucma_reply *reply, void *response, size_t *rlen)
{
	static uint8_t longest[WRITE_MAX];	/* a write() of more bytes than rused was sent: these bytes, then zeros */
	struct cmfile *u = cmfile_find(us, q->file), *from = NULL;
	struct ucma_cmd cmd = { .buf = body, .len = q->len, .from_err = q->aux_error };
	uint32_t nr = cmfile_command(body, q->len);
	struct ucma_reply ans;
	ssize_t ret;

	if (!u)
		return -EBADF;
	if (q->count > q->len) {
		memset(longest, 0, sizeof(longest));
		memcpy(longest, body, q->len);
		cmd.buf = longest;
		cmd.len = min(q->count, WRITE_MAX);
	}
	if (!q->aux_error && nr == RDMA_USER_CM_CMD_SET_OPTION) {
		cmd.opt = (const uint8_t *)body + q->len;
		cmd.opt_len = opt;
	}
	if (!q->aux_error && nr == RDMA_USER_CM_CMD_MIGRATE_ID) {
		from = cmfile_find(us, q->aux);
		/* Ids cannot move to another host. */
		if (from && from->cm != u->cm)
			from = NULL;
		cmd.from = from ? from->file : NULL;
		cmd.from_err = from ? 0 : -EINVAL;
	}
	cmfile_late(&us->gsi->late, q, nr);
	ret = ucma_write(u->file, &cmd, &ans);
	us->gsi->late.wait = 0;
	if ((ret == -EADDRINUSE || ret == -EADDRNOTAVAIL) && cmfiles_free_ports(us))
		ret = ucma_write(u->file, &cmd, &ans);
	reply->ret = ret < 0 ? (int32_t)ret : 0;
	ucma_flush(cmfile_ucma(u));
	if (ret < 0) {
		*rlen = ans.why.id ? sizeof(ans.why) : 0;
		memcpy(response, &ans.why, *rlen);
		return 0;
	}
	*rlen = min(ans.len, (uint32_t)sizeof(ans.data));
	memcpy(response, ans.data, *rlen);
	return 0;
}

void cmfile_write_posted(struct cmfiles *us, struct process *pr, const struct ipc_ucma *q,
			 const void *body)
{
	static struct ucma_reply scratch;
	struct ucma_cmd cmd = { .buf = body, .len = q->len };
	struct cmfile *u = cmfile_find(us, q->file);

	if (!u)
		return;
	u->poster = pr->proc;
	cmfile_late(&us->gsi->late, q, cmfile_command(body, q->len));
	ucma_write_posted(u->file, &cmd, &scratch);
	us->gsi->late.wait = 0;
	cmfile_mark(us, u, 0);
}

void cmfiles_stuck(struct cmfiles *us, int pid, ucma_stuck_fn fn, void *arg)
{
	struct cmfile *u;

	for (uint32_t i = 0; (u = idtable_next(&us->ids, &i)); i++)
		if (u->pid == pid)
			ucma_file_stuck(u->file, fn, arg);
}

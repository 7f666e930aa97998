/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Open rdma_cm files. The program has one end of a SOCK_SEQPACKET pair, rused the other. While the
 * shared memory of the file has events, the program's end has a byte to read. The hang-up after the
 * last close is seen by rused, even if the process that opened the file is gone.
 *
 * A closed file must release the rdma_cm ports to which its ids were bound before the next command is executed, as in
 * a kernel, although the close and the command arrive on different sockets. Therefore a command that fails with
 * "address in use" is repeated after a check for closed files (ucma_free_ports()).
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
#include "daemon/channels.h"
#include "daemon/clients.h"
#include "daemon/port.h"
#include "daemon/ucma.h"
#include "fabrics/cm.h"
#include "fabrics/fabrics.h"
#include "ipc/ucma_msg.h"
#include "ipc/ucma_shm.h"

#define INDEX_BITS 12
#define TRIM_AFTER (3 * NS_S)	/* timewait has ended by then */
#define CAP_NET_BIND_SERVICE 10
#define WRITE_MAX (sizeof(struct rdma_ucm_cmd_hdr) + UINT16_MAX)

_Static_assert(UCMA_MAX_FILES == 1 << INDEX_BITS, "an index of them");

struct ucma_fd {
	struct list_head node;	/* only for freeing */
	struct ucma_files *all;
	struct loop_fd f;
	struct ucma_file *file;
	struct list_head woken;	/* ucma_files.woken */
	struct fabric_cm *cm;	/* rdma_cm of the fabric host on which the file was opened; NULL: rdma_cm of the machine */
	uint32_t number;
	struct ucma_shm *shm;	/* shared with the program */
	int pid;		/* process that opened it */
	uint32_t poster;	/* number of the process that opened it or last sent IPC_UCMA_POST for it */
};

static struct ucma *ucma_of(const struct ucma_fd *u)
{
	return u->cm ? u->cm->ucma : u->all->ucma;
}

/* Marks the file for ucma_settle(). */
static void ucma_fd_wake(void *ctx, void *host, unsigned int n)
{
	struct ucma_fd *u = host;

	if (list_empty(&u->woken))
		list_add_tail(&u->woken, &u->all->woken);
}

const struct ucma_ops ucma_fd_ops = { .wake = ucma_fd_wake, .pid = ucma_pid };

/* Returns free memory to the kernel some time after files were closed. */
void ucma_trim(struct timer *t, ns_t now)
{
	struct ucma_files *us = container_of(t, struct ucma_files, trim);

	if (!ucma_ids(us->ucma))
		madvise(us->cards, UCMA_CARDS * sizeof(struct ucma_card), MADV_REMOVE);
	malloc_trim(0);
}

/*
 * Creates the shared memory of the id cards (struct ucma_card), where programs read the state of
 * their rdma_cm ids. Programs get a read-only descriptor. Sealing the memory against writes would
 * also prevent MADV_REMOVE, which frees it.
 */
int ucma_cards_make(struct ucma_files *us)
{
	char path[40];
	int fd;

	us->cards = memfd_new("ruse-cm-cards", UCMA_CARDS * sizeof(struct ucma_card), &fd);
	if (!us->cards)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	us->cards_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (us->cards_fd < 0)
		us->cards_fd = fd;
	else
		close(fd);
	ucma_share(us->ucma, us->cards);
	return 0;
}

void ucma_cards_free(struct ucma_files *us)
{
	if (!us->cards)
		return;
	munmap(us->cards, UCMA_CARDS * sizeof(struct ucma_card));
	close(us->cards_fd);
	us->cards = NULL;
}

void ucma_settle(struct ucma_files *us)
{
	if (us->ucma)
		ucma_flush(us->ucma);
	/* Also flush the rdma_cm of the fabric host on which each woken file was opened. */
	while (!list_empty(&us->woken)) {
		struct ucma_fd *u = list_first_entry(&us->woken, struct ucma_fd, woken);

		list_del(&u->woken);
		ucma_flush(ucma_of(u));
	}
}

static void ucma_fd_close(struct ucma_fd *u)
{
	struct ucma_files *us = u->all;

	idtable_remove(&us->ids, u->number & (UCMA_MAX_FILES - 1));
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

_Static_assert(offsetof(struct ucma_fd, node) == 0, "freed by its node");

static struct ucma_fd *ucma_fd_find(const struct ucma_files *us, uint32_t number);

/*
 * Closes a file after its hang-up. Commands that the program sent before the close without waiting for an answer
 * (IPC_UCMA_POST) arrive through another channel, that of the process, so they are handled first.
 */
static void ucma_fd_hang_up(struct ucma_fd *u)
{
	struct client *poster = client_by_proc(u->all->clients, u->poster);

	if (poster)
		client_drain(poster);
	/* ucma_fd_sweep(), called for one of these commands, may have closed the file. */
	if (ucma_fd_find(u->all, u->number) == u)
		ucma_fd_close(u);
}

/* Programs write through IPC_UCMA_WRITE. Bytes sent to the socket in other ways are dropped. */
static void ucma_fd_event(struct loop_fd *f, uint32_t events)
{
	struct ucma_fd *u = container_of(f, struct ucma_fd, f);
	char c;

	if (recv(f->fd, &c, sizeof(c), MSG_DONTWAIT | MSG_TRUNC) > 0)
		return;
	if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
		ucma_fd_hang_up(u);
}

int ucma_pid(const void *host)
{
	return host ? ((const struct ucma_fd *)host)->pid : 0;
}

void ucma_close_all(struct ucma_files *us)
{
	struct ucma_fd *u;

	for (uint32_t i = 0; (u = idtable_next(&us->ids, &i)); i++)
		ucma_fd_close(u);
}

/* Closes files whose hang-up was not handled yet. True: there were some. */
static bool ucma_fd_sweep(struct ucma_files *us)
{
	struct ucma_fd *u;
	bool any = false;

	for (uint32_t i = 0; (u = idtable_next(&us->ids, &i)); i++) {
		char c;

		if (!recv(u->f.fd, &c, sizeof(c), MSG_PEEK | MSG_DONTWAIT)) {
			ucma_fd_close(u);
			any = true;
		}
	}
	return any;
}

/*
 * Handles closed files and commands sent without waiting for an answer (IPC_UCMA_POST). Both may free ports of
 * rdma_cm ids. True: there were some.
 */
static bool ucma_free_ports(struct ucma_files *us)
{
	bool posted = channels_drain(us->channels);

	return ucma_fd_sweep(us) || posted;
}

/* True if the process has CAP_NET_BIND_SERVICE. */
static bool ucma_may_bind(pid_t pid)
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
static int ucma_fd_new(struct ucma_files *us, struct client *c, int fd, struct ucma_fd *u,
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
	u->pid = c->pid;
	u->poster = c->proc;
	u->number = rand_u32() << INDEX_BITS | (uint32_t)id;
	u->f.fn = ucma_fd_event;
	u->shm->generation = us->page->generation;
	u->shm->number = u->number;
	u->cm = c->fabric.host ? c->fabric.host->cm : NULL;
	u->file = ucma_file_open(u->cm ? u->cm->ucma : us->ucma, u, ucma_may_bind(c->pid));
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

int ucma_open(struct ucma_files *us, struct client *c, uint32_t *number, int fds[UCMA_OPEN_FDS])
{
	struct ucma_fd *u;
	int sv[2], rc = 0;

	/* The fabric was removed. */
	if (c->fabric.number && !c->fabric.host)
		return -ENODEV;
	/*
	 * RoCE connections to other hosts use UDP port 4791. If it cannot be opened, connections within this host still
	 * work. A host of an InfiniBand fabric (c->fabric_host) does not use UDP.
	 */
	if (!c->fabric.host)
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
	rc = ucma_fd_new(us, c, sv[0], u, number);
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
static uint32_t ucma_command(const void *body, size_t len)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = UINT32_MAX };

	if (len >= sizeof(hdr))
		memcpy(&hdr, body, sizeof(hdr));
	return hdr.cmd;
}

static struct ucma_fd *ucma_fd_find(const struct ucma_files *us, uint32_t number)
{
	struct ucma_fd *u = idtable_find(&us->ids, number & (UCMA_MAX_FILES - 1));

	return u && u->number == number ? u : NULL;
}

int ucma_call(struct ucma_files *us, const struct ipc_ucma *q, const void *body, size_t opt,
	      struct ipc_ucma_reply *reply, void *response, size_t *rlen)
{
	static uint8_t longest[WRITE_MAX];	/* a write() of more bytes than rused was sent: these bytes, then zeros */
	struct ucma_fd *u = ucma_fd_find(us, q->file), *from = NULL;
	struct ucma_cmd cmd = { .buf = body, .len = q->len, .from_err = q->aux_error };
	uint32_t nr = ucma_command(body, q->len);
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
		from = ucma_fd_find(us, q->aux);
		/* Ids cannot move to another host. */
		if (from && from->cm != u->cm)
			from = NULL;
		cmd.from = from ? from->file : NULL;
		cmd.from_err = from ? 0 : -EINVAL;
	}
	ret = ucma_write(u->file, &cmd, &ans);
	if ((ret == -EADDRINUSE || ret == -EADDRNOTAVAIL) && ucma_free_ports(us))
		ret = ucma_write(u->file, &cmd, &ans);
	reply->ret = ret < 0 ? (int32_t)ret : 0;
	ucma_flush(ucma_of(u));
	if (ret < 0) {
		*rlen = ans.why.id ? sizeof(ans.why) : 0;
		memcpy(response, &ans.why, *rlen);
		return 0;
	}
	*rlen = min(ans.len, (uint32_t)sizeof(ans.data));
	memcpy(response, ans.data, *rlen);
	return 0;
}

void ucma_posted(struct ucma_files *us, struct client *c, const struct ipc_ucma *q,
		 const void *body)
{
	static struct ucma_reply scratch;
	struct ucma_cmd cmd = { .buf = body, .len = q->len };
	struct ucma_fd *u = ucma_fd_find(us, q->file);

	if (!u)
		return;
	u->poster = c->proc;
	ucma_post(u->file, &cmd, &scratch);
	ucma_fd_wake(us, u, 0);
}

void ucma_stuck(struct ucma_files *us, int pid, ucma_wait_fn fn, void *arg)
{
	struct ucma_fd *u;

	for (uint32_t i = 0; (u = idtable_next(&us->ids, &i)); i++)
		if (u->pid == pid)
			ucma_file_stuck(u->file, fn, arg);
}

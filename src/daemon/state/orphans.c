/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blocks of QP numbers that an earlier rused leased to processes (lease.h).
 *
 * RUN/leases has one record per block of QP numbers. A record is written at every change of the
 * lease, so the file is complete even after kill -9. The next rused keeps each leased block
 * reserved until its process reclaims it by number, or dies. A process is identified by PID and
 * start time, as PIDs are reused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/proc.h"
#include "daemon/state/lease.h"
#include "daemon/state/orphans.h"
#include "daemon/state/port.h"
#include "loop/loop.h"

struct record {
	int32_t pid;		/* process that leases the block of QP numbers; 0: none; -1: its PID is unknown */
	uint32_t slot;		/* index of the block's UDP socket (slot, port.h); 0: none */
	uint64_t start;		/* start time of the process, clock ticks since boot */
};

struct orphan {
	struct list_head node;
	struct orphans *all;
	struct loop_fd pidfd;
	uint32_t block;
};

void orphans_init(struct orphans *os, struct loop *l, struct lease_table *leases,
		  struct port *port)
{
	*os = (struct orphans){ .loop = l, .leases = leases, .port = port, .file = -1 };
	list_init(&os->list);
}

void orphans_record(void *arg, uint32_t block, const struct lease *l)
{
	struct orphans *os = arg;
	struct record rec = { 0 };

	if (os->file < 0)
		return;
	if (l->proc || l->orphan) {
		rec.pid = l->pid > 0 ? l->pid : -1;
		rec.start = l->pid > 0 ? proc_start_time(l->pid) : 0;
		rec.slot = l->slot;
	}
	if (pwrite(os->file, &rec, sizeof(rec), (off_t)(block * sizeof(rec))) !=
	    (ssize_t)sizeof(rec))
		log_warn("cannot record the lease of number block %u: %m", block);
}

static void orphan_died(struct loop_fd *f, uint32_t events)
{
	struct orphan *o = container_of(f, struct orphan, pidfd);

	lease_orphan_died(o->all->leases, o->block, o->all->loop->now);
	port_steer(o->all->port);
	loop_del(o->all->loop, &o->pidfd);
	list_del(&o->node);
	list_add_tail(&o->node, &o->all->loop->dead);
}

/* Keeps a block of QP numbers reserved for the process that leased it. False: the process is dead. */
static bool orphan_adopt(struct orphans *os, uint32_t block, const struct record *rec)
{
	struct orphan *o;
	int fd;

	if (rec->pid <= 0) {
		/* The end of a process of unknown PID cannot be observed: keep its block as long as this rused runs. */
		lease_orphan(os->leases, block, 0, rec->slot);
		return true;
	}
	fd = (int)syscall(SYS_pidfd_open, rec->pid, 0);
	if ((fd < 0 && errno == ESRCH) || proc_start_time(rec->pid) != rec->start) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	/* Without a pidfd (seccomp filter, no free descriptor) the block is kept as long as this rused runs. */
	o = fd < 0 ? NULL : calloc(1, sizeof(*o));
	if (!o || loop_add(os->loop, &o->pidfd, fd, EPOLLIN)) {
		if (fd >= 0)
			close(fd);
		free(o);
		lease_orphan(os->leases, block, rec->pid, rec->slot);
		return true;
	}
	o->all = os;
	o->block = block;
	o->pidfd.fn = orphan_died;
	list_add_tail(&o->node, &os->list);
	lease_orphan(os->leases, block, rec->pid, rec->slot);
	log_info("number block %u still belongs to pid %d", block, rec->pid);
	return true;
}

bool orphans_alive(int run)
{
	struct record recs[LEASE_BLOCKS] = { 0 };
	int fd = openat(run, ORPHANS_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return errno != ENOENT;
	n = pread(fd, recs, sizeof(recs), 0);
	close(fd);
	for (uint32_t b = 1; n > 0 && b < (size_t)n / sizeof(recs[0]); b++)
		if (recs[b].pid < 0 || (recs[b].pid &&
					proc_start_time(recs[b].pid) == recs[b].start))
			return true;
	return n < 0;
}

int orphans_load(struct orphans *os, int run)
{
	struct record recs[LEASE_BLOCKS] = { 0 };
	ssize_t n;
	uint32_t b;
	int fd;

	fd = openat(run, ORPHANS_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	n = pread(fd, recs, sizeof(recs), 0);
	if (ftruncate(fd, sizeof(recs))) {
		close(fd);
		return -errno;
	}
	os->file = fd;
	/*
	 * orphan_adopt() writes the same record again, and lease_changed() clears that of a dead process.
	 * Each record is overwritten in place, so if rused is killed here, the file still has the
	 * leases of all living processes.
	 */
	for (b = 1; n > 0 && b < (size_t)n / sizeof(recs[0]); b++)
		if (recs[b].pid && !orphan_adopt(os, b, &recs[b]))
			lease_changed(os->leases, b);
	return 0;
}

int orphans_save(struct orphans *os, int run)
{
	int fd = openat(run, ORPHANS_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			0600);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, LEASE_BLOCKS * sizeof(struct record))) {
		close(fd);
		return -errno;
	}
	if (os->file >= 0)
		close(os->file);
	os->file = fd;
	for (uint32_t b = 1; b < LEASE_BLOCKS; b++)
		if (os->leases->block[b].proc || os->leases->block[b].orphan)
			lease_changed(os->leases, b);
	return 0;
}

void orphans_fini(struct orphans *os, int run, bool ours)
{
	struct orphan *o, *t;

	list_for_each_entry_safe(o, t, &os->list, node) {
		loop_del(os->loop, &o->pidfd);
		list_del(&o->node);
		free(o);
	}
	if (os->file >= 0)
		close(os->file);
	os->file = -1;
	/* Keep the file if processes still use leased blocks: the next rused must know of them. */
	if (ours && !lease_any(os->leases))
		unlinkat(run, ORPHANS_NAME, 0);
}

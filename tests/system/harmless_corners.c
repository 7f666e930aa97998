/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rare uses of memory (harmless.c): allocation under locks of libc while another thread forks, descriptors that are closed
 * by system calls, code that is written by a debugger's ways, segments attached over a block, paths that are no pointers.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "harmless.h"
#include "verbs.h"

static atomic_bool enough;
static atomic_int bad_blocks;

/* Called with libc's lock of all streams held. A block lives from one call to the next, so some live across a fork(). */
static ssize_t write_stream(void *cookie, const char *buf, size_t len)
{
	static uint8_t *kept[SOURCES];

	(void)cookie;
	(void)buf;
	for (enum source s = 0; s < SOURCES; s++) {
		if (kept[s]) {
			bad_blocks += !h_holds(kept[s], 4, 20 * PG);
			h_put(s, kept[s], 20 * PG);
		}
		kept[s] = h_filled(s, 20 * PG, 4);
		if (madvise(h_page(kept[s]), PG, MADV_WILLNEED))
			bad_blocks++;
	}
	return (ssize_t)len;
}

static void *flush_streams(void *arg)
{
	while (!enough) {
		fputc('x', arg);
		fflush(NULL);
	}
	return arg;
}

/* The child uses its memory of each kind. */
static int use_all(void *arg)
{
	uint8_t **p = arg;

	for (enum source s = 0; s < SOURCES; s++) {
		if (!h_holds(p[s], (uint8_t)(s + 1), MB))
			return 10 + (int)s;
		h_put(s, p[s], MB);
		h_put(s, h_filled(s, MB, 9), MB);
	}
	return 7;
}

/* One thread flushes all streams, whose callback allocates and frees; others fork. */
static void *fork_often(void *arg)
{
	long bad = 0;

	for (int i = 0; i < 200 && h_has_time(); i++)
		bad += h_in_child(use_all, arg) != 7;
	return (void *)bad;
}

static void fork_beside_flush(FILE *f)
{
	pthread_t flusher, forker;
	uint8_t *p[SOURCES];
	void *bad;

	for (enum source s = 0; s < SOURCES; s++)
		p[s] = h_filled(s, MB, (uint8_t)(s + 1));
	if (!f || pthread_create(&flusher, NULL, flush_streams, f) ||
	    pthread_create(&forker, NULL, fork_often, p))
		die("no stream, no thread");
	say("%ld bad children", (long)fork_often(p));
	pthread_join(forker, &bad);
	say("%ld bad children of a thread", (long)bad);
	enough = true;
	pthread_join(flusher, NULL);
}

static void stdio_fork(void)
{
	cookie_io_functions_t io = { .write = write_stream };

	fork_beside_flush(fopencookie(NULL, "w", io));
	say("%d bad blocks", bad_blocks);
}

/* Commands, doorbells and polls on a device, with libc's lock of all streams held. */
static ssize_t use_device(void *cookie, const char *buf, size_t len)
{
	static uint8_t byte;
	struct vctx *v = cookie;
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct ibv_send_wr sr = { .opcode = IBV_WR_SEND }, *bads;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	(void)buf;
	if (!has_device)
		return (ssize_t)len;
	mr = ibv_reg_mr(v->pd, &byte, 1, IBV_ACCESS_LOCAL_WRITE);
	bad_blocks += !mr || ibv_dereg_mr(mr);
	if (ibv_post_recv(v->qp, &wr, &bad) || ibv_post_send(v->qp, &sr, &bads))
		bad_blocks += ibv_poll_cq(v->cq, 1, &wc) < 0;
	bad_blocks += ibv_req_notify_cq(v->cq, 0) != 0;
	return (ssize_t)len;
}

/* As stdio_fork(), but the callback uses a device. */
static void verbs_fork(void)
{
	cookie_io_functions_t io = { .write = use_device };
	struct vctx v = { .sock = -1 };

	if (has_device) {
		v_open(&v, &vcfg_default);
		v_connect_self(&v, v.qp, v_qp(&v));
	}
	fork_beside_flush(fopencookie(&v, "w", io));
	say("%d bad calls", bad_blocks);
}

static int write_first(void *arg)
{
	uint8_t *p = arg, was = *p;

	*p = 9;
	return was;
}

/* A daemon closes all by the system call, opens a file of its own at high numbers, and goes on with its memory. */
static int closed_raw(void *arg)
{
	uint8_t **p = arg;
	FILE *f = tmpfile();
	int bad = 0, rc;

	if (!f || ftruncate(fileno(f), (off_t)(8 * MB)))
		return 30;
	syscall(SYS_close_range, 500, ~0U, 0);
	for (int i = 0; i < 200; i++)
		if (fcntl(fileno(f), F_DUPFD, 500) < 0)
			return 31;
	lseek(fileno(f), 12345, SEEK_SET);
	rc = h_in_child(use_all, p);
	bad += rc != 7;
	for (enum source s = 0; s < SOURCES; s++) {
		uint8_t *q = h_filled(s, 2 * MB, 0x77);

		bad += !h_holds(p[s], (uint8_t)(s + 1), MB) ? 2 : 0;
		h_put(s, q, 2 * MB);
	}
	if (lseek(fileno(f), 0, SEEK_CUR) != 12345)
		bad += 8;
	for (off_t at = 0; at < (off_t)(8 * MB); at += (off_t)PG) {
		uint8_t byte = 0;

		if (pread(fileno(f), &byte, 1, at) == 1 && byte)
			return 32;
	}
	return 7 + 8 * bad;
}

static void raw_close(void)
{
	uint8_t *p[SOURCES];

	for (enum source s = 0; s < SOURCES; s++)
		p[s] = h_filled(s, MB, (uint8_t)(s + 1));
	say("closed by system calls: %d", closed_raw(p));
}

/* A debugger, and programs that patch their code, write to memory that is not writable. */
static void poke(void)
{
	static const int prots[] = { PROT_READ | PROT_EXEC, PROT_EXEC | RW, RW };
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	for (enum source s = 0; s < SOURCES; s++)
		for (size_t i = 0; i < sizeof(prots) / sizeof(*prots); i++) {
			uint8_t *p = h_filled(s, MB, 3), *a = h_page(p) + PG;
			uint8_t byte = 0xcc;
			int rc = mprotect(a, 4 * PG, prots[i]);
			ssize_t n = pwrite(fd, &byte, 1, (off_t)(uintptr_t)(a + PG));

			say("%s, protection %d: %d, %zd bytes written, %x %x", sources[s], prots[i], rc, n, a[PG], a[0]);
			if (mprotect(a, 4 * PG, RW))
				die("mprotect: %m");
			say("in a child: %d", h_in_child(write_first, a));
			h_put(s, p, MB);
		}
	close(fd);
}

/* A segment over a part of a block, and the block's memory again. */
static void segment(void)
{
	int id = shmget(IPC_PRIVATE, 4 * PG, IPC_CREAT | 0600);

	for (enum source s = 0; s < SOURCES; s++) {
		uint8_t *p = h_filled(s, MB, 3), *a = h_page(p) + PG, *at;
		int rc;

		at = shmat(id, a, SHM_REMAP);
		memset(at, 5, 4 * PG);
		rc = h_in_child(write_first, a);
		say("%s: attached %s, child %d, sees it %d", sources[s], at == a ? "there" : "not there", rc, a[0]);
		at = shmat(id, a, 0);
		say("%s: again %s", sources[s], at == (void *)-1 ? strerrorname_np(errno) : "attached");
		say("%s: detached %d", sources[s], shmdt(a));
		at = mmap(a, 4 * PG, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0);
		say("%s: the place is %s", sources[s], at == a ? "free" : "used");
		if (at != a)
			continue;
		say("%s: %d, %d", sources[s], h_holds(a, 0, 4 * PG), h_holds(a + 4 * PG, 3, 10 * PG));
		h_put(s, p, MB);
		h_put(s, h_filled(s, MB, 4), MB);
	}
	shmctl(id, IPC_RMID, NULL);
}

static void close_vfork_child(int how)
{
	switch (how) {
	case 0:
		closefrom(3);
		break;
	case 1:
		close_range(3, ~0U, 0);
		break;
	case 2:
		for (int fd = 3; fd < 4096; fd++)
			close(fd);
		break;
	default:
		close_range(3, ~0U, CLOSE_RANGE_UNSHARE);
		break;
	}
}

/* A child of vfork() closes all descriptors: they are closed there, and stay open here. */
static void vfork_close(void)
{
	uint8_t *p[SOURCES];

	for (enum source s = 0; s < SOURCES; s++)
		p[s] = h_filled(s, MB, (uint8_t)(s + 1));
	for (int how = 0; how < 4; how++) {
		pid_t pid = vfork();

		if (!pid) {
			int left = 0;

			close_vfork_child(how);
			for (int fd = 3; fd < 4096; fd++)
				left += syscall(SYS_fcntl, fd, F_GETFD) >= 0;
			_exit(left > 100 ? 100 : left);
		}
		say("%d: %d left", how, h_ended(pid));
		say("a child: %d, the device %s", h_in_child(use_all, p), h_device_works() ? "works" : "is dead");
	}
}

/* Pointers that the kernel refuses, tried in a child: a hook must not read them. */
static const char *volatile bad_paths[] = { NULL, (const char *)8, (const char *)-1,
					    (const char *)(1ull << 63) };

#define TELL(call)                                                             \
	do {                                                                   \
		long ret_;                                                     \
		errno = 0;                                                     \
		ret_ = (long)(call);                                           \
		say("%s, %zu: %ld %s", #call, i, ret_, strerrorname_np(errno)); \
	} while (0)

static int use_bad_path(void *arg)
{
	size_t i = *(size_t *)arg;
	const char *volatile p = bad_paths[i];
	struct statx *volatile nowhere = NULL;
	struct stat st;
	char buf[8];

	TELL(open(p, O_RDONLY));
	TELL(openat(AT_FDCWD, p, O_RDONLY));
	TELL(creat(p, 0600));
	TELL(fopen(p, "r") != NULL);
	TELL(opendir(p) != NULL);
	TELL(stat(p, &st));
	TELL(lstat(p, &st));
	TELL(fstatat(AT_FDCWD, p, &st, 0));
	TELL(fstatat(0, p, &st, AT_EMPTY_PATH));
	/* As Rust's library asks whether the kernel has statx(). */
	TELL(statx(0, p, 0, STATX_ALL, nowhere));
	TELL(access(p, R_OK));
	TELL(faccessat(AT_FDCWD, p, R_OK, 0));
	TELL(readlink(p, buf, sizeof(buf)));
	TELL(readlinkat(AT_FDCWD, p, buf, sizeof(buf)));
	TELL(getxattr(p, "user.x", buf, sizeof(buf)));
	TELL(chdir(p));
	return 5;
}

static void bad_pointers(void)
{
	for (size_t i = 0; i < sizeof(bad_paths) / sizeof(*bad_paths); i++)
		say("%zu: %d", i, h_in_child(use_bad_path, &i));
}

/* Shared memory that a core dump would have, of which the program has none. */
static void core_dump(void)
{
	unsigned long start, end, bytes = 0, all = 0;
	FILE *f = fopen("/proc/self/smaps", "r");
	char line[512], perms[8];

	if (!f)
		die("smaps: %m");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, perms) == 3)
			bytes = perms[3] == 's' && !strstr(line, "ruse-memory") ? end - start : 0;
		else if (!strncmp(line, "VmFlags:", 8) && !strstr(line, " dd"))
			all += bytes;
	fclose(f);
	say("shared memory in a core dump: %lu MiB", all >> 20);
}

const struct hcase corner_cases[] = {
	{ "core-dump", core_dump },
	{ "bad-path", bad_pointers },
	{ "stdio-fork", stdio_fork },
	{ "verbs-fork", verbs_fork },
	{ "raw-close", raw_close },
	{ "poke", poke },
	{ "segment", segment },
	{ "vfork-close", vfork_close },
	{ 0 },
};

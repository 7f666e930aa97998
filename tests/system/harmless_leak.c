/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who can reach a program's memory (harmless.c): another process of the same user through the descriptors in /proc, and
 * a child that gives up its rights and closes all descriptors.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "harmless.h"
#include "verbs.h"

#define MARK "mark-of-"
#define LEFT 1
#define SECRET 48

/* Put together at run time: the secret stands nowhere but in the block. */
static void put_secret(uint8_t *p, enum source s)
{
	snprintf((char *)p, SECRET, "%c%s%s:%d", 's', MARK, sources[s], 0);
}

/* Looks for the secrets in a file's data (a hole is not read, as reading would fill it), and spoils them. */
static unsigned int search(int fd)
{
	off_t at = 0, end = 0;
	unsigned int found = 0;

	while ((at = lseek(fd, end, SEEK_DATA)) >= 0 && (end = lseek(fd, at, SEEK_HOLE)) > at) {
		size_t len = (size_t)(end - at);
		uint8_t *m = mmap(NULL, len, RW, MAP_SHARED, fd, at), *q;

		if (m == MAP_FAILED)
			continue;
		for (enum source s = 0; s < SOURCES; s++) {
			char want[SECRET];

			snprintf(want, sizeof(want), "s%s%s:", MARK, sources[s]);
			q = memmem(m, len, want, strlen(want));
			if (q) {
				found |= 1U << s;
				q[strlen(want)] = '9';
			}
		}
		munmap(m, len);
	}
	return found;
}

/* Opens every descriptor of the process; the sources whose secret was found. */
static unsigned int rob(pid_t pid)
{
	unsigned int found = 0;
	struct dirent *e;
	char path[320];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		struct stat st;
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, e->d_name);
		if (stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		fd = open(path, O_RDWR);
		if (fd < 0)
			continue;
		found |= search(fd);
		close(fd);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool spoilt(const uint8_t *p)
{
	const char *colon = strchr((const char *)p, ':');

	return !colon || colon[1] != '0';
}

/*
 * Another process looks through the descriptors. Where processes of a user are not protected from each other, memory for
 * RDMA lies in a memfd, which is as open as each memfd. Where they are (RUSE_NO_CMA says so) there is none: thief-protected.
 */
static void thief(void)
{
	pid_t pid, parent = getpid();
	uint8_t *p[SOURCES];
	int go[2];
	char c = 0;

	/* Before there are secrets, so that the thief has no copy of them. */
	if (pipe(go))
		die("pipe: %m");
	pid = h_fork_bound();
	if (!pid) {
		close(go[1]);
		_exit(read(go[0], &c, 1) == 1 ? (int)rob(parent) : 8);
	}
	for (enum source s = 0; s < SOURCES; s++) {
		p[s] = h_filled(s, MB, 0);
		put_secret(p[s], s);
	}
	if (write(go[1], "g", 1) != 1)
		die("write: %m");
	go[0] = h_ended(pid);
	say("the thief ended as one does: %s", go[0] < 8 ? "yes" : "no");
	for (enum source s = 0; s < SEEN; s++)
		say("%s: %s, %s", sources[s], go[0] >> s & 1 ? "found" : "not found",
		    spoilt(p[s]) ? "changed" : "unchanged");
}

enum leave { LOOP, RANGE, RAW_LOOP, RAW_RANGE, LEAVES };
static const char *const leaves[] = { "close", "close_range", "raw close", "raw close_range" };

static void close_all(enum leave how)
{
	switch (how) {
	case LOOP:
		for (int fd = 3; fd < 4096; fd++)
			close(fd);
		break;
	case RANGE:
		close_range(3, ~0U, 0);
		break;
	case RAW_LOOP:
		for (int fd = 3; fd < 4096; fd++)
			syscall(SYS_close, fd);
		break;
	default:
		syscall(SYS_close_range, 3, ~0U, 0);
		break;
	}
}

/*
 * In a child: gives up its uid, closes all, and tries what is left. LEFT: a descriptor; 2 << source: its secret. A child of
 * clone(2) need not have the memory; a write to memory that it shares would reach the parent, which looks at it.
 */
static int after_leaving(enum leave how, char **colon)
{
	int result = 0;

	if (!getuid() &&
	    (syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, 65534, 65534, 65534) ||
	     syscall(SYS_setresuid, 65534, 65534, 65534)))
		return 100;
	close_all(how);
	for (int fd = 3; fd < 70000; fd++) {
		struct stat st;

		if (syscall(SYS_fstat, fd, &st))
			continue;
		result |= LEFT;
		if (S_ISREG(st.st_mode))
			result |= (int)search(fd) << 1;
	}
	for (enum source s = 0; s < SOURCES; s++) {
		char nine = '9';
		struct iovec l = { &nine, 1 }, r = { colon[s] + 1, 1 };

		syscall(SYS_process_vm_writev, syscall(SYS_getpid), &l, 1, &r, 1, 0);
	}
	return result;
}

static pid_t leave_by(int kind)
{
	switch (kind) {
	case 0:
		return fork();
	case 1:
		return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	default:
		return (pid_t)syscall(SYS_clone3, &(uint64_t[8]){ [4] = SIGCHLD }, 64);
	}
}

static void leave_all(void)
{
	for (enum leave how = 0; how < LEAVES; how++)
		for (int raw = 0; raw < 3; raw++) {
			static const char *const kinds[] = { "fork", "clone", "clone3" };
			char *colon[SOURCES];
			uint8_t *p[SOURCES];
			int rc, changed = 0;
			pid_t pid;

			for (enum source s = 0; s < SOURCES; s++) {
				p[s] = h_filled(s, MB, 0);
				put_secret(p[s], s);
				colon[s] = strchr((char *)p[s], ':');
			}
			pid = leave_by(raw);
			if (!pid)
				_exit(after_leaving(how, colon));
			rc = h_ended(pid);
			for (enum source s = 0; s < SOURCES; s++) {
				changed |= spoilt(p[s]) << s;
				h_put(s, p[s], MB);
			}
			say("%s, %s: descriptors %s, secrets found %d, changed %d%s", kinds[raw], leaves[how],
			    rc & LEFT ? "left" : "closed", rc >> 1 & 7, changed, rc > 15 ? ", died" : "");
		}
}

static void show_fds(const char *of)
{
	struct dirent *e;
	DIR *dir = opendir("/proc/self/fd");
	char line[256] = "";

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(dir))
			strcat(strcat(line, " "), e->d_name);
	if (dir)
		closedir(dir);
	say("%s has%s", of, line);
}

/* The descriptors that a program and those that it starts can see. */
static void descriptors(void)
{
	for (enum source s = 0; s < SOURCES; s++)
		h_filled(s, 4 * MB, 1);
	if (has_all)
		show_fds("the program");
	if (system("ls /proc/self/fd"))
		say("ls failed");
	say("pipe: %d", system("ls /proc/self/fd | wc -l"));
	if (has_all) {
		pid_t pid = fork();

		if (!pid) {
			show_fds("a child");
			_exit(0);
		}
		h_ended(pid);
		/* Each number can be used. */
		for (int fd = 3; fd < 1024; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				say("%d is open", fd);
		say("dup2 %d", dup2(0, 512));
	}
}

/* Memory that was never registered is in no file that two processes can share. */
static void mappings(void)
{
	char line[512];
	int shared = 0;
	FILE *f;

	for (enum source s = 0; s < SEEN; s++)
		for (size_t len = 4 << 10; len <= 64 * MB; len *= 4) {
			uint8_t *p = h_filled(s, len, 1);
			unsigned long start, end;
			char perms[8];

			f = fopen("/proc/self/maps", "r");
			while (f && fgets(line, sizeof(line), f))
				if (sscanf(line, "%lx-%lx %7s", &start, &end, perms) == 3 &&
				    (uintptr_t)p >= start && (uintptr_t)p < end)
					shared += perms[3] == 's' || strstr(line, "ruse");
			if (f)
				fclose(f);
			h_put(s, p, len);
		}
	say("%d blocks in shared memory", shared);
	if (!has_all)
		return;
	f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "ruse-memory"))
			say("there is an arena");
	if (f)
		fclose(f);
}

const struct hcase leak_cases[] = {
	{ "thief", thief },
	{ "thief-loaded", thief },
	{ "thief-protected", thief },
	{ "leave", leave_all },
	{ "descriptors", descriptors },
	{ "descriptors-loaded", descriptors },
	{ "mappings", mappings },
	{ "mappings-loaded", mappings },
	{ 0 },
};

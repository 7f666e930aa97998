/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The descendants of a process, from /proc. */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/watch.h"

struct tree_process {
	pid_t pid, parent;
	bool found, rused;
};

/* Reads "PID (NAME) STATE PARENT ..."; the name may have any characters. */
static bool tree_read(struct tree_process *p, const char *name)
{
	char path[300], line[512], *end, *begin;
	FILE *f;
	int parent;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%s/stat", name);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(line, sizeof(line), f);
	fclose(f);
	begin = ok ? strchr(line, '(') : NULL;
	end = ok ? strrchr(line, ')') : NULL;
	if (!begin || !end || end < begin || sscanf(end + 1, " %*c %d", &parent) != 1)
		return false;
	*end = '\0';
	*p = (struct tree_process){ .pid = atoi(name), .parent = parent, .rused = !strcmp(begin + 1, "rused") };
	return true;
}

/* All processes. The caller frees the list. */
static struct tree_process *tree_list(size_t *n)
{
	struct tree_process *list = NULL, *more;
	DIR *d = opendir("/proc");
	size_t room = 0;
	struct dirent *e;

	*n = 0;
	while (d && (e = readdir(d))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		if (*n == room) {
			room = room ? 2 * room : 256;
			more = realloc(list, room * sizeof(*list));
			if (!more)
				break;
			list = more;
		}
		*n += tree_read(&list[*n], e->d_name);
	}
	if (d)
		closedir(d);
	return list;
}

/* Marks the children of those that are marked. False: there is no further one. */
static bool tree_mark(struct tree_process *list, size_t n)
{
	bool more = false;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; !list[i].found && k < n; k++)
			if (list[k].found && list[k].pid == list[i].parent)
				list[i].found = more = true;
	return more;
}

static void tree_add(struct tree *t, pid_t pid)
{
	int fd;

	if (t->n == TREE_MAX)
		return;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd >= 0)
		t->fd[t->n++] = fd;
}

void tree_find(struct tree *t, pid_t pid)
{
	size_t n;
	struct tree_process *list = tree_list(&n);

	for (size_t i = 0; i < n; i++)
		list[i].found = list[i].pid == pid;
	while (tree_mark(list, n))
		;
	for (size_t i = 0; i < n; i++)
		if (list[i].found && list[i].pid != pid && !list[i].rused)
			tree_add(t, list[i].pid);
	free(list);
}

void tree_find_others(struct tree *t, pid_t pid, const pid_t *but, size_t n)
{
	size_t all;
	struct tree_process *list = tree_list(&all);

	for (size_t i = 0; i < all; i++) {
		list[i].found = list[i].parent == pid;
		for (size_t k = 0; k < n; k++)
			if (list[i].pid == but[k])
				list[i].found = false;
	}
	while (tree_mark(list, all))
		;
	for (size_t i = 0; i < all; i++)
		if (list[i].found)
			tree_add(t, list[i].pid);
	free(list);
}

void tree_signal(const struct tree *t, int sig)
{
	for (size_t i = 0; i < t->n; i++) {
		syscall(SYS_pidfd_send_signal, t->fd[i], sig, NULL, 0);
		syscall(SYS_pidfd_send_signal, t->fd[i], SIGCONT, NULL, 0);
	}
}

bool tree_ended(const struct tree *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct pollfd p = { .fd = t->fd[i], .events = POLLIN };

		if (!poll(&p, 1, 0))
			return false;
	}
	return true;
}

void tree_close(struct tree *t)
{
	while (t->n)
		close(t->fd[--t->n]);
}

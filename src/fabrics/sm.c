/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Subnet managers of the fabric. `ruse fabric up --sm` starts one and tells rused its process id,
 * so that a later `ruse fabric down`, or the end of rused, ends it. Any other program that has
 * opened issmN, as opensm does, is only listed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/proc.h"
#include "base/util.h"
#include "fabrics/fabrics_internal.h"
#include "gsi/gsi.h"
#include "ipc/fabric_msg.h"

#define MANAGERS_MAX 64	/* in the answer */
#define SM_RECORD "pid"	/* a file in FABRIC_SM_DIR: the process id of opensm and when it was started */

struct managers {
	struct fabrics *fs;
	struct json_object *array;
	uint32_t node;		/* the host whose files are listed */
	int pid[MANAGERS_MAX];	/* listed for this host */
	int n;
};

static bool fabric_sm_lives(const struct fabrics *fs)
{
	return fs->sm_fd >= 0 && !syscall(SYS_pidfd_send_signal, fs->sm_fd, 0, NULL, 0);
}

static int fabric_sm_dir(int run)
{
	return openat(run, FABRIC_SM_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Writes down which process it is, for the rused that comes after this one if this one is killed. */
static void fabric_sm_record(const struct fabrics *fs)
{
	int dir = fabric_sm_dir(fs->run);
	const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, SM_RECORD, flags, 0600);

	if (fd < 0 || dprintf(fd, "%d %" PRIu64 "\n", fs->sm_pid, proc_start_time(fs->sm_pid)) < 0)
		log_warn("cannot record the subnet manager (pid %d): %m", fs->sm_pid);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
}

/* Ends the subnet manager that is written down there. Without its device, opensm does not end by SIGTERM. */
static void fabric_sm_end_left(int dir)
{
	int fd = openat(dir, SM_RECORD, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), pid;
	char text[48];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	uint64_t start;

	if (fd >= 0)
		close(fd);
	text[max(n, (ssize_t)0)] = '\0';
	if (sscanf(text, "%d %" SCNu64, &pid, &start) != 2 || pid <= 0 || !start)
		return;
	fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (fd < 0)
		return;
	if (proc_start_time(pid) == start) {
		log_info("the subnet manager of an earlier rused (pid %d) is ended", pid);
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
	}
	close(fd);
}

static void fabric_sm_remove(int run, bool end_left)
{
	int fd = fabric_sm_dir(run);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (end_left)
		fabric_sm_end_left(fd);
	while ((e = readdir(d)))
		unlinkat(fd, e->d_name, 0);
	closedir(d);
	unlinkat(run, FABRIC_SM_DIR, AT_REMOVEDIR);
}

void fabrics_sm_clear(int run)
{
	fabric_sm_remove(run, true);
}

void fabrics_sm_end(struct fabrics *fs)
{
	if (fabric_sm_lives(fs)) {
		log_info("the subnet manager (pid %d) is ended", fs->sm_pid);
		syscall(SYS_pidfd_send_signal, fs->sm_fd, SIGTERM, NULL, 0);
	}
	if (fs->sm_fd >= 0)
		close(fs->sm_fd);
	fs->sm_fd = -1;
	fabric_sm_remove(fs->run, false);
}

static void fabric_sm_list(struct managers *m, uint32_t node, int pid)
{
	struct json_object *o;

	if (node != m->node)
		m->n = 0;
	m->node = node;
	for (int i = 0; i < m->n; i++)
		if (m->pid[i] == pid)
			return;
	if (m->n == MANAGERS_MAX)
		return;
	m->pid[m->n++] = pid;
	o = json_object_new_object();
	json_object_object_add(o, "host",
			       json_object_new_string(fabric_node_id(m->fs->fabric, node)));
	json_object_object_add(o, "pid", json_object_new_int(pid));
	json_object_object_add(o, "started", json_object_new_boolean(pid == m->fs->sm_pid &&
								     fabric_sm_lives(m->fs)));
	json_object_array_add(m->array, o);
}

static void fabric_sm_found(void *arg, int pid)
{
	struct managers *m = arg;

	fabric_sm_list(m, m->node, pid);
}

/* Adds the member "managers": programs that have opened issmN, and the one that was started. */
static int fabric_sm_show(struct fabric_call *c)
{
	struct managers m = { .fs = c->fs, .array = json_object_new_array() };

	for (uint32_t i = 0; c->fs->fabric && i < fabric_node_count(c->fs->fabric); i++) {
		m.node = i;
		m.n = 0;
		/* It may not have opened issmN yet. */
		if (fabric_sm_lives(c->fs) && c->fs->sm_node == i)
			fabric_sm_list(&m, i, c->fs->sm_pid);
		if (c->fs->hosts[i])
			umads_managers(c->fs->gsi->umads, &c->fs->hosts[i]->view, fabric_sm_found,
				       &m);
	}
	json_object_object_add(c->answer, "managers", m.array);
	return 0;
}

/* The host named in the command, else the first. 0, or -EINVAL with "error" set. */
static int fabric_sm_host(struct fabric_call *c, uint32_t *node)
{
	struct fabric *f = c->fs->fabric;

	if (c->n == 3) {
		*node = fabric_find(f, c->word[2]);
		if (*node == TOPO_NONE || fabric_node_type(f, *node) != NODE_CA)
			return refuse_command(c->answer, "there is no host %s", c->word[2]);
		return 0;
	}
	for (*node = 0; *node < fabric_node_count(f); (*node)++)
		if (fabric_node_type(f, *node) == NODE_CA)
			return 0;
	return refuse_command(c->answer, "the fabric has no host for a subnet manager");
}

int fabrics_sm(struct fabric_call *c)
{
	struct fabrics *fs = c->fs;
	uint32_t node;
	char *end;
	long pid;
	int fd;

	if (c->n == 1)
		return fabric_sm_show(c);
	pid = strtol(c->word[1], &end, 10);
	if (c->n > 3 || *end || pid <= 0 || pid > INT32_MAX)
		return refuse_usage(c->answer, "usage: sm [PID [HOST]]");
	if (!fs->fabric)
		return refuse_command(c->answer, "no fabric is up");
	if (fabric_sm_lives(fs))
		return refuse_command(c->answer, "a subnet manager runs already (pid %d)", fs->sm_pid);
	if (fabric_sm_host(c, &node))
		return -EINVAL;
	fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (fd < 0)
		return refuse_command(c->answer, "process %ld is in another PID namespace", pid);
	if (fs->sm_fd >= 0)
		close(fs->sm_fd);
	fs->sm_fd = fd;
	fs->sm_pid = (int)pid;
	fs->sm_node = node;
	fabric_sm_record(fs);
	json_object_object_add(c->answer, "host",
			       json_object_new_string(fabric_node_id(fs->fabric, node)));
	return 0;
}

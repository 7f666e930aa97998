/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the tables that processes write when rused asks (ipc/stuck.h). rused waits for no process. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/answer.h"
#include "daemon/daemon.h"
#include "daemon/stuck.h"
#include "ipc/stuck.h"

static bool stuck_pread(const struct client *c, void *to, size_t size)
{
	return c->page_fd >= 0 &&
	       pread(c->page_fd, to, size, (off_t)STUCK_OFFSET) == (ssize_t)size;
}

/* Copies the table of a process. False: there is none, or it is being written. */
static bool stuck_read(const struct client *c, struct stuck_table *t)
{
	uint32_t seq;

	return stuck_pread(c, t, sizeof(*t)) && !(t->seq & 1) &&
	       stuck_pread(c, &seq, sizeof(seq)) && seq == t->seq && t->n <= STUCK_MAX;
}

/* The state letter of a process; '\0': it cannot be read. */
static char stuck_state(pid_t pid)
{
	char path[32], line[128], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return '\0';
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[n > 0 ? n : 0] = '\0';
	p = strrchr(line, ')');	/* the command's name may contain anything */
	return p && p[1] == ' ' && p[2] >= 'A' && p[2] <= 'z' ? p[2] : '\0';
}

static const char *const stuck_parts[] = { "send", "receive", "completion" };
_Static_assert(ARRAY_SIZE(stuck_parts) == STUCK_PARTS, "a word for each part");

static struct json_object *stuck_wait(const struct why *why, const char *part, uint64_t since,
				      bool idle, ns_t now)
{
	struct json_object *o = json_object_new_object(), *args = json_object_new_array();
	const struct why_row *row = why_row(why->id);
	char name[WHY_NAME_LEN], text[512];

	why_name(why->id, name);
	why_text(why, text, sizeof(text));
	answer_str(o, "id", name);
	answer_str(o, "name", row ? row->name : "UNKNOWN");
	answer_str(o, "text", text);
	answer_str(o, "remedy", row ? row->remedy : "");
	answer_u64(o, "waited_ns", since < (uint64_t)now ? (uint64_t)now - since : 0);
	answer_str(o, "part", part);
	json_object_object_add(o, "idle", json_object_new_boolean(idle));
	for (int i = 0; i < WHY_ARGS; i++)
		json_object_array_add(args, json_object_new_uint64(why->arg[i]));
	json_object_object_add(o, "args", args);
	return o;
}

static struct json_object *stuck_qp_wait(const struct stuck_rec *r, const struct host_page *page,
					 ns_t now)
{
	struct json_object *o;

	o = stuck_wait(&r->why, r->part < STUCK_PARTS ? stuck_parts[r->part] : "unknown", r->since,
		       r->flags & STUCK_IDLE, now);
	answer_str(o, "device", answer_device(page, r->dev));
	answer_u64(o, "qpn", r->qpn);
	if (r->peer_qpn)
		answer_u64(o, "peer_qpn", r->peer_qpn);
	if (r->flags & STUCK_HAS_WR)
		answer_u64(o, "wr_id", r->wr_id);
	return o;
}

/* Where the waits go that rused itself knows. */
struct stuck_own {
	struct json_object *waits;
	ns_t now;
};

static void stuck_cm_wait(void *arg, const struct rdma_wait *w, int64_t id, const char *dev)
{
	const struct stuck_own *s = arg;
	struct json_object *o = stuck_wait(&w->why, "rdma_cm", (uint64_t)w->since, w->idle, s->now);

	if (dev)
		answer_str(o, "device", dev);
	if (id >= 0)
		answer_u64(o, "cm_id", (uint64_t)id);
	json_object_array_add(s->waits, o);
}

static void stuck_mad_wait(void *arg, const struct why *why, ns_t since, const char *dev)
{
	const struct stuck_own *s = arg;
	struct json_object *o = stuck_wait(why, "MAD", (uint64_t)since, false, s->now);

	answer_str(o, "device", dev);
	json_object_array_add(s->waits, o);
}

static struct json_object *stuck_process(struct rused *r, const struct client *c,
					 const struct stuck_table *t)
{
	struct json_object *o = json_object_new_object(), *a = json_object_new_array();
	struct stuck_own own = { a, r->loop.now };
	uint64_t contexts = 0;
	char state[2] = { stuck_state(c->pid), '\0' };

	answer_u64(o, "pid", (uint64_t)c->pid);
	answer_str(o, "comm", c->comm);
	answer_u64(o, "proc", c->proc);
	answer_str(o, "state", state);
	answer_u64(o, "answered", t ? t->answered : 0);
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		contexts += c->nctx[i];
	answer_u64(o, "contexts", contexts);
	for (uint32_t i = 0; t && i < t->n; i++)
		json_object_array_add(a, stuck_qp_wait(&t->rec[i], r->host.page, r->loop.now));
	ucma_stuck(&r->ucma, c->pid, stuck_cm_wait, &own);
	umads_stuck(&r->umads, c->pid, stuck_mad_wait, &own);
	json_object_object_add(o, "waits", a);
	return o;
}

char *stuck_text(struct rused *r)
{
	struct json_object *o = json_object_new_object(), *a = json_object_new_array();
	struct stuck_table *t = malloc(sizeof(*t));
	const struct client *c;
	char *text;

	answer_u64(o, "asked", r->host.page->stuck_asked);
	list_for_each_entry(c, &r->clients.list, node)
		if (c->proc)
			json_object_array_add(a, stuck_process(r, c,
							       t && stuck_read(c, t) ? t : NULL));
	free(t);
	json_object_object_add(o, "processes", a);
	text = strdup(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	json_object_put(o);
	return text;
}

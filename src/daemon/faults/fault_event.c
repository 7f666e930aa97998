/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `ruse fault event NAME [dev D] [qp N | cq N | srq N] [pid P]`: asynchronous events without their cause.
 *
 * The rows say which object raises an event, on which kind of port, and what comes with it, or why the event cannot be
 * raised. rused publishes the event; each process raises it in its objects (engine/events.c), if their state allows it, and
 * tells in its page what became of it, for which `ruse` then asks with "event NUMBER".
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "core/event.h"
#include "daemon/faults/faults.h"
#include "daemon/reports/answer.h"
#include "daemon/state/host.h"
#include "daemon/state/process.h"
#include "fabrics/refuse.h"
#include "ipc/res.h"

enum event_on { ON_PORT, ON_IB_PORT, ON_DEVICE, ON_QP, ON_CQ, ON_SRQ };

/* IBA: the InfiniBand Architecture Specification 1.4, volume 1. */
static const struct event_row {
	const char *name;
	enum ib_event_type type;
	enum event_on on;
	const char *why_not; /* why `ruse fault event` does not raise it; NULL: it does */
} event_rows[] = {
	/* IBA 11.6.3.2: the adapter cannot access the CQ. Then the QPs that use it fail, too (QP_FATAL). */
	{ "CQ_ERR", IB_EVENT_CQ_ERR, ON_CQ, NULL },
	/* IBA 11.6.3.2, local work queue catastrophic error: the QP is in ERR. In RESET and ERR it accesses no queue. */
	{ "QP_FATAL", IB_EVENT_QP_FATAL, ON_QP, NULL },
	/* IBA 11.6.3.2, invalid request and access violation: found by the responder of an RC QP, which is in ERR then. */
	{ "QP_REQ_ERR", IB_EVENT_QP_REQ_ERR, ON_QP, NULL },
	{ "QP_ACCESS_ERR", IB_EVENT_QP_ACCESS_ERR, ON_QP, NULL },
	/* IBA 11.6.3.1: the first packet has arrived at a connected QP in RTR. Once. */
	{ "COMM_EST", IB_EVENT_COMM_EST, ON_QP, NULL },
	/* IBA 11.6.3.1, 10.3.1.5. */
	{ "SQ_DRAINED", IB_EVENT_SQ_DRAINED, ON_QP,
	  "ibv_modify_qp() to SQD with en_sqd_async_notify brings it once the queue is drained; before, it would be false" },
	/* IBA 11.6.3.1, 17.2.8. */
	{ "PATH_MIG", IB_EVENT_PATH_MIG, ON_QP, "the devices have no automatic path migration" },
	{ "PATH_MIG_ERR", IB_EVENT_PATH_MIG_ERR, ON_QP, "the devices have no automatic path migration" },
	/* IBA 11.6.3.3, catastrophic error; the kernel's ib_uverbs_free_hw_resources(): the context is unusable. */
	{ "DEVICE_FATAL", IB_EVENT_DEVICE_FATAL, ON_DEVICE, NULL },
	/* IBA 11.6.3.4, port active and port error: by the state of the port, which `down` and `up` change. */
	{ "PORT_ACTIVE", IB_EVENT_PORT_ACTIVE, ON_PORT, "it comes with the state of the port: `ruse fault up`" },
	{ "PORT_ERR", IB_EVENT_PORT_ERR, ON_PORT, "it comes with the state of the port: `ruse fault down`" },
	/* Kernel: ib_dispatch_event() of smp_snoop() (mlx5/mad.c), for a Set of PortInfo or of the P_Key table by the SM. */
	{ "LID_CHANGE", IB_EVENT_LID_CHANGE, ON_IB_PORT, NULL },
	{ "PKEY_CHANGE", IB_EVENT_PKEY_CHANGE, ON_IB_PORT, NULL },
	{ "SM_CHANGE", IB_EVENT_SM_CHANGE, ON_IB_PORT, NULL },
	/* IBA 11.6.3.1: the SRQ cannot be accessed. A QP fails when it takes the next WQE of it. */
	{ "SRQ_ERR", IB_EVENT_SRQ_ERR, ON_SRQ, NULL },
	/* IBA 11.6.3.1: fewer WQEs than the limit, those not counted which the adapter has fetched. The limit is disarmed. */
	{ "SRQ_LIMIT_REACHED", IB_EVENT_SRQ_LIMIT_REACHED, ON_SRQ, NULL },
	/* IBA 11.6.3.1: a QP with an SRQ is in ERR and takes no more WQEs. */
	{ "QP_LAST_WQE_REACHED", IB_EVENT_QP_LAST_WQE_REACHED, ON_QP, NULL },
	/* IBA 11.6.3.1: the SM has set ClientReregister. */
	{ "CLIENT_REREGISTER", IB_EVENT_CLIENT_REREGISTER, ON_IB_PORT, NULL },
	/* Kernel: dispatch_gid_change_event() (core/cache.c), for any change of the table, also one that is undone. */
	{ "GID_CHANGE", IB_EVENT_GID_CHANGE, ON_PORT, NULL },
	/* Kernel: struct ib_wq. */
	{ "WQ_FATAL", IB_EVENT_WQ_FATAL, ON_QP, "the devices have no work queues without a QP (ibv_create_wq())" },
};

/* By enum proc_refusal. */
static const char *const event_refusals[] = {
	[PROC_RAISED] = "no program has the device open",
	[PROC_NO_OBJECT] = "no program has an object that it selects",
	[PROC_OTHER_LINK] = "only InfiniBand ports raise it: see `ruse fabric`, ruse(1)",
	[PROC_QP_STATE] = "the QP is in a state in which it is not raised",
	[PROC_QP_TYPE] = "the QP is of a type that does not raise it",
	[PROC_QP_SRQ] = "only a QP with an SRQ raises it",
	[PROC_IS_BROKEN] = "the object has failed before, and says so only once",
	[PROC_NOT_ARMED] = "the SRQ has no limit: ibv_modify_srq() with IBV_SRQ_LIMIT arms one",
};
_Static_assert(ARRAY_SIZE(event_refusals) == PROC_REFUSALS, "a text for each");

static const struct event_row *event_find(struct json_object *answer, const char *name)
{
	char upper[40];
	size_t n = 0;

	if (!strncasecmp(name, "IBV_EVENT_", 10))
		name += 10;
	for (; n < sizeof(upper) - 1 && name[n]; n++)
		upper[n] = (char)toupper((unsigned char)name[n]);
	upper[n] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(event_rows); i++)
		if (!strcmp(event_rows[i].name, upper))
			return &event_rows[i];
	for (size_t i = 0; i < ARRAY_SIZE(event_rows); i++)
		if (words_near(upper, event_rows[i].name)) {
			refuse_usage(answer, "event: unknown event '%.40s'; did you mean '%s'?", name,
				     event_rows[i].name);
			return NULL;
		}
	refuse_usage(answer, "event: unknown event '%.40s'; see ruse-fault(1)", name);
	return NULL;
}

static int event_number(struct json_object *answer, const char *what, const char *text,
			uint32_t *v)
{
	uint64_t n;

	if (!words_number(text, &n) || !n || n > UINT32_MAX)
		return refuse_usage(answer, "%s: '%s' is not a number from 1 to 4294967295, decimal or "
				    "hexadecimal with 0x", what, text);
	*v = (uint32_t)n;
	return 0;
}

static int event_dev(const struct fault_rules *f, struct json_object *answer, const char *name,
		     enum event_on on, struct host_event *ev)
{
	const struct host_dev *d = host_page_dev(f->host->page, name);

	if (!d)
		return refuse_usage(answer, "dev: there is no device %s", name);
	if (on == ON_IB_PORT && !d->ib.host)
		return refuse_command(answer, "event: %s is a RoCE device; %s", name,
				      event_refusals[PROC_OTHER_LINK]);
	ev->dev = d->index;
	return 0;
}

/* "cq N": the number that `rdma res show cq` has printed (RES_ID). */
static int event_cq(const struct fault_rules *f, struct json_object *answer, struct host_event *ev)
{
	const struct process *pr;
	uint32_t place = ev->object >> 20;

	list_for_each_entry(pr, &f->processes->list, node)
		if (place && pr->place == place) {
			ev->proc = pr->proc;
			ev->object -= RES_ID(place, 0) - 1;
			return 0;
		}
	return refuse_command(answer, "cq: there is no CQ with number %u; `rdma res show cq` shows them as cqn",
			      ev->object);
}

static int event_pid(const struct fault_rules *f, struct json_object *answer, const char *text,
		     struct host_event *ev)
{
	const struct process *pr;
	uint32_t pid = 0;

	if (event_number(answer, "pid", text, &pid))
		return -EINVAL;
	pr = process_by_pid(f->processes, pid);
	if (!pr)
		return refuse_command(answer, "no process with PID %u uses RDMA", pid);
	ev->proc = pr->proc;
	return 0;
}

static int event_clause(const struct fault_rules *f, struct json_object *answer,
			const struct event_row *row, char *const *word, struct host_event *ev)
{
	static const struct {
		const char *name;
		enum event_on on;
	} objects[] = { { "qp", ON_QP }, { "cq", ON_CQ }, { "srq", ON_SRQ } };

	if (!strcmp(word[0], "dev"))
		return event_dev(f, answer, word[1], row->on, ev);
	if (!strcmp(word[0], "pid"))
		return event_pid(f, answer, word[1], ev);
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		if (strcmp(objects[i].name, word[0]))
			continue;
		if (objects[i].on != row->on)
			return refuse_usage(answer, "event: %s is not an event of a %s", row->name,
					    i ? i > 1 ? "SRQ" : "CQ" : "QP");
		if (event_number(answer, word[0], word[1], &ev->object))
			return -EINVAL;
		return row->on == ON_CQ ? event_cq(f, answer, ev) : 0;
	}
	return refuse_usage(answer, "event: unknown clause '%.40s'; clauses: dev, qp, cq, srq, pid", word[0]);
}

static bool event_concerns(const struct host_page *page, const struct process *pr,
			   const struct host_event *ev)
{
	bool has = false;

	if (!pr->proc || pr->page_fd < 0 || (ev->proc && ev->proc != pr->proc))
		return false;
	for (int i = 0; i < HOST_MAX_DEVS; i++)
		has |= pr->nctx[i] && page->dev[i].in_use &&
		       (!ev->dev || page->dev[i].index == ev->dev);
	return has;
}

void fault_event_process_gone(struct fault_rules *f, const struct process *pr)
{
	const struct host_page *page = f->host->page;
	struct proc_page p;

	if (!pr->proc || process_page(pr, &p))
		return;
	for (int i = 0; i < PROC_EVENTS; i++) {
		const struct host_event *ev = &page->event[i];
		struct fault_event_gone *gone = &f->event_gone[i];

		if (gone->number != ev->number)
			*gone = (struct fault_event_gone){ .number = ev->number };
		if (ev->number && p.event[i].number == ev->number)
			gone->raised += p.event[i].raised;
		else if (ev->number && event_concerns(page, pr, ev))
			gone->silent = true;
	}
}

/* "event NUMBER" */
static int event_outcome(const struct fault_rules *f, const char *word, struct json_object *answer)
{
	const struct host_page *page = f->host->page;
	uint32_t number = 0, refused = PROC_RAISED;
	int64_t raised = 0, waits = 0;
	const struct process *pr;
	const struct fault_event_gone *gone;
	const struct host_event *ev;
	struct proc_page p;

	if (event_number(answer, "event", word, &number))
		return -EINVAL;
	ev = &page->event[number % PROC_EVENTS];
	if (ev->number != number)
		return refuse_command(answer, "what became of event %u is no longer known", number);
	list_for_each_entry(pr, &f->processes->list, node) {
		const struct proc_event *e = &p.event[number % PROC_EVENTS];

		bool concerns = event_concerns(page, pr, ev);

		if (!pr->proc || process_page(pr, &p))
			continue;
		if (e->number != number) {
			waits += concerns;
			continue;
		}
		/* Also of a program that has closed the device since. */
		raised += e->raised;
		if (concerns && e->refused < PROC_REFUSALS)
			refused = max(refused, e->refused);
	}
	gone = &f->event_gone[number % PROC_EVENTS];
	if (gone->number == number)
		raised += gone->raised;
	answer_int(answer, "raised", raised);
	answer_int(answer, "waits", waits);
	if (!raised && !waits)
		answer_str(answer, "refused", gone->number == number && gone->silent ?
			   "the program has ended before it could raise the event" :
			   event_refusals[refused]);
	return 0;
}

int fault_event(const struct fault_rules *f, char *const *word, int n, struct json_object *answer)
{
	struct host_event ev = { 0 };
	const struct event_row *row;

	if (n < 2 || n % 2)
		return refuse_usage(answer, "usage: event NAME [dev DEVICE] [qp N | cq N | srq N] [pid PID]");
	if (n == 2 && *word[1] >= '0' && *word[1] <= '9')
		return event_outcome(f, word[1], answer);
	row = event_find(answer, word[1]);
	if (!row)
		return -EINVAL;
	if (row->why_not)
		return refuse_command(answer, "event: %s is not raised without its cause: %s", row->name,
				      row->why_not);
	ev.type = row->type;
	for (int i = 2; i < n; i += 2)
		if (event_clause(f, answer, row, word + i, &ev))
			return -EINVAL;
	answer_int(answer, "event", host_publish_event(f->host, &ev));
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules about connections by rdma_cm:
 *
 *   cm reject INVALID_SERVICE_ID port 7471
 *   cm drop message REP nth 2
 *   cm delay 3s message REQ peer 10.0.0.2
 *   cm unreachable host peer 10.0.0.2
 *
 * They do what a network, a peer's CM or a peer's program may do. reasons[] has the reasons of a REJ (IBA 12.6.7.2; enum
 * ib_cm_rej_reason of the kernel), and says of each that answers no REQ of rdma_cm why it does not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "cm/cm.h"
#include "daemon/faults/fault_parse.h"
#include "wire/cm_msg.h"

#define MSG(name) (1u << (CM_ATTR_##name - CM_ATTR_REQ))
#define MSG_ALL ((1u << CM_ATTR_COUNT) - 1)
/* Messages that await an answer, except LAP, which rdma_cm does not send. */
#define MSG_AWAITING (MSG(REQ) | MSG(REP) | MSG(DREQ) | MSG(SIDR_REQ))

#define BY_ID (FAULT_BY_DEV | FAULT_BY_PEER | FAULT_BY_PORT)
#define DELAY_MOST 10		/* s: more than twice the time after which rdma_cm repeats a message */

#define NOT_RD "rdma_cm has no reliable datagrams"
#define NOT_ALT "requests of rdma_cm have no alternate path"
#define NOT_REDIRECT "it names another port, and ruse has none to name"

static const struct cm_reason {
	const char *name;
	uint32_t reason;
	const char *why_not; /* why it does not answer a REQ of rdma_cm; NULL: it does */
} reasons[] = {
#define R(name, why_not) { #name, IB_CM_REJ_##name, why_not }
	R(NO_QP, NULL), R(NO_EEC, NOT_RD), R(NO_RESOURCES, NULL),
	R(TIMEOUT, "it answers no message: it follows one whose answer has not come"),
	R(UNSUPPORTED, NULL), R(INVALID_COMM_ID, "it answers a REP or RTU"),
	R(INVALID_COMM_INSTANCE, "it answers a REP or RTU"), R(INVALID_SERVICE_ID, NULL),
	R(INVALID_TRANSPORT_TYPE, NULL), R(STALE_CONN, NULL), R(RDC_NOT_EXIST, NOT_RD),
	R(INVALID_GID, NULL), R(INVALID_LID, NULL), R(INVALID_SL, NULL),
	R(INVALID_TRAFFIC_CLASS, NULL), R(INVALID_HOP_LIMIT, NULL), R(INVALID_PACKET_RATE, NULL),
	R(INVALID_ALT_GID, NOT_ALT), R(INVALID_ALT_LID, NOT_ALT), R(INVALID_ALT_SL, NOT_ALT),
	R(INVALID_ALT_TRAFFIC_CLASS, NOT_ALT), R(INVALID_ALT_HOP_LIMIT, NOT_ALT),
	R(INVALID_ALT_PACKET_RATE, NOT_ALT), R(PORT_CM_REDIRECT, NOT_REDIRECT),
	R(PORT_REDIRECT, NOT_REDIRECT), R(INVALID_MTU, NULL),
	R(INSUFFICIENT_RESP_RESOURCES, "it answers a REP"), R(CONSUMER_DEFINED, NULL),
	R(INVALID_RNR_RETRY, NULL), R(DUPLICATE_LOCAL_COMM_ID, NULL),
	R(INVALID_CLASS_VERSION, NULL), R(INVALID_FLOW_LABEL, NULL),
	R(INVALID_ALT_FLOW_LABEL, NOT_ALT), R(VENDOR_OPTION_NOT_SUPPORTED, NULL),
#undef R
};

/* Statuses of a SIDR_REP that refuses a SIDR_REQ (IBA 12.11.2.1; enum ib_cm_sidr_status of the kernel). */
static const struct cm_reason sidr_statuses[] = {
#define S(name, why_not) { #name, IB_SIDR_##name, why_not }
	S(UNSUPPORTED, NULL), S(REJECT, NULL), S(NO_QP, NULL), S(REDIRECT, NOT_REDIRECT),
	S(UNSUPPORTED_VERSION, NULL),
#undef S
};

int fault_do_message(struct parse *p, const char *v)
{
	for (uint32_t attr = CM_ATTR_REQ; attr < CM_ATTR_END; attr++)
		if (!strcmp(cm_attr_name((uint16_t)attr), v)) {
			p->rule->ops |= 1u << (attr - CM_ATTR_REQ);
			p->by |= PARSE_BY_MESSAGE;
			return 0;
		}
	return fault_parse_bad(p, "message: unknown message '%.40s'; expected REQ, MRA, REJ, REP, RTU, DREQ, DREP, "
			       "SIDR_REQ, SIDR_REP, LAP or APR", v);
}

int fault_do_port(struct parse *p, const char *v)
{
	uint64_t n;
	int rc = fault_parse_number(p, "port", v, 1, UINT16_MAX, &n);

	p->rule->port = (uint32_t)n;
	p->rule->by |= FAULT_BY_PORT;
	return rc;
}

static int cm_do_unreachable(struct parse *p, const char *v)
{
	static const char *const steps[] = {
		[FAULT_STEP_NETWORK] = "network", [FAULT_STEP_HOST] = "host", [FAULT_STEP_ROUTE] = "route",
	};

	for (uint32_t i = 1; v && i < ARRAY_SIZE(steps); i++)
		if (!strcmp(steps[i], v)) {
			p->rule->call = i;
			return 3;
		}
	return 2;
}

int fault_do_cm(struct parse *p, char *const *word, int n)
{
	const char *what = n > 1 ? word[1] : "";
	int rc;

	if (!strcmp(what, "drop"))
		return 2;
	if (!strcmp(what, "unreachable")) {
		p->rule->action = FAULT_CM_UNREACHABLE;
		return cm_do_unreachable(p, n > 2 ? word[2] : NULL);
	}
	if (strcmp(what, "reject") && strcmp(what, "delay"))
		return fault_parse_bad(p, "cm: expected reject REASON, drop, delay TIME or unreachable [network | host | "
				       "route], not '%.40s'", what);
	if (n < 3)
		return fault_parse_bad(p, "cm %s: missing value", what);
	if (!strcmp(what, "reject")) {
		p->rule->action = FAULT_CM_REJECT;
		p->reason = word[2];
		return 3;
	}
	p->rule->action = FAULT_CM_DELAY;
	rc = fault_parse_time_to(p, "cm delay", word[2], DELAY_MOST,
				 "a time up to 10s such as 500ms (ns, us, ms, s)", &p->rule->delay);
	return rc ? rc : 3;
}

/* The row of a name, with or without IB_CM_REJ_ or IB_SIDR_ before it, or of a number. NULL: none. */
static const struct cm_reason *cm_reason_find(const struct cm_reason *row, size_t n,
					      const char *prefix, const char *text)
{
	uint64_t v;

	if (!words_number(text, &v))
		v = 0;
	if (!strncmp(text, prefix, strlen(prefix)))
		text += strlen(prefix);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(row[i].name, text) || (v && row[i].reason == v))
			return &row[i];
	return NULL;
}

static int cm_check_reject(struct parse *p)
{
	bool sidr = p->rule->ops == MSG(SIDR_REQ);
	const struct cm_reason *row;

	if (!p->rule->ops)
		p->rule->ops = MSG(REQ);
	if (!sidr && p->rule->ops != MSG(REQ))
		return fault_parse_bad(p, "cm reject: REQ or SIDR_REQ can be rejected; the program that gets another "
					  "message answers it itself");
	row = sidr ? cm_reason_find(sidr_statuses, ARRAY_SIZE(sidr_statuses), "IB_SIDR_", p->reason) :
		     cm_reason_find(reasons, ARRAY_SIZE(reasons), "IB_CM_REJ_", p->reason);
	for (size_t i = 0; !row && !sidr && i < ARRAY_SIZE(reasons); i++)
		if (words_near(p->reason, reasons[i].name))
			return fault_parse_bad(p, "cm reject: unknown reason '%s'; did you mean '%s'?",
					       p->reason, reasons[i].name);
	if (!row)
		return fault_parse_bad(p, "cm reject: unknown %s '%.40s'; see ruse-fault(1)",
				       sidr ? "status" : "reason", p->reason);
	if (row->why_not)
		return fault_parse_bad(p, "cm reject: %s does not answer a %s: %s", row->name,
				       sidr ? "SIDR_REQ" : "REQ", row->why_not);
	p->rule->error = row->reason;
	return 0;
}

/* Is there a port of a fabric, or is the one of the rule one? */
static bool cm_has_fabric(const struct parse *p)
{
	for (int i = 0; i < HOST_MAX_DEVS; i++) {
		const struct host_dev *d = &p->page->dev[i];

		if (d->in_use && d->ib.host &&
		    (!(p->rule->by & FAULT_BY_DEV) || d->index == p->rule->dev))
			return true;
	}
	return false;
}

static int cm_check_unreachable(struct parse *p)
{
	switch ((enum fault_step)p->rule->call) {
	case FAULT_STEP_PEER:
		if (!p->rule->ops)
			p->rule->ops = MSG(REQ) | MSG(SIDR_REQ);
		if (p->rule->ops & ~MSG_AWAITING)
			return fault_parse_bad(p, "cm unreachable: only REQ, REP, DREQ and SIDR_REQ await an answer");
		return fault_parse_takes(p, "cm unreachable", BY_ID | PARSE_BY_MESSAGE,
					 "the rule acts on messages that this host sends");
	case FAULT_STEP_ROUTE:
		if (!cm_has_fabric(p))
			return fault_parse_bad(p, "cm unreachable route: RoCE asks nothing for a route, and %s",
					       p->rule->by & FAULT_BY_DEV ? "this is a RoCE device" : "no fabric is up");
		return fault_parse_takes(p, "cm unreachable route", BY_ID,
					 "the rule is about rdma_resolve_route()");
	case FAULT_STEP_NETWORK:
	case FAULT_STEP_HOST:
		break;
	}
	return fault_parse_takes(p, "cm unreachable network, host", FAULT_BY_PEER | FAULT_BY_PORT,
				 "the rule is about rdma_resolve_addr(), which finds the device by the address");
}

int fault_check_cm(struct parse *p)
{
	int rc = 0;

	if (p->rule->action == FAULT_CM_UNREACHABLE)
		rc = cm_check_unreachable(p);
	else
		rc = fault_parse_takes(p, "cm", BY_ID | PARSE_BY_MESSAGE | PARSE_BY_DIR,
				       "the rule is about messages of the CM");
	if (!rc && p->rule->action == FAULT_CM_REJECT)
		rc = cm_check_reject(p);
	if (!p->rule->ops)
		p->rule->ops = MSG_ALL;
	/* The steps before the first message have none. */
	if (!p->rule->call)
		p->rule->by |= FAULT_BY_OP;
	return rc;
}

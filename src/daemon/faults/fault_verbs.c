/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules about calls of verbs, work requests and QPs:
 *
 *   fail modify_qp errno ETIMEDOUT nth 2
 *   fail post_send errno ENOMEM op SEND qp 17
 *   complete REM_ACCESS_ERR op READ nth 3
 *   hold completions 200us qp 17
 *   hang qp 17
 */
#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "daemon/faults/fault_parse.h"
#include "daemon/reports/res.h"
#include "daemon/state/process.h"
#include "wire/fault_call.h"
#include "wire/seg.h"

/* Values of Linux 6.3 and later. */
#define WR_FLUSH 14
#define WR_ATOMIC_WRITE 15

#define WR(op) (1u << IB_UVERBS_WR_##op)
#define WR_SENDS (WR(SEND) | WR(SEND_WITH_IMM) | WR(SEND_WITH_INV))
#define WR_WRITES (WR(RDMA_WRITE) | WR(RDMA_WRITE_WITH_IMM))
#define WR_ATOMICS (WR(ATOMIC_CMP_AND_SWP) | WR(ATOMIC_FETCH_AND_ADD))

/* Opcodes of work requests, with or without the RDMA_ and ATOMIC_ of enum ibv_wr_opcode, and classes. */
static const struct {
	const char *name;
	uint32_t ops;
} wr_words[] = {
	{ "SEND", WR_SENDS }, { "WRITE", WR_WRITES }, { "RDMA_WRITE", WR_WRITES },
	{ "READ", WR(RDMA_READ) }, { "RDMA_READ", WR(RDMA_READ) }, { "ATOMIC", WR_ATOMICS },
	{ "SEND_WITH_IMM", WR(SEND_WITH_IMM) }, { "SEND_WITH_INV", WR(SEND_WITH_INV) },
	{ "WRITE_WITH_IMM", WR(RDMA_WRITE_WITH_IMM) },
	{ "RDMA_WRITE_WITH_IMM", WR(RDMA_WRITE_WITH_IMM) },
	{ "CMP_AND_SWP", WR(ATOMIC_CMP_AND_SWP) }, { "ATOMIC_CMP_AND_SWP", WR(ATOMIC_CMP_AND_SWP) },
	{ "FETCH_AND_ADD", WR(ATOMIC_FETCH_AND_ADD) },
	{ "ATOMIC_FETCH_AND_ADD", WR(ATOMIC_FETCH_AND_ADD) },
	{ "ATOMIC_WRITE", 1u << WR_ATOMIC_WRITE }, { "FLUSH", 1u << WR_FLUSH },
	{ "LOCAL_INV", WR(LOCAL_INV) }, { "BIND_MW", WR(BIND_MW) },
	{ "RECV", FAULT_OP_RECV }, { "recv", FAULT_OP_RECV },
};

uint32_t fault_wr_ops(const char *word)
{
	if (!strncmp(word, "IBV_WR_", 7))
		word += 7;
	for (size_t i = 0; i < ARRAY_SIZE(wr_words); i++)
		if (!strcmp(wr_words[i].name, word))
			return wr_words[i].ops;
	return 0;
}

static int fault_bad_call(const struct parse *p, const char *word)
{
	const struct fault_call_row *row;
	char names[200];
	size_t len = 0;

	for (uint32_t i = 0; i < FAULT_NCALLS; i++) {
		row = fault_call_row(i);
		if (row && words_near(word, row->name))
			return fault_parse_bad(p, "fail: unknown call '%.40s'; did you mean '%s'?", word,
					       row->name);
	}
	names[0] = '\0';
	for (uint32_t i = 0; i < FAULT_NCALLS && len < sizeof(names) - 24; i++) {
		row = fault_call_row(i);
		if (row)
			len += (size_t)snprintf(names + len, sizeof(names) - len, " %s", row->name);
	}
	return fault_parse_bad(p, "fail: unknown call '%.40s'; calls:%s ... (ruse-fault(1))", word, names);
}

static int fault_bad_errno(const struct parse *p, const struct fault_call_row *row,
			   const char *word)
{
	char names[120] = "";
	size_t len = 0;

	for (int i = 0; i < FAULT_CALL_ERRNOS && row->error[i]; i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, " %s",
					fault_errno_name(row->error[i]));
	return fault_parse_bad(p, "fail: %s does not fail with '%.40s'; it may give:%s", row->name, word,
			       names);
}

/* fail CALL errno E */
int fault_do_fail(struct parse *p, char *const *word, int n)
{
	enum fault_call call = n > 1 ? fault_call_find(word[1]) : FAULT_CALL_NONE;
	const struct fault_call_row *row;
	int error;

	if (n > 1 && call == FAULT_CALL_NONE)
		return fault_bad_call(p, word[1]);
	if (n < 4 || strcmp(word[2], "errno"))
		return fault_parse_bad(p, "fail: expected a call and an errno, such as `fail modify_qp errno ENOMEM`");
	row = fault_call_row(call);
	error = fault_errno(word[3]);
	for (int i = 0; error && i < FAULT_CALL_ERRNOS; i++)
		if (row->error[i] == error) {
			p->rule->call = call;
			p->rule->error = (uint32_t)error;
			return 4;
		}
	return fault_bad_errno(p, row, word[3]);
}

int fault_check_fail(struct parse *p)
{
	const struct fault_call_row *row = fault_call_row(p->rule->call);
	/* Where an SRQ is posted to, its device is not known. */
	uint32_t dev = p->rule->call == FAULT_POST_SRQ_RECV ? 0 : FAULT_BY_DEV;
	const char *why = !dev && p->rule->by & FAULT_BY_DEV ? "the device of an SRQ is not known there" :
			  row->by & FAULT_BY_OP ? "it selects packets" :
			  row->by & FAULT_BY_QP ?
				"this call has a QP, and no packet or opcode" :
				"this call has no QP, packet or opcode";

	if (p->rule->by & FAULT_BY_OP && p->rule->ops & FAULT_OP_RECV && row->by & FAULT_BY_OP)
		return fault_parse_bad(p, "fail: RECV is no work request of %s; post_recv posts receives", row->name);
	return fault_parse_takes(p, row->name, row->by | dev | FAULT_BY_PROC, why);
}

#define RC (1u << SEG_RC)
#define ALL (1u << SEG_RC | 1u << SEG_UC | 1u << SEG_UD)
/* What a requester sends; and what has a scatter/gather list. */
#define WR_DATA (WR_SENDS | WR_WRITES | WR(RDMA_READ) | WR_ATOMICS)
#define WR_ANY (WR_DATA | 1u << WR_ATOMIC_WRITE | 1u << WR_FLUSH)
#define WR_ANSWERED (WR(RDMA_READ) | WR_ATOMICS | 1u << WR_ATOMIC_WRITE | 1u << WR_FLUSH)

/*
 * Statuses and the work requests that may have them: IBA 11.6.2, and 9.9.2 and 9.9.3 for what the requester and the responder
 * of each service find. A receive of UC or UD that a message does not fit is not consumed: the message is dropped
 * (IBA 9.8.2.2, 9.8.3.2).
 */
static const struct wc_row {
	const char *name;
	uint32_t status;	/* 0: no rule makes it; why tells the reason */
	uint32_t ops, services;	/* of sends */
	uint32_t recv;		/* services of receives */
	const char *why;
} wc_rows[] = {
	{ "LOC_LEN_ERR", FAULT_WC_LOC_LEN, WR_DATA, ALL, RC, NULL },
	{ "LOC_QP_OP_ERR", FAULT_WC_LOC_QP_OP, WR_ANY, ALL, ALL, NULL },
	{ "LOC_PROT_ERR", FAULT_WC_LOC_PROT, WR_DATA, ALL, ALL, NULL },
	{ "BAD_RESP_ERR", FAULT_WC_BAD_RESP, WR_ANSWERED, RC, 0, NULL },
	/* Of a receive: an RDMA WRITE with immediate that its memory refuses. */
	{ "LOC_ACCESS_ERR", FAULT_WC_LOC_ACCESS, 0, 0, RC, NULL },
	{ "REM_INV_REQ_ERR", FAULT_WC_REM_INV_REQ, WR_ANY, RC, RC, NULL },
	{ "REM_ACCESS_ERR", FAULT_WC_REM_ACCESS, WR_WRITES | WR_ANSWERED | WR(SEND_WITH_INV), RC, 0, NULL },
	{ "REM_OP_ERR", FAULT_WC_REM_OP, WR_ANY, RC, 0, NULL },
	{ "RETRY_EXC_ERR", FAULT_WC_RETRY_EXC, WR_ANY, RC, 0, NULL },
	{ "RNR_RETRY_EXC_ERR", FAULT_WC_RNR_RETRY_EXC, WR_SENDS | WR(RDMA_WRITE_WITH_IMM), RC, 0, NULL },
	{ "SUCCESS", 0, 0, 0, 0, "it is no error" },
	{ "WR_FLUSH_ERR", 0, 0, 0, 0, "work requests are flushed when their QP has failed, as each other status does" },
	{ "MW_BIND_ERR", 0, 0, 0, 0, "BIND_MW and LOCAL_INV complete with it, which no rule sees: they send no packet" },
	{ "LOC_EEC_OP_ERR", 0, 0, 0, 0, "only reliable datagram QPs have it" },
	{ "LOC_RDD_VIOL_ERR", 0, 0, 0, 0, "only reliable datagram QPs have it" },
	{ "REM_INV_RD_REQ_ERR", 0, 0, 0, 0, "only reliable datagram QPs have it" },
	{ "REM_ABORT_ERR", 0, 0, 0, 0, "only reliable datagram QPs have it" },
	{ "INV_EECN_ERR", 0, 0, 0, 0, "only reliable datagram QPs have it" },
	{ "INV_EEC_STATE_ERR", 0, 0, 0, 0, "only reliable datagram QPs have it" },
	{ "FATAL_ERR", 0, 0, 0, 0, "the specification does not say what becomes of the QP" },
	{ "RESP_TIMEOUT_ERR", 0, 0, 0, 0, "the specification does not have it" },
	{ "GENERAL_ERR", 0, 0, 0, 0, "the specification does not say what becomes of the QP" },
};

static const struct wc_row *wc_row_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(wc_rows); i++)
		if (fault_parse_is_status(name, wc_rows[i].name))
			return &wc_rows[i];
	return NULL;
}

/* complete STATUS */
int fault_do_complete(struct parse *p, char *const *word, int n)
{
	const struct wc_row *row = n > 1 ? wc_row_find(word[1]) : NULL;

	for (size_t i = 0; !row && n > 1 && i < ARRAY_SIZE(wc_rows); i++)
		if (wc_rows[i].status && words_near(word[1], wc_rows[i].name))
			return fault_parse_bad(p, "complete: unknown status %s; did you mean '%s'?", word[1],
					       wc_rows[i].name);
	if (!row)
		return fault_parse_bad(p, "complete: %s%.40s; expected LOC_LEN_ERR, LOC_QP_OP_ERR, LOC_PROT_ERR, BAD_RESP_ERR, "
				       "LOC_ACCESS_ERR, REM_INV_REQ_ERR, REM_ACCESS_ERR, REM_OP_ERR, RETRY_EXC_ERR or "
				       "RNR_RETRY_EXC_ERR", n > 1 ? "unknown status " : "missing status", n > 1 ? word[1] : "");
	if (!row->status)
		return fault_parse_bad(p, "complete: no rule makes %s: %s", row->name, row->why);
	p->rule->error = row->status;
	return 2;
}

/* Opcodes that a service has: IBA table 38. */
static uint32_t wr_ops_of(uint32_t services)
{
	return services & RC	       ? UINT32_MAX :
	       services & 1u << SEG_UC ? WR(SEND) | WR(SEND_WITH_IMM) | WR_WRITES | FAULT_OP_RECV :
					 WR(SEND) | WR(SEND_WITH_IMM) | FAULT_OP_RECV;
}

/* Without op the rule is for the sends that may have the status; without service for the services. */
int fault_check_complete(struct parse *p)
{
	const struct wc_row *row = wc_rows;
	struct fault_rule *r = p->rule;
	uint32_t services, ops;
	int rc;

	while (row->status != r->error)
		row++;
	rc = fault_parse_takes(p, "complete", FAULT_BY_OP | FAULT_BY_SERVICE | FAULT_BY_QP |
			       FAULT_BY_DEV | FAULT_BY_PROC,
			       "the rule is about work requests, and no packets");
	if (rc)
		return rc;
	services = r->by & FAULT_BY_SERVICE ? 1u << r->service : ALL;
	ops = r->by & FAULT_BY_OP ? r->ops : row->ops;
	if (!ops)
		return fault_parse_bad(p, "complete: only receives complete with %s: say `op RECV`", row->name);
	if (ops & FAULT_OP_RECV && ops != FAULT_OP_RECV)
		return fault_parse_bad(p, "complete: a rule is for receives or for sends");
	if (r->by & FAULT_BY_OP && !(ops & wr_ops_of(services)))
		return fault_parse_bad(p, "complete: %s has no such opcode", seg_service_name(r->service));
	if (ops == FAULT_OP_RECV ? !row->recv : ops & ~row->ops)
		return fault_parse_bad(p, "complete: %s do not complete with %s",
				       ops == FAULT_OP_RECV ? "receives" : "work requests of this opcode", row->name);
	services &= ops == FAULT_OP_RECV ? row->recv : row->services;
	if (!services)
		return fault_parse_bad(p, "complete: only RC has %s", row->name);
	if (services == RC) {
		r->service = SEG_RC;
		r->by |= FAULT_BY_SERVICE;
	}
	r->ops = ops;
	r->by |= FAULT_BY_OP;
	return 0;
}

/* hold completions TIME */
int fault_do_hold(struct parse *p, char *const *word, int n)
{
	int rc;

	if (n < 3 || strcmp(word[1], "completions"))
		return fault_parse_bad(p, "hold: expected `hold completions TIME`");
	rc = fault_parse_time(p, "hold", word[2], &p->rule->delay);
	if (!rc && !p->rule->delay)
		rc = fault_parse_bad(p, "hold: the time is 0");
	return rc ? rc : 3;
}

int fault_check_hold(struct parse *p)
{
	return fault_parse_takes(p, "hold", FAULT_BY_QP | FAULT_BY_DEV | FAULT_BY_PROC,
				 "a completion queue has completions of all kinds, and keeps their order");
}

/* hang */
static bool fault_qp_exists(const struct processes *ps, uint32_t qpn)
{
	const struct process *pr;

	list_for_each_entry(pr, &ps->list, node)
		if (pr->proc && res_has_qp(pr, qpn))
			return true;
	return false;
}

int fault_check_hang(struct parse *p)
{
	const struct fault_rule *r = p->rule;
	int rc;

	if (!(r->by & (FAULT_BY_QP | FAULT_BY_PROC)))
		return fault_parse_bad(p, "hang: expected a QP or a process: `hang qp N` or `hang pid PID`");
	if (r->when != FAULT_ALWAYS || r->times)
		return fault_parse_bad(p, "hang: a QP hangs until the rule is deleted; nth, every, times and a percentage "
					  "have no meaning");
	rc = fault_parse_takes(p, "hang", FAULT_BY_QP | FAULT_BY_PROC, "a QP hangs with all that it does");
	if (!rc && r->by & FAULT_BY_QP && !fault_qp_exists(p->processes, r->qpn))
		return fault_parse_bad(p, "hang: no process has QP %u; `rdma res show qp` shows them as lqpn", r->qpn);
	return rc;
}

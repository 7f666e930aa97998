/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Framing of RDMA netlink.
 *
 * A datagram holds one or more messages. Each is answered separately. There are two forms of
 * requests, named as in the kernel:
 *
 * - dump: has the flag NLM_F_DUMP and asks for a list. The answer consists of datagrams of NLM_F_MULTI
 *   messages, followed by a datagram with NLMSG_DONE, whose body is 0 or the -errno of the dump. A dump
 *   gets no NLMSG_ERROR, even with NLM_F_ACK.
 * - doit: all others. The answer is one message, or none for commands that change something; then an
 *   NLMSG_ERROR with 0 if the request has NLM_F_ACK. If it fails, only an NLMSG_ERROR is sent.
 *
 * A request that fails before it is run gets an NLMSG_ERROR in both forms: the command is unknown, it
 * has no dump, or it needs CAP_NET_ADMIN.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <string.h>

#include "abi/netlink/call_internal.h"
#include "base/log.h"
#include "ipc/netlink_msg.h"

#define REQ_MAX 16384	/* longer datagrams are ignored; requests have about 100 bytes */

void nldev_flush(struct nldev_call *c)
{
	if (c->used)
		c->reply(c->arg, c->out.buf, c->used);
	c->used = 0;
}

int nldev_msg_begin(struct nldev_call *c, struct nldev_msg *m, uint16_t type, uint16_t flags)
{
	if (c->used + NLMSG_HDRLEN > sizeof(c->out))
		return -EMSGSIZE;
	m->nlh = mnl_nlmsg_put_header(c->out.buf + c->used);
	m->room = sizeof(c->out) - c->used;
	m->nlh->nlmsg_type = type;
	m->nlh->nlmsg_flags = flags;
	m->nlh->nlmsg_seq = c->req->nlmsg_seq;
	m->nlh->nlmsg_pid = c->req->nlmsg_pid;
	return 0;
}

void nldev_msg_end(struct nldev_call *c, const struct nldev_msg *m)
{
	c->used += NLMSG_ALIGN(m->nlh->nlmsg_len);
}

/* Appends the reason's text, as for a socket with NETLINK_EXT_ACK, and the reason. libruse.so cuts off what is not wanted. */
static void netlink_put_why(struct nldev_msg *m, const struct why *why)
{
	uint32_t before = m->nlh->nlmsg_len;
	char text[256];

	why_text(why, text, sizeof(text));
	m->nlh->nlmsg_len = NLMSG_ALIGN(before);
	m->nlh->nlmsg_flags |= NLM_F_ACK_TLVS;
	if (mnl_attr_put_strz_check(m->nlh, m->room, NLMSGERR_ATTR_MSG, text) &&
	    mnl_attr_put_check(m->nlh, m->room, IPC_NLMSGERR_WHY, sizeof(*why), why))
		return;
	m->nlh->nlmsg_len = before;
	m->nlh->nlmsg_flags &= (uint16_t)~NLM_F_ACK_TLVS;
}

/*
 * Sends NLMSG_ERROR with the result rc. If rc is an error, the message contains the whole request,
 * provided that it fits. If rc is 0, or the request does not fit, it contains the request's header.
 */
static void netlink_ack(struct nldev_call *c, int rc)
{
	struct nlmsgerr *e;
	struct nldev_msg m;
	size_t echo;

	c->used = 0;
	if (BUG_ON(nldev_msg_begin(c, &m, NLMSG_ERROR, rc ? 0 : NLM_F_CAPPED)))
		return;
	e = mnl_nlmsg_put_extra_header(m.nlh, sizeof(*e));
	e->error = rc;
	echo = rc ? c->req->nlmsg_len : NLMSG_HDRLEN;
	if (echo > sizeof(c->out) - NLMSG_HDRLEN - sizeof(*e)) {
		echo = NLMSG_HDRLEN;
		m.nlh->nlmsg_flags |= NLM_F_CAPPED;
	}
	memcpy(&e->msg, c->req, echo);
	m.nlh->nlmsg_len += (uint32_t)(echo - NLMSG_HDRLEN);
	if (rc && c->h->why && c->h->why->id)
		netlink_put_why(&m, c->h->why);
	c->used = m.nlh->nlmsg_len;
	nldev_flush(c);
}

static void netlink_message(struct nldev_call *c)
{
	uint16_t flags = c->req->nlmsg_flags;
	int rc = 0;

	c->used = 0;
	if (c->h->why)
		c->h->why->id = WHY_NONE;
	/* Messages that are not requests are not executed; with NLM_F_ACK they are acknowledged. */
	if ((flags & NLM_F_REQUEST) && c->req->nlmsg_type >= NLMSG_MIN_TYPE)
		rc = nldev_run(c);
	if (rc < 0 || (!rc && (flags & NLM_F_ACK)))
		netlink_ack(c, rc);
}

void nldev_input(const struct nldev_ctx *h, const void *req, size_t len,
		 nldev_reply_fn reply, void *arg)
{
	union {
		struct nlmsghdr align;
		char buf[REQ_MAX];
	} in;
	struct nldev_call c = { .h = h, .reply = reply, .arg = arg };
	size_t at = 0;

	if (len > sizeof(in))
		return;
	memcpy(in.buf, req, len);
	while (len - at >= NLMSG_HDRLEN) {
		const struct nlmsghdr *nlh = (const struct nlmsghdr *)(in.buf + at);

		if (nlh->nlmsg_len < NLMSG_HDRLEN || nlh->nlmsg_len > len - at)
			return;
		c.req = nlh;
		netlink_message(&c);
		at += min((size_t)NLMSG_ALIGN(nlh->nlmsg_len), len - at);
	}
}

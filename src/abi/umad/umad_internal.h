/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared between the files of src/abi/umad: an open umadN, its agents, packets and sends. */
#ifndef RUSE_ABI_UMAD_UMAD_INTERNAL_H
#define RUSE_ABI_UMAD_UMAD_INTERNAL_H

#include <rdma/ib_user_mad.h>
#include "abi/umad/umad.h"

/* A packet for read(): a received MAD, or the common header of a MAD whose send timed out. */
struct umad_packet {
	struct list_head link;
	struct ib_user_mad_hdr hdr;
	uint32_t len;		/* length of data[], without the reason */
	bool received;
	bool why;		/* a struct why follows in data[] */
	uint8_t data[];
};

/* A send for which the MAD layer has not called done() yet. */
struct umad_send {
	struct list_head link;
	struct umad_file *file;
	struct ib_user_mad_hdr hdr;
	uint8_t mad[RMPP_HDR_LEN];	/* first bytes of the MAD as sent; in a request with the agent's TID */
};

/* An entry of umad_file.agents, for one MAD agent. Its index is the agent id that the program uses. */
struct umad_slot {
	struct umad_file *file;
	struct mad_agent *agent;	/* NULL: free */
};

struct umad_file {
	struct list_head link;		/* umad_port.files */
	struct umad_port *port;
	const struct umad_file_ops *ops;
	void *ctx;
	struct umad_slot agents[UMAD_MAX_AGENTS];
	struct list_head packets;
	uint32_t npackets;
	struct umad_packet *last;	/* last packet read, for umad_unread(); or NULL */
	struct list_head sends;
	bool dead;			/* the device is gone */
	bool pkey_index;		/* true: 64-byte headers with P_Key index; false: 56-byte headers */
	bool used;			/* an agent was registered: the form of the headers is fixed */
};

/* Leaves the reason of a refusal and returns ret. */
#define umad_refuse(f, ret, id, ...) \
	(why_set(&(f)->port->mad->host->why, id, __VA_ARGS__), (ret))

extern const struct mad_agent_ops umad_agent_ops;

static inline size_t umad_hdr_len(const struct umad_file *f)
{
	return f->pkey_index ? sizeof(struct ib_user_mad_hdr) :
			       sizeof(struct ib_user_mad_hdr_old);
}

static inline void send_begin(struct umad_send *s)
{
	list_add_tail(&s->link, &s->file->sends);
	if (s->file->ops->begun)
		s->file->ops->begun(s->file->ctx, s->mad);
}

static inline void send_end(struct umad_send *s)
{
	list_del(&s->link);
	if (s->file->ops->ended)
		s->file->ops->ended(s->file->ctx, s->mad);
}

#endif

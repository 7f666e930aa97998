/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rounding, per driver: the rules are those in the section `create` of data/like/NAME.json, where their sources are.
 * librxe's rings are made for the sizes that are returned, so they have at least these.
 */
#include <string.h>
#include "base/util.h"
#include "core/like.h"
#include "core/qp.h"
#include "core/srq.h"

const struct like like_default = {
	.name = "",
	.driver = LIKE_RXE,
#define LIKE_INIT(member, name, value, ...) .member = (uint64_t)(value),
	LIKE_FIELDS(LIKE_INIT)
		LIKE_IDENTITY(LIKE_INIT)
			LIKE_CREATE(LIKE_INIT)
				LIKE_REFUSED(LIKE_INIT)
#undef LIKE_INIT
};

#define LIKE_ENTRY(section, member, name, low, high, kind, refused) \
	{ section, name, offsetof(struct like, member), low, high, kind, refused }
#define LIKE_FIELD(member, name, value, low, high, kind) \
	LIKE_ENTRY("fields", member, name, low, high, LIKE_##kind, false),
#define LIKE_IDENTITIES(member, name, value, low, high, kind) \
	LIKE_ENTRY("identity", member, name, low, high, LIKE_##kind, false),
#define LIKE_CREATES(member, name, value, low, high, kind) \
	LIKE_ENTRY("create", member, name, low, high, LIKE_##kind, false),
#define LIKE_ERRNO(member, name, value) LIKE_ENTRY("refused", member, name, 1, 133, LIKE_FACT, true),

const struct like_entry like_entries[] = {
	LIKE_FIELDS(LIKE_FIELD)
		LIKE_IDENTITY(LIKE_IDENTITIES)
			LIKE_CREATE(LIKE_CREATES)
				LIKE_REFUSED(LIKE_ERRNO)
};
const size_t like_nentries = ARRAY_SIZE(like_entries);

_Static_assert(ARRAY_SIZE(like_entries) + 6 == LIKE_VALUES,
	       "all but driver, credits_poll, gid_v1, missing, fw_ver and octets");
_Static_assert(sizeof(struct like) == LIKE_NAME + LIKE_VALUES * sizeof(uint64_t), "no padding");

bool like_entry_valid(const struct like_entry *e, uint64_t value)
{
	if (e->refused && (int64_t)value < 0)
		value = -value;
	return value >= e->low && value <= e->high;
}

bool like_valid(const struct like *l)
{
	size_t len = strnlen(l->name, sizeof(l->name));

	for (size_t i = 0; i < len; i++)
		if (l->name[i] <= ' ' || l->name[i] > '~')
			return false;
	if (len == sizeof(l->name) || l->driver >= LIKE_DRIVERS || l->credits_poll > 1 ||
	    l->gid_v1 > 1 || l->octets > 1 || l->missing >> LIKE_NMISSING)
		return false;
	for (size_t i = 0; i < like_nentries; i++)
		if (!like_entry_valid(&like_entries[i], like_value(l, &like_entries[i])))
			return false;
	return true;
}

/* The limits of a QP, in the order of the text of QP_LIMIT. */
enum like_qp_limit { SEND_WR, RECV_WR, SEND_SGE, RECV_SGE, INLINE };

static bool like_refuse(const struct like *l, struct like_excess *x, enum like_qp_limit limit,
			uint64_t value, uint64_t max)
{
	const uint64_t e[] = { l->e_qp_send_wr, l->e_qp_recv_wr, l->e_qp_send_sge, l->e_qp_recv_sge,
			       l->e_qp_inline };

	*x = (struct like_excess){ limit, value, max, like_errno(e[limit]) };
	return false;
}

static bool like_fits(const struct like *l, struct like_excess *x, enum like_qp_limit limit,
		      uint64_t value, uint64_t max)
{
	return value <= max || like_refuse(l, x, limit, value, max);
}

static bool like_qp_limits(const struct like *l, const struct qp_init_attr *a,
			   struct like_excess *x)
{
	return like_fits(l, x, SEND_WR, a->max_send_wr, l->max_qp_wr) &&
	       like_fits(l, x, RECV_WR, a->max_recv_wr, l->max_qp_wr) &&
	       like_fits(l, x, SEND_SGE, a->max_send_sge, l->max_sge) &&
	       like_fits(l, x, RECV_SGE, a->max_recv_sge, l->max_sge) &&
	       like_fits(l, x, INLINE, a->max_inline,
			 a->type == QPT_UD ? l->max_inline_ud : l->max_inline_rc);
}

/* The SGEs and the inline data of a send WQE use the same bytes. */
static bool like_qp_rxe(struct qp_init_attr *a)
{
	a->max_inline = max(a->max_send_sge * 16, a->max_inline);
	a->max_send_sge = a->max_inline / 16;
	return true;
}

static bool like_sq_mlx5(const struct like *l, struct qp_init_attr *a, struct like_excess *x)
{
	uint64_t overhead = a->type == QPT_UD ? l->sq_overhead_ud :
			    a->type == QPT_UC ? l->sq_overhead_uc : l->sq_overhead_rc;
	uint64_t sges = overhead + 16ull * a->max_send_sge, bytes, units;
	uint64_t data = a->max_inline ? overhead + ALIGN_UP(4ull + a->max_inline, 16) : 0;
	uint64_t wqe = ALIGN_UP(max(max(sges, data), 1ull), 64), most = l->sq_wqe_max;

	if (!a->max_send_wr)
		return true;
	if (wqe > most)
		return data > sges ? like_refuse(l, x, INLINE, a->max_inline,
						 most - min(most, overhead + 4)) :
				     like_refuse(l, x, SEND_SGE, a->max_send_sge,
						 (most - min(most, overhead)) / 16);
	bytes = roundup_pow2((uint32_t)(a->max_send_wr * wqe));
	units = l->sq_units_max * l->sq_wqe_unit;
	if (bytes > units)
		return like_refuse(l, x, SEND_WR, a->max_send_wr, units / wqe);
	a->max_send_wr = (uint32_t)(bytes / wqe);
	a->max_inline = (uint32_t)(wqe - min(wqe, overhead + 4));
	return true;
}

static bool like_qp_mlx5(const struct like *l, struct qp_init_attr *a, struct like_excess *x)
{
	uint32_t wqe = roundup_pow2(16 * max(a->max_recv_sge, 1u)), bytes;

	if (a->max_recv_wr && wqe > l->rq_wqe_max)
		return like_refuse(l, x, RECV_SGE, a->max_recv_sge, l->rq_wqe_max / 16);
	if (a->max_recv_wr) {
		bytes = max(roundup_pow2(a->max_recv_wr) * wqe, 64u);
		a->max_recv_wr = bytes / wqe;
		a->max_recv_sge = wqe / 16;
	}
	return like_sq_mlx5(l, a, x);
}

/* log2 of the quanta, of 32 bytes, of a WQE. */
static uint32_t like_irdma_shift(uint32_t sges, uint32_t data)
{
	if (sges <= 1 && data <= 8)
		return 0;
	if (sges < 4 && data <= 39)
		return 1;
	return sges < 8 && data <= 101 ? 2 : 3;
}

/* Rounds the work requests of a queue, if it is not too large. */
static bool like_irdma_queue(uint32_t *wr, uint32_t shift, uint64_t least, uint64_t reserved,
			     uint64_t max_quanta)
{
	uint64_t quanta = ((uint64_t)*wr << shift) + reserved, depth;

	depth = quanta > max_quanta ? quanta : roundup_pow2((uint32_t)quanta);
	depth = max(depth, least << shift);
	if (depth > max_quanta)
		return false;
	*wr = (uint32_t)((depth - reserved) >> shift);
	return true;
}

static bool like_qp_irdma(const struct like *l, struct qp_init_attr *a, struct like_excess *x)
{
	uint32_t sq = like_irdma_shift(a->max_send_sge + 1, a->max_inline);
	uint32_t rq = like_irdma_shift(a->max_recv_sge, 0);

	if (!like_irdma_queue(&a->max_send_wr, sq, l->wq_min, l->sq_reserved, l->sq_quanta_max))
		return like_refuse(l, x, SEND_WR, a->max_send_wr,
				   (l->sq_quanta_max - l->sq_reserved) >> sq);
	if (!a->srq &&
	    !like_irdma_queue(&a->max_recv_wr, rq, l->wq_min, l->rq_reserved, l->rq_quanta_max))
		return like_refuse(l, x, RECV_WR, a->max_recv_wr,
				   (l->rq_quanta_max - l->rq_reserved) >> rq);
	return true;
}

static bool like_qp_bnxt(const struct like *l, struct qp_init_attr *a)
{
	if (a->max_inline)
		a->max_inline = (uint32_t)(a->type == QPT_UD ? l->max_inline_ud : l->max_inline_rc);
	return true;
}

bool like_qp(const struct like *l, struct qp_init_attr *a, struct like_excess *x)
{
	if (a->srq)
		a->max_recv_wr = a->max_recv_sge = 0;
	if (!like_qp_limits(l, a, x))
		return false;
	switch ((enum like_driver)l->driver) {
	case LIKE_RXE:
		return like_qp_rxe(a);
	case LIKE_MLX5:
		return like_qp_mlx5(l, a, x);
	case LIKE_IRDMA:
		return like_qp_irdma(l, a, x);
	case LIKE_BNXT:
		return like_qp_bnxt(l, a);
	case LIKE_EXACT:
	case LIKE_DRIVERS:
		break;
	}
	return true;
}

uint32_t like_max_cqe(const struct like *l)
{
	return (uint32_t)min(l->max_cqe, (uint64_t)DEV_MAX_CQE);
}

uint32_t like_cqe(const struct like *l, uint32_t cqe)
{
	switch ((enum like_driver)l->driver) {
	case LIKE_RXE:
	case LIKE_MLX5:
		return roundup_pow2(cqe + 1) - 1;
	case LIKE_BNXT:
		if (2ull * cqe < l->max_cqe)
			cqe *= 2;
		return (uint32_t)min((uint64_t)roundup_pow2(cqe + 1), l->max_cqe + 1);
	case LIKE_IRDMA:
	case LIKE_EXACT:
	case LIKE_DRIVERS:
		break;
	}
	return cqe;
}

void like_srq(const struct like *l, struct srq_init_attr *a)
{
	a->max_sge = max(a->max_sge, 1u);
	if (l->driver == LIKE_MLX5)
		a->max_sge = (max(32u, roundup_pow2(16 + 16 * a->max_sge)) - 16) / 16;
	if (l->driver == LIKE_RXE || l->driver == LIKE_MLX5)
		a->max_wr = roundup_pow2(a->max_wr + 1) - 1;
}

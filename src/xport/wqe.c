/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Send WQEs: from the program's ring to struct req_wqe.
 *
 * The fields that the protocol depends on are read once and kept in private memory. The
 * scatter/gather list and inline data stay in the slot. They are read and checked again
 * for every segment: a program that changes them meanwhile changes only its own payload.
 */
#include <rdma/ib_user_verbs.h>
#include <string.h>
#include "base/pool.h"
#include "core/mw.h"
#include "shared/barrier.h"
#include "xport/why.h"
#include "xport/xport_internal.h"

#define ON_RC (1 << QPT_RC)
#define ON_UC (1 << QPT_UC)
#define ON_UD (1 << QPT_UD)

/* Values of Linux 6.3 and later: some providers are newer than Debian 12's headers. */
#define WR_FLUSH 14
#define WR_ATOMIC_WRITE 15
#define WC_FLUSH 8
#define WC_ATOMIC_WRITE 9

/* rxe_send_wr.wr.flush of the later headers. */
struct wr_flush {
	uint64_t remote_addr;
	uint32_t length, rkey;
	uint8_t type, level;	/* type: SEG_FETH_GLOBAL, _PERSISTENT; level: SEG_FETH_RANGE, _MR */
};

/* The send opcodes of the ABI. */
static const struct wqe_op {
	uint8_t on;		/* ON_*: QP types that support the opcode */
	uint8_t type;		/* enum seg_type */
	uint8_t wc;		/* enum ib_uverbs_wc_opcode */
	uint8_t flags;		/* WQE_*; if not 0 wqe_read_special() reads the WQE */
} wqe_ops[] = {
	[IB_UVERBS_WR_RDMA_WRITE] = { ON_RC | ON_UC, SEG_WRITE, IB_UVERBS_WC_RDMA_WRITE, 0 },
	[IB_UVERBS_WR_RDMA_WRITE_WITH_IMM] = { ON_RC | ON_UC, SEG_WRITE_IMM,
						IB_UVERBS_WC_RDMA_WRITE, 0 },
	[IB_UVERBS_WR_SEND] = { ON_RC | ON_UC | ON_UD, SEG_SEND, IB_UVERBS_WC_SEND, 0 },
	[IB_UVERBS_WR_SEND_WITH_IMM] = { ON_RC | ON_UC | ON_UD, SEG_SEND_IMM,
					 IB_UVERBS_WC_SEND, 0 },
	[IB_UVERBS_WR_SEND_WITH_INV] = { ON_RC, SEG_SEND_INV, IB_UVERBS_WC_SEND, 0 },
	[IB_UVERBS_WR_RDMA_READ] = { ON_RC, SEG_READ_REQ, IB_UVERBS_WC_RDMA_READ, 0 },
	[IB_UVERBS_WR_ATOMIC_CMP_AND_SWP] = { ON_RC, SEG_CMP_SWP, IB_UVERBS_WC_COMP_SWAP, 0 },
	[IB_UVERBS_WR_ATOMIC_FETCH_AND_ADD] = { ON_RC, SEG_FETCH_ADD, IB_UVERBS_WC_FETCH_ADD, 0 },
	[IB_UVERBS_WR_LOCAL_INV] = { ON_RC | ON_UC, SEG_SEND, IB_UVERBS_WC_LOCAL_INV, WQE_LOCAL },
	[IB_UVERBS_WR_BIND_MW] = { ON_RC | ON_UC, SEG_SEND, IB_UVERBS_WC_BIND_MW, WQE_LOCAL },
	[WR_FLUSH] = { ON_RC, SEG_FLUSH, WC_FLUSH, WQE_INLINE },
	[WR_ATOMIC_WRITE] = { ON_RC, SEG_ATOMIC_WRITE, WC_ATOMIC_WRITE, WQE_INLINE },
};

/* Completion opcode of a successful WQE, whose opcode is therefore valid. */
uint32_t wqe_wc_opcode(uint32_t opcode)
{
	return wqe_ops[opcode].wc;
}

/*
 * Length of the scatter/gather list in bytes; UINT64_MAX: too many entries. It is computed from the
 * entries, because ibv_wr_set_sge_list() of rdma-core 44 writes a wrong dma.length: the number of
 * entries times the first length.
 */
static uint64_t wqe_sge_sum(const struct qp *qp, const struct rxe_send_wqe *s, struct req_wqe *w)
{
	uint32_t num = READ_ONCE(s->dma.num_sge);
	uint64_t sum = 0;

	if (unlikely(num > qp->max_send_sge || num > SEG_MAX_IOV))
		return UINT64_MAX;
	w->num_sge = (uint8_t)num;
	for (uint32_t i = 0; i < num; i++)
		sum += READ_ONCE(s->dma.sge[i].length);
	return sum;
}

/* Reads a BIND_MW or LOCAL_INV. */
static enum wc_status wqe_read_local(const struct rxe_send_wqe *s, struct req_wqe *w)
{
	if (w->opcode == IB_UVERBS_WR_LOCAL_INV)
		return WC_SUCCESS;
	w->bind = (struct mw_bind){
		.addr = READ_ONCE(s->wr.wr.mw.addr),
		.length = READ_ONCE(s->wr.wr.mw.length),
		.mr_lkey = READ_ONCE(s->wr.wr.mw.mr_lkey),
		.mw_rkey = READ_ONCE(s->wr.wr.mw.mw_rkey),
		.rkey = READ_ONCE(s->wr.wr.mw.rkey),
		.access = READ_ONCE(s->wr.wr.mw.access),
	};
	return WC_SUCCESS;
}

static noinline __cold void wqe_why_bind(struct qp *qp, const struct req_wqe *w,
					 enum mw_fault fault)
{
	const struct mw_bind *b = &w->bind;
	const struct key_card *c;

	if (w->opcode == IB_UVERBS_WR_LOCAL_INV) {
		xp_why(qp, BIND_FAILED, w->inv_rkey, 1, fault - MW_NO_WINDOW);
	} else if (fault != MW_RANGE) {
		xp_why(qp, BIND_FAILED, b->mw_rkey, 0, fault - MW_NO_WINDOW);
	} else {
		c = &qp->dev->keys[b->mr_lkey >> 8];	/* the region exists */
		xp_why(qp, BIND_RANGE, b->addr, b->length, c->iova, c->length, b->mw_rkey);
	}
}

/* Executes BIND_MW or LOCAL_INV. */
enum wc_status wqe_bind(struct qp *qp, const struct req_wqe *w)
{
	enum mw_fault fault = w->opcode == IB_UVERBS_WR_LOCAL_INV ?
		mw_invalidate(qp, w->inv_rkey) : mw_bind(qp, &w->bind);

	if (likely(fault == MW_OK))
		return WC_SUCCESS;
	wqe_why_bind(qp, w, fault);
	return WC_MW_BIND_ERR;
}

/* Reads an ATOMIC WRITE. Its 8 bytes are always inline (librxe's wr_atomic_write()). */
static enum wc_status wqe_read_atomic_write(const struct rxe_send_wqe *s, struct req_wqe *w)
{
	w->rdma.va = READ_ONCE(s->wr.wr.rdma.remote_addr);
	w->rdma.rkey = READ_ONCE(s->wr.wr.rdma.rkey);
	w->len = READ_ONCE(s->dma.length);
	return w->len == 8 ? WC_SUCCESS : WC_LOC_LEN_ERR;
}

static enum wc_status wqe_read_flush(const struct rxe_send_wqe *s, struct req_wqe *w)
{
	const struct wr_flush *f = (const void *)&s->wr.wr;
	uint32_t plt = READ_ONCE(f->type), sel = READ_ONCE(f->level);

	w->flush.va = READ_ONCE(f->remote_addr);
	w->flush.rkey = READ_ONCE(f->rkey);
	w->flush.len = READ_ONCE(f->length);
	w->feth = (plt & SEG_FETH_PLT) | sel << SEG_FETH_SEL_SHIFT;
	if (unlikely(plt > SEG_FETH_PLT || sel > SEG_FETH_SEL >> SEG_FETH_SEL_SHIFT))
		return WC_LOC_QP_OP_ERR;
	return w->flush.len > DEV_MAX_MSG ? WC_LOC_LEN_ERR : WC_SUCCESS;
}

/* Reads a WQE that has no scatter/gather list: BIND_MW, LOCAL_INV, FLUSH or ATOMIC WRITE. */
static noinline enum wc_status wqe_read_special(const struct qp *qp,
						const struct rxe_send_wqe *s,
						struct req_wqe *w)
{
	w->flags = (uint8_t)((w->flags & ~WQE_INLINE) | wqe_ops[w->opcode].flags);
	if (w->flags & WQE_LOCAL)
		return wqe_read_local(s, w);
	if (!qp->attr.max_rd_atomic)
		return WC_LOC_QP_OP_ERR;
	return w->type == SEG_FLUSH ? wqe_read_flush(s, w) : wqe_read_atomic_write(s, w);
}

/*
 * True if the WQE's data is inline. IBV_SEND_INLINE says so for ibv_post_send(). ibv_wr_set_inline_data()
 * does not need the flag: librxe then leaves a length without a scatter/gather list.
 */
static inline bool wqe_has_inline(const struct rxe_send_wqe *s, const struct req_wqe *w)
{
	return w->flags & WQE_INLINE ||
		unlikely(!READ_ONCE(s->dma.num_sge) && READ_ONCE(s->dma.length));
}

/* Sets payload length and number of list entries. */
static inline enum wc_status wqe_read_len(const struct qp *qp, const struct rxe_send_wqe *s,
					  struct req_wqe *w)
{
	uint64_t len;

	if (wqe_has_inline(s, w)) {
		w->flags |= WQE_INLINE;
		/*
		 * A READ or atomic needs a scatter/gather list and cannot be inline. librxe accepts
		 * the inline flag and has stored inline bytes in place of the list, so the WQE is
		 * invalid.
		 */
		if (unlikely(wqe_is_rd(w))) {
			w->flags &= (uint8_t)~WQE_INLINE;
			return WC_LOC_QP_OP_ERR;
		}
		len = READ_ONCE(s->dma.length);
		if (unlikely(len > qp->max_inline))
			return WC_LOC_LEN_ERR;
	} else {
		len = wqe_sge_sum(qp, s, w);
		if (unlikely(len == UINT64_MAX))
			return WC_LOC_QP_OP_ERR;
		if (unlikely(len > DEV_MAX_MSG))
			return WC_LOC_LEN_ERR;
	}
	w->len = (uint32_t)len;
	return WC_SUCCESS;
}

/* Reads the part that depends on the opcode. Returns the WQE's status; not 0: invalid. */
static enum wc_status wqe_read_op(const struct qp *qp, const struct rxe_send_wqe *s,
				  struct req_wqe *w)
{
	enum wc_status st;

	if (unlikely(w->opcode >= ARRAY_SIZE(wqe_ops) ||
		     !(wqe_ops[w->opcode].on & 1 << qp->type)))
		return WC_LOC_QP_OP_ERR;
	w->type = wqe_ops[w->opcode].type;
	if (unlikely(wqe_ops[w->opcode].flags))
		return wqe_read_special(qp, s, w);
	/* With max_rd_atomic 0 the WQE could never be sent. (Kernel rxe lets it wait for ever.) */
	if (unlikely(wqe_is_rd(w) && !qp->attr.max_rd_atomic))
		return WC_LOC_QP_OP_ERR;
	st = wqe_read_len(qp, s, w);
	if (unlikely(st))
		return st;

	if (qp->type == QPT_UD) {
		w->ud.qpn = READ_ONCE(s->wr.wr.ud.remote_qpn);
		w->ud.qkey = READ_ONCE(s->wr.wr.ud.remote_qkey);
		w->ud.ah_num = READ_ONCE(s->wr.wr.ud.ah_num);
		return WC_SUCCESS;
	}
	if (w->type == SEG_WRITE || w->type == SEG_WRITE_IMM || w->type == SEG_READ_REQ) {
		w->rdma.va = READ_ONCE(s->wr.wr.rdma.remote_addr);
		w->rdma.rkey = READ_ONCE(s->wr.wr.rdma.rkey);
		w->rdma.asked = 0;
	} else if (wqe_is_rd(w)) {
		w->atomic.va = READ_ONCE(s->wr.wr.atomic.remote_addr);
		w->atomic.rkey = READ_ONCE(s->wr.wr.atomic.rkey);
		w->atomic.compare = w->atomic.swap_add = READ_ONCE(s->wr.wr.atomic.compare_add);
		if (w->type == SEG_CMP_SWP)
			w->atomic.swap_add = READ_ONCE(s->wr.wr.atomic.swap);
		if (unlikely(w->len < 8))
			return WC_LOC_LEN_ERR;
		w->len = 8;
	}
	return WC_SUCCESS;
}

/* The reason of an error status of wqe_read_op(). */
static noinline __cold void wqe_why(struct qp *qp, const struct rxe_send_wqe *s,
				    const struct req_wqe *w)
{
	uint32_t num = READ_ONCE(s->dma.num_sge);
	uint64_t len = READ_ONCE(s->dma.length);
	bool inl = READ_ONCE(s->wr.send_flags) & WQE_INLINE || (!num && len);
	bool known = w->opcode < ARRAY_SIZE(wqe_ops) && wqe_ops[w->opcode].on & 1 << qp->type;

	if (!known)
		xp_why(qp, SEND_OPCODE, w->opcode, qp->type);
	else if (!qp->attr.max_rd_atomic && wqe_is_rd(w))
		xp_why(qp, SEND_NO_RD);
	else if (w->status == WC_LOC_QP_OP_ERR && wqe_is_rd(w) && inl)
		xp_why(qp, SEND_INLINE_READ);
	else if (w->status == WC_LOC_QP_OP_ERR)
		xp_why(qp, SEND_SGES, num, qp->max_send_sge);
	else if (w->type == SEG_CMP_SWP || w->type == SEG_FETCH_ADD)
		xp_why(qp, SEND_LENGTH, w->len, 8, 3);
	else if (w->flags & WQE_INLINE)
		xp_why(qp, SEND_LENGTH, len, qp->max_inline, 1);
	else
		xp_why(qp, SEND_LENGTH, w->type == SEG_FLUSH ? w->flush.len : len, DEV_MAX_MSG, 0);
}

/* Doubles the array of private copies. False: it is as large as the ring, or no memory. */
static noinline __cold bool wqe_grow(struct qp *qp)
{
	struct qp_req *r = &qp->req;
	uint32_t mask = r->wqe_mask * 2 + 1;
	struct req_wqe *more;

	if (r->wqe_mask == qp->sq.mask)
		return false;
	more = pool_alloc(((size_t)mask + 1) * sizeof(*more));
	if (!more)
		return false;
	for (uint32_t i = qp->sq.index; i != r->tail; i = (i + 1) & qp->sq.mask)
		more[i & mask] = *req_wqe(qp, i);
	pool_free(r->wqe, ((size_t)r->wqe_mask + 1) * sizeof(*more));
	r->wqe = more;
	r->wqe_mask = mask;
	return true;
}

/*
 * Reads the next WQE of the ring. False: there is none, there is no memory, or it is a READ with so
 * many PSNs that more than half of the PSN space would be outstanding. An invalid WQE is read too,
 * and gets an error status.
 */
HOT bool wqe_fetch(struct qp *qp)
{
	struct qp_req *r = &qp->req;
	const struct rxe_send_wqe *s;
	struct req_wqe *w;
	uint32_t opcode, npkts;

	if (r->tail == ring_producer(&qp->sq) ||
	    (unlikely(qp_checked(qp)) && r->tail == qp->check->tail))
		return false;
	/* If the program moves its producer index backwards, tail must not run into WQEs in flight. */
	if (unlikely(((r->tail + 1) & qp->sq.mask) == qp->sq.index))
		return false;
	if (unlikely(((r->tail - qp->sq.index) & qp->sq.mask) > r->wqe_mask) && !wqe_grow(qp))
		return false;
	s = ring_slot(&qp->sq, r->tail);
	w = req_wqe(qp, r->tail);
	opcode = READ_ONCE(s->wr.opcode);
	w->wr_id = READ_ONCE(s->wr.wr_id);
	w->opcode = opcode < 0xff ? (uint8_t)opcode : 0xff;
	w->type = SEG_SEND;
	w->flags = READ_ONCE(s->wr.send_flags) & 0x0f;
	w->imm = READ_ONCE(s->wr.ex.imm_data);	/* or invalidate_rkey: a union, as here */
	w->first_psn = r->psn;
	w->num_sge = 0;
	w->len = 0;
	w->status = (uint8_t)wqe_read_op(qp, s, w);
	if (unlikely(w->status))
		wqe_why(qp, s, w);
	npkts = 0;
	if (likely(!w->status && !(w->flags & WQE_LOCAL))) {
		npkts = w->type >= SEG_CMP_SWP ? 1 :
			(uint32_t)(((uint64_t)w->len + (1u << r->mtu_shift) - 1) >> r->mtu_shift);
		npkts += !npkts;
		/* A READ takes all its PSNs at once: they must fit in half of the PSN space. */
		if (w->type == SEG_READ_REQ &&
		    psn_off(r->psn, r->una) + (uint64_t)npkts > PSN_MASK / 2 + 1)
			return false;
	}
	w->npkts = npkts;
	r->psn = psn_add(r->psn, npkts);
	r->tail = (r->tail + 1) & qp->sq.mask;
	return true;
}

/*
 * Addresses of payload bytes [off, off + len) of the WQE in this slot, to read (SEND,
 * WRITE) or to write (READ, atomics). Result as xp_sge_iov().
 */
HOT int wqe_iov(const struct qp *qp, const struct req_wqe *w, uint32_t slot, uint64_t off,
		uint64_t len, struct iovec *iov)
{
	const struct rxe_send_wqe *s = ring_slot(&qp->sq, slot);

	if (!len)
		return 0;
	if (w->flags & WQE_INLINE) {
		iov[0] = (struct iovec){ (void *)(s->dma.inline_data + off), len };
		return 1;
	}
	return xp_sge_iov(qp, qp->pd, s->dma.sge, w->num_sge, off, len,
			  wqe_is_rd(w) ? IB_UVERBS_ACCESS_LOCAL_WRITE : 0, iov);
}

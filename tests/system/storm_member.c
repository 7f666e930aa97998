/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program of the storm. It has an RC connection to each of its two neighbours and sends
 * messages both ways without a pause (storm_data.c). The receiver compares every byte, then returns
 * a credit, and only then may the slot be written again. Between messages the sender reads back
 * what it has written, reads an area that does not change, and adds to a word of the peer's area
 * that nothing else changes.
 *
 * When a neighbour is dead, all requests to it must complete, the first failed one with
 * RETRY_EXC_ERR, and a READ of its memory must fail. Then the program destroys the QP and offers
 * a new one to the next program in that place. Any other error is a failure.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "storm.h"
#include "verbs.h"

#define OPS 32u			/* requests in flight of a QP */
#define PER_MESSAGE 5u		/* requests of a message at most */
#define GUARD 4096u
#define CALL_S 4		/* a command that fails after this time has waited for rused */
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		IBV_ACCESS_REMOTE_ATOMIC)

/* The area that the peer may use: guard, fixed bytes, slots, a word for atomics, guard. */
#define SLOTS_OFF FIXED
#define WORD_OFF (SLOTS_OFF + CREDITS * SLOT)
#define AREA (WORD_OFF + 4096u)

/* A request in flight. */
struct op {
	enum ibv_wr_opcode opcode;
	uint32_t len, off;	/* off: where a READ of the fixed bytes starts */
	uint64_t seed;		/* READ: seed of the data that it must return; ADD: the value that it must return */
	bool fixed, last_gasp;	/* fixed: READ of the fixed bytes; last_gasp: the peer is dead, so it must fail */
};

struct end {
	int conn, side, peer;	/* peer: the number of the member at the other side */
	struct half *mine, *theirs;
	uint64_t key, addr;
	uint32_t peer_life, tag, qpn, rkey;	/* addr, qpn, rkey: the peer's */
	enum end_state state;
	struct ibv_qp *qp;
	struct ibv_mr *area_mr;
	uint8_t *area, *tx, *rx;
	struct op op[OPS];
	uint32_t next, oldest;	/* requests */
	uint32_t sent, received;	/* messages */
	uint64_t sum;
	bool failed, gasped;
};

static struct {
	int id;
	uint32_t life;
	struct vctx v;
	struct end end[2];
	struct ibv_mr *mr;
	uint8_t *memory;
	bool events;
} me;

#define TX_SIZE ((size_t)OPS * SLOT)
#define RX_SIZE ((size_t)CREDITS * SLOT)
#define END_SIZE (GUARD + AREA + GUARD + TX_SIZE + RX_SIZE)

static uint64_t load64(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static uint64_t key_of(const struct end *e, uint32_t mine, uint32_t theirs)
{
	return e->side ? (uint64_t)theirs << 32 | mine : (uint64_t)mine << 32 | theirs;
}

static bool peer_dead(const struct end *e)
{
	return load(&world->member[e->peer].life) != e->peer_life;
}

static uint64_t fixed_seed(const struct end *e, int side)
{
	return hash(e->key * 31 + (uint64_t)(e->conn * 2 + side));
}

/*
 * Called when a command has failed. This is allowed while an action of the driver (a kill or stop
 * of rused or of a peer) may have an effect: then troubles and settled differ. A command may also
 * time out at any time, as rused may have to wait for a CPU; if it never succeeds, the driver
 * reports a hang. Any other failure ends the test.
 */
static void excuse(const struct end *e, const char *command, int err)
{
	if (load(&world->troubles) == load(&world->settled) && err != ETIMEDOUT &&
	    !(e && peer_dead(e)))
		die("member %d: %s: %s, and nothing was killed or stopped", me.id, command,
		    strerror(err));
	if (err <= 0 || err > 133)
		die("member %d: %s fails with errno %d", me.id, command, err);
	if (getenv("STORM_VERBOSE"))
		fprintf(stderr, "# member %d: %s: %s\n", me.id, command, strerror(err));
	__atomic_fetch_add(&world->excused, 1, __ATOMIC_RELAXED);
	nap_us(10000);
}

static void set_state(struct end *e, enum end_state state)
{
	e->state = state;
	store(&e->mine->state, state);
}

static void post_recv(struct end *e, uint32_t n)
{
	struct ibv_sge sge = { (uintptr_t)(e->rx + (size_t)(n % CREDITS) * SLOT), SLOT,
			       me.mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.wr_id = 1ull << 63 | (uint64_t)e->tag << 32 | n;
	if (ibv_post_recv(e->qp, &wr, &bad))
		die("member %d: post_recv", me.id);
}

/* Destroys the QP. Its completions that are still in the CQ have its tag in wr_id; the next QP has another one. */
static void end_close(struct end *e)
{
	uint8_t guard[GUARD];
	int err;

	if (e->qp && (err = ibv_destroy_qp(e->qp)))
		die("member %d: destroy_qp: %s", me.id, strerror(err));
	if (e->area_mr && (err = ibv_dereg_mr(e->area_mr)))
		die("member %d: dereg_mr: %s", me.id, strerror(err));
	e->qp = NULL;
	e->area_mr = NULL;
	fill(guard, GUARD, 1);
	if (memcmp(e->area - GUARD, guard, GUARD) || memcmp(e->area + AREA, guard, GUARD))
		die("member %d, connection %d: written outside of the area", me.id, e->conn);
	set_state(e, S_CLOSED);
}

/* Creates a QP and offers it to the program that is now the neighbour. */
static void end_offer(struct end *e)
{
	struct ibv_qp_init_attr a = {
		.send_cq = me.v.cq, .recv_cq = me.v.cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = OPS, .max_recv_wr = CREDITS, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = NOTE },
	};
	struct half *h = e->mine;

	e->peer_life = load(&world->member[e->peer].life);
	e->key = key_of(e, me.life, e->peer_life);
	e->qp = ibv_create_qp(me.v.pd, &a);
	if (!e->qp) {
		excuse(NULL, "create_qp", errno);
		return;
	}
	fill(e->area, FIXED, fixed_seed(e, e->side));
	memset(e->area + SLOTS_OFF, 0xee, CREDITS * SLOT);
	memset(e->area + WORD_OFF, 0, AREA - WORD_OFF);
	e->area_mr = ibv_reg_mr(me.v.pd, e->area, AREA, RIGHTS);
	if (!e->area_mr) {
		excuse(NULL, "reg_mr", errno);
		end_close(e);
		return;
	}
	e->tag = (e->tag + 2) & 0xffff;
	e->next = e->oldest = e->sent = e->received = 0;
	e->sum = 0;
	e->failed = e->gasped = false;
	h->qpn = e->qp->qp_num;
	h->rkey = e->area_mr->rkey;
	h->addr = (uintptr_t)e->area;
	store(&h->checked, 0);
	store(&h->ended, 0);
	__atomic_store_n(&h->offered, e->key, __ATOMIC_RELEASE);
	set_state(e, S_OFFERED);
}

/* The next transition of the QP. A failed one is repeated. */
static void end_modify(struct end *e)
{
	static const struct vcfg cfg = { .mtu = IBV_MTU_1024, .timeout = 12, .retry = 7,
					 .rnr_retry = 7, .min_rnr = 1, .rd_atomic = 4 };
	uint32_t psn = (uint32_t)hash(e->key) & 0xffffff;
	struct vdest to = { .qpn = e->qpn, .psn = psn };
	int err;

	switch (e->state) {
	case S_INIT:
		err = v_init(e->qp, RIGHTS);
		break;
	case S_RTR:
		err = ibv_query_gid(me.v.ctx, 1, GID_INDEX, &to.gid) ? errno : 0;
		if (!err)
			err = v_rtr(e->qp, &cfg, &to);
		break;
	default:
		err = v_rts(e->qp, &cfg, psn);
	}
	if (err) {
		excuse(e, e->state == S_INIT ? "INIT" : e->state == S_RTR ? "RTR" : "RTS", err);
		return;
	}
	if (e->state == S_INIT)
		for (uint32_t n = 0; n < CREDITS; n++)
			post_recv(e, n);
	if (e->state == S_RTS)
		__atomic_store_n(&e->mine->connected, e->key, __ATOMIC_RELEASE);
	set_state(e, (enum end_state)(e->state + 1));
}

static void post(struct end *e, struct ibv_send_wr *wr, const struct op *op)
{
	uint8_t *buf = e->tx + (size_t)(e->next % OPS) * SLOT;
	struct ibv_sge sge = { (uintptr_t)buf, op->len, me.mr->lkey };
	struct ibv_send_wr *bad;
	int err;

	e->op[e->next % OPS] = *op;
	e->op[e->next % OPS].opcode = wr->opcode;
	/* The result of the READ or atomic must overwrite all of these bytes. */
	if (wr->opcode == IBV_WR_RDMA_READ || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		memset(buf, 0xdd, op->len);
	else
		fill(buf, op->len, op->seed);
	wr->wr_id = (uint64_t)e->tag << 32 | e->next;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	err = ibv_post_send(e->qp, wr, &bad);
	if (err)
		die("member %d: post_send: %s", me.id, strerror(err));
	e->next++;
	store(&e->mine->in_flight, e->next - e->oldest);
}

/* WRITE or READ of len bytes at off of the peer's area. */
static void post_rdma(struct end *e, enum ibv_wr_opcode opcode, uint32_t off, uint32_t imm,
		      struct op op)
{
	struct ibv_send_wr wr = { .opcode = opcode, .imm_data = imm,
				  .wr.rdma = { e->addr + off, e->rkey } };

	/* The peer may answer a READ of a slot of its area after it has executed a later WRITE to the slot. */
	if (opcode != IBV_WR_RDMA_READ)
		wr.send_flags = IBV_SEND_FENCE;
	post(e, &wr, &op);
}

static void post_fixed(struct end *e, bool last_gasp)
{
	uint64_t s = hash(e->key + e->next);
	uint32_t off = below(&s, FIXED), len = 1 + below(&s, FIXED - off);

	post_rdma(e, IBV_WR_RDMA_READ, off, 0,
		  (struct op){ .len = len, .off = off, .fixed = true, .last_gasp = last_gasp,
			       .seed = fixed_seed(e, !e->side) });
}

static void post_message(struct end *e, const struct plan *p)
{
	uint32_t off = SLOTS_OFF + e->sent % CREDITS * SLOT;
	struct op op = { .len = p->len, .seed = p->seed };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .imm_data = p->imm };

	switch (p->kind) {
	case M_SEND_IMM:
		wr.opcode = IBV_WR_SEND_WITH_IMM;
		break;
	case M_WRITE:
		post_rdma(e, IBV_WR_RDMA_WRITE, off, 0, op);
		op.len = p->note;
		wr.send_flags = IBV_SEND_INLINE;
		break;
	case M_WRITE_IMM:
		post_rdma(e, IBV_WR_RDMA_WRITE_WITH_IMM, off, p->imm, op);
		break;
	default:
		break;
	}
	if (p->kind != M_WRITE_IMM)
		post(e, &wr, &op);
	e->sent++;
	if (p->read_back && p->len && p->kind >= M_WRITE)
		post_rdma(e, IBV_WR_RDMA_READ, off, 0,
			  (struct op){ .len = p->len, .seed = p->seed });
	if (p->read_fixed)
		post_fixed(e, false);
	if (p->add) {
		struct ibv_send_wr add = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
			.wr.atomic = { .remote_addr = e->addr + WORD_OFF,
				       .compare_add = p->seed, .rkey = e->rkey } };

		post(e, &add, &(struct op){ .len = 8, .seed = e->sum });
		e->sum += p->seed;
	}
}

static bool post_some(struct end *e)
{
	bool some = false;

	while (e->next - e->oldest + PER_MESSAGE <= OPS &&
	       e->sent - load(&e->theirs->checked) < CREDITS) {
		struct plan p = plan(fixed_seed(e, e->side), e->sent);

		post_message(e, &p);
		some = true;
	}
	return some;
}

/* One step of one side of a connection. Returns whether it has done something. */
static bool step(struct end *e)
{
	if (e->state != S_CLOSED && e->state < S_RUN && peer_dead(e)) {
		end_close(e);
		return true;
	}
	switch (e->state) {
	case S_CLOSED:
		end_offer(e);
		return true;
	case S_OFFERED:
		if (load64(&e->theirs->offered) != e->key)
			return false;
		e->addr = e->theirs->addr;
		e->qpn = e->theirs->qpn;
		e->rkey = e->theirs->rkey;
		set_state(e, S_INIT);
		return true;
	case S_INIT:
	case S_RTR:
	case S_RTS:
		end_modify(e);
		return true;
	case S_CONNECTED:
		if (load64(&e->theirs->connected) != e->key)
			return false;
		set_state(e, S_RUN);
		return true;
	case S_RUN:
		if (peer_dead(e)) {
			set_state(e, S_DRAIN);
			return true;
		}
		if (!load(&world->stop))
			return post_some(e);
		if (e->next == e->oldest)
			store(&e->mine->ended, 1);
		if (e->next == e->oldest && load(&e->theirs->ended) &&
		    e->sent == load(&e->theirs->checked))
			set_state(e, S_DONE);
		return e->state == S_DONE;
	case S_DRAIN:
		/* A READ of a dead program's memory must fail. */
		if (!e->gasped && e->next - e->oldest < OPS &&
		    (int32_t)(load(&world->member[e->peer].buried) - e->peer_life) > 0) {
			e->gasped = true;
			post_fixed(e, true);
		}
		if (e->gasped && e->next == e->oldest)
			end_close(e);
		return e->state == S_CLOSED;
	default:
		return false;
	}
}

/* Checks what a request has brought. */
static void check_op(struct end *e, const struct op *op)
{
	const uint8_t *buf = e->tx + (size_t)(e->oldest % OPS) * SLOT;
	uint64_t found;

	if (op->last_gasp)
		die("member %d, connection %d: a READ from a dead process succeeds", me.id, e->conn);
	if (op->opcode == IBV_WR_RDMA_READ) {
		compare(e->key, op->fixed ? "READ of fixed bytes, request" : "READ of a slot, request",
			e->oldest, buf, op->len, op->seed, op->fixed ? op->off : 0);
		__atomic_fetch_add(&world->reads, 1, __ATOMIC_RELAXED);
	} else if (op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		memcpy(&found, buf, 8);
		if (found != op->seed)
			die("member %d, connection %d: FETCH_ADD found %#llx, not %#llx", me.id,
			    e->conn, (unsigned long long)found, (unsigned long long)op->seed);
	}
	__atomic_fetch_add(&world->bytes, op->len, __ATOMIC_RELAXED);
	store(&e->mine->sent_ok, e->mine->sent_ok + 1);
}

static void on_sent(struct end *e, const struct ibv_wc *wc)
{
	const struct op *op = &e->op[e->oldest % OPS];

	if (e->next == e->oldest || (uint32_t)wc->wr_id != e->oldest)
		die("member %d: request %u completes, not %u", me.id, (uint32_t)wc->wr_id,
		    e->oldest);
	if (wc->status && !peer_dead(e))
		die("member %d, connection %d: request %u (opcode %d) to a live peer ends in %s",
		    me.id, e->conn, e->oldest, (int)op->opcode, ibv_wc_status_str(wc->status));
	if (wc->status != IBV_WC_SUCCESS &&
	    wc->status != (e->failed ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR))
		die("member %d: after the death of its peer a request ends in %s", me.id,
		    ibv_wc_status_str(wc->status));
	if (!wc->status && e->failed)
		die("member %d: a request succeeds after one that failed", me.id);
	if (wc->status)
		e->failed = true;
	else
		check_op(e, op);
	e->oldest++;
	store(&e->mine->in_flight, e->next - e->oldest);
}

static void on_received(struct end *e, const struct ibv_wc *wc)
{
	uint32_t n = e->received, len;
	const uint8_t *rx = e->rx + (size_t)(n % CREDITS) * SLOT;
	struct plan p = plan(fixed_seed(e, !e->side), n);
	bool imm = p.kind == M_SEND_IMM || p.kind == M_WRITE_IMM;

	if (wc->status) {
		if (!peer_dead(e) || !e->failed || wc->status != IBV_WC_WR_FLUSH_ERR)
			die("member %d, connection %d: a receive ends in %s", me.id, e->conn,
			    ibv_wc_status_str(wc->status));
		return;
	}
	len = p.kind == M_WRITE ? p.note : p.len;
	if ((uint32_t)wc->wr_id != n || wc->byte_len != len ||
	    !(wc->wc_flags & IBV_WC_WITH_IMM) == imm || (imm && wc->imm_data != p.imm) ||
	    (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) != (p.kind == M_WRITE_IMM))
		die("member %d, connection %d, key %#llx: message %u of kind %d: expected %u bytes "
		    "and immediate %#x, found receive %u, opcode %d, %u bytes, flags %#x, "
		    "immediate %#x", me.id, e->conn, (unsigned long long)e->key, n, p.kind, len,
		    p.imm, (uint32_t)wc->wr_id, (int)wc->opcode, wc->byte_len, wc->wc_flags,
		    wc->imm_data);
	if (p.kind != M_WRITE_IMM)
		compare(e->key, "message", n, rx, len, p.seed, 0);
	if (p.kind >= M_WRITE)
		compare(e->key, "slot of message", n, e->area + SLOTS_OFF + n % CREDITS * SLOT, p.len,
			p.seed, 0);
	e->received++;
	post_recv(e, n + CREDITS);
	__atomic_fetch_add(&world->messages, 1, __ATOMIC_RELAXED);
	store(&e->mine->got, e->mine->got + 1);
	store(&e->mine->checked, e->received);
}

static int reap(void)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(me.v.cq, 16, wc);

	if (n < 0)
		die("member %d: poll_cq", me.id);
	for (int i = 0; i < n; i++) {
		uint32_t tag = wc[i].wr_id >> 32 & 0xffff;
		struct end *e = &me.end[tag & 1];

		if (tag != e->tag || !e->qp)
			continue;
		if (wc[i].wr_id >> 63)
			on_received(e, &wc[i]);
		else
			on_sent(e, &wc[i]);
	}
	return n;
}

static void rest(void)
{
	struct pollfd fd = { .fd = me.v.ch->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *ctx;

	if (!me.events) {
		nap_us(50);
		return;
	}
	if (ibv_req_notify_cq(me.v.cq, 0))
		die("member %d: req_notify_cq", me.id);
	if (!reap() && poll(&fd, 1, 2) == 1 && !ibv_get_cq_event(me.v.ch, &cq, &ctx))
		ibv_ack_cq_events(cq, 1);
}

/* Opens the device; repeats what fails while rused is killed. */
static void open_device(void)
{
	struct vctx *v = &me.v;
	struct ibv_device **list;
	time_t since;
	int n, err;

	for (;;) {
		errno = 0;
		since = time(NULL);
		list = ibv_get_device_list(&n);
		if (list && n && (v->ctx = ibv_open_device(list[0])))
			break;
		err = errno ? errno : ENODEV;
		/*
		 * If rused does not answer in time, libibverbs sets another errno: report a
		 * timeout.
		 */
		excuse(NULL, "open_device", time(NULL) - since >= CALL_S ? ETIMEDOUT : err);
		if (list)
			ibv_free_device_list(list);
	}
	ibv_free_device_list(list);
	v->cfg = vcfg_default;
	while (!(v->pd = ibv_alloc_pd(v->ctx)))
		excuse(NULL, "alloc_pd", errno);
	while (!(v->ch = ibv_create_comp_channel(v->ctx)))
		excuse(NULL, "create_comp_channel", errno);
	while (!(v->cq = ibv_create_cq(v->ctx, 2 * (int)(OPS + CREDITS) * 4, NULL, v->ch, 0)))
		excuse(NULL, "create_cq", errno);
	while (!(me.mr = ibv_reg_mr(v->pd, me.memory, 2 * END_SIZE, IBV_ACCESS_LOCAL_WRITE)))
		excuse(NULL, "reg_mr", errno);
}

static void end_setup(struct end *e, int side, uint8_t *memory)
{
	e->side = side;
	e->conn = (me.id + MEMBERS - side) % MEMBERS;
	e->peer = side ? e->conn : (e->conn + 1) % MEMBERS;
	e->mine = &world->half[e->conn][side];
	e->theirs = &world->half[e->conn][!side];
	e->tag = (uint32_t)side;
	e->area = memory + GUARD;
	e->tx = e->area + AREA + GUARD;
	e->rx = e->tx + TX_SIZE;
	fill(memory, GUARD, 1);
	fill(e->area + AREA, GUARD, 1);
	set_state(e, S_CLOSED);
}

void member_run(int id, uint32_t life)
{
	uint64_t s = hash(world->seed + (uint64_t)id) + life;
	static const char *const path[] = { NULL, NULL, "RUSE_NO_DIRECT", "RUSE_NO_CMA" };
	uint32_t way = below(&s, 4);
	bool done = false, busy;

	me.id = id;
	me.life = life;
	me.events = below(&s, 2);
	if (path[way])
		setenv(path[way], "1", 1);
	me.memory = mmap(NULL, 2 * END_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	if (me.memory == MAP_FAILED)
		die("mmap");
	end_setup(&me.end[0], 0, me.memory);
	end_setup(&me.end[1], 1, me.memory + END_SIZE);
	open_device();
	while (load(&world->done) < MEMBERS) {
		busy = step(&me.end[0]);
		busy |= step(&me.end[1]);
		if (!done && me.end[0].state == S_DONE && me.end[1].state == S_DONE) {
			done = true;
			__atomic_fetch_add(&world->done, 1, __ATOMIC_ACQ_REL);
		}
		if (!reap() && !busy)
			rest();
	}
	end_close(&me.end[0]);
	end_close(&me.end[1]);
	me.v.qp = NULL;
	if (ibv_dereg_mr(me.mr))
		die("member %d: dereg_mr", id);
	v_close(&me.v);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events that are not acknowledged before their object is destroyed, and objects that a forked child uses. */
#include <arpa/inet.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void peer_none(struct run *r)
{
	(void)r;
}

struct job {
	void (*fn)(void *arg);
	void *arg;
};

static void *job_run(void *p)
{
	struct job *j = p;

	j->fn(j->arg);
	return NULL;
}

void run_told(bool wrong, void (*fn)(void *arg), void (*undo)(void *arg), void *arg)
{
	struct job j = { fn, arg };
	int saved = dup(2), fd[2];
	char text[4096];
	bool told = false;
	pthread_t t;
	ssize_t n;

	NEED(saved >= 0 && !pipe(fd) && dup2(fd[1], 2) == 2);
	close(fd[1]);
	NEED(!pthread_create(&t, NULL, job_run, &j));
	if (!wrong)
		NEED(!pthread_join(t, NULL));
	while (wrong && !told && (n = read(fd[0], text, sizeof(text) - 1)) > 0) {
		text[n] = '\0';
		NEED(write(saved, text, (size_t)n) == n);
		told = strstr(text, "CK-");
	}
	NEED(dup2(saved, 2) == 2);
	while ((n = read(fd[0], text, sizeof(text))) > 0)
		NEED(write(saved, text, (size_t)n) == n);
	close(fd[0]);
	close(saved);
	if (!wrong)
		return;
	undo(arg);
	NEED(!pthread_join(t, NULL));
}

static void cq_end(void *cq)
{
	int err = ibv_destroy_cq(cq); /* ack-cq */

	NEED(!err);
}

static void cq_ack(void *cq)
{
	ibv_ack_cq_events(cq, 1);
}

/* An event of a CQ. */
static void ack_cq(struct run *r)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(r->me.ctx);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr wr = { .wr_id = 7 }, *bad;
	struct ibv_cq *cq, *of;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	void *arg;

	NEED(channel && (cq = ibv_create_cq(r->me.ctx, 8, NULL, channel, 0)));
	init.send_cq = init.recv_cq = cq;
	init.cap.max_send_wr = init.cap.max_recv_wr = 4;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	NEED((qp = ibv_create_qp(r->me.pd, &init)) && !ibv_req_notify_cq(cq, 0));
	/* A receive that is flushed. */
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	NEED(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	NEED(!ibv_post_recv(qp, &wr, &bad));
	attr.qp_state = IBV_QPS_ERR;
	NEED(!ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	NEED(!ibv_get_cq_event(channel, &of, &arg) && of == cq && ibv_poll_cq(cq, 1, &wc) == 1);
	NEED(!ibv_destroy_qp(qp));
	if (!r->wrong)
		cq_ack(cq);
	run_told(r->wrong, cq_end, cq_ack, cq);
	NEED(!ibv_destroy_comp_channel(channel));
}

/* The other process's end is ready for this case when the QP is in SQD: no traffic. */
struct drained {
	struct ibv_qp *qp;
	struct ibv_async_event event;
};

static void qp_end(void *arg)
{
	int err = ibv_destroy_qp(((struct drained *)arg)->qp); /* ack-async */

	NEED(!err);
}

static void qp_ack(void *arg)
{
	ibv_ack_async_event(&((struct drained *)arg)->event);
}

static void ack_async(struct run *r)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct drained d = { .qp = r->me.qp };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };

	NEED(!ibv_modify_qp(d.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY));
	NEED(!ibv_get_async_event(r->me.ctx, &d.event));
	NEED(d.event.event_type == IBV_EVENT_SQ_DRAINED);
	if (!r->wrong)
		qp_ack(&d);
	run_told(r->wrong, qp_end, qp_ack, &d);
	/* end_close() destroys one. */
	init.send_cq = init.recv_cq = r->me.cq;
	init.cap.max_send_wr = init.cap.max_recv_wr = 4;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	NEED(r->me.qp = ibv_create_qp(r->me.pd, &init));
}

/* An id whose address is resolved, with the event of that. */
struct resolved {
	struct rdma_event_channel *channel, *to;
	struct rdma_cm_id *id;
	struct rdma_cm_event *event;
};

static void id_end(void *arg)
{
	int err = rdma_destroy_id(((struct resolved *)arg)->id); /* ack-cm */

	NEED(!err);
}

static void id_move(void *arg)
{
	struct resolved *c = arg;
	int err = rdma_migrate_id(c->id, c->to); /* ack-migrate */

	NEED(!err);
}

static void id_ack(void *arg)
{
	NEED(!rdma_ack_cm_event(((struct resolved *)arg)->event));
}

static void id_open(struct resolved *c, const struct end *e)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(7471) };
	union ibv_gid gid;

	end_gid(e, &gid);
	memcpy(&to.sin_addr, gid.raw + 12, 4);
	NEED((c->channel = rdma_create_event_channel()) && (c->to = rdma_create_event_channel()));
	NEED(!rdma_create_id(c->channel, &c->id, NULL, RDMA_PS_TCP));
	NEED(!rdma_resolve_addr(c->id, NULL, (void *)&to, 2000));
	NEED(!rdma_get_cm_event(c->channel, &c->event));
	NEED(c->event->event == RDMA_CM_EVENT_ADDR_RESOLVED);
}

static void id_close(struct resolved *c)
{
	rdma_destroy_event_channel(c->channel);
	rdma_destroy_event_channel(c->to);
}

static void ack_cm(struct run *r)
{
	struct resolved c;

	id_open(&c, &r->me);
	if (!r->wrong)
		id_ack(&c);
	run_told(r->wrong, id_end, id_ack, &c);
	id_close(&c);
}

static void ack_migrate(struct run *r)
{
	struct resolved c;

	id_open(&c, &r->me);
	if (!r->wrong)
		id_ack(&c);
	run_told(r->wrong, id_move, id_ack, &c);
	NEED(!rdma_destroy_id(c.id));
	id_close(&c);
}

/* A child that uses its parent's queue pair, or opens the device itself. */
static void child(struct run *r)
{
	struct ibv_context *ctx = r->me.ctx;
	struct ibv_mr *mr;
	struct ibv_pd *pd;

	if (!r->wrong) {
		NEED(ctx = ibv_open_device(ctx->device));
		NEED((pd = ibv_alloc_pd(ctx)) && !ibv_dealloc_pd(pd) && !ibv_close_device(ctx));
		_exit(0);
	}
	mr = ibv_reg_mr(r->me.pd, r, sizeof(*r), 0); /* forked */
	_exit(mr ? 1 : 0);
}

static void forked(struct run *r)
{
	int status;
	pid_t pid = fork();

	NEED(pid >= 0);
	if (!pid)
		child(r);
	NEED(waitpid(pid, &status, 0) == pid && !status);
}

const struct named acks[] = {
	{ "ack-cq", ack_cq, peer_none },	   { "ack-async", ack_async, peer_none },
	{ "ack-cm", ack_cm, peer_none },	   { "ack-migrate", ack_migrate, peer_none },
	{ "forked", forked, peer_none },	   { NULL, NULL, NULL },
};

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* RDMA READ and WRITE: `write` is the server, which only offers memory. The client, `write HOST`,
 * reads it, then writes it. The server's CPU has no part in either; it is told by immediate data. */
#include "pair.h"

enum { SIZE = 4096 };
enum { RECV, READ, WRITE };	/* wr_id: what a completion belongs to */
static unsigned char memory[SIZE];

/* Both operations name local memory (sge) and remote memory (address, rkey). */
static void post(struct pair *p, int id, enum ibv_wr_opcode opcode, const struct address *peer)
{
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = SIZE, .lkey = p->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = id, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.imm_data = htonl(SIZE),
		.wr.rdma = { .remote_addr = peer->address, .rkey = peer->rkey },
	};

	must(ibv_post_send(p->qp, &wr, &bad), "ibv_post_send");
}

static void fill(int first)
{
	for (int i = 0; i < SIZE; i++)
		memory[i] = first + i;
}

static void check(int first)
{
	for (int i = 0; i < SIZE; i++)
		if (memory[i] != (unsigned char)(first + i))
			errx(1, "byte %d is %d, not %d", i, memory[i], (unsigned char)(first + i));
}

static void serve(struct pair *p)
{
	struct ibv_wc wc = wait_for_completion(p);

	/* Without immediate data the WRITE itself would need no receive, and this end would not notice it. */
	if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM || ntohl(wc.imm_data) != SIZE)
		errx(1, "another message: opcode %d", wc.opcode);
	check(2);
	printf("the peer has written %u bytes\n", ntohl(wc.imm_data));
}

static void use(struct pair *p, const struct address *peer)
{
	post(p, READ, IBV_WR_RDMA_READ, peer);
	wait_for_completion(p);	/* before it the memory has old and new bytes */
	check(1);
	fill(2);
	post(p, WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, peer);
	wait_for_completion(p);	/* the peer has the bytes; this end may change its memory again */
	printf("%d bytes read, %d written\n", SIZE, SIZE);
}

int main(int argc, char **argv)
{
	int access = argc > 1 ? 0 : IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_recv_wr recv = { .wr_id = RECV }, *bad;	/* immediate data needs a receive without memory */
	struct address peer;
	struct pair p;

	pair_open(&p, IBV_QPT_RC, memory, SIZE, access, 1);
	peer = pair_meet(&p, argv[1]);
	/* Two locks: the region and the QP both must allow what the peer does. */
	pair_connect(&p, &peer, access);
	must(ibv_post_recv(p.qp, &recv, &bad), "ibv_post_recv");
	if (argc == 1)
		fill(1);
	meet(&p);	/* the server can receive, and its memory is filled */
	if (argc == 1)
		serve(&p);
	else
		use(&p, &peer);
	pair_close(&p);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A race, to be found: `race` is the server, `race HOST` the client. The client writes records into the
 * server's memory by RDMA WRITE, and tells by TCP that a record is there. doc/examples.md hunts it. */
#include "pair.h"
#include <string.h>

enum { RECORDS = 100, SIZE = 256 };
static unsigned char record[SIZE];	/* record i has i + 1 in each byte */

static void write_record(struct pair *p, const struct address *peer)
{
	struct ibv_sge sge = { .addr = (uintptr_t)record, .length = SIZE, .lkey = p->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { .remote_addr = peer->address, .rkey = peer->rkey },
	};

	must(ibv_post_send(p->qp, &wr, &bad), "ibv_post_send");
}

/* Returns the number of records that were not there although the client had said so. */
static int serve(struct pair *p)
{
	int stale = 0;

	for (int i = 0; i < RECORDS; i++) {
		meet(p);	/* "the record is there" */
		for (int n = 0; n < SIZE; n++) {
			if (record[n] == i + 1)
				continue;
			stale++;
			break;
		}
		meet(p);	/* "the next one may be written" */
	}
	return stale;
}

static void use(struct pair *p, const struct address *peer)
{
	for (int i = 0; i < RECORDS; i++) {
		memset(record, i + 1, SIZE);
		write_record(p, peer);
#ifdef FIXED
		wait_for_completion(p);	/* the acknowledgement: the record is in the peer's memory */
		meet(p);
#else
		meet(p);
		wait_for_completion(p);
#endif
		meet(p);
	}
}

int main(int argc, char **argv)
{
	int stale = 0, theirs, access = argc > 1 ? 0 : IBV_ACCESS_REMOTE_WRITE;
	struct address peer;
	struct pair p;

	pair_open(&p, IBV_QPT_RC, record, SIZE, access, 1);
	peer = pair_meet(&p, argv[1]);
	pair_connect(&p, &peer, access);
	meet(&p);
	if (argc > 1)
		use(&p, &peer);
	else
		stale = serve(&p);
	swap(&p, &stale, &theirs, sizeof(stale));
	printf("%d of %d records were stale\n", stale + theirs, RECORDS);
	pair_close(&p);
	return stale + theirs != 0;
}

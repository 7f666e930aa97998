/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys of memory regions. */
#include <unistd.h>

#include "shake.h"

#define INDEX_SHIFT 8	/* the lower bits of a key are not part of its index */

static struct ibv_mr *key_register(struct run *r)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;	/* else the rkey is 0 */
	struct ibv_mr *mr = ibv_reg_mr(r->me.pd, r->me.buf, 64, access);

	NEED(mr);
	return mr;
}

/* Registers and ends regions in turn; keys[]: those that have been, n. */
static void key_round(struct run *r, uint32_t *keys, unsigned int n)
{
	struct ibv_mr *mr = key_register(r);

	for (unsigned int i = 0; r->wrong && i < n; i++)
		if (keys[i] >> INDEX_SHIFT == mr->rkey >> INDEX_SHIFT)
			failed("a key has the index of a region that has ended", n);
	/* Right: the entry of a region is removed with the region. */
	keys[n] = mr->rkey;
	NEED(!ibv_dereg_mr(mr));
}

/* key: a table of all regions is indexed by their keys, as if no index came again. Right: an entry ends with its region. */
static void key(struct run *r)
{
	uint32_t keys[ROUNDS];

	for (unsigned int i = 0; i < ROUNDS; i++)
		key_round(r, keys, i);
}

static void peer_idle_keys(struct run *r)
{
	(void)r;
}

/* Reads from the peer's region with this key. */
static enum ibv_wc_status key_read(struct run *r, uint32_t rkey)
{
	struct ibv_wc wc;

	r->other.rkey = rkey;
	post(r, 0, IBV_WR_RDMA_READ, 64, 8, 0, IBV_SEND_SIGNALED);
	while (!ibv_poll_cq(r->me.send_cq, 1, &wc))
		;
	return wc.status;
}

/* The key with the same index that the peer has told before; if there is none, this one. */
static uint32_t key_cached(const uint32_t *keys, unsigned int n, uint32_t rkey)
{
	for (unsigned int i = 0; i < n; i++)
		if (keys[i] >> INDEX_SHIFT == rkey >> INDEX_SHIFT)
			return keys[i];
	return rkey;
}

/* key-cached: keys of the peer are kept by their index. Right: the one that the peer has told last is used. */
static void key_cache(struct run *r)
{
	uint32_t keys[ROUNDS];

	for (unsigned int i = 0; i < ROUNDS; i++) {
		NEED(read(r->fd, &keys[i], sizeof(keys[i])) == sizeof(keys[i]));
		if (key_read(r, r->wrong ? key_cached(keys, i, keys[i]) : keys[i]) !=
		    IBV_WC_SUCCESS)
			failed("the key of a region that has ended was used", i);
		say(r);
	}
}

static void peer_keys(struct run *r)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct ibv_mr *mr = key_register(r);

		NEED(write(r->fd, &mr->rkey, sizeof(mr->rkey)) == sizeof(mr->rkey));
		hear(r);
		NEED(!ibv_dereg_mr(mr));
	}
}

/* key-guessed: the index of the peer's next key is taken for the one after the last. Right: as above. */
static void key_guess(struct run *r)
{
	uint32_t last = 0, told;

	for (unsigned int i = 0; i < ROUNDS; i++, last = told) {
		NEED(read(r->fd, &told, sizeof(told)) == sizeof(told));
		if (r->wrong && i && told >> INDEX_SHIFT != (last >> INDEX_SHIFT) + 1)
			failed("the key was guessed wrongly", i);
		NEED(key_read(r, told) == IBV_WC_SUCCESS);
		say(r);
	}
}

const struct named keys[] = {
	{ "key", IBV_QPT_RC, false, key, peer_idle_keys },
	{ "key-cached", IBV_QPT_RC, false, key_cache, peer_keys },
	{ "key-guessed", IBV_QPT_RC, false, key_guess, peer_keys },
	{ NULL, IBV_QPT_RC, false, NULL, NULL },
};

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is found at a send request when it is over: memory that was changed, freed or unmapped, objects that were destroyed.
 */
#include "check/check_internal.h"
#include "core/objects.h"

void check_req_found(struct check_sends *s, const struct check_req *r, uint32_t other,
		     struct check_found *f)
{
	f->dev = s->qp->dev;
	f->qpn = s->qp->qpn;
	f->wr_id = r->wr_id;
	f->posted = r->site;
	f->other = other;
	check_host->found(f);
}

/* May peers write to a part of the block's memory? */
static bool check_req_remote(const struct rdev *dev, const struct check_block *b)
{
	for (uint32_t i = 0; i < b->nparts; i++)
		if (key_card_of(dev, b->part[i].lkey)->access & CHECK_PEER_WRITES)
			return true;
	return false;
}

/* The changed request was watched: tells the store. Else the next one of its site is. */
static void check_req_stored(struct check_sends *s, const struct check_req *r,
			     const struct check_diff *d)
{
	struct check_found f = { .dev = s->qp->dev, .qpn = s->qp->qpn, .wr_id = r->wr_id };

	check_store_wanted(r->site, d->at);
	f.posted = check_store_site(r->block);
	if (!f.posted)
		return;
	why_set(&f.why, CHECK_STORE, r->opcode, d->at, r->block->len);
	check_host->found(&f);
}

bool check_req_freed(struct check_sends *s, struct check_req *r, uint64_t since)
{
	struct check_found f = { 0 };
	uint32_t site;

	if (r->block->kind == CHECK_NOTHING || r->told || r->failed)
		return false;
	site = check_freed_block(r->block, since);
	if (!site || check_req_unsure(r))
		return false;
	r->told = 1;
	why_set(&f.why, CHECK_FREED, r->opcode, r->block->len, since != UINT64_MAX);
	check_req_found(s, r, site - 1, &f);
	return true;
}

void check_req_gone(struct check_sends *s, struct check_req *r, uint64_t at)
{
	uint32_t site = check_freed_block(r->block, r->freed);
	struct check_found f = { 0 };

	r->told = 1;
	why_set(&f.why, CHECK_UNMAPPED, r->opcode, at, r->block->len);
	check_req_found(s, r, site ? site - 1 : 0, &f);
}

/*
 * Does the memory of a source, or of a target that holds the pattern, differ from what it should hold? False, too, if it was
 * unmapped or freed, which is told: an allocator writes to what is freed.
 */
static bool check_req_differs(struct check_sends *s, struct check_req *r, enum check_kind kind,
			      struct check_diff *d)
{
	if (!r->block || r->block->kind != kind || r->failed || r->told ||
	    !check_block_differs(r->block, d) || check_req_unsure(r))
		return false;
	if (!d->unmapped)
		return !check_req_freed(s, r, r->freed);
	check_req_gone(s, r, d->at);
	return false;
}

void check_req_compare(struct check_sends *s, struct check_req *r, bool answered)
{
	struct check_found f = { 0 };
	struct check_diff d;

	if (!check_req_differs(s, r, CHECK_SOURCE, &d))
		return;
	if (check_req_written(r)) {
		if (check_req_remote(s->qp->dev, r->block))
			return;
		answered = true;
	}
	r->told = 1;
	if (answered)
		why_set(&f.why, HINT_REUSED, r->opcode, d.at, r->block->len, d.was, d.is,
			d.changed);
	else
		why_set(&f.why, CHECK_CHANGED, r->opcode, d.at, r->block->len, d.was, d.is,
			d.changed);
	check_req_found(s, r, 0, &f);
	check_req_stored(s, r, &d);
}

/* The program polls the completion of a READ or atomic: has it written to the memory that holds the pattern? */
static void check_req_overwritten(struct check_sends *s, struct check_req *r)
{
	struct check_found f = { 0 };
	struct check_diff d;

	if (!check_req_differs(s, r, CHECK_TARGET, &d) ||
	    (check_req_written(r) && check_req_remote(s->qp->dev, r->block)))
		return;
	r->told = 1;
	why_set(&f.why, CHECK_WRITTEN, r->opcode, d.at, r->block->len, d.is, d.changed);
	check_req_found(s, r, 0, &f);
	check_req_stored(s, r, &d);
}

/* The program polls the completion of a request whose MR it has deregistered meanwhile. */
static void check_req_ended(struct check_sends *s, struct check_req *r)
{
	const struct check_block *b = r->block;
	struct check_found f = { 0 };
	uint32_t i = 0;

	if (!b->ended || check_req_unsure(r))
		return;
	while (i + 1 < b->nparts && idtable_find(&s->qp->dev->mrs, b->part[i].lkey >> 8))
		i++;
	why_set(&f.why, CHECK_MR_ENDED, r->opcode, b->part[i].lkey);
	check_req_found(s, r, b->ended - 1, &f);
}

/* The same of an AH or a memory window. */
static void check_req_referred(struct check_sends *s, const struct check_req *r)
{
	struct check_found f = { 0 };

	if (!r->ended || check_req_unsure(r))
		return;
	if (r->opcode == IB_UVERBS_WR_BIND_MW)
		why_set(&f.why, CHECK_MW_ENDED, r->opcode, r->refers);
	else
		why_set(&f.why, CHECK_AH_ENDED, r->opcode, r->refers);
	check_req_found(s, r, r->ended - 1, &f);
}

void check_req_over(struct check_sends *s, struct check_req *r, bool polled)
{
	if (polled)
		check_req_referred(s, r);
	if (!r->block)
		return;
	if (polled) {
		check_req_compare(s, r, r->arrived != check_arrived);
		check_req_overwritten(s, r);
		check_req_freed(s, r, r->freed);
		check_req_ended(s, r);
	}
	if (r->block->kind == CHECK_TARGET)
		check_block_show(r->block);
	check_store_over(r->block);
	check_block_free(r->block);
	r->block = NULL;
}

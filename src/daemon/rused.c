/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which part of rused uses which. The parts are given pointers to each other, and callbacks where
 * the user is in a room below.
 */
#include "daemon/daemon.h"

static int rused_place(void *ctx, struct host_dev *d)
{
	return device_place(ctx, d);
}

static void rused_publish(void *ctx, unsigned int slot, const struct host_dev *d)
{
	host_publish(ctx, (int)slot, d);
}

static void rused_del(void *ctx, unsigned int slot)
{
	device_del(ctx, (int)slot);
}

static uint32_t rused_block(void *ctx, uint32_t proc, uint32_t dev_index)
{
	const struct rused *r = ctx;

	for (uint32_t b = 1; b < LEASE_BLOCKS; b++)
		if (r->leases.block[b].proc == proc && r->leases.block[b].dev_index == dev_index)
			return b;
	return 0;
}

static void rused_connect_fabrics(struct rused *r)
{
	static const struct fabrics_ops ops = { .device_place = rused_place,
						.device_publish = rused_publish,
						.device_del = rused_del, .block = rused_block,
						.ucma = &ucma_fd_ops };
	struct fabrics *fs = &r->fabrics;

	fs->loop = &r->loop;
	fs->page = r->page;
	fs->gsi = &r->gsi;
	fs->net = &r->net;
	fs->run = r->run;
	fs->rundir = r->rundir;
	fs->ops = &ops;
	fs->ctx = r;
	fabrics_init(fs);
}

static void rused_connect_ucma(struct rused *r)
{
	struct ucma_files *us = &r->ucma;

	us->loop = &r->loop;
	us->page = r->page;
	us->gsi = &r->gsi;
	us->net = &r->net;
	us->fabrics = &r->fabrics;
	us->port = &r->port;
	us->clients = &r->clients;
	us->channels = &r->channels;
}

void rused_connect(struct rused *r)
{
	umads_init(&r->umads, &r->loop, r->run, r->page ? r->page->generation : 0);
	r->gsi.publish = rused_publish;
	r->gsi.ctx = r;
	rused_connect_fabrics(r);
	rused_connect_ucma(r);
}

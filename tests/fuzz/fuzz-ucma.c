/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the rdma_cm commands of two programs on each of two hosts, and the MADs between them.
 * The input is a series of records {what, command, length (2 bytes, little endian), payload}.
 * The bits of `what`:
 *
 *   1, 2   number of the program that writes the command
 *   4      then all MADs are delivered
 *   8      then ten seconds pass
 *   16     the payload is not a command but a MAD that the program's host receives
 *   32     the command's header states one byte more than is written
 *   64     the payload is also the option value of SET_OPTION
 *   128    at last the program closes its file and opens a new one
 */
#include "cmshare/ucma_response.h"
#include "fuzz.h"
#include "world.h"

static void mad(struct world *w, unsigned int host, const uint8_t *payload, size_t len)
{
	struct world_host *h = &w->host[host];
	struct cm_av from = { .dev = &h->cdev[0], .port = 1, .roce = true, .is_global = true,
			      .sgid_index = 1, .pkey = 0xffff };
	uint8_t buf[CM_MAD_LEN] = { 0 };

	memcpy(buf, payload, min(len, sizeof(buf)));
	memcpy(from.sgid, h->page.dev[0].gid[1].raw, 16);
	memcpy(from.dgid, w->host[!host].page.dev[0].gid[1].raw, 16);
	cm_input(h->cm, &from, buf, w->now);
}

static void command(struct client *c, struct client *other, uint8_t what, uint8_t cmd,
		    const uint8_t *payload, size_t len)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = cmd, .in = (uint16_t)len, .out = 400 };
	uint8_t *buf = malloc(sizeof(hdr) + len);	/* exact length: a sanitizer sees reads beyond it */
	struct ucma_cmd w = { .buf = buf, .len = sizeof(hdr) + len, .from = other->f };
	size_t room;

	if (!buf)
		abort();
	if (what & 32)
		hdr.in++;
	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), payload, len);
	if (what & 64) {
		w.opt = payload;
		w.opt_len = len;
	}
	cmshare_response(buf, w.len, &room);
	(void)ucma_write(c->f, &w, &c->reply);
	c->readable -= c->reply.drained;
	other->readable -= c->reply.from_drained;
	if (c->readable != c->f->nevents || other->readable != other->f->nevents)
		abort();
	if (c->reply.len > room)
		abort();
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world *w = world_new();
	struct client *c[4];

	for (unsigned int i = 0; i < 4; i++)
		c[i] = client_open(w, i >> 1);
	while (size >= 4) {
		uint8_t what = data[0], cmd = data[1];
		size_t len = min((size_t)(data[2] | data[3] << 8), size - 4);
		unsigned int i = what & 3;

		if (what & 16)
			mad(w, i >> 1, data + 4, len);
		else
			command(c[i], c[i ^ 1], what, cmd, data + 4, len);
		if (what & 4)
			world_settle(w);
		if (what & 8)
			world_run(w, w->now + 10 * NS_S);
		if (what & 128) {
			client_close(c[i]);
			c[i] = client_open(w, i >> 1);
		}
		data += 4 + len;
		size -= 4 + len;
	}
	for (unsigned int i = 0; i < 4; i++)
		client_close(c[i]);
	world_free(w);
	return 0;
}

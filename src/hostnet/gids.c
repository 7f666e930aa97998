/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "hostnet/gids.h"

#define RXE_HDR_BYTES 80	/* bytes that rxe reserves for its longest headers */

static const struct gid_raw none;

void hostnet_guid_from_mac(uint8_t *guid, const uint8_t *mac)
{
	memcpy(guid, mac, 3);
	guid[0] ^= 2;
	guid[3] = 0xff;
	guid[4] = 0xfe;
	memcpy(guid + 5, mac + 3, 3);
}

struct gid_raw hostnet_gid_from_ipv4(const uint8_t *addr)
{
	struct gid_raw g = { .b = { [10] = 0xff, [11] = 0xff } };

	memcpy(g.b + 12, addr, 4);
	return g;
}

static bool gid_same(const uint8_t *a, const struct gid_raw *b)
{
	return !memcmp(a, b->b, 16);
}

static bool gid_wanted(const uint8_t *gid, const struct gid_raw *want, unsigned int n)
{
	while (n)
		if (gid_same(gid, &want[--n]))
			return true;
	return false;
}

/* Lowest free index of the GID table of d, from 1; HOST_MAX_GIDS: the table is full; -1: the GID is in it already. */
static int gid_find_place(const struct host_dev *d, const struct gid_raw *g)
{
	int i, place = HOST_MAX_GIDS;

	for (i = HOST_MAX_GIDS - 1; i >= 0; i--) {
		if (gid_same(d->gid[i].raw, g))
			return -1;
		if (i && gid_same(d->gid[i].raw, &none))
			place = i;
	}
	return place;
}

static void gid_put(struct host_dev *d, int i, const struct gid_raw *g)
{
	memcpy(d->gid[i].raw, g->b, 16);
	d->gid[i].ifindex = d->ifindex;
}

unsigned int gids_sync(struct host_dev *d, const uint8_t *eui64, const struct gid_raw *want,
		       unsigned int n)
{
	struct gid_raw ll = { .b = { 0xfe, 0x80 } };
	unsigned int i, lost = 0;

	memcpy(ll.b + 8, eui64, 8);
	gid_put(d, 0, &ll);
	for (i = 1; i < HOST_MAX_GIDS; i++)
		if (gid_same(d->gid[i].raw, &ll) || !gid_wanted(d->gid[i].raw, want, n))
			memset(&d->gid[i], 0, sizeof(d->gid[i]));
	for (i = 0; i < n; i++) {
		int place = gid_find_place(d, &want[i]);

		if (place == HOST_MAX_GIDS)
			lost++;
		else if (place > 0)
			gid_put(d, place, &want[i]);
	}
	for (d->ngids = HOST_MAX_GIDS; d->ngids > 1; d->ngids--)
		if (!gid_same(d->gid[d->ngids - 1].raw, &none))
			break;
	return lost;
}

uint8_t hostnet_mtu_from_netdev(uint32_t mtu)
{
	uint32_t room = mtu > RXE_HDR_BYTES ? mtu - RXE_HDR_BYTES : 0;
	uint8_t code = 1;

	while (code < 5 && room >= 256u << code)
		code++;
	return code;
}

void hostnet_speed_from_netdev(struct host_dev *d, uint32_t mbps)
{
	static const struct { uint32_t upto; uint8_t width, speed; } rows[] = {
		{ 1000, 1, 1 },		/* 1X SDR */
		{ 10000, 1, 8 },	/* 1X FDR10 */
		{ 20000, 2, 2 },	/* 4X DDR */
		{ 25000, 1, 32 },	/* 1X EDR */
		{ 40000, 2, 8 },	/* 4X FDR10 */
		{ UINT32_MAX, 2, 32 },	/* 4X EDR */
	};
	unsigned int i = 0;

	while (rows[i].upto < mbps)
		i++;
	d->active_width = rows[i].width;
	d->active_speed = rows[i].speed;
}

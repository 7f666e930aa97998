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

static int gid_room(const struct host_dev *d)
{
	return min(d->gid_len, HOST_MAX_GIDS);
}

/*
 * Lowest free index of the GID table of d, from `first`; HOST_MAX_GIDS: the table is full; -1: the entry is in it
 * already.
 */
static int gid_find_place(const struct host_dev *d, const struct gid_raw *g, bool v1, int first)
{
	int i, place = HOST_MAX_GIDS;

	for (i = gid_room(d) - 1; i >= 0; i--) {
		if (gid_same(d->gid[i].raw, g) && d->gid[i].v1 == v1)
			return -1;
		if (i >= first && gid_same(d->gid[i].raw, &none))
			place = i;
	}
	return place;
}

static void gid_put(struct host_dev *d, int i, const struct gid_raw *g, bool v1)
{
	memcpy(d->gid[i].raw, g->b, 16);
	d->gid[i].ifindex = d->ifindex;
	d->gid[i].v1 = v1;
}

/* Adds the entries of a GID, as far as they are missing. Returns the number of those for which there is no room. */
static unsigned int gid_add(struct host_dev *d, const struct gid_raw *g, bool v1, int first)
{
	unsigned int lost = 0;

	for (int type = v1; type >= 0; type--) {
		int place = gid_find_place(d, g, type, first);

		if (place == HOST_MAX_GIDS)
			lost++;
		else if (place >= 0)
			gid_put(d, place, g, type);
	}
	return lost;
}

unsigned int gids_sync(struct host_dev *d, const uint8_t *eui64, const struct gid_raw *want,
		       unsigned int n, bool v1)
{
	struct gid_raw ll = { .b = { 0xfe, 0x80 } };
	unsigned int i, lost = 0;
	int own = 1 + v1;	/* entries of the link-local GID */

	memcpy(ll.b + 8, eui64, 8);
	for (i = 0; (int)i < own; i++)
		gid_put(d, (int)i, &ll, v1 && !i);
	for (; i < HOST_MAX_GIDS; i++)
		if (gid_same(d->gid[i].raw, &ll) || !gid_wanted(d->gid[i].raw, want, n))
			memset(&d->gid[i], 0, sizeof(d->gid[i]));
	for (i = 0; i < n; i++)
		lost += gid_add(d, &want[i], v1, own);
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

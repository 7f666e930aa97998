/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads capture files: pcap with times in micro- or nanoseconds, and pcapng, both in either byte order, with frames of
 * Ethernet or of `tcpdump -i any`. Files are not trusted: every length is checked. Of a pcapng file, blocks other than interface
 * descriptions and enhanced packets are skipped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/capture.h"
#include "cli/pcapng.h"
#include "wire/frame.h"

#define FRAME_LIMIT (256u << 10)	/* largest snapshot length of libpcap */
#define BLOCK_LIMIT (FRAME_LIMIT + (64u << 10))
#define MAX_IFS 256

struct in {
	FILE *f;
	bool swap;
	uint8_t *buf;		/* BLOCK_LIMIT bytes */
	captured_fn fn;
	void *arg;
	uint32_t nifs;
	struct {
		char dev[20];
		uint64_t per_s;		/* time units per second */
		uint16_t link;
	} ifs[MAX_IFS];
};

static uint32_t in_get32(const struct in *r, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return r->swap ? v >> 24 | (v >> 8 & 0xff00) | (v & 0xff00) << 8 | v << 24 : v;
}

static uint16_t in_get16(const struct in *r, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return (uint16_t)(r->swap ? v >> 8 | v << 8 : v);
}

/* Reads len bytes. 0; 1: end of file; -EPROTO: end of file after some bytes; -EIO. */
static int in_read(struct in *r, uint8_t *p, size_t len)
{
	size_t n = fread(p, 1, len, r->f);

	if (n == len)
		return 0;
	return ferror(r->f) ? -EIO : n ? -EPROTO : 1;
}

/*
 * Makes a frame of another link type one of Ethernet, with MAC addresses that are 0, in the place of its header. frame: writable.
 * False: it is shorter than its header, or of another link type.
 */
static bool in_ethernet(uint16_t link, uint8_t *frame, struct captured *c)
{
	uint32_t head = link == PCAP_LINK_SLL2 ? 20 : 16;
	uint8_t type[2];

	c->frame = frame;
	if (link == PCAP_LINK_ETHERNET)
		return true;
	if ((link != PCAP_LINK_SLL && link != PCAP_LINK_SLL2) || c->caplen < head || c->len < head)
		return false;
	memcpy(type, link == PCAP_LINK_SLL ? frame + 14 : frame, sizeof(type));
	memset(frame + head - ETH_LEN, 0, ETH_LEN);
	memcpy(frame + head - sizeof(type), type, sizeof(type));
	c->frame = frame + head - ETH_LEN;
	c->caplen -= head - ETH_LEN;
	c->len -= head - ETH_LEN;
	return true;
}

static bool in_link_known(uint16_t link)
{
	return link == PCAP_LINK_ETHERNET || link == PCAP_LINK_SLL || link == PCAP_LINK_SLL2;
}

static int read_pcap(struct in *r, uint32_t magic)
{
	uint64_t unit = magic == PCAP_MAGIC_NS ? 1 : 1000;
	int rc = in_read(r, r->buf, 20);
	uint16_t link;

	if (rc)
		return -EPROTO;
	link = (uint16_t)in_get32(r, r->buf + 16);
	if (!in_link_known(link))
		return -EPROTO;
	for (;;) {
		struct captured p = { .dev = "", .note = "", .comm = "" };
		uint8_t h[16];

		rc = in_read(r, h, sizeof(h));
		if (rc)
			return min(rc, 0);
		p.ns = in_get32(r, h) * 1000000000ull + in_get32(r, h + 4) * unit;
		p.caplen = in_get32(r, h + 8);
		p.len = in_get32(r, h + 12);
		if (p.caplen > FRAME_LIMIT || in_read(r, r->buf, p.caplen))
			return -EPROTO;
		rc = in_ethernet(link, r->buf, &p) ? r->fn(&p, r->arg) : 0;
		if (rc)
			return rc;
	}
}

/* Finds an option in a list of len bytes. *n is its length. NULL: not found. */
static const uint8_t *in_option(const struct in *r, const uint8_t *p, size_t len, uint16_t code,
				size_t *n)
{
	while (len >= 4) {
		size_t k = in_get16(r, p + 2), all = 4 + ALIGN_UP(k, (size_t)4);

		if (all > len || !in_get16(r, p))
			break;
		if (in_get16(r, p) == code) {
			*n = k;
			return p + 4;
		}
		p += all;
		len -= all;
	}
	return NULL;
}

/* Copies text from the file; control characters become '?'. */
static void in_copy_text(char *to, size_t size, const uint8_t *from, size_t len)
{
	len = from ? min(len, size - 1) : 0;
	for (size_t i = 0; i < len; i++)
		to[i] = from[i] >= ' ' && from[i] != 127 ? (char)from[i] : '?';
	to[len] = 0;
}

/* base to the power of n; if that does not fit into 64 bits, a lower power of base. */
static uint64_t power_of(uint64_t base, unsigned int n)
{
	uint64_t v = 1;

	while (n-- && v <= UINT64_MAX / base / 2)
		v *= base;
	return v;
}

static int in_interface(struct in *r, const uint8_t *p, size_t len)
{
	const uint8_t *o;
	size_t n = 0;

	if (len < 8 || r->nifs == MAX_IFS)
		return -EPROTO;
	r->ifs[r->nifs].link = in_get16(r, p);
	o = in_option(r, p + 8, len - 8, PCAPNG_IF_NAME, &n);
	in_copy_text(r->ifs[r->nifs].dev, sizeof(r->ifs[0].dev), o, n);
	o = in_option(r, p + 8, len - 8, PCAPNG_IF_TSRESOL, &n);
	r->ifs[r->nifs].per_s = !o || !n ? 1000000 : power_of(*o & 0x80 ? 2 : 10, *o & 0x7f);
	r->nifs++;
	return 0;
}

/* Converts a part of a second to ns. For units that are powers of two it may be a few ns off. */
static uint64_t fraction_ns(uint64_t t, uint64_t per_s)
{
	if (1000000000u % per_s == 0)
		return t * (1000000000u / per_s);
	return (uint64_t)((double)t * 1e9 / (double)per_s);
}

static int enhanced_packet(struct in *r, uint8_t *p, size_t len)
{
	struct captured c = { .comm = "", .note = "" };
	uint64_t t, per_s;
	const uint8_t *o;
	char note[128];
	uint32_t i;
	size_t n = 0, all;

	if (len < 20)
		return -EPROTO;
	i = in_get32(r, p);
	c.caplen = in_get32(r, p + 12);
	c.len = in_get32(r, p + 16);
	all = ALIGN_UP((size_t)c.caplen, (size_t)4);
	if (i >= r->nifs || c.caplen > FRAME_LIMIT || all > len - 20)
		return -EPROTO;
	t = (uint64_t)in_get32(r, p + 4) << 32 | in_get32(r, p + 8);
	per_s = r->ifs[i].per_s;
	c.ns = t / per_s * 1000000000ull + fraction_ns(t % per_s, per_s);
	if (!in_ethernet(r->ifs[i].link, p + 20, &c))
		return 0;
	c.dev = r->ifs[i].dev;
	o = in_option(r, p + 20 + all, len - 20 - all, PCAPNG_COMMENT, &n);
	in_copy_text(note, sizeof(note), o, n);
	c.note = note;
	o = in_option(r, p + 20 + all, len - 20 - all, PCAPNG_EPB_FLAGS, &n);
	c.in = o && n == 4 && (in_get32(r, o) & 3) == 1;
	return r->fn(&c, r->arg);
}

/* Reads a section header block after its type. Its magic number gives the byte order. */
static int in_section(struct in *r)
{
	uint32_t len;
	int rc;

	if (in_read(r, r->buf, 8))
		return -EPROTO;
	r->swap = false;
	r->swap = in_get32(r, r->buf + 4) != PCAPNG_MAGIC;
	if (in_get32(r, r->buf + 4) != PCAPNG_MAGIC)
		return -EPROTO;
	len = in_get32(r, r->buf);
	if (len < 28 || len > BLOCK_LIMIT || len % 4)
		return -EPROTO;
	r->nifs = 0;
	rc = in_read(r, r->buf, len - 12);
	return rc ? -EPROTO : 0;
}

static int read_pcapng(struct in *r)
{
	uint8_t h[8];
	int rc = in_section(r);

	while (!rc) {
		uint32_t type, len;

		rc = in_read(r, h, 4);
		if (rc)
			return min(rc, 0);
		type = in_get32(r, h);
		if (type == PCAPNG_SHB) {
			rc = in_section(r);
			continue;
		}
		if (in_read(r, h + 4, 4))
			return -EPROTO;
		len = in_get32(r, h + 4);
		if (len < 12 || len > BLOCK_LIMIT || len % 4 || in_read(r, r->buf, len - 8))
			return -EPROTO;
		if (type == PCAPNG_IDB)
			rc = in_interface(r, r->buf, len - 12);
		else if (type == PCAPNG_EPB)
			rc = enhanced_packet(r, r->buf, len - 12);
	}
	return rc;
}

int capture_read(FILE *f, captured_fn fn, void *arg)
{
	struct in *r = calloc(1, sizeof(*r));
	uint8_t h[4];
	int rc = -ENOMEM;
	uint32_t magic;

	if (r)
		r->buf = malloc(BLOCK_LIMIT);
	if (!r || !r->buf)
		goto out;
	r->f = f;
	r->fn = fn;
	r->arg = arg;
	rc = in_read(r, h, 4) ? -EPROTO : 0;
	if (rc)
		goto out;
	magic = in_get32(r, h);
	if (magic == PCAPNG_SHB) {
		rc = read_pcapng(r);
		goto out;
	}
	r->swap = magic != PCAP_MAGIC_US && magic != PCAP_MAGIC_NS;
	magic = in_get32(r, h);
	rc = magic == PCAP_MAGIC_US || magic == PCAP_MAGIC_NS ? read_pcap(r, magic) : -EPROTO;
out:
	if (r)
		free(r->buf);
	free(r);
	return rc;
}

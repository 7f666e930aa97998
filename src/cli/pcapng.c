/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes pcapng files (draft-ietf-opsawg-pcapng): a section header, an interface description
 * per device before its first packet, an enhanced packet block per packet, and statistics at
 * the end. Blocks are in native byte order, as the format recommends; times in nanoseconds.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/capture.h"
#include "cli/pcapng.h"

#define MAX_IFS 64
#define DEV_MAX 20

struct pcapng {
	FILE *f;
	uint32_t snaplen, nifs;
	struct {
		char dev[DEV_MAX];
		uint64_t packets;
	} ifs[MAX_IFS];
	uint64_t first, last;	/* times of the first and the last packet */
};

/* A block under construction: type, length, body, length. Has room for the largest frame. */
struct block {
	uint32_t len;
	uint8_t buf[CAPRING_FRAME_MAX + 1024];
};

/* Appends data, padded to 4 bytes. */
static void add(struct block *b, const void *data, uint32_t len)
{
	uint32_t pad = -len & 3;

	if (len)
		memcpy(b->buf + b->len, data, len);
	memset(b->buf + b->len + len, 0, pad);
	b->len += len + pad;
}

static void add32(struct block *b, uint32_t v)
{
	add(b, &v, sizeof(v));
}

static void begin(struct block *b, uint32_t type)
{
	b->len = 0;
	add32(b, type);
	add32(b, 0);
}

static void option(struct block *b, uint16_t code, const void *data, uint16_t len)
{
	uint16_t head[2] = { code, len };

	add(b, head, sizeof(head));
	add(b, data, len);
}

static void option_text(struct block *b, uint16_t code, const char *text)
{
	option(b, code, text, (uint16_t)strlen(text));
}

/* A time is its upper 32 bits, then its lower 32 bits. */
static void add_time(struct block *b, uint64_t ns)
{
	add32(b, (uint32_t)(ns >> 32));
	add32(b, (uint32_t)ns);
}

static void option_time(struct block *b, uint16_t code, uint64_t ns)
{
	uint32_t v[2] = { (uint32_t)(ns >> 32), (uint32_t)ns };

	option(b, code, v, sizeof(v));
}

/* Fills in the lengths and writes the block. */
static void end(struct pcapng *w, struct block *b)
{
	uint32_t total;

	add32(b, 0);	/* second length */
	total = b->len;
	memcpy(b->buf + 4, &total, sizeof(total));
	memcpy(b->buf + total - 4, &total, sizeof(total));
	fwrite(b->buf, 1, total, w->f);
}

/* Index of the interface of a device. Writes its description when it is new. */
static uint32_t interface(struct pcapng *w, const char *dev)
{
	static const uint8_t tsresol = 9;
	uint16_t link[2] = { PCAP_LINK_ETHERNET, 0 };
	struct block b;

	for (uint32_t i = 0; i < w->nifs; i++)
		if (!strncmp(w->ifs[i].dev, dev, DEV_MAX - 1))
			return i;
	if (w->nifs == MAX_IFS)
		return 0;
	strncpy(w->ifs[w->nifs].dev, dev, DEV_MAX - 1);
	begin(&b, PCAPNG_IDB);
	add(&b, link, sizeof(link));
	add32(&b, w->snaplen);
	option_text(&b, PCAPNG_IF_NAME, *dev ? dev : "ruse");
	option_text(&b, PCAPNG_IF_DESCRIPTION, "RDMA device of ruse; shared-memory traffic as RoCEv2 packets");
	option(&b, PCAPNG_IF_TSRESOL, &tsresol, 1);
	option(&b, PCAPNG_ENDOFOPT, NULL, 0);
	end(w, &b);
	return w->nifs++;
}

struct pcapng *pcapng_open(FILE *f, uint32_t snaplen)
{
	struct pcapng *w = calloc(1, sizeof(*w));
	uint16_t version[2] = { 1, 0 };
	struct block b;

	if (!w)
		return NULL;
	w->f = f;
	w->snaplen = snaplen;
	begin(&b, PCAPNG_SHB);
	add32(&b, PCAPNG_MAGIC);
	add(&b, version, sizeof(version));
	add32(&b, 0xffffffff);	/* section length unknown: 64 bits of ones */
	add32(&b, 0xffffffff);
	option_text(&b, PCAPNG_SHB_USERAPPL, "ruse capture " RUSE_VERSION);
	option(&b, PCAPNG_ENDOFOPT, NULL, 0);
	end(w, &b);
	return w;
}

void pcapng_packet(struct pcapng *w, const struct captured *p)
{
	uint32_t i = interface(w, p->dev), flags = p->in ? 1 : 2;
	uint32_t caplen = min(p->caplen, (uint32_t)CAPRING_FRAME_MAX);
	struct block b;

	begin(&b, PCAPNG_EPB);
	add32(&b, i);
	add_time(&b, p->ns);
	add32(&b, caplen);
	add32(&b, p->len);
	add(&b, p->frame, caplen);
	if (*p->note)
		option_text(&b, PCAPNG_COMMENT, p->note);
	option(&b, PCAPNG_EPB_FLAGS, &flags, sizeof(flags));
	option(&b, PCAPNG_ENDOFOPT, NULL, 0);
	end(w, &b);
	w->ifs[i].packets++;
	if (!w->first)
		w->first = p->ns;
	w->last = p->ns;
}

void pcapng_close(struct pcapng *w, uint64_t lost)
{
	struct block b;

	interface(w, w->nifs ? w->ifs[0].dev : "");
	for (uint32_t i = 0; i < w->nifs; i++) {
		/* It is not known which device lost packets belonged to: count all for the first interface. */
		uint64_t received = w->ifs[i].packets + (i ? 0 : lost), drop = i ? 0 : lost;

		begin(&b, PCAPNG_ISB);
		add32(&b, i);
		add_time(&b, w->last);
		option_time(&b, PCAPNG_ISB_STARTTIME, w->first);
		option_time(&b, PCAPNG_ISB_ENDTIME, w->last);
		option(&b, PCAPNG_ISB_IFRECV, &received, sizeof(received));
		option(&b, PCAPNG_ISB_IFDROP, &drop, sizeof(drop));
		option(&b, PCAPNG_ENDOFOPT, NULL, 0);
		end(w, &b);
	}
	fflush(w->f);
	free(w);
}

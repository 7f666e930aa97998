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
static void block_add(struct block *b, const void *data, uint32_t len)
{
	uint32_t pad = -len & 3;

	if (len)
		memcpy(b->buf + b->len, data, len);
	memset(b->buf + b->len + len, 0, pad);
	b->len += len + pad;
}

static void block_add32(struct block *b, uint32_t v)
{
	block_add(b, &v, sizeof(v));
}

static void block_begin(struct block *b, uint32_t type)
{
	b->len = 0;
	block_add32(b, type);
	block_add32(b, 0);
}

static void block_option(struct block *b, uint16_t code, const void *data, uint16_t len)
{
	uint16_t head[2] = { code, len };

	block_add(b, head, sizeof(head));
	block_add(b, data, len);
}

static void block_option_text(struct block *b, uint16_t code, const char *text)
{
	block_option(b, code, text, (uint16_t)strlen(text));
}

/* A time is its upper 32 bits, then its lower 32 bits. */
static void block_add_time(struct block *b, uint64_t ns)
{
	block_add32(b, (uint32_t)(ns >> 32));
	block_add32(b, (uint32_t)ns);
}

static void block_option_time(struct block *b, uint16_t code, uint64_t ns)
{
	uint32_t v[2] = { (uint32_t)(ns >> 32), (uint32_t)ns };

	block_option(b, code, v, sizeof(v));
}

/* Fills in the lengths and writes the block. */
static void block_end(struct pcapng *w, struct block *b)
{
	uint32_t total;

	block_add32(b, 0);	/* second length */
	total = b->len;
	memcpy(b->buf + 4, &total, sizeof(total));
	memcpy(b->buf + total - 4, &total, sizeof(total));
	fwrite(b->buf, 1, total, w->f);
}

/* Index of the interface of a device. Writes its description when it is new. */
static uint32_t pcapng_interface(struct pcapng *w, const char *dev)
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
	block_begin(&b, PCAPNG_IDB);
	block_add(&b, link, sizeof(link));
	block_add32(&b, w->snaplen);
	block_option_text(&b, PCAPNG_IF_NAME, *dev ? dev : "ruse");
	block_option_text(&b, PCAPNG_IF_DESCRIPTION, "RDMA device of ruse; shared-memory traffic as RoCEv2 packets");
	block_option(&b, PCAPNG_IF_TSRESOL, &tsresol, 1);
	block_option(&b, PCAPNG_ENDOFOPT, NULL, 0);
	block_end(w, &b);
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
	block_begin(&b, PCAPNG_SHB);
	block_add32(&b, PCAPNG_MAGIC);
	block_add(&b, version, sizeof(version));
	block_add32(&b, 0xffffffff);	/* section length unknown: 64 bits of ones */
	block_add32(&b, 0xffffffff);
	block_option_text(&b, PCAPNG_SHB_USERAPPL, "ruse capture " RUSE_VERSION);
	block_option(&b, PCAPNG_ENDOFOPT, NULL, 0);
	block_end(w, &b);
	return w;
}

void pcapng_packet(struct pcapng *w, const struct captured *p)
{
	uint32_t i = pcapng_interface(w, p->dev), flags = p->in ? 1 : 2;
	uint32_t caplen = min(p->caplen, (uint32_t)CAPRING_FRAME_MAX);
	struct block b;

	block_begin(&b, PCAPNG_EPB);
	block_add32(&b, i);
	block_add_time(&b, p->ns);
	block_add32(&b, caplen);
	block_add32(&b, p->len);
	block_add(&b, p->frame, caplen);
	if (*p->note)
		block_option_text(&b, PCAPNG_COMMENT, p->note);
	block_option(&b, PCAPNG_EPB_FLAGS, &flags, sizeof(flags));
	block_option(&b, PCAPNG_ENDOFOPT, NULL, 0);
	block_end(w, &b);
	w->ifs[i].packets++;
	if (!w->first)
		w->first = p->ns;
	w->last = p->ns;
}

void pcapng_close(struct pcapng *w, uint64_t lost)
{
	struct block b;

	pcapng_interface(w, w->nifs ? w->ifs[0].dev : "");
	for (uint32_t i = 0; i < w->nifs; i++) {
		/* It is not known which device lost packets belonged to: count all for the first interface. */
		uint64_t received = w->ifs[i].packets + (i ? 0 : lost), drop = i ? 0 : lost;

		block_begin(&b, PCAPNG_ISB);
		block_add32(&b, i);
		block_add_time(&b, w->last);
		block_option_time(&b, PCAPNG_ISB_STARTTIME, w->first);
		block_option_time(&b, PCAPNG_ISB_ENDTIME, w->last);
		block_option(&b, PCAPNG_ISB_IFRECV, &received, sizeof(received));
		block_option(&b, PCAPNG_ISB_IFDROP, &drop, sizeof(drop));
		block_option(&b, PCAPNG_ENDOFOPT, NULL, 0);
		block_end(w, &b);
	}
	fflush(w->f);
	free(w);
}

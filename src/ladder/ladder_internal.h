/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of ladder/. */
#ifndef RUSE_LADDER_INTERNAL_H
#define RUSE_LADDER_INTERNAL_H

#include "ladder/ladder.h"
#include "wire/frame.h"

#define LADDER_FLOWS 4096u	/* flows that are known at a time; the one unused for longest is forgotten */
#define LADDER_BUCKETS 4096u	/* a power of two */
#define LADDER_PAIRS 65536u	/* pairs that get heads of their own; later ones share the last */
#define LADDER_COMM 16
#define LADDER_NONE 0xffffu

/* One of the two ends of a pair. */
struct ladder_end {
	uint8_t gid[16];
	bool v4;
	uint32_t qpn;			/* 0: not known */
	int pid;			/* 0: not known */
	char comm[LADDER_COMM];
};

/* Two ends that exchange packets: two QPs, or for datagrams two ends of QPs. left has sent the first packet that was seen. */
struct ladder_pair {
	struct ladder_end left, right;
};

/* The packets from one end to the other. */
struct ladder_flow {
	uint8_t service;		/* enum seg_service */
	uint16_t chain;			/* next flow of the bucket; LADDER_NONE: none */
	uint8_t sgid[16], dgid[16];
	uint32_t sqpn, dqpn;		/* sqpn 0: not known, as in RC and UC packets of files */
	uint16_t peer;			/* flow of the other direction; LADDER_NONE: not known */
	uint32_t pair;
	bool left;			/* sent by the pair's left end */
	uint64_t seen;			/* number of the last packet */
	/* Requests: PSNs from `first` to below `next` were seen; after a READ up to `slack` more belong to its answer. */
	bool asked;
	uint32_t first, next, slack;
	/* Answers with data. */
	bool answered;
	uint32_t answer_next;
};

enum ladder_class { LADDER_PLAIN, LADDER_DIM, LADDER_WARN, LADDER_BAD };

struct ladder_row {
	uint64_t ns;
	uint32_t pair;
	bool left;			/* sent by the left end */
	bool lost;			/* did not leave, or did not arrive, as the capture says */
	uint8_t class;			/* enum ladder_class */
	uint32_t psn;
	char label[48];			/* opcode or MAD, and length */
	char mark[96];			/* what is special; "": nothing */
};

struct ladder {
	uint64_t packets;		/* that were taken */
	uint64_t start;			/* time of the first one */
	struct ladder_flow *flows;	/* LADDER_FLOWS */
	uint32_t nflows;
	uint16_t bucket[LADDER_BUCKETS];	/* first flow of each; LADDER_NONE: none */
	struct ladder_pair *pairs;
	uint32_t npairs, pairs_room;
	struct ladder_row *rows;	/* ring of `keep` */
	size_t keep, nrows;		/* nrows: number added so far */
	uint32_t printed;		/* pair of the last printed row */
	/* The packet before, to find one that was captured twice. */
	uint64_t last_ns;
	uint32_t last_psn, last_dqpn;
	uint8_t last_opcode;
	bool last_left, last_lost;
	/* CM messages between two ends of one address: ids of those that have sent a REQ. */
	uint32_t cm_ids[64];
	uint32_t ncm_ids;
};

/* A packet, parsed. */
struct ladder_parsed {
	const struct ladder_packet *p;
	enum frame_kind kind;
	struct frame f;
	struct bth bth;
	const struct opcode_info *op;	/* NULL: reserved opcode, or CNP */
	struct reth reth;		/* 0 if there is none */
	struct aeth aeth;
	uint32_t sqpn;			/* 0: not known */
	uint32_t len;			/* bytes of payload on the wire */
	const uint8_t *mad;		/* 256 bytes, of which the packet had at least the header; NULL: no MAD */
	uint8_t mad_copy[256];
};

/* parse.c: 0, or -ENOMSG. */
int ladder_parse(struct ladder_parsed *d, const struct ladder_packet *p);
/* The label of a row, and whether it tells of an error. */
void ladder_label(const struct ladder_parsed *d, struct ladder_row *row);
/* flow.c: the flow of a packet, found or made. *left: was it sent by the left end of its pair? NULL: no memory. */
struct ladder_flow *ladder_flow_of(struct ladder *l, const struct ladder_parsed *d, bool *left);
/* flow.c: adds what the order of PSNs tells to the row's mark. */
void ladder_order(struct ladder *l, struct ladder_flow *w, const struct ladder_parsed *d,
		  struct ladder_row *row);
/* Adds text to the row's mark. */
void ladder_mark(struct ladder_row *row, enum ladder_class class, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* text.c */
void ladder_print(struct ladder *l, FILE *f, const struct ladder_style *style,
		  const struct ladder_row *row);
/* The text of an end: "10.0.0.1 QP 0x11 name[pid]". */
void ladder_end_text(const struct ladder_end *e, char *text, size_t size);

#endif

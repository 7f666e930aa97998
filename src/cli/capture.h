/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of `ruse capture` share. */
#ifndef RUSE_CLI_CAPTURE_H
#define RUSE_CLI_CAPTURE_H

#include <stdio.h>
#include "ipc/capring.h"

/* A packet, from a process or from a file. Valid for the call. */
struct captured {
	uint64_t ns;		/* since 1970 */
	const uint8_t *frame;
	uint32_t caplen, len;
	const char *dev;	/* "": not known */
	const char *note;	/* "": nothing */
	bool in;
	uint32_t sqpn, dqpn;	/* sqpn 0: not known */
	int pid;		/* whose packet it is; 0: not known */
	const char *comm;
};

/* 0, or not: enough of it, or an error (negative). */
typedef int (*captured_fn)(const struct captured *p, void *arg);

/* capture_read.c: each packet of a pcap or pcapng file with Ethernet frames. What fn said, or -errno; -EPROTO: it is none. */
int capture_read(FILE *f, captured_fn fn, void *arg);

/* capture_live.c */
struct live;
/* rused is started where none runs. NULL after a message. */
struct live *live_open(uint32_t snaplen);
/*
 * Hands over what has arrived, in the order of time; stop: all that is there,
 * else what nothing older can follow, after waiting for more. What fn said.
 */
int live_poll(struct live *l, bool stop, captured_fn fn, void *arg);
/* Packets that processes could not hand over. */
uint64_t live_lost(const struct live *l);
/* The process that has this QP number, as rused knows it; 0: nobody. */
int live_pid_of(struct live *l, uint32_t qpn);
/* The name of a process that captures for us, or "". */
const char *live_comm_of(const struct live *l, int pid);
void live_close(struct live *l);

/* pcapng.c: a writer. Errors show in ferror(). */
struct pcapng;
struct pcapng *pcapng_open(FILE *f, uint32_t snaplen);
void pcapng_packet(struct pcapng *w, const struct captured *p);
/* Writes the counts, and forgets w; the file stays open. */
void pcapng_close(struct pcapng *w, uint64_t lost);

#endif

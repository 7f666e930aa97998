/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Captured packets on their way from a process to `ruse capture`: a ring in a
 * memfd of the process. One producer, under its engine's lock; one consumer,
 * which believes nothing of what it reads. Neither ever waits for the other:
 * what finds no room is counted.
 */
#ifndef RUSE_IPC_CAPRING_H
#define RUSE_IPC_CAPRING_H

#include "base/util.h"

#define CAPRING_MAGIC 0x63617072u
#define CAPRING_DATA (64u << 20)	/* power of two; pages of it exist once they are used */
#define CAPRING_FRAME_MAX 4352		/* no frame is longer */

struct capring {
	uint32_t magic;
	uint32_t size;		/* CAPRING_DATA */
	uint64_t prod __attribute__((aligned(64)));	/* bytes ever written; the process writes */
	uint64_t lost;		/* packets that found no room, or could not be rendered */
	uint64_t cons __attribute__((aligned(64)));	/* bytes ever read; ruse writes */
	uint8_t data[] __attribute__((aligned(64)));
};

#define CAPRING_SIZE (sizeof(struct capring) + CAPRING_DATA)

/* A record: this, then caplen bytes of frame, then up to 7 bytes to the next multiple of 8. */
struct caprec {
	uint32_t caplen;	/* CAPREC_SKIP: go on at the start of the ring */
	uint32_t len;		/* of the frame */
	uint64_t ns;		/* CLOCK_REALTIME */
	uint32_t sqpn, dqpn;	/* sqpn 0: not known */
	uint32_t in;		/* 1: it arrived, 0: it was sent */
	char dev[20];		/* text */
	char note[40];		/* what a fault did to it, text; "": nothing */
};

#define CAPREC_SKIP 0xffffffffu

/*
 * IPC_CAPTURE to rused: processes shall show their packets to this socket.
 * -ENOSPC: as many capture already as can; -EBUSY: this connection does.
 */
struct ipc_capture {
	char sock[32];		/* abstract address, SOCK_SEQPACKET */
	uint32_t snaplen;	/* bytes of a frame that are wanted */
	uint32_t pad;
};

/* First message of a process to the socket of `ruse capture`, with the ring's memfd. */
struct capring_hello {
	int32_t pid;		/* as it sees itself */
	char comm[16];
};

/* A ring of the producer, its mapping left to no child. NULL; *fd is the caller's to close, or -errno. */
struct capring *capring_new(int *fd);
/* The consumer's mapping of what a producer passed; NULL when it is no ring. */
struct capring *capring_map(int fd);

/* The producer's view. */
struct capring_writer {
	struct capring *ring;
	uint64_t prod;
};

/* Writes a record; false: no room, counted. */
bool capring_put(struct capring_writer *w, const struct caprec *rec, const void *frame);
/* Counts a packet that could not be written. */
void capring_lost(struct capring *r);
/* Packets lost so far. */
uint64_t capring_nlost(const struct capring *r);

/* The consumer's view. */
struct capring_reader {
	struct capring *ring;
	uint64_t cons;
};

/*
 * Takes the next record: 1; 0: there is none; -EPROTO: the ring does not make
 * sense, nothing more can be read. frame has CAPRING_FRAME_MAX bytes; dev and
 * note are terminated.
 */
int capring_get(struct capring_reader *rd, struct caprec *rec, void *frame);

#endif

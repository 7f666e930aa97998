/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ring of captured packets from one producer to `ruse capture`, in a memfd of the producer: a
 * process, under its engine lock, or rused, which is single-threaded (daemon/capture_out.h). There
 * is one consumer. Each side treats the other's words as hostile.
 * Neither waits for the other: a packet that finds no room is dropped and counted.
 */
#ifndef RUSE_IPC_CAPRING_H
#define RUSE_IPC_CAPRING_H

#include "base/util.h"

#define CAPRING_MAGIC 0x63617072u
#define CAPRING_DATA (64u << 20)	/* bytes, a power of two; pages are allocated on use */
#define CAPRING_FRAME_MAX 4352		/* bytes; the longest frame stored */

struct capring {
	uint32_t magic;
	uint32_t size;		/* CAPRING_DATA */
	uint64_t prod __attribute__((aligned(64)));	/* bytes written so far, by the producer */
	uint64_t lost;		/* packets without room, or that could not be rendered */
	uint64_t cons __attribute__((aligned(64)));	/* bytes read so far, by ruse */
	uint8_t data[] __attribute__((aligned(64)));
};

#define CAPRING_SIZE (sizeof(struct capring) + CAPRING_DATA)

/* A record: this header, caplen bytes of the frame, padding to a multiple of 8. */
struct caprec {
	uint32_t caplen;	/* bytes stored; CAPREC_SKIP: go on at the start of the ring */
	uint32_t len;		/* bytes of the whole frame */
	uint64_t ns;		/* CLOCK_REALTIME, ns */
	uint32_t sqpn, dqpn;	/* sqpn 0: unknown */
	uint32_t in;		/* 1: received, 0: sent */
	char dev[20];		/* device name, NUL-terminated */
	char note[40];		/* effect of a fault rule, NUL-terminated; "": none */
};

#define CAPREC_SKIP 0xffffffffu

/*
 * Body of IPC_CAPTURE: asks rused that all processes send their packets to a socket. -ENOSPC:
 * HOST_MAX_CAPTURES captures run already; -EBUSY: this connection has one.
 */
struct ipc_capture {
	char sock[32];		/* abstract address without the leading NUL, SOCK_SEQPACKET */
	uint32_t snaplen;	/* bytes of each frame to store */
	uint32_t pad;
};

/* First message of a producer to the socket of `ruse capture`. The memfd of its ring is attached. */
struct capring_hello {
	int32_t pid;		/* in the producer's own PID namespace */
	char comm[16];
};

/* Creates and maps a ring; a forked child does not inherit it. The caller closes *fd. After NULL *fd is -errno. */
struct capring *capring_new(int *fd);
/* Maps a ring received from a producer. NULL if it is not a valid ring. */
struct capring *capring_map(int fd);

/* State of the producer. */
struct capring_writer {
	struct capring *ring;
	uint64_t prod;
};

/* Writes a record. False: no room or too long, and counted as lost. */
bool capring_put(struct capring_writer *w, const struct caprec *rec, const void *frame);
/* Counts a packet that could not be written. */
void capring_lost(struct capring *r);
/* Number of packets lost so far. */
uint64_t capring_nlost(const struct capring *r);

/* State of the consumer. */
struct capring_reader {
	struct capring *ring;
	uint64_t cons;
};

/*
 * Reads the next record. 1: read; 0: the ring is empty; -EPROTO: the ring is inconsistent and
 * cannot be read further. frame has room for CAPRING_FRAME_MAX bytes. dev and note are
 * NUL-terminated on return.
 */
int capring_get(struct capring_reader *rd, struct caprec *rec, void *frame);

#endif

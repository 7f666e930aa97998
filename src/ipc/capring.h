/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A ring of captured packets in a memfd. It has one producer and one consumer. The consumer is `ruse capture`. The
 * producer, which creates the memfd, is a process that uses RDMA or rused (gsi/capture_out.h). A process writes under
 * its engine lock; rused is single-threaded.
 *
 * Neither side trusts what the other has written to the ring, and neither waits for the other: a packet for which there
 * is no room is dropped and counted.
 */
#ifndef RUSE_IPC_CAPRING_H
#define RUSE_IPC_CAPRING_H

#include "shared/ring.h"

#define CAPRING_MAGIC 0x63617072u
#define CAPRING_DATA (64u << 20)	/* bytes, a power of two; pages are allocated on use */
#define CAPRING_FRAME_MAX 4352		/* bytes; the longest frame stored */

struct capring {
	uint32_t magic;
	uint32_t size;		/* CAPRING_DATA */
	uint64_t lost;		/* packets not stored: no room, too long, or no frame could be built for them */
	struct shared_ring ring;	/* records: struct caprec, and caplen bytes of the frame */
	uint8_t data[] __attribute__((aligned(64)));
};

#define CAPRING_SIZE (sizeof(struct capring) + CAPRING_DATA)

struct caprec {
	uint32_t caplen;	/* bytes stored */
	uint32_t len;		/* bytes of the whole frame */
	uint64_t ns;		/* CLOCK_REALTIME, ns */
	uint32_t sqpn, dqpn;	/* sqpn 0: unknown */
	uint32_t in;		/* 1: received, 0: sent */
	char dev[20];		/* device name, NUL-terminated */
	char note[40];		/* effect of a fault rule, NUL-terminated; "": none */
};

/*
 * Body of IPC_CAPTURE, with which `ruse capture` starts a capture: rused tells all processes to connect to the given
 * socket and to capture their packets. -ENOSPC: HOST_MAX_CAPTURES captures run already. -EBUSY: this connection has
 * already started a capture.
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

/*
 * Creates and maps a ring. *fd is its memfd, which the caller closes. Returns NULL on failure; *fd is then -errno. A
 * forked child does not inherit the mapping.
 */
struct capring *capring_new(int *fd);
/* Maps a ring received from a producer. NULL if it is not a valid ring. */
struct capring *capring_map(int fd);

/* One side of a ring, the producer or the consumer. */
struct capring_side {
	struct capring *ring;	/* NULL: none */
	struct shared_ring_end end;
};

/* The side of a ring that is new; NULL: none. */
struct capring_side capring_side(struct capring *ring);
/* For the producer: writes a record. False: no room or too long, and counted as lost. */
bool capring_put(struct capring_side *w, const struct caprec *rec, const void *frame);
/* Counts a packet that could not be written. */
void capring_lost(struct capring *r);
/* Number of packets lost so far. */
uint64_t capring_nlost(const struct capring *r);
/*
 * For the consumer: reads the next record. 1: read; 0: the ring is empty; -EPROTO: the ring is inconsistent and cannot
 * be read further. frame has room for CAPRING_FRAME_MAX bytes. dev and note are NUL-terminated on return.
 */
int capring_get(struct capring_side *rd, struct caprec *rec, void *frame);

#endif

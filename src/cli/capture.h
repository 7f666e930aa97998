/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `ruse capture`: interfaces between its files. */
#ifndef RUSE_CLI_CAPTURE_H
#define RUSE_CLI_CAPTURE_H

#include <stdio.h>
#include "ipc/capring.h"

/* A packet from a process or from a file. Valid during the call of captured_fn only. */
struct captured {
	uint64_t ns;		/* since 1970 */
	const uint8_t *frame;	/* caplen bytes of an Ethernet frame of len bytes */
	uint32_t caplen, len;
	const char *dev;	/* RDMA device; "": unknown */
	const char *note;	/* remark, such as a fault that was applied; may be "" */
	bool in;		/* received; false: sent */
	uint32_t sqpn, dqpn;	/* sqpn 0: unknown. Packets of a file: both are 0 */
	int pid;		/* process that sent or received it; 0: unknown */
	const char *comm;	/* name of that process; "": unknown. Never NULL */
};

/* Called for each packet. 0: continue; positive: stop; negative: -errno. */
typedef int (*captured_fn)(const struct captured *p, void *arg);

/*
 * capture_read.c: calls fn for each packet of a pcap or pcapng file with frames of Ethernet or of `tcpdump -i any`.
 * Returns 0, the result of fn that ended it, -ENOMEM, -EIO, or -EPROTO: the file has another
 * format, has invalid lengths, or ends within a packet.
 */
int capture_read(FILE *f, captured_fn fn, void *arg);

struct bth;
struct live;

/* capture_filter.c: which packets are shown. */
struct capture_filter {
	const char *dev, *who;	/* NULL: any */
	long pid;		/* `who` as a number; 0: it is a name */
	long long qpn;		/* -1: any */
	uint32_t ops;		/* bit mask of enum bth_op; 0: any */
	bool by_psn, by_time;
	uint32_t psn[2];	/* first and last; the first may be the larger one, as PSNs begin anew after 0xffffff */
	uint64_t time[2];	/* ns since the first packet of the capture */
};

/* An option by its letter or CAPTURE_*. 1: it is none of a filter; 0; -EINVAL: its argument is none of capture_filter_expects(). */
int capture_filter_option(struct capture_filter *f, int opt, const char *arg);
const char *capture_filter_expects(int opt);
enum { CAPTURE_OPCODE = 256, CAPTURE_PSN, CAPTURE_TIME };
/* bth: of the packet. live: NULL for packets of a file. since: ns since the first packet of the capture. */
bool capture_filter_wants(const struct capture_filter *f, struct live *live,
			  const struct captured *p,
			  const struct bth *bth, uint64_t since);
/* A number, also in the notations of C, from low to high. */
bool capture_number(const char *text, long long low, long long high, long long *v);

/* capture_live.c */
/* Starts to capture; starts rused if none runs. NULL after an error, with a message. */
struct live *live_open(uint32_t snaplen);
/*
 * Waits a few milliseconds, then calls fn for the packets that have arrived, in order of their time
 * stamps. Packets of the last 5 ms are kept for the next call: older ones may still arrive from
 * other processes. stop: does not wait, and delivers all. Returns 0, or the result of fn that
 * ended it.
 */
int live_poll(struct live *l, bool stop, captured_fn fn, void *arg);
/* Number of packets lost: a process had no room in its ring, or could not copy the packet. */
uint64_t live_lost(const struct live *l);
/* PID of the process to which rused has leased the block of QP numbers that contains qpn; 0: none. */
int live_pid_of(struct live *l, uint32_t qpn);
/* The name of a process that delivers packets here, or "". */
const char *live_comm_of(const struct live *l, int pid);
void live_close(struct live *l);

/* pcapng.c: a writer of pcapng files. The caller finds write errors by ferror(f). */
struct pcapng;
/* Writes the file's header. snaplen: bytes of a frame that are stored at most. Returns NULL without memory. */
struct pcapng *pcapng_open(FILE *f, uint32_t snaplen);
void pcapng_packet(struct pcapng *w, const struct captured *p);
/* Writes the statistics and frees w; f stays open. lost: number of packets lost. */
void pcapng_close(struct pcapng *w, uint64_t lost);

#endif

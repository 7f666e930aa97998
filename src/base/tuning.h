/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tuning constants. They decide how fast ruse is, and nothing else: the result of no operation
 * depends on them. Each value was chosen by measurement, and a test shows what the constant does.
 */
#ifndef RUSE_BASE_TUNING_H
#define RUSE_BASE_TUNING_H

#include "base/util.h"

/*
 * What comes within this time is polled for, as a sleep and a wake-up take longer: the next segment
 * of a stream (engine/pollstate.h), the next message to rused (daemon/channels.c), the program's
 * message with which a delayed ACK is sent (link/udp_hold.c).
 * Tests: engine/test-pollstate.c, link/test-udp.c.
 */
#define TUNE_SOON (50 * NS_US)
/* For this time a process polls for rused's answer to a command. Test: ipc/test-channel.c. */
#define TUNE_ANSWER (10 * NS_US)
/*
 * What a program did this many times in a row it is expected to do again: poll an empty CQ
 * (engine/pollstate.h), answer a message at once (link/udp_hold.c).
 * Tests: engine/test-pollstate.c, link/test-udp.c.
 */
#define TUNE_HABIT 8u
/* Segments in one round that are taken for a stream. Test: engine/test-pollstate.c. */
#define TUNE_STREAM 4
/*
 * How long a program may go without a poll before the progress thread takes over: TUNE_GRACE at first, longer by a part in
 * TUNE_TRUST with each check that finds the program polling, and at most TUNE_GRACE_MAX (engine/pollstate.h). Each check is a
 * wake-up of the thread. Where groups of processes share the processors (autogroups, control groups), Linux with commit
 * 6d71a9c61604 (6.13 and backports, until it was reverted) lets a group with polling programs and more than some 100 wake-ups
 * a second run alone, for seconds. Test: engine/test-pollstate.c.
 */
#define TUNE_GRACE NS_MS
#define TUNE_TRUST 32
#define TUNE_GRACE_MAX (16 * NS_MS)
/*
 * What costs a system call or more, and is seldom needed, is done once in so many times: polls look
 * at timers (engine/progress.c) and at idle sockets (engine/pollstate.h), copies ask whether the
 * peer's memory is resident or readable (link/shm_resident.c, link/shm_link.c).
 * Tests: engine/test-pollstate.c, link/test-shm-direct.c.
 */
#define TUNE_RARELY 64u
/* The same where the owner of the memory tells of what it takes away (link/shm_resident.c). Test: link/test-shm-map.c. */
#define TUNE_SELDOM 4096u
/* Attempts to take a lock that is held, before the thread lets others run. Tests: engine/test-lock.c, queue/test-card.c. */
#define TUNE_SPINS 1000u
/* From this many bytes on, one copy by a system call costs less than two copies through the cache. Test: link/test-shm.c. */
#define TUNE_PULL (16u << 10)
/* Bytes of rings that are allocated or freed by one system call. Test: engine/test-rings.c. */
#define TUNE_PAGES (256ull << 10)
/* EEVDF slice of the progress thread: with it, its worst wake-up latency is 74 us, without it 2 ms. Test: system/doctor. */
#define TUNE_SLICE (100 * NS_US)

#endif

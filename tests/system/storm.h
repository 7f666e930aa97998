/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of the storm; see storm.c. */
#ifndef TESTS_STORM_H
#define TESTS_STORM_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define MEMBERS 4		/* connection c is between the members c and (c + 1) % MEMBERS */
#define SLOT (64u << 10)	/* bytes of the largest message */
#define FIXED (64u << 10)	/* bytes of an area that do not change */
#define NOTE 64u		/* bytes of the largest SEND after a WRITE */
#define CREDITS 8u		/* messages of a direction that are not yet checked */

enum end_state { S_CLOSED, S_OFFERED, S_INIT, S_RTR, S_RTS, S_CONNECTED, S_RUN, S_DRAIN, S_DONE };

/* What one side of a connection tells its peer and the driver. */
struct half {
	uint64_t offered;	/* key of the connection that qpn, rkey and addr belong to */
	uint64_t connected;	/* key of the connection whose QP is in RTS */
	uint64_t addr;
	uint32_t qpn, rkey;
	uint32_t checked;	/* messages received and checked; the sender's credits */
	uint32_t ended;		/* this side posts no more; all its requests are complete */
	/* For the driver. */
	uint32_t sent_ok;	/* requests that were completed and verified, since the start */
	uint32_t got;		/* messages that were received and verified, since the start */
	uint32_t state, in_flight;
};

struct member {
	uint32_t life;		/* number of this member's program; the driver raises it before it kills the program */
	uint32_t buried;	/* all programs of this member with a lower number are dead */
};

struct world {
	uint64_t seed;
	struct member member[MEMBERS];
	struct half half[MEMBERS][2];	/* by connection and side */
	/*
	 * troubles: number of kills and stops, which may make commands fail. settled: how many of
	 * them are over.
	 */
	uint32_t troubles, settled;
	uint32_t stop;		/* 1: the test ends: storm.c does no further kills and stops */
	uint32_t done;		/* members that have nothing more to send or to check */
	uint64_t messages, reads, bytes, excused;
};
extern struct world *world;

static inline uint32_t load(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static inline void store(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static inline uint64_t hash(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static inline uint32_t below(uint64_t *s, uint32_t n)
{
	*s = hash(*s);
	return (uint32_t)(*s % n);
}

void nap_us(uint32_t us);

enum message { M_SEND, M_SEND_IMM, M_WRITE, M_WRITE_IMM, M_KINDS };

struct plan {
	enum message kind;
	uint32_t len, imm, note;
	uint64_t seed;
	bool read_back, read_fixed, add;
};

/* storm_data.c: message n of the direction with this seed. */
struct plan plan(uint64_t seed, uint32_t n);
/* Dies unless `found` equals what fill() writes for this seed, from byte `skip` on. */
void compare(uint64_t key, const char *what, uint32_t n, const uint8_t *found, uint32_t len,
	     uint64_t seed, uint32_t skip);

/* storm_member.c: the program of member `id` whose number (member.life) is `life`; returns when the test ends. */
void member_run(int id, uint32_t life);

#endif

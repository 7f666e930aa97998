/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a device is like: the limits that it reports and enforces, how it rounds, which errno it gives. By default it is as
 * kernel rxe, with the exceptions of doc/deviations.md. `ruse run --like` replaces that by what is known of an adapter
 * (data/like, doc/like.md). Commands use it; data paths do not.
 */
#ifndef RUSE_CORE_LIKE_H
#define RUSE_CORE_LIKE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/like_table.h"

struct qp_init_attr;
struct srq_init_attr;

/* How CREATE_QP, CREATE_CQ and CREATE_SRQ round: by the driver. EXACT: what was asked for is returned. */
enum like_driver { LIKE_RXE, LIKE_MLX5, LIKE_IRDMA, LIKE_BNXT, LIKE_EXACT, LIKE_DRIVERS };

/* What the adapter does not have: bits of like.missing. */
enum like_missing {
	LIKE_NO_UC, LIKE_NO_SRQ, LIKE_NO_MW, LIKE_NO_MCAST, LIKE_NO_RESIZE_CQ, LIKE_NO_ATOMIC,
	LIKE_NO_BIND_MW, LIKE_NO_LOCAL_INV, LIKE_NO_QP_EX, LIKE_NO_RESIZE_SRQ,
	LIKE_NMISSING,
	LIKE_NO_ODP = LIKE_NMISSING	/* no bit: odp_general tells; in the reason DEV_LACKS only */
};

#define LIKE_ODP_SUPPORT 1u	/* in odp_general: IB_ODP_SUPPORT */

/* A limit: a smaller one is stricter; 0: the adapter lacks what is limited. Other values are facts. */
enum like_kind { LIKE_LIMIT, LIKE_FACT };

#define LIKE_NAME 32

struct like {
	char name[LIKE_NAME];
	uint64_t driver;	/* enum like_driver */
	uint64_t credits_poll;	/* 1: core/credits.h */
	uint64_t gid_v1;	/* 1: the GID table has RoCEv1 entries too */
	uint64_t missing;	/* bits 1 << enum like_missing */
	uint64_t fw_ver;	/* with `,identity`: three numbers of 16 bits, the first the highest */
	uint64_t octets;	/* 1: its counters need what engine/tally.h counts */
#define LIKE_MEMBER(member, ...) uint64_t member;
	LIKE_FIELDS(LIKE_MEMBER)
	LIKE_IDENTITY(LIKE_MEMBER)
	LIKE_CREATE(LIKE_MEMBER)
	LIKE_REFUSED(LIKE_MEMBER)
#undef LIKE_MEMBER
};

/* The numbers behind the name, as they travel in messages. */
#define LIKE_VALUES ((sizeof(struct like) - LIKE_NAME) / sizeof(uint64_t))

extern const struct like like_default;

struct like_entry {
	const char *section, *name;	/* in a file */
	size_t at;			/* offset of the member */
	uint64_t low, high;
	enum like_kind kind;
	bool refused;			/* the value is an errno, as a signed number */
};

/* All values but driver, credits_poll, gid_v1, missing, fw_ver and octets. */
extern const struct like_entry like_entries[];
extern const size_t like_nentries;

static inline uint64_t like_value(const struct like *l, const struct like_entry *e)
{
	return *(const uint64_t *)((const char *)l + e->at);
}

/* The negative errno that a command returns. */
static inline int like_errno(uint64_t member)
{
	int64_t e = (int64_t)member;

	return (int)(e < 0 ? e : -e);
}

static inline bool like_lacks(const struct like *l, enum like_missing what)
{
	return l->missing >> what & 1;
}

bool like_entry_valid(const struct like_entry *e, uint64_t value);
/* Is it a persona, with every value in its range and a printable name? For what comes from another process. */
bool like_valid(const struct like *l);

/* What CREATE_QP refuses: the number of the limit in the reason QP_LIMIT, its greatest value, and the errno. */
struct like_excess {
	uint32_t limit;
	uint64_t value, max;
	int err;
};

/* Rounds the sizes as the driver does. False: one exceeds its limit. */
bool like_qp(const struct like *l, struct qp_init_attr *a, struct like_excess *x);
/* The size of a CQ that was to have cqe entries, which the device allows. */
uint32_t like_cqe(const struct like *l, uint32_t cqe);
/* The largest size that a CQ can have. */
uint32_t like_max_cqe(const struct like *l);
/* The sizes of an SRQ, which the device allows. */
void like_srq(const struct like *l, struct srq_init_attr *a);

#endif

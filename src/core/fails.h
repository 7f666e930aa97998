/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a device remembers for the reasons of failures: the keys that have ended, why QPs fail, and why commands are refused. */
#ifndef RUSE_CORE_FAILS_H
#define RUSE_CORE_FAILS_H

#include "base/util.h"
#include "why/why.h"

#define DEV_KEY_HISTORY 64u	/* the latest keys that have ended (core/why_key.h) */
#define DEV_QP_FAILS 64u	/* the QPs that have failed lately, or may be about to (xport/why.h) */

struct qp_fail {
	uint32_t qpn;		/* 0: unused */
	uint8_t whose;		/* enum why_whose, of why */
	struct why why;		/* the reason of the QP's next failure that is reported */
	/* NAKs with a PSN that was not sent: how many since una had the value nak_una, and the PSN of the last one. */
	uint32_t naks, nak_psn, nak_una;
	/* Rules of `ruse fault` that have made the last RNR or sequence NAK that was sent and that came, 0: none; una then. */
	uint32_t rule_out, rule_in, rule_una;
	ns_t silent;		/* when the requester began to wait for an answer that has not come in the first attempt */
	uint32_t err;		/* enum why_id that has moved the QP to ERR; WHY_NONE: the program did */
	ns_t err_at;
};

struct fail_log {
	uint32_t nkeys;		/* number of keys that have ended */
	struct {
		uint32_t key;
		bool window;	/* of a memory window, not of a region */
		ns_t at;	/* 0: unknown */
	} key[DEV_KEY_HISTORY];
	uint32_t next_qp;	/* entry that is used next */
	struct qp_fail qp[DEV_QP_FAILS];
	struct why refused;	/* why the command in execution is refused; id WHY_NONE: not known */
	uint32_t refused_qpn;	/* the QP of that command; 0: none */
};

struct rdev;

/* The host clock in ns; 0: not known. */
ns_t rdev_now(const struct rdev *dev);
/* Logs a failure, if the host keeps a log: see rdev_ops.failed. */
void rdev_failed(struct rdev *dev, const struct why_rec *r);

/*
 * Leaves the reason for which a command is refused, an id of why/why.def without WHY_ and its values, and returns err.
 * The first reason of a command counts.
 */
#define rdev_refuse(dev, err, id, ...)                                                        \
	({                                                                                    \
		int err_ = (err);                                                             \
		rdev_refuse_why((dev), WHY_##id, WHY_VALUES(__VA_ARGS__));                    \
		err_;                                                                         \
	})
void rdev_refuse_why(struct rdev *dev, enum why_id id, const uint64_t arg[WHY_ARGS]);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reasons: why something failed. The check that refuses a request makes a reason: an id of the table why.def, and the
 * values that it has compared. A reason is made only when something fails, so success costs nothing.
 *
 * An id is shown as RX-017: three hexadecimal digits, because programs print the vendor error of a completion, which
 * is the id, in hexadecimal. Those of check.def are shown as CK-001, those of shake.def as SH-001.
 */
#ifndef RUSE_WHY_WHY_H
#define RUSE_WHY_WHY_H

#include <stddef.h>
#include "base/util.h"

#define WHY_ARGS 6

enum why_id {
	WHY_NONE = 0,
#define WHY(num, name, kind, text, means, mistake, remedy) WHY_##name = (num),
#include "why/why.def"
#include "why/check.def"
#include "why/shake.def"
#undef WHY
};

/* The ids of check.def and of shake.def; each is shown as the rest. */
#define WHY_CHECK_FIRST 0x800u
#define WHY_CHECK_LAST 0x9ffu
#define WHY_SHAKE_FIRST 0xa00u
#define WHY_SHAKE_LAST 0xaffu

/* An id from first to last is shown as its difference from first behind the prefix, others as RX-. */
struct why_series {
	char prefix[4];
	uint32_t first, last;
};
extern const struct why_series why_series[2];

/* What a reason belongs to: the third column of why.def. */
enum why_kind {
	WHY_KIND_RESPONDER,	/* a request of the peer is refused; the peer's work request fails */
	WHY_KIND_REQUESTER,	/* a work request of this process fails */
	WHY_KIND_FLUSH,		/* a work request is flushed because its QP has failed or was moved to ERR */
	WHY_KIND_DROP,		/* a packet is dropped without an answer */
	WHY_KIND_EVENT,		/* an asynchronous event */
	WHY_KIND_COMMAND,	/* a command of verbs, rdma_cm, umad or netlink fails with an errno */
	WHY_KIND_CM,		/* a connection or an address resolution of rdma_cm fails */
	WHY_KIND_MAD,		/* a MAD is not answered, or answered with an error */
	WHY_KIND_CHECK,		/* nothing has failed here: the program has misused verbs (`ruse run --check`) */
	WHY_KIND_HINT,		/* the same, of what may be wanted (`ruse run --check=hints`) */
	WHY_KIND_SHAKE,		/* nothing has failed: a decision of `ruse run --shake` */
	WHY_KIND_WAIT,		/* nothing has failed: something is waited for (`ruse explain --stuck`) */
	WHY_KINDS
};

struct why {
	uint32_t id;		/* enum why_id; WHY_NONE: no reason is known */
	uint32_t pad;
	uint64_t arg[WHY_ARGS];	/* values; the row of why.def says what each is */
};

/* A row of why.def, check.def or shake.def. */
struct why_row {
	uint32_t id;
	enum why_kind kind;
	const char *name;	/* "KEY_PD" */
	const char *text;	/* what has happened, with values: see why_text() */
	const char *means;	/* the rule behind it */
	const char *mistake;	/* what a program usually did wrong */
	const char *remedy;	/* what to do */
};

/* Sets a reason. The values follow the id; those that are not given are 0. */
#define WHY_VALUES(...) ((const uint64_t[WHY_ARGS]){ __VA_ARGS__ })
#define why_set(w, id, ...) why_make((w), WHY_##id, WHY_VALUES(__VA_ARGS__))
void why_make(struct why *w, enum why_id id, const uint64_t arg[WHY_ARGS]);

/* Puts a string into two values, as {0:str} shows it: up to 16 bytes. */
void why_str(uint64_t arg[2], const char *s);

/* The row of an id; NULL: there is none. */
const struct why_row *why_row(uint32_t id);
/* The id in a text: "RX-017", "rx-17", "0x17", "CK-001" or "SH-001"; WHY_NONE: it is not an id of the table. */
enum why_id why_parse(const char *s);

/*
 * Writes the text of a reason with its values into buf, always NUL-terminated, and returns its length, cut to the
 * room. An id without a row gives "unknown reason RX-...". A directive in braces stands for a value:
 *
 *	{0}		value 0, decimal
 *	{0:n packet}	decimal with a noun: "1 packet", "2 packets"; a last y becomes ies
 *	{0:x}		hexadecimal, with 0x
 *	{0:key}		a memory key, eight hexadecimal digits
 *	{0:bytes}	the 8 bytes of the value, in memory order: "68 65 6c 6c 6f 00 00 00"
 *	{0:qpn}		a QP number, six hexadecimal digits
 *	{0:time}	nanoseconds, rounded: "3 ms"
 *	{0:access}	access flags by name: "REMOTE_READ, REMOTE_WRITE"
 *	{0:qpmask}	attr_mask of ibv_modify_qp() by name: "IBV_QP_AV, IBV_QP_PORT"
 *	{0:state}	enum ib_qp_state by name: "RTS"
 *	{0:id}		the id of another reason
 *	{0:errno}	a positive errno: its text
 *	{0:gid}		values 0 and 1: 16 bytes of a GID in memory order, as an IPv6 or mapped IPv4 address
 *	{0:str}		values 0 and 1: up to 16 bytes of a string, such as the name of an interface
 *	{0:span}	the first and, in the high half, the last byte of a part: "0-63"
 *	{0:event}	the number of an event of `ruse run --shake`, without its highest bit of 32
 *	{0:range}	values 0 to 3, start and length of an access, start and length of a region that does not contain
 *			it: "bytes 0x1000 to 0x2040 reach 64 bytes beyond the region 0x1000 to 0x2000"
 *	{0?a|b|c}	a if value 0 is 0, b if it is 1, and so on; the last one for larger values
 */
size_t why_text(const struct why *w, char *buf, size_t size);
/* "RX-017", "CK-001" or "SH-001" for an id. */
#define WHY_NAME_LEN 12
void why_name(uint32_t id, char name[WHY_NAME_LEN]);

/* The end that has made a reason. */
enum why_whose {
	WHY_OWN,		/* a check of this process */
	WHY_PEER,		/* the peer, which has sent it with its answer */
};

/* A failure: a completion with an error, a dropped packet, an event, or a command that has failed. */
struct why_rec {
	uint32_t count;		/* how often it has happened in succession, at least 1 */
	uint32_t dev;		/* index of the device; 0: none */
	uint64_t first, last;	/* host clock, ns */
	struct why why;
	uint8_t whose;		/* enum why_whose */
	uint8_t status;		/* enum ib_wc_status of the completion; 0: no completion */
	uint16_t error;		/* positive errno of the command; 0: no command has failed */
	uint32_t repaired;	/* 1: a packet was dropped, and its repetition was taken */
	uint32_t qpn, peer_qpn;	/* 0: none */
	uint64_t wr_id;		/* of the completion */
	uint32_t event;		/* enum ib_event_type + 1; 0: no event */
	uint32_t pad2;
	char call[24];		/* the command, NUL-terminated; "": none */
};

/*
 * True for what belongs to an orderly shutdown, or was repaired: a work request that was flushed, or a packet that was
 * dropped, because the program itself has moved the QP to ERR, and a dropped packet whose repetition was taken.
 */
bool why_orderly(const struct why_rec *r);
/*
 * True for a failure that a test should notice: a completion with an error, an event or a refused command that does not belong to
 * an orderly shutdown. False for a dropped packet, and for a command that is not supported, as programs probe for features.
 */
bool why_error(const struct why_rec *r);

#endif

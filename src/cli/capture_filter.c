/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse capture: the filters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/capture.h"
#include "wire/opcode.h"
#include "wire/psn.h"

bool capture_number(const char *text, long long low, long long high, long long *v)
{
	char *rest;

	errno = 0;
	*v = strtoll(text, &rest, 0);
	return !errno && *text && !*rest && *v >= low && *v <= high;
}

/* "A-B", "A", "A-" or "-B": copies to from and to, which have `size` bytes; "" where there is none. */
static bool filter_range(const char *text, char *from, char *to, size_t size)
{
	const char *dash = strchr(text, '-');
	size_t n = dash ? (size_t)(dash - text) : strlen(text);

	if (n >= size || (dash && strlen(dash + 1) >= size) || (!n && !(dash && dash[1])))
		return false;
	memcpy(from, text, n);
	from[n] = '\0';
	strcpy(to, dash ? dash + 1 : from);
	return true;
}

static bool filter_psn(struct capture_filter *f, const char *text)
{
	char word[2][24];
	long long v;

	if (!filter_range(text, word[0], word[1], sizeof(word[0])) || !*word[0] || !*word[1])
		return false;
	for (int i = 0; i < 2; i++) {
		if (!capture_number(word[i], 0, PSN_MASK, &v))
			return false;
		f->psn[i] = (uint32_t)v;
	}
	f->by_psn = true;
	/* A range may wrap, but one of half the numbers or more is the wrong way round. */
	return psn_diff(f->psn[1], f->psn[0]) >= 0;
}

/* Seconds with up to nine digits after the point, as ns. Not strtod(), which takes the separator of the locale. */
static bool filter_seconds(const char *s, uint64_t *ns)
{
	size_t whole = strspn(s, "0123456789"),
	       part = s[whole] == '.' ? strspn(s + whole + 1, "0123456789") : 0;
	uint64_t unit = NS_S;

	if (!whole || whole > 9 || part > 9 || s[whole + (s[whole] == '.') + part])
		return false;
	*ns = strtoull(s, NULL, 10) * (uint64_t)NS_S;
	for (size_t i = 0; i < part; i++) {
		unit /= 10;
		*ns += (uint64_t)(s[whole + 1 + i] - '0') * unit;
	}
	return true;
}

static bool filter_time(struct capture_filter *f, const char *text)
{
	char from[24], to[24];

	if (!filter_range(text, from, to, sizeof(from)) || !strchr(text, '-'))
		return false;
	f->time[0] = 0;
	f->time[1] = UINT64_MAX;
	f->by_time = true;
	return (!*from || filter_seconds(from, &f->time[0])) &&
	       (!*to || filter_seconds(to, &f->time[1])) && f->time[0] <= f->time[1];
}

int capture_filter_option(struct capture_filter *f, int opt, const char *arg)
{
	long long pid;
	uint32_t ops;
	bool ok = true;

	switch (opt) {
	case 'd':
		f->dev = arg;
		break;
	case 'p':
		f->who = arg;
		f->pid = capture_number(arg, 1, INT32_MAX, &pid) ? (long)pid : 0;
		ok = *arg;
		break;
	case 'q':
		ok = capture_number(arg, 0, 0xffffff, &f->qpn);
		break;
	case CAPTURE_OPCODE:
		ops = opcode_set(arg);
		f->ops |= ops;
		ok = ops;
		break;
	case CAPTURE_PSN:
		ok = filter_psn(f, arg);
		break;
	case CAPTURE_TIME:
		ok = filter_time(f, arg);
		break;
	default:
		return 1;
	}
	return ok ? 0 : -EINVAL;
}

const char *capture_filter_expects(int opt)
{
	return opt == 'q' ? "a QP number from 0 to 0xffffff" :
	       opt == CAPTURE_OPCODE ?
			    OPCODE_SET_WORDS :
	       opt == CAPTURE_PSN ?
			    "a PSN from 0 to 0xffffff, or a range such as 100-200, the older PSN first" :
	       opt == CAPTURE_TIME ?
			    "a range of seconds since the first packet, such as 0.5-2, 1- or -3" :
			    "a process or the name of a program";
}

/* True if the process matches option --program. Only the first 15 characters of names are compared (TASK_COMM_LEN). */
static bool filter_who(const struct capture_filter *f, int pid, const char *comm)
{
	return f->pid ? pid == f->pid : !strncmp(comm, f->who, 15);
}

static bool filter_bth(const struct capture_filter *f, const struct bth *bth)
{
	uint32_t op = bth->opcode & 31u;

	/* A congestion notification has the bits of a SEND. */
	if (f->ops && (!opcode_info(bth->opcode) || !(f->ops >> op & 1)))
		return false;
	return !f->by_psn ||
	       ((bth->psn - f->psn[0]) & PSN_MASK) <= ((f->psn[1] - f->psn[0]) & PSN_MASK);
}

/*
 * --program selects packets that the process sends or receives. A packet within this host is captured only by its sender, so
 * an outgoing packet also matches if its destination QP number belongs to the process.
 */
bool capture_filter_wants(const struct capture_filter *f, struct live *live,
			  const struct captured *p, const struct bth *bth, uint64_t since)
{
	int peer;

	if (f->dev && strncmp(p->dev, f->dev, 19))
		return false;
	if (f->qpn >= 0 && p->dqpn != (uint64_t)f->qpn && p->sqpn != (uint64_t)f->qpn)
		return false;
	if (!filter_bth(f, bth) || (f->by_time && (since < f->time[0] || since > f->time[1])))
		return false;
	if (!f->who || filter_who(f, p->pid, p->comm))
		return true;
	if (!live || p->in)
		return false;
	peer = live_pid_of(live, p->dqpn);
	return peer && filter_who(f, peer, live_comm_of(live, peer));
}

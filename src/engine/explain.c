/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include "base/sys.h"
#include "engine/engine_internal.h"
#include "engine/explain.h"
#include "ipc/why_log.h"

#define STDERR 2
#define FRAMES 24
#define OWN_FRAMES 2		/* those of this file */
#define KINDS 0x10000u

static uint64_t told[KINDS / 64];	/* by kind of failure: a bit; failures that were written to stderr */

static void explain_write(const char *s)
{
	sys_write(STDERR, s, strlen(s));
}

/* A kind is a reason and, for commands, the command: a hash (FNV-1a) of both. */
static uint32_t explain_hash(const struct why_rec *r)
{
	uint32_t h = 2166136261u;

	for (const char *c = r->call; *c; c++)
		h = (h ^ (uint8_t)*c) * 16777619u;
	return (h ^ h >> 16 ^ r->why.id) % KINDS;
}

/* Is it the first failure of its kind? Flushed work requests of a program that ends a connection are no failure. */
static bool explain_first(const struct why_rec *r)
{
	uint32_t kind = explain_hash(r);
	uint64_t bit = 1ull << kind % 64, *word = &told[kind / 64], old;

	if (r->why.id == WHY_FLUSH_MODIFY)
		return false;
	do {
		old = READ_ONCE(*word);
		if (old & bit)
			return false;
	} while (!atomic_cmpxchg(word, old, old | bit));
	return true;
}

/* The stack of the call that has failed. In the progress thread it says nothing about the program. */
static void explain_stack(void)
{
	void *frame[FRAMES];
	int n;

	if (engine.started && pthread_equal(engine.thread, pthread_self()))
		return;
	n = backtrace(frame, FRAMES);
	if (n > OWN_FRAMES)
		backtrace_symbols_fd(frame + OWN_FRAMES, n - OWN_FRAMES, STDERR);
}

static void explain_tell(const struct why_rec *r)
{
	char name[WHY_NAME_LEN], text[512];

	why_name(r->why.id, name);
	why_text(&r->why, text, sizeof(text));
	explain_write("ruse: ");
	explain_write(name);
	explain_write(": ");
	if (*r->call) {
		explain_write(r->call);
		explain_write(": ");
	}
	explain_write(text);
	explain_write("; `ruse explain ");
	explain_write(name);
	explain_write("` says more\n");
	explain_stack();
}

void explain_failed(struct rdev *dev, const struct why_rec *r)
{
	struct why_rec rec = *r;

	rec.last = engine_now();
	rec.dev = dev ? dev->index : 0;
	if (!engine.why_log || !why_log_put(engine.why_log, &rec))
		return;
	if (engine.explain && explain_first(&rec))
		explain_tell(&rec);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/sys.h"
#include "engine/engine_internal.h"
#include "engine/explain.h"
#include "engine/python.h"
#include "ipc/why_log.h"

#define STDERR 2
#define FRAMES EXPLAIN_FRAMES
#define PYTHON_LINE 256u
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

/* Is it the first failure of its kind? What happens when a program ends a connection is none. */
static bool explain_first(const struct why_rec *r)
{
	uint32_t kind = explain_hash(r);
	uint64_t bit = 1ull << kind % 64, *word = &told[kind / 64], old;

	if (why_orderly(r))
		return false;
	do {
		old = READ_ONCE(*word);
		if (old & bit)
			return false;
	} while (!atomic_cmpxchg(word, old, old | bit));
	return true;
}

/* The code of this library (linker symbols). */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _etext[] __attribute__((visibility("hidden")));

bool explain_own_frame(const void *frame)
{
	return (uintptr_t)frame >= (uintptr_t)__ehdr_start &&
	       (uintptr_t)frame < (uintptr_t)_etext;
}

/*
 * The libraries between the program and ruse, sanitizers that intercept ioctl() among them. Their frames say nothing about
 * the program.
 */
static bool explain_between(const char *file)
{
	static const char *const libraries[] = { "libibverbs.so", "librdmacm.so", "libasan.so",
						 "libtsan.so", "libubsan.so" };
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;

	for (uint32_t i = 0; i < ARRAY_SIZE(libraries); i++)
		if (!strncmp(name, libraries[i], strlen(libraries[i])))
			return true;
	return strstr(name, "-rdmav");
}

/* The file of a frame and the frame's offset, as addresses of the file have it. False: it is not known. */
static bool explain_frame(void *frame, char *file, size_t size, uint64_t *offset)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1(frame, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return false;
	*offset = (uintptr_t)frame - map->l_addr;
	if (!*map->l_name) {	/* the program itself */
		ssize_t n = sys_call(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", file, size - 1);

		file[max(n, (ssize_t)0)] = '\0';
		return n > 0;
	}
	return (size_t)snprintf(file, size, "%s", map->l_name) < size;
}

/* A stack while it is taken: what is written to stderr, and to the log. */
struct explain_stack {
	void *frame[FRAMES];	/* those that are told */
	int frames;
	int before;		/* how many of them are before the lines of a Python program; -1: it has none */
	char python[PYTHON_SIZE];
	char text[WHY_STACK_SIZE];	/* as of struct why_stack */
	size_t len;
};

/* Adds lines of Python, which are in s->python. They stand in the place of the interpreter's frames. */
static void explain_python(struct explain_stack *s)
{
	char line[PYTHON_LINE], *file, *number, *function, *next = s->python, *end;

	s->before = s->frames;
	for (; (end = strchr(next, '\n')); next = end + 1) {
		size_t n = (size_t)(end - next);

		if (n >= sizeof(line))
			continue;
		memcpy(line, next, n);
		line[n] = '\0';
		if (python_parse(line, &file, &number, &function) &&
		    s->len + n + 4 < sizeof(s->text))
			s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len,
						   "\t%s\t%s\t%s\n", file, number, function);
	}
}

static void explain_add(struct explain_stack *s, void *frame)
{
	char file[256];
	uint64_t at;
	bool known;

	if (explain_own_frame(frame))
		return;
	if (python_is_frame(frame)) {
		if (s->before < 0)
			explain_python(s);
		return;
	}
	known = explain_frame(frame, file, sizeof(file), &at);
	if (known && explain_between(file))
		return;
	s->frame[s->frames++] = frame;
	if (known && s->len + strlen(file) + 24 < sizeof(s->text))
		s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len, "%s %llx\n",
					   file, (unsigned long long)at);
}

static void explain_write_stack(const struct explain_stack *s)
{
	int before = max(s->before, 0);

	if (before)
		backtrace_symbols_fd(s->frame, before, STDERR);
	if (s->before >= 0)
		explain_write(s->python);
	if (s->frames > before)
		backtrace_symbols_fd(s->frame + before, s->frames - before, STDERR);
}

/*
 * The stack of the call that has failed, without the frames of ruse and librdmacm or libibverbs: to stderr, and with the
 * record r to the log, for `ruse explain`. In the progress thread it says nothing about the program.
 */
static void explain_stack(const struct why_rec *r)
{
	struct explain_stack s = { .before = -1 };
	int n, saved = errno, cancel;
	void *frame[FRAMES];

	if (engine.started && pthread_equal(engine.thread, pthread_self()))
		return;
	/* write() of libc ends a thread that was cancelled. The caller may hold the engine lock. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	n = backtrace(frame, FRAMES);
	python_lines(s.python, sizeof(s.python));
	for (int i = 0; i < n; i++)
		explain_add(&s, frame[i]);
	explain_write_stack(&s);
	if (s.len && r)
		why_log_put_stack(engine.why_log, r, s.text);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

/* A stack that was taken earlier. */
static void explain_add_stored(struct explain_stack *s, const struct explain_frames *frames)
{
	if (frames->python)
		strncpy(s->python, frames->python, sizeof(s->python) - 1);
	for (uint32_t i = 0; i < frames->n; i++)
		explain_add(s, frames->frame[i]);
	explain_write_stack(s);
}

/* One write, and with the PID: several processes may write the same to one terminal. */
static void explain_tell(const struct why_rec *r)
{
	char name[WHY_NAME_LEN], text[512], line[640];

	why_name(r->why.id, name);
	why_text(&r->why, text, sizeof(text));
	snprintf(line, sizeof(line), "ruse: pid %ld: %s: %s%s%s; `ruse explain %s` says more\n",
		 sys_call(SYS_getpid), name, r->call, *r->call ? ": " : "", text, name);
	explain_write(line);
}

void explain_first_told(const struct why_rec *r)
{
	if (engine.explain && explain_first(r)) {
		explain_tell(r);
		explain_stack(NULL);
	}
}

void explain_failed(struct rdev *dev, const struct why_rec *r)
{
	struct why_rec rec = *r;
	bool added;

	rec.last = engine_now();
	rec.dev = dev ? dev->index : 0;
	if (!engine.why_log)
		return;
	added = why_log_put(engine.why_log, &rec);
	if (!drops_add(dev, &rec) && added && engine.explain && explain_first(&rec)) {
		explain_tell(&rec);
		explain_stack(&rec);
	}
}

void explain_found(struct rdev *dev, const struct why_rec *r, const struct explain_frames *posted,
		   const struct explain_frames *ended)
{
	struct explain_stack s = { .before = -1 }, e = { .before = -1 };
	struct why_rec rec = *r;
	int saved = errno, cancel;

	rec.last = engine_now();
	rec.dev = dev ? dev->index : 0;
	if (!engine.why_log)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	explain_tell(&rec);
	if (posted) {
		explain_write("at:\n");
		explain_add_stored(&s, posted);
	}
	if (ended) {
		explain_write("ended at:\n");
		explain_add_stored(&e, ended);
	}
	if (why_log_put(engine.why_log, &rec) && s.len)
		why_log_put_stack(engine.why_log, &rec, s.text);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a program sees of its memory, printed: see harmless.c. A case prints nothing that differs from run to run
 * (addresses, times, process IDs), so that its lines with ruse can be compared with those without.
 */
#ifndef TESTS_HARMLESS_H
#define TESTS_HARMLESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PG ((size_t)4096)
#define MB ((size_t)1 << 20)
#define RW (PROT_READ | PROT_WRITE)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)

/* Where memory comes from. BY_ALIGNED is the kind that programs register: posix_memalign() with a page's alignment. */
enum source { BY_MALLOC, BY_MMAP, BY_ALIGNED, SOURCES };
extern const char *const sources[SOURCES];

/* Does this process hold an open device and regions on memory of BY_ALIGNED? */
extern bool has_device;
/*
 * In a case whose name ends in -loaded, which runs without a device, or in -protected, which runs where no memory is
 * shared. Beside a device, aligned memory is shared, and the case of the same name leaves it out (doc/deviations.md).
 */
extern bool has_all;
/* The number of sources to look at. */
#define SEEN ((enum source)(has_all ? SOURCES : BY_ALIGNED))

/* Prints a line. Async-signal-safe; for short lines. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Memory that may be used; NULL and errno on failure. */
void *h_get(enum source from, size_t len);
void h_put(enum source from, void *p, size_t len);
/* The same, filled with `v`; dies on failure. */
uint8_t *h_filled(enum source from, size_t len, uint8_t v);
/* The first page that begins in the block. */
static inline uint8_t *h_page(void *p)
{
	return (uint8_t *)(((uintptr_t)p + PG - 1) & ~(PG - 1));
}
/* Is each byte of it v? */
bool h_holds(const uint8_t *p, uint8_t v, size_t len);
/* How the child has ended: its status, or 1000 + the signal that has killed it. */
int h_ended(pid_t pid);
/* Runs fn(arg) in a child of fork() and returns how it ended; fn's result is the child's status. */
int h_in_child(int (*fn)(void *), void *arg);
/* A child that ends with its parent; as fork(). */
pid_t h_fork_bound(void);
/* For one or two seconds from its first call on: where the machine is busy, a case ends after fewer rounds. */
bool h_has_time(void);
/* False: a device is open, and a command on it fails. */
bool h_device_works(void);
/* The number in the line of a file of /proc/self that starts with this name; -1: no such line. */
long h_proc(const char *file, const char *name);

struct hcase {
	const char *name;
	void (*run)(void);
};
extern const struct hcase memory_cases[], signal_cases[], fork_cases[], limit_cases[], leak_cases[],
	corner_cases[], sigmask_cases[], sigaction_cases[],
	sigcontext_cases[], aligned_cases[], userfault_cases[];

#endif

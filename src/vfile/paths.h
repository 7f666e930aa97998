/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The paths that libruse.so redirects, and their targets (RUN: the run directory):
 *
 *   /dev/infiniband and below            RUN/dev/infiniband...; uverbsN, umadN, issmN and rdma_cm
 *                                        are devices
 *   /dev/char/231:N                      the same device by its number
 *   /sys/class/infiniband* and below     RUN/sys/class/...
 *   /sys/class/misc/rdma_cm and below    RUN/sys/class/...
 *   /sys/devices/virtual/infiniband*     RUN/sys/devices/virtual/...
 *   /sys/devices/virtual/misc/rdma_cm    RUN/sys/devices/virtual/...
 *   /sys/dev/char/231:N and below        RUN/sys/dev/char/...
 *
 * All other paths, such as /sys/class/net, are the machine's. Paths are normalised lexically
 * ("//", "/./", "/../"). Only absolute paths are redirected, those of chdir() and opendir()
 * too: a program that has entered a redirected directory is below RUN, where a relative path
 * needs no redirection.
 *
 * Not supported: a relative path that begins in a directory of the machine (chdir("/sys"),
 * then "class/infiniband"), a walk by fts_open(), the devices that a network interface or a PCI
 * device of the machine has in sysfs (/sys/class/net/IF/device/infiniband), and an absolute path
 * that reaches /sys or /dev through another top-level directory ("/proc/../sys/..."). The latter
 * limit lets the fast test look at two bytes only.
 */
#ifndef RUSE_VFILE_PATHS_H
#define RUSE_VFILE_PATHS_H

#include "base/devnum.h"
#include "base/util.h"

enum path_kind {
	PATH_NOT_OURS,
	PATH_TREE,	/* file or directory in RUN */
	PATH_UVERBS,	/* character device uverbsN; minor is set */
	PATH_UCMA,	/* character device rdma_cm */
	PATH_UMAD,	/* character device umadN or issmN; minor is set */
};

struct path_ref {
	enum path_kind kind;
	uint32_t minor;
	/* Path below RUN with leading slash: "/sys/class/infiniband/rxe_0", "/dev/infiniband". */
	char tail[384];
};

#if defined(__x86_64__)
#define PATHS_END (1ull << 56)	/* of a program's addresses */
#else
#define PATHS_END ~0ull	/* the highest byte may be a tag */
#endif

/*
 * False for NULL, the first 64 KiB and the kernel's half, where a program has no memory: the kernel answers EFAULT. The
 * compiler must not take from a declaration of libc that p is not NULL.
 */
static inline bool paths_readable(const char *p)
{
	uintptr_t at = (uintptr_t)p;

	__asm__("" : "+r"(at));
	return at >= 0x10000 && at < PATHS_END && !(at >> 55 & 1);
}

/* Fast test before paths_find(). False: paths_find() would return PATH_NOT_OURS. p may be NULL. */
static inline bool paths_maybe(const char *p)
{
	return p && paths_readable(p) && p[0] == '/' &&
	       (p[1] == 's' || p[1] == 'd' || p[1] == '/' || p[1] == '.');
}

/* Classifies a path and sets *ref. A path too long for tail is PATH_NOT_OURS. */
enum path_kind paths_find(const char *path, struct path_ref *ref);

/*
 * Writes the redirected path of a reference, other than PATH_NOT_OURS, to buf. sysroot: RUN/sys.
 * 0; -ENAMETOOLONG; -EINVAL: sysroot does not end in /sys.
 */
int paths_rewrite(const struct path_ref *ref, const char *sysroot, char *buf, size_t size);

#endif

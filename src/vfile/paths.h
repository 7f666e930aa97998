/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which paths are ours:
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
 * Everything else, /sys/class/net above all, is the machine's. Absolute paths
 * only: a relative path whose directory lies under RUN is a real path already,
 * and nobody changes his directory to /sys to open a device. A path is
 * understood lexically ("//", "/./", "/../"), but one that leaves another
 * top-level directory by ".." ("/proc/../sys/...") is not looked at, so that
 * the test costs a program that has nothing to do with us a byte or two.
 */
#ifndef RUSE_VFILE_PATHS_H
#define RUSE_VFILE_PATHS_H

#include "base/util.h"

/* Numbers of the kernel's fixed uverbs devices (drivers/infiniband/core/uverbs_main.c). */
#define UVERBS_MAJOR 231
#define UVERBS_BASE_MINOR 192
/* umadN is N, issmN 64 + N (drivers/infiniband/core/user_mad.c), of the same major. */
#define ISSM_BASE_MINOR 64
#define UMAD_END_MINOR 128
/* rdma_cm is a misc device with whatever minor is free; this is the one that Linux 6.1 mostly gives. */
#define RDMA_CM_MAJOR 10
#define RDMA_CM_MINOR 124

enum path_kind {
	PATH_NOT_OURS,
	PATH_TREE,	/* in RUN: rewrite it */
	PATH_UVERBS,	/* a character device of ours: minor is set */
	PATH_UCMA,	/* the character device rdma_cm */
	PATH_UMAD,	/* umadN or issmN: minor is set */
};

struct path_ref {
	enum path_kind kind;
	uint32_t minor;
	/* Below RUN, with the leading slash: "/sys/class/infiniband/rxe_0", "/dev/infiniband". */
	char tail[384];
};

/* Cheap: may paths_find() say yes? NULL may be asked. */
static inline bool paths_maybe(const char *p)
{
	return p && p[0] == '/' && (p[1] == 's' || p[1] == 'd' || p[1] == '/' || p[1] == '.');
}

/* Longer paths than tail has room for are not ours. Sets *ref. */
enum path_kind paths_find(const char *path, struct path_ref *ref);

/*
 * The path to use for a reference of kind TREE, UVERBS, UCMA or UMAD. sysroot is RUN/sys. 0,
 * -ENAMETOOLONG, or -EINVAL for another root.
 */
int paths_rewrite(const struct path_ref *ref, const char *sysroot, char *buf, size_t size);

#endif

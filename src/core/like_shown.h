/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What rused shows of devices that are like an adapter: names of counters, and texts of the identity. like/shown.h reads it
 * from the adapter's file; by default it is as in kernel rxe.
 */
#ifndef RUSE_CORE_LIKE_SHOWN_H
#define RUSE_CORE_LIKE_SHOWN_H

#include <stdint.h>

#define LIKE_TEXT 60		/* bytes of a text with its NUL, at most */
#define LIKE_MAX_SHOWN 96	/* counters of a kind; tools/like checks the files */

/* The directories of a port with counters. */
enum like_dir { LIKE_HW_COUNTERS, LIKE_COUNTERS, LIKE_DIRS };

struct like_counter;	/* like/shown.h: from which facts its value comes */

struct like_shown {
	struct {
		uint32_t n;	/* 0: there is no such directory */
		const char *name[LIKE_MAX_SHOWN];
		const struct like_counter *of[LIKE_MAX_SHOWN];
	} dir[LIKE_DIRS];
	/* Texts of the files in sysfs; "": as in rxe. */
	char fw_ver[LIKE_TEXT], hw_rev[LIKE_TEXT], board_id[LIKE_TEXT], hca_type[LIKE_TEXT],
		node_desc[LIKE_TEXT];
	char device[LIKE_TEXT];	/* names of devices are this and a number; "": as in rxe */
};

#endif

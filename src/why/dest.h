/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The reason for which an address vector to an impossible destination is refused (wire/dest.h). */
#ifndef RUSE_WHY_DEST_H
#define RUSE_WHY_DEST_H

#include "why/why.h"

struct why_dest {
	const uint8_t *sgid, *dgid;	/* source and destination, 16 bytes each */
	uint32_t index;			/* of the source in the GID table */
	bool unset;			/* the destination is :: or ::ffff:0.0.0.0 */
	bool fits;			/* the GID table has a source for this destination */
	uint32_t fit;			/* its index */
};
/* Sets DEST_UNSET, DEST_NO_FAMILY or DEST_FAMILY. */
void why_dest(struct why *w, const struct why_dest *d);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What peers' WRITEs and atomics, and the program's own READs and receives put into memory is no change by the program. Every
 * such placement is appended to a log, which is read only when bytes were found to differ.
 */
#include "base/pool.h"
#include "check/check_internal.h"

#define PLACES 65536u	/* power of two */

static struct check_place {
	const uint8_t *addr;
	size_t len;
} *places;
static uint64_t places_next;

bool check_place_begin(void)
{
	if (!places)
		places = pool_alloc(PLACES * sizeof(*places));
	return places;
}

uint64_t check_place_next(void)
{
	return places_next;
}

void check_place_add(const void *addr, size_t len)
{
	places[places_next % PLACES].addr = addr;
	places[places_next % PLACES].len = len;
	places_next++;
}

const uint8_t *check_place_covers(uint64_t since, const uint8_t *addr)
{
	if (places_next - since > PLACES)
		return (const uint8_t *)UINTPTR_MAX;
	for (; since != places_next; since++) {
		const uint8_t *start = places[since % PLACES].addr;

		if (addr >= start && (size_t)(addr - start) < places[since % PLACES].len)
			return start + places[since % PLACES].len;
	}
	return addr;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes topology files: an accepted file must print, and the printed text must be read as the
 * same topology.
 */
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "fabric/topo.h"
#include "fuzz.h"

static char *print(const struct topo *t, size_t *len)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, len);

	if (!f || topo_print(t, f) || fclose(f))
		abort();
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct topo t, again;
	struct topo_err err;
	size_t na, nb;
	char *a, *b;

	topo_init(&t);
	if (!topo_parse(&t, (const char *)data, size, &err)) {
		topo_init(&again);
		a = print(&t, &na);
		BUG_ON(topo_parse(&again, a, na, &err));
		b = print(&again, &nb);
		BUG_ON(na != nb || memcmp(a, b, na) != 0);
		free(a);
		free(b);
		topo_fini(&again);
	}
	topo_fini(&t);
	return 0;
}

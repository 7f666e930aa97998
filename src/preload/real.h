/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The real functions behind the interposed names: the next definition in the search order, which
 * need not be libc's (sanitizers and librspreload.so wrap the same names).
 */
#ifndef RUSE_PRELOAD_REAL_H
#define RUSE_PRELOAD_REAL_H

#include "base/util.h"
#include "preload/real_funcs.h"

/* Marks the functions that the version script exports. */
#define HOOK __attribute__((visibility("default")))

/* For functions that a sanitizer's runtime calls before it is set up. */
#define NOT_SANITIZED                                                          \
	__attribute__((no_sanitize_address, no_sanitize_undefined, no_sanitize_thread))

struct real {
#define X(ret, name, args) ret(*name) args;
	REAL_FUNCS(X)
#undef X
};

extern struct real real;

/*
 * Looks up all functions. Called by the constructor, or by earlier calls from other constructors.
 */
void real_resolve(void);
/* True if the program's calls of this function, which this library interposes, come here, and go on to libc. */
bool real_is_libcs(const char *name);
/* True if the program has loaded libibverbs. */
bool real_has_verbs(void);
/* The directory of libruse.so, without a trailing slash; "" if unknown. */
void real_library_dir(char *buf, size_t size);

#define REAL(name)                                                             \
	({                                                                     \
		if (unlikely(!real.name))                                      \
			real_resolve();                                        \
		real.name;                                                     \
	})

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The search of glibc's loader (ld.so(8)): DT_RPATH of the library that needs another and of those that have needed it,
 * unless it has DT_RUNPATH; LD_LIBRARY_PATH; its DT_RUNPATH; the cache; the default directories. A file of another machine
 * is passed over. A library is loaded once: its name is compared with the names and sonames of those before. Subdirectories
 * for processors (glibc-hwcaps) are searched only in the cache.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "cli/libs.h"

#define LIBS_CACHE_FILE "/etc/ld.so.cache"
#define LIBS_CACHE_MAGIC "glibc-ld.so.cache1.1"
#define LIBS_CACHE_MOST (32 << 20)

struct libs_cache_head {
	char magic[sizeof(LIBS_CACHE_MAGIC) - 1];
	uint32_t entries, strings, unused[5];
};

struct libs_cache_entry {
	int32_t flags;
	uint32_t key, value; /* offsets of strings from the head */
	uint32_t osversion;
	uint64_t hwcap;
};

_Static_assert(sizeof(struct libs_cache_head) == 48 && sizeof(struct libs_cache_entry) == 24,
	       "ld.so.cache of glibc");

/* The cache, with a NUL behind; NULL: it cannot be read. */
static const char *libs_cache(size_t *size)
{
	static char *buf;
	static size_t got;
	FILE *f = buf ? NULL : fopen(LIBS_CACHE_FILE, "re");
	struct stat st;

	if (f && !fstat(fileno(f), &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_size <= LIBS_CACHE_MOST) {
		buf = malloc((size_t)st.st_size + 1);
		got = buf ? fread(buf, 1, (size_t)st.st_size, f) : 0;
		if (buf)
			buf[got] = '\0';
	}
	if (f)
		fclose(f);
	*size = got;
	return buf;
}

/* The directory of this program's libc, without /usr: "/lib/x86_64-linux-gnu". It is $LIB of the loader. */
static const char *libs_libc_dir(void)
{
	static char dir[PATH_MAX];
	struct link_map *map;
	void *libc = *dir ? NULL : dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);

	if (libc && !dlinfo(libc, RTLD_DI_LINKMAP, &map) && strrchr(map->l_name, '/')) {
		const char *name = map->l_name + (strncmp(map->l_name, "/usr/", 5) ? 0 : 4);

		snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(name, '/') - name), name);
	}
	if (libc)
		dlclose(libc);
	return *dir ? dir : "/lib";
}

bool libs_default_dir(size_t i, const char *sub, char *dir)
{
	static const char *const roots[] = { "", "/usr" }, *const dirs[] = { "/lib", "/lib64" };

	if (i >= 2 * (1 + ARRAY_SIZE(dirs)))
		return false;
	return snprintf(dir, PATH_MAX, "%s%s%s", roots[i % 2],
			i < 2 ? libs_libc_dir() : dirs[i / 2 - 1], sub) < PATH_MAX;
}

/* Takes path if it is a library for the program. A copy of path, or NULL. */
static char *libs_try(struct libs *l, const char *path, struct binary *bin)
{
	*bin = (struct binary){ 0 };
	if (l->tries++ < LIBS_TRIES && !binary_read(path, bin) &&
	    (!l->n || binary_same_machine(&l->lib[0].bin, bin)))
		return strdup(path);
	binary_free(bin);
	return NULL;
}

static char *libs_from_cache(struct libs *l, const char *name, struct binary *bin)
{
	size_t size;
	const char *buf = libs_cache(&size),
		   *head = buf ? memmem(buf, size, LIBS_CACHE_MAGIC, sizeof(LIBS_CACHE_MAGIC) - 1) :
				 NULL;
	size_t room = head ? size - (size_t)(head - buf) : 0;
	struct libs_cache_head h;
	struct libs_cache_entry e;
	char *found = NULL;

	if (room < sizeof(h))
		return NULL;
	memcpy(&h, head, sizeof(h));
	for (uint32_t i = 0; !found && i < h.entries && sizeof(h) + (i + 1ULL) * sizeof(e) <= room;
	     i++) {
		memcpy(&e, head + sizeof(h) + i * sizeof(e), sizeof(e));
		if (!e.hwcap && e.key < room && e.value < room && !strcmp(head + e.key, name))
			found = libs_try(l, head + e.value, bin);
	}
	return found;
}

/* The directory of a file, without symbolic links, as $ORIGIN. */
static bool libs_origin(const char *path, char *dir)
{
	char *slash;

	if (!path || !realpath(path, dir))
		return false;
	slash = strrchr(dir, '/');
	slash[slash == dir] = '\0';
	return true;
}

/* Replaces $ORIGIN, $LIB and $PLATFORM in the len bytes at p. False: too long. out has PATH_MAX bytes. */
static bool libs_expand(const char *p, size_t len, const char *file, char *out)
{
	static const char *const names[] = { "ORIGIN", "LIB", "PLATFORM" };
	const char *platform = (const char *)getauxval(AT_PLATFORM);
	char origin[PATH_MAX];
	const char *text;
	size_t at = 0, n, k;

	while (len) {
		bool brace = p[0] == '$' && len > 1 && p[1] == '{';
		const char *word = p + 1 + brace;
		size_t rest = len > 1U + brace ? len - 1 - brace : 0;

		for (k = 0; *p == '$' && k < ARRAY_SIZE(names); k++) {
			n = strlen(names[k]);
			if (rest >= n + brace && !strncmp(word, names[k], n) &&
			    (!brace || word[n] == '}'))
				break;
		}
		if (*p != '$' || k == ARRAY_SIZE(names)) {
			if (at + 1 >= PATH_MAX)
				return false;
			out[at++] = *p++;
			len--;
			continue;
		}
		if (k == 0 && !libs_origin(file, origin))
			return false;
		text = k == 0 ? origin : k == 1 ? libs_libc_dir() + 1 : platform ? platform : "";
		n = strlen(text);
		if (at + n >= PATH_MAX)
			return false;
		memcpy(out + at, text, n);
		at += n;
		n = 1 + brace + strlen(names[k]) + brace;
		p += n;
		len -= n;
	}
	out[at] = '\0';
	return true;
}

/* Searches the directories of a list, separated by colons or, in LD_LIBRARY_PATH, semicolons. An empty one is ".". */
static char *libs_in_list(struct libs *l, const char *list, const char *separators,
			  const char *file, const char *name, struct binary *bin)
{
	char dir[PATH_MAX], path[2 * PATH_MAX];
	char *found = NULL;
	size_t len;

	for (const char *p = list; p && !found; p = p[len] ? p + len + 1 : NULL) {
		len = strcspn(p, separators);
		if (libs_expand(p, len, file, dir) &&
		    snprintf(path, sizeof(path), "%s/%s", *dir ? dir : ".", name) < PATH_MAX)
			found = libs_try(l, path, bin);
	}
	return found;
}

static char *libs_by_rpath(struct libs *l, int from, const char *name, struct binary *bin)
{
	char *found = NULL;
	bool main = false;

	if (from < 0 || l->lib[from].bin.runpath)
		return NULL;
	for (int i = from; i >= 0 && !found; i = l->lib[i].parent) {
		main |= !i;
		if (l->lib[i].bin.rpath)
			found = libs_in_list(l, l->lib[i].bin.rpath, ":", l->lib[i].path, name,
					     bin);
	}
	if (!found && !main && l->lib[0].bin.rpath)
		found = libs_in_list(l, l->lib[0].bin.rpath, ":", l->lib[0].path, name, bin);
	return found;
}

char *libs_find(struct libs *l, int from, const char *name, struct binary *bin)
{
	const char *env = getenv("LD_LIBRARY_PATH");
	char path[PATH_MAX], *found;

	*bin = (struct binary){ 0 };
	if (strchr(name, '/'))
		return libs_expand(name, strlen(name), from >= 0 ? l->lib[from].path : NULL, path) ?
			       libs_try(l, path, bin) :
			       NULL;
	found = libs_by_rpath(l, from, name, bin);
	if (!found && env && *env)
		found = libs_in_list(l, env, ":;", l->n ? l->lib[0].path : NULL, name, bin);
	if (!found && from >= 0 && l->lib[from].bin.runpath)
		found = libs_in_list(l, l->lib[from].bin.runpath, ":", l->lib[from].path, name,
				     bin);
	if (found || (from >= 0 && l->lib[from].bin.no_default))
		return found;
	found = libs_from_cache(l, name, bin);
	for (size_t i = 0; !found && libs_default_dir(i, "/", path); i++)
		if (strlen(path) + strlen(name) < sizeof(path)) {
			strcat(path, name);
			found = libs_try(l, path, bin);
		}
	return found;
}

int libs_loaded(const struct libs *l, const char *path)
{
	struct stat a, b;

	if (!path || stat(path, &a))
		return -1;
	for (size_t i = 0; i < l->n; i++)
		if (l->lib[i].path && !stat(l->lib[i].path, &b) && a.st_dev == b.st_dev &&
		    a.st_ino == b.st_ino)
			return (int)i;
	return -1;
}

/* The index of a loaded library of this name, -1: none. */
static int libs_named(const struct libs *l, const char *name)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->lib[i].name, name) ||
		    (l->lib[i].bin.soname && !strcmp(l->lib[i].bin.soname, name)))
			return (int)i;
	return -1;
}

static void libs_add(struct libs *l, int from, const char *name)
{
	struct lib *lib = &l->lib[l->n];
	struct binary bin = { 0 };
	int there = libs_named(l, name);
	char *path = NULL;

	if (l->n == LIBS_MAX)
		return;
	if (there < 0) {
		path = libs_find(l, from, name, &bin);
		there = libs_loaded(l, path);
	}
	if (there < 0) {
		*lib = (struct lib){ .name = strdup(name),
				     .path = path,
				     .parent = from,
				     .bin = bin,
				     .global = from < 0 || l->lib[from].global };
		if (lib->name) {
			l->n++;
			return;
		}
	} else {
		l->lib[there].global |= from < 0;
	}
	binary_free(&bin);
	free(path);
}

static void libs_preloaded(struct libs *l)
{
	const char *env = getenv("LD_PRELOAD");
	char *copy = env ? strdup(env) : NULL, *at = copy, *word;

	while (at && (word = strsep(&at, " :")))
		if (*word)
			libs_add(l, -1, word);
	free(copy);
}

struct libs *libs_load(const char *path, struct binary *bin)
{
	struct libs *l = calloc(1, sizeof(*l));

	if (!l) {
		binary_free(bin);
		return NULL;
	}
	l->lib[0] = (struct lib){ .name = strdup(path),
				  .path = strdup(path),
				  .parent = -1,
				  .bin = *bin,
				  .global = bin->executable };
	*bin = (struct binary){ 0 };
	l->n = 1;
	if (!l->lib[0].name || !l->lib[0].path) {
		libs_free(l);
		return NULL;
	}
	libs_preloaded(l);
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < l->lib[i].bin.needed_n; k++)
			libs_add(l, (int)i, l->lib[i].bin.needed[k]);
	return l;
}

void libs_free(struct libs *l)
{
	for (size_t i = 0; l && i < l->n; i++) {
		binary_free(&l->lib[i].bin);
		free(l->lib[i].name);
		free(l->lib[i].path);
	}
	free(l);
}

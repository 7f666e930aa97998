/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prints the names of devices that libc's functions find, one a line behind the function's name, for real-devices.sh.
 * The names are those that follow /sys/class/infiniband/.
 */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIR_NAME "/sys/class/infiniband"

static const char *walk_name;
static int walk_inner;

static void walk_tell(const char *function, const char *path)
{
	if (!strncmp(path, DIR_NAME "/", sizeof(DIR_NAME)))
		printf("%s %s\n", function, path + sizeof(DIR_NAME));
	else
		printf("%s another path: %s\n", function, path);
}

static int walk_count(const char *path, const struct stat *st, int kind)
{
	(void)st;
	(void)kind;
	walk_inner += !strncmp(path, "/proc/self/attr", 15);
	return 0;
}

/* A walk within a walk must not disturb the outer one. */
static int walk_nftw(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	if (at->level == 1) {
		ftw("/proc/self/attr", walk_count, 4);
		if (strcmp(path + at->base, strrchr(path, '/') + 1))
			printf("%s base %d of %s\n", walk_name, at->base, path);
		walk_tell(walk_name, path);
	}
	return at->level == 0 || at->level == 1 ? 0 : 7;
}

static int walk_nftw64(const char *path, const struct stat64 *st, int kind, struct FTW *at)
{
	return walk_nftw(path, (const struct stat *)(const void *)st, kind, at);
}

static int walk_ftw(const char *path, const struct stat *st, int kind)
{
	(void)st;
	(void)kind;
	if (strcmp(path, DIR_NAME)) {
		walk_tell("ftw", path);
		return 1;	/* the first is enough */
	}
	return 0;
}

static int walk_ftw64(const char *path, const struct stat64 *st, int kind)
{
	return walk_ftw(path, (const struct stat *)(const void *)st, kind);
}

static void walk_glob(const char *pattern, size_t behind)
{
	glob_t g = { 0 };
	glob64_t g64 = { 0 };

	if (!glob(pattern, GLOB_NOSORT, NULL, &g))
		for (size_t i = 0; i < g.gl_pathc; i++) {
			g.gl_pathv[i][strlen(g.gl_pathv[i]) - behind] = '\0';
			walk_tell("glob", g.gl_pathv[i]);
		}
	if (g.gl_flags & GLOB_ALTDIRFUNC)
		puts("glob changes gl_flags");
	globfree(&g);
	if (!glob64(pattern, 0, NULL, &g64))
		for (size_t i = 0; i < g64.gl_pathc; i++) {
			g64.gl_pathv[i][strlen(g64.gl_pathv[i]) - behind] = '\0';
			walk_tell("glob64", g64.gl_pathv[i]);
		}
	globfree64(&g64);
}

static void walk_entries(const char *function, struct dirent **list, int n)
{
	for (int i = 0; i < n; i++)
		if (list[i]->d_name[0] != '.')
			printf("%s %s\n", function, list[i]->d_name);
}

int main(void)
{
	struct dirent **list;
	int n;

	walk_glob(DIR_NAME "/*", 0);
	walk_glob("/sys/class/infiniban[d]/*", 0);
	walk_glob(DIR_NAME "/*/ports/1", strlen("/ports/1"));
	walk_name = "nftw";
	nftw(DIR_NAME, walk_nftw, 8, FTW_PHYS);
	nftw(DIR_NAME, walk_nftw, 8, FTW_CHDIR | FTW_PHYS);
	walk_name = "nftw64";
	nftw64(DIR_NAME, walk_nftw64, 8, FTW_PHYS);
	if (chdir("/"))
		return 1;
	ftw(DIR_NAME, walk_ftw, 8);
	ftw64(DIR_NAME, walk_ftw64, 8);
	n = scandir(DIR_NAME, &list, NULL, alphasort);
	walk_entries("scandir", list, n);
	n = scandirat(AT_FDCWD, DIR_NAME, &list, NULL, alphasort);
	walk_entries("scandirat", list, n);
	if (!walk_inner)
		puts("the inner walk finds nothing");
	return 0;
}

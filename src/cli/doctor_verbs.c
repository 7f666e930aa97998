/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The copies of libibverbs that a program uses. libibverbs reads the names of its providers in the files of its
 * configuration directory and in $RDMAV_DRIVERS, else $IBV_DRIVERS, and opens lib<name>-rdmav<ABI>.so in its provider
 * directory, else as any library. Both directories are constants of the file. The ABI is the version
 * IBVERBS_PRIVATE_<ABI>.
 *
 * A provider needs libibverbs.so.1. If the program has a libibverbs of another name, that is a second one, and the provider
 * registers with the one whose symbols the loader finds first: that of the program only if it is in the global scope, which
 * libraries of dlopen() are not.
 */
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor_program.h"

#define VERBS_SONAME "libibverbs.so.1"
#define VERBS_CONFIG_FILES 256

struct verbs {
	struct judge *j;
	struct libs *libs;
	const char *path;
	const struct binary *bin;
	char config[PATH_MAX];	  /* "": none found in the file */
	char providers[PATH_MAX]; /* the same */
	char rxe[PATH_MAX];	  /* the provider that it loads; "": none */
	bool listed;		  /* a provider rxe is configured */
};

static bool verbs_is_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strncmp(name, "libibverbs", 10) && (name[10] == '.' || name[10] == '-') &&
	       strstr(name, ".so");
}

/* True if a library is a copy of libibverbs, by its versions, or without these by its name. */
static bool verbs_is_copy(const struct lib *lib)
{
	return lib->path &&
	       (lib->bin.private_abi || verbs_is_name(lib->path) || verbs_is_name(lib->name));
}

static bool verbs_take_config(const char *s, void *arg)
{
	struct verbs *v = arg;
	size_t len = strlen(s);

	if (*s == '/' && len > 13 && !strcmp(s + len - 13, "/libibverbs.d"))
		snprintf(v->config, sizeof(v->config), "%s", s);
	return *v->config;
}

static bool verbs_take_providers(const char *s, void *arg)
{
	struct verbs *v = arg;
	const char *end = strstr(s, "/lib%s-rdmav");

	if (*s == '/' && end)
		snprintf(v->providers, sizeof(v->providers), "%.*s", (int)(end - s), s);
	return *v->providers;
}

/* Searches the file of the provider that is called name in a configuration file or variable. */
static void verbs_take_provider(struct verbs *v, const char *name)
{
	char path[PATH_MAX], file[64];
	const char *slash = strrchr(name, '/');
	struct binary bin;
	char *found;
	int n;

	if (strcmp(slash ? slash + 1 : name, slash ? "librxe" : "rxe") || *v->rxe)
		return;
	v->listed = true;
	snprintf(file, sizeof(file), "librxe-rdmav%d.so", v->bin->private_abi);
	n = slash ? snprintf(path, sizeof(path), "%s-rdmav%d.so", name, v->bin->private_abi) :
		    snprintf(path, sizeof(path), "%s/%s", v->providers, file);
	if (n >= (int)sizeof(path))
		return;
	if ((slash || *v->providers) && !access(path, R_OK)) {
		snprintf(v->rxe, sizeof(v->rxe), "%s", path);
		return;
	}
	found = slash ? NULL : libs_find(v->libs, libs_loaded(v->libs, v->path), file, &bin);
	if (found) {
		snprintf(v->rxe, sizeof(v->rxe), "%s", found);
		binary_free(&bin);
	}
	free(found);
}

static void verbs_read_config_file(struct verbs *v, const char *path)
{
	char line[PATH_MAX + 64], name[PATH_MAX];
	struct stat st;
	FILE *f;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	f = fopen(path, "re");
	for (int i = 0; f && i < VERBS_CONFIG_FILES && fgets(line, sizeof(line), f); i++)
		if (sscanf(line, " driver %4095s", name) == 1)
			verbs_take_provider(v, name);
	if (f)
		fclose(f);
}

static void verbs_find_provider(struct verbs *v)
{
	const char *env = getenv("RDMAV_DRIVERS") ?: getenv("IBV_DRIVERS");
	char *copy = env ? strdup(env) : NULL, *at = copy, *word;
	char path[2 * PATH_MAX];
	struct dirent *e;
	DIR *d;

	binary_strings(v->path, "/libibverbs.d", verbs_take_config, v);
	binary_strings(v->path, "/lib%s-rdmav", verbs_take_providers, v);
	while (at && (word = strsep(&at, ":;")))
		verbs_take_provider(v, word);
	free(copy);
	d = *v->config ? opendir(v->config) : NULL;
	for (int i = 0; d && i < VERBS_CONFIG_FILES && (e = readdir(d)); i++) {
		snprintf(path, sizeof(path), "%s/%s", v->config, e->d_name);
		verbs_read_config_file(v, path);
	}
	if (d)
		closedir(d);
}

/* The distribution's provider for an ABI (0: any). path has PATH_MAX bytes; it is without the suffix of the file. */
static bool verbs_system_provider(int abi, char *path, int *found)
{
	char dir[PATH_MAX];
	struct dirent *e;
	DIR *d;

	for (size_t i = 0; libs_default_dir(i, "/libibverbs", dir); i++) {
		*found = 0;
		d = opendir(dir);
		while (d && !*found && (e = readdir(d)))
			if (sscanf(e->d_name, "librxe-rdmav%3d.so", found) == 1 && abi &&
			    *found != abi)
				*found = 0;
		if (d)
			closedir(d);
		if (*found && snprintf(path, PATH_MAX, "%s/librxe", dir) < PATH_MAX)
			return true;
	}
	return false;
}

/* The distribution's libibverbs, for free(); NULL: not installed. */
static char *verbs_system(struct libs *l, struct binary *bin)
{
	char path[PATH_MAX];
	char *found;

	for (size_t i = 0; libs_default_dir(i, "/" VERBS_SONAME, path); i++) {
		found = libs_find(l, -1, path, bin);
		if (found)
			return found;
	}
	return NULL;
}

/* A meaning: why, and the command that helps, with these files in LD_PRELOAD and IBV_DRIVERS, unless NULL. */
static const char *verbs_meaning(struct judge *j, const char *why, const char *preload,
				 const char *drivers)
{
	char assign[3 * PATH_MAX] = "";
	const char *command = NULL;

	/* The loader and libibverbs split their lists there; nothing quotes. */
	if (preload && strpbrk(preload, " :"))
		return judge_meaning(
			j,
			"%sLD_PRELOAD cannot have its path, which contains a space or a colon: move the file",
			why);
	if (drivers && strpbrk(drivers, ":;"))
		return judge_meaning(
			j,
			"%sIBV_DRIVERS cannot have the provider's path, which contains a colon or a semicolon",
			why);
	if ((!preload || judge_assign(assign, sizeof(assign), "LD_PRELOAD", preload)) &&
	    (!drivers || judge_assign(assign, sizeof(assign), "IBV_DRIVERS", drivers)))
		command = judge_command(j, assign);
	return judge_meaning(
		j, "%s%s", why,
		command ?: "the command is too long to be told, or has bytes that are not printable");
}

/* Why no provider is loaded, and what helps. local: the copy is in a scope of its own. */
static void verbs_tell_none(struct verbs *v, bool local)
{
	struct judge *j = v->j;
	bool renamed = v->bin->soname && strcmp(v->bin->soname, VERBS_SONAME);
	struct binary bin = { 0 };
	char path[PATH_MAX];
	const char *meaning;
	char *other = verbs_system(v->libs, &bin);
	int abi;

	if (verbs_system_provider(v->bin->private_abi, path, &abi)) {
		meaning = verbs_meaning(j, "", renamed && local ? v->path : NULL, path);
	} else if (other && !renamed && libs_loaded(v->libs, other) < 0 &&
		   verbs_system_provider(bin.private_abi, path, &abi)) {
		meaning = verbs_meaning(j, "the distribution's libibverbs has one: ", other, NULL);
	} else if (verbs_system_provider(0, path, &abi)) {
		meaning = judge_meaning(
			j,
			"the distribution's provider has ABI %d: build the program for the distribution's libibverbs",
			abi);
	} else {
		meaning = "install the provider; Debian: apt-get install ibverbs-providers";
	}
	judge_tell(j, "rxe provider", CHECK_FAIL, meaning, "%.150s loads none%s%.150s (ABI %d)",
		   v->path,
		   v->listed  ? ", only configured in " :
		   *v->config ? ": no driver rxe in " :
				"",
		   v->config, v->bin->private_abi);
	binary_free(&bin);
	free(other);
}

/* True if the provider's libibverbs is the copy: by its name, or the same file. */
static bool verbs_serves(struct verbs *v)
{
	struct binary bin;
	bool same = true;
	char *path;

	if (binary_read(v->rxe, &bin))
		return false;
	for (size_t i = 0; i < bin.needed_n; i++) {
		struct binary other;
		struct stat a, b;

		if (!verbs_is_name(bin.needed[i]) ||
		    (v->bin->soname && !strcmp(bin.needed[i], v->bin->soname)))
			continue;
		path = libs_find(v->libs, -1, bin.needed[i], &other);
		same = path && !stat(path, &a) && !stat(v->path, &b) && a.st_dev == b.st_dev &&
		       a.st_ino == b.st_ino;
		if (path)
			binary_free(&other);
		free(path);
	}
	binary_free(&bin);
	return same;
}

static void verbs_judge(struct judge *j, struct libs *l, const char *path, const struct binary *bin,
			bool local)
{
	struct verbs v = { .j = j, .libs = l, .path = path, .bin = bin };

	judge_tell(j, "libibverbs", CHECK_OK,
		   j->perhaps ? "of a package that the program may import" :
		   local      ? "opened at run time, in a scope of its own" :
				"loaded with the program",
		   "%.150s, provider ABI %d", path, bin->private_abi);
	if (!bin->private_abi) {
		judge_tell(j, "rxe provider", CHECK_WARN,
			   "the file has no version IBVERBS_PRIVATE_nn: not built by rdma-core",
			   "the provider of %.150s is not known", path);
		return;
	}
	verbs_find_provider(&v);
	if (!*v.rxe) {
		verbs_tell_none(&v, local);
	} else if (local && !verbs_serves(&v)) {
		judge_tell(j, "rxe provider", CHECK_FAIL,
			   verbs_meaning(j,
					 "the provider needs " VERBS_SONAME
					 ", a second copy, and registers there: ",
					 path, NULL),
			   "%.150s does not get %.120s", path, v.rxe);
	} else {
		judge_tell(j, "rxe provider", CHECK_OK, "libibverbs loads it for ruse's devices",
			   "%.150s", v.rxe);
	}
}

void judge_verbs_file(struct judge *j, struct libs *l, const char *path)
{
	struct binary bin;

	if (libs_loaded(l, path) < 0 && !binary_read(path, &bin)) {
		if (binary_same_machine(&l->lib[0].bin, &bin))
			verbs_judge(j, l, path, &bin, true);
		binary_free(&bin);
	}
}

struct verbs_opened {
	char name[PATH_MAX];
};

/* A whole string that names a libibverbs is taken as the argument of dlopen(). */
static bool verbs_take_opened(const char *s, void *arg)
{
	struct verbs_opened *o = arg;

	for (const char *p = s; *p; p++)
		if (isspace((unsigned char)*p) || *p == '%')
			return false;
	if (verbs_is_name(s))
		snprintf(o->name, sizeof(o->name), "%s", s);
	return *o->name;
}

/* The libibverbs that a library of the program opens by dlopen(). True: one of them does. */
static bool verbs_opened(struct judge *j, struct libs *l)
{
	struct verbs_opened o = { "" };
	struct binary bin;
	char *path;

	for (size_t i = 0; i < l->n; i++) {
		if (!l->lib[i].path ||
		    !binary_strings(l->lib[i].path, "libibverbs", verbs_take_opened, &o))
			continue;
		path = libs_find(l, (int)i, o.name, &bin);
		if (path)
			verbs_judge(j, l, path, &bin, true);
		else
			judge_tell(j, "libibverbs", CHECK_WARN,
				   "Debian: apt-get install libibverbs1",
				   "%.100s, named in %.150s, is not found", o.name, l->lib[i].path);
		if (path)
			binary_free(&bin);
		free(path);
		return true;
	}
	return false;
}

void judge_verbs(struct judge *j, struct libs *l)
{
	bool any = false;

	for (size_t i = 0; i < l->n; i++)
		if (verbs_is_copy(&l->lib[i])) {
			any = true;
			verbs_judge(j, l, l->lib[i].path, &l->lib[i].bin, !l->lib[i].global);
		}
	if (!any && !j->brief && !verbs_opened(j, l))
		judge_tell(
			j, "libibverbs", CHECK_OK,
			"a library that it opens later, or a program that it starts, is not seen here",
			"the program needs none");
}

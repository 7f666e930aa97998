/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies of libibverbs in packages of Python: in NAME.libs, as auditwheel makes them, or below the package. Those of the
 * installation to which the interpreter belongs, of the virtual environment in which it is a symbolic link, of the user, and
 * of $PYTHONPATH. Extension modules load them, so a copy matters if the program imports its package. The program's text is
 * searched for that name; a package that another one imports is not found so.
 */
#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor_program.h"

#define PYTHON_COPIES 16	/* that are looked at */
#define PYTHON_TEXT (64 << 10)	/* what is read of a program */

struct python {
	struct judge *j;
	struct libs *libs;
	char *text;	/* of the program; NULL: none is known */
	struct {
		dev_t dev;
		ino_t ino;
	} seen[PYTHON_COPIES];	/* copies that are judged: several patterns and prefixes find the same */
	size_t nseen;
};

static bool python_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* True if the text has the name, of len bytes, as a word. */
static bool python_names(const char *text, const char *name, size_t len)
{
	for (const char *p = text; len && p && (p = memmem(p, strlen(p), name, len)); p++)
		if ((p == text || !python_is_word(p[-1])) && !python_is_word(p[len]))
			return true;
	return false;
}

/* The text of a program: that of -c, the name behind -m, or the file. For free(). */
static char *python_text(char **argv)
{
	char *text;
	ssize_t n;
	int fd, i;

	for (i = 1; argv[i] && *argv[i] == '-' && argv[i][1]; i++) {
		if (argv[i + 1] && strchr("cm", argv[i][strlen(argv[i]) - 1]) && argv[i][1] != '-')
			return strdup(argv[i + 1]);
		if (argv[i + 1] && (!strcmp(argv[i], "-W") || !strcmp(argv[i], "-X")))
			i++;
	}
	text = argv[i] ? malloc(PYTHON_TEXT + 1) : NULL;
	fd = text ? binary_open_file(argv[i]) : -1;
	n = fd >= 0 ? read(fd, text, PYTHON_TEXT) : -1;
	if (fd >= 0)
		close(fd);
	if (n >= 0)
		text[n] = '\0';
	else
		free(text);
	return n >= 0 ? text : NULL;
}

/* True if a copy is to be judged: for the first time, and there are not too many. */
static bool python_is_new(struct python *py, const char *path)
{
	struct stat st;

	if (py->nseen == PYTHON_COPIES || stat(path, &st))
		return false;
	for (size_t i = 0; i < py->nseen; i++)
		if (py->seen[i].dev == st.st_dev && py->seen[i].ino == st.st_ino)
			return false;
	py->seen[py->nseen].dev = st.st_dev;
	py->seen[py->nseen++].ino = st.st_ino;
	return true;
}

/* Judges the copies in the packages of one directory. */
static void python_site(struct python *py, const char *dir)
{
	static const char *const places[] = { "*.libs/libibverbs*.so*", "*/libibverbs*.so*",
					      "*/lib*/libibverbs*.so*" };
	char pattern[2 * PATH_MAX];
	glob_t g;

	for (size_t k = 0; k < ARRAY_SIZE(places); k++) {
		snprintf(pattern, sizeof(pattern), "%s/%s", dir, places[k]);
		g = (glob_t){ 0 };
		if (!glob(pattern, GLOB_NOSORT, NULL, &g))
			for (size_t i = 0; i < g.gl_pathc; i++) {
				const char *name = g.gl_pathv[i] + strlen(dir) + 1;

				if (!python_is_new(py, g.gl_pathv[i]))
					continue;
				py->j->perhaps = !py->text ||
						 !python_names(py->text, name, strcspn(name, "/."));
				judge_verbs_file(py->j, py->libs, g.gl_pathv[i]);
				py->j->perhaps = false;
			}
		globfree(&g);
	}
}

/* The same for each directory of packages below a prefix. */
static void python_prefix(struct python *py, const char *prefix)
{
	static const char *const sites[] = { "lib/python3*/site-packages",
					     "local/lib/python3*/dist-packages",
					     "lib/python3/dist-packages",
					     "lib64/python3*/site-packages" };
	char pattern[2 * PATH_MAX];
	glob_t g;

	for (size_t k = 0; !strpbrk(prefix, "*?[\\") && k < ARRAY_SIZE(sites); k++) {
		snprintf(pattern, sizeof(pattern), "%s/%s", prefix, sites[k]);
		g = (glob_t){ 0 };
		if (!glob(pattern, GLOB_ONLYDIR, NULL, &g))
			for (size_t i = 0; i < g.gl_pathc && !strpbrk(g.gl_pathv[i], "*?[\\"); i++)
				python_site(py, g.gl_pathv[i]);
		globfree(&g);
	}
}

/* PREFIX/bin/python */
static void python_installation(struct python *py, const char *path)
{
	char prefix[PATH_MAX];

	snprintf(prefix, sizeof(prefix), "%s", path);
	for (int up = 0; up < 2; up++)
		if (strrchr(prefix, '/'))
			*strrchr(prefix, '/') = '\0';
	python_prefix(py, prefix);
}

void judge_python(struct judge *j, struct libs *l, const char *path, char **argv)
{
	struct python py = { .j = j, .libs = l, .text = python_text(argv) };
	const char *list = getenv("PYTHONPATH"), *home = getenv("HOME");
	char *copy = list ? strdup(list) : NULL, *at = copy, *dir;
	char real[PATH_MAX];

	while (at && (dir = strsep(&at, ":")))
		if (*dir && strlen(dir) < PATH_MAX && !strpbrk(dir, "*?[\\"))
			python_site(&py, dir);
	free(copy);
	python_installation(&py, path);
	if (realpath(path, real) && strcmp(real, path))
		python_installation(&py, real);
	if (home && snprintf(real, sizeof(real), "%s/.local", home) < (int)sizeof(real))
		python_prefix(&py, real);
	free(py.text);
}

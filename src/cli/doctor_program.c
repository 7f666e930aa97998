/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * ruse doctor PROGRAM: follows a command to the program that uses RDMA, through programs such as sudo and timeout and the
 * first lines of scripts, and tells what keeps libruse.so or the rxe provider out of it.
 */
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor_program.h"
#include "base/printable.h"

#define JUDGE_DEPTH 8 /* wrappers and scripts that start each other */
#define JUDGE_WORDS 256
#define JUDGE_FIRST_LINE 256	/* what the kernel reads of a script */
#define JUDGE_OVERFLOW_ID 65534 /* how an owner without a number in this user namespace is shown */

static void judge_words(struct judge *j, char **argv, int depth);

void judge_tell(struct judge *j, const char *name, enum verdict v, const char *meaning,
		const char *fmt, ...)
{
	struct finding f = { .verdict = v == CHECK_FAIL && j->perhaps ? CHECK_WARN : v,
			     .meaning = meaning };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f.what, sizeof(f.what), fmt, ap);
	va_end(ap);
	printable_make(f.what);
	j->tell(j, name, &f);
}

const char *judge_meaning(struct judge *j, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(j->meaning, sizeof(j->meaning), fmt, ap);
	va_end(ap);
	printable_make(j->meaning);
	return j->meaning;
}

static bool judge_append(char *out, size_t size, const char *text)
{
	size_t at = strlen(out);

	return snprintf(out + at, size - at, "%s", text) < (int)(size - at);
}

/* Appends a word, in quotes if a shell would not take it as it is, and a space. False: it does not fit. */
static bool judge_quote(char *out, size_t size, const char *word)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
	bool quote = !*word || word[strspn(word, plain)];
	bool fits = judge_append(out, size, quote ? "'" : "");

	for (; *word && fits; word++)
		fits = judge_append(out, size, *word == '\'' ? "'\\''" : (char[]){ *word, '\0' });
	return fits && judge_append(out, size, quote ? "' " : " ");
}

bool judge_assign(char *out, size_t size, const char *name, const char *value)
{
	return judge_append(out, size, name) && judge_append(out, size, "=") &&
	       judge_quote(out, size, value);
}

const char *judge_command(const struct judge *j, const char *assignments)
{
	static char text[1500];
	bool whole = true, same;
	char *printable;

	*text = '\0';
	for (int i = 0; whole && !j->library && j->words[i]; i++) {
		if (i == j->before)
			whole = judge_append(text, sizeof(text), assignments) &&
				judge_append(text, sizeof(text), "ruse run ");
		whole = whole && judge_quote(text, sizeof(text), j->words[i]);
	}
	if (j->library)
		whole = judge_append(text, sizeof(text), assignments) &&
			judge_append(text, sizeof(text), "ruse run PROGRAM ");
	if (!whole)
		return NULL;
	text[strlen(text) - 1] = '\0'; /* the space at the end */
	printable = printable_copy(text);
	same = printable && !strcmp(printable, text);
	free(printable);
	return same ? text : NULL;
}

/* The file that execvp() would execute. -EACCES: it may not be executed. path has PATH_MAX bytes. */
static int judge_find(const char *name, char *path)
{
	const char *list = getenv("PATH") ?: "/bin:/usr/bin";
	int rc = -ENOENT;
	struct stat st;
	size_t len;

	if (strchr(name, '/'))
		return !realpath(name, path)			       ? -errno :
		       snprintf(path, PATH_MAX, "%s", name) < PATH_MAX ? 0 :
									 -ENAMETOOLONG;
	for (const char *p = list; p; p = p[len] ? p + len + 1 : NULL) {
		len = strcspn(p, ":");
		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)len, p, len ? "/" : "./", name) >=
			    PATH_MAX ||
		    stat(path, &st) || !S_ISREG(st.st_mode))
			continue;
		if (!access(path, X_OK))
			return 0;
		rc = -EACCES;
	}
	snprintf(path, PATH_MAX, "%s", name);
	return rc;
}

/* True if the file gives capabilities to a caller other than root, so that the loader is in secure mode. */
static bool judge_has_caps(const char *path)
{
	struct vfs_ns_cap_data cap;
	ssize_t n = getxattr(path, "security.capability", &cap, sizeof(cap));

	/* Another length is that of a version that the kernel does not know, or of another user namespace. */
	if (n != XATTR_CAPS_SZ_2 || !geteuid() || !getuid())
		return false;
	return cap.magic_etc & VFS_CAP_FLAGS_EFFECTIVE || cap.data[0].permitted ||
	       cap.data[1].permitted;
}

/* Why the loader ignores LD_PRELOAD for this file (AT_SECURE), NULL: it does not. */
static const char *judge_secure(const char *path, const struct stat *st)
{
	struct statvfs fs;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	    (!statvfs(path, &fs) && fs.f_flag & ST_NOSUID))
		return NULL;
	if (st->st_mode & S_ISUID && st->st_uid != getuid() && st->st_uid != JUDGE_OVERFLOW_ID)
		return "set-user-ID";
	if ((st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st->st_gid != getgid() &&
	    st->st_gid != JUDGE_OVERFLOW_ID)
		return "set-group-ID";
	return judge_has_caps(path) ? "with file capabilities" : NULL;
}

static const char *judge_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool judge_is_shell(const char *path)
{
	static const char *const names[] = { "sh", "bash", "dash", "ksh", "zsh" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(judge_base(path), names[i]))
			return true;
	return false;
}

/* The script, or the text of -c, that a shell executes. */
static void judge_shell_args(struct judge *j, char **argv)
{
	bool text = false;
	int i;

	for (i = 1; argv[i] && (*argv[i] == '-' || *argv[i] == '+'); i++) {
		text |= argv[i][1] != '-' && strchr(argv[i], 'c');
		if (argv[i + 1] && (!strcmp(argv[i], "-o") || !strcmp(argv[i], "-O")))
			i++;
	}
	if (argv[i] && text)
		judge_shell(j, "-c", argv[i], strlen(argv[i]));
	else if (argv[i])
		judge_shell_file(j, argv[i]);
}

static void judge_libs(struct judge *j, const char *path, struct binary *bin, char **argv)
{
	struct libs *l = libs_load(path, bin);
	char *vendor;

	if (!l)
		return;
	for (size_t i = 0; i < l->n && !j->brief; i++) {
		const struct lib *lib = &l->lib[i];

		if (!lib->path)
			judge_tell(j, "library", CHECK_WARN,
				   "the program does not start without it",
				   "%.100s, needed by %.150s, is not found", lib->name,
				   lib->parent >= 0 ? l->lib[lib->parent].path : "LD_PRELOAD");
		vendor = lib->path ? binary_vendor(lib->path) : NULL;
		if (vendor)
			judge_tell(
				j, "vendor's interface", CHECK_WARN,
				"refused, as the device is an rxe device: the program must work with verbs alone, too",
				"%.100s in %.150s", vendor, lib->path);
		free(vendor);
	}
	judge_verbs(j, l);
	if (!j->brief && !strncmp(judge_base(path), "python", 6))
		judge_python(j, l, path, argv);
	libs_free(l);
}

/* The program itself. False: no library of ruse gets into it. */
static bool judge_loader(struct judge *j, const char *path, const struct binary *bin)
{
	const char *loader = bin->interp ? judge_base(bin->interp) : NULL;
	struct binary own;
	char lib[PATH_MAX];
	bool same = true;

	if (!cli_find_file("libruse.so", lib) && !binary_read(lib, &own)) {
		same = binary_same_machine(&own, bin);
		if (!same)
			judge_tell(
				j, "program", CHECK_FAIL,
				judge_meaning(
					j,
					"libruse.so is for %s: build the program, or ruse, for the same machine",
					binary_machine(&own)),
				"%.150s is for %s", path, binary_machine(bin));
		binary_free(&own);
	}
	if (!same)
		return false;
	if (!loader && bin->executable && bin->go)
		judge_tell(
			j, "program", CHECK_FAIL,
			"Go without cgo makes system calls itself: build it with CGO_ENABLED=1 and call libibverbs by cgo",
			"%.150s is a statically linked Go program", path);
	else if (!loader && bin->executable)
		judge_tell(
			j, "program", CHECK_FAIL,
			"no loader reads LD_PRELOAD: link it dynamically, at least libibverbs and libc",
			"%.150s is statically linked", path);
	else if (loader && !strncmp(loader, "ld-musl-", 8))
		judge_tell(
			j, "program", CHECK_FAIL,
			"libruse.so needs glibc, and with it in LD_PRELOAD the program does not start: build it for glibc",
			"%.150s is for musl (%.100s)", path, bin->interp);
	else if (loader && access(bin->interp, X_OK))
		judge_tell(j, "program", CHECK_FAIL, "the program does not start on this machine",
			   "%.150s needs the loader %.100s: %s", path, bin->interp,
			   strerror(errno));
	else
		return true;
	return false;
}

static void judge_elf(struct judge *j, const char *path, struct binary *bin, const char *secure,
		      char **argv)
{
	if (!judge_loader(j, path, bin) || secure)
		return;
	j->library = !bin->executable && !bin->interp;
	if (j->library)
		judge_tell(j, "program", CHECK_OK,
			   "judged as if a program of glibc opened it by dlopen()",
			   "%.150s is a library", path);
	else if (bin->go)
		judge_tell(
			j, "program", CHECK_WARN,
			"calls of libibverbs by cgo work; files that Go itself opens, such as those in "
			"/sys/class/infiniband, are the machine's",
			"%.150s is a Go program with cgo", path);
	else
		judge_tell(j, "program", CHECK_OK, "its loader obeys LD_PRELOAD",
			   "%.150s, dynamically linked", path);
	bin->executable |= !!bin->interp;
	if (judge_is_shell(argv[0]) && !j->brief)
		judge_shell_args(j, argv);
	judge_libs(j, path, bin, argv);
}

/* Judges what the first line of a script names, with its argument, the script and the script's arguments. */
static void judge_script(struct judge *j, const char *path, char *line, char **argv, int depth)
{
	char *words[JUDGE_WORDS + 4], *interp, *arg;
	int n = 0;

	if (!strncmp(line, "#!", 2)) {
		line[strcspn(line, "\n")] = '\0';
		interp = line + 2 + strspn(line + 2, " \t");
		arg = interp + strcspn(interp, " \t");
		if (*arg)
			*arg++ = '\0';
		arg += strspn(arg, " \t");
		for (char *end = arg + strlen(arg); end > arg && strchr(" \t\r", end[-1]);)
			*--end = '\0';
	} else {
		interp = (char *)"/bin/sh"; /* as execvp() does */
		arg = (char *)"";
	}
	if (!*interp) {
		judge_tell(j, "script", CHECK_FAIL, "the program does not start",
			   "%.150s names no interpreter", path);
		return;
	}
	judge_tell(j, "script", CHECK_OK, "the interpreter is judged",
		   "%.150s is run by %.100s%s%.100s", path, interp, *arg ? " " : "", arg);
	words[n++] = interp;
	if (*arg)
		words[n++] = arg;
	words[n++] = (char *)path;
	for (int i = 1; i < JUDGE_WORDS && argv[i]; i++)
		words[n++] = argv[i];
	words[n] = NULL;
	judge_words(j, words, depth + 1);
}

/* No ELF file: a script, or nothing that can be executed. */
static void judge_text(struct judge *j, const char *path, char **argv, int depth)
{
	char line[JUDGE_FIRST_LINE + 1];
	int fd = binary_open_file(path);
	ssize_t n = fd >= 0 ? read(fd, line, JUDGE_FIRST_LINE) : -1;

	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = '\0';
	if (!depth && access(path, X_OK))
		judge_tell(j, "program", CHECK_FAIL, "the program does not start", "%.150s: %s",
			   path, strerror(errno));
	else if (n < 0 || (strncmp(line, "#!", 2) && memchr(line, 0, (size_t)n)))
		judge_tell(j, "program", CHECK_FAIL, "the program does not start",
			   "%.150s is neither an ELF file nor a script", path);
	else
		judge_script(j, path, line, argv, depth);
}

static void judge_file(struct judge *j, const char *path, char **argv, int depth)
{
	const char *secure;
	struct binary bin;
	struct stat st;
	int rc;

	if (stat(path, &st) || !S_ISREG(st.st_mode)) {
		judge_tell(j, "program", CHECK_FAIL, "the program does not start",
			   "%.150s is no file", path);
		return;
	}
	rc = binary_read(path, &bin);
	secure = rc == -ENOEXEC ?
			 NULL :
			 judge_secure(path, &st); /* the kernel ignores the bits of scripts */
	if (secure)
		judge_tell(
			j, "program", CHECK_FAIL,
			"the loader ignores LD_PRELOAD then: run a copy without the bits and capabilities, or as that user",
			"%.150s is %s", path, secure);
	if (rc == -ENOEXEC)
		judge_text(j, path, argv, depth);
	else if (rc == -ENOSYS && !secure && !j->brief)
		judge_tell(j, "program", CHECK_FAIL, "build ruse with libelf and libdw of elfutils",
			   "%.150s is not read: ruse was built without libelf", path);
	else if (rc == -EACCES && !secure && !j->brief)
		judge_tell(j, "program", CHECK_WARN, "nothing is known of it", "%.150s: %s", path,
			   strerror(-rc));
	else if (rc == -EBADMSG)
		judge_tell(
			j, "program", CHECK_FAIL, "the program does not start",
			"%.150s is no program: its ELF header is damaged or that of another file",
			path);
	else if (!rc)
		judge_elf(j, path, &bin, secure, argv);
	binary_free(&bin);
}

/* The index of argv in the words that the user gave; -1: it is from a script. */
static int judge_index(const struct judge *j, char **argv)
{
	for (int i = 0; j->words[i]; i++)
		if (j->words + i == argv)
			return i;
	return -1;
}

/* The words in the argument of env -S, and after them the script, the last of argv. */
static void judge_split(struct judge *j, char **argv, char *split, int depth)
{
	char *words[JUDGE_WORDS + 2], *word;
	int n = 0, last = 0;

	while (n < JUDGE_WORDS && (word = strsep(&split, " \t")))
		if (*word && (n || !strchr(word, '=')))
			words[n++] = word;
	for (; argv[last + 1]; last++)
		;
	if (n && last)
		words[n++] = argv[last];
	words[n] = NULL;
	if (n)
		judge_words(j, words, depth + 1);
}

/*
 * Where `ruse run` helps in a command of wrappers: behind the last one that loses LD_PRELOAD, as an index of argv. 0: that
 * is not known; -1: it is there.
 */
static int judge_behind(char **argv)
{
	struct wrapped w;
	int at = 0, behind = 0;

	for (int depth = 0; depth < JUDGE_DEPTH && argv[at]; depth++) {
		if (wrapped_is_ruse(argv + at))
			return -1;
		wrapped_parse(argv + at, &w);
		free(w.split);
		if (w.clears && (!w.inner || w.elsewhere))
			return 0;
		if (!w.inner)
			break;
		at += w.inner;
		if (w.clears)
			behind = at;
	}
	return behind;
}

/* Tells what a wrapper does, and judges its program. */
static void judge_wrapped(struct judge *j, char **argv, const struct wrapped *w, int depth)
{
	int at = judge_index(j, argv), behind = judge_behind(argv);
	const char *command = NULL;

	if (w->clears && behind > 0 && at >= 0) {
		j->before = at + behind;
		command = judge_command(j, "");
	}
	if (w->clears && behind >= 0)
		judge_tell(
			j, w->name, CHECK_FAIL,
			judge_meaning(
				j, "start ruse inside: %s",
				command ?: "put `ruse run` before the program that it starts"),
			"%s %s", w->name, w->clears);
	if (w->elsewhere)
		return;
	if (w->split)
		judge_split(j, argv, w->split, depth);
	else if (w->inner)
		judge_words(j, argv + w->inner, depth + 1);
}

static void judge_words(struct judge *j, char **argv, int depth)
{
	char path[PATH_MAX];
	struct wrapped w;
	int rc;

	if (depth > JUDGE_DEPTH) {
		judge_tell(j, "program", CHECK_WARN, "the rest is not judged",
			   "more than %d programs start each other", JUDGE_DEPTH);
		return;
	}
	if (wrapped_is_ruse(argv)) {
		judge_tell(j, "ruse", CHECK_OK, "its program is not judged",
			   "`ruse run` is inside");
		return;
	}
	wrapped_parse(argv, &w);
	if (w.inner || w.split || w.clears) {
		judge_wrapped(j, argv, &w, depth);
		free(w.split);
		return;
	}
	rc = judge_find(argv[0], path);
	if (rc && !j->brief)
		judge_tell(j, "program", CHECK_FAIL, "the program does not start", "%.150s: %s",
			   argv[0], strerror(-rc));
	if (!rc)
		judge_file(j, path, argv, depth);
}

void doctor_program(struct judge *j, char **argv)
{
	j->words = argv;
	j->before = 0;
	judge_words(j, argv, 0);
}

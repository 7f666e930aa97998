/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* ruse doctor PROGRAM: whether a program will see ruse's devices, from its files. Nothing of it is run. */
#ifndef RUSE_CLI_DOCTOR_PROGRAM_H
#define RUSE_CLI_DOCTOR_PROGRAM_H

#include "cli/doctor.h"
#include "cli/libs.h"

/* What is judged, and where the findings go. */
struct judge {
	void (*tell)(struct judge *j, const char *name, const struct finding *f);
	void *arg;    /* of tell() */
	bool brief;   /* `ruse run`: only what is quick and certain */
	bool perhaps;		/* what is judged now is perhaps not used: a failure is a warning */
	bool library; /* the program is a library: commands that help name none */
	char **words; /* the words that the user gave */
	int before;   /* of these, before `ruse run` in a command that helps, such as `sudo -u x` */
	char meaning[2048]; /* of the present finding */
};

/* Judges a command: argv, which ends with NULL. */
void doctor_program(struct judge *j, char **argv);

/* Tells a finding. judge_meaning() makes a meaning that is not constant, in j->meaning; it returns that. */
void judge_tell(struct judge *j, const char *name, enum verdict v, const char *meaning,
		const char *fmt, ...) __printf(5, 6);
const char *judge_meaning(struct judge *j, const char *fmt, ...) __printf(2, 3);
/* Appends "NAME=value ", the value quoted for a shell. False: it does not fit. */
bool judge_assign(char *out, size_t size, const char *name, const char *value);
/*
 * The command under `ruse run` and with the given assignments before it ("" or "A=b "), quoted for a shell, in a static
 * buffer. NULL: it is too long, or has bytes that are not printable.
 */
const char *judge_command(const struct judge *j, const char *assignments);

/* doctor_wrap.c */

/* True if argv is `ruse run` and a program. */
bool wrapped_is_ruse(char *const *argv);

/* What a program such as sudo does with the program that its arguments name. */
struct wrapped {
	const char *name;   /* of the wrapper; NULL: argv is none */
	const char *clears; /* how LD_PRELOAD is lost; NULL: it is kept */
	bool elsewhere;	    /* the program runs in another file system or on another machine */
	int inner;	    /* index of the program in argv; 0: not known */
	char *split;	    /* env -S: the words of the program, for free() */
};
void wrapped_parse(char *const *argv, struct wrapped *w);

/* doctor_python.c: the copies of libibverbs in packages of the Python at path, which executes argv. */
void judge_python(struct judge *j, struct libs *l, const char *path, char **argv);

/* doctor_script.c: tells what the commands of a shell script lose LD_PRELOAD with. what: the file's name, or "the command". */
void judge_shell(struct judge *j, const char *what, const char *text, size_t len);
/* The same for a file. */
void judge_shell_file(struct judge *j, const char *path);

/* doctor_verbs.c: the copies of libibverbs that a program uses, and their providers. */
void judge_verbs(struct judge *j, struct libs *l);
/* A libibverbs that an extension module at path loads: in no scope but its own. */
void judge_verbs_file(struct judge *j, struct libs *l, const char *path);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lines of a Python program that this thread executes. */
#ifndef RUSE_ENGINE_PYTHON_H
#define RUSE_ENGINE_PYTHON_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define PYTHON_SIZE 1200u	/* for the lines of a stack */
/* The descriptor that the interpreter writes its lines to, which no file has. */
#define PYTHON_FD INT_MIN

/* Is there an interpreter that can tell its lines? */
bool python_able(void);
/* Is the address in the file of the interpreter? False without an interpreter that can tell its lines. */
bool python_is_frame(const void *address);
/*
 * Writes the lines of this thread to text as Python has them, innermost first: `  File "NAME", line N in FUNCTION`. Returns
 * their length.
 */
size_t python_lines(char *text, size_t size);
/* Takes what the interpreter writes to PYTHON_FD in python_lines(). False: this thread is not there, so the program writes. */
bool python_written(const void *buf, size_t n);
/* Takes one of these lines apart, in place. False: it is another line. */
bool python_parse(char *line, char **file, char **number, char **function);

#endif

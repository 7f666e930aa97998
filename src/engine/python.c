/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interpreter writes the lines itself, by the function that its module faulthandler calls in a handler of SIGSEGV. This
 * function needs no lock of the interpreter, allocates nothing, executes no code of the program, and tells at most 100
 * frames. It reads only frames of the thread that calls it, which are the thread's own also while another thread has the
 * interpreter's lock. The functions of Python's documented interface (PyEval_GetFrame() and others) are no choice: they
 * need the lock, and in Python 3.11 they may start a garbage collection, which calls destructors of the program.
 *
 * The interpreter can only write to a descriptor, in small pieces. It calls write() of libruse.so, which knows the number
 * PYTHON_FD. So there is no descriptor and no system call, and the lines of each work request can be taken (checks.c).
 *
 * Python 3.11 and 3.12 export the function, 3.9, 3.10, 3.13 and 3.14 do not; from 3.15 on it has another name. A Python
 * that a program loads later by dlopen() is not seen.
 */
#include <dlfcn.h>
#include <string.h>

#include "base/util.h"
#include "engine/python.h"

/* NULL in programs without Python. */
#define PYTHON(name) __asm__(name) __attribute__((weak))
extern void python_dump(int fd, void *thread) PYTHON("_Py_DumpTraceback");
extern const char *python_dump_new(int fd, void *thread) PYTHON("PyUnstable_DumpTraceback");
extern void *python_thread(void) PYTHON("PyGILState_GetThisThreadState");

bool python_able(void)
{
	return python_thread && (python_dump || python_dump_new);
}

bool python_is_frame(const void *address)
{
	Dl_info one, other;

	return python_able() && dladdr((void *)python_thread, &one) && dladdr(address, &other) &&
	       one.dli_fbase == other.dli_fbase;
}

/* Where the lines go that this thread's interpreter writes; at NULL: it writes none. */
static __thread struct {
	char *at;
	size_t left;
} python_room __attribute__((tls_model("initial-exec")));

bool python_written(const void *buf, size_t n)
{
	size_t take = min(n, python_room.left);

	if (!python_room.at)
		return false;
	memcpy(python_room.at, buf, take);
	python_room.at += take;
	python_room.left -= take;
	return true;
}

size_t python_lines(char *text, size_t size)
{
	void *thread = python_able() ? python_thread() : NULL;
	__typeof__(python_room) outer = python_room;	/* of what a signal handler has interrupted */
	char *first, *end;
	size_t n;

	text[0] = '\0';
	if (!thread)
		return 0;
	python_room.at = text;
	python_room.left = size - 1;
	if (python_dump)
		python_dump(PYTHON_FD, thread);
	else
		python_dump_new(PYTHON_FD, thread);
	text[size - 1 - python_room.left] = '\0';
	python_room = outer;
	first = strstr(text, "  File ");	/* after a headline */
	end = strrchr(text, '\n');
	if (!first || !end || end < first)
		return 0;
	n = (size_t)(end + 1 - first);
	memmove(text, first, n);
	text[n] = '\0';
	return n;
}

bool python_parse(char *line, char **file, char **number, char **function)
{
	static const char begin[] = "  File \"", middle[] = "\", line ", last[] = " in ";
	char *at = strstr(line, middle), *in;

	if (strncmp(line, begin, sizeof(begin) - 1) || !at)
		return false;
	*file = line + sizeof(begin) - 1;
	*number = at + sizeof(middle) - 1;
	in = strstr(*number, last);
	if (!in)
		return false;
	*at = *in = '\0';
	*function = in + sizeof(last) - 1;
	return **file && **number && **function;
}

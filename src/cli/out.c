/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Standard output of all subcommands: output that could not be written is a failure. stdio notes that a write has
 * failed, but not why, so stdout is a stream with a write function that does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static int out_err;	/* errno of the first write that has failed; 0: none */

static ssize_t out_write(void *cookie, const char *buf, size_t size)
{
	size_t done = 0;
	ssize_t n = 0;

	(void)cookie;
	/* EINTR is an error as well: a signal ends `ruse capture`, also if nothing reads its output. */
	for (; done < size; done += (size_t)n) {
		n = write(STDOUT_FILENO, buf + done, size - done);
		if (n < 0)
			break;
	}
	if (n < 0 && !out_err)
		out_err = errno;
	return (ssize_t)done;
}

/*
 * Standard descriptors that are closed are occupied, so that no file or socket gets their numbers and the output. Reads
 * and writes of them still fail with EBADF, and executed programs find them closed.
 */
void cli_out_begin(void)
{
	FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = out_write });

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	if (!f)
		return;
	if (isatty(STDOUT_FILENO))
		setvbuf(f, NULL, _IOLBF, 0);
	stdout = f;
}

int cli_out_end(int status)
{
	if (fflush(stdout) && !out_err)
		out_err = errno;
	/* A file system may tell an error only when the file is closed. */
	if (close(STDOUT_FILENO) && !out_err)
		out_err = errno;
	if (!out_err)
		return status;
	/* EPIPE: the reader has read what it wanted. By default SIGPIPE ends this program, also without a message. */
	if (out_err != EPIPE)
		fprintf(stderr, "ruse: standard output: %s\n", strerror(out_err));
	return status ? status : 1;
}

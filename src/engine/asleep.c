/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <string.h>

#include "base/sys.h"
#include "engine/asleep.h"

static uint64_t asleep_hex(const char **s)
{
	uint64_t v = 0;

	while (**s == ' ')
		++*s;
	if (!strncmp(*s, "0x", 2))
		*s += 2;
	for (;; ++*s) {
		char c = **s;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else
			return v;
	}
}

bool asleep_in(uint32_t tid, long *number, uint64_t *argument)
{
	char path[64] = "/proc/self/task/", text[256], digits[12];
	size_t at = strlen(path), n = 0;
	const char *s = text;
	ssize_t len;
	int fd;

	for (; tid; tid /= 10)
		digits[n++] = (char)('0' + tid % 10);
	while (n)
		path[at++] = digits[--n];
	memcpy(path + at, "/syscall", sizeof("/syscall"));
	fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	len = sys_read(fd, text, sizeof(text) - 1);
	sys_close(fd);
	text[len > 0 ? len : 0] = '\0';
	/* "202 0x7f... ...": number and arguments; "running" or "-1 ..." otherwise. */
	if (*s < '0' || *s > '9')
		return false;
	for (*number = 0; *s >= '0' && *s <= '9'; s++)
		*number = *number * 10 + (*s - '0');
	*argument = asleep_hex(&s);
	return true;
}

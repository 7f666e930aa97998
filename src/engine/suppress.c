/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Findings of `ruse run --check` that are not told. A line of the file is an id, or * for all, alone or with a word and a name:
 *
 *	CK-101 library libucp.so.0	a file in one of its stacks
 *	* function my_send		a function in one of its stacks; only exported ones are known here
 *
 * Empty lines and those that begin with # are comments.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include "base/log.h"
#include "base/sys.h"
#include "base/util.h"
#include "engine/suppress.h"
#include "why/why.h"

#define SUPPRESS_SIZE 16384
#define SUPPRESS_RULES 256u

static char suppress_text[SUPPRESS_SIZE];
static struct suppress_rule {
	uint32_t id;		/* WHY_NONE: all */
	bool library;
	const char *name;	/* NULL: whatever its stacks are */
} suppress_rules[SUPPRESS_RULES];
static uint32_t suppress_count;

/* The next word of a line. NULL: there is none. */
static char *suppress_word(char **line)
{
	char *word;

	do
		word = strsep(line, " \t");
	while (word && !*word);
	return word;
}

/* False: the line is none of the above. */
static bool suppress_line(char *line)
{
	struct suppress_rule *r = &suppress_rules[suppress_count];
	char *id = suppress_word(&line), *kind = suppress_word(&line);

	if (!id || *id == '#')
		return true;
	if (suppress_count == SUPPRESS_RULES)
		return false;
	*r = (struct suppress_rule){ .id = why_parse(id), .name = suppress_word(&line) };
	if ((!r->id && strcmp(id, "*")) || !kind != !r->name || suppress_word(&line))
		return false;
	r->library = kind && !strcmp(kind, "library");
	if (kind && !r->library && strcmp(kind, "function"))
		return false;
	suppress_count++;
	return true;
}

void suppress_read(const char *path)
{
	/* A FIFO is not waited for. */
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	ssize_t n = fd < 0 ? fd : sys_read(fd, suppress_text, sizeof(suppress_text) - 1);
	char *next = suppress_text, *line;

	if (fd >= 0)
		sys_close(fd);
	if (n < 0)
		log_warn("RUSE_CHECK: %s: %s", path, strerrordesc_np((int)-n));
	if (n == (ssize_t)sizeof(suppress_text) - 1)
		log_warn("RUSE_CHECK: %s: what is behind %d bytes is not read", path, SUPPRESS_SIZE - 1);
	suppress_count = 0;
	suppress_text[max(n, (ssize_t)0)] = '\0';
	for (int number = 1; (line = strsep(&next, "\n")); number++)
		if (!suppress_line(line))
			log_warn("RUSE_CHECK: %s:%d: not a suppression", path, number);
}

static bool suppress_frame(const struct suppress_rule *r, void *frame)
{
	const char *name, *slash;
	Dl_info info;

	if (!dladdr(frame, &info))
		return false;
	name = r->library ? info.dli_fname : info.dli_sname;
	slash = name && r->library ? strrchr(name, '/') : NULL;
	return name && !strcmp(slash ? slash + 1 : name, r->name);
}

bool suppress_matches(uint32_t id, const struct explain_frames *s)
{
	const struct suppress_rule *r = suppress_rules;

	for (; r < suppress_rules + suppress_count; r++) {
		if (r->id && r->id != id)
			continue;
		if (!r->name)
			return true;
		for (uint32_t i = 0; s && i < s->n; i++)
			if (suppress_frame(r, s->frame[i]))
				return true;
	}
	return false;
}

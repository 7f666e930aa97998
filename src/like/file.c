/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a file about an adapter. Its path may come from a user: it can lead to anything. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "base/printable.h"
#include "base/util.h"
#include "like/load.h"

/* The files of data/like have 10 to 40 KiB. */
#define FILE_MAX (1 << 20)
/* They have lists in values in entries in sections. */
#define FILE_DEPTH 8

void like_told(const struct like_told *t, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	like_vtold(t, format, ap);
	va_end(ap);
}

void like_vtold(const struct like_told *t, const char *format, va_list ap)
{
	int n = snprintf(t->failure, t->size, "%s: ", t->path);

	if (n >= 0 && (size_t)n < t->size)
		vsnprintf(t->failure + n, t->size - (size_t)n, format, ap);
	printable_make(t->failure);
}

/* The bytes of a regular file and a 0, for free(); their number without it. NULL: told. */
static char *file_read(const struct like_told *t, int fd, size_t *len)
{
	char *text;
	struct stat st;
	ssize_t n = 1;

	if (fstat(fd, &st)) {
		like_told(t, "%s", strerror(errno));
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		like_told(t, "it is no regular file");
		return NULL;
	}
	text = malloc(FILE_MAX + 2);
	for (*len = 0; text && n > 0 && *len <= FILE_MAX; *len += (size_t)max(n, 0))
		n = read(fd, text + *len, FILE_MAX + 1 - *len);
	if (text && !n && *len <= FILE_MAX) {
		text[*len] = '\0';
		return text;
	}
	like_told(t, "%s", !text ? strerror(ENOMEM) : n < 0 ? strerror(errno) : "it has more than 1 MiB");
	free(text);
	return NULL;
}

/* What is wrong with the text, of which the tokener has read a part, or NULL. */
static const char *file_wrong(struct json_tokener *t, const struct json_object *o, const char *rest)
{
	enum json_tokener_error error = json_tokener_get_error(t);

	if (error == json_tokener_continue || error == json_tokener_error_parse_eof)
		return "it ends before its JSON does";
	if (error != json_tokener_success)
		return json_tokener_error_desc(error);
	if (!json_object_is_type(o, json_type_object))
		return "it is no object";
	return rest[strspn(rest, " \t\r\n")] ? "there is more behind its object" : NULL;
}

/* len: without the 0 at the end. */
static struct json_object *file_parse(const struct like_told *t, const char *text, size_t len)
{
	struct json_tokener *tok = json_tokener_new_ex(FILE_DEPTH);
	struct json_object *o;
	const char *wrong;
	size_t end, line = 1;

	if (!tok) {
		like_told(t, "%s", strerror(ENOMEM));
		return NULL;
	}
	o = json_tokener_parse_ex(tok, text, (int)len + 1);
	end = json_tokener_get_parse_end(tok);
	for (size_t i = 0; i < end; i++)
		line += text[i] == '\n';
	wrong = file_wrong(tok, o, text + end);
	json_tokener_free(tok);
	if (!wrong)
		return o;
	like_told(t, "line %zu: %s", line, wrong);
	json_object_put(o);
	return NULL;
}

/* A FIFO is not waited for: it is no regular file. */
struct json_object *like_open(const char *path, char *failure, size_t size)
{
	const struct like_told t = { path, failure, size };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct json_object *o = NULL;
	char *text = NULL;
	size_t len = 0;

	if (fd < 0) {
		like_told(&t, "%s", strerror(errno));
		return NULL;
	}
	text = file_read(&t, fd, &len);
	if (text)
		o = file_parse(&t, text, len);
	free(text);
	close(fd);
	return o;
}

struct json_object *like_value_of(struct json_object *entry)
{
	struct json_object *value;

	if (!json_object_is_type(entry, json_type_object))
		return entry;
	return json_object_object_get_ex(entry, "value", &value) ? value : NULL;
}

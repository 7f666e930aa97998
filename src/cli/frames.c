/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions and source lines of stacks that programs have left (ipc/why_log.h), from the symbol tables and the debug
 * information of their files, by libdw. A frame is a file and an address of that file. If the file was replaced since, the
 * names may be wrong. Without libdw, or if a file has neither, the frame stays as it is.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

#ifdef RUSE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#define FRAMES_FILES 32

static struct frames_file {
	char *path;
	Dwfl_Module *mod;	/* NULL: it cannot be read */
} files[FRAMES_FILES];

static Dwfl *frames_session(void)
{
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	static Dwfl *session;

	if (!session) {
		unsetenv("DEBUGINFOD_URLS");	/* ask no server */
		session = dwfl_begin(&callbacks);
	}
	return session;
}

static Dwfl_Module *frames_module(const char *path)
{
	Dwfl *session = frames_session();
	struct frames_file *f = files;
	struct stat st;

	while (f < files + FRAMES_FILES && f->path && strcmp(f->path, path))
		f++;
	if (!session || f == files + FRAMES_FILES)
		return NULL;
	if (f->path)
		return f->mod;
	f->path = strdup(path);
	if (f->path && *path == '/' && !stat(path, &st) && S_ISREG(st.st_mode)) {
		dwfl_report_begin_add(session);
		f->mod = dwfl_report_offline(session, path, path, -1);
		dwfl_report_end(session, NULL, NULL);
	}
	return f->mod;
}

static bool frames_header(const char *file)
{
	return !strncmp(file, "/usr/include/", 13);
}

static bool frames_number(Dwarf_Die *die, unsigned int attribute, Dwarf_Word *value)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, attribute, &attr) && !dwarf_formudata(&attr, value);
}

/*
 * ibv_post_send() and others are inline functions of a header. The line in the program is that of the call of the inlined
 * function; of nested ones the innermost call that is not in a header. *file and *line stay if there is none.
 */
static void frames_caller(Dwfl_Module *mod, Dwarf_Addr at, const char **file, int *line)
{
	Dwarf_Die *scopes = NULL, die, cu;
	Dwarf_Addr bias;
	Dwarf_Files *sources;
	Dwarf_Word source, number;
	Dwarf_Die *unit = dwfl_module_addrdie(mod, at, &bias);
	int n = unit ? dwarf_getscopes(unit, at - bias, &scopes) : 0;

	if (n <= 0)
		return;
	/* dwarf_getscopes() leaves the function where an inlined one is defined; the DIE's parents are where it is called. */
	die = scopes[0];
	free(scopes);
	scopes = NULL;
	n = dwarf_getscopes_die(&die, &scopes);
	if (n > 0 && dwarf_diecu(&die, &cu, NULL, NULL) && !dwarf_getsrcfiles(&cu, &sources, NULL))
		for (int i = 0; i < n && frames_header(*file); i++) {
			if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine ||
			    !frames_number(&scopes[i], DW_AT_call_file, &source) ||
			    !frames_number(&scopes[i], DW_AT_call_line, &number) ||
			    !dwarf_filesrc(sources, source, NULL, NULL))
				continue;
			*file = dwarf_filesrc(sources, source, NULL, NULL);
			*line = (int)number;
		}
	free(scopes);
}

static void frames_name(struct json_object *frame, const char *path)
{
	Dwfl_Module *mod = frames_module(path);
	const char *function, *file;
	Dwarf_Addr bias, at;
	Dwfl_Line *line;
	GElf_Off off;
	GElf_Sym sym;
	int number;

	if (!mod || !dwfl_module_getelf(mod, &bias))
		return;
	/* A frame is the address to which a call returns: the call is before it. */
	at = bias + cli_json_u64(frame, "offset") - 1;
	function = dwfl_module_addrinfo(mod, at, &off, &sym, NULL, NULL, NULL);
	if (function)
		json_object_object_add(frame, "function", json_object_new_string(function));
	line = dwfl_module_getsrc(mod, at);
	file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	if (!file)
		return;
	if (frames_header(file))
		frames_caller(mod, at, &file, &number);
	json_object_object_add(frame, "file", json_object_new_string(file));
	json_object_object_add(frame, "line", json_object_new_int(number));
}
#else
static void frames_name(struct json_object *frame, const char *path)
{
	(void)frame;
	(void)path;
}
#endif

void cli_name_frames(struct json_object *failure)
{
	struct json_object *stack, *frame;

	if (!json_object_object_get_ex(failure, "stack", &stack) ||
	    !json_object_is_type(stack, json_type_array))
		return;
	for (size_t i = 0; i < json_object_array_length(stack); i++) {
		frame = json_object_array_get_idx(stack, i);
		if (cli_json_string(frame, "module"))
			frames_name(frame, cli_json_string(frame, "module"));
	}
}

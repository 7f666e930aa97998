/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a file of data/like. Every value is checked: an unknown name, a value out of range or of another type is an error,
 * so that a slip in one's own file is told. What a file does not have stays rxe's (like_default).
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "base/util.h"
#include "like/load.h"

struct like_reader {
	struct like_told told;
	struct like *like;
	bool *known;	/* may be NULL */
};

static int __attribute__((format(printf, 2, 3)))
like_bad(const struct like_reader *r, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	like_vtold(&r->told, format, ap);
	va_end(ap);
	return -EINVAL;
}

/* Facts that a device of ruse has by itself, and rules as texts, whose numbers are entries of their own. */
static const char *const like_unused[] = {
	"fields.phys_port_cnt", "fields.max_mtu", "fields.pkey_tbl_len", "fields.link_layer",
	"create.send_queue", "create.recv_queue", "create.cq", "create.srq",
	"create.wqe_quanta",
	/* Texts: like/shown.c. */
	"identity.fw_ver", "identity.board_id", "identity.device_name", "identity.hca_type",
	"identity.node_desc", "identity.hw_rev", NULL
};

static bool like_is_unused(const char *section, const char *name)
{
	char key[128];

	snprintf(key, sizeof(key), "%s.%s", section, name);
	for (size_t i = 0; like_unused[i]; i++)
		if (!strcmp(like_unused[i], key))
			return true;
	return false;
}

static const struct like_entry *like_find_entry(const char *section, const char *name)
{
	for (size_t i = 0; i < like_nentries; i++) {
		const struct like_entry *e = &like_entries[i];

		if (!strcmp(e->section, section) && !strcmp(e->name, name))
			return e;
	}
	return NULL;
}

static bool like_parse_errno(const char *s, uint64_t *value)
{
	bool negative = *s == '-';

	for (int e = 1; e < 134; e++)
		if (strerrorname_np(e) && !strcmp(strerrorname_np(e), s + negative)) {
			*value = (uint64_t)(negative ? -(int64_t)e : e);
			return true;
		}
	return false;
}

/* A number, or a text in hexadecimal. */
static bool like_parse_number(struct json_object *o, uint64_t *value)
{
	const char *s;
	char *end;

	if (json_object_is_type(o, json_type_int)) {
		/* json-c gives the largest instead of what is larger. */
		*value = (uint64_t)json_object_get_int64(o);
		return *value < INT64_MAX;
	}
	s = json_object_is_type(o, json_type_string) ? json_object_get_string(o) : "";
	if (strncmp(s, "0x", 2) || strspn(s + 2, "0123456789abcdef") != strlen(s) - 2 ||
	    strlen(s) < 3 || strlen(s) > 18)
		return false;
	*value = strtoull(s, &end, 16);
	return true;
}

static int like_read_value(const struct like_reader *r, const struct like_entry *e,
			   struct json_object *o)
{
	uint64_t value;
	bool known = e->refused ? json_object_is_type(o, json_type_string) &&
				  like_parse_errno(json_object_get_string(o), &value) :
				  like_parse_number(o, &value);

	if (!known)
		return like_bad(r, "%s: %s: %s is no %s", e->section, e->name,
				json_object_to_json_string(o), e->refused ? "errno" : "number");
	if (!like_entry_valid(e, value))
		return like_bad(r, "%s: %s: %s is not in %llu to %llu", e->section, e->name,
				json_object_to_json_string(o), (unsigned long long)e->low,
				(unsigned long long)e->high);
	*(uint64_t *)((char *)r->like + e->at) = value;
	if (r->known)
		r->known[e - like_entries] = true;
	return 0;
}

/* The value of an entry: { "value", "evidence", "source" }, or, as of one's own file, the value itself. NULL: told. */
static struct json_object *like_entry_value(const struct like_reader *r, const char *section,
					    const char *name, struct json_object *entry)
{
	struct json_object *value = like_value_of(entry);

	if (!value)
		like_bad(r, "%s: %s: it has no value", section, name);
	return value;
}

static int like_read_credits(const struct like_reader *r, struct json_object *o)
{
	const char *s = json_object_is_type(o, json_type_string) ? json_object_get_string(o) : "";

	r->like->credits_poll = !strcmp(s, "poll");
	return r->like->credits_poll || !strcmp(s, "completion") ? 0 :
		like_bad(r, "create: credits: %s is neither poll nor completion",
			 json_object_to_json_string(o));
}

/* A section of values. */
static int like_read_section(const struct like_reader *r, struct json_object *file,
			     const char *section)
{
	struct json_object *all, *value;
	int rc = 0;

	if (!json_object_object_get_ex(file, section, &all))
		return 0;
	if (!json_object_is_type(all, json_type_object))
		return like_bad(r, "%s is no object", section);
	json_object_object_foreach(all, name, entry) {
		const struct like_entry *e = like_find_entry(section, name);
		bool credits = !strcmp(section, "create") && !strcmp(name, "credits");

		value = like_entry_value(r, section, name, entry);
		if (!value)
			return -EINVAL;
		if (credits)
			rc = like_read_credits(r, value);
		else if (e)
			rc = like_read_value(r, e, value);
		else if (!like_is_unused(section, name))
			rc = like_bad(r, "%s: %s is not known", section, name);
		if (rc)
			return rc;
	}
	return 0;
}

/* What the kernel makes of each address (roce_gid_mgmt.c), without and with RoCEv1. */
static const char *const like_gid_orders[2][7] = {
	{ "link-local v2", "IPv4 v2", "IPv6 v2" },
	{ "link-local v1", "link-local v2", "IPv4 v1", "IPv4 v2", "IPv6 v1", "IPv6 v2" },
};
static const char *const like_gid_types[2][3] = { { "v2" }, { "v1", "v2" } };

static bool like_is_list(struct json_object *o, const char *const *texts)
{
	size_t i, n = json_object_is_type(o, json_type_array) ? json_object_array_length(o) : 0;

	for (i = 0; i < n && texts[i]; i++) {
		struct json_object *text = json_object_array_get_idx(o, i);

		if (!json_object_is_type(text, json_type_string) ||
		    strcmp(json_object_get_string(text), texts[i]))
			return false;
	}
	return i == n && n && !texts[i];
}

static int like_read_gid(const struct like_reader *r, const char *name, struct json_object *value)
{
	const char *const *order = like_gid_orders[r->like->gid_v1];
	uint64_t first = 0, got;

	if (!strcmp(name, "types"))
		return 0;
	if (!strcmp(name, "entries"))
		return like_is_list(value, order) ? 0 :
			like_bad(r, "gids: entries: not the order in which the kernel enters these types");
	if (strcmp(name, "first_ipv4_v2"))
		return like_bad(r, "gids: %s is not known", name);
	while (strcmp(order[first], "IPv4 v2"))
		first++;
	return like_parse_number(value, &got) && got == first ? 0 :
		like_bad(r, "gids: first_ipv4_v2: these types give %llu", (unsigned long long)first);
}

/* The GID table follows from its types. What else the file says of it must agree. */
static int like_read_gids(const struct like_reader *r, struct json_object *file)
{
	struct json_object *all, *types, *value;
	int rc = 0;

	if (!json_object_object_get_ex(file, "gids", &all))
		return 0;
	if (!json_object_is_type(all, json_type_object) ||
	    !json_object_object_get_ex(all, "types", &types))
		return like_bad(r, "gids: it has no types");
	value = like_entry_value(r, "gids", "types", types);
	if (!value)
		return -EINVAL;
	r->like->gid_v1 = like_is_list(value, like_gid_types[1]);
	if (!r->like->gid_v1 && !like_is_list(value, like_gid_types[0]))
		return like_bad(r, "gids: types: neither v1 and v2, nor v2");
	json_object_object_foreach(all, name, entry) {
		value = like_entry_value(r, "gids", name, entry);
		rc = rc ?: value ? like_read_gid(r, name, value) : -EINVAL;
	}
	return rc;
}

/* What ruse has, and the adapter has not. */
static const struct {
	const char *list, *name;
	enum like_missing what;
} like_missings[] = {
	{ "qp_types", "UC", LIKE_NO_UC },
	{ "opcodes", "ATOMIC_CMP_AND_SWP", LIKE_NO_ATOMIC },
	{ "opcodes", "ATOMIC_FETCH_AND_ADD", LIKE_NO_ATOMIC },
	{ "opcodes", "BIND_MW", LIKE_NO_BIND_MW },
	{ "opcodes", "LOCAL_INV", LIKE_NO_LOCAL_INV },
	{ "calls", "create_srq", LIKE_NO_SRQ },
	{ "calls", "alloc_mw", LIKE_NO_MW },
	{ "calls", "attach_mcast", LIKE_NO_MCAST },
	{ "calls", "resize_cq", LIKE_NO_RESIZE_CQ },
	{ "calls", "resize_srq", LIKE_NO_RESIZE_SRQ },
	{ "provider_calls", "create_qp_ex", LIKE_NO_QP_EX },
};

/* What ruse does not have either. */
static const char *const like_never[][2] = {
	{ "qp_types", "RAW_PACKET" }, { "qp_types", "XRC_SEND" }, { "qp_types", "XRC_RECV" },
	{ "calls", "open_xrcd" },     { "calls", "create_wq" },	  { "calls", "create_flow" },
	{ "calls", "modify_cq" },
};

static bool like_read_name(struct like *like, const char *list, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(like_missings); i++)
		if (!strcmp(like_missings[i].list, list) && !strcmp(like_missings[i].name, name)) {
			like->missing |= 1ull << like_missings[i].what;
			return true;
		}
	for (size_t i = 0; i < ARRAY_SIZE(like_never); i++)
		if (!strcmp(like_never[i][0], list) && !strcmp(like_never[i][1], name))
			return true;
	return false;
}

static int like_read_missing(const struct like_reader *r, struct json_object *file)
{
	struct json_object *all, *value;

	if (!json_object_object_get_ex(file, "missing", &all))
		return 0;
	if (!json_object_is_type(all, json_type_object))
		return like_bad(r, "missing is no object");
	json_object_object_foreach(all, list, entry) {
		value = like_entry_value(r, "missing", list, entry);
		if (!value)
			return -EINVAL;
		if (!json_object_is_type(value, json_type_array))
			return like_bad(r, "missing: %s is no list", list);
		for (size_t i = 0; i < json_object_array_length(value); i++) {
			struct json_object *name = json_object_array_get_idx(value, i);

			if (!json_object_is_type(name, json_type_string))
				return like_bad(r, "missing: %s: a name is no text", list);
			if (!like_read_name(r->like, list, json_object_get_string(name)))
				return like_bad(r, "missing: %s: %s is not known", list,
						json_object_get_string(name));
		}
	}
	return 0;
}

static const char *const like_drivers[] = { [LIKE_RXE] = "rxe", [LIKE_MLX5] = "mlx5",
					    [LIKE_IRDMA] = "irdma", [LIKE_BNXT] = "bnxt_re",
					    [LIKE_EXACT] = "exact" };

_Static_assert(ARRAY_SIZE(like_drivers) == LIKE_DRIVERS, "a name for each driver");

/* A member of the file as text; NULL: it has none. */
static const char *like_text(struct json_object *file, const char *member)
{
	struct json_object *o;

	return json_object_object_get_ex(file, member, &o) ? json_object_get_string(o) : NULL;
}

/* Without a name it is that of the file, without a driver nothing is rounded. */
static int like_read_head(const struct like_reader *r, struct json_object *file)
{
	static const char *const members[] = { "name", "description", "driver", "fields", "create", "gids", "hw_counters",
					       "counters", "missing", "identity", "refused" };
	const char *base = basename(r->told.path), *s = like_text(file, "name");

	json_object_object_foreach(file, member, any) {
		size_t i = 0;

		(void)any;
		while (i < ARRAY_SIZE(members) && strcmp(member, members[i]))
			i++;
		if (i == ARRAY_SIZE(members))
			return like_bad(r, "%s is not known", member);
	}
	if (s && !strcmp(s, LIKE_STRICTEST))
		return like_bad(r, "its name is that of the strictest of all");
	if (s && (!*s || strlen(s) >= LIKE_NAME))
		return like_bad(r, "its name does not have 1 to %d characters", LIKE_NAME - 1);
	snprintf(r->like->name, LIKE_NAME, "%.*s", s ? LIKE_NAME : (int)strcspn(base, "."), s ?: base);
	s = like_text(file, "driver") ?: like_drivers[LIKE_EXACT];
	for (size_t i = 0; i < ARRAY_SIZE(like_drivers); i++)
		if (!strcmp(like_drivers[i], s)) {
			r->like->driver = i;
			return 0;
		}
	return like_bad(r, "driver: `%s` is none of rxe, mlx5, irdma, bnxt_re, exact", s);
}

static int like_read_all(const struct like_reader *r, struct json_object *file)
{
	static const char *const sections[] = { "fields", "identity", "create", "refused" };
	int rc;

	rc = like_read_head(r, file);
	for (size_t i = 0; i < ARRAY_SIZE(sections) && !rc; i++)
		rc = like_read_section(r, file, sections[i]);
	if (!rc)
		rc = like_read_missing(r, file);
	if (!rc)
		rc = like_read_gids(r, file);
	if (!rc && !like_valid(r->like))
		rc = like_bad(r, "its name has characters that are not printable");
	return rc;
}

int like_read(const char *path, struct like *like, char *failure, size_t size)
{
	return like_read_known(path, like, NULL, failure, size);
}

int like_read_known(const char *path, struct like *like, bool *known, char *failure, size_t size)
{
	struct like_reader r = { { path, failure, size }, like, known };
	struct json_object *file;
	int rc;

	*like = like_default;
	file = like_open(path, failure, size);
	if (!file)
		return -EINVAL;
	rc = like_read_all(&r, file);
	json_object_put(file);
	return rc;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the files of data/like, and the strictest of all. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "like/load.h"
#include "like/shown.h"

/* Relative to the directory of the running program: in the build tree; installed, of BINDIR and of LIBDIR/ruse. */
static const char *const like_places[] = { "like/", "../share/ruse/like/", "../../share/ruse/like/",
					   "../../../share/ruse/like/" };

static int like_find_dir(char dir[PATH_MAX])
{
	char own[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	own[max(n, 0)] = '\0';
	slash = strrchr(own, '/');
	if (!slash)
		return -ENOENT;
	slash[1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(like_places); i++) {
		if (snprintf(dir, PATH_MAX, "%s%s", own, like_places[i]) >= PATH_MAX)
			return -ENAMETOOLONG;
		if (!access(dir, X_OK))
			return 0;
	}
	return -ENOENT;
}

static int like_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

int like_list(struct like_names *names)
{
	int rc = like_find_dir(names->dir);
	struct dirent *e;
	DIR *d;

	names->n = 0;
	if (rc)
		return rc;
	d = opendir(names->dir);
	if (!d)
		return -errno;
	while ((e = readdir(d)) && names->n < LIKE_MAX_NAMES - 1) {
		const char *dot = strrchr(e->d_name, '.');
		size_t len = dot ? (size_t)(dot - e->d_name) : 0;

		if (len && len < LIKE_NAME && !strcmp(dot, ".json"))
			snprintf(names->name[names->n++], LIKE_NAME, "%.*s", (int)len, e->d_name);
	}
	closedir(d);
	qsort(names->name, names->n, LIKE_NAME, like_compare);
	return 0;
}

int like_path(const char *name, char *path)
{
	char dir[PATH_MAX];
	int rc;

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX ? 0 : -ENAMETOOLONG;
	rc = like_find_dir(dir);
	if (!rc && snprintf(path, PATH_MAX, "%s%s.json", dir, name) >= PATH_MAX)
		rc = -ENAMETOOLONG;
	if (!rc && access(path, R_OK))
		rc = -errno;
	return rc;
}

/* The errnos that go with a limit. */
static const struct {
	size_t limit, error;
} like_errnos[] = {
#define LIKE_PAIR(limit, error) { offsetof(struct like, limit), offsetof(struct like, error) }
	LIKE_PAIR(max_qp_wr, e_qp_send_wr),	LIKE_PAIR(max_qp_wr, e_qp_recv_wr),
	LIKE_PAIR(max_sge, e_qp_send_sge),	LIKE_PAIR(max_sge, e_qp_recv_sge),
	LIKE_PAIR(max_sge, e_send_sge),		LIKE_PAIR(max_sge, e_recv_sge),
	LIKE_PAIR(max_inline_rc, e_qp_inline),	LIKE_PAIR(max_inline_rc, e_send_inline),
	LIKE_PAIR(max_qp, e_qps),		LIKE_PAIR(max_cqe, e_cqe),
	LIKE_PAIR(max_cq, e_cqs),		LIKE_PAIR(max_srq_wr, e_srq_wr),
	LIKE_PAIR(max_srq_sge, e_srq_sge),	LIKE_PAIR(max_srq, e_srqs),
	LIKE_PAIR(max_pd, e_pds),		LIKE_PAIR(max_ah, e_ahs),
	LIKE_PAIR(max_mr_size, e_mr_size),	LIKE_PAIR(max_mw, e_mws),
	LIKE_PAIR(max_mr, e_mrs),
	LIKE_PAIR(max_mcast_grp, e_mcast),	LIKE_PAIR(max_qp_init_rd_atom, e_rd_atomic),
	LIKE_PAIR(max_qp_rd_atom, e_dest_rd_atomic),
#undef LIKE_PAIR
};

static uint64_t *like_at(struct like *l, size_t at)
{
	return (uint64_t *)((char *)l + at);
}

/* Takes what is stricter in file number `which`. */
static void like_tighten(struct like *to, struct like *from, const bool *known,
			 struct like_origin *o, int which)
{
	for (size_t i = 0; i < like_nentries; i++) {
		size_t at = like_entries[i].at;
		uint64_t value = *like_at(from, at);

		if (like_entries[i].kind != LIKE_LIMIT || !known[i] || !value ||
		    (o->of[i] >= 0 && value >= *like_at(to, at)))
			continue;
		*like_at(to, at) = value;
		o->of[i] = which;
		for (size_t k = 0; k < ARRAY_SIZE(like_errnos); k++)
			if (like_errnos[k].limit == at)
				*like_at(to, like_errnos[k].error) = *like_at(from, like_errnos[k].error);
	}
	to->credits_poll |= from->credits_poll;
}

int like_strictest(struct like *like, struct like_origin *origin, char *failure, size_t size)
{
	static struct like_origin own;
	struct like_origin *o = origin ? origin : &own;
	struct like one;
	int rc = like_list(&o->names);

	if (rc) {
		snprintf(failure, size, "the files about adapters were not found: %s",
			 strerrordesc_np(-rc));
		return rc;
	}
	*like = like_default;
	strcpy(like->name, LIKE_STRICTEST);
	like->driver = LIKE_EXACT;
	for (size_t i = 0; i < ARRAY_SIZE(o->of); i++)
		o->of[i] = -1;
	for (size_t i = 0; i < o->names.n && !rc; i++) {
		char path[PATH_MAX + LIKE_NAME];
		bool known[LIKE_VALUES] = { false };

		snprintf(path, sizeof(path), "%s%s.json", o->names.dir, o->names.name[i]);
		rc = like_read_known(path, &one, known, failure, size);
		if (!rc)
			like_tighten(like, &one, known, o, (int)i);
	}
	return rc;
}

/* What follows the name. */
static int like_load_words(char *words, struct like *like, bool *identity, char *failure,
			   size_t size)
{
	char *word;

	while ((word = strsep(&words, ","))) {
		if (!strcmp(word, "credits=poll")) {
			like->credits_poll = 1;
		} else if (!strcmp(word, "credits=completion")) {
			like->credits_poll = 0;
		} else if (!strcmp(word, "identity")) {
			*identity = true;
		} else {
			snprintf(failure, size,
				 "`%s` is neither credits=poll nor credits=completion nor identity", word);
			return -EINVAL;
		}
	}
	return 0;
}

/* Counters, and the identity if it is wanted. */
static int like_load_shown(const char *path, bool identity, struct like *like,
			   struct like_shown *shown, char *failure, size_t size)
{
	static struct like_shown own;	/* the caller does not want it; its texts are lost */
	struct like_shown *s = shown ? shown : &own;
	int rc = like_read_shown(path, identity, s, failure, size);

	if (rc)
		return rc;
	if (!identity) {
		like->vendor_id = like_default.vendor_id;
		like->vendor_part_id = like_default.vendor_part_id;
		like->hw_ver = like_default.hw_ver;
	}
	like->fw_ver = *s->fw_ver ? like_fw_ver(s->fw_ver) : 0;
	for (int dir = 0; dir < LIKE_DIRS; dir++)
		for (uint32_t i = 0; i < s->dir[dir].n; i++)
			like->octets |= like_counter_octets(s->dir[dir].of[i]);
	return rc;
}

int like_load(const char *spec, struct like *like, struct like_shown *shown, char *failure,
	      size_t size)
{
	char name[PATH_MAX], path[PATH_MAX], *words = name;
	bool identity = false, strictest;
	int rc;

	if (snprintf(name, sizeof(name), "%s", spec) >= (int)sizeof(name)) {
		snprintf(failure, size, "%s", strerrordesc_np(ENAMETOOLONG));
		return -ENAMETOOLONG;
	}
	strsep(&words, ",");
	if (!*name) {
		snprintf(failure, size, "there is no name; `ruse like list` has the names");
		return -EINVAL;
	}
	strictest = !strcmp(name, LIKE_STRICTEST);
	if (strictest) {
		rc = like_strictest(like, NULL, failure, size);
	} else {
		rc = like_path(name, path);
		if (rc)
			snprintf(failure, size, "there is no adapter %s; `ruse like list` has the names, and a file "
				 "of your own is a path with a slash", name);
		else
			rc = like_read(path, like, failure, size);
	}
	if (!rc)
		rc = like_load_words(words, like, &identity, failure, size);
	if (!rc && !strictest) {
		identity &= like->driver != LIKE_RXE;
		return like_load_shown(path, identity, like, shown, failure, size);
	}
	if (!rc && identity) {
		snprintf(failure, size, "%s has no identity", LIKE_STRICTEST);
		rc = -EINVAL;
	}
	if (shown)
		*shown = like_shown_default;
	return rc;
}

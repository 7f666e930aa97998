/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pages of fixed data. That of a small run is compared with golden/report.page; with RUSE_UPDATE=DIR in the environment it
 * is written to DIR. With an argument the program writes pages to files in that directory, which test-pages.py reads.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <time.h>

#include "base/testing.h"
#include "ladder/ladder.h"
#include "report/page.h"
#include "report/report.h"
#include "report/rings.h"
#include "report/timeline.h"
#include "wire/frame.h"

#define BEGIN (1800000000 * (uint64_t)NS_S)
#define MARKUP "</style></title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x1b[31m\xff"
/* A report, and what belongs to it. */
struct made {
	struct report r;
	struct rings *rings;
	struct timeline *timeline;
};

static char *text;
static size_t text_len;

/* A copy of a member of golden/report.json. */
static struct json_object *fixed(const char *name)
{
	struct json_object *all = json_object_from_file(RUSE_GOLDEN "/report.json"), *o;

	assert_true(json_object_object_get_ex(all, name, &o));
	json_object_get(o);
	json_object_put(all);
	return o;
}

static void packet(struct rings *rs, uint32_t sqpn, uint32_t dqpn, uint32_t psn, uint8_t opcode,
		   const char *note)
{
	uint8_t buf[FRAME_MAX] = { 0 };
	struct seg_net net = { .sgid = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 },
			       .dgid = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 2 } };
	struct ladder_packet p = {
		.ns = BEGIN + psn, .frame = buf, .note = note, .sqpn = sqpn, .pid = 12,
		.comm = MARKUP,
	};
	struct bth bth = { .opcode = opcode, .dqpn = dqpn, .psn = psn, .pkey = 0xffff };
	size_t len;

	bth_put(buf + frame_head(&net), &bth);
	if (opcode == OP_ACK)
		aeth_put(buf + frame_head(&net) + BTH_LEN, &(struct aeth){ .syndrome = 0x63 });
	len = frame_wrap(buf, &net, 50000, BTH_LEN + AETH_LEN);
	p.caplen = p.len = (uint32_t)len;
	rings_add(rs, &p);
}

/* The process has moved so many bytes, and its QP is in this state. */
static void sample(struct timeline *t, uint64_t ms, int bytes, const char *comm, const char *state)
{
	struct json_object *o = json_object_new_object(), *ps = json_object_new_array();
	struct json_object *p = json_object_new_object(), *states = json_object_new_array();
	struct json_object *row = json_object_new_object();

	json_object_object_add(row, "state", json_object_new_string(state));
	json_object_object_add(row, "qps", json_object_new_int(1));
	json_object_array_add(states, row);
	json_object_object_add(p, "pid", json_object_new_int(12));
	json_object_object_add(p, "comm", json_object_new_string(comm));
	json_object_object_add(p, "running", json_object_new_boolean(1));
	json_object_object_add(p, "recvs", json_object_new_int(bytes));
	json_object_object_add(p, "recv_bytes", json_object_new_int(bytes));
	json_object_object_add(p, "states", states);
	json_object_array_add(ps, p);
	json_object_object_add(o, "processes", ps);
	timeline_add_run(t, BEGIN + ms * NS_MS, o);
	json_object_put(o);
}

static struct made make(void)
{
	struct made m = { .timeline = timeline_new() };

	m.r = (struct report){
		.version = "1.2.3", .machine = { { "machine", "m" }, { "kernel", "Linux" } }, .ran = true,
		.begin = BEGIN, .end = BEGIN + 4 * (uint64_t)NS_S, .run = fixed("run"),
		.failures = fixed("failures"), .failures_at = BEGIN + 4 * (uint64_t)NS_S,
		.rules = fixed("rules"), .log = "rused: one <line>\nrused: two\n", .log_name = "rused.log",
	};
	sample(m.timeline, 0, 0, "app", "INIT");
	sample(m.timeline, 500, 1000, "app", "RTS");
	sample(m.timeline, 1000, 9000, "app", "RTS");
	sample(m.timeline, 2500, 9000, "app", "RTS");
	sample(m.timeline, 3500, 9000, "app", "ERR");
	m.r.timeline = m.timeline;
	return m;
}

static void drop(struct made *m)
{
	json_object_put(m->r.run);
	json_object_put(m->r.failures);
	json_object_put(m->r.rules);
	json_object_put(m->r.stuck);
	json_object_put(m->r.status);
	json_object_put(m->r.fabric);
	rings_free(m->rings);
	timeline_free(m->timeline);
}

/* Writes the page to `text`, and to a file of the directory, if there is one. */
static void page_write(const struct made *m, const char *dir, const char *name)
{
	char path[4096];
	FILE *f;

	free(text);
	f = open_memstream(&text, &text_len);
	assert_non_null(f);
	report_write(f, &m->r);
	assert_int_equal(fclose(f), 0);
	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/%s.html", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, text_len, f), text_len);
	assert_int_equal(fclose(f), 0);
}

static void page_small(const char *dir)
{
	struct made m = make();

	page_write(&m, dir, "small");
	drop(&m);
}

static void page_timeout(const char *dir)
{
	struct made m = make();

	m.r.timeout = 90 * (uint64_t)NS_S;
	m.r.stuck = fixed("stuck");
	json_object_object_add(m.r.run, "status", json_object_new_int(124));
	page_write(&m, dir, "timeout");
	drop(&m);
}

static void page_now(const char *dir)
{
	struct made m = { .timeline = timeline_new() };

	m.r = (struct report){
		.version = "1.2.3", .begin = BEGIN, .end = BEGIN + NS_S, .status = fixed("status"),
		.stuck = fixed("stuck"),
	};
	timeline_add_status(m.timeline, BEGIN, m.r.status);
	timeline_add_status(m.timeline, BEGIN + NS_S, m.r.status);
	m.r.timeline = m.timeline;
	page_write(&m, dir, "now");
	drop(&m);
}

static void page_nothing(const char *dir)
{
	struct made m = { .timeline = NULL };

	page_write(&m, dir, "nothing");
}

/* Replaces all texts. */
static void spoil(struct json_object *o)
{
	if (json_object_is_type(o, json_type_string)) {
		json_object_set_string(o, MARKUP);
	} else if (json_object_is_type(o, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(o); i++)
			spoil(json_object_array_get_idx(o, i));
	} else if (json_object_is_type(o, json_type_object)) {
		json_object_object_foreach(o, key, v) {
			(void)key;
			spoil(v);
		}
	}
}

static void page_hostile(const char *dir)
{
	struct made m = make();

	m.r.stuck = fixed("stuck");
	m.r.timeout = NS_S;
	m.rings = rings_new();
	m.r.rings = m.rings;
	packet(m.rings, 17, 18, 1, 4, MARKUP);
	packet(m.rings, 18, 17, 1, OP_ACK, "");
	m.r.log = m.r.log_name = m.r.version = m.r.machine[0][1] = MARKUP;
	spoil(m.r.run);
	spoil(m.r.failures);
	spoil(m.r.stuck);
	spoil(m.r.rules);
	sample(m.timeline, 4000, 0, "</script>", "RTS");
	page_write(&m, dir, "hostile");
	drop(&m);
}

/* A list that is n times the first element of itself. */
static void multiply(struct json_object *list, size_t n)
{
	struct json_object *first = json_object_array_get_idx(list, 0), *copy;

	while (json_object_array_length(list) < n) {
		copy = NULL;
		assert_int_equal(json_object_deep_copy(first, &copy, NULL), 0);
		json_object_array_add(list, copy);
	}
}

static void page_large(const char *dir)
{
	static char log[400000];
	struct made m = make();
	struct json_object *ps, *p;

	memset(log, '<', sizeof(log) - 1);
	for (size_t i = 1999; i < sizeof(log) - 1; i += 2000)
		log[i] = '\n';
	m.r.log = log;
	m.r.stuck = fixed("stuck");
	m.rings = rings_new();
	m.r.rings = m.rings;
	for (uint32_t qpn = 2; qpn < 2002; qpn += 2)
		for (uint32_t i = 0; i < 80; i++)
			packet(m.rings, qpn, qpn + 1, i % 70, 4, "fault: dropped");
	ps = page_list(m.r.run, "processes");
	spoil(m.r.run);
	/* The timeline has room for fewer processes than these. */
	multiply(ps, 100);
	for (size_t i = 0; i < TIMELINE_SAMPLES; i++)
		timeline_add_run(m.timeline, BEGIN + (4000 + i) * NS_MS, m.r.run);
	multiply(ps, 1000);
	p = json_object_array_get_idx(page_list(m.r.failures, "processes"), 0);
	multiply(page_list(p, "failures"), 1000);
	multiply(page_list(m.r.failures, "processes"), 20);
	p = json_object_array_get_idx(page_list(m.r.stuck, "processes"), 0);
	multiply(page_list(p, "waits"), 5000);
	page_write(&m, dir, "large");
	drop(&m);
}

static void test_small(void **state)
{
	const char *update = getenv("RUSE_UPDATE");
	static char want[100000];
	char path[4096];
	FILE *f;

	(void)state;
	page_small(NULL);
	snprintf(path, sizeof(path), "%s/report.page", update ? update : RUSE_GOLDEN);
	f = fopen(path, update ? "w" : "r");
	assert_non_null(f);
	if (update) {
		assert_int_equal(fwrite(text, 1, text_len, f), text_len);
	} else {
		want[fread(want, 1, sizeof(want) - 1, f)] = '\0';
		assert_string_equal(text, want);
	}
	fclose(f);
}

static void has(const char *part)
{
	if (!strstr(text, part))
		fail_msg("not in the page: %s", part);
}

static void has_not(const char *part)
{
	if (strstr(text, part))
		fail_msg("in the page: %s", part);
}

static void test_verdicts(void **state)
{
	struct made m = make();

	(void)state;
	page_write(&m, NULL, NULL);
	has("Failed: the condition no-errors does not hold: 1 error: RX-013.");
	json_object_object_add(m.r.run, "status", json_object_new_int(7));
	page_write(&m, NULL, NULL);
	has("Failed: the command ended with status 7. 1 failure was seen: RX-013: the remote key is of another PD.");
	json_object_object_add(m.r.run, "status", json_object_new_int(0));
	json_object_object_del(m.r.run, "conditions");
	page_write(&m, NULL, NULL);
	has("Passed: the command ended with status 0. 1 failure was seen: RX-013: the remote key is of another PD.");
	json_object_object_add(m.r.run, "status", json_object_new_int(139));
	page_write(&m, NULL, NULL);
	has("Failed: the command ended with status 139: signal 11 (Segmentation fault).");
	json_object_object_add(m.r.run, "status", json_object_new_int(7));
	page_write(&m, NULL, NULL);
	has("Failed: the command ended with status 7.");
	drop(&m);
	page_timeout(NULL);
	has("Failed: the command had not ended after 90.0 s and was ended (--timeout); 2 things hung: see Hangs.");
	has("app (pid 12): rxe_0 QP 0x000011 receive, work request 3, waits for 5.0 s or longer");
	has("stopped (pid 14) does not answer: it is stopped by a signal");
	has_not("WAIT_LISTEN");
	page_now(NULL);
	has("1 process uses RDMA now. 1 wait and 1 process that does not answer.");
	page_nothing(NULL);
	has("No rused is running here.");
	has("no failures");
}

static void test_escaped(void **state)
{
	(void)state;
	page_hostile(NULL);
	has("&lt;script&gt;alert(1)&lt;/script&gt;");
	has_not("<script");
	has_not("<img");
	has_not("\x1b");
	has_not("\xff");
}

static void test_large(void **state)
{
	(void)state;
	page_large(NULL);
	assert_true(text_len <= PAGE_MAX);
	has("more</p>");
}

/* A NAK and a repetition are events; a fault is; the packets around the first event stay. */
static void test_rings(void **state)
{
	struct rings *rs = rings_new();
	const struct ring *r;

	(void)state;
	packet(rs, 5, 6, 10, 4, "");
	packet(rs, 6, 5, 99, 4, "");
	packet(rs, 5, 6, 11, 4, "");
	r = rings_find(rs, 6);
	assert_ptr_equal(r, rings_find(rs, 5));
	assert_int_equal(rings_count(rs), 1);
	assert_int_equal(ring_events(r), 0);
	packet(rs, 5, 6, 10, 4, "");
	assert_int_equal(ring_events(r), 1);
	packet(rs, 6, 5, 10, OP_ACK, "");
	packet(rs, 5, 6, 12, 4, "fault: dropped");
	assert_int_equal(ring_events(r), 3);
	assert_false(ring_has_first(r));
	for (uint32_t i = 0; i < 2 * RINGS_PACKETS; i++)
		packet(rs, 5, 6, 13 + i, 4, "");
	assert_int_equal(ring_events(r), 3);
	assert_true(ring_has_first(r));
	assert_non_null(ring_gid(r, 6));
	/* A peer on another host: its packets have no sender. */
	packet(rs, 0, 8, 1, 4, "");
	packet(rs, 8, 9, 1, 4, "");
	assert_int_equal(rings_count(rs), 2);
	assert_ptr_equal(rings_find(rs, 8), rings_find(rs, 9));
	/* The oldest give way. */
	for (uint32_t i = 0; i < 2 * RINGS_MAX; i++)
		packet(rs, 100 + 2 * i, 101 + 2 * i, 1, 4, "");
	assert_true(rings_count(rs) <= RINGS_MAX);
	assert_null(rings_find(rs, 5));
	assert_non_null(rings_find(rs, 100 + 4 * RINGS_MAX - 2));
	rings_free(rs);
}

static void test_timeline(void **state)
{
	struct timeline *t = timeline_new();
	size_t to;

	(void)state;
	for (size_t i = 0; i <= TIMELINE_SAMPLES; i++)
		sample(t, i * 250, 7, "app", "RTS");
	assert_int_equal(t->samples, TIMELINE_SAMPLES / 2 + 1);
	assert_int_equal(t->interval, 2 * TIMELINE_INTERVAL);
	assert_int_equal(t->ns[0], BEGIN + 250 * NS_MS);
	assert_int_equal(t->track[0].points[t->samples - 1].bytes, 7);
	assert_true(timeline_stalls(t, &t->track[0], 0, &to));
	assert_int_equal(to, t->samples - 1);
	assert_false(timeline_stalls(t, &t->track[0], to - 1, &to));
	timeline_free(t);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small),
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_escaped),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_timeline),
	};
	void (*const pages[])(const char *dir) = {
		page_small, page_timeout, page_now, page_nothing, page_hostile, page_large,
	};

	setenv("TZ", "UTC", 1);
	tzset();
	if (argc < 2)
		return cmocka_run_group_tests(tests, NULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
		pages[i](argv[1]);
	return 0;
}

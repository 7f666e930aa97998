/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules of `ruse fault` that are named for a failure: of its QP, of its kind, before it; also deleted ones. */
#include "base/testing.h"

#include <json-c/json.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/reports/blame.h"
#include "daemon/state/process.h"

static struct blame blame;
static struct processes processes;
static struct process one;
static struct proc_page *page;
static struct json_object *failure;

static int setup(void **state)
{
	memset(&blame, 0, sizeof(blame));
	list_init(&processes.list);
	one = (struct process){ .pid = 7, .proc = 1 };
	one.page_fd = memfd_create("page", MFD_CLOEXEC);
	assert_int_equal(ftruncate(one.page_fd, sizeof(*page)), 0);
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, one.page_fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	page->magic = PROC_PAGE_MAGIC;
	page->version = 1;
	list_add_tail(&one.node, &processes.list);
	return 0;
}

static int teardown(void **state)
{
	if (one.page_fd >= 0)
		close(one.page_fd);
	munmap(page, sizeof(*page));
	blame_fini(&blame);
	json_object_put(failure);
	failure = NULL;
	return 0;
}

/* A rule that is added at the time 10. */
static void rule(uint32_t id, enum fault_action action, const char *text)
{
	blame_rule_added(&blame, &(struct fault_rule){ .id = id, .action = action }, text, 10);
}

/* How many packets of how many rules are named for a failure of QP 0x11, connected to 0x22, at the time 50. */
static void named(enum why_id id, size_t rules, uint64_t packets)
{
	struct why_rec r = { .why = { .id = id, .arg = { 3 } }, .qpn = 0x11, .peer_qpn = 0x22,
			     .last = 50 };
	struct json_object *a = NULL, *v;
	uint64_t n = 0;

	json_object_put(failure);
	failure = json_object_new_object();
	blame_look(&blame, &processes);
	blame_put(&blame, failure, &r, 100);
	json_object_object_get_ex(failure, "rules", &a);
	assert_int_equal(a ? json_object_array_length(a) : 0, rules);
	for (size_t i = 0; i < rules; i++) {
		assert_true(json_object_object_get_ex(json_object_array_get_idx(a, i), "acted", &v));
		n += json_object_get_uint64(v);
	}
	assert_int_equal(n, packets);
}

/* The member of the first rule. */
static const char *member(const char *key)
{
	struct json_object *a, *v;

	assert_true(json_object_object_get_ex(failure, "rules", &a));
	assert_true(json_object_object_get_ex(json_object_array_get_idx(a, 0), key, &v));
	return json_object_get_string(v);
}

static void test_whose(void **state)
{
	static const struct {
		struct fault_act act;
		bool named;
	} cases[] = {
		{ { .qpn = 0x11, .peer_qpn = 0x22, .first = 20, .last = 30 }, true },
		{ { .qpn = 0x11, .first = 20, .last = 30 }, true },	/* from a wire */
		{ { .qpn = 0x22, .peer_qpn = 0x11, .first = 20, .last = 30 }, true },
		{ { .qpn = 0x22, .peer_qpn = 0x33, .first = 20, .last = 30 }, false },
		{ { .qpn = 0x22, .first = 20, .last = 30 }, true },	/* from a wire */
		{ { .qpn = 0x33, .peer_qpn = 0x11, .first = 20, .last = 30 }, false },
		{ { .qpn = 0x11, .peer_qpn = 0x22, .first = 20, .last = 70 }, true },
		/* After the failure; and by a rule with the same number of an earlier rused. */
		{ { .qpn = 0x11, .peer_qpn = 0x22, .first = 60, .last = 70 }, false },
		{ { .qpn = 0x11, .peer_qpn = 0x22, .first = 2, .last = 5 }, false },
	};

	rule(3, FAULT_DROP, "drop");
	named(WHY_RETRY_LOST, 0, 0);
	named(WHY_FAULT_RULE, 1, 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		page->act[1] = cases[i].act;
		page->act[1].rule = 3;
		page->act[1].n = 4;
		named(WHY_RETRY_LOST, cases[i].named, cases[i].named ? 4 : 0);
	}
}

static void test_kinds(void **state)
{
	static const enum fault_action actions[] = { FAULT_DROP, FAULT_RNR, FAULT_DUPLICATE,
						     FAULT_REORDER };
	static const struct {
		enum why_id id;
		uint64_t n;	/* a bit for each action */
		size_t rules;
	} cases[] = {
		{ WHY_RETRY_NEVER, 1, 1 }, { WHY_RETRY_LOST, 1, 1 }, { WHY_RNR_USED, 2, 1 },
		{ WHY_RNR_UNUSED, 2, 1 }, { WHY_RNR_RETRY, 2, 1 }, { WHY_DROP_PSN, 9, 2 },
		{ WHY_DUPLICATE_FIRST, 5, 2 }, { WHY_KEY_PD, 0, 0 }, { WHY_RETRY_DEAD, 1, 1 },
		{ WHY_RETRY_ROUTE, 0, 0 },
	};

	for (uint32_t i = 0; i < ARRAY_SIZE(actions); i++) {
		rule(i + 1, actions[i], "rule");
		page->act[i] = (struct fault_act){ .rule = i + 1, .qpn = 0x11, .peer_qpn = 0x22,
						   .n = 1u << i, .first = 20, .last = 30 };
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		named(cases[i].id, cases[i].rules, cases[i].n);
}

static void test_remembered(void **state)
{
	rule(1, FAULT_DROP, "drop 100%");
	rule(2, FAULT_DELAY, "delay 1us");
	page->act[0] = (struct fault_act){ .rule = 1, .qpn = 0x11, .n = 5, .first = 20,
					   .last = 30 };
	named(WHY_RETRY_LOST, 1, 5);
	assert_string_equal(member("deleted"), "false");
	assert_string_equal(member("rule"), "drop 100%");
	assert_string_equal(member("first_ns"), "80");
	assert_string_equal(member("last_ns"), "70");
	blame_process_gone(&blame, &one);
	close(one.page_fd);
	one.page_fd = -1;
	named(WHY_RETRY_LOST, 1, 5);
	blame_rule_deleted(&blame, 1, true, 60);
	blame_rule_deleted(&blame, 2, false, 60);
	named(WHY_RETRY_LOST, 1, 5);
	assert_string_equal(member("deleted"), "true");
	/* Many more come and go, and the oldest of the deleted ones makes room. */
	for (uint32_t id = 10; id < 10 + BLAME_RULES - FAULT_MAX_RULES - 1; id++) {
		rule(id, FAULT_DROP, "drop");
		blame_rule_deleted(&blame, id, true, 60 + id);
	}
	named(WHY_RETRY_LOST, 1, 5);
	for (uint32_t id = 1000; id < 1000 + BLAME_RULES; id++) {
		rule(id, FAULT_DROP, "drop");
		blame_rule_deleted(&blame, id, true, id);
	}
	named(WHY_RETRY_LOST, 0, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whose, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kinds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remembered, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

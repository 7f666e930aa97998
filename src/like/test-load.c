/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files of data/like, files with a mistake, and the strictest of all. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/testing.h"
#include "ipc/proc_page.h"
#include "like/load.h"
#include "like/shown.h"

static char failure[300];

static int read_text(const char *text, struct like *l)
{
	char path[] = "/tmp/ruse-like.XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	failure[0] = '\0';
	rc = like_read(path, l, failure, sizeof(failure));
	unlink(path);
	return rc;
}

static void shipped(void **state)
{
	static const struct {
		const char *name;
		enum like_driver driver;
		bool poll, gid_v1;
	} rows[] = {
		{ "rxe", LIKE_RXE, false, false },	  { "connectx-5", LIKE_MLX5, true, true },
		{ "connectx-6", LIKE_MLX5, true, true }, { "connectx-7", LIKE_MLX5, true, true },
		{ "e810", LIKE_IRDMA, true, false },	  { "bnxt", LIKE_BNXT, true, true },
	};
	struct like l;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), RUSE_LIKE_DATA "/%s.json", rows[i].name);
		assert_int_equal(like_read(path, &l, failure, sizeof(failure)), 0);
		assert_string_equal(l.name, rows[i].name);
		assert_int_equal(l.driver, rows[i].driver);
		assert_int_equal(l.credits_poll, rows[i].poll);
		assert_int_equal(l.gid_v1, rows[i].gid_v1);
	}
	assert_int_equal(l.e_send_opcode, (uint64_t)-EINVAL);
	assert_int_equal(l.missing, 1 << LIKE_NO_UC | 1 << LIKE_NO_MW | 1 << LIKE_NO_MCAST |
				    1 << LIKE_NO_RESIZE_CQ | 1 << LIKE_NO_RESIZE_SRQ |
				    1 << LIKE_NO_BIND_MW | 1 << LIKE_NO_LOCAL_INV);
	assert_int_equal(l.max_mr_size, 0x8000000000);
	assert_int_equal(l.max_srq_sge, like_default.max_srq_sge);
}

#define FILE_WITH(body) "{\"name\": \"x\", \"driver\": \"rxe\"" body "}"
#define VALUE(v) "{\"value\": " v ", \"evidence\": \"inferred\", \"source\": \"a test\"}"
#define GIDS(types, more) FILE_WITH(", \"gids\": {\"types\": " VALUE(types) more "}")
#define FIELD(name, v) FILE_WITH(", \"fields\": {\"" name "\": " VALUE(v) "}")

static void mistakes(void **state)
{
	static const struct {
		const char *text, *told;
	} rows[] = {
		{ "{", "" },
		{ "[]", "it is no object" },
		{ "{\"base\": \"e810\"}", "base is not known" },
		{ "{\"name\": \"x\", \"driver\": \"i40iw\"}", "`i40iw` is none of" },
		{ "{\"name\": \"x y\", \"driver\": \"rxe\"}", "not printable" },
		{ "{\"name\": \"\"}", "its name does not have 1 to 31 characters" },
		{ FILE_WITH(", \"fields\": []"), "fields is no object" },
		{ FIELD("max_sgee", "1"), "fields: max_sgee is not known" },
		{ FIELD("max_sge", "\"a\""), "fields: max_sge: \"a\" is no number" },
		{ FIELD("max_sge", "\"0x\""), "is no number" },
		{ FIELD("max_sge", "\"0x11111111111111111\""), "is no number" },
		{ FIELD("max_sge", "-1"), "is no number" },
		{ FIELD("max_sge", "1.5"), "is no number" },
		{ FIELD("max_mr_size", "18446744073709551615"), "is no number" },
		{ FIELD("max_mr_size", "99999999999999999999999"), "is no number" },
		{ FIELD("max_sge", "null"), "max_sge: it has no value" },
		{ FILE_WITH(", \"fields\": {\"max_sge\": null}"), "max_sge: it has no value" },
		{ FILE_WITH(", \"missing\": {\"opcodes\": [\"atomic_fetch_and_add\"]}"), "is not known" },
		{ "{\"name\": \"strictest\"}", "its name is that of" },
		{ FIELD("max_sge", "33"), "33 is not in 1 to 32" },
		{ FIELD("max_sge", "0"), "0 is not in 1 to 32" },
		{ FILE_WITH(", \"fields\": {\"max_sge\": {\"is\": 3}}"), "max_sge: it has no value" },
		{ FILE_WITH(", \"refused\": {\"create_cq.cqe\": " VALUE("22") "}"), "22 is no errno" },
		{ FILE_WITH(", \"refused\": {\"create_cq.cqe\": " VALUE("\"EFOO\"") "}"), "is no errno" },
		{ FILE_WITH(", \"create\": {\"credits\": " VALUE("\"never\"") "}"), "neither poll nor" },
		{ FILE_WITH(", \"missing\": {\"calls\": " VALUE("1") "}"), "calls is no list" },
		{ FILE_WITH(", \"gids\": []"), "gids: it has no types" },
		{ FILE_WITH(", \"gids\": {}"), "gids: it has no types" },
		{ GIDS("[\"v1\"]", ""), "types: neither v1 and v2, nor v2" },
		{ GIDS("[\"v2\", \"v1\"]", ""), "types: neither v1 and v2, nor v2" },
		{ GIDS("[]", ""), "types: neither v1 and v2, nor v2" },
		{ GIDS("[1]", ""), "types: neither v1 and v2, nor v2" },
		{ GIDS("[\"v2\"]", ", \"entries\": " VALUE("[\"IPv4 v2\"]")), "entries: not the order" },
		{ GIDS("[\"v2\"]", ", \"first_ipv4_v2\": " VALUE("3")), "these types give 1" },
		{ GIDS("[\"v1\", \"v2\"]", ", \"first_ipv4_v2\": " VALUE("1")), "these types give 3" },
		{ GIDS("[\"v2\"]", ", \"last\": " VALUE("1")), "gids: last is not known" },
		{ GIDS("[\"v2\"]", ", \"entries\": 1"), "entries: not the order" },
	};
	struct like l;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(read_text(rows[i].text, &l), -EINVAL);
		if (!strstr(failure, rows[i].told))
			fail_msg("row %zu: %s", i, failure);
	}
	assert_int_equal(read_text(FIELD("max_mr_size", "\"0x10000\""), &l), 0);
	assert_int_equal(l.max_mr_size, 0x10000);
	assert_int_equal(l.max_sge, like_default.max_sge);
	assert_int_equal(read_text(FILE_WITH(", \"refused\": {\"create_cq.cqe\": " VALUE("\"-ENOMEM\"") "}"),
				   &l), 0);
	assert_int_equal(like_errno(l.e_cqe), -ENOMEM);
	assert_int_equal(read_text(GIDS("[\"v1\", \"v2\"]", ""), &l), 0);
	assert_int_equal(l.gid_v1, 1);
	assert_int_equal(like_read("/nonexistent/x", &l, failure, sizeof(failure)), -EINVAL);
}

/* One's own file needs only what differs from rxe. */
static void own(void **state)
{
	struct like l;

	assert_int_equal(read_text("{}", &l), 0);
	assert_int_equal(l.driver, LIKE_EXACT);
	assert_string_equal(l.name, "ruse-like");
	assert_int_equal(read_text("{\"fields\": {\"max_sge\": 2}, \"create\": {\"max_inline_rc\": 64,"
				   "\"credits\": \"poll\"}, \"missing\": {\"qp_types\": [\"UC\"]},"
				   "\"gids\": {\"types\": [\"v1\", \"v2\"]}}", &l), 0);
	assert_int_equal(l.max_sge, 2);
	assert_int_equal(l.max_inline_rc, 64);
	assert_int_equal(l.max_inline_ud, like_default.max_inline_ud);
	assert_int_equal(l.credits_poll, 1);
	assert_int_equal(l.gid_v1, 1);
	assert_int_equal(l.missing, 1 << LIKE_NO_UC);
}

/* What is at a path need not be a file about an adapter. */
static void anything(void **state)
{
	static const struct {
		const char *path, *told;
	} rows[] = {
		{ "/", "it is no regular file" },
		{ "/dev/zero", "it is no regular file" },
		{ "/dev/null", "it is no regular file" },
		{ "/nonexistent/x", "No such file or directory" },
	};
	char dir[] = "/tmp/test-load-XXXXXX", fifo[64];
	struct like l;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(like_read(rows[i].path, &l, failure, sizeof(failure)), -EINVAL);
		assert_non_null(strstr(failure, rows[i].told));
	}
	assert_non_null(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(like_read(fifo, &l, failure, sizeof(failure)), -EINVAL);
	assert_non_null(strstr(failure, "it is no regular file"));
	unlink(fifo);
	rmdir(dir);
}

static void no_json(void **state)
{
	static const struct {
		const char *text, *told;
	} rows[] = {
		{ "", "it ends before its JSON does" },
		{ "{\n\n\"name\": ", "line 3: it ends before its JSON does" },
		{ "{\n\n?}", "line 3: " },
		{ "[]", "line 1: it is no object" },
		{ "null", "line 1: it is no object" },
		{ "{}\n{}", "there is more behind its object" },
		{ "{\"name\": \"a\", \"driver\": \"\\u001b[31m\"}", "`?[31m` is none of" },
	};
	static char text[(1 << 20) + 2];
	struct like l;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(read_text(rows[i].text, &l), -EINVAL);
		if (!strstr(failure, rows[i].told))
			fail_msg("row %zu: %s", i, failure);
	}
	memset(text, '[', 100000);
	assert_int_equal(read_text(text, &l), -EINVAL);
	assert_non_null(strstr(failure, "nesting"));
	memset(text, ' ', sizeof(text) - 1);
	assert_int_equal(read_text(text, &l), -EINVAL);
	assert_non_null(strstr(failure, "it has more than 1 MiB"));
}

/* A file that lacks a value is not the strictest: rxe's default is not that adapter's. */
static void known(void **state)
{
	bool has[LIKE_VALUES] = { false };
	struct like l;
	size_t n = 0;

	assert_int_equal(like_read_known(RUSE_LIKE_DATA "/bnxt.json", &l, has, failure,
					 sizeof(failure)), 0);
	for (size_t i = 0; i < like_nentries; i++) {
		if (!strcmp(like_entries[i].name, "max_mr") || !strcmp(like_entries[i].name, "max_srq")) {
			assert_false(has[i]);
			n++;
		}
		if (!strcmp(like_entries[i].name, "max_qp_wr")) {
			assert_true(has[i]);
			n++;
		}
	}
	assert_int_equal(n, 3);
}

static void specs(void **state)
{
	struct like l;

	assert_int_equal(like_load(RUSE_LIKE_DATA "/e810.json", &l, NULL, failure, sizeof(failure)), 0);
	assert_int_equal(l.credits_poll, 1);
	assert_int_equal(like_load(RUSE_LIKE_DATA "/e810.json,credits=completion", &l, NULL, failure,
				   sizeof(failure)), 0);
	assert_int_equal(l.credits_poll, 0);
	assert_int_equal(like_load(RUSE_LIKE_DATA "/rxe.json,credits=poll", &l, NULL, failure,
				   sizeof(failure)), 0);
	assert_int_equal(l.credits_poll, 1);
	assert_int_equal(like_load(RUSE_LIKE_DATA "/rxe.json,fast", &l, NULL, failure, sizeof(failure)),
			 -EINVAL);
	assert_non_null(strstr(failure, "`fast` is neither"));
}

/* The identity is taken if it is asked for. */
static void identity(void **state)
{
	struct like_shown shown;
	struct like l;

	assert_int_equal(like_load(RUSE_LIKE_DATA "/connectx-5.json,identity", &l, &shown, failure,
				   sizeof(failure)), 0);
	assert_int_equal(l.vendor_id, 0x2c9);
	assert_int_equal(l.vendor_part_id, 4121);
	assert_int_equal(l.fw_ver, (uint64_t)16 << 32 | 32 << 16 | 1010);
	assert_int_equal(l.octets, 1);
	assert_string_equal(shown.fw_ver, "16.32.1010");
	assert_string_equal(shown.board_id, "MT_0000000009");
	assert_string_equal(shown.device, "mlx5_");
	assert_int_equal(like_load(RUSE_LIKE_DATA "/connectx-5.json", &l, &shown, failure,
				   sizeof(failure)), 0);
	assert_int_equal(l.vendor_id, 0xffffff);
	assert_int_equal(l.vendor_part_id, 0);
	assert_int_equal(l.fw_ver, 0);
	assert_int_equal(l.octets, 1);
	assert_string_equal(shown.fw_ver, "");
	assert_string_equal(shown.device, "");
	/* rxe has its own already, and nothing more to count. */
	assert_int_equal(like_load(RUSE_LIKE_DATA "/rxe.json,identity", &l, &shown, failure,
				   sizeof(failure)), 0);
	assert_string_equal(shown.fw_ver, "");
	assert_int_equal(l.octets, 0);
	assert_int_equal(like_fw_ver("231.0.154.7"), (uint64_t)231 << 32 | 154);
	assert_int_equal(like_fw_ver("1.54"), (uint64_t)1 << 32 | 54 << 16);
}

static bool used[LIKE_DIRS][256];

/* Every name of the file has a row. */
static void use_rows(const struct like_shown *shown, enum like_dir dir)
{
	const struct like_counter *rows;

	like_counter_rows(dir, &rows);
	for (uint32_t k = 0; k < shown->dir[dir].n; k++) {
		assert_string_equal(shown->dir[dir].of[k]->name, shown->dir[dir].name[k]);
		used[dir][shown->dir[dir].of[k] - rows] = true;
	}
}

/* Every name has a row, and nothing else has one; the default is rxe's file. */
static void counters(void **state)
{
	static const char *const files[] = { "connectx-5", "connectx-6", "connectx-7", "e810", "bnxt", "rxe" };
	const struct like_counter *rows;
	struct like_shown shown;
	struct like l;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), RUSE_LIKE_DATA "/%s.json", files[i]);
		assert_int_equal(like_load(path, &l, &shown, failure, sizeof(failure)), 0);
		assert_int_equal(l.octets, strcmp(files[i], "rxe") != 0);
		use_rows(&shown, LIKE_HW_COUNTERS);
		use_rows(&shown, LIKE_COUNTERS);
	}
	/* The last file is rxe's. */
	assert_int_equal(shown.dir[0].n, like_shown_default.dir[0].n);
	assert_int_equal(shown.dir[1].n, 0);
	for (uint32_t k = 0; k < shown.dir[0].n; k++) {
		assert_string_equal(shown.dir[0].name[k], like_shown_default.dir[0].name[k]);
		assert_ptr_equal(shown.dir[0].of[k], like_shown_default.dir[0].of[k]);
	}
	for (int dir = 0; dir < LIKE_DIRS; dir++) {
		size_t n = like_counter_rows((enum like_dir)dir, &rows);

		for (size_t k = 0; k < n; k++)
			if (!used[dir][k])
				fail_msg("%s: no file has it", rows[k].name);
	}
}

static uint64_t value_of(enum like_dir dir, const char *name, const struct like_facts *f)
{
	return like_counter_value(like_counter_find(dir, name), f);
}

static void values(void **state)
{
	uint64_t counter[RDEV_COUNTERS], wire[64], object[LIKE_OBJECTS] = { [LIKE_QPS] = 3 };
	const struct like_facts f = { counter, wire, object };

	/* Each fact is a power of two or a number of its own, so that sums tell what is in them. */
	memset(counter, 0, sizeof(counter));
	for (int way = 0; way < 2; way++)
		for (int k = 0; k < 4; k++) {
			counter[CNT_PORT(way, k / 2, k % 2)] = 1u << (4 * way + k);
			counter[CNT_PORT(way, k / 2, k % 2) + 1] = 0x1000u << (4 * way + k);
		}
	for (size_t i = 0; i < ARRAY_SIZE(wire); i++)
		wire[i] = 1000000 + i;
	for (int s = 0; s < CNT_STATUSES; s++) {
		counter[CNT_FAILED(0, s)] = 1u << s;
		counter[CNT_FAILED(1, s)] = 0x10000u << s;
	}
	counter[CNT_LINK_DOWNED] = 300;
	assert_int_equal(value_of(LIKE_COUNTERS, "port_xmit_data", &f), 0xf000 / 4);
	assert_int_equal(value_of(LIKE_COUNTERS, "port_rcv_data", &f), 0xf0000 / 4);
	assert_int_equal(value_of(LIKE_COUNTERS, "port_xmit_packets", &f), 0xf);
	assert_int_equal(value_of(LIKE_COUNTERS, "port_rcv_packets", &f), 0xf0);
	assert_int_equal(value_of(LIKE_COUNTERS, "unicast_xmit_packets", &f), 0x5);
	assert_int_equal(value_of(LIKE_COUNTERS, "multicast_rcv_packets", &f), 0xa0);
	assert_int_equal(value_of(LIKE_COUNTERS, "link_downed", &f), 255);
	assert_int_equal(value_of(LIKE_COUNTERS, "port_xmit_discards", &f), 65535);
	assert_int_equal(value_of(LIKE_COUNTERS, "symbol_error", &f), 0);
	assert_int_equal(value_of(LIKE_HW_COUNTERS, "link_downed", &f), 300);
	assert_int_equal(value_of(LIKE_HW_COUNTERS, "ip4OutOctets", &f), 0x3000);
	assert_int_equal(value_of(LIKE_HW_COUNTERS, "ip6InPkts", &f), 0xc0);
	assert_int_equal(value_of(LIKE_HW_COUNTERS, "ip6OutMcastOctets", &f), 0x8000);
	assert_int_equal(value_of(LIKE_HW_COUNTERS, "tx_bytes", &f), 0x5000);
	assert_int_equal(value_of(LIKE_HW_COUNTERS, "req_cqe_error", &f), 0x3fff);
	assert_int_equal(value_of(LIKE_HW_COUNTERS, "resp_cqe_error", &f), 0x3fff0000);
	assert_int_equal(value_of(LIKE_HW_COUNTERS, "req_cqe_flush_error", &f), 1 << 5);
	assert_int_equal(value_of(LIKE_HW_COUNTERS, "active_qps", &f), 3);
	assert_int_equal(value_of(LIKE_HW_COUNTERS, "rx_icrc_encapsulated", &f), 1000000 + WIRE_BAD_ICRC);
}

/* Mistakes in what is shown. */
static void shown_mistakes(void **state)
{
	static const struct {
		const char *text, *told;
	} rows[] = {
		{ FILE_WITH(", \"hw_counters\": {\"names\": " VALUE("3") "}"), "names is no list" },
		{ FILE_WITH(", \"counters\": 5"), "counters is no object" },
		{ FILE_WITH(", \"counters\": {\"names\": [\"port_xmit_data\", \"port_xmit_data\"]}"),
		  "port_xmit_data is there twice" },
		{ FILE_WITH(", \"hw_counters\": {\"names\": " VALUE("[\"a/b\"]") "}"), "is no name" },
		{ FILE_WITH(", \"hw_counters\": {\"names\": " VALUE("[7]") "}"), "is no name" },
		{ FILE_WITH(", \"counters\": {\"names\": " VALUE("[\"sent_pkts\"]") "}"), "sent_pkts is not known" },
		{ FILE_WITH(", \"identity\": {\"fw_ver\": " VALUE("7") "}"), "fw_ver is no text" },
		{ FILE_WITH(", \"identity\": {\"board_id\": " VALUE("\"a\\nb\"") "}"), "board_id is no text" },
		{ FILE_WITH(", \"identity\": {\"device_name\": " VALUE("\"x\"") "}"), "device_name is no name" },
		{ FILE_WITH(", \"identity\": {\"device_name\": " VALUE("\"../%d\"") "}"), "device_name is no name" },
		{ FILE_WITH(", \"identity\": {\"device_name\": " VALUE("\"%d\"") "}"), "device_name is no name" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char path[] = "/tmp/ruse-like.XXXXXX";
		int fd = mkstemp(path);
		struct like_shown shown;
		struct like l;

		assert_true(fd >= 0);
		assert_true(write(fd, rows[i].text, strlen(rows[i].text)) > 0);
		close(fd);
		assert_int_equal(like_read_shown(path, true, &shown, failure, sizeof(failure)),
				 -EINVAL);
		assert_ptr_equal(strstr(failure, path), failure);
		/* rxe's identity is not looked at. */
		assert_int_equal(like_load(path, &l, NULL, failure, sizeof(failure)),
				 strstr(rows[i].text, "identity") ? 0 : -EINVAL);
		if (!strstr(failure, rows[i].told))
			fail_msg("row %zu: %s", i, failure);
		unlink(path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shipped),
		cmocka_unit_test(mistakes),
		cmocka_unit_test(own),
		cmocka_unit_test(anything),
		cmocka_unit_test(no_json),
		cmocka_unit_test(known),
		cmocka_unit_test(specs),
		cmocka_unit_test(identity),
		cmocka_unit_test(counters),
		cmocka_unit_test(values),
		cmocka_unit_test(shown_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tests of the files that rused keeps in the run directory: one device with two GIDs in a temporary
 * directory, created, changed and removed. expect() compares the content of one file below
 * sys/class.
 */
#include "base/testing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/sysfs/sysfs.h"

static char dir[32];
static int run;
static struct host_dev dev;
static struct like_shown like = {
	.dir[LIKE_HW_COUNTERS] = { .n = 2, .name = { "sent_pkts", "rcvd_pkts" } },
};

static int setup(void **state)
{
	strcpy(dir, "/tmp/test-sysfs-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	run = open(dir, O_RDONLY | O_DIRECTORY);
	memset(&dev, 0, sizeof(dev));
	dev = (struct host_dev){ .in_use = 1, .index = 1, .name = "rxe_0", .minor = 192, .state = 4,
				 .phys_state = 5, .active_width = 1, .active_speed = 1,
				 .cap_mask = 0x10000, .ndev = "eth0", .gid_len = 1024, .ngids = 2 };
	memcpy(dev.node_guid, "\x52\x54\x00\xff\xfe\x77\x00\x01", 8);
	memcpy(dev.gid[0].raw, "\xfe\x80\0\0\0\0\0\0\x50\x54\x00\xff\xfe\x77\x00\x01", 16);
	memcpy(dev.gid[1].raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\xa8\x4d\x01", 16);
	return sysfs_init(run) || sysfs_device(run, NULL, &dev, &like);
}

static int entries(const char *path)
{
	int fd = openat(run, path, O_RDONLY | O_DIRECTORY), n = 0;
	struct dirent *e;
	DIR *d;

	if (fd < 0)
		return -1;
	d = fdopendir(fd);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	closedir(d);
	return n;
}

static int teardown(void **state)
{
	sysfs_remove(run);
	if (entries("."))
		return -1;	/* something was not removed */
	close(run);
	return rmdir(dir);
}

static void expect(const char *path, const char *want)
{
	char full[256], text[256] = "";
	ssize_t n;
	int fd;

	snprintf(full, sizeof(full), "sys/class/%s", path);
	fd = openat(run, full, O_RDONLY);
	if (!want) {
		assert_int_equal(fd, -1);
		assert_int_equal(errno, ENOENT);
		return;
	}
	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(n >= 0);
	assert_string_equal(text, want);
}

#define R "infiniband/rxe_0/"
#define P R "ports/1/"

static void test_device(void **state)
{
	char link[128] = "";
	struct stat st;

	expect(R "node_type", "1: CA\n");
	expect(R "node_guid", "5254:00ff:fe77:0001\n");
	expect(R "parent", "eth0\n");
	expect(R "fw_ver", "\n");
	expect(P "state", "4: ACTIVE\n");
	expect(P "phys_state", "5: LinkUp\n");
	expect(P "rate", "2.5 Gb/sec (1X SDR)\n");
	expect(P "cap_mask", "0x00010000\n");
	expect(P "pkeys/0", "0xffff\n");
	expect(P "gids/0", "fe80:0000:0000:0000:5054:00ff:fe77:0001\n");
	expect(P "gids/1", "0000:0000:0000:0000:0000:ffff:c0a8:4d01\n");
	expect(P "gids/2", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	expect(P "gids/1023", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	expect(P "gids/1024", NULL);
	expect(P "gid_attrs/types/1", "RoCE v2\n");
	expect(P "gid_attrs/ndevs/1", "eth0\n");
	expect(P "gid_attrs/types/2", NULL);
	expect(P "cm_tx_msgs/req", "0\n");
	expect(P "cm_rx_duplicates/apr", "0\n");
	assert_int_equal(entries("sys/class/" P "cm_tx_retries"), 11);
	assert_int_equal(sysfs_cm_counter(run, "rxe_0", 2, 7, 5), 0);
	expect(P "cm_rx_msgs/sidr_req", "5\n");
	assert_int_equal(entries("sys/class/" P "hw_counters"), 3);
	expect(P "hw_counters/rcvd_pkts", "0\n");
	expect(P "hw_counters/lifespan", "12\n");
	/* rxe has no performance agent. */
	assert_int_equal(faccessat(run, "sys/class/" P "counters", F_OK, 0), -1);
	assert_int_equal(sysfs_counter(run, "rxe_0", "hw_counters/sent_pkts", 17), 0);
	expect(P "hw_counters/sent_pkts", "17\n");
	expect("infiniband_verbs/abi_version", "6\n");
	expect("infiniband_verbs/uverbs0/dev", "231:192\n");
	expect("infiniband_verbs/uverbs0/ibdev", "rxe_0\n");
	expect("infiniband_verbs/uverbs0/abi_version", "2\n");
	expect("misc/rdma_cm/abi_version", "4\n");
	expect("misc/rdma_cm/dev", "10:124\n");
	assert_int_equal(entries("sys/class/" R "device/net"), 1);
	assert_true(readlinkat(run, "sys/class/" R "device/net/eth0", link, sizeof(link) - 1) > 0);
	assert_string_equal(link, "/sys/class/net/eth0");
	memset(link, 0, sizeof(link));
	assert_int_equal(entries("sys/class/" P "gids"), 1024);
	assert_true(readlinkat(run, "sys/class/infiniband/rxe_0", link, sizeof(link) - 1) > 0);
	assert_string_equal(link, "../../devices/virtual/infiniband/rxe_0");
	assert_int_equal(fstatat(run, "dev/infiniband/uverbs0", &st, 0), 0);
}

static void test_change(void **state)
{
	struct host_dev was = dev;

	dev.state = 1;
	dev.phys_state = 2;
	memset(&dev.gid[1], 0, sizeof(dev.gid[1]));
	memcpy(dev.gid[3].raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\x00\x00\x01", 16);
	dev.ngids = 4;
	assert_int_equal(sysfs_device(run, &was, &dev, &like), 0);
	expect(P "state", "1: DOWN\n");
	expect(P "phys_state", "2: Polling\n");
	expect(P "gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	expect(P "gid_attrs/types/1", NULL);
	expect(P "gids/3", "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
	expect(P "gid_attrs/ndevs/3", "eth0\n");
	/* Empty entries share one file: writing one entry must not change the others. */
	expect(P "gids/4", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	assert_int_equal(entries("."), 2);
}

/* Entries of both RoCE versions, in a table that is shorter than the host page's. */
static void test_types(void **state)
{
	struct host_dev was = dev;

	sysfs_device(run, &dev, NULL, &like);
	dev.gid_len = 32;
	dev.gid[0].v1 = 1;
	assert_int_equal(sysfs_device(run, NULL, &dev, &like), 0);
	assert_int_equal(entries("sys/class/" P "gids"), 32);
	expect(P "gids/31", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	expect(P "gid_attrs/types/0", "IB/RoCE v1\n");
	expect(P "gid_attrs/types/1", "RoCE v2\n");
	was = dev;
	dev.gid[1].v1 = 1;
	assert_int_equal(sysfs_device(run, &was, &dev, &like), 0);
	expect(P "gid_attrs/types/1", "IB/RoCE v1\n");
	assert_int_equal(entries("sys/class/" P "gids"), 32);
}

static void test_rates(void **state)
{
	static const struct { uint8_t width, speed; const char *text; } rows[] = {
		{ 1, 8, "10 Gb/sec (1X FDR10)\n" }, { 2, 2, "20 Gb/sec (4X DDR)\n" },
		{ 1, 32, "25 Gb/sec (1X EDR)\n" }, { 2, 32, "100 Gb/sec (4X EDR)\n" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct host_dev was = dev;

		dev.active_width = rows[i].width;
		dev.active_speed = rows[i].speed;
		assert_int_equal(sysfs_device(run, &was, &dev, &like), 0);
		expect(P "rate", rows[i].text);
	}
}

/* An open descriptor keeps the old text. No temporary file is left, also not one of a rused that was killed. */
static void test_replace(void **state)
{
	char text[32] = "";
	int fd, left;

	assert_int_equal(sysfs_counter(run, "rxe_0", "hw_counters/sent_pkts", 7), 0);
	fd = openat(run, "sys/class/" P "hw_counters/sent_pkts", O_RDONLY);
	left = openat(run, ".new", O_WRONLY | O_CREAT | O_EXCL, 0400);
	assert_true(fd >= 0 && left >= 0);
	close(left);
	assert_int_equal(sysfs_counter(run, "rxe_0", "hw_counters/sent_pkts", 8), 0);
	expect(P "hw_counters/sent_pkts", "8\n");
	assert_int_equal(read(fd, text, sizeof(text)), 2);
	assert_string_equal(text, "7\n");
	close(fd);
	assert_int_equal(faccessat(run, ".new", F_OK, 0), -1);
}

static void test_mad(void **state)
{
	char link[64] = "";

	expect("infiniband_mad/abi_version", "5\n");
	assert_int_equal(sysfs_mad(run, 3, "rxe_0", 1), 0);
	expect("infiniband_mad/umad3/ibdev", "rxe_0\n");
	expect("infiniband_mad/umad3/port", "1\n");
	expect("infiniband_mad/umad3/dev", "231:3\n");
	expect("infiniband_mad/issm3/ibdev", "rxe_0\n");
	expect("infiniband_mad/issm3/dev", "231:67\n");
	expect(R "device/infiniband_mad/umad3/port", "1\n");
	expect(R "device/infiniband_mad/issm3/subsystem/umad3/port", "1\n");
	assert_true(readlinkat(run, "sys/class/infiniband_mad/umad3", link, sizeof(link) - 1) > 0);
	assert_string_equal(link, "../../devices/virtual/infiniband_mad/umad3");
	assert_int_equal(entries("dev/infiniband"), 4);
	/* If umad3 exists already, sysfs_mad() replaces the content of its files. */
	assert_int_equal(sysfs_mad(run, 3, "rxe_0", 2), 0);
	expect("infiniband_mad/umad3/port", "2\n");
	assert_int_equal(sysfs_mad(run, 3, "rxe_0", 0), 0);
	assert_int_equal(entries("sys/class/infiniband_mad"), 1);
	assert_int_equal(entries("sys/devices/virtual/infiniband_mad"), 0);
	assert_int_equal(entries("dev/infiniband"), 2);
}

static void test_gone(void **state)
{
	assert_int_equal(sysfs_device(run, &dev, NULL, &like), 0);
	assert_int_equal(entries("sys/class/infiniband"), 0);
	assert_int_equal(entries("sys/class/infiniband_verbs"), 1);
	assert_int_equal(entries("sys/devices/virtual/infiniband"), 0);
	/* rdma_cm belongs to no device. */
	assert_int_equal(entries("dev/infiniband"), 1);
	expect("misc/rdma_cm/dev", "10:124\n");
}

/* A device with the counters and the identity of an adapter. */
static void test_like(void **state)
{
	const struct like_shown rxe = like;

	sysfs_device(run, &dev, NULL, &like);
	like.dir[LIKE_COUNTERS].n = 1;
	like.dir[LIKE_COUNTERS].name[0] = "port_xmit_data";
	strcpy(like.fw_ver, "16.1");
	strcpy(like.board_id, "MT_1");
	strcpy(like.node_desc, "an adapter");
	assert_int_equal(sysfs_device(run, NULL, &dev, &like), 0);
	expect(P "counters/port_xmit_data", "0\n");
	assert_int_equal(sysfs_counter(run, "rxe_0", "counters/port_xmit_data", 5), 0);
	expect(P "counters/port_xmit_data", "5\n");
	expect(R "fw_ver", "16.1\n");
	expect(R "board_id", "MT_1\n");
	expect(R "node_desc", "an adapter\n");
	expect(R "hca_type", NULL);
	like = rxe;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_change, setup, teardown),
		cmocka_unit_test_setup_teardown(test_types, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mad, setup, teardown),
		cmocka_unit_test_setup_teardown(test_like, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gone, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

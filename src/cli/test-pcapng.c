/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What pcapng.c writes, capture_read.c reads; files that are cut off or damaged end with an error. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/testing.h"
#include "cli/capture.h"
#include "cli/pcapng.h"

static const uint8_t frame[64] = { 1, 2, 3, [62] = 4, 5 };
static unsigned int seen, stop_at;

static struct captured packet(unsigned int i)
{
	return (struct captured){ .ns = 1700000000000000000ull + i, .frame = frame,
				  .caplen = 60 + i, .len = 64 + i, .comm = "prog", .note = "",
				  .dev = i & 1 ? "rxe_1" : "rxe_0", .in = i >> 1 };
}

static int got(const struct captured *p, void *arg)
{
	struct captured want = packet(seen);

	assert_int_equal(p->ns, want.ns);
	assert_int_equal(p->caplen, want.caplen);
	assert_int_equal(p->len, want.len);
	assert_memory_equal(p->frame, frame, p->caplen);
	assert_string_equal(p->dev, want.dev);
	assert_int_equal(p->in, want.in);
	return ++seen == stop_at ? 7 : 0;
}

static size_t make(char **file)
{
	size_t size;
	FILE *f = open_memstream(file, &size);
	struct pcapng *w = pcapng_open(f, 256);

	assert_non_null(w);
	for (unsigned int i = 0; i < 4; i++) {
		struct captured p = packet(i);

		pcapng_packet(w, &p);
	}
	pcapng_close(w, 3);
	fclose(f);
	return size;
}

static int read_bytes(const char *file, size_t size)
{
	FILE *f = fmemopen((void *)file, size, "r");
	int ret;

	assert_non_null(f);
	seen = 0;
	ret = capture_read(f, got, NULL);
	fclose(f);
	return ret;
}

static void test_whole(void **state)
{
	char *file;
	size_t size = make(&file);

	stop_at = 0;
	assert_int_equal(read_bytes(file, size), 0);
	assert_int_equal(seen, 4);
	stop_at = 2;
	assert_int_equal(read_bytes(file, size), 7);
	assert_int_equal(seen, 2);
	free(file);
}

/* A file that ends at any byte is read up to there, or is an error. */
static void test_cut(void **state)
{
	char *file;
	size_t size = make(&file);
	unsigned int errors = 0;

	stop_at = 0;
	for (size_t n = 1; n < size; n++) {
		int ret = read_bytes(file, n);

		assert_true(!ret || ret == -EPROTO);
		/* Every block has a multiple of 4 bytes. */
		assert_true(ret || n % 4 == 0);
		errors += ret != 0;
	}
	assert_true(errors > size / 2);
	file[0] = 1;
	assert_int_equal(read_bytes(file, size), -EPROTO);
	free(file);
}

static int got_type(const struct captured *p, void *arg)
{
	static const uint8_t macs[12];

	assert_memory_equal(p->frame, macs, sizeof(macs));
	assert_memory_equal(p->frame + 12, "\x08\x00xyz", 5);
	assert_int_equal(p->caplen, 17);
	assert_int_equal(p->len, 19);
	seen++;
	return 0;
}

/* A pcap file of this link type with one frame: head, then "xyz". */
static int read_cooked(uint32_t link, const char *head, uint32_t len)
{
	uint32_t file[64] = { PCAP_MAGIC_NS, 4 << 16 | 2, 0, 0, 65535, link };
	FILE *f;
	int ret;

	file[8] = len + 3;
	file[9] = len + 5;
	memcpy(file + 10, head, len);
	memcpy((char *)(file + 10) + len, "xyz", 3);
	f = fmemopen(file, 40 + len + 3, "r");
	assert_non_null(f);
	seen = 0;
	ret = capture_read(f, got_type, NULL);
	fclose(f);
	return ret;
}

/* Files of `tcpdump -i any` have frames of Ethernet after reading. */
static void test_cooked(void **state)
{
	assert_int_equal(read_cooked(PCAP_LINK_SLL, "abcdefghijklmn\x08\x00", 16), 0);
	assert_int_equal(seen, 1);
	assert_int_equal(read_cooked(PCAP_LINK_SLL2, "\x08\x00" "cdefghijklmnopqrst", 20), 0);
	assert_int_equal(seen, 1);
	/* The frame ends within its header. */
	assert_int_equal(read_cooked(PCAP_LINK_SLL2, "\x08\x00" "cdefghijklmn", 14), 0);
	assert_int_equal(seen, 0);
	assert_int_equal(read_cooked(PCAP_LINK_SLL + 1, "", 0), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cooked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

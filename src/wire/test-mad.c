/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/testing.h"
#include "wire/cm_msg.h"
#include "wire/mad.h"
#include "wire/packet.h"

static uint8_t mad[MAD_LEN];

static void make(uint8_t mgmt_class, uint8_t version, uint8_t method, uint16_t attr)
{
	memset(mad, 0, sizeof(mad));
	mad[MAD_O_BASE_VERSION] = 1;
	mad[MAD_O_CLASS] = mgmt_class;
	mad[MAD_O_CLASS_VERSION] = version;
	mad[MAD_O_METHOD] = method;
	put_be64(mad + MAD_O_TID, 0x100000002);
	put_be16(mad + MAD_O_ATTR, attr);
}

static void expect(const char *want)
{
	char line[512];
	int n = mad_print(mad, sizeof(mad), line, sizeof(line));

	assert_string_equal(line, want);
	assert_int_equal(n, strlen(want));
	for (size_t size = 1; size < sizeof(line); size += 7) {
		char *small = malloc(size);

		assert_non_null(small);
		mad_print(mad, sizeof(mad), small, size);
		assert_int_equal(strlen(small), min(size - 1, strlen(want)));
		free(small);
	}
}

static void test_print(void **state)
{
	make(MAD_CLASS_PERF, 1, MAD_GET, 0x12);
	expect("Perf Get PortCounters tid 0x100000002");
	put_be16(mad + MAD_O_STATUS, 0xc);
	put_be32(mad + MAD_O_ATTR_MOD, 3);
	mad[MAD_O_METHOD] |= MAD_RESP;
	expect("Perf GetResp PortCounters tid 0x100000002 mod 0x3 status 0x000c");
	make(0x22, 1, 0x44, 0x999);
	expect("class 0x22 method 0x44 attr 0x999 tid 0x100000002");
	make(0x0a, 1, MAD_SET, 1);
	expect("Vendor Set ClassPortInfo tid 0x100000002");
	make(MAD_CLASS_PERF, 1, MAD_GET_TABLE, 0x12);	/* GetTable exists in SA only */
	expect("Perf method 0x12 PortCounters tid 0x100000002");
	make(MAD_CLASS_SUBN_LID, 1, MAD_GET, 1);	/* SMPs have no ClassPortInfo */
	expect("SMP Get attr 0x1 tid 0x100000002");
	mad[MAD_O_BASE_VERSION] = 0x80;
	expect("MAD of base version 128");
}

static void test_directed(void **state)
{
	make(MAD_CLASS_SUBN_DR, 1, MAD_GET, 0x11);
	put_be16(mad + MAD_O_CLASS_SPECIFIC, 0x0102);
	mad[SMP_O_INITIAL_PATH + 1] = 1;
	mad[SMP_O_INITIAL_PATH + 2] = 17;
	expect("SMP-DR Get NodeInfo tid 0x100000002 hop 1/2 path 0,1,17");
	put_be16(mad + MAD_O_STATUS, SMP_DIRECTION);
	mad[MAD_O_METHOD] |= MAD_RESP;
	expect("SMP-DR GetResp NodeInfo tid 0x100000002 hop 1/2 path 0,1,17 return");
	put_be16(mad + MAD_O_CLASS_SPECIFIC, 0xffff);	/* hop count beyond the path's length */
	assert_true(mad_print(mad, sizeof(mad), (char[1024]){ 0 }, 1024) > 64 * 2);
}

static void test_rmpp(void **state)
{
	make(MAD_CLASS_SUBN_ADM, 2, MAD_GET_TABLE | MAD_RESP, 0x35);
	mad[RMPP_O_VERSION] = 1;
	mad[RMPP_O_TYPE] = RMPP_DATA;
	mad[RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE | RMPP_F_FIRST | RMPP_F_LAST;
	put_be32(mad + RMPP_O_SEG, 1);
	put_be32(mad + RMPP_O_LEN_WIN, 84);
	expect("SA GetTableResp PathRecord tid 0x100000002 rmpp DATA seg 1 len 84 first last");
	mad[RMPP_O_TYPE] = RMPP_ACK;
	mad[RMPP_O_RTIME_FLAGS] = RMPP_F_ACTIVE;
	expect("SA GetTableResp PathRecord tid 0x100000002 rmpp ACK seg 1 win 84");
	mad[RMPP_O_TYPE] = RMPP_ABORT;
	mad[RMPP_O_STATUS] = RMPP_ST_T2L;
	expect("SA GetTableResp PathRecord tid 0x100000002 rmpp ABORT seg 1 len 84 status 118 "
	       "(total time too long)");
	mad[RMPP_O_TYPE] = 9;
	mad[RMPP_O_STATUS] = 200;
	expect("SA GetTableResp PathRecord tid 0x100000002 rmpp type 0x9 seg 1 len 84 status 200");
	make(0x32, 1, MAD_SEND, 0x10);
	put_be24(mad + VENDOR_O_OUI, 0x001405);
	expect("Vendor Send attr 0x10 tid 0x100000002 oui 001405");
}

static void test_cm(void **state)
{
	struct cm_hdr h = { .tid = 5, .attr = CM_ATTR_RTU };

	cm_msg_init(mad, &h);
	cm_set(mad, CM_RTU_LOCAL_COMM_ID, 0x1234);
	expect("CM RTU tid=0x5 LOCAL_COMM_ID=0x1234");
	make(MAD_CLASS_CM, 2, MAD_GET, MAD_ATTR_CLASS_PORT_INFO);
	expect("CM Get ClassPortInfo tid 0x100000002");
	make(MAD_CLASS_CM, 1, MAD_SEND, CM_ATTR_REQ);	/* old class version */
	expect("CM Send ConnectRequest tid 0x100000002");
	make(MAD_CLASS_CM, 2, MAD_SEND, CM_ATTR_END);
	expect("CM Send attr 0x1b tid 0x100000002");
}

/* A datagram of 256 bytes to QP 1 is printed as a MAD; other lengths or QPs are not. */
static void test_packet(void **state)
{
	uint8_t packet[BTH_LEN + DETH_LEN + MAD_LEN] = { 0x64 };
	char line[512];

	make(MAD_CLASS_PERF, 1, MAD_GET, 0x12);
	memcpy(packet + BTH_LEN + DETH_LEN, mad, MAD_LEN);
	packet[2] = packet[3] = 0xff;
	packet[7] = 1;
	packet_print(packet, sizeof(packet), line, sizeof(line));
	assert_string_equal(line, "UD SEND_ONLY psn 0 qp 0x1 len 256 sqp 0x0 qkey 0x0"
				  " | Perf Get PortCounters tid 0x100000002");
	for (size_t size = 1; size < sizeof(line); size++)
		assert_true(packet_print(packet, sizeof(packet), line, size) < (int)size);
	packet_print(packet, sizeof(packet) - 4, line, sizeof(line));
	assert_null(strchr(line, '|'));
	packet[7] = 2;
	packet_print(packet, sizeof(packet), line, sizeof(line));
	assert_null(strchr(line, '|'));
}

static void test_short(void **state)
{
	char line[64];

	make(MAD_CLASS_PERF, 1, MAD_GET, 0x12);
	mad_print(mad, MAD_LEN - 1, line, sizeof(line));
	assert_string_equal(line, "MAD of 255 bytes");
	mad_print(NULL, 0, line, sizeof(line));
	assert_string_equal(line, "MAD of 0 bytes");
}

/*
 * Which classes have an RMPP header, and their header lengths, as in IBA tables 111 and 191 and
 * chapter 16.
 */
static void test_classes(void **state)
{
	for (unsigned int c = 0; c < 256; c++) {
		bool vendor = c >= 0x30 && c <= 0x4f;
		bool dev = c == 0x06 || c == 0x10 || c == 0x12;

		assert_int_equal(mad_class_has_oui((uint8_t)c), vendor);
		assert_int_equal(mad_class_has_rmpp((uint8_t)c), vendor || dev || c == 3);
		assert_int_equal(mad_hdr_len((uint8_t)c),
				 vendor ? 40 : dev ? 64 : c == 3 ? 56 : 24);
	}
}

/* No name occurs twice in a class, which would be a typing error in wire/mad_names.c. */
static void test_names(void **state)
{
	for (unsigned int c = 0; c < 256; c++)
		for (unsigned int i = 0; i < 0x100; i++) {
			const char *s = mad_attr_name((uint8_t)c, (uint16_t)i);

			for (unsigned int j = 0; s && j < i; j++) {
				const char *o = mad_attr_name((uint8_t)c, (uint16_t)j);

				assert_true(!o || strcmp(s, o));
			}
		}
	for (unsigned int i = RMPP_NONE; i <= RMPP_ABORT; i++)
		assert_non_null(rmpp_type_name((uint8_t)i));
	assert_null(rmpp_type_name(RMPP_ABORT + 1));
	for (unsigned int i = RMPP_ST_ABORT_MIN; i <= RMPP_ST_ABORT_MAX; i++)
		assert_non_null(rmpp_status_name((uint8_t)i));
	assert_null(rmpp_status_name(2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print), cmocka_unit_test(test_directed),
		cmocka_unit_test(test_rmpp),  cmocka_unit_test(test_cm),
		cmocka_unit_test(test_packet), cmocka_unit_test(test_short),
		cmocka_unit_test(test_classes), cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The counters of adapters, by name, which no two drivers use for different things. What a name means: the kernel's
 * Documentation/infiniband and, of mlx5, the vendor's manual of its counters; doc/like.md tells what is inferred.
 */
#include <string.h>
#include "base/util.h"
#include "ipc/proc_page.h"
#include "like/shown.h"

enum way { OUT, IN };

#define ONE(counter) { (counter), 1, 1 }
#define SUM(text, counter) { .name = (text), .how = LIKE_SUM, .of = { ONE(counter) } }
/* of[]: all sizes, or one IP version, of packets (0) or octets (1) */
#define PORT(text, way, what) \
	{ .name = (text), .how = LIKE_SUM, .of = { { CNT_PORT(way, 0, 0) + (what), 4, 2 } } }
#define PORT_ONE(text, way, what) \
	{ .name = (text), .how = LIKE_SUM, .of = { { CNT_PORT(way, 0, 0) + (what), 2, 4 } } }
#define PORT_GROUP(text, way, what) \
	{ .name = (text), .how = LIKE_SUM, .of = { { CNT_PORT(way, 0, 1) + (what), 2, 4 } } }
#define PORT_IP(text, way, ip6, what) \
	{ .name = (text), .how = LIKE_SUM, .of = { { CNT_PORT(way, ip6, 0) + (what), 2, 2 } } }
#define PORT_IP_GROUP(text, way, ip6, what) SUM(text, CNT_PORT(way, ip6, 1) + (what))
#define MESSAGE(text, way, message) SUM(text, CNT_MESSAGE(way, message))
#define FAILED(text, end, status) SUM(text, CNT_FAILED(end, status))
#define FAILED_ALL(text, end) \
	{ .name = (text), .how = LIKE_SUM, .of = { { CNT_FAILED(end, 0), CNT_STATUSES, 1 } } }
#define REFUSED(text, why) SUM(text, CNT_REFUSED(why))
#define READ_REFUSED(text, why) SUM(text, CNT_REFUSED((why) - REFUSED_KEY + REFUSED_READ))
#define WIRE(text, what) { .name = (text), .how = LIKE_WIRE, .of = { ONE(what) } }
#define OBJECTS(text, what) { .name = (text), .how = LIKE_OBJECT, .of = { ONE(what) } }
#define NEVER(text) { .name = (text), .how = LIKE_NEVER }
#define UNKNOWN(text) { .name = (text), .how = LIKE_UNKNOWN }
/* Completion statuses: xport/wc.h. */
enum status {
	LEN = 1, QP_OP = 2, PROT = 4, FLUSH = 5, BIND = 6, RESP = 7, INV_REQ = 9, ACCESS = 10,
	OP = 11, RETRY = 12
};

static const struct like_counter hw[] = {
	/* rxe, some of them mlx5's too */
	SUM("sent_pkts", CNT_SENT_PKTS), SUM("rcvd_pkts", CNT_RCVD_PKTS),
	SUM("duplicate_request", CNT_DUP_REQ), SUM("out_of_seq_request", CNT_OUT_OF_SEQ_REQ),
	SUM("rcvd_rnr_err", CNT_RCV_RNR), SUM("send_rnr_err", CNT_SND_RNR),
	SUM("rcvd_seq_err", CNT_RCV_SEQ_ERR), SUM("ack_deferred", CNT_ACK_DEFERRED),
	SUM("retry_exceeded_err", CNT_RETRY_EXCEEDED),
	SUM("retry_rnr_exceeded_err", CNT_RNR_RETRY_EXCEEDED),
	SUM("completer_retry_err", CNT_COMP_RETRY), SUM("send_err", CNT_SEND_ERR),
	SUM("link_downed", CNT_LINK_DOWNED), SUM("rdma_sends", CNT_RDMA_SENDS),
	SUM("rdma_recvs", CNT_RDMA_RECVS),

	/* mlx5 */
	MESSAGE("rx_write_requests", IN, PORT_WRITE), MESSAGE("rx_read_requests", IN, PORT_READ),
	MESSAGE("rx_atomic_requests", IN, PORT_ATOMIC),
	{ .name = "out_of_buffer", .how = LIKE_SUM, .of = { ONE(CNT_SND_RNR), ONE(CNT_NO_RECV) } },
	SUM("out_of_sequence", CNT_OUT_OF_SEQ_REQ), SUM("rnr_nak_retry_err", CNT_RCV_RNR),
	SUM("packet_seq_err", CNT_RCV_SEQ_ERR), SUM("implied_nak_seq_err", CNT_IMPLIED_NAK),
	SUM("local_ack_timeout_err", CNT_TIMEOUT), FAILED("resp_local_length_error", 1, LEN),
	FAILED_ALL("resp_cqe_error", 1), FAILED_ALL("req_cqe_error", 0),
	FAILED("req_remote_invalid_request", 0, INV_REQ),
	FAILED("req_remote_access_errors", 0, ACCESS),
	REFUSED("resp_remote_access_errors", REFUSED_ACCESS),
	FAILED("resp_cqe_flush_error", 1, FLUSH), FAILED("req_cqe_flush_error", 0, FLUSH),
	NEVER("roce_adp_retrans"), NEVER("roce_adp_retrans_to"), NEVER("roce_slow_restart"),
	NEVER("roce_slow_restart_cnps"), NEVER("roce_slow_restart_trans"), NEVER("rp_cnp_ignored"),
	WIRE("rp_cnp_handled", WIRE_CNP_RCVD), WIRE("np_ecn_marked_roce_packets", WIRE_CE),
	WIRE("np_cnp_sent", WIRE_CNP_SENT), WIRE("rx_icrc_encapsulated", WIRE_BAD_ICRC),

	/* irdma */
	NEVER("ip4InDiscards"), NEVER("ip4InTruncatedPkts"), NEVER("ip4OutNoRoutes"),
	NEVER("ip6InDiscards"), NEVER("ip6InTruncatedPkts"), NEVER("ip6OutNoRoutes"),
	NEVER("tcpRetransSegs"), NEVER("tcpInOptErrors"), NEVER("tcpInProtoErrors"),
	NEVER("rxVlanErrors"), NEVER("cnpIgnored"), NEVER("ip4InReasmRqd"), NEVER("ip4OutSegRqd"),
	NEVER("ip6InReasmRqd"), NEVER("ip6OutSegRqd"), NEVER("tcpInSegs"), NEVER("tcpOutSegs"),
	NEVER("iwRdmaBnd"), UNKNOWN("iwRdmaInv"), WIRE("cnpHandled", WIRE_CNP_RCVD),
	WIRE("cnpSent", WIRE_CNP_SENT), WIRE("RxECNMrkd", WIRE_CE),
	PORT_IP("ip4InOctets", IN, 0, 1), PORT_IP("ip4InPkts", IN, 0, 0),
	PORT_IP("ip4OutOctets", OUT, 0, 1), PORT_IP("ip4OutPkts", OUT, 0, 0),
	PORT_IP("ip6InOctets", IN, 1, 1), PORT_IP("ip6InPkts", IN, 1, 0),
	PORT_IP("ip6OutOctets", OUT, 1, 1), PORT_IP("ip6OutPkts", OUT, 1, 0),
	PORT_IP_GROUP("ip4InMcastOctets", IN, 0, 1), PORT_IP_GROUP("ip4InMcastPkts", IN, 0, 0),
	PORT_IP_GROUP("ip4OutMcastOctets", OUT, 0, 1), PORT_IP_GROUP("ip4OutMcastPkts", OUT, 0, 0),
	PORT_IP_GROUP("ip6InMcastOctets", IN, 1, 1), PORT_IP_GROUP("ip6InMcastPkts", IN, 1, 0),
	PORT_IP_GROUP("ip6OutMcastOctets", OUT, 1, 1), PORT_IP_GROUP("ip6OutMcastPkts", OUT, 1, 0),
	MESSAGE("iwInRdmaReads", IN, PORT_READ), MESSAGE("iwInRdmaSends", IN, PORT_SEND),
	MESSAGE("iwInRdmaWrites", IN, PORT_WRITE), MESSAGE("iwOutRdmaReads", OUT, PORT_READ),
	MESSAGE("iwOutRdmaSends", OUT, PORT_SEND), MESSAGE("iwOutRdmaWrites", OUT, PORT_WRITE),
	PORT("RxUDP", IN, 0), PORT("TxUDP", OUT, 0),

	/* bnxt_re; recoverable_errors has the broadcast packets that were sent */
	OBJECTS("active_pds", LIKE_PDS), OBJECTS("active_ahs", LIKE_AHS),
	OBJECTS("active_qps", LIKE_QPS), OBJECTS("active_srqs", LIKE_SRQS),
	OBJECTS("active_cqs", LIKE_CQS), OBJECTS("active_mrs", LIKE_MRS),
	OBJECTS("active_mws", LIKE_MWS), PORT_ONE("rx_pkts", IN, 0), PORT_ONE("rx_bytes", IN, 1),
	PORT_ONE("tx_pkts", OUT, 0), PORT_ONE("tx_bytes", OUT, 1), NEVER("recoverable_errors"),
	WIRE("rx_roce_errors", WIRE_BAD_ICRC), NEVER("rx_roce_discards"),
	SUM("to_retransmits", CNT_TIMEOUT), SUM("seq_err_naks_rcvd", CNT_RCV_SEQ_ERR),
	FAILED("max_retry_exceeded", 0, RETRY), SUM("rnr_naks_rcvd", CNT_RCV_RNR),
	SUM("missing_resp", CNT_IMPLIED_NAK), NEVER("unrecoverable_err"),
	FAILED("bad_resp_err", 0, RESP), FAILED("local_qp_op_err", 0, QP_OP),
	FAILED("local_protection_err", 0, PROT), FAILED("mem_mgmt_op_err", 0, BIND),
	FAILED("remote_invalid_req_err", 0, INV_REQ), FAILED("remote_access_err", 0, ACCESS),
	FAILED("remote_op_err", 0, OP), SUM("dup_req", CNT_DUP_REQ), UNKNOWN("res_exceed_max"),
	UNKNOWN("res_length_mismatch"), FAILED("res_exceeds_wqe", 1, LEN),
	UNKNOWN("res_opcode_err"), REFUSED("res_rx_invalid_rkey", REFUSED_KEY),
	REFUSED("res_rx_domain_err", REFUSED_DOMAIN), REFUSED("res_rx_no_perm", REFUSED_PERMISSION),
	REFUSED("res_rx_range_err", REFUSED_RANGE), READ_REFUSED("res_tx_invalid_rkey", REFUSED_KEY),
	READ_REFUSED("res_tx_domain_err", REFUSED_DOMAIN),
	READ_REFUSED("res_tx_no_perm", REFUSED_PERMISSION),
	READ_REFUSED("res_tx_range_err", REFUSED_RANGE), UNKNOWN("res_irrq_oflow"),
	UNKNOWN("res_unsup_opcode"), UNKNOWN("res_unaligned_atomic"),
	REFUSED("res_rem_inv_err", REFUSED_INVALIDATE), NEVER("res_mem_err"), UNKNOWN("res_srq_err"),
	UNKNOWN("res_cmp_err"), NEVER("res_invalid_dup_rkey"), UNKNOWN("res_wqe_format_err"),
	NEVER("res_cq_load_err"), NEVER("res_srq_load_err"), NEVER("res_tx_pci_err"),
	NEVER("res_rx_pci_err"), SUM("oos_drop_count", CNT_OUT_OF_SEQ_REQ),
	MESSAGE("tx_atomic_req", OUT, PORT_ATOMIC), MESSAGE("tx_read_req", OUT, PORT_READ),
	MESSAGE("tx_read_resp", OUT, PORT_READ_RESPONSE), MESSAGE("tx_write_req", OUT, PORT_WRITE),
	MESSAGE("tx_send_req", OUT, PORT_SEND), MESSAGE("rx_atomic_req", IN, PORT_ATOMIC),
	MESSAGE("rx_read_req", IN, PORT_READ), MESSAGE("rx_read_resp", IN, PORT_READ_RESPONSE),
	MESSAGE("rx_write_req", IN, PORT_WRITE), MESSAGE("rx_send_req", IN, PORT_SEND),
	PORT("rx_roce_good_pkts", IN, 0), PORT("rx_roce_good_bytes", IN, 1),
	{ .name = "rx_out_of_buffer", .how = LIKE_SUM, .of = { ONE(CNT_SND_RNR), ONE(CNT_NO_RECV) } },
};

/* PortCounters and PortCountersExtended of IBA 16.1.3. Data are counted in words of four octets. */
static const struct like_counter pma[] = {
	NEVER("symbol_error"), NEVER("link_error_recovery"),
	{ .name = "link_downed", .how = LIKE_SUM, .of = { ONE(CNT_LINK_DOWNED) }, .bits = 8 },
	NEVER("port_rcv_errors"), NEVER("port_rcv_remote_physical_errors"),
	NEVER("port_rcv_switch_relay_errors"),
	{ .name = "port_xmit_discards", .how = LIKE_WIRE, .of = { ONE(WIRE_LOST_TX) }, .bits = 16 },
	NEVER("port_xmit_constraint_errors"), NEVER("port_rcv_constraint_errors"),
	NEVER("local_link_integrity_errors"), NEVER("excessive_buffer_overrun_errors"),
	NEVER("VL15_dropped"),
	{ .name = "port_xmit_data", .how = LIKE_SUM, .of = { { CNT_PORT(OUT, 0, 0) + 1, 4, 2 } }, .shift = 2 },
	{ .name = "port_rcv_data", .how = LIKE_SUM, .of = { { CNT_PORT(IN, 0, 0) + 1, 4, 2 } }, .shift = 2 },
	PORT("port_xmit_packets", OUT, 0), UNKNOWN("port_xmit_wait"), PORT("port_rcv_packets", IN, 0),
	PORT_ONE("unicast_rcv_packets", IN, 0), PORT_ONE("unicast_xmit_packets", OUT, 0),
	PORT_GROUP("multicast_rcv_packets", IN, 0), PORT_GROUP("multicast_xmit_packets", OUT, 0),
};

const char *const like_dirs[LIKE_DIRS] = { [LIKE_HW_COUNTERS] = "hw_counters", [LIKE_COUNTERS] = "counters" };

/* The first rows are rxe's, in the order of its counters. */
_Static_assert(CNT_COUNT == 15, "the counters of rxe");
const struct like_shown like_shown_default = {
	.dir[LIKE_HW_COUNTERS] = {
		.n = CNT_COUNT,
		.name = { "sent_pkts", "rcvd_pkts", "duplicate_request", "out_of_seq_request",
			  "rcvd_rnr_err", "send_rnr_err", "rcvd_seq_err", "ack_deferred",
			  "retry_exceeded_err", "retry_rnr_exceeded_err", "completer_retry_err",
			  "send_err", "link_downed", "rdma_sends", "rdma_recvs" },
		.of = { hw, hw + 1, hw + 2, hw + 3, hw + 4, hw + 5, hw + 6, hw + 7, hw + 8, hw + 9,
			hw + 10, hw + 11, hw + 12, hw + 13, hw + 14 },
	},
};

size_t like_counter_rows(enum like_dir dir, const struct like_counter **rows)
{
	*rows = dir == LIKE_COUNTERS ? pma : hw;
	return dir == LIKE_COUNTERS ? ARRAY_SIZE(pma) : ARRAY_SIZE(hw);
}

const struct like_counter *like_counter_find(enum like_dir dir, const char *name)
{
	const struct like_counter *rows;
	size_t n = like_counter_rows(dir, &rows);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return NULL;
}

uint64_t like_counter_value(const struct like_counter *c, const struct like_facts *f)
{
	uint64_t sum = 0, most = c->bits ? (1ull << c->bits) - 1 : UINT64_MAX;

	if (c->how == LIKE_NEVER || c->how == LIKE_UNKNOWN)
		return 0;
	if (c->how == LIKE_OBJECT)
		return f->object[c->of[0].first];
	if (c->how == LIKE_WIRE)
		return min(f->wire[c->of[0].first], most);
	for (size_t i = 0; i < LIKE_RANGES; i++)
		for (uint32_t k = 0; k < c->of[i].n; k++)
			sum += f->counter[c->of[i].first + k * c->of[i].step];
	return min(sum >> c->shift, most);
}

bool like_counter_octets(const struct like_counter *c)
{
	return c->how == LIKE_SUM && c->of[0].first >= CNT_PORT(0, 0, 0);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counters of a device. */
#ifndef RUSE_CORE_COUNTERS_H
#define RUSE_CORE_COUNTERS_H

/* Names and order of kernel rxe's hw_counters. */
enum rdev_counter {
	CNT_SENT_PKTS, CNT_RCVD_PKTS, CNT_DUP_REQ, CNT_OUT_OF_SEQ_REQ, CNT_RCV_RNR,
	CNT_SND_RNR, CNT_RCV_SEQ_ERR, CNT_ACK_DEFERRED, CNT_RETRY_EXCEEDED,
	CNT_RNR_RETRY_EXCEEDED, CNT_COMP_RETRY, CNT_SEND_ERR, CNT_LINK_DOWNED,
	CNT_RDMA_SENDS, CNT_RDMA_RECVS, CNT_COUNT
};

/*
 * Behind them: what the work requests of this process have moved, counted when they complete with success: for each
 * link and operation the messages and their bytes. Last the bytes of completed receives.
 */
enum traffic_link { TRAFFIC_MEMORY, TRAFFIC_WIRE, TRAFFIC_FABRIC, TRAFFIC_LINKS };
enum traffic_op { TRAFFIC_SEND, TRAFFIC_WRITE, TRAFFIC_READ, TRAFFIC_ATOMIC, TRAFFIC_OPS };
#define CNT_TRAFFIC(link, op) (CNT_COUNT + 2 * ((link) * TRAFFIC_OPS + (op)))
#define CNT_RECV_BYTES CNT_TRAFFIC(TRAFFIC_LINKS, 0)

/*
 * What fails, as adapters tell it apart: completions with an error, of the send queue (end 0) and of receives (end 1), by
 * status; requests that the responder has refused; and some others.
 */
#define CNT_STATUSES 14
#define CNT_FAILED(end, status) (CNT_RECV_BYTES + 1 + (end) * CNT_STATUSES + (status))
/* From REFUSED_KEY on by what is wrong with the key; READs and atomics (REFUSED_READ more) apart from WRITEs. */
enum refused_why {
	REFUSED_INVALID, REFUSED_ACCESS, REFUSED_OPERATION, REFUSED_INVALIDATE,
	REFUSED_KEY, REFUSED_DOMAIN, REFUSED_PERMISSION, REFUSED_RANGE,
	REFUSED_READ, REFUSED_WHYS = 2 * REFUSED_READ - REFUSED_KEY
};
#define CNT_REFUSED(why) (CNT_FAILED(2, 0) + (why))
/* A packet was not acknowledged in time; an answer has arrived, and an earlier READ or atomic has none; */
#define CNT_TIMEOUT CNT_REFUSED(REFUSED_WHYS)
#define CNT_IMPLIED_NAK (CNT_TIMEOUT + 1)
/* datagrams dropped, as no receive was posted. */
#define CNT_NO_RECV (CNT_TIMEOUT + 2)

/*
 * What the port sends (way 0) and receives (way 1), counted by engine/tally.h for devices that are like an adapter with
 * such counters, 0 for others: packets, and behind them octets, each for IPv4 and IPv6, to one port and to a group; and
 * requests, and READ responses, when their first packet passes.
 */
#define CNT_PORT(way, ip6, group) (CNT_TIMEOUT + 3 + 2 * ((way) * 4 + (ip6) * 2 + (group)))
enum port_message {
	PORT_SEND, PORT_WRITE, PORT_READ, PORT_ATOMIC, PORT_READ_RESPONSE, PORT_MESSAGES
};
#define CNT_MESSAGE(way, message) (CNT_PORT(2, 0, 0) + (way) * PORT_MESSAGES + (message))
#define RDEV_COUNTERS CNT_MESSAGE(2, 0)

/* "sent_pkts"; "?": it is none of the hw_counters. */
const char *rdev_counter_name(enum rdev_counter c);

#endif

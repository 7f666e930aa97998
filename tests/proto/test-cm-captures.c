/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Replays the kernel's CM captures (tests/data/kernel-rxe) with the project's CM. For each MAD the
 * test makes the call that the consumer of the kernel's CM made, and compares the MAD that comes
 * out with the captured one byte by byte; only the communication ids, which each CM chooses itself,
 * are translated. The MAD then goes to the other CM. Every connection must end as it did in the
 * capture.
 */
#include <dirent.h>
#include "cm/cm.h"
#include "base/testing.h"
#include "wire/be.h"

#define MAX_IDS 64
#define MAX_MADS 512

struct host {
	uint8_t gid[16];
	struct cm *cm;
	struct cm_device dev;
	struct host *peer;
	struct cm_id *listener;
	struct {
		struct cm_id *id;
		uint32_t theirs;	/* the kernel's local communication ID */
	} ids[MAX_IDS];
	uint32_t n;
	uint8_t out[CM_MAD_LEN];
	uint32_t sent;
};

struct mad {
	uint8_t sgid[16], dgid[16], data[CM_MAD_LEN];
};

static struct mad mads[MAX_MADS];
static struct host hosts[2];
static ns_t now;
static uint32_t seen[CM_ATTR_COUNT];

static int host_send(void *ctx, const struct cm_av *av, const uint8_t mad[CM_MAD_LEN])
{
	struct host *h = ctx;

	memcpy(h->out, mad, CM_MAD_LEN);
	h->sent++;
	return 0;
}

static int host_find_port(void *ctx, const struct cm_path *path, struct cm_av *av)
{
	struct host *h = ctx;

	assert_memory_equal(path->sgid, h->gid, 16);
	av->dev = &h->dev;
	av->port = 1;
	av->roce = true;
	av->pkey = 0xffff;
	return 0;
}

static int host_gid0(void *ctx, struct cm_device *dev, uint8_t port, uint8_t gid[16])
{
	return -1;
}

static const struct cm_ops ops = { host_send, host_find_port, host_gid0 };

static int handler(struct cm_id *id, const struct cm_event *ev, ns_t t)
{
	struct host *h = id->device->ctx;

	if (ev->event == IB_CM_REQ_RECEIVED || ev->event == IB_CM_SIDR_REQ_RECEIVED) {
		assert_true(h->n < MAX_IDS);
		h->ids[h->n++].id = id;
	}
	return 0;
}

static struct host *host_of(const uint8_t gid[16])
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		struct host *h = &hosts[i];

		if (!h->cm) {
			memcpy(h->gid, gid, 16);
			h->cm = cm_create(&ops, h, 0x1000000 * (i + 1));
			h->dev.ctx = h;
			h->dev.hi_tid = 2;
			h->dev.ack_delay = 15;
			h->peer = &hosts[!i];
		}
		if (!memcmp(h->gid, gid, 16))
			return h;
	}
	fail_msg("a third host");
	return NULL;
}

/*
 * Index of the host's id that stands for the kernel's id with the local ID `theirs`. An id that the
 * CM created for a received REQ does not stand for a kernel ID at first: such an id is found by its
 * remote ID, `remote`.
 */
static uint32_t find(struct host *h, uint32_t theirs, uint32_t remote)
{
	uint32_t i;

	for (i = 0; i < h->n; i++)
		if (h->ids[i].id && h->ids[i].theirs == theirs)
			return i;
	for (i = 0; i < h->n; i++)
		if (h->ids[i].id && !h->ids[i].theirs && h->ids[i].id->remote_id == remote)
			return i;
	fail_msg("an unknown id %#x", theirs);
	return 0;
}

static uint32_t new_id(struct host *h, uint32_t theirs)
{
	assert_true(h->n < MAX_IDS);
	h->ids[h->n].id = cm_create_id(h->cm, &h->dev, handler, NULL);
	h->ids[h->n].theirs = theirs;
	return h->n++;
}

static void set_path(struct cm_path *path, const struct mad *m, uint64_t ack_timeout)
{
	memset(path, 0, sizeof(*path));
	memcpy(path->sgid, m->sgid, 16);
	memcpy(path->dgid, m->dgid, 16);
	path->roce = true;
	path->hop_limit = 64;
	path->pkey = 0xffff;
	path->packet_life_time = (uint8_t)(ack_timeout - 1);
}

#define GET(type, field) (type)cm_get(m->data, CM_##field)

static int say_req(struct host *h, const struct mad *m)
{
	uint32_t i = new_id(h, GET(uint32_t, REQ_LOCAL_COMM_ID));
	struct cm_path path;
	struct cm_req_param r = {
		.primary_path = &path,
		.service_id = cm_get(m->data, CM_REQ_SERVICE_ID),
		.qp_num = GET(uint32_t, REQ_LOCAL_QPN),
		.starting_psn = GET(uint32_t, REQ_STARTING_PSN),
		.qp_type = IB_UVERBS_QPT_RC,
		.private_data = m->data + CM_OFF_REQ_PRIVATE_DATA,
		.private_data_len = CM_LEN_REQ_PRIVATE_DATA,
		.responder_resources = GET(uint8_t, REQ_RESPONDER_RESOURCES),
		.initiator_depth = GET(uint8_t, REQ_INITIATOR_DEPTH),
		.remote_cm_response_timeout = 20,
		.local_cm_response_timeout = 20,
		.flow_control = GET(uint8_t, REQ_END_TO_END_FLOW_CONTROL),
		.retry_count = GET(uint8_t, REQ_RETRY_COUNT),
		.rnr_retry_count = GET(uint8_t, REQ_RNR_RETRY_COUNT),
		.max_cm_retries = 15,
	};

	set_path(&path, m, cm_get(m->data, CM_REQ_PRIMARY_LOCAL_ACK_TIMEOUT));
	path.mtu = GET(uint8_t, REQ_PATH_PACKET_PAYLOAD_MTU);
	path.flow_label = GET(uint32_t, REQ_PRIMARY_FLOW_LABEL);
	path.rate = GET(uint8_t, REQ_PRIMARY_PACKET_RATE);
	h->dev.node_guid = cm_get(m->data, CM_REQ_LOCAL_CA_GUID);
	h->dev.hi_tid = get_be32(m->data + 8);
	return cm_send_req(h->ids[i].id, &r, now);
}

static int say_rep(struct host *h, const struct mad *m, struct cm_id *id)
{
	struct cm_rep_param r = {
		.qp_num = GET(uint32_t, REP_LOCAL_QPN),
		.starting_psn = GET(uint32_t, REP_STARTING_PSN),
		.private_data = m->data + CM_OFF_REP_PRIVATE_DATA,
		.private_data_len = CM_LEN_REP_PRIVATE_DATA,
		.responder_resources = GET(uint8_t, REP_RESPONDER_RESOURCES),
		.initiator_depth = GET(uint8_t, REP_INITIATOR_DEPTH),
		.flow_control = GET(uint8_t, REP_END_TO_END_FLOW_CONTROL),
		.rnr_retry_count = GET(uint8_t, REP_RNR_RETRY_COUNT),
		.srq = GET(uint8_t, REP_SRQ),
	};

	h->dev.node_guid = cm_get(m->data, CM_REP_LOCAL_CA_GUID);
	return cm_send_rep(id, &r, now);
}

static int say_sidr_req(struct host *h, const struct mad *m)
{
	uint32_t i = new_id(h, GET(uint32_t, SIDR_REQ_REQUESTID));
	struct cm_path path;
	struct cm_sidr_req_param r = {
		.path = &path,
		.service_id = cm_get(m->data, CM_SIDR_REQ_SERVICEID),
		.timeout_ms = 4096,
		.private_data = m->data + CM_OFF_SIDR_REQ_PRIVATE_DATA,
		.private_data_len = CM_LEN_SIDR_REQ_PRIVATE_DATA,
		.max_cm_retries = 15,
	};

	set_path(&path, m, 19);
	return cm_send_sidr_req(h->ids[i].id, &r, now);
}

static int say_sidr_rep(const struct mad *m, struct cm_id *id)
{
	struct cm_sidr_rep_param r = {
		.qp_num = GET(uint32_t, SIDR_REP_QPN),
		.qkey = GET(uint32_t, SIDR_REP_Q_KEY),
		.status = GET(enum ib_cm_sidr_status, SIDR_REP_STATUS),
		.private_data = m->data + CM_OFF_SIDR_REP_PRIVATE_DATA,
		.private_data_len = CM_LEN_SIDR_REP_PRIVATE_DATA,
	};

	return cm_send_sidr_rep(id, &r, now);
}

/*
 * The local ID that stands for the kernel's `theirs` on this host; `theirs` itself if there is
 * none.
 */
static uint32_t translate(struct host *h, uint32_t theirs)
{
	uint32_t i;

	for (i = 0; i < h->n; i++)
		if (h->ids[i].theirs == theirs)
			return h->ids[i].id->local_id;
	return theirs;
}

/* Copies the kernel's MAD with the ids translated. The TID holds the id in reversed byte order. */
static void with_our_ids(struct host *h, const struct mad *m, uint16_t attr, uint8_t *mad)
{
	uint32_t tid_id = get_le32(m->data + 12), ours;

	memcpy(mad, m->data, CM_MAD_LEN);
	ours = translate(h, tid_id);
	if (ours == tid_id)
		ours = translate(h->peer, tid_id);
	put_le32(mad + 12, ours);
	if (attr == CM_ATTR_SIDR_REP) {
		cm_set(mad, CM_SIDR_REP_REQUESTID,
		       translate(h->peer, GET(uint32_t, SIDR_REP_REQUESTID)));
		return;
	}
	cm_set(mad, CM_REP_LOCAL_COMM_ID, translate(h, GET(uint32_t, REP_LOCAL_COMM_ID)));
	if (attr != CM_ATTR_REQ && attr != CM_ATTR_SIDR_REQ)
		cm_set(mad, CM_REP_REMOTE_COMM_ID,
		       translate(h->peer, GET(uint32_t, REP_REMOTE_COMM_ID)));
}

/*
 * Makes the call that produced this MAD. A REJ needs none: the CM sends it itself when there is no
 * listener.
 */
static void say(struct host *h, const struct mad *m, uint16_t attr)
{
	uint32_t theirs = GET(uint32_t, REP_LOCAL_COMM_ID), i = 0;
	uint32_t remote = translate(h->peer, GET(uint32_t, REP_REMOTE_COMM_ID));
	struct cm_id *id = NULL;
	int ret = 0;

	if (attr == CM_ATTR_REP || attr == CM_ATTR_RTU || attr == CM_ATTR_DREQ ||
	    attr == CM_ATTR_DREP) {
		i = find(h, theirs, remote);
		id = h->ids[i].id;
		h->ids[i].theirs = theirs;
	}
	if (attr == CM_ATTR_REQ)
		ret = say_req(h, m);
	else if (attr == CM_ATTR_REP)
		ret = say_rep(h, m, id);
	else if (attr == CM_ATTR_RTU)
		ret = cm_send_rtu(id, NULL, 0, now);
	else if (attr == CM_ATTR_DREQ)
		ret = cm_send_dreq(id, NULL, 0, now);
	else if (attr == CM_ATTR_DREP)
		ret = cm_send_drep(id, NULL, 0, now);
	else if (attr == CM_ATTR_SIDR_REQ)
		ret = say_sidr_req(h, m);
	else if (attr == CM_ATTR_SIDR_REP)
		ret = say_sidr_rep(m, h->ids[find(h, 0, translate(h->peer, theirs))].id);
	else
		assert_int_equal(attr, CM_ATTR_REJ);
	assert_int_equal(ret, 0);
}

static void deliver(struct host *from, struct host *to, const uint8_t out[CM_MAD_LEN])
{
	struct cm_av av = { .dev = &to->dev, .port = 1, .roce = true, .is_global = true,
			    .hop_limit = 64, .pkey = 0xffff };
	uint8_t mad[CM_MAD_LEN];

	memcpy(av.sgid, to->gid, 16);
	memcpy(av.dgid, from->gid, 16);
	memcpy(mad, out, CM_MAD_LEN);
	cm_input(to->cm, &av, mad, now);
}

/*
 * Makes the host listen for the service of this REQ, unless a later MAD of the capture rejects the
 * REQ.
 */
static void listen_for(struct host *h, const struct mad *m, uint32_t left)
{
	uint64_t id = cm_get(m->data, CM_REQ_LOCAL_COMM_ID);
	uint16_t attr = get_be16(m->data + 16);
	uint32_t i;

	for (i = 1; i < left; i++)
		if (get_be16(m[i].data + 16) == CM_ATTR_REJ &&
		    cm_get(m[i].data, CM_REJ_REMOTE_COMM_ID) == id)
			return;
	if (!h->listener)
		assert_int_equal(cm_insert_listen(h->cm, &h->dev, handler, NULL,
						  cm_get(m->data, attr == CM_ATTR_REQ ?
								  CM_REQ_SERVICE_ID :
								  CM_SIDR_REQ_SERVICEID),
						  &h->listener),
				 0);
}

/* True if the peer sent the same DREQ or DREP before it received this one (they cross). */
static bool crosses(const struct mad *m, uint32_t left)
{
	uint16_t attr = get_be16(m->data + 16);
	uint32_t i;

	if (attr != CM_ATTR_DREQ && attr != CM_ATTR_DREP)
		return false;
	for (i = 1; i < left; i++)
		if (get_be16(m[i].data + 16) == attr &&
		    cm_get(m[i].data, CM_DREQ_LOCAL_COMM_ID) == GET(uint32_t, DREQ_REMOTE_COMM_ID))
			return true;
	return false;
}

static void replay(uint32_t count)
{
	uint8_t want[CM_MAD_LEN], held[CM_MAD_LEN];
	bool holding = false;
	char ours[600], theirs[600];
	uint32_t i, k, sent;
	struct cm_hdr hdr;

	memset(hosts, 0, sizeof(hosts));
	for (i = 0; i < count; i++) {
		struct host *h = host_of(mads[i].sgid), *to = host_of(mads[i].dgid);

		assert_true(cm_msg_hdr(mads[i].data, &hdr));
		/* Skip retransmissions. */
		for (k = 0; k < i && memcmp(mads[k].data, mads[i].data, CM_MAD_LEN) != 0; k++)
			;
		if (k < i)
			continue;
		seen[hdr.attr - CM_ATTR_REQ]++;
		if (hdr.attr == CM_ATTR_REQ || hdr.attr == CM_ATTR_SIDR_REQ)
			listen_for(to, &mads[i], count - i);
		sent = h->sent;
		say(h, &mads[i], hdr.attr);
		assert_int_equal(h->sent, hdr.attr == CM_ATTR_REJ ? sent : sent + 1);
		with_our_ids(h, &mads[i], hdr.attr, want);
		if (memcmp(want, h->out, CM_MAD_LEN) != 0) {
			cm_msg_print(want, theirs, sizeof(theirs));
			cm_msg_print(h->out, ours, sizeof(ours));
			print_message("kernel: %s\nours:   %s\n", theirs, ours);
		}
		assert_memory_equal(h->out, want, CM_MAD_LEN);
		if (crosses(&mads[i], count - i)) {
			assert_false(holding);
			holding = true;
			memcpy(held, h->out, CM_MAD_LEN);
			continue;
		}
		deliver(h, to, h->out);
		if (holding) {
			holding = false;
			deliver(to, h, held);
		}
	}
	for (i = 0; i < 2 && hosts[i].cm; i++) {
		for (k = 0; k < hosts[i].n; k++)
			cm_destroy_id(hosts[i].ids[k].id, now);
		if (hosts[i].listener)
			cm_destroy_id(hosts[i].listener, now);
		cm_free(hosts[i].cm);
	}
}

/*
 * The MAD in an Ethernet frame that holds a UD packet to QP 1, or NULL if it is none of the CM
 * class.
 */
static const uint8_t *cm_mad_of(const uint8_t *f, uint32_t len, struct mad *m)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	uint16_t type = get_be16(f + 12);
	const uint8_t *udp;

	if (len < 14 + 20 + 8 + 20 + CM_MAD_LEN)
		return NULL;
	if (type == 0x0800 && f[14 + 9] == 17) {
		udp = f + 14 + (f[14] & 15) * 4;
		memcpy(m->sgid, v4, 12);
		memcpy(m->dgid, v4, 12);
		memcpy(m->sgid + 12, f + 14 + 12, 4);
		memcpy(m->dgid + 12, f + 14 + 16, 4);
	} else if (type == 0x86dd && f[14 + 6] == 17) {
		udp = f + 14 + 40;
		memcpy(m->sgid, f + 14 + 8, 16);
		memcpy(m->dgid, f + 14 + 24, 16);
	} else {
		return NULL;
	}
	if (udp + 8 + 20 + CM_MAD_LEN > f + len || get_be16(udp + 2) != 4791 || udp[8] != 0x64 ||
	    get_be24(udp + 8 + 5) != 1 || udp[8 + 20 + 1] != 7)
		return NULL;
	return udp + 8 + 20;
}

static uint32_t read_capture(const char *path)
{
	static uint8_t frame[65536];
	uint8_t head[24];
	char cmd[4200];
	uint32_t len, n = 0;
	struct mad m;
	const uint8_t *p;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "xz -dc '%s'", path);
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_int_equal(fread(head, 24, 1, f), 1);
	assert_int_equal(get_le32(head), 0xa1b2c3d4);
	while (fread(head, 16, 1, f) == 1) {
		len = get_le32(head + 8);
		assert_true(len <= sizeof(frame));
		assert_int_equal(fread(frame, len, 1, f), 1);
		p = cm_mad_of(frame, len, &m);
		if (!p)
			continue;
		memcpy(m.data, p, CM_MAD_LEN);
		assert_true(n < MAX_MADS);
		mads[n++] = m;
	}
	assert_int_equal(pclose(f), 0);
	return n;
}

static void test_captures(void **state)
{
	uint32_t n, files = 0, total = 0;
	struct dirent *d;
	char path[4096];
	DIR *dir;

	dir = opendir(CAPTURES);
	assert_non_null(dir);
	while ((d = readdir(dir))) {
		if (!strstr(d->d_name, ".pcap.xz"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", CAPTURES, d->d_name);
		n = read_capture(path);
		if (!n)
			continue;
		print_message("%s: %u\n", d->d_name, n);
		replay(n);
		files++;
		total += n;
	}
	closedir(dir);
	print_message("%u MADs of %u captures\n", total, files);
	assert_true(files >= 8);
	for (n = 0; n < CM_ATTR_COUNT; n++)
		if (n + CM_ATTR_REQ != CM_ATTR_MRA && n + CM_ATTR_REQ != CM_ATTR_LAP &&
		    n + CM_ATTR_REQ != CM_ATTR_APR)
			assert_true(seen[n] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_captures) };

	if (system("command -v xz >/dev/null") != 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzes the IB CM: a CM with listeners and connections gets MADs, time, and calls of a consumer,
 * all decided by the input. The input is read byte by byte with next(); step() chooses what
 * happens. When all ids are destroyed and all timers have run, no id may be left.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cm/cm_internal.h"
#include "cm_lap.h"
#include "fuzz.h"

#define MAX_IDS 16
#define SERVICE 0x1060001ull

static struct {
	const uint8_t *p;
	size_t left;
	struct cm *cm;
	struct cm_device dev;
	struct cm_id *ids[MAX_IDS];
	ns_t now;
	bool roce;
} f;

static uint8_t next(void)
{
	if (!f.left)
		return 0;
	f.left--;
	return *f.p++;
}

static int fuzz_send(void *ctx, const struct cm_av *av, const uint8_t mad[CM_MAD_LEN])
{
	char line[600];

	REQUIRE(av->dev == &f.dev);
	REQUIRE(cm_msg_print(mad, line, sizeof(line)) > 0);
	return next() == 0xff ? -ENETUNREACH : 0;
}

static int fuzz_find_port(void *ctx, const struct cm_path *path, struct cm_av *av)
{
	if (path->sgid[0] == 0xff)
		return -EINVAL;
	if (path->pkey == 0x1234)
		return -ENOENT;
	av->dev = &f.dev;
	av->port = 1;
	av->roce = f.roce;
	return 0;
}

static int fuzz_gid0(void *ctx, struct cm_device *dev, uint8_t port, uint8_t gid[16])
{
	memset(gid, 1, 16);
	return 0;
}

static const struct cm_ops ops = { fuzz_send, fuzz_find_port, fuzz_gid0 };

static struct cm_id **slot_of(const struct cm_id *id)
{
	uint32_t i;

	for (i = 0; i < MAX_IDS; i++)
		if (f.ids[i] == id)
			return &f.ids[i];
	return NULL;
}

static void call(struct cm_id *id);

static int handler(struct cm_id *id, const struct cm_event *ev, ns_t now)
{
	struct cm_id **slot = slot_of(id);
	uint32_t i, sum = 0;
	uint8_t what;

	REQUIRE(ev->event < IB_CM_EVENT_COUNT);
	for (i = 0; i < ev->private_data_len; i++)
		sum += ev->private_data[i];
	if (ev->event == IB_CM_REJ_RECEIVED)
		for (i = 0; i < ev->rej.ari_length; i++)
			sum += ev->rej.ari[i];
	if (ev->event == IB_CM_SIDR_REP_RECEIVED)
		for (i = 0; i < ev->sidr_rep.info_len; i++)
			sum += ev->sidr_rep.info[i];
	if (ev->event == IB_CM_APR_RECEIVED)
		for (i = 0; i < ev->apr.info_len; i++)
			sum += ev->apr.apr_info[i];
	if (!slot) {
		slot = slot_of(NULL);
		if (!slot)
			return -ENOMEM;
		*slot = id;
	}
	what = next();
	if ((what & 7) == 7) {
		*slot = NULL;
		return sum & 1 ? -ENOMEM : 1;
	}
	if ((what & 7) == 6) {
		*slot = NULL;
		cm_destroy_id(id, now);
		return what & 8;
	}
	call(id);
	return 0;
}

static void make_path(struct cm_path *path)
{
	memset(path, 0, sizeof(*path));
	path->sgid[0] = next();
	path->dgid[15] = 1;
	path->roce = f.roce;
	path->pkey = 0xffff;
	path->hop_limit = next() & 1 ? 64 : 0;
	path->packet_life_time = next() & 0x1f;
}

static void call_conn(struct cm_id *id, uint8_t what, const void *data, uint8_t len)
{
	struct cm_path path, alt;
	struct cm_req_param req = {
		.primary_path = &path,
		.service_id = SERVICE + (what >> 6),
		.qp_num = next(),
		.qp_type = IB_UVERBS_QPT_RC,
		.remote_cm_response_timeout = next(),
		.max_cm_retries = next() & 15,
		.private_data = data,
		.private_data_len = len,
	};
	struct cm_rep_param rep = {
		.qp_num = next(),
		.private_data = data,
		.private_data_len = len,
	};

	make_path(&path);
	make_path(&alt);
	if (what & 0x40)
		req.alternate_path = &alt;
	if ((what & 3) == 0)
		cm_send_req(id, &req, f.now);
	else if ((what & 3) == 1)
		cm_send_rep(id, &rep, f.now);
	else if ((what & 3) == 2)
		lap_send(id, &alt, data, len, f.now);
	else
		lap_send_apr(id, IB_CM_APR_REJECT, data, len, data, len, f.now);
}

/* A listener of a service ID, which may be shared with another context, or assigned. */
static void call_listen(uint8_t what)
{
	struct cm_id **slot = slot_of(NULL);
	uint64_t id = what & 4 ? CM_ASSIGN_SERVICE_ID + (what & 1) : SERVICE + (what & 3);

	if (slot)
		cm_insert_listen(f.cm, &f.dev, handler, what & 8 ? &f : NULL, id, slot);
}

static void call_sidr(struct cm_id *id, uint8_t what, const void *data, uint8_t len)
{
	struct cm_path path;
	struct cm_sidr_req_param req = {
		.path = &path,
		.service_id = SERVICE,
		.timeout_ms = next(),
		.max_cm_retries = next() & 15,
		.private_data = data,
		.private_data_len = len,
	};
	struct cm_sidr_rep_param rep = {
		.qp_num = next(),
		.info = data,
		.info_length = len,
		.private_data = data,
		.private_data_len = len,
	};

	make_path(&path);
	if (what & 1)
		cm_send_sidr_req(id, &req, f.now);
	else
		cm_send_sidr_rep(id, &rep, f.now);
}

static void call(struct cm_id *id)
{
	static const uint8_t data[256] = "private";
	struct ib_uverbs_qp_attr attr = { .qp_state = next() & 3 };
	uint8_t what = next(), len = next();

	cm_init_qp_attr(id, &attr);
	switch (what & 15) {
	case 0:
	case 1:
	case 2:
	case 3:
		call_conn(id, what, data, len);
		break;
	case 4:
		cm_send_rtu(id, data, len, f.now);
		break;
	case 5:
		cm_send_dreq(id, data, len, f.now);
		break;
	case 6:
		cm_send_drep(id, data, len, f.now);
		break;
	case 7:
		cm_send_rej(id, IB_CM_REJ_CONSUMER_DEFINED, data, len, data, len, f.now);
		break;
	case 8:
		cm_send_mra(id, what, data, len, f.now);
		break;
	case 9:
	case 10:
		call_sidr(id, what, data, len);
		break;
	case 11:
		cm_notify(id, what >> 4, f.now);
		break;
	case 12:
		call_listen(what >> 4);
		break;
	default:
		break;
	}
}

/* A MAD; its ids are those of existing ids more often than random bytes would be. */
static void input(void)
{
	struct cm_av from = { .dev = &f.dev, .port = 1, .roce = f.roce, .is_global = true,
			      .hop_limit = 64, .pkey = 0xffff };
	struct cm_hdr h = { .tid = 1, .attr = CM_ATTR_REQ + next() % (CM_ATTR_COUNT + 1) };
	struct cm_id *id = f.ids[next() % MAX_IDS], *peer = f.ids[next() % MAX_IDS];
	uint8_t mad[CM_MAD_LEN], patches = next() & 15, off;
	char line[200];

	from.dgid[15] = next() & 3;
	cm_msg_init(mad, &h);
	cm_set(mad, CM_REP_LOCAL_COMM_ID, peer ? peer->local_id : next());
	cm_set(mad, CM_REP_REMOTE_COMM_ID, id ? id->local_id : next());
	if (id && next() & 1)
		cm_set(mad, CM_REP_LOCAL_COMM_ID, id->remote_id);
	if (h.attr == CM_ATTR_REQ) {
		cm_set(mad, CM_REQ_SERVICE_ID, SERVICE + (next() & 3));
		cm_set(mad, CM_REQ_LOCAL_QPN, next());
	} else if (h.attr == CM_ATTR_SIDR_REQ) {
		cm_set(mad, CM_SIDR_REQ_SERVICEID, SERVICE + (next() & 3));
	} else if (h.attr == CM_ATTR_SIDR_REP && id) {
		cm_set(mad, CM_SIDR_REP_REQUESTID, id->local_id);
	}
	while (patches--) {
		off = next();
		mad[off] = next();
	}
	REQUIRE(cm_msg_print(mad, line, sizeof(line)) == (int)strlen(line));
	cm_input(f.cm, &from, mad, f.now);
}

static void step(void)
{
	uint8_t what = next();
	struct cm_id **slot = &f.ids[next() % MAX_IDS];

	switch (what & 7) {
	case 0:
	case 1:
	case 2:
		input();
		break;
	case 3:
		f.now += next() * (what & 8 ? NS_S : NS_MS);
		cm_timer(f.cm, f.now);
		break;
	case 4:
		if (!*slot)
			*slot = cm_create_id(f.cm, &f.dev, handler, NULL);
		break;
	case 5:
		if (*slot)
			cm_destroy_id(*slot, f.now);
		*slot = NULL;
		break;
	case 6:
		if (what == 0xfe)
			cm_remove_device(f.cm, &f.dev);
		break;
	default:
		if (*slot)
			call(*slot);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t i;

	memset(&f, 0, sizeof(f));
	f.p = data;
	f.left = size;
	f.roce = next() & 1;
	f.dev.ack_delay = 15;
	f.dev.node_guid = 1;
	f.cm = cm_create(&ops, &f, 0x1000);
	REQUIRE(f.cm);
	REQUIRE(!cm_insert_listen(f.cm, &f.dev, handler, NULL, SERVICE, &f.ids[0]));
	while (f.left)
		step();
	for (i = 0; i < MAX_IDS; i++)
		if (f.ids[i])
			cm_destroy_id(f.ids[i], f.now);
	memset(f.ids, 0, sizeof(f.ids));
	/* The longest timewait is half an hour (2^23 ms at most). */
	for (i = 0; cm_next(f.cm) != NS_NEVER; i++) {
		REQUIRE(i < 100000);
		f.now = cm_next(f.cm) > f.now ? cm_next(f.cm) : f.now;
		cm_timer(f.cm, f.now);
	}
	REQUIRE(f.cm->count == 0);
	cm_free(f.cm);
	return 0;
}

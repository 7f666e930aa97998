/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which destinations are refused, and with which errno: `destinations NAME@INDEX... NAME=GID...` names source GIDs by their
 * index and destinations, and prints a line "COMMAND SOURCE DESTINATION ERRNO" for each source, each destination and
 *
 *	rc, uc	ibv_modify_qp() to RTR
 *	ah	ibv_create_ah()
 *	umad	write() to /dev/infiniband/umad0, of a MAD that has no answer; not to a multicast group, as QP 1 of kernel rxe
 *		sends and receives nothing afterwards, although write() succeeds
 *
 * and "attach - DESTINATION ERRNO" for ibv_attach_mcast(). kernel rxe and ruse are to print the same.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "verbs.h"

#define MAD_LEN 256
#define CLASS_VENDOR 9
#define METHOD_SEND 3
#define QKEY_QP1 0x80010000u

static struct vctx v;
static int umad = -1;
static uint32_t agent;

static int do_rtr(enum ibv_qp_type type, const struct ibv_ah_attr *ah)
{
	struct ibv_qp_init_attr init = { .send_cq = v.cq, .recv_cq = v.cq, .qp_type = type,
					 .cap = { 1, 1, 1, 1, 0 } };
	struct ibv_qp *qp = ibv_create_qp(v.pd, &init);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_256,
				 .max_dest_rd_atomic = 1, .min_rnr_timer = 1, .ah_attr = *ah };
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	int err;

	if (type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (!qp || v_init(qp, 0))
		die("a QP in INIT: %m");
	a.dest_qp_num = qp->qp_num;
	err = ibv_modify_qp(qp, &a, mask);
	if (ibv_destroy_qp(qp))
		die("destroy_qp: %m");
	return err;
}

static int do_ah(const struct ibv_ah_attr *attr)
{
	struct ibv_ah_attr a = *attr;
	struct ibv_ah *ah = ibv_create_ah(v.pd, &a);

	if (!ah)
		return errno;
	if (ibv_destroy_ah(ah))
		die("destroy_ah: %m");
	return 0;
}

static void umad_begin(void)
{
	struct ib_user_mad_reg_req2 r = { .qpn = 1, .mgmt_class = CLASS_VENDOR,
					  .mgmt_class_version = 1 };

	umad = open("/dev/infiniband/umad0", O_RDWR | O_CLOEXEC);
	if (umad < 0 || ioctl(umad, IB_USER_MAD_REGISTER_AGENT2, &r))
		die("umad0: %m");
	agent = r.id;
}

static int do_umad(const struct ibv_ah_attr *ah)
{
	static uint32_t tid;
	struct {
		struct ib_user_mad_hdr h;
		uint8_t mad[MAD_LEN];
	} p = { .h = { .id = agent, .qpn = htonl(1), .qkey = htonl(QKEY_QP1), .grh_present = 1,
		       .gid_index = ah->grh.sgid_index, .hop_limit = 64 },
		.mad = { 1, CLASS_VENDOR, 1, METHOD_SEND } };

	memcpy(p.h.gid, ah->grh.dgid.raw, 16);
	tid++;
	memcpy(p.mad + 12, &tid, sizeof(tid));
	return write(umad, &p, sizeof(p)) == sizeof(p) ? 0 : errno;
}

static void print_cell(const char *command, const char *from, int len, const char *to, int err)
{
	printf("%s %.*s %.*s %s\n", command, len, from, (int)strcspn(to, "="), to,
	       err ? strerrorname_np(err) : "0");
}

static bool is_group(const union ibv_gid *gid)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };

	return gid->raw[0] == 0xff || (!memcmp(gid->raw, v4, 12) && gid->raw[12] >> 4 == 0xe);
}

/* from: NAME@INDEX; to: NAME=GID. */
static void do_cells(const char *from, const char *to)
{
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1, .grh.hop_limit = 64 };
	int len = (int)strcspn(from, "@");

	ah.grh.sgid_index = (uint8_t)atoi(from + len + 1);
	if (inet_pton(AF_INET6, strchr(to, '=') + 1, ah.grh.dgid.raw) != 1)
		die("no GID: %s", to);
	print_cell("rc", from, len, to, do_rtr(IBV_QPT_RC, &ah));
	print_cell("uc", from, len, to, do_rtr(IBV_QPT_UC, &ah));
	print_cell("ah", from, len, to, do_ah(&ah));
	if (!is_group(&ah.grh.dgid))
		print_cell("umad", from, len, to, do_umad(&ah));
	fflush(stdout);
}

static void do_attach(struct ibv_qp *qp, const char *to)
{
	union ibv_gid gid;
	int err;

	inet_pton(AF_INET6, strchr(to, '=') + 1, gid.raw);
	err = ibv_attach_mcast(qp, &gid, 0);
	if (!err && ibv_detach_mcast(qp, &gid, 0))
		die("detach_mcast: %m");
	print_cell("attach", "-", 1, to, err);
}

int main(int argc, char **argv)
{
	struct ibv_qp *ud;

	v.sock = -1;
	v_open(&v, &vcfg_default);
	umad_begin();
	for (int from = 1; from < argc; from++)
		for (int to = 1; strchr(argv[from], '@') && to < argc; to++)
			if (strchr(argv[to], '='))
				do_cells(argv[from], argv[to]);
	ud = v_ud_qp(&v, 1, 0);
	for (int to = 1; to < argc; to++)
		if (strchr(argv[to], '='))
			do_attach(ud, argv[to]);
	if (ibv_destroy_qp(ud))
		die("destroy_qp: %m");
	close(umad);
	v_close(&v);
	return 0;
}

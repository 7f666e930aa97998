/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Commands of verbs that fail, one after the other in one process. Prints a line "NAME ERRNO" for each; commands.py
 * compares them, and what `ruse explain` says. With an argument, RTR of a QP to another host, which fails because UDP
 * port 4791 is taken (port), there is no route (route), or the path MTU is too large (mtu), or to a process that is
 * stopped (stopped); or commands that fail when the memory of queues is used up (full).
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "commands.h"

struct ibv_context *ctx, *other_ctx;
struct ibv_pd *pd;
struct ibv_cq *cq;
struct ibv_mr *mr;
char *buf;
union ibv_gid gid;
uint8_t gid_index;

void *must(void *obj, const char *what)
{
	if (!obj || obj == MAP_FAILED) {
		fprintf(stderr, "commands: %s: %s\n", what, strerror(errno));
		exit(1);
	}
	return obj;
}

int null_error(const void *obj)
{
	return obj ? 0 : errno;
}

struct ibv_qp *new_qp(enum ibv_qp_type type, struct ibv_cq *with)
{
	struct ibv_qp_init_attr a = {
		.send_cq = with, .recv_cq = with, .qp_type = type,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2,
			 .max_inline_data = 32 },
	};

	return must(ibv_create_qp(pd, &a), "ibv_create_qp");
}

int attr_for(const struct ibv_qp *qp, enum ibv_qp_state state, struct ibv_qp_attr *a)
{
	*a = (struct ibv_qp_attr){
		.qp_state = state, .port_num = 1, .qkey = 0x11, .path_mtu = IBV_MTU_1024,
		.qp_access_flags = ALL & ~IBV_ACCESS_LOCAL_WRITE, .dest_qp_num = qp->qp_num,
		.max_dest_rd_atomic = 1, .max_rd_atomic = 1, .min_rnr_timer = 12, .timeout = 14,
		.retry_cnt = 7, .rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 64 } },
	};
	switch (state) {
	case IBV_QPS_INIT:
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	case IBV_QPS_RTR:
		if (qp->qp_type == IBV_QPT_UD)
			return IBV_QP_STATE;
		return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	case IBV_QPS_RTS:
		if (qp->qp_type == IBV_QPT_UD)
			return IBV_QP_STATE | IBV_QP_SQ_PSN;
		return IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	default:
		return IBV_QP_STATE;
	}
}

void move_to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr a;

	for (int s = IBV_QPS_INIT; s <= (int)state; s++) {
		int mask = attr_for(qp, (enum ibv_qp_state)s, &a);

		errno = ibv_modify_qp(qp, &a, mask);
		must(errno ? NULL : qp, "ibv_modify_qp");
	}
}

static void open_all(void)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_device **list = must(ibv_get_device_list(NULL), "ibv_get_device_list");

	must(list[0], "device");
	ctx = must(ibv_open_device(list[0]), "ibv_open_device");
	other_ctx = must(ibv_open_device(list[0]), "ibv_open_device");
	pd = must(ibv_alloc_pd(ctx), "ibv_alloc_pd");
	cq = must(ibv_create_cq(ctx, 64, NULL, NULL, 0), "ibv_create_cq");
	buf = must(mmap(NULL, BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		   "mmap");
	mr = must(ibv_reg_mr(pd, buf, BUF, ALL), "ibv_reg_mr");
	for (int i = 0; i < 16; i++)
		if (!ibv_query_gid(ctx, 1, i, &gid) && !memcmp(gid.raw, mapped, sizeof(mapped)))
			gid_index = (uint8_t)i;
	must(ibv_query_gid(ctx, 1, gid_index, &gid) ? NULL : ctx, "ibv_query_gid");
}

static void run(const struct command *c, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		printf("%s %d\n", c[i].name, c[i].run());
		fflush(stdout);
	}
}

/* RTR of a QP whose peer is at this IPv4 address. The errno. */
static int connect_to(const char *address, enum ibv_mtu mtu)
{
	struct ibv_qp *qp = new_qp(IBV_QPT_RC, cq);
	struct ibv_qp_attr a;
	int mask, err;

	move_to(qp, IBV_QPS_INIT);
	mask = attr_for(qp, IBV_QPS_RTR, &a);
	a.path_mtu = mtu;
	memset(a.ah_attr.grh.dgid.raw, 0, 10);
	memset(a.ah_attr.grh.dgid.raw + 10, 0xff, 2);
	inet_pton(AF_INET, address, a.ah_attr.grh.dgid.raw + 12);
	err = ibv_modify_qp(qp, &a, mask);
	ibv_destroy_qp(qp);
	return err;
}

/* RTR of a QP to one of a process that is stopped. */
static int connect_to_stopped(void)
{
	struct ibv_qp_attr a;
	struct ibv_qp *qp;
	int end[2], mask, err;
	uint32_t qpn = 0;
	pid_t pid;

	must(pipe(end) ? NULL : end, "pipe");
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		open_all();
		qpn = new_qp(IBV_QPT_RC, cq)->qp_num;
		must(write(end[1], &qpn, sizeof(qpn)) == sizeof(qpn) ? end : NULL, "write");
		raise(SIGSTOP);
		_exit(1);
	}
	close(end[1]);
	must(read(end[0], &qpn, sizeof(qpn)) == sizeof(qpn) ? end : NULL, "the QP of the child");
	waitpid(pid, NULL, WUNTRACED);
	open_all();
	qp = new_qp(IBV_QPT_RC, cq);
	move_to(qp, IBV_QPS_INIT);
	mask = attr_for(qp, IBV_QPS_RTR, &a);
	a.dest_qp_num = qpn;
	err = ibv_modify_qp(qp, &a, mask);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err;
}

/* Another program has UDP port 4791. */
static void take_port(void)
{
	struct sockaddr_in6 sa = { .sin6_family = AF_INET6, .sin6_port = htons(4791) };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	must(bind(fd, (struct sockaddr *)&sa, sizeof(sa)) ? NULL : &sa, "UDP port 4791");
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "port"))
		take_port();
	if (argc == 2 && !strcmp(argv[1], "stopped")) {
		printf("%d\n", connect_to_stopped());
		return 0;
	}
	open_all();
	if (argc == 2 && !strcmp(argv[1], "full")) {
		fill_all();
		return 0;
	}
	if (argc == 2) {
		/* "no-ipv4" too: from the link-local address, as there is no other. */
		printf("%d\n", connect_to(!strcmp(argv[1], "route") ? "203.0.113.7" : "198.51.100.9",
					  !strcmp(argv[1], "mtu") ? IBV_MTU_4096 : IBV_MTU_1024));
		return 0;
	}
	run(object_commands, nobject_commands);
	run(qp_commands, nqp_commands);
	run(dest_commands, ndest_commands);
	return 0;
}

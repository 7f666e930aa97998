/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program that finds libibverbs by dlopen() and dlsym(), as NCCL does, and uses the inline
 * functions of its header. It sends messages to itself, while:
 *
 *   programs plain	nothing else happens
 *   programs deepbind	the same; the library is opened with RTLD_DEEPBIND
 *   programs segv	its own SIGSEGV handler gets its own faults
 *   programs cancel	threads that post and poll are cancelled
 *   programs spawn	it calls posix_spawn() and copies the device's descriptor by dup()
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <infiniband/verbs.h>

extern char **environ;

/* One pointer for each function, found by its name. */
#define FUNCTIONS(X)                                                                             \
	X(struct ibv_device **, get_device_list, (int *))                                        \
	X(void, free_device_list, (struct ibv_device **))                                        \
	X(struct ibv_context *, open_device, (struct ibv_device *))                              \
	X(int, close_device, (struct ibv_context *))                                             \
	X(struct ibv_pd *, alloc_pd, (struct ibv_context *))                                     \
	X(int, dealloc_pd, (struct ibv_pd *))                                                    \
	X(struct ibv_cq *, create_cq,                                                            \
	  (struct ibv_context *, int, void *, struct ibv_comp_channel *, int))                   \
	X(int, destroy_cq, (struct ibv_cq *))                                                    \
	X(struct ibv_qp *, create_qp, (struct ibv_pd *, struct ibv_qp_init_attr *))              \
	X(int, destroy_qp, (struct ibv_qp *))                                                    \
	X(int, modify_qp, (struct ibv_qp *, struct ibv_qp_attr *, int))                          \
	X(int, query_gid, (struct ibv_context *, uint8_t, int, union ibv_gid *))

#define POINTER(ret, name, args) static ret(*v_##name) args;
FUNCTIONS(POINTER)

static void die(const char *what)
{
	fprintf(stderr, "programs: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void load(int flags)
{
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL | flags);

	if (!lib)
		die(dlerror());
#define FIND(ret, name, args)                                                                    \
	v_##name = (ret(*) args)dlvsym(lib, "ibv_" #name, "IBVERBS_1.1");                        \
	if (!v_##name)                                                                           \
		die("ibv_" #name);
	FUNCTIONS(FIND)
}

static struct ibv_context *ctx;
static struct ibv_cq *cq;
static struct ibv_qp *qp;

enum {
	TO_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
};

/* A QP connected to itself. */
static void set_up(void)
{
	struct ibv_device **list = v_get_device_list(NULL);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_pd *pd;

	a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;

	ctx = list && list[0] ? v_open_device(list[0]) : NULL;
	if (!ctx)
		die("open_device");
	v_free_device_list(list);
	pd = v_alloc_pd(ctx);
	cq = v_create_cq(ctx, 1000, NULL, NULL, 0);
	init.send_cq = init.recv_cq = cq;
	init.cap.max_send_wr = 100;
	init.cap.max_send_sge = 1;
	qp = pd && cq ? v_create_qp(pd, &init) : NULL;
	if (!qp || v_modify_qp(qp, &a, TO_INIT))
		die("create_qp");
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = qp->qp_num;
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 1;
	a.ah_attr.grh.sgid_index = 1;
	if (v_query_gid(ctx, 1, 1, &a.ah_attr.grh.dgid) || v_modify_qp(qp, &a, TO_RTR))
		die("RTR");
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 14;
	a.retry_cnt = 7;
	if (v_modify_qp(qp, &a, TO_RTS))
		die("RTS");
}

static int post(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE }, *bad;

	wr.send_flags = IBV_SEND_SIGNALED;
	return ibv_post_send(qp, &wr, &bad);
}

static void traffic(int n)
{
	struct ibv_wc wc;

	while (n--) {
		long spins = 0;
		int got;

		if (post())
			die("post_send");
		while (!(got = ibv_poll_cq(cq, 1, &wc)))
			if (++spins > 2000000000)
				die("no completion");
		if (got < 0 || wc.status)
			die("a completion");
	}
}

static sigjmp_buf back;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

static void own_faults(void)
{
	struct sigaction sa = { .sa_handler = on_fault };
	volatile char *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile int caught = 0;

	sigemptyset(&sa.sa_mask);
	if (sigaction(SIGSEGV, &sa, NULL))
		die("sigaction");
	for (int i = 0; i < 200; i++) {
		traffic(20);
		if (sigsetjmp(back, 1))
			caught++;
		else
			*hole = 1;
	}
	if (caught != 200)
		die("own faults");
}

static void *worker(void *arg)
{
	struct ibv_wc wc[16];

	for (;;) {
		post();
		while (ibv_poll_cq(cq, 16, wc) > 0)
			;
		pthread_testcancel();
	}
	return arg;
}

/*
 * The cancellation arrives at any moment and takes effect at the worker's own cancellation point.
 * The library calls before that must not leave a lock held.
 */
static void cancel(void)
{
	struct ibv_wc wc;

	for (int i = 0; i < 100; i++) {
		pthread_t t[2];

		for (int k = 0; k < 2; k++)
			if (pthread_create(&t[k], NULL, worker, NULL))
				die("pthread_create");
		usleep(500);
		for (int k = 0; k < 2; k++)
			pthread_cancel(t[k]);
		for (int k = 0; k < 2; k++)
			pthread_join(t[k], NULL);
	}
	for (int idle = 0; idle < 1000; idle++)
		while (ibv_poll_cq(cq, 1, &wc) > 0)
			idle = 0;
	traffic(100);
}

static void spawn(void)
{
	char *argv[] = { (char *)"true", NULL };
	int copies[3];

	for (int i = 0; i < 50; i++) {
		int status;
		pid_t pid;

		/* Copy and close the device's descriptors meanwhile. */
		copies[0] = dup(ctx->cmd_fd);
		copies[1] = fcntl(ctx->cmd_fd, F_DUPFD_CLOEXEC, 100);
		copies[2] = dup3(ctx->async_fd, 200, O_CLOEXEC);
		if (posix_spawnp(&pid, "true", NULL, NULL, argv, environ) ||
		    waitpid(pid, &status, 0) != pid || status)
			die("posix_spawn");
		for (int k = 0; k < 3; k++)
			if (copies[k] < 0 || close(copies[k]))
				die("a copy");
		traffic(20);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain";

	load(strcmp(what, "deepbind") ? 0 : RTLD_DEEPBIND);
	set_up();
	traffic(1000);
	if (!strcmp(what, "segv"))
		own_faults();
	else if (!strcmp(what, "cancel"))
		cancel();
	else if (!strcmp(what, "spawn"))
		spawn();
	traffic(1000);
	if (v_destroy_qp(qp) || v_destroy_cq(cq))
		die("destroy");
	v_close_device(ctx);
	return 0;
}

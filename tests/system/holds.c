/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Does a command hold when it has ended? In each round: connects two processes by new QPs, runs BEFORE, runs COMMAND,
 * posts a WRITE at once, and runs AFTER.
 *
 *   holds ROUNDS TIMEOUT WANT COMMAND [BEFORE [AFTER]]
 *
 * TIMEOUT is the local ACK timeout of the QPs. WANT is the name of the WRITE's status, or of the errno of its post;
 * "same" is that of the first round. The commands are run by sh, with $PID, $PEER (of the idle process) and $QP.
 *
 *   holds ROUNDS event WANT COMMAND [BEFORE [AFTER]]
 *
 * Runs BEFORE, opens the device, runs COMMAND, and compares the asynchronous event that has come with WANT.
 *
 * Prints "held N of ROUNDS", and its status is 1 if a round had another status, or if AFTER fails.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verbs.h"

#define PATIENCE 60	/* seconds */

static uint8_t buf[4096];

static struct ibv_mr *holds_open(struct vctx *v, int sock, int timeout)
{
	struct vcfg cfg = vcfg_default;
	struct ibv_mr *mr;

	cfg.timeout = (uint8_t)timeout;
	cfg.retry = 1;
	v_open(v, &cfg);
	v->sock = sock;
	mr = ibv_reg_mr(v->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!mr)
		die("reg_mr");
	return mr;
}

static void holds_connect(struct vctx *v, struct ibv_mr *mr, struct vdest *theirs)
{
	struct vdest mine = { .addr = (uintptr_t)buf, .rkey = mr->rkey };

	if (ibv_destroy_qp(v->qp))
		die("destroy_qp");
	v->qp = v_qp(v);
	v_connect(v, &mine, theirs);
}

/* On a busy machine the thread that looks for changes runs after all others, such as the one that posts. */
static void progress_late(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *d;

	while (tasks && (d = readdir(tasks))) {
		char path[300], comm[16] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", d->d_name);
		f = fopen(path, "re");
		if (f && fgets(comm, sizeof(comm), f) && !strcmp(comm, "ruse-progress\n"))
			setpriority(PRIO_PROCESS, (id_t)atoi(d->d_name), 10);
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
}

static void serve(int sock, int timeout)
{
	struct vctx v = { 0 };
	struct ibv_mr *mr = holds_open(&v, sock, timeout);
	struct vdest theirs;
	char c;

	progress_late();
	while (recv(sock, &c, 1, 0) == 1)
		holds_connect(&v, mr, &theirs);
	exit(0);
}

static int run(const char *line)
{
	return line && *line ? system(line) : 0;
}

/* The name of what the WRITE ends with. */
static const char *write_one(struct vctx *v, struct ibv_mr *mr, const struct vdest *to)
{
	struct ibv_sge sge = { (uintptr_t)buf, 64, mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { to->addr, to->rkey },
	};
	int rc = ibv_post_send(v->qp, &wr, &bad);
	struct ibv_wc wc;

	return rc ? strerrorname_np(rc) : ibv_wc_status_str(v_wait(v->cq, &wc, PATIENCE));
}

static int rounds, held;
static const char *want, *before, *command, *after;

static void round_end(int i, const char *got)
{
	if (!want)
		want = got;
	if (strcmp(got, want))
		fprintf(stderr, "round %d: %s, not %s\n", i, got, want);
	else if (run(after))
		fprintf(stderr, "round %d: status of the last command\n", i);
	else
		held++;
}

static void run_well(int i, const char *line)
{
	if (run(line))
		die("round %d: a command failed: %s", i, line);
}

static void writes(int timeout)
{
	struct vctx v = { 0 };
	struct vdest theirs;
	struct ibv_mr *mr;
	char number[16];
	int sock[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock))
		die("socketpair");
	pid = fork();
	if (!pid) {
		close(sock[0]);
		serve(sock[1], timeout);
	}
	close(sock[1]);
	snprintf(number, sizeof(number), "%d", (int)pid);
	setenv("PEER", number, 1);
	mr = holds_open(&v, sock[0], timeout);
	progress_late();
	for (int i = 0; i < rounds; i++) {
		v_put(v.sock, "n", 1);
		holds_connect(&v, mr, &theirs);
		snprintf(number, sizeof(number), "%u", v.qp->qp_num);
		setenv("QP", number, 1);
		run_well(i, before);
		run_well(i, command);
		round_end(i, write_one(&v, mr, &theirs));
	}
	close(v.sock);
	waitpid(pid, NULL, 0);
}

/* The asynchronous event that has come. */
static const char *event_there(struct ibv_context *ctx)
{
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&p, 1, 0) != 1 || ibv_get_async_event(ctx, &event))
		return "none";
	ibv_ack_async_event(&event);
	return ibv_event_type_str(event.event_type);
}

static void events(void)
{
	const char *name = getenv("VERBS_DEVICE");

	for (int i = 0; i < rounds; i++) {
		struct ibv_device **list;
		struct ibv_context *ctx = NULL;

		run_well(i, before);
		list = ibv_get_device_list(NULL);
		for (int k = 0; list && list[k] && !ctx; k++)
			if (!name || !strcmp(name, ibv_get_device_name(list[k])))
				ctx = ibv_open_device(list[k]);
		if (!ctx)
			die("round %d: no device", i);
		ibv_free_device_list(list);
		progress_late();
		run_well(i, command);
		round_end(i, event_there(ctx));
		ibv_close_device(ctx);
	}
}

int main(int argc, char **argv)
{
	char number[16];

	if (argc < 5)
		die("usage: holds ROUNDS TIMEOUT|event WANT COMMAND [BEFORE [AFTER]]");
	rounds = atoi(argv[1]);
	want = strcmp(argv[3], "same") ? argv[3] : NULL;
	command = argv[4];
	before = argc > 5 ? argv[5] : NULL;
	after = argc > 6 ? argv[6] : NULL;
	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("PID", number, 1);
	if (!strcmp(argv[2], "event"))
		events();
	else
		writes(atoi(argv[2]));
	printf("held %d of %d\n", held, rounds);
	return held != rounds;
}

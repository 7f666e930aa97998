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
 * With HOLDS_MIN in the environment, a WRITE that ends within that many milliseconds is "early"; after them, $HOLDS_THEN
 * is run.
 *
 *   holds ROUNDS event|port|device WANT COMMAND [BEFORE [AFTER]]
 *
 * Runs BEFORE, opens the device, runs COMMAND, and compares WANT with the asynchronous event that has come, with the state
 * of port 1, or with "there" or "gone" for $VERBS_DEVICE in sysfs.
 *
 *   holds ROUNDS connect|resolve WANT COMMAND [BEFORE [AFTER]]
 *
 * By librdmacm, with $ADDRESS: see holds_cm.c.
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
#include "holds.h"
#include "verbs.h"

static uint8_t buf[4096];
static int held;
static const char *want, *after;

int holds_rounds;
const char *holds_before, *holds_command;

int holds_run(const char *line)
{
	return line && *line ? system(line) : 0;
}

void holds_run_well(int i, const char *line)
{
	if (holds_run(line))
		die("round %d: a command failed: %s", i, line);
}

void holds_round_end(int i, const char *got)
{
	if (!want)
		want = got;
	if (strcmp(got, want))
		fprintf(stderr, "round %d: %s, not %s\n", i, got, want);
	else if (holds_run(after))
		fprintf(stderr, "round %d: status of the last command\n", i);
	else
		held++;
}

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
void holds_progress_late(void)
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

	holds_progress_late();
	while (recv(sock, &c, 1, 0) == 1)
		holds_connect(&v, mr, &theirs);
	exit(0);
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
	const char *least = getenv("HOLDS_MIN");
	struct ibv_wc wc;

	if (rc)
		return strerrorname_np(rc);
	if (least) {
		usleep((useconds_t)atoi(least) * 1000);
		if (ibv_poll_cq(v->cq, 1, &wc))
			return "early";
		if (holds_run(getenv("HOLDS_THEN")))
			return "HOLDS_THEN failed";
	}
	return ibv_wc_status_str(v_wait(v->cq, &wc, PATIENCE));
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
	holds_progress_late();
	for (int i = 0; i < holds_rounds; i++) {
		v_put(v.sock, "n", 1);
		holds_connect(&v, mr, &theirs);
		snprintf(number, sizeof(number), "%u", v.qp->qp_num);
		setenv("QP", number, 1);
		holds_run_well(i, holds_before);
		holds_run_well(i, holds_command);
		holds_round_end(i, write_one(&v, mr, &theirs));
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

/* libibverbs lists a device by the name that it had when the program saw it first, so sysfs is asked. */
static const char *device_there(const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/node_guid", name);
	return access(path, R_OK) ? "gone" : "there";
}

static const char *port_state(struct ibv_context *ctx)
{
	struct ibv_port_attr port;
	int rc = ibv_query_port(ctx, 1, &port);

	return rc ? strerrorname_np(rc) : ibv_port_state_str(port.state);
}

/* The device of that name, or the first one; NULL if there is none. */
static struct ibv_context *device_open(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	for (int k = 0; list && list[k] && !ctx; k++)
		if (!name || !strcmp(name, ibv_get_device_name(list[k])))
			ctx = ibv_open_device(list[k]);
	ibv_free_device_list(list);
	return ctx;
}

/* what: event, port or device */
static void devices(const char *what)
{
	const char *name = getenv("VERBS_DEVICE");

	for (int i = 0; i < holds_rounds; i++) {
		struct ibv_context *ctx;
		const char *got;

		holds_run_well(i, holds_before);
		ctx = device_open(strcmp(what, "device") ? name : NULL);
		if (!ctx)
			die("round %d: no device", i);
		holds_progress_late();
		holds_run_well(i, holds_command);
		if (!strcmp(what, "event"))
			got = event_there(ctx);
		else
			got = strcmp(what, "port") ? device_there(name) : port_state(ctx);
		holds_round_end(i, got);
		ibv_close_device(ctx);
	}
}

int main(int argc, char **argv)
{
	char number[16];
	const char *what;

	if (argc < 5)
		die("usage: holds ROUNDS TIMEOUT|event|port|device|connect|resolve WANT COMMAND [BEFORE [AFTER]]");
	holds_rounds = atoi(argv[1]);
	what = argv[2];
	want = strcmp(argv[3], "same") ? argv[3] : NULL;
	holds_command = argv[4];
	holds_before = argc > 5 ? argv[5] : NULL;
	after = argc > 6 ? argv[6] : NULL;
	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("PID", number, 1);
	if (atoi(what))
		writes(atoi(what));
	else if (!strcmp(what, "connect") || !strcmp(what, "resolve"))
		holds_cm(!strcmp(what, "connect"), getenv("ADDRESS"));
	else
		devices(what);
	printf("held %d of %d\n", held, holds_rounds);
	return held != holds_rounds;
}

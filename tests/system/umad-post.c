/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * umad0 of a host in a fabric whose port 1 is connected to a switch: SMPs that a process posts
 * (ipc/umad_shm.h), without waiting for rused, are sent and answered like those that wait, and write() reports the
 * same errors.
 */
#include <pthread.h>
#include "umad.h"

enum { CLASS_DR = 0x81, HOP_POINTER = 6, HOP_COUNT = 7, DR_SLID = 32, DR_DLID = 34, SMP_DATA = 64,
       INITIAL_PATH = 128 };
enum { NODE_INFO = 0x11, NODE_SWITCH = 2 };
#define SMP_TIMEOUT_MS 10000
#define LOST_MS 300

static int open_smp(uint32_t *id)
{
	int fd = open_umad(0), ret;

	CHECK(ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL) == 0);
	ret = reg(fd, 0, CLASS_DR, 1, 0);
	CHECK(ret >= 0);
	*id = (uint32_t)ret;
	return fd;
}

/*
 * Fills in a directed-route Get of NodeInfo. With `second` 0 it goes to the switch, otherwise to
 * the node that is connected to port `second` of the switch.
 */
static void smp(struct packet *p, uint32_t id, uint32_t tid, uint8_t second)
{
	memset(p, 0, sizeof(*p));
	p->hdr = (struct ib_user_mad_hdr){ .id = id, .timeout_ms = SMP_TIMEOUT_MS, .lid = 0xffff };
	p->mad[BASE_VERSION] = 1;
	p->mad[CLASS] = CLASS_DR;
	p->mad[CLASS_VERSION] = 1;
	p->mad[METHOD] = GET;
	p->mad[HOP_COUNT] = second ? 2 : 1;
	p->mad[ATTR + 1] = NODE_INFO;
	memset(p->mad + DR_SLID, 0xff, 4);
	p->mad[INITIAL_PATH + 1] = 1;
	p->mad[INITIAL_PATH + 2] = second;
	tid = htonl(tid);
	memcpy(p->mad + TID + 4, &tid, 4);
}

static uint32_t answer(int fd)
{
	struct packet got;

	CHECK(get(fd, &got, sizeof(got)) == sizeof(got));
	CHECK(!got.hdr.status && got.mad[METHOD] == (GET | RESP));
	CHECK(got.mad[SMP_DATA + 2] == NODE_SWITCH);
	return low_tid(got.mad);
}

static void ask(int fd, uint32_t id, uint32_t tid)
{
	struct packet p;

	smp(&p, id, tid, 0);
	CHECK(put(fd, &p) == 0);
}

/* More SMPs than any ring holds, in flight and in total; the answers must be in order. */
static void order(void)
{
	uint32_t id, sent = 0;
	int fd = open_smp(&id);

	for (uint32_t i = 0; i < 3000; i++) {
		while (sent < 3000 && sent < i + 600)
			ask(fd, id, sent++);
		CHECK(answer(fd) == i);
	}
	CHECK(!readable(fd, 0));
}

static void errors(void)
{
	struct packet p, got;
	uint32_t id;
	int fd = open_smp(&id);

	smp(&p, id, 1, 0);
	p.hdr.id = id + 1;
	CHECK(put(fd, &p) == -EIO);
	p.hdr.id = 32;
	CHECK(put(fd, &p) == -EINVAL);
	/* A path that begins at port 2, which the HCA does not have, is refused. */
	smp(&p, id, 1, 0);
	p.mad[INITIAL_PATH + 1] = 2;
	CHECK(put(fd, &p) == -EINVAL);
	p.mad[HOP_COUNT] = 200;
	CHECK(put(fd, &p) == -EINVAL);
	CHECK(write(fd, no_page(), sizeof(p)) == -1 && errno == EFAULT);
	CHECK(write(fd, &p, HDR + 35) == -1 && errno == EINVAL);
	ask(fd, id, 1);
	CHECK(read(fd, no_page(), sizeof(p)) == -1 && errno == EFAULT);
	CHECK(read(fd, &got, HDR - 1) == -1 && errno == EINVAL);
	CHECK(read(fd, &got, sizeof(got) - 1) == -1 && errno == EINVAL);
	CHECK(answer(fd) == 1);
	CHECK(unreg(fd, id) == 0);
	smp(&p, id, 2, 0);
	CHECK(put(fd, &p) == -EIO);
}

/* A transaction ID is refused while it is in use, until it is answered or has timed out. */
static void duplicates(void)
{
	struct packet p, got;
	uint32_t id;
	int fd = open_smp(&id);

	smp(&p, id, 7, 200);
	p.hdr.timeout_ms = LOST_MS;
	CHECK(put(fd, &p) == 0);
	CHECK(put(fd, &p) == -EINVAL);
	ask(fd, id, 8);
	CHECK(answer(fd) == 8);
	ask(fd, id, 7 + 256);	/* same low byte, but another ID */
	CHECK(answer(fd) == 7 + 256);
	CHECK(get(fd, &got, sizeof(got)) > 0 && got.hdr.status == ETIMEDOUT);
	CHECK(low_tid(got.mad) == 7);
	ask(fd, id, 7);
	CHECK(answer(fd) == 7);
	ask(fd, id, 7);
	CHECK(answer(fd) == 7);
}

/*
 * The child shares the file: it can read the answer to its parent's request, and send requests. The MADs that a
 * process has posted are handled before the command that it sends next, here the removal of the agent.
 */
static void forked(void)
{
	uint32_t id;
	int fd = open_smp(&id), st;
	pid_t pid;

	ask(fd, id, 1);
	pid = fork();
	if (!pid) {
		CHECK(answer(fd) == 1);
		ask(fd, id, 2);
		CHECK(answer(fd) == 2);
		_exit(0);
	}
	CHECK(waitpid(pid, &st, 0) == pid && !st);
	ask(fd, id, 2);
	CHECK(answer(fd) == 2);
	for (uint32_t i = 0; i < 50; i++)
		ask(fd, id, i);
	CHECK(unreg(fd, id) == 0);
	/* Transactions of a closed file's agent are gone, answered or not. */
	close(fd);
	fd = open_smp(&id);
	ask(fd, id, 3);
	CHECK(answer(fd) == 3);
}

#define EACH 3000u

struct writer {
	int fd;
	uint32_t id, first;
};

static void *writes(void *arg)
{
	const struct writer *w = arg;

	for (uint32_t i = 0; i < EACH; i++)
		ask(w->fd, w->id, w->first + i);
	return NULL;
}

static void threads(void)
{
	struct writer w[2] = { { .first = 0 }, { .first = EACH } };
	uint32_t next[2] = { 0, EACH };
	pthread_t t[2];

	w[0].fd = w[1].fd = open_smp(&w[0].id);
	w[1].id = w[0].id;
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&t[i], NULL, writes, &w[i]));
	for (uint32_t i = 0; i < 2 * EACH; i++) {
		uint32_t tid = answer(w[0].fd), who = tid >= EACH;

		CHECK(tid == next[who]++);
	}
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_join(t[i], NULL));
	CHECK(!readable(w[0].fd, 0));
}

static const struct testcase cases[] = {
	{ "order", order, 0 },
	{ "errors", errors, 0 },
	{ "duplicates", duplicates, 0 },
	{ "forked", forked, 0 },
	{ "threads", threads, 0 },
};

int main(int argc, char **argv)
{
	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}

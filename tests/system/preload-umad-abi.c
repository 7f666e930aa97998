/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ABI of umad0 and issm0 on a RoCE port: agents, MADs, RMPP, timeouts, the IsSM bit. */
#include <pthread.h>
#include <signal.h>
#include <sys/sysmacros.h>
#include "umad.h"

static void agents(void)
{
	int fd = open_umad(O_NONBLOCK);

	/* RoCE has no QP0; QPs above 1 are never allowed. */
	CHECK(reg(fd, 0, CLASS_SMP, 1, 0) == -EPROTONOSUPPORT);
	CHECK(reg(fd, 2, CLASS_PERF, 1, 0) == -EINVAL);
	CHECK(reg(fd, 1, CLASS_SMP, 1, 0) == -EINVAL);
	CHECK(reg(fd, 1, CLASS_PERF, 1, 1) == -EINVAL);		/* a class without RMPP */
	CHECK(reg(fd, 1, CLASS_SA, 2, 2) == -EINVAL);		/* an unknown RMPP version */
	CHECK(reg(fd, 1, CLASS_CM, 2, 0) == -EINVAL);		/* rused's CM has this class's Send method */
	CHECK(reg(fd, 1, CLASS_PERF, 1, 0) == 0);
	CHECK(reg(fd, 1, CLASS_PERF, 1, 0) == -EINVAL);		/* methods that are taken */
	CHECK(reg(fd, 1, CLASS_PERF, 2, 0) == 1);		/* another class version */
	CHECK(unreg(fd, 0) == 0 && unreg(fd, 0) == -EINVAL && unreg(fd, 32) == -EINVAL);
	CHECK(reg(fd, 1, CLASS_PERF, 1, 0) == 0);		/* the lowest free id */
	for (int i = 2; i < 32; i++)
		CHECK(reg(fd, 1, 0, 0, 0) == i);
	CHECK(reg(fd, 1, 0, 0, 0) == -ENOMEM);
	CHECK(ioctl(fd, IB_USER_MAD_REGISTER_AGENT, no_page()) == -1 && errno == EFAULT);
	CHECK(ioctl(fd, IB_USER_MAD_UNREGISTER_AGENT, no_page()) == -1 && errno == EFAULT);
	CHECK(ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL) == -1 && errno == EINVAL);
	CHECK(ioctl(fd, _IO(IB_IOCTL_MAGIC, 9), NULL) == -1 && errno == ENOTTY);
}

static void agents2(void)
{
	struct ib_user_mad_reg_req2 r = { .qpn = 1, .mgmt_class = CLASS_VENDOR_RMPP,
					  .mgmt_class_version = 1, .oui = 0x001405,
					  .method_mask = { 0x7e }, .rmpp_version = 1 };
	struct ib_user_mad_reg_req2 bad = r;
	int fd = open_umad(O_NONBLOCK);

	bad.flags = 6;
	CHECK(reg2(fd, &bad) == -EINVAL && bad.flags == IB_USER_MAD_REG_FLAGS_CAP);
	bad = r;
	bad.oui = 0x01001405;
	CHECK(reg2(fd, &bad) == -EINVAL);
	bad.oui = 0;
	CHECK(reg2(fd, &bad) == -EINVAL);
	bad = r;
	bad.qpn = 2;
	CHECK(reg2(fd, &bad) == -EINVAL);
	r.id = 0xffff;
	CHECK(reg2(fd, &r) == 0 && r.id == 0);
	/* REGISTER_AGENT2 selects the longer header, so ENABLE_PKEY comes too late. */
	CHECK(ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL) == -1 && errno == EINVAL);
	r.flags = IB_USER_MAD_USER_RMPP;
	r.oui = 0x001406;
	CHECK(reg2(fd, &r) == 1);
	CHECK(unreg(fd, 1) == 0);
}

/* Without ENABLE_PKEY the header has 56 bytes. */
static void old_header(void)
{
	uint8_t got[OLD_HDR + MAD + 1], out[OLD_HDR + MAD];
	const struct ib_user_mad_hdr *h = (const void *)got;
	int fd = open_umad(O_NONBLOCK);
	struct packet p;

	CHECK(reg(fd, 1, CLASS_VENDOR, 1, 0) == 0);
	build(&p, CLASS_VENDOR, 1, SEND, 3, 0);
	memcpy(out, &p.hdr, OLD_HDR);
	memcpy(out + OLD_HDR, p.mad, MAD);
	CHECK(write(fd, out, sizeof(out)) == sizeof(out));
	CHECK(get(fd, got, sizeof(got)) == OLD_HDR + MAD && h->length == OLD_HDR + MAD);
	CHECK(low_tid(got + OLD_HDR) == 3);
}

static void refused(void)
{
	int fd = open_agent(O_NONBLOCK, CLASS_VENDOR, 1, 0);
	struct packet p;

	build(&p, CLASS_VENDOR, 1, SEND, 1, 0);
	CHECK(write(fd, &p, HDR + 35) == -1 && errno == EINVAL);
	CHECK(write(fd, no_page(), HDR + MAD) == -1 && errno == EFAULT);
	p.hdr.id = 1;
	CHECK(put(fd, &p) == -EIO);
	p.hdr.id = 32;
	CHECK(put(fd, &p) == -EINVAL);
	p.hdr.id = 0;
	p.hdr.grh_present = 0;
	CHECK(put(fd, &p) == -EINVAL);		/* RoCE needs a GRH */
	p.hdr.grh_present = 1;
	p.hdr.gid_index = 200;
	CHECK(put(fd, &p) == -ENODATA);
	CHECK(read(fd, &p, HDR - 1) == -1 && errno == EINVAL);
	CHECK(read(fd, &p, HDR) == -1 && errno == EAGAIN);
	CHECK(!readable(fd, 0));
}

/* A request and its response between two files; the header holds the sender's address. */
static void exchange(void)
{
	int client = open_agent(O_NONBLOCK, 0, 0, 0);
	int server = open_agent(O_NONBLOCK, CLASS_PERF, 1, 0);
	struct packet p, got;
	uint8_t gid[16];

	own_gid(gid);
	build(&p, CLASS_PERF, 1, GET, 0x1234, WAIT_MS);
	memset(p.mad, 0xee, 8);
	build(&p, CLASS_PERF, 1, GET, 0x1234, WAIT_MS);
	memset(p.mad + TID, 0xee, 4);
	CHECK(put(client, &p) == 0);
	CHECK(get(server, &got, sizeof(got)) == sizeof(got));
	CHECK(got.hdr.id == 0 && got.hdr.status == 0 && got.hdr.length == sizeof(got));
	CHECK(got.hdr.qpn == htonl(1) && got.hdr.grh_present && !memcmp(got.hdr.gid, gid, 16));
	CHECK(got.hdr.lid == 0 && got.hdr.gid_index == 0);
	CHECK(got.mad[METHOD] == GET && low_tid(got.mad) == 0x1234);
	/* The upper half of the transaction ID is the agent's, not the program's. */
	CHECK(memcmp(got.mad + TID, "\xee\xee\xee\xee", 4));
	/* The header that was read serves as the address of the answer. */
	got.mad[METHOD] |= RESP;
	got.mad[100] = 42;
	got.hdr.timeout_ms = 0;
	CHECK(put(server, &got) == 0);
	memset(&got, 0, sizeof(got));
	CHECK(get(client, &got, sizeof(got)) == sizeof(got));
	CHECK(got.hdr.status == 0 && low_tid(got.mad) == 0x1234 && got.mad[100] == 42);
	CHECK(!readable(client, 0) && !readable(server, 0));
	/* A transaction ID that is in use is refused. */
	CHECK(put(client, &p) == 0 && put(client, &p) == -EINVAL);
	/* With a bad pointer or a small buffer the MAD stays in the queue. */
	CHECK(readable(server, WAIT_MS));
	CHECK(read(server, no_page(), sizeof(got)) == -1 && errno == EFAULT);
	CHECK(readable(server, 0) && read(server, &got, HDR + MAD - 1) == -1 && errno == EINVAL);
	CHECK(readable(server, 0) && get(server, &got, sizeof(got)) == sizeof(got));
}

/*
 * A Get of a class without an agent (performance management) gets a response with an error status,
 * as from kernel rxe.
 */
static void no_agent(void)
{
	int fd = open_agent(O_NONBLOCK, 0, 0, 0);
	struct packet p, got;

	build(&p, CLASS_PERF, 1, GET, 5, WAIT_MS);
	CHECK(put(fd, &p) == 0);
	CHECK(get(fd, &got, sizeof(got)) == sizeof(got));
	CHECK(got.hdr.status == 0 && got.mad[METHOD] == (GET | RESP) && low_tid(got.mad) == 5);
	CHECK(got.mad[STATUS + 1] == 0x0c);
}

/* A Send expects no answer; a Get without an answer is returned with its header and MAD. */
static void timed_out(void)
{
	int server = open_agent(O_NONBLOCK, CLASS_PERF, 1, 0);
	int fd = open_agent(O_NONBLOCK, 0, 0, 0);
	struct packet p, got;

	build(&p, CLASS_PERF, 1, GET, 6, 100);
	p.hdr.retries = 2;
	CHECK(put(fd, &p) == 0);
	CHECK(readable(fd, WAIT_MS));
	CHECK(read(fd, &got, HDR + 23) == -1 && errno == EINVAL);
	CHECK(get(fd, &got, sizeof(got)) == HDR + 24);
	CHECK(got.hdr.status == ETIMEDOUT && got.hdr.id == 0 && got.hdr.timeout_ms == 100);
	CHECK(got.hdr.retries == 2 && !memcmp(got.hdr.gid, p.hdr.gid, 16));
	CHECK(got.mad[CLASS] == CLASS_PERF && got.mad[METHOD] == GET && low_tid(got.mad) == 6);
	CHECK(!readable(fd, 0));
	/* The request was sent three times. */
	for (int i = 0; i < 3; i++)
		CHECK(get(server, &got, sizeof(got)) == sizeof(got) && low_tid(got.mad) == 6);
	CHECK(!readable(server, 0));
	/* A request of an agent that was removed is not returned. */
	CHECK(put(fd, &p) == 0 && unreg(fd, 0) == 0);
	CHECK(!readable(fd, 500));
}

/* MADs for a QP other than QP1 do not reach agents. */
static void other_qp(void)
{
	int server = open_agent(O_NONBLOCK, CLASS_PERF, 1, 0);
	int fd = open_agent(O_NONBLOCK, 0, 0, 0);
	struct packet p, got;

	build(&p, CLASS_PERF, 1, GET, 8, 200);
	p.hdr.qpn = htonl(0x1234);
	CHECK(put(fd, &p) == 0);
	CHECK(get(fd, &got, sizeof(got)) == HDR + 24 && got.hdr.status == ETIMEDOUT);
	CHECK(!readable(server, 0));
}

/* Agents register methods, not only classes. */
static void methods(void)
{
	struct ib_user_mad_reg_req2 r = { .qpn = 1, .mgmt_class = CLASS_VENDOR,
					  .mgmt_class_version = 1 };
	int get_fd = open_umad(O_NONBLOCK), set_fd = open_umad(O_NONBLOCK);
	struct packet p, got;

	r.method_mask[0] = 1 << GET;
	CHECK(reg2(get_fd, &r) == 0);
	r.method_mask[0] = 1 << GET | 1 << SET;
	CHECK(reg2(set_fd, &r) == -EINVAL);
	r.method_mask[0] = 1 << SET;
	CHECK(reg2(set_fd, &r) == 0);
	build(&p, CLASS_VENDOR, 1, SET, 1, WAIT_MS);
	CHECK(put(get_fd, &p) == 0);
	CHECK(get(set_fd, &got, sizeof(got)) == sizeof(got) && got.mad[METHOD] == SET);
	CHECK(!readable(get_fd, 0));
}

/* A vendor message with len bytes of data after its headers; the caller frees it. */
static struct packet *rmpp(uint32_t tid, size_t len)
{
	struct packet *p = calloc(1, HDR + VENDOR_DATA + len + MAD);

	CHECK(p);
	build(p, CLASS_VENDOR_RMPP, 1, SEND, tid, WAIT_MS);
	p->mad[RMPP_VERSION] = 1;
	p->mad[RMPP_TYPE] = 1;
	p->mad[RMPP_FLAGS] = 1;
	memcpy(p->mad + OUI, "\x00\x14\x05", 3);
	for (size_t i = 0; i < len; i++)
		p->mad[VENDOR_DATA + i] = (uint8_t)(i * 7 + (i >> 8));
	return p;
}

/*
 * Sends a message as RMPP segments. A read with too small a buffer fails with ENOSPC, but returns
 * the header and the first segment, and the message stays in the queue. The next read returns all
 * of it.
 */
static void rmpp_of(int from, int to, size_t len)
{
	struct packet *p = rmpp((uint32_t)len, len), first;
	size_t all = HDR + VENDOR_DATA + len;
	uint8_t *got = calloc(1, all + MAD);

	CHECK(got && write(from, p, all) == (ssize_t)all);
	CHECK(readable(to, WAIT_MS));
	CHECK(read(to, &first, HDR + MAD - 1) == -1 && errno == EINVAL);
	CHECK(read(to, &first, sizeof(first)) == -1 && errno == ENOSPC);
	/*
	 * The header has the length of the whole message, without the padding of the last segment.
	 */
	CHECK(first.hdr.length == all && first.mad[RMPP_FLAGS] & 1);
	CHECK(!memcmp(first.mad + VENDOR_DATA, p->mad + VENDOR_DATA, MAD - VENDOR_DATA));
	CHECK(read(to, no_page(), first.hdr.length) == -1 && errno == EFAULT);
	CHECK(readable(to, 0));
	CHECK(get(to, got, all + MAD) == (int)all);
	CHECK(!memcmp(got + HDR + VENDOR_DATA, p->mad + VENDOR_DATA, len));
	free(got);
	free(p);
	CHECK(!readable(to, 0));
}

static void rmpp_messages(void)
{
	struct ib_user_mad_reg_req2 r = { .qpn = 1, .mgmt_class = CLASS_VENDOR_RMPP,
					  .mgmt_class_version = 1, .oui = 0x001405,
					  .rmpp_version = 1 };
	int from = open_umad(O_NONBLOCK), to = open_umad(O_NONBLOCK);
	struct packet *p;

	CHECK(reg2(from, &r) == 0);
	r.method_mask[0] = 1 << SEND;
	CHECK(reg2(to, &r) == 0);
	rmpp_of(from, to, 217);		/* two segments */
	rmpp_of(from, to, 4096);
	rmpp_of(from, to, 5000);
	rmpp_of(from, to, 100001);
	rmpp_of(from, to, 1 << 20);
	p = rmpp(1, 1 << 16);
	/* Too long without RMPP. */
	p->mad[RMPP_FLAGS] = 0;
	CHECK(write(from, p, 1 << 16) == -1 && errno == EINVAL);
	free(p);
}

#define ROUNDS 200
#define LONG 3000

/*
 * Long and short messages are sent before any is read, more than the receiver's socket to rused
 * holds: all arrive, the short ones in order.
 */
static void mixed(void)
{
	struct ib_user_mad_reg_req2 r = { .qpn = 1, .mgmt_class = CLASS_VENDOR_RMPP,
					  .mgmt_class_version = 1, .oui = 0x001405,
					  .rmpp_version = 1 };
	int from = open_umad(O_NONBLOCK), to = open_umad(O_NONBLOCK);
	uint32_t shorts = 0, longs = 0;
	static uint8_t got[HDR + LONG + MAD];

	CHECK(reg2(from, &r) == 0);
	r.method_mask[0] = 1 << SEND;
	CHECK(reg2(to, &r) == 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct packet *p = rmpp(1000 + i, LONG);

		CHECK(write(from, p, HDR + VENDOR_DATA + LONG) == HDR + VENDOR_DATA + LONG);
		p->mad[RMPP_FLAGS] = p->mad[RMPP_TYPE] = p->mad[RMPP_VERSION] = 0;
		p->hdr.timeout_ms = 0;
		memcpy(p->mad + TID + 4, &(uint32_t){ htonl(i) }, 4);
		CHECK(put(from, p) == 0);
		free(p);
	}
	for (uint32_t i = 0; i < 2 * ROUNDS; i++) {
		int n = get(to, got, sizeof(got));
		uint32_t tid = low_tid(got + HDR);

		if (n == HDR + MAD) {
			CHECK(tid == shorts++);
			continue;
		}
		CHECK(n == HDR + VENDOR_DATA + LONG && tid >= 1000 && tid < 1000 + ROUNDS);
		for (size_t k = 0; k < LONG; k++)
			CHECK(got[HDR + VENDOR_DATA + k] == (uint8_t)(k * 7 + (k >> 8)));
		longs++;
	}
	CHECK(shorts == ROUNDS && longs == ROUNDS && !readable(to, 0));
}

/* An agent that does RMPP itself gets each segment unchanged. */
static void user_rmpp(void)
{
	struct ib_user_mad_reg_req2 r = { .qpn = 1, .mgmt_class = CLASS_VENDOR_RMPP,
					  .mgmt_class_version = 1, .oui = 0x001405,
					  .rmpp_version = 1, .flags = IB_USER_MAD_USER_RMPP,
					  .method_mask = { 1 << SEND } };
	int fd = open_umad(O_NONBLOCK);
	struct packet *p = rmpp(9, 0), got;

	CHECK(reg2(fd, &r) == 0);
	p->mad[RMPP_FLAGS] = 3;
	p->hdr.timeout_ms = 0;
	CHECK(put(fd, p) == 0 && get(fd, &got, sizeof(got)) == sizeof(got));
	CHECK(got.mad[RMPP_FLAGS] == 3 && low_tid(got.mad) == 9);
	/*
	 * Segments of one RMPP transfer have the same transaction ID, which is not refused as being
	 * in use.
	 */
	CHECK(put(fd, p) == 0 && get(fd, &got, sizeof(got)) == sizeof(got));
	free(p);
}

static uint32_t cap_mask(void)
{
	FILE *f = fopen("/sys/class/infiniband/rxe_0/ports/1/cap_mask", "r");
	unsigned int mask = 0;

	CHECK(f && fscanf(f, "%x", &mask) == 1);
	fclose(f);
	return mask;
}

#define IS_SM 2u

static void issm(void)
{
	int fd = open(ISSM, O_RDWR | O_CLOEXEC), copy;
	char c;

	CHECK(fd >= 0 && cap_mask() & IS_SM);
	CHECK(open(ISSM, O_RDWR | O_NONBLOCK) == -1 && errno == EAGAIN);
	CHECK(read(fd, &c, 1) == -1 && errno == EINVAL);
	CHECK(write(fd, "x", 1) == -1 && errno == EINVAL);
	CHECK(ioctl(fd, IB_USER_MAD_ENABLE_PKEY, NULL) == -1 && errno == ENOTTY);
	CHECK(readable(fd, 0));		/* a device without poll() is always ready */
	copy = dup(fd);
	close(fd);
	CHECK(cap_mask() & IS_SM);
	close(copy);
	for (int i = 0; i < 50; i++) {
		fd = open(ISSM, O_RDWR | O_NONBLOCK);
		CHECK(fd >= 0 && cap_mask() & IS_SM);
		close(fd);
	}
}

static bool bit_is(bool set)
{
	for (int i = 0; i < WAIT_MS / 10; i++) {
		if (!(cap_mask() & IS_SM) == !set)
			return true;
		usleep(10000);
	}
	return false;
}

static void issm_cleared(void)
{
	int st;
	pid_t pid = fork();

	if (!pid) {
		CHECK(open(ISSM, O_RDWR) >= 0);
		for (;;)
			pause();
	}
	CHECK(bit_is(true));
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, &st, 0) == pid);
	CHECK(bit_is(false));
	st = open(ISSM, O_RDWR);
	CHECK(st >= 0 && cap_mask() & IS_SM);
	close(st);
	CHECK(bit_is(false));
}

static void *open_issm(void *arg)
{
	*(int *)arg = open(ISSM, O_RDWR);
	return NULL;
}

static void on_signal(int sig)
{
}

/* A second open of issm0 waits until the first is closed or a signal arrives. */
static void issm_blocks(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	int fd = open(ISSM, O_RDWR), second = -2, fds;
	pthread_t t;
	void *ret;

	CHECK(fd >= 0 && !pthread_create(&t, NULL, open_issm, &second));
	usleep(300000);
	CHECK(__atomic_load_n(&second, __ATOMIC_ACQUIRE) == -2);
	close(fd);
	CHECK(!pthread_join(t, NULL) && second >= 0 && cap_mask() & IS_SM);
	CHECK(!sigaction(SIGALRM, &sa, NULL));
	alarm(1);
	fds = count_fds();
	CHECK(open(ISSM, O_RDWR) == -1 && errno == EINTR);
	CHECK(count_fds() == fds);
	/* A cancelled open does not wait any longer. */
	CHECK(!pthread_create(&t, NULL, open_issm, &fd));
	usleep(100000);
	CHECK(!pthread_cancel(t) && !pthread_join(t, &ret) && ret == PTHREAD_CANCELED);
	close(second);
	fd = open(ISSM, O_RDWR | O_NONBLOCK);
	CHECK(fd >= 0);
}

static const struct testcase cases[] = {
	{ "agents", agents, 0 },
	{ "agents2", agents2, 0 },
	{ "old_header", old_header, 0 },
	{ "refused", refused, 0 },
	{ "exchange", exchange, 0 },
	{ "no-agent", no_agent, 0 },
	{ "timed_out", timed_out, 0 },
	{ "other_qp", other_qp, 0 },
	{ "methods", methods, 0 },
	{ "rmpp_messages", rmpp_messages, 0 },
	{ "mixed", mixed, 0 },
	{ "user_rmpp", user_rmpp, 0 },
	{ "issm", issm, 0 },
	{ "issm_cleared", issm_cleared, 0 },
	{ "issm_blocks", issm_blocks, 0 },
};

int main(int argc, char **argv)
{
	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}

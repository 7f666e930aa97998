/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An RDMA netlink socket behaves like the kernel's: addresses, options, answers from netlink port 0 (the kernel's),
 * dumps, MSG_PEEK and truncation; sockets of other families are real ones.
 */
#include <linux/netlink.h>
#include <poll.h>
#include <rdma/rdma_netlink.h>
#include <stdint.h>
#include <sys/socket.h>
#include "preload.h"

#define GET RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_GET)

static int open_socket(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);

	CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	return fd;
}

static struct sockaddr_nl name_of(int fd)
{
	struct sockaddr_nl nl = { .nl_pid = 12345 };
	socklen_t len = sizeof(nl);

	CHECK(getsockname(fd, (struct sockaddr *)&nl, &len) == 0);
	CHECK(len == sizeof(nl) && nl.nl_family == AF_NETLINK);
	return nl;
}

static void port_ids(void)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK };
	int a = open_socket(), b = open_socket(), c = open_socket();

	CHECK(name_of(a).nl_pid == 0);
	CHECK(bind(a, (struct sockaddr *)&nl, sizeof(nl)) == 0);
	CHECK(bind(b, (struct sockaddr *)&nl, sizeof(nl)) == 0);
	CHECK(name_of(a).nl_pid == (uint32_t)getpid());
	CHECK(name_of(b).nl_pid && name_of(b).nl_pid != name_of(a).nl_pid);
	nl.nl_pid = 77;
	CHECK(bind(c, (struct sockaddr *)&nl, sizeof(nl)) == 0 && name_of(c).nl_pid == 77);
	nl.nl_pid = 78;
	CHECK(bind(c, (struct sockaddr *)&nl, sizeof(nl)) == -1 && errno == EINVAL);
	CHECK(bind(c, (struct sockaddr *)&nl, 4) == -1 && errno == EINVAL);
	nl.nl_family = AF_UNIX;
	CHECK(bind(c, (struct sockaddr *)&nl, sizeof(nl)) == -1 && errno == EINVAL);
}

static void options(void)
{
	int fd = open_socket(), v, on = 1, size = 65536;
	socklen_t len = sizeof(v);

	CHECK(getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &v, &len) == 0 && v == AF_NETLINK);
	CHECK(getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &v, &len) == 0 && v == NETLINK_RDMA);
	CHECK(getsockopt(fd, SOL_SOCKET, SO_TYPE, &v, &len) == 0 && v == SOCK_RAW);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) == 0);
	CHECK(setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on)) == 0);
	CHECK(getsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &v, &len) == 0 && v == 1);
	CHECK(getsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &v, &len) == 0 && v == 0);
	CHECK(setsockopt(fd, SOL_NETLINK, 31, &on, sizeof(on)) == -1 && errno == ENOPROTOOPT);
	CHECK(setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, 1) == -1 && errno == EINVAL);
}

static void send_dump(int fd, struct sockaddr_nl *to)
{
	struct nlmsghdr h = { .nlmsg_len = sizeof(h), .nlmsg_type = GET,
			      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP, .nlmsg_seq = 4711 };

	CHECK(sendto(fd, &h, sizeof(h), 0, (struct sockaddr *)to, to ? sizeof(*to) : 0) ==
	      sizeof(h));
}

/* Reads the dump to its end; every message must come from the kernel and answer our request. */
static void read_dump(int fd)
{
	char buf[16384];
	struct sockaddr_nl from;
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr m = { .msg_name = &from, .msg_iov = &iov, .msg_iovlen = 1 };
	int devices = 0, len;

	for (;;) {
		memset(&from, 0xff, sizeof(from));
		m.msg_namelen = sizeof(from);
		len = (int)recvmsg(fd, &m, 0);
		CHECK(len > 0 && m.msg_namelen == sizeof(from));
		CHECK(from.nl_family == AF_NETLINK && from.nl_pid == 0 && from.nl_groups == 0);
		for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, (unsigned int)len);
		     h = NLMSG_NEXT(h, len)) {
			CHECK(h->nlmsg_seq == 4711 && (h->nlmsg_flags & NLM_F_MULTI));
			if (h->nlmsg_type == NLMSG_DONE) {
				CHECK(devices > 0);
				return;
			}
			CHECK(h->nlmsg_type == GET);
			devices++;
		}
	}
}

static void a_dump(void)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	int fd = open_socket();

	send_dump(fd, &kernel);
	read_dump(fd);
	send_dump(fd, NULL);
	read_dump(fd);
	CHECK(name_of(fd).nl_pid != 0);
	CHECK(connect(fd, (struct sockaddr *)&kernel, sizeof(kernel)) == 0);
	send_dump(fd, NULL);
	read_dump(fd);
}

static void peek_and_truncate(void)
{
	struct pollfd p = { .fd = open_socket(), .events = POLLIN };
	struct sockaddr_nl from;
	socklen_t alen = sizeof(from);
	char c;
	ssize_t whole;

	CHECK(recv(p.fd, &c, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	send_dump(p.fd, NULL);
	CHECK(poll(&p, 1, 10000) == 1 && p.revents == POLLIN);
	whole = recvfrom(p.fd, &c, 1, MSG_PEEK | MSG_TRUNC, (struct sockaddr *)&from, &alen);
	CHECK(whole >= (ssize_t)sizeof(struct nlmsghdr) && alen == sizeof(from) && !from.nl_pid);
	CHECK(recv(p.fd, &c, 1, MSG_PEEK | MSG_TRUNC) == whole);
	read_dump(p.fd);
}

static void no_other_peer(void)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_pid = 1 };
	int fd = open_socket();

	CHECK(sendto(fd, "", 1, 0, (struct sockaddr *)&nl, sizeof(nl)) == -1);
	CHECK(errno == ECONNREFUSED);
	nl.nl_pid = 0;
	nl.nl_groups = 1;
	CHECK(sendto(fd, "", 1, 0, (struct sockaddr *)&nl, sizeof(nl)) == -1 && errno == EPERM);
	CHECK(socket(AF_NETLINK, SOCK_STREAM, NETLINK_RDMA) == -1 && errno == ESOCKTNOSUPPORT);
}

static void other_families_are_real(void)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&nl, sizeof(nl)) == 0);
	CHECK(name_of(fd).nl_pid != 0);
}

static const struct testcase cases[] = {
	{ "port-ids", port_ids, 0 },
	{ "options", options, 0 },
	{ "a-dump", a_dump, 0 },
	{ "peek-and-truncate", peek_and_truncate, 0 },
	{ "no-other-peer", no_other_peer, 0 },
	{ "other-families-are-real", other_families_are_real, 0 },
};

int main(int argc, char **argv)
{
	return run_cases(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}

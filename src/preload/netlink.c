/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RDMA netlink sockets. Opening a real one would load ib_core on a machine that has it, so
 * socket(AF_NETLINK, ..., NETLINK_RDMA) returns a Unix socket to rused that carries raw netlink
 * messages. Messages, MSG_PEEK, MSG_TRUNC, timeouts and poll work as on the real socket; addresses
 * and SOL_NETLINK options are emulated here.
 *
 * The netlink port id is only a name: rused answers with the id of the request, or 0, and libraries accept
 * both. As with the kernel's autobind (af_netlink.c) it is the process id for the first socket and
 * a number that is no process id for others. Without iWARP or an SA cache no multicast group of
 * NETLINK_RDMA has any traffic, so memberships are only remembered.
 */
#include <fcntl.h>
#include <linux/netlink.h>
#include <string.h>
#include <unistd.h>
#include "base/sys.h"
#include "engine/engine.h"
#include "preload/netlink.h"
#include "preload/preload.h"
#include "preload/provider.h"

static uint32_t sockets_bound;

int netlink_open(int type)
{
	struct vfile *vf, *old;
	int fd, ret, kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (kind != SOCK_RAW && kind != SOCK_DGRAM)
		return -ESOCKTNOSUPPORT;
	/* Without rused, return the error of a kernel without RDMA: libibverbs then reads sysfs instead. */
	if (preload_attach())
		return -EPROTONOSUPPORT;
	provider_listed();
	fd = engine_netlink();
	if (fd < 0)
		return fd;
	if (!(type & SOCK_CLOEXEC))
		sys_fcntl(fd, F_SETFD, 0);
	if (type & SOCK_NONBLOCK)
		sys_fcntl(fd, F_SETFL, sys_fcntl(fd, F_GETFL, 0) | O_NONBLOCK);
	ret = fdtab_reserve(fd);
	vf = ret ? NULL : vfile_new(VFILE_NETLINK, NULL, NULL);
	if (!vf) {
		sys_close(fd);
		return ret ? ret : -ENOMEM;
	}
	vf->file = (void *)(intptr_t)kind;
	fdtab_install(fd, vf, &old);
	if (old)
		vfile_put(old);
	return fd;
}

static uint32_t netlink_autobind(struct vfile *vf)
{
	uint32_t portid = READ_ONCE(vf->nl.portid), n;

	if (portid)
		return portid;
	n = (uint32_t)atomic_add(&sockets_bound, 1u);
	portid = n ? (uint32_t)-(int32_t)(4096 + n) : (uint32_t)getpid();
	return atomic_cmpxchg(&vf->nl.portid, 0u, portid) ? portid : READ_ONCE(vf->nl.portid);
}

static long netlink_address(const struct sockaddr *addr, socklen_t len, struct sockaddr_nl *nl)
{
	if (!addr || len < sizeof(*nl))
		return -EINVAL;
	memcpy(nl, addr, sizeof(*nl));
	return nl->nl_family == AF_NETLINK ? 0 : -EINVAL;
}

long netlink_bind(struct vfile *vf, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_nl nl;
	long ret = netlink_address(addr, len, &nl);
	uint32_t portid;

	if (ret)
		return ret;
	portid = READ_ONCE(vf->nl.portid);
	if (portid && nl.nl_pid != portid)
		return -EINVAL;
	if (nl.nl_pid)
		WRITE_ONCE(vf->nl.portid, nl.nl_pid);
	else
		netlink_autobind(vf);
	WRITE_ONCE(vf->nl.groups, nl.nl_groups);
	return 0;
}

/* The kernel, whose netlink port id is 0, is the only possible peer. */
static long netlink_check_peer(const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_nl nl;
	long ret = netlink_address(addr, len, &nl);

	if (ret)
		return ret;
	if (nl.nl_groups)
		return -EPERM;
	return nl.nl_pid ? -ECONNREFUSED : 0;
}

/* AF_UNSPEC, which ends a connection, has no effect: the kernel stays the only possible peer. */
long netlink_connect(struct vfile *vf, const struct sockaddr *sa, socklen_t len)
{
	long ret;

	if (sa && len >= sizeof(sa->sa_family) && sa->sa_family == AF_UNSPEC)
		return 0;
	ret = netlink_check_peer(sa, len);
	if (!ret)
		netlink_autobind(vf);
	return ret;
}

/* Copies an address, truncated to *len; sets *len to its full size. */
static long netlink_give_address(struct sockaddr *addr, socklen_t *len,
				 const struct sockaddr_nl *nl)
{
	if (!addr || !len)
		return -EFAULT;
	if ((int)*len < 0)
		return -EINVAL;
	memcpy(addr, nl, min((size_t)*len, sizeof(*nl)));
	*len = sizeof(*nl);
	return 0;
}

long netlink_sockname(const struct vfile *vf, struct sockaddr *addr, socklen_t *len)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_pid = READ_ONCE(vf->nl.portid),
				  .nl_groups = READ_ONCE(vf->nl.groups) };

	return netlink_give_address(addr, len, &nl);
}

long netlink_peername(struct sockaddr *addr, socklen_t *len)
{
	static const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	return netlink_give_address(addr, len, &kernel);
}

/* Bit mask of the SOL_NETLINK options whose value is a flag. The membership options are not among them. */
#define NL_FLAGS                                                               \
	(1u << NETLINK_PKTINFO | 1u << NETLINK_BROADCAST_ERROR | 1u << NETLINK_NO_ENOBUFS | \
	 1u << NETLINK_LISTEN_ALL_NSID | 1u << NETLINK_CAP_ACK | 1u << NETLINK_EXT_ACK | \
	 1u << NETLINK_GET_STRICT_CHK)

static bool netlink_flag(int opt)
{
	return opt > 0 && opt < 32 && (NL_FLAGS >> opt & 1);
}

/* Sets or clears bits atomically. */
static void change_bits(uint32_t *word, uint32_t bits, bool on)
{
	uint32_t old;

	do
		old = READ_ONCE(*word);
	while (!atomic_cmpxchg(word, old, on ? old | bits : old & ~bits));
}

long netlink_set_option(struct vfile *vf, int opt, const void *val, socklen_t len)
{
	uint32_t v;

	if (len < sizeof(v))
		return -EINVAL;
	if (!val)
		return -EFAULT;
	memcpy(&v, val, sizeof(v));
	if (opt == NETLINK_ADD_MEMBERSHIP || opt == NETLINK_DROP_MEMBERSHIP) {
		if (!v || v > 32)
			return -EINVAL;
		change_bits(&vf->nl.groups, 1u << (v - 1), opt == NETLINK_ADD_MEMBERSHIP);
		return 0;
	}
	if (!netlink_flag(opt))
		return -ENOPROTOOPT;
	change_bits(&vf->nl.options, 1u << opt, v != 0);
	return 0;
}

long netlink_get_option(struct vfile *vf, int level, int opt, void *val, socklen_t *len)
{
	int v;

	if (level == SOL_NETLINK && opt == NETLINK_LIST_MEMBERSHIPS)
		v = (int)READ_ONCE(vf->nl.groups);
	else if (level == SOL_NETLINK && netlink_flag(opt))
		v = READ_ONCE(vf->nl.options) >> opt & 1;
	else if (level == SOL_SOCKET && opt == SO_DOMAIN)
		v = AF_NETLINK;
	else if (level == SOL_SOCKET && opt == SO_PROTOCOL)
		v = NETLINK_RDMA;
	else if (level == SOL_SOCKET && opt == SO_TYPE)
		v = (int)(intptr_t)vf->file;
	else
		return -ENOPROTOOPT;
	if (!val || !len)
		return -EFAULT;
	if (*len < sizeof(v))
		return -EINVAL;
	memcpy(val, &v, sizeof(v));
	*len = sizeof(v);
	return 0;
}

/* Did a call fail because rused, the peer of the socket, has died? */
static bool netlink_peer_died(int err)
{
	return err == EPIPE || err == ECONNRESET || err == ENOTCONN;
}

/*
 * Replaces fd, whose rused has died, by a socket to a new rused: programs do not expect that a netlink
 * socket loses its connection. The flags and timeouts of fd are kept. Duplicates of fd and epoll sets
 * still refer to the old socket. 0 or -errno.
 */
static long netlink_renew(int fd)
{
	static const int timeouts[] = { SO_RCVTIMEO, SO_SNDTIMEO };
	int cloexec = sys_fcntl(fd, F_GETFD, 0) & FD_CLOEXEC ? O_CLOEXEC : 0;
	int ret = preload_attach(), fresh = ret ? ret : engine_netlink();
	struct timeval tv;
	socklen_t len;

	if (fresh < 0)
		return fresh;
	sys_fcntl(fresh, F_SETFL, sys_fcntl(fd, F_GETFL, 0));
	for (size_t i = 0; i < ARRAY_SIZE(timeouts); i++) {
		len = sizeof(tv);
		if (!REAL(getsockopt)(fd, SOL_SOCKET, timeouts[i], &tv, &len))
			REAL(setsockopt)(fresh, SOL_SOCKET, timeouts[i], &tv, len);
	}
	ret = (int)sys_call(SYS_dup3, fresh, fd, cloexec);
	sys_close(fresh);
	return ret < 0 ? ret : 0;
}

/* Remembers a request that was sent, until its answer is read. */
static void netlink_remember(struct vfile_nl *nl, const struct msghdr *m, size_t len)
{
	size_t at = 0;

	for (size_t i = 0; len <= sizeof(nl->asked) && i < m->msg_iovlen; i++) {
		size_t n = min(m->msg_iov[i].iov_len, len - at);

		memcpy(nl->asked + at, m->msg_iov[i].iov_base, n);
		at += n;
	}
	WRITE_ONCE(nl->asked_len, (uint32_t)at);
}

/* rused has died before the last request was answered: asks the next rused. */
static bool netlink_ask_again(int fd, struct vfile *vf)
{
	uint32_t len = READ_ONCE(vf->nl.asked_len);

	return len && len <= sizeof(vf->nl.asked) && !netlink_renew(fd) &&
	       REAL(send)(fd, vf->nl.asked, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/*
 * Sends without the address, which a connected Unix socket refuses, and without control data, which
 * netlink ignores. If rused has died and there is no other: ECONNREFUSED, without a signal.
 */
ssize_t netlink_send(int fd, struct vfile *vf, const struct msghdr *m, int flags)
{
	struct msghdr plain = { .msg_iov = m->msg_iov, .msg_iovlen = m->msg_iovlen };
	long ret = 0;

	if (m->msg_name && m->msg_namelen)
		ret = netlink_check_peer(m->msg_name, m->msg_namelen);
	if (ret)
		return libc_result(ret, errno);
	netlink_autobind(vf);
	ret = REAL(sendmsg)(fd, &plain, flags | MSG_NOSIGNAL);
	if (ret < 0 && netlink_peer_died(errno) && !netlink_renew(fd))
		ret = REAL(sendmsg)(fd, &plain, flags | MSG_NOSIGNAL);
	if (ret >= 0)
		netlink_remember(&vf->nl, &plain, (size_t)ret);
	else if (netlink_peer_died(errno))
		errno = ECONNREFUSED;
	return ret;
}

ssize_t netlink_sendto(int fd, struct vfile *vf, const void *buf, size_t len, int flags,
		       const struct sockaddr *addr, socklen_t alen)
{
	struct iovec iov = { (void *)buf, len };
	struct msghdr m = { .msg_name = (void *)addr, .msg_namelen = alen, .msg_iov = &iov,
			    .msg_iovlen = 1 };

	return netlink_send(fd, vf, &m, flags);
}

/*
 * Receives a message into *m, without the address. Netlink messages are never empty, so 0 bytes mean
 * a closed connection: ECONNRESET.
 */
static ssize_t netlink_receive(int fd, struct msghdr *m, int flags)
{
	bool room = m->msg_iovlen && m->msg_iov[0].iov_len;
	ssize_t ret = REAL(recvmsg)(fd, m, flags);

	if (!ret && !(m->msg_flags & MSG_TRUNC) && room)
		return libc_result(-ECONNRESET, errno);
	return ret;
}

/* Receives a message and sets the kernel's address as sender. */
ssize_t netlink_recv(int fd, struct vfile *vf, struct msghdr *m, int flags)
{
	struct msghdr plain = { .msg_iov = m->msg_iov, .msg_iovlen = m->msg_iovlen,
				.msg_control = m->msg_control,
				.msg_controllen = m->msg_controllen };
	int e = errno;
	ssize_t ret;

	ret = netlink_receive(fd, &plain, flags);
	if (ret < 0 && netlink_peer_died(errno) && netlink_ask_again(fd, vf)) {
		errno = e;
		plain.msg_controllen = m->msg_controllen;
		ret = netlink_receive(fd, &plain, flags);
	}
	if (ret < 0)
		return ret;
	if (m->msg_iovlen && (size_t)ret <= m->msg_iov[0].iov_len)
		ret = (ssize_t)netlink_explain(vf, m->msg_iov[0].iov_base, (size_t)ret,
					       flags & MSG_PEEK);
	if (!(flags & MSG_PEEK))
		WRITE_ONCE(vf->nl.asked_len, 0);
	m->msg_flags = plain.msg_flags;
	m->msg_controllen = plain.msg_controllen;
	if (m->msg_name)
		netlink_peername(m->msg_name, &m->msg_namelen);
	else
		m->msg_namelen = 0;
	return ret;
}

ssize_t netlink_recvfrom(int fd, struct vfile *vf, void *buf, size_t len, int flags,
			 struct sockaddr *addr, socklen_t *alen)
{
	struct iovec iov = { buf, len };
	struct msghdr m = { .msg_name = alen ? addr : NULL, .msg_namelen = alen ? *alen : 0,
			    .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t ret = netlink_recv(fd, vf, &m, flags);

	if (ret >= 0 && addr && alen)
		*alen = m.msg_namelen;
	return ret;
}

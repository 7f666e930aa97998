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
#include "preload/preload.h"

HOOK ssize_t __recv_chk(int fd, void *buf, size_t len, size_t size, int flags);
HOOK ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t size, int flags,
			    __SOCKADDR_ARG addr, socklen_t *alen);

#ifndef SOL_NETLINK
#define SOL_NETLINK 270
#endif

static uint32_t sockets_bound;

static int nl_socket_open(int type)
{
	struct vfile *vf, *old;
	int fd, ret, kind = type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (kind != SOCK_RAW && kind != SOCK_DGRAM)
		return -ESOCKTNOSUPPORT;
	/* Without rused, return the error of a kernel without RDMA: libibverbs then reads sysfs instead. */
	if (preload_attach())
		return -EPROTONOSUPPORT;
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

/*
 * Another preloaded library (librspreload) may initialise itself in its socket() and need that in its
 * setsockopt(). The netlink socket is created without socket(), so call the real socket() once.
 */
static void wake_other_preloads(void)
{
	static bool done;
	int fd;

	if (done)
		return;
	done = true;
	fd = REAL(socket)(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		REAL(close)(fd);
}

HOOK int socket(int domain, int type, int protocol)
{
	int e = errno;

	if (likely(domain != AF_NETLINK || protocol != NETLINK_RDMA) || !preload_owns_tables())
		return preload_fd_fresh(REAL(socket)(domain, type, protocol));
	wake_other_preloads();
	return (int)libc_result(nl_socket_open(type), e);
}

/* The entry of fd if it is an RDMA netlink socket, else NULL. */
static inline struct vfile *nl_lookup(int fd)
{
	struct vfile *vf = fdtab_lookup(fd);

	return likely(!vf) || vf->kind != VFILE_NETLINK ? NULL : vf;
}

static uint32_t nl_autobind(struct vfile *vf)
{
	uint32_t portid = READ_ONCE(vf->nl.portid), n;

	if (portid)
		return portid;
	n = (uint32_t)atomic_add(&sockets_bound, 1u);
	portid = n ? (uint32_t)-(int32_t)(4096 + n) : (uint32_t)getpid();
	return atomic_cmpxchg(&vf->nl.portid, 0u, portid) ? portid : READ_ONCE(vf->nl.portid);
}

static long check_address(const struct sockaddr *addr, socklen_t len, struct sockaddr_nl *nl)
{
	if (!addr || len < sizeof(*nl))
		return -EINVAL;
	memcpy(nl, addr, sizeof(*nl));
	return nl->nl_family == AF_NETLINK ? 0 : -EINVAL;
}

static long netlink_bind(struct vfile *vf, const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_nl nl;
	long ret = check_address(addr, len, &nl);
	uint32_t portid;

	if (ret)
		return ret;
	portid = READ_ONCE(vf->nl.portid);
	if (portid && nl.nl_pid != portid)
		return -EINVAL;
	if (nl.nl_pid)
		WRITE_ONCE(vf->nl.portid, nl.nl_pid);
	else
		nl_autobind(vf);
	WRITE_ONCE(vf->nl.groups, nl.nl_groups);
	return 0;
}

HOOK int bind(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	struct vfile *vf = nl_lookup(fd);
	int e = errno;

	if (likely(!vf))
		return REAL(bind)(fd, addr, len);
	return (int)libc_result(netlink_bind(vf, addr.__sockaddr__, len), e);
}

/* The kernel, whose netlink port id is 0, is the only possible peer. */
static long check_peer(const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_nl nl;
	long ret = check_address(addr, len, &nl);

	if (ret)
		return ret;
	if (nl.nl_groups)
		return -EPERM;
	return nl.nl_pid ? -ECONNREFUSED : 0;
}

HOOK int connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	struct vfile *vf = nl_lookup(fd);
	const struct sockaddr *sa = addr.__sockaddr__;
	int e = errno;
	long ret;

	if (likely(!vf))
		return REAL(connect)(fd, addr, len);
	if (sa && len >= sizeof(sa->sa_family) && sa->sa_family == AF_UNSPEC)
		return 0;
	ret = check_peer(sa, len);
	if (!ret)
		nl_autobind(vf);
	return (int)libc_result(ret, e);
}

/* Copies an address, truncated to *len; sets *len to its full size. */
static long give_address(struct sockaddr *addr, socklen_t *len, uint32_t portid, uint32_t groups)
{
	struct sockaddr_nl nl = { .nl_family = AF_NETLINK, .nl_pid = portid, .nl_groups = groups };

	if (!addr || !len)
		return -EFAULT;
	if ((int)*len < 0)
		return -EINVAL;
	memcpy(addr, &nl, min((size_t)*len, sizeof(nl)));
	*len = sizeof(nl);
	return 0;
}

HOOK int getsockname(int fd, __SOCKADDR_ARG addr, socklen_t *len)
{
	struct vfile *vf = nl_lookup(fd);
	int e = errno;

	if (likely(!vf))
		return REAL(getsockname)(fd, addr, len);
	return (int)libc_result(give_address(addr.__sockaddr__, len, READ_ONCE(vf->nl.portid),
					     READ_ONCE(vf->nl.groups)), e);
}

HOOK int getpeername(int fd, __SOCKADDR_ARG addr, socklen_t *len)
{
	int e = errno;

	if (likely(!nl_lookup(fd)))
		return REAL(getpeername)(fd, addr, len);
	return (int)libc_result(give_address(addr.__sockaddr__, len, 0, 0), e);
}

/* Bit mask of the SOL_NETLINK options whose value is a flag. The membership options are not among them. */
#define NL_FLAGS                                                               \
	(1u << NETLINK_PKTINFO | 1u << NETLINK_BROADCAST_ERROR | 1u << NETLINK_NO_ENOBUFS | \
	 1u << NETLINK_LISTEN_ALL_NSID | 1u << NETLINK_CAP_ACK | 1u << NETLINK_EXT_ACK | \
	 1u << NETLINK_GET_STRICT_CHK)

static bool nl_flag(int opt)
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

static long set_netlink_option(struct vfile *vf, int opt, const void *val, socklen_t len)
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
	if (!nl_flag(opt))
		return -ENOPROTOOPT;
	change_bits(&vf->nl.options, 1u << opt, v != 0);
	return 0;
}

HOOK int setsockopt(int fd, int level, int opt, const void *val, socklen_t len)
{
	struct vfile *vf = nl_lookup(fd);
	int e = errno;

	if (likely(!vf) || level != SOL_NETLINK)
		return REAL(setsockopt)(fd, level, opt, val, len);
	return (int)libc_result(set_netlink_option(vf, opt, val, len), e);
}

static long get_netlink_option(struct vfile *vf, int level, int opt, void *val, socklen_t *len)
{
	int v;

	if (level == SOL_NETLINK && opt == NETLINK_LIST_MEMBERSHIPS)
		v = (int)READ_ONCE(vf->nl.groups);
	else if (level == SOL_NETLINK && nl_flag(opt))
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

HOOK int getsockopt(int fd, int level, int opt, void *val, socklen_t *len)
{
	struct vfile *vf = nl_lookup(fd);
	int e = errno;
	bool played = level == SOL_NETLINK ||
		      (level == SOL_SOCKET &&
		       (opt == SO_DOMAIN || opt == SO_PROTOCOL || opt == SO_TYPE));

	if (likely(!vf) || !played)
		return REAL(getsockopt)(fd, level, opt, val, len);
	return (int)libc_result(get_netlink_option(vf, level, opt, val, len), e);
}

/* Did a call fail because rused, the peer of the socket, has died? */
static bool peer_died(int err)
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
static void nl_remember(struct vfile_nl *nl, const struct msghdr *m, size_t len)
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
static ssize_t netlink_send(int fd, struct vfile *vf, const struct msghdr *m, int flags)
{
	struct msghdr plain = { .msg_iov = m->msg_iov, .msg_iovlen = m->msg_iovlen };
	long ret = m->msg_name && m->msg_namelen ? check_peer(m->msg_name, m->msg_namelen) : 0;

	if (ret)
		return libc_result(ret, errno);
	nl_autobind(vf);
	ret = REAL(sendmsg)(fd, &plain, flags | MSG_NOSIGNAL);
	if (ret < 0 && peer_died(errno) && !netlink_renew(fd))
		ret = REAL(sendmsg)(fd, &plain, flags | MSG_NOSIGNAL);
	if (ret >= 0)
		nl_remember(&vf->nl, &plain, (size_t)ret);
	else if (peer_died(errno))
		errno = ECONNREFUSED;
	return ret;
}

HOOK ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct vfile *vf = nl_lookup(fd);

	return likely(!vf) ? REAL(sendmsg)(fd, m, flags) : netlink_send(fd, vf, m, flags);
}

static ssize_t netlink_sendto(int fd, struct vfile *vf, const void *buf, size_t len, int flags,
			      const struct sockaddr *addr, socklen_t alen)
{
	struct iovec iov = { (void *)buf, len };
	struct msghdr m = { .msg_name = (void *)addr, .msg_namelen = alen, .msg_iov = &iov,
			    .msg_iovlen = 1 };

	return netlink_send(fd, vf, &m, flags);
}

HOOK ssize_t sendto(int fd, const void *buf, size_t len, int flags, __CONST_SOCKADDR_ARG addr,
		    socklen_t alen)
{
	struct vfile *vf = nl_lookup(fd);

	return likely(!vf) ? REAL(sendto)(fd, buf, len, flags, addr, alen) :
			     netlink_sendto(fd, vf, buf, len, flags, addr.__sockaddr__, alen);
}

HOOK ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	struct vfile *vf = nl_lookup(fd);

	return likely(!vf) ? REAL(send)(fd, buf, len, flags) :
			     netlink_sendto(fd, vf, buf, len, flags, NULL, 0);
}

/*
 * Receives a message into *m, without the address. Netlink messages are never empty, so 0 bytes mean
 * a closed connection: ECONNRESET.
 */
static ssize_t nl_receive(int fd, struct msghdr *m, int flags)
{
	bool room = m->msg_iovlen && m->msg_iov[0].iov_len;
	ssize_t ret = REAL(recvmsg)(fd, m, flags);

	if (!ret && !(m->msg_flags & MSG_TRUNC) && room)
		return libc_result(-ECONNRESET, errno);
	return ret;
}

/* Receives a message and sets the kernel's address as sender. */
static ssize_t netlink_recv(int fd, struct vfile *vf, struct msghdr *m, int flags)
{
	struct msghdr plain = { .msg_iov = m->msg_iov, .msg_iovlen = m->msg_iovlen,
				.msg_control = m->msg_control,
				.msg_controllen = m->msg_controllen };
	int e = errno;
	ssize_t ret;

	ret = nl_receive(fd, &plain, flags);
	if (ret < 0 && peer_died(errno) && netlink_ask_again(fd, vf)) {
		errno = e;
		plain.msg_controllen = m->msg_controllen;
		ret = nl_receive(fd, &plain, flags);
	}
	if (ret < 0)
		return ret;
	if (!(flags & MSG_PEEK))
		WRITE_ONCE(vf->nl.asked_len, 0);
	m->msg_flags = plain.msg_flags;
	m->msg_controllen = plain.msg_controllen;
	if (m->msg_name)
		give_address(m->msg_name, &m->msg_namelen, 0, 0);
	else
		m->msg_namelen = 0;
	return ret;
}

HOOK ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	struct vfile *vf = nl_lookup(fd);

	return likely(!vf) ? REAL(recvmsg)(fd, m, flags) : netlink_recv(fd, vf, m, flags);
}

static ssize_t netlink_recvfrom(int fd, struct vfile *vf, void *buf, size_t len, int flags,
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

HOOK ssize_t recvfrom(int fd, void *buf, size_t len, int flags, __SOCKADDR_ARG addr,
		      socklen_t *alen)
{
	struct vfile *vf = nl_lookup(fd);

	return likely(!vf) ? REAL(recvfrom)(fd, buf, len, flags, addr, alen) :
			     netlink_recvfrom(fd, vf, buf, len, flags, addr.__sockaddr__, alen);
}

HOOK ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t size, int flags,
			    __SOCKADDR_ARG addr, socklen_t *alen)
{
	struct vfile *vf = nl_lookup(fd);

	return likely(!vf) || len > size ?
		       REAL(__recvfrom_chk)(fd, buf, len, size, flags, addr, alen) :
		       netlink_recvfrom(fd, vf, buf, len, flags, addr.__sockaddr__, alen);
}

HOOK ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	struct vfile *vf = nl_lookup(fd);

	return likely(!vf) ? REAL(recv)(fd, buf, len, flags) :
			     netlink_recvfrom(fd, vf, buf, len, flags, NULL, NULL);
}

HOOK ssize_t __recv_chk(int fd, void *buf, size_t len, size_t size, int flags)
{
	struct vfile *vf = nl_lookup(fd);

	return likely(!vf) || len > size ?
		       REAL(__recv_chk)(fd, buf, len, size, flags) :
		       netlink_recvfrom(fd, vf, buf, len, flags, NULL, NULL);
}

/* Other names of the same functions in libc. */
extern __typeof__(connect) __connect __attribute__((alias("connect"), copy(connect))) HOOK;
extern __typeof__(send) __send __attribute__((alias("send"), copy(send))) HOOK;

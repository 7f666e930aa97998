/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hooks of sockets. They divert RDMA netlink sockets to netlink.c; other sockets are the kernel's. */
#include <linux/netlink.h>
#include "preload/netlink.h"
#include "preload/preload.h"

HOOK ssize_t __recv_chk(int fd, void *buf, size_t len, size_t size, int flags);
HOOK ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t size, int flags,
			    __SOCKADDR_ARG addr, socklen_t *alen);

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
	return (int)libc_result(netlink_open(type), e);
}

HOOK int bind(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	struct vfile *vf = netlink_lookup(fd);
	int e = errno;

	if (likely(!vf))
		return REAL(bind)(fd, addr, len);
	return (int)libc_result(netlink_bind(vf, addr.__sockaddr__, len), e);
}

HOOK int connect(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	struct vfile *vf = netlink_lookup(fd);
	int e = errno;

	if (likely(!vf))
		return REAL(connect)(fd, addr, len);
	return (int)libc_result(netlink_connect(vf, addr.__sockaddr__, len), e);
}

HOOK int getsockname(int fd, __SOCKADDR_ARG addr, socklen_t *len)
{
	struct vfile *vf = netlink_lookup(fd);
	int e = errno;

	if (likely(!vf))
		return REAL(getsockname)(fd, addr, len);
	return (int)libc_result(netlink_sockname(vf, addr.__sockaddr__, len), e);
}

HOOK int getpeername(int fd, __SOCKADDR_ARG addr, socklen_t *len)
{
	int e = errno;

	if (likely(!netlink_lookup(fd)))
		return REAL(getpeername)(fd, addr, len);
	return (int)libc_result(netlink_peername(addr.__sockaddr__, len), e);
}

HOOK int setsockopt(int fd, int level, int opt, const void *val, socklen_t len)
{
	struct vfile *vf = netlink_lookup(fd);
	int e = errno;

	if (likely(!vf) || level != SOL_NETLINK)
		return REAL(setsockopt)(fd, level, opt, val, len);
	return (int)libc_result(netlink_set_option(vf, opt, val, len), e);
}

HOOK int getsockopt(int fd, int level, int opt, void *val, socklen_t *len)
{
	struct vfile *vf = netlink_lookup(fd);
	int e = errno;
	bool played = level == SOL_NETLINK ||
		      (level == SOL_SOCKET &&
		       (opt == SO_DOMAIN || opt == SO_PROTOCOL || opt == SO_TYPE));

	if (likely(!vf) || !played)
		return REAL(getsockopt)(fd, level, opt, val, len);
	return (int)libc_result(netlink_get_option(vf, level, opt, val, len), e);
}

HOOK ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct vfile *vf = netlink_lookup(fd);

	return likely(!vf) ? REAL(sendmsg)(fd, m, flags) : netlink_send(fd, vf, m, flags);
}

HOOK ssize_t sendto(int fd, const void *buf, size_t len, int flags, __CONST_SOCKADDR_ARG addr,
		    socklen_t alen)
{
	struct vfile *vf = netlink_lookup(fd);

	return likely(!vf) ? REAL(sendto)(fd, buf, len, flags, addr, alen) :
			     netlink_sendto(fd, vf, buf, len, flags, addr.__sockaddr__, alen);
}

HOOK ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	struct vfile *vf = netlink_lookup(fd);

	return likely(!vf) ? REAL(send)(fd, buf, len, flags) :
			     netlink_sendto(fd, vf, buf, len, flags, NULL, 0);
}

HOOK ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	struct vfile *vf = netlink_lookup(fd);

	return likely(!vf) ? REAL(recvmsg)(fd, m, flags) : netlink_recv(fd, vf, m, flags);
}

HOOK ssize_t recvfrom(int fd, void *buf, size_t len, int flags, __SOCKADDR_ARG addr,
		      socklen_t *alen)
{
	struct vfile *vf = netlink_lookup(fd);

	return likely(!vf) ? REAL(recvfrom)(fd, buf, len, flags, addr, alen) :
			     netlink_recvfrom(fd, vf, buf, len, flags, addr.__sockaddr__, alen);
}

HOOK ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t size, int flags,
			    __SOCKADDR_ARG addr, socklen_t *alen)
{
	struct vfile *vf = netlink_lookup(fd);

	return likely(!vf) || len > size ?
		       REAL(__recvfrom_chk)(fd, buf, len, size, flags, addr, alen) :
		       netlink_recvfrom(fd, vf, buf, len, flags, addr.__sockaddr__, alen);
}

HOOK ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	struct vfile *vf = netlink_lookup(fd);

	return likely(!vf) ? REAL(recv)(fd, buf, len, flags) :
			     netlink_recvfrom(fd, vf, buf, len, flags, NULL, NULL);
}

HOOK ssize_t __recv_chk(int fd, void *buf, size_t len, size_t size, int flags)
{
	struct vfile *vf = netlink_lookup(fd);

	return likely(!vf) || len > size ?
		       REAL(__recv_chk)(fd, buf, len, size, flags) :
		       netlink_recvfrom(fd, vf, buf, len, flags, NULL, NULL);
}

/* Other names of the same functions in libc. */
extern __typeof__(connect) __connect __attribute__((alias("connect"), copy(connect))) HOOK;
extern __typeof__(send) __send __attribute__((alias("send"), copy(send))) HOOK;

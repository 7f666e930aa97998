/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Socket addresses as rdma_cm sees them: AF_INET, AF_INET6, AF_IB. */
#ifndef RUSE_RDMACM_ADDR_H
#define RUSE_RDMACM_ADDR_H

#include <netinet/in.h>
#include <sys/socket.h>
#include "base/util.h"

/* AF_IB's address; the uapi headers have none. Multi-byte fields in network byte order. */
struct sockaddr_ib {
	uint16_t sib_family;
	uint16_t sib_pkey;
	uint32_t sib_flowinfo;
	uint8_t sib_addr[16];
	uint64_t sib_sid;
	uint64_t sib_sid_mask;
	uint64_t sib_scope_id;
};

_Static_assert(sizeof(struct sockaddr_ib) == 48, "the kernel's struct sockaddr_ib");

/* Service ids of the IP port spaces (IBA annex A11), and the mask of their port space bits. */
#define RDMA_IB_IP_PS_MASK 0xffffffffffff0000ull
#define RDMA_IB_IP_PS_TCP 0x0000000001060000ull
#define RDMA_IB_IP_PS_UDP 0x0000000001110000ull
#define RDMA_IB_IP_PS_IB 0x00000000013f0000ull

/* Size in bytes of an address of this family; 0 for a family other than these three. */
size_t rdma_addr_size(const struct sockaddr *a);
/* True for 0.0.0.0/8, ::, the zero GID. */
bool cma_zero_addr(const struct sockaddr *a);
/* True for 127.0.0.0/8, ::1, the GID ::1. */
bool cma_loopback_addr(const struct sockaddr *a);
/* cma_zero_addr() or cma_loopback_addr(): the address does not name a device. */
bool cma_any_addr(const struct sockaddr *a);
/* 0 if family, address and the scope of an IPv6 link-local address are equal; ignores port numbers. */
int cma_addr_cmp(const struct sockaddr *a, const struct sockaddr *b);
/* The same, ignoring the scope. */
int cma_addr_cmp_noscope(const struct sockaddr *a, const struct sockaddr *b);
/* Port number in host byte order; for AF_IB the low 16 bits of the masked service id. */
uint16_t cma_port(const struct sockaddr *a);
/* Sets the address to ::1 or 127.0.0.1; keeps family and port number. */
void cma_set_loopback(struct sockaddr *a);
bool cma_linklocal6(const struct sockaddr *a);
/* RoCE GID of an IP address (the kernel's rdma_ip2gid()): 0, or -EINVAL for AF_IB. */
int rdma_ip2gid(const struct sockaddr *a, uint8_t gid[16]);

#endif

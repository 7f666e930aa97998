/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the test-*.c of link/: a shm endpoint with callbacks (struct link_user_ops) that record what the link delivers. */
#ifndef RUSE_LINK_TESTING_H
#define RUSE_LINK_TESTING_H

#include "base/testing.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include "link/shm_int.h"

#define NODE_BUF (1u << 20)

struct node {
	struct shm_ep *ep;
	int epfd;
	bool stop;
	/* The last segment that arrived, and counters of callbacks and of waits that timed out. */
	struct seg last;
	struct seg_net net;	/* of the last datagram */
	uint8_t *buf;
	int last_rc;		/* result of copying its payload */
	uint32_t nseg, nwritable, ndown, ntimeouts;
	bool last_pull;
	void (*on_input)(struct node *n, struct link *l, const struct seg *seg);
	pthread_t thread;
};

/* A guarded copy by the kernel; slower than that of core/umem.c. */
int t_copy(void *dst, const void *src, size_t len);
int t_copy_iov(const struct iovec *dst, int ndst, uint64_t doff,
	       const struct iovec *src, int nsrc, uint64_t off, uint64_t len);

extern const struct link_user_ops t_host;
/* Create an endpoint with rused's number proc. no_cma: without cross-memory attach. */
void node_open(struct node *n, uint32_t proc, bool no_cma);
void node_close(struct node *n);

/* Handle events for at most ms and poll the links. Returns the number of segments. */
int node_turn(struct node *n, int ms);

/* Run until cond is true. The test fails after five idle seconds. */
#define NODE_UNTIL(n, cond)                                                    \
	do {                                                                   \
		for (int _i = 0; !(cond) && _i < 500; _i++)                    \
			if (node_turn((n), 10))                                \
				_i = 0;                                        \
		assert_true(cond);                                             \
	} while (0)

/*
 * Serve the endpoint in a thread. The thread writes its id into the endpoint's robust futex word (shm_pub.alive), by
 * which peers see that the endpoint's process lives.
 */
void node_start(struct node *n);
/* End the thread. Peers then regard the endpoint as dead until node_start(). */
void node_stop(struct node *n);

/* A requester and the target of its direct placements: two endpoints of this process. */
struct rig {
	struct node a, b; /* requester, target */
	struct link *l;	  /* from a to b */
	struct qp_card *card;
	struct key_card *key;
	uint8_t *mem; /* MR of the target */
	uint8_t *src;
	bool stop; /* for a thread of the test */
};

/* Connects the endpoints. A thread serves the target, which has the QP and the MR of these cards. mem and src are the caller's. */
void rig_open(struct rig *r, const struct qp_card *card, const struct key_card *key);
void rig_close(struct rig *r);
/* An RC segment of one message with this payload. */
struct seg t_seg(enum seg_type type, const struct iovec *iov, int niov, uint32_t psn);

#endif

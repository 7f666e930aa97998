/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /dev/infiniband/umadN and issmN (ABI 5) as functions, called by rused: they take the bytes of a
 * write() or ioctl(), or a buffer for a read(), and return what the program gets. Sizes, errno and
 * their order are those of Linux 6.1 user_mad.c. The engine of the program's process copies from and
 * to the program's memory (-EFAULT). Nothing here blocks: where the kernel would wait, a function
 * returns -EAGAIN or -EINPROGRESS, and a callback tells the caller when to go on.
 *
 * There is one umad_port per port of a device, above its mad_port. The caller owns it. An open umadN
 * is a umad_file; it owns its MAD agents, unread packets and sends.
 */
#ifndef RUSE_ABI_UMAD_UMAD_H
#define RUSE_ABI_UMAD_UMAD_H

#include <sys/types.h>
#include "mad/mad.h"

#define UMAD_ABI_VERSION 5
#define UMAD_MAX_AGENTS 32
#define UMAD_MAX_RECVS 200000	/* a received MAD is dropped if the file has more unread packets than this */

struct umad_port_ops {
	/*
	 * Checks the address of a send, as creating an address handle does. 0 or -errno (RoCE:
	 * -EINVAL without GRH).
	 */
	int (*check_addr)(void *ctx, const struct mad_addr *a);
	/* Sets or clears IB_PORT_SM in the device port's capability mask. 0 or -errno. */
	int (*set_sm)(void *ctx, bool sm);
};

struct umad_port {
	struct mad_port *mad;
	const struct umad_port_ops *ops;
	void *ctx;
	bool removed;			/* the device is gone */
	struct list_head files;
	struct umad_sm *sm;		/* the open issmN that holds the device port; NULL: none */
	struct list_head sm_waiting;	/* in order of arrival */
};

struct umad_file_ops {
	/* A packet was added for read(). May be called during any call into the MAD layer. */
	void (*queued)(void *ctx);
	/*
	 * The device is gone: poll() must report POLLERR, and a blocked read() must be called again;
	 * it returns -EIO.
	 */
	void (*dead)(void *ctx);
	/*
	 * begun() is called before a MAD is given to the MAD layer, ended() when its send ends: done,
	 * answered, timed out, cancelled or failed. mad: its first 36 bytes; in a request the upper
	 * half of the transaction ID is the agent's. Either function may be NULL.
	 */
	void (*begun)(void *ctx, const uint8_t *mad);
	void (*ended)(void *ctx, const uint8_t *mad);
	int (*pid)(void *ctx);	/* of the program that has opened the file, for reasons; NULL: unknown */
};

struct umad_file;

/* The caller has set mad, ops and ctx. */
void umad_port_init(struct umad_port *p);
/*
 * Removes the device: destroys all agents, calls dead() for each file, and ends the waits for issmN
 * with granted(-ENXIO). Open files stay open; read() and write() on umadN return -EIO. The mad_port may
 * be destroyed afterwards. The umad_port must live until the last file of umadN or issmN is closed.
 */
void umad_port_remove(struct umad_port *p, ns_t now);

/* open() of umadN: 0, -ENXIO if the device port was removed, -ENOMEM. */
int umad_open(struct umad_port *p, const struct umad_file_ops *ops, void *ctx,
	      struct umad_file **out);
/* The last close: destroys the agents, cancels their sends, and frees unread packets and f. */
void umad_close(struct umad_file *f, ns_t now);

/*
 * write(): a header and a MAD. Returns len, or -EINVAL (shorter than header + 36, agent id of 32 or
 * more, a MAD too long or too short for its class, a send with the same transaction ID and class not
 * yet ended), -EIO (no such agent, device gone), -ENOMEM, or an error of check_addr() or mad_send().
 */
ssize_t umad_write(struct umad_file *f, const void *buf, size_t len, ns_t now);

/*
 * read() into buf of count bytes. The length, or -EINVAL (no room for the header, or for header and
 * first segment), -EIO, -EAGAIN (no packet: a blocking reader waits for queued()), or -ENOSPC:
 * header and first segment are in buf, and the header tells the length needed. After an error the
 * packet stays. *copied: bytes to copy to the program, also after an error.
 */
ssize_t umad_read(struct umad_file *f, void *buf, size_t count, size_t *copied);
/*
 * The program's buffer was not writable (-EFAULT): put the packet of the last successful read()
 * back in front.
 */
void umad_unread(struct umad_file *f);
/* The buffer size for the next packet; 0: there is none. */
size_t umad_next_len(const struct umad_file *f);
/* False: the next packet is not a request that timed out. Else copies the reason, a struct why, to why (any alignment). */
bool umad_next_why(const struct umad_file *f, void *why);
/* Length of the header in packets: 56 or 64. */
size_t umad_file_hdr_len(const struct umad_file *f);

struct umad_answer {
	int rc;			/* 0 or -errno; -ENOTTY: no such command */
	uint32_t off, len;	/* bytes of the argument to copy back, also after an error */
};

/*
 * ioctl(). arg has umad_ioctl_len() bytes, any alignment; it is also changed. -ENOTTY: unknown command.
 * Errors of REGISTER_AGENT* in the kernel's order: -EPIPE (device gone), -EINVAL, -ENOMEM (32 agents),
 * the result of mad_agent_create(). UNREGISTER_AGENT: -EINVAL (no such agent, device gone).
 */
struct umad_answer umad_ioctl(struct umad_file *f, unsigned int cmd, void *arg, ns_t now);
/* Length of the argument; 0: none; -1: no such command. */
int umad_ioctl_len(unsigned int cmd);

/* An open issmN. The memory belongs to the caller. */
struct umad_sm {
	struct list_head link;
	struct umad_port *port;
	void (*granted)(struct umad_sm *sm, int rc);	/* called after -EINPROGRESS */
	bool waiting;
};

/*
 * open() of issmN: one open file at a time holds the device port. 0: sm holds it, and IsSM is set.
 * -EINPROGRESS: another file holds the port; granted() will be called with 0 or -errno. -EAGAIN: the
 * same with nonblock. -ENXIO: the device is gone. Or the error of set_sm(). After an error other than
 * -EINPROGRESS, from here or in granted(), sm is not open.
 */
int umad_sm_open(struct umad_port *p, struct umad_sm *sm, bool nonblock);
/* close(): clears IsSM and grants the port to the file that waits longest. If sm waits: ends its wait. */
void umad_sm_close(struct umad_sm *sm);

#endif

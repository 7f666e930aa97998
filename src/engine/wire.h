/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Other hosts, over UDP port 4791. Under the engine's lock. */
#ifndef RUSE_ENGINE_WIRE_H
#define RUSE_ENGINE_WIRE_H

#include "core/qp.h"
#include "ipc/ipc.h"
#include "ipc/pages.h"
#include "link/link.h"

/*
 * rused has answered a lease, with so many descriptors: the block's socket
 * and the park. Takes them all.
 */
void wire_leased(uint32_t block, const struct ipc_lease *l, const int *fds, int nfds);
/* Is the block without a socket although rused may have one for it? */
bool wire_wanted(uint32_t block);
/* Descriptors of the park to show a new rused, which does not take them: 0 or 2. */
int wire_park(int fds[2]);

/* May this destination be reached inside the host? RUSE_LINK=udp forbids it. */
bool wire_only(void);
/*
 * The link of the QP's path, with a reference. -EINVAL: its path MTU does not
 * fit the interface; -ENETUNREACH and kin; why there is no wire at all.
 */
int wire_link(const struct qp *qp, struct link **link);
/* The same for datagrams to a block of QP numbers; their addresses are their own. */
int wire_ud_link(const struct rdev *dev, uint32_t block, struct link **link);
bool wire_up(void);

/* Somebody on this host received this for us. */
void wire_handed(const struct seg *seg);
/* rdev_ops.mcast */
int wire_mcast(struct rdev *dev, const uint8_t mgid[16], bool join);

/* Delivers what has arrived; returns how many segments. *bytes grows by their payload. */
int wire_poll(int budget, uint64_t *bytes);
/* There are no paths to other hosts: nothing waits, nothing has to be looked after. */
bool wire_quiet(void);
/* ACKs that wait for what the program sends next: see link/udp.h. */
void wire_hold(bool may);
bool wire_holds(void);
void wire_flush(void);
void wire_settle(void);
ns_t wire_flush_old(ns_t now);
void wire_want_wakeup(bool want);
/* Of the paths to other hosts; and the link by which all from there arrives, NULL: no wire. */
/* The address that a link of the wire goes to, all 0: any; NULL: it is none. */
const uint8_t *wire_peer(const struct link *l);
void wire_for_each(void (*fn)(struct link *l, void *arg), void *arg);
struct link *wire_in(void);

#endif

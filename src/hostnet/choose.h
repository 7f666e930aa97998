/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses the network interfaces of the devices rxe_0, rxe_1, ... A pure function of the interfaces,
 * the default routes and RUSE_NETDEV.
 */
#ifndef RUSE_HOSTNET_CHOOSE_H
#define RUSE_HOSTNET_CHOOSE_H

#include <net/if.h>
#include "base/util.h"

#define CHOICE_MAX 32		/* devices */
#define CHOICE_ALL "all"

/* Why a device is on its interface. */
enum choice_why {
	CHOICE_WHY_ADDED,	/* not chosen: added or renamed with the rdma tool, or a port of a fabric */
	CHOICE_WHY_NAMED,	/* named in RUSE_NETDEV, which includes "all" */
	CHOICE_WHY_ROUTE4,
	CHOICE_WHY_ROUTE6,
	CHOICE_WHY_FIRST,	/* no default route: the first that can have traffic */
	CHOICE_WHY_BRIDGE,	/* like _FIRST, but there are only bridges, tunnels and the like */
	CHOICE_WHY_LO,
	CHOICE_NWHY
};

struct choice_if {
	uint32_t ifindex;
	char name[IFNAMSIZ];
	bool up, carrier, loopback;
	bool addr;		/* has an IPv4 address, or an IPv6 address that is not link-local */
	bool bridge;		/* neither a physical interface nor a veth or a part of one: a bridge, a tunnel */
};

#define CHOICE_DEVICE "rxe_"
struct choice_net {
	struct choice_if *ifs;	/* in the kernel's order */
	uint32_t n;
	uint32_t route4, route6;	/* interface of the default route of lowest metric; 0: no route */
	const char *device;	/* names of devices are this and a number; NULL: CHOICE_DEVICE */
};

struct choice {
	char dev[64];		/* name of the device */
	struct choice_if on;
	enum choice_why why;
};

/* What `ruse status` and `ruse doctor` print for enum choice_why. */
extern const char *const choice_texts[CHOICE_NWHY];

/*
 * Chooses for the value of RUSE_NETDEV (NULL or "": none). Fills out[CHOICE_MAX] and returns the
 * number of devices. -EINVAL, -ENODEV: the value is invalid, or names an interface that does not
 * exist, or there is no interface; why, of size bytes, is the message.
 */
int choose_netdevs(const struct choice_net *net, const char *spec, struct choice *out, char *why,
		   size_t size);
/* True if the choice is made again when routes and addresses change: it does not name interfaces. */
bool choice_is_open(enum choice_why why);

#endif

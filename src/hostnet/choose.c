/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The choice of interfaces. Without RUSE_NETDEV there is one device, on
 *
 *	the interface of the default route of IPv4, else of IPv6;
 *	else the best interface that is up, not a loopback, and has an address. Physical interfaces
 *	and veths are better than bridges and tunnels; then those with carrier are better; then the
 *	first in the kernel's order;
 *	else lo.
 *
 * RUSE_NETDEV is "all", or a list of IF or NAME=IF, separated by commas. IF alone gets the first free
 * name of rxe_0, rxe_1, ... "all" means every interface that is up, not a loopback, and has an address.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hostnet/choose.h"

const char *const choice_texts[CHOICE_NWHY] = {
	[CHOICE_WHY_ADDED] = "added by hand",
	[CHOICE_WHY_NAMED] = "named by RUSE_NETDEV",
	[CHOICE_WHY_ROUTE4] = "has the default route of IPv4",
	[CHOICE_WHY_ROUTE6] = "has the default route of IPv6",
	[CHOICE_WHY_FIRST] = "no default route; first interface with an address",
	[CHOICE_WHY_BRIDGE] = "no default route; only bridges or tunnels have an address",
	[CHOICE_WHY_LO] = "no other interface is up and has an address",
};

bool choice_is_open(enum choice_why why)
{
	return why > CHOICE_WHY_NAMED;
}

static const struct choice_if *choice_find(const struct choice_net *net, uint32_t ifindex,
					   const char *name)
{
	for (uint32_t i = 0; i < net->n; i++)
		if (name ? !strcmp(net->ifs[i].name, name) : net->ifs[i].ifindex == ifindex)
			return &net->ifs[i];
	return NULL;
}

static bool choice_usable(const struct choice_if *i)
{
	return i->up && !i->loopback && i->addr;
}

static unsigned int choice_rank(const struct choice_if *i)
{
	return 2 * i->bridge + !i->carrier;
}

/* The best interface without a default route. NULL: there is no interface. */
static const struct choice_if *choice_best(const struct choice_net *net, enum choice_why *why)
{
	const struct choice_if *best = NULL, *lo = NULL;

	for (uint32_t i = 0; i < net->n; i++) {
		const struct choice_if *it = &net->ifs[i];

		if (it->loopback && !lo)
			lo = it;
		if (choice_usable(it) && (!best || choice_rank(it) < choice_rank(best)))
			best = it;
	}
	*why = !best ? CHOICE_WHY_LO : best->bridge ? CHOICE_WHY_BRIDGE : CHOICE_WHY_FIRST;
	return best ? best : lo;
}

static const struct choice_if *choice_auto(const struct choice_net *net, enum choice_why *why)
{
	const struct choice_if *it = NULL;

	*why = CHOICE_WHY_ROUTE4;
	if (net->route4)
		it = choice_find(net, net->route4, NULL);
	if (!it && net->route6) {
		*why = CHOICE_WHY_ROUTE6;
		it = choice_find(net, net->route6, NULL);
	}
	return it ? it : choice_best(net, why);
}

/* Gives out[n] the first name of rxe_0, rxe_1, ... (or net->device) that no other device has. */
static void choice_name(const struct choice_net *net, struct choice *out, int n)
{
	int number = 0, i;

	do {
		snprintf(out[n].dev, sizeof(out[n].dev), "%s%d", net->device ?: CHOICE_DEVICE,
			 number++);
		for (i = 0; i < n && strcmp(out[i].dev, out[n].dev); i++)
			;
	} while (i < n);
}

/* "all": the interface that would be chosen without it comes first. */
static int choice_all(const struct choice_net *net, struct choice *out)
{
	enum choice_why why;
	const struct choice_if *first = choice_auto(net, &why);
	int n = 0;

	if (!first)
		return 0;
	out[n].on = *first;
	out[n].why = why == CHOICE_WHY_LO ? CHOICE_WHY_LO : CHOICE_WHY_NAMED;
	choice_name(net, out, n++);
	for (uint32_t i = 0; i < net->n && n < CHOICE_MAX; i++) {
		const struct choice_if *it = &net->ifs[i];

		if (it->ifindex == first->ifindex || !choice_usable(it))
			continue;
		out[n].on = *it;
		out[n].why = CHOICE_WHY_NAMED;
		choice_name(net, out, n++);
	}
	return n;
}

/* Like the kernel's dev_valid_name(): the name becomes part of paths. */
static bool choice_name_ok(const char *name, size_t len)
{
	if (!len || len >= sizeof(((struct choice *)0)->dev) || !strncmp(name, ".", len) ||
	    (len == 2 && !strncmp(name, "..", 2)))
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] == '/' || name[i] == '%' || !isgraph((unsigned char)name[i]))
			return false;
	return true;
}

/* Appends the names of the interfaces to the message, as far as it has room. */
static void choice_list(const struct choice_net *net, char *why, size_t size)
{
	for (uint32_t i = 0; i < net->n; i++) {
		size_t at = strlen(why);

		snprintf(why + at, size - at, "%s%s", i ? ", " : "", net->ifs[i].name);
	}
}

/* Fills out[n] for one item of the list, IF or NAME=IF, of len bytes. 0 or -errno. */
static int choice_item(const struct choice_net *net, const char *item, size_t len,
		       struct choice *out, int n, char *why, size_t size)
{
	const char *eq = memchr(item, '=', len), *ndev = eq ? eq + 1 : item;
	size_t dev_len = eq ? (size_t)(eq - item) : 0, ndev_len = len - (size_t)(ndev - item);
	const struct choice_if *it;
	char name[IFNAMSIZ];

	if (!ndev_len || (eq && !choice_name_ok(item, dev_len))) {
		snprintf(why, size, "'%.*s' is neither INTERFACE nor NAME=INTERFACE",
			 (int)min(len, (size_t)80), item);
		return -EINVAL;
	}
	snprintf(name, sizeof(name), "%.*s", (int)min(ndev_len, sizeof(name)), ndev);
	it = ndev_len < sizeof(name) ? choice_find(net, 0, name) : NULL;
	if (!it) {
		snprintf(why, size, "there is no network interface '%.*s', only ",
			 (int)min(ndev_len, (size_t)80), ndev);
		choice_list(net, why, size);
		return -ENODEV;
	}
	for (int i = 0; i < n; i++) {
		if (out[i].on.ifindex == it->ifindex) {
			snprintf(why, size, "interface %s is named twice", name);
			return -EINVAL;
		}
		if (eq && strlen(out[i].dev) == dev_len && !strncmp(out[i].dev, item, dev_len)) {
			snprintf(why, size, "two devices have the name %s", out[i].dev);
			return -EINVAL;
		}
	}
	out[n].on = *it;
	out[n].why = CHOICE_WHY_NAMED;
	snprintf(out[n].dev, sizeof(out[n].dev), "%.*s", (int)dev_len, item);
	return 0;
}

static int choice_named(const struct choice_net *net, const char *spec, struct choice *out,
			char *why, size_t size)
{
	struct choice all[CHOICE_MAX];
	int n = 0, named = 0, rc;

	for (const char *p = spec;; p++) {
		size_t len = strcspn(p, ",");

		if (n == CHOICE_MAX) {
			snprintf(why, size, "more than %d interfaces", CHOICE_MAX);
			return -EINVAL;
		}
		rc = choice_item(net, p, len, all, n, why, size);
		if (rc)
			return rc;
		n++;
		p += len;
		if (!*p)
			break;
	}
	/* Devices with a name of their own first, so that no other device gets it. */
	for (int i = 0; i < n; i++)
		if (*all[i].dev)
			out[named++] = all[i];
	for (int i = 0; i < n; i++)
		if (!*all[i].dev) {
			out[named] = all[i];
			choice_name(net, out, named++);
		}
	return n;
}

int choose_netdevs(const struct choice_net *net, const char *spec, struct choice *out, char *why,
		   size_t size)
{
	const struct choice_if *it;
	int n;

	*why = '\0';
	if (spec && *spec && strcmp(spec, CHOICE_ALL))
		return choice_named(net, spec, out, why, size);
	if (spec && *spec) {
		n = choice_all(net, out);
	} else {
		it = choice_auto(net, &out[0].why);
		n = it ? 1 : 0;
		if (it)
			out[0].on = *it;
		choice_name(net, out, 0);
	}
	if (!n)
		snprintf(why, size, "there is no network interface, not even lo");
	return n ? n : -ENODEV;
}

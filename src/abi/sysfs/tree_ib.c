/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the files of a device: its attributes (attrs_ib.c), P_Keys and GIDs. As in the kernel, the
 * files are below devices/virtual, and the class directories hold relative links. A file is written
 * if its text has changed. sysfs_init() creates the files that exist without a device, such as those
 * of rdma_cm.
 *
 * In the kernel the files of an empty GID entry below gid_attrs fail with EINVAL when read. Regular
 * files cannot do that, so they do not exist here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "abi/sysfs/sysfs.h"
#include "abi/sysfs/sysfs_internal.h"
#include "base/devnum.h"
#include "core/limits.h"

#define ZERO_GID ".zero-gid"	/* file with the zero GID; empty entries of the GID tables are hard links to it */
#define EMPTY_GID "0000:0000:0000:0000:0000:0000:0000:0000\n"

#define MISC_DIR "sys/devices/virtual/misc/rdma_cm"
#define VERBS_DIR "sys/devices/virtual/infiniband_verbs/uverbs%u"

static int put_pkeys(int run, const struct host_dev *was, const struct host_dev *now)
{
	char path[256], text[TREE_TEXT_MAX];
	int first = 0;

	for (uint32_t i = 0; i < now->ib.npkeys; i++) {
		if (was && was->ib.pkey[i] == now->ib.pkey[i])
			continue;
		PATH_OF(path, DEV_DIR "/ports/1/pkeys/%u", now->name, i);
		PATH_OF(text, "0x%04x\n", now->ib.pkey[i]);
		tree_first_error(&first, tree_put(run, path, text));
	}
	return first;
}

static const uint8_t no_gid[16];

static const uint8_t *gid_at(const struct host_dev *d, uint32_t i)
{
	return d && i < d->ngids && i < HOST_MAX_GIDS ? d->gid[i].raw : no_gid;
}

static int put_gid_attrs(int run, const struct host_dev *d, uint32_t i, bool used)
{
	char types[256], ndevs[256], name[IFNAMSIZ + 2];
	int first = 0;

	PATH_OF(types, DEV_DIR "/ports/1/gid_attrs/types/%u", d->name, i);
	PATH_OF(ndevs, DEV_DIR "/ports/1/gid_attrs/ndevs/%u", d->name, i);
	if (!used) {
		unlinkat(run, types, 0);
		unlinkat(run, ndevs, 0);
		return 0;
	}
	PATH_OF(name, "%s\n", d->ndev);
	tree_first_error(&first, tree_put(run, types, d->ib.host || d->gid[i].v1 ? "IB/RoCE v1\n" :
										   "RoCE v2\n"));
	if (d->ndev[0])
		tree_first_error(&first, tree_put(run, ndevs, name));
	return first;
}

static int put_gid(int run, const struct host_dev *was, const struct host_dev *now, uint32_t i)
{
	const uint8_t *g = gid_at(now, i);
	bool used = memcmp(g, no_gid, 16);
	char path[256], text[TREE_TEXT_MAX];
	int first = 0;

	if (was && !memcmp(gid_at(was, i), g, 16) && was->gid[i].v1 == now->gid[i].v1 &&
	    !strcmp(was->ndev, now->ndev))
		return 0;
	PATH_OF(path, DEV_DIR "/ports/1/gids/%u", now->name, i);
	if (used) {
		int k, n = 0;

		for (k = 0; k < 16; k += 2)
			n += snprintf(text + n, sizeof(text) - (size_t)n, "%02x%02x%c", g[k],
				      g[k + 1], k == 14 ? '\n' : ':');
		tree_first_error(&first, tree_put(run, path, text));
	} else if (tree_link(run, "sys/" ZERO_GID, path)) {
		/* The file system may have no hard links: write a file instead. */
		tree_first_error(&first, tree_put(run, path, EMPTY_GID));
	}
	if (used || was)
		tree_first_error(&first, put_gid_attrs(run, now, i, used));
	return first;
}

static int make_links(int run, const struct host_dev *d)
{
	static const char *const dirs[] = { "ports/1/gids", "ports/1/gid_attrs/types",
					    "ports/1/gid_attrs/ndevs", "ports/1/pkeys",
					    "ports/1/cm_tx_msgs", "ports/1/cm_tx_retries",
					    "ports/1/cm_rx_msgs", "ports/1/cm_rx_duplicates",
					    "device/net" };
	char path[256];
	int first = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dirs); i++) {
		PATH_OF(path, DEV_DIR "/%s", d->name, dirs[i]);
		tree_first_error(&first, tree_mkdir(run, path));
	}
	PATH_OF(path, DEV_DIR "/subsystem", d->name);
	if (symlinkat("../../../../class/infiniband", run, path))
		tree_first_error(&first, -errno);
	return first;
}

/*
 * ports/1/counters shows the counters of the performance agent (PMA). rxe has none, and the kernel creates the directory
 * only for drivers with process_mad(). That of a fabric's device is filled by its fabric.
 */
static int put_counters(int run, const struct host_dev *d, const struct like_shown *like)
{
	static const char *const names[LIKE_DIRS] = { [LIKE_HW_COUNTERS] = "hw_counters",
						      [LIKE_COUNTERS] = "counters" };
	char path[256];
	int first = 0;

	for (int dir = 0; dir < LIKE_DIRS; dir++) {
		bool agent = d->ib.host && dir == LIKE_COUNTERS;

		PATH_OF(path, DEV_DIR "/ports/1/%s", d->name, names[dir]);
		if (like->dir[dir].n || agent)
			tree_first_error(&first, tree_mkdir(run, path));
		for (uint32_t i = 0; i < like->dir[dir].n && !agent; i++) {
			PATH_OF(path, "%s/%s", names[dir], like->dir[dir].name[i]);
			tree_first_error(&first, sysfs_counter(run, d->name, path, 0));
		}
	}
	if (!like->dir[LIKE_HW_COUNTERS].n)
		return first;
	PATH_OF(path, DEV_DIR "/ports/1/hw_counters/lifespan", d->name);
	tree_first_error(&first, tree_put(run, path, "12\n"));
	return first;
}

/* Directory device/net. rxe lacks it, hardware has it: programs look there for the interface of a device. */
static int put_net(int run, const struct host_dev *was, const struct host_dev *now)
{
	char path[256], text[TREE_TEXT_MAX];

	if (!now->ndev[0] || (was && !strcmp(was->ndev, now->ndev)))
		return 0;
	if (was) {
		PATH_OF(path, DEV_DIR "/device/net/%s", now->name, was->ndev);
		unlinkat(run, path, 0);
	}
	PATH_OF(path, DEV_DIR "/device/net/%s", now->name, now->ndev);
	PATH_OF(text, "/sys/class/net/%s", now->ndev);
	return symlinkat(text, run, path) ? -errno : 0;
}

static int put_verbs(int run, const struct host_dev *d)
{
	unsigned int n = d->minor - UVERBS_BASE_MINOR;
	char path[256], text[TREE_TEXT_MAX];
	int first = 0;

	PATH_OF(path, VERBS_DIR, n);
	tree_first_error(&first, tree_mkdir(run, path));
	PATH_OF(path, VERBS_DIR "/abi_version", n);
	tree_first_error(&first, tree_put(run, path, "2\n"));
	PATH_OF(path, VERBS_DIR "/dev", n);
	PATH_OF(text, "%u:%u\n", UVERBS_MAJOR, d->minor);
	tree_first_error(&first, tree_put(run, path, text));
	PATH_OF(path, VERBS_DIR "/ibdev", n);
	PATH_OF(text, "%s\n", d->name);
	tree_first_error(&first, tree_put(run, path, text));
	PATH_OF(path, VERBS_DIR "/uevent", n);
	PATH_OF(text, "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/uverbs%u\nDEVMODE=0666\n",
		UVERBS_MAJOR, d->minor, n);
	tree_first_error(&first, tree_put(run, path, text));
	PATH_OF(path, VERBS_DIR "/subsystem", n);
	if (symlinkat("../../../../class/infiniband_verbs", run, path))
		tree_first_error(&first, -errno);
	PATH_OF(path, "dev/infiniband/uverbs%u", n);
	tree_first_error(&first, tree_put(run, path, ""));
	PATH_OF(path, "sys/class/infiniband_verbs/uverbs%u", n);
	PATH_OF(text, "../../devices/virtual/infiniband_verbs/uverbs%u", n);
	if (symlinkat(text, run, path))
		tree_first_error(&first, -errno);
	return first;
}

static void remove_device(int run, const struct host_dev *d)
{
	unsigned int n = d->minor - UVERBS_BASE_MINOR;
	char path[256];

	/* Remove the links first, so that no class directory lists a device whose files are gone. */
	PATH_OF(path, "sys/class/infiniband_verbs/uverbs%u", n);
	unlinkat(run, path, 0);
	PATH_OF(path, "sys/class/infiniband/%s", d->name);
	unlinkat(run, path, 0);
	PATH_OF(path, "dev/infiniband/uverbs%u", n);
	unlinkat(run, path, 0);
	PATH_OF(path, VERBS_DIR, n);
	tree_remove(run, path);
	PATH_OF(path, DEV_DIR, d->name);
	tree_remove(run, path);
}

int sysfs_device(int run, const struct host_dev *was, const struct host_dev *now,
		 const struct like_shown *like)
{
	char path[256], text[TREE_TEXT_MAX];
	int first = 0;
	uint32_t i, n;

	if (!now) {
		remove_device(run, was);
		return 0;
	}
	if (!was)
		tree_first_error(&first, make_links(run, now));
	tree_first_error(&first, put_net(run, was, now));
	tree_first_error(&first, sysfs_put_attrs(run, was, now, like));
	tree_first_error(&first, put_pkeys(run, was, now));
	n = now->ib.host ? DEV_IB_GID_TBL : now->gid_len;
	if (was)
		n = min(n, (uint32_t)HOST_MAX_GIDS);
	for (i = 0; i < n; i++)
		tree_first_error(&first, put_gid(run, was, now, i));
	if (was)
		return first;
	PATH_OF(path, "sys/class/infiniband/%s", now->name);
	PATH_OF(text, "../../devices/virtual/infiniband/%s", now->name);
	if (symlinkat(text, run, path))
		tree_first_error(&first, -errno);
	tree_first_error(&first, put_verbs(run, now));
	tree_first_error(&first, put_counters(run, now, like));
	tree_first_error(&first, sysfs_cm_counters(run, now->name));
	return first;
}

/* The misc device rdma_cm, which belongs to no RDMA device. */
static int put_rdma_cm(int run)
{
	int first = 0;

	tree_first_error(&first, tree_put(run, MISC_DIR "/abi_version", "4\n"));
	tree_first_error(&first, tree_put(run, MISC_DIR "/dev", "10:124\n"));
	tree_first_error(&first, tree_put(run, MISC_DIR "/uevent",
					  "MAJOR=10\nMINOR=124\nDEVNAME=infiniband/rdma_cm\n"
					  "DEVMODE=0666\n"));
	if (symlinkat("../../../../class/misc", run, MISC_DIR "/subsystem") ||
	    symlinkat("../../devices/virtual/misc/rdma_cm", run, "sys/class/misc/rdma_cm"))
		tree_first_error(&first, -errno);
	tree_first_error(&first, tree_put(run, "dev/infiniband/rdma_cm", ""));
	return first;
}

int sysfs_init(int run)
{
	static const char *const dirs[] = { "sys/class/infiniband", "sys/class/infiniband_verbs",
					    "sys/class/infiniband_mad",
					    "sys/devices/virtual/infiniband",
					    "sys/devices/virtual/infiniband_verbs",
					    "sys/devices/virtual/infiniband_mad",
					    "dev/infiniband", "sys/class/misc", MISC_DIR };
	int first = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dirs); i++)
		tree_first_error(&first, tree_mkdir(run, dirs[i]));
	tree_first_error(&first, tree_put(run, "sys/class/infiniband_verbs/abi_version", "6\n"));
	tree_first_error(&first, tree_put(run, "sys/class/infiniband_mad/abi_version", "5\n"));
	tree_first_error(&first, tree_put(run, "sys/" ZERO_GID, EMPTY_GID));
	tree_first_error(&first, put_rdma_cm(run));
	return first;
}

void sysfs_remove(int run)
{
	tree_remove(run, "sys");
	tree_remove(run, "dev");
	tree_remove(run, ".new");
}

int sysfs_counter(int run, const char *dev, const char *name, uint64_t value)
{
	char path[256], text[32];

	PATH_OF(path, DEV_DIR "/ports/1/%s", dev, name);
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)value);
	return tree_put(run, path, text);
}

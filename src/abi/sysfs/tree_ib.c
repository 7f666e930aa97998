/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the files of a device. A table has one row per attribute file, with its text or with the
 * function that prints it. As in the kernel, the files are below devices/virtual, and the class
 * directories hold relative links. A file is written if its text has changed. sysfs_init() creates
 * the files that exist without a device, such as those of rdma_cm.
 *
 * In the kernel the files of an empty GID entry below gid_attrs fail with EINVAL when read. Regular
 * files cannot do that, so they do not exist here.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "abi/sysfs/sysfs.h"
#include "abi/sysfs/sysfs_internal.h"
#include "base/devnum.h"

#define GID_TBL_LEN 1024	/* of rxe */
#define IB_GID_TBL_LEN 8
#define MLNX_VENDOR_ID 0x2c9
#define TEXT_MAX 128
#define ZERO_GID ".zero-gid"	/* file with the zero GID; empty entries of the GID tables are hard links to it */
#define EMPTY_GID "0000:0000:0000:0000:0000:0000:0000:0000\n"

static void guid_text(char *t, const uint8_t *g)
{
	snprintf(t, TEXT_MAX, "%02x%02x:%02x%02x:%02x%02x:%02x%02x\n", g[0], g[1], g[2], g[3],
		 g[4], g[5], g[6], g[7]);
}

static void show_guid(char *t, const struct host_dev *d)
{
	guid_text(t, d->node_guid);
}

static void show_image_guid(char *t, const struct host_dev *d)
{
	guid_text(t, d->ib.host ? d->ib.sys_image_guid : d->node_guid);
}

static void show_desc(char *t, const struct host_dev *d)
{
	snprintf(t, TEXT_MAX, "%s\n", d->ib.host ? d->ib.desc : "rxe");
}

/*
 * Only devices of a simulated InfiniBand fabric have hca_type; the kernel's rxe lacks it. If the
 * topology of the fabric gives the device the vendor ID of Mellanox and a device ID, the text is that
 * of the kernel's mlx5 driver.
 */
static void show_hca_type(char *t, const struct host_dev *d)
{
	if (d->ib.vendor_id == MLNX_VENDOR_ID && d->ib.device_id)
		snprintf(t, TEXT_MAX, "MT%u\n", d->ib.device_id);
	else
		snprintf(t, TEXT_MAX, "ruse\n");
}

static void show_board_id(char *t, const struct host_dev *d)
{
	snprintf(t, TEXT_MAX, "RUSE%06x%04x\n", d->ib.vendor_id, d->ib.device_id);
}

static void show_lid(char *t, const struct host_dev *d)
{
	snprintf(t, TEXT_MAX, "0x%x\n", d->ib.lid);
}

static void show_lmc(char *t, const struct host_dev *d)
{
	snprintf(t, TEXT_MAX, "%u\n", d->ib.lmc);
}

static void show_sm_lid(char *t, const struct host_dev *d)
{
	snprintf(t, TEXT_MAX, "0x%x\n", d->ib.sm_lid);
}

static void show_sm_sl(char *t, const struct host_dev *d)
{
	snprintf(t, TEXT_MAX, "%u\n", d->ib.sm_sl);
}

static void show_link_layer(char *t, const struct host_dev *d)
{
	snprintf(t, TEXT_MAX, "%s\n", d->ib.host ? "InfiniBand" : "Ethernet");
}

static void show_parent(char *t, const struct host_dev *d)
{
	snprintf(t, TEXT_MAX, "%s\n", d->ndev);
}

static void show_uevent(char *t, const struct host_dev *d)
{
	snprintf(t, TEXT_MAX, "NAME=%s\n", d->name);
}

static void show_state(char *t, const struct host_dev *d)
{
	static const char *const names[] = { "NOP", "DOWN", "INIT", "ARMED", "ACTIVE",
					     "ACTIVE_DEFER" };

	snprintf(t, TEXT_MAX, "%d: %s\n", d->state,
		 d->state < ARRAY_SIZE(names) ? names[d->state] : "UNKNOWN");
}

static void show_phys_state(char *t, const struct host_dev *d)
{
	static const char *const names[] = {
		"<unknown>", "Sleep", "Polling", "Disabled", "PortConfigurationTraining",
		"LinkUp", "LinkErrorRecovery", "Phy Test",
	};

	snprintf(t, TEXT_MAX, "%d: %s\n", d->phys_state,
		 d->phys_state < ARRAY_SIZE(names) ? names[d->phys_state] : "<unknown>");
}

static void show_cap_mask(char *t, const struct host_dev *d)
{
	snprintf(t, TEXT_MAX, "0x%08x\n", d->cap_mask);
}

/*
 * Prints the data rate: number of lanes (from the code in IBTA PortInfo:LinkWidthActive) multiplied by
 * the speed of a lane, which speeds[] has in tenths of Gb/s. An unknown speed code counts as SDR.
 */
static void show_rate(char *t, const struct host_dev *d)
{
	static const struct { uint8_t code; const char *name; unsigned int tenths; } speeds[] = {
		{ 1, " SDR", 25 }, { 2, " DDR", 50 }, { 4, " QDR", 100 }, { 8, " FDR10", 100 },
		{ 16, " FDR", 140 }, { 32, " EDR", 250 }, { 64, " HDR", 500 }, { 128, " NDR", 1000 },
	};
	unsigned int lanes = d->active_width == 2 ? 4 : d->active_width == 4 ? 8 :
			     d->active_width == 8 ? 12 : d->active_width == 16 ? 2 : 1;
	unsigned int rate;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(speeds) - 1; i++)
		if (speeds[i].code == d->active_speed)
			break;
	if (speeds[i].code != d->active_speed)
		i = 0;
	rate = speeds[i].tenths * lanes;
	snprintf(t, TEXT_MAX, "%u%s Gb/sec (%uX%s)\n", rate / 10, rate % 10 ? ".5" : "", lanes,
		 speeds[i].name);
}

enum link_layer { BOTH, IB, ROCE };

static const struct attr {
	const char *path;	/* below the directory of the device */
	const char *text;	/* constant text; NULL: show() prints it */
	void (*show)(char *t, const struct host_dev *d);
	enum link_layer only;
} attrs[] = {
	{ "node_type", .text = "1: CA\n" },
	{ "node_guid", .show = show_guid },
	{ "sys_image_guid", .show = show_image_guid },
	{ "node_desc", .show = show_desc },
	{ "fw_ver", .text = "\n" },
	{ "hw_rev", .text = "0\n", .only = IB },
	{ "hca_type", .show = show_hca_type, .only = IB },
	{ "board_id", .show = show_board_id, .only = IB },
	{ "parent", .show = show_parent, .only = ROCE },
	{ "uevent", .show = show_uevent },
	{ "ports/1/state", .show = show_state },
	{ "ports/1/phys_state", .show = show_phys_state },
	{ "ports/1/rate", .show = show_rate },
	{ "ports/1/lid", .show = show_lid },
	{ "ports/1/lid_mask_count", .show = show_lmc },
	{ "ports/1/sm_lid", .show = show_sm_lid },
	{ "ports/1/sm_sl", .show = show_sm_sl },
	{ "ports/1/cap_mask", .show = show_cap_mask },
	{ "ports/1/link_layer", .show = show_link_layer },
	{ "ports/1/pkeys/0", .text = "0xffff\n", .only = ROCE },
	{ "ports/1/hw_counters/lifespan", .text = "12\n" },
	{ "ports/1/hw_counters/ack_deferred", .text = "0\n" },
	{ "ports/1/hw_counters/completer_retry_err", .text = "0\n" },
	{ "ports/1/hw_counters/duplicate_request", .text = "0\n" },
	{ "ports/1/hw_counters/link_downed", .text = "0\n" },
	{ "ports/1/hw_counters/out_of_seq_request", .text = "0\n" },
	{ "ports/1/hw_counters/rcvd_pkts", .text = "0\n" },
	{ "ports/1/hw_counters/rcvd_rnr_err", .text = "0\n" },
	{ "ports/1/hw_counters/rcvd_seq_err", .text = "0\n" },
	{ "ports/1/hw_counters/rdma_recvs", .text = "0\n" },
	{ "ports/1/hw_counters/rdma_sends", .text = "0\n" },
	{ "ports/1/hw_counters/retry_exceeded_err", .text = "0\n" },
	{ "ports/1/hw_counters/retry_rnr_exceeded_err", .text = "0\n" },
	{ "ports/1/hw_counters/send_err", .text = "0\n" },
	{ "ports/1/hw_counters/send_rnr_err", .text = "0\n" },
	{ "ports/1/hw_counters/sent_pkts", .text = "0\n" },
};

#define DEV_DIR "sys/devices/virtual/infiniband/%s"
#define MISC_DIR "sys/devices/virtual/misc/rdma_cm"
#define VERBS_DIR "sys/devices/virtual/infiniband_verbs/uverbs%u"

__printf(3, 4) static void tree_path(char *p, size_t size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p, size, fmt, ap);
	va_end(ap);
}

#define PATH_OF(p, ...) tree_path((p), sizeof(p), __VA_ARGS__)

static void ib_first_error(int *first, int rc)
{
	if (rc && !*first)
		*first = rc;
}

static int put_attrs(int run, const struct host_dev *was, const struct host_dev *now)
{
	char path[256], old[TEXT_MAX], text[TEXT_MAX];
	int first = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		const struct attr *a = &attrs[i];

		if ((was && !a->show) || a->only == (now->ib.host ? ROCE : IB))
			continue;
		if (a->show) {
			a->show(text, now);
			if (was) {
				a->show(old, was);
				if (!strcmp(old, text))
					continue;
			}
		}
		PATH_OF(path, DEV_DIR "/%s", now->name, a->path);
		ib_first_error(&first, tree_put(run, path, a->show ? text : a->text));
	}
	return first;
}

static int put_pkeys(int run, const struct host_dev *was, const struct host_dev *now)
{
	char path[256], text[TEXT_MAX];
	int first = 0;

	for (uint32_t i = 0; i < now->ib.npkeys; i++) {
		if (was && was->ib.pkey[i] == now->ib.pkey[i])
			continue;
		PATH_OF(path, DEV_DIR "/ports/1/pkeys/%u", now->name, i);
		PATH_OF(text, "0x%04x\n", now->ib.pkey[i]);
		ib_first_error(&first, tree_put(run, path, text));
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
	ib_first_error(&first, tree_put(run, types, d->ib.host ? "IB/RoCE v1\n" : "RoCE v2\n"));
	if (d->ndev[0])
		ib_first_error(&first, tree_put(run, ndevs, name));
	return first;
}

static int put_gid(int run, const struct host_dev *was, const struct host_dev *now, uint32_t i)
{
	const uint8_t *g = gid_at(now, i);
	bool used = memcmp(g, no_gid, 16);
	char path[256], text[TEXT_MAX];
	int first = 0;

	if (was && !memcmp(gid_at(was, i), g, 16) && !strcmp(was->ndev, now->ndev))
		return 0;
	PATH_OF(path, DEV_DIR "/ports/1/gids/%u", now->name, i);
	if (used) {
		int k, n = 0;

		for (k = 0; k < 16; k += 2)
			n += snprintf(text + n, sizeof(text) - (size_t)n, "%02x%02x%c", g[k],
				      g[k + 1], k == 14 ? '\n' : ':');
		ib_first_error(&first, tree_put(run, path, text));
	} else if (tree_link(run, "sys/" ZERO_GID, path)) {
		/* The file system may have no hard links: write a file instead. */
		ib_first_error(&first, tree_put(run, path, EMPTY_GID));
	}
	if (used || was)
		ib_first_error(&first, put_gid_attrs(run, now, i, used));
	return first;
}

static int make_links(int run, const struct host_dev *d)
{
	static const char *const dirs[] = { "ports/1/gids", "ports/1/gid_attrs/types",
					    "ports/1/gid_attrs/ndevs", "ports/1/pkeys",
					    "ports/1/hw_counters",
					    "ports/1/cm_tx_msgs", "ports/1/cm_tx_retries",
					    "ports/1/cm_rx_msgs", "ports/1/cm_rx_duplicates",
					    "device/net" };
	char path[256];
	int first = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dirs); i++) {
		PATH_OF(path, DEV_DIR "/%s", d->name, dirs[i]);
		ib_first_error(&first, tree_mkdir(run, path));
	}
	/*
	 * ports/1/counters shows the counters of the performance agent (PMA). RoCE ports have no
	 * PMA, and the kernel creates the directory only for drivers with process_mad().
	 */
	if (d->ib.host) {
		PATH_OF(path, DEV_DIR "/ports/1/counters", d->name);
		ib_first_error(&first, tree_mkdir(run, path));
	}
	PATH_OF(path, DEV_DIR "/subsystem", d->name);
	if (symlinkat("../../../../class/infiniband", run, path))
		ib_first_error(&first, -errno);
	return first;
}

/* Directory device/net. rxe lacks it, hardware has it: programs look there for the interface of a device. */
static int put_net(int run, const struct host_dev *was, const struct host_dev *now)
{
	char path[256], text[TEXT_MAX];

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
	char path[256], text[TEXT_MAX];
	int first = 0;

	PATH_OF(path, VERBS_DIR, n);
	ib_first_error(&first, tree_mkdir(run, path));
	PATH_OF(path, VERBS_DIR "/abi_version", n);
	ib_first_error(&first, tree_put(run, path, "2\n"));
	PATH_OF(path, VERBS_DIR "/dev", n);
	PATH_OF(text, "%u:%u\n", UVERBS_MAJOR, d->minor);
	ib_first_error(&first, tree_put(run, path, text));
	PATH_OF(path, VERBS_DIR "/ibdev", n);
	PATH_OF(text, "%s\n", d->name);
	ib_first_error(&first, tree_put(run, path, text));
	PATH_OF(path, VERBS_DIR "/uevent", n);
	PATH_OF(text, "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/uverbs%u\nDEVMODE=0666\n",
		UVERBS_MAJOR, d->minor, n);
	ib_first_error(&first, tree_put(run, path, text));
	PATH_OF(path, VERBS_DIR "/subsystem", n);
	if (symlinkat("../../../../class/infiniband_verbs", run, path))
		ib_first_error(&first, -errno);
	PATH_OF(path, "dev/infiniband/uverbs%u", n);
	ib_first_error(&first, tree_put(run, path, ""));
	PATH_OF(path, "sys/class/infiniband_verbs/uverbs%u", n);
	PATH_OF(text, "../../devices/virtual/infiniband_verbs/uverbs%u", n);
	if (symlinkat(text, run, path))
		ib_first_error(&first, -errno);
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

int sysfs_device(int run, const struct host_dev *was, const struct host_dev *now)
{
	char path[256], text[TEXT_MAX];
	int first = 0;
	uint32_t i;

	if (!now) {
		remove_device(run, was);
		return 0;
	}
	if (!was)
		ib_first_error(&first, make_links(run, now));
	ib_first_error(&first, put_net(run, was, now));
	ib_first_error(&first, put_attrs(run, was, now));
	ib_first_error(&first, put_pkeys(run, was, now));
	for (i = 0; i < (now->ib.host ? IB_GID_TBL_LEN : was ? HOST_MAX_GIDS :
							       GID_TBL_LEN);
	     i++)
		ib_first_error(&first, put_gid(run, was, now, i));
	if (was)
		return first;
	PATH_OF(path, "sys/class/infiniband/%s", now->name);
	PATH_OF(text, "../../devices/virtual/infiniband/%s", now->name);
	if (symlinkat(text, run, path))
		ib_first_error(&first, -errno);
	ib_first_error(&first, put_verbs(run, now));
	ib_first_error(&first, sysfs_cm_counters(run, now->name));
	return first;
}

/* The misc device rdma_cm, which belongs to no RDMA device. */
static int put_rdma_cm(int run)
{
	int first = 0;

	ib_first_error(&first, tree_put(run, MISC_DIR "/abi_version", "4\n"));
	ib_first_error(&first, tree_put(run, MISC_DIR "/dev", "10:124\n"));
	ib_first_error(&first, tree_put(run, MISC_DIR "/uevent",
					"MAJOR=10\nMINOR=124\nDEVNAME=infiniband/rdma_cm\n"
					"DEVMODE=0666\n"));
	if (symlinkat("../../../../class/misc", run, MISC_DIR "/subsystem") ||
	    symlinkat("../../devices/virtual/misc/rdma_cm", run, "sys/class/misc/rdma_cm"))
		ib_first_error(&first, -errno);
	ib_first_error(&first, tree_put(run, "dev/infiniband/rdma_cm", ""));
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
		ib_first_error(&first, tree_mkdir(run, dirs[i]));
	ib_first_error(&first, tree_put(run, "sys/class/infiniband_verbs/abi_version", "6\n"));
	ib_first_error(&first, tree_put(run, "sys/class/infiniband_mad/abi_version", "5\n"));
	ib_first_error(&first, tree_put(run, "sys/" ZERO_GID, EMPTY_GID));
	ib_first_error(&first, put_rdma_cm(run));
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

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The attribute files of a device. A table has one row per file, with its text or with the function
 * that prints it.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "abi/sysfs/sysfs_internal.h"

#define MLNX_VENDOR_ID 0x2c9

static void guid_text(char *t, const uint8_t *g)
{
	snprintf(t, TREE_TEXT_MAX, "%02x%02x:%02x%02x:%02x%02x:%02x%02x\n", g[0], g[1], g[2], g[3],
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
	snprintf(t, TREE_TEXT_MAX, "%s\n", d->ib.host ? d->ib.desc : "rxe");
}

/*
 * Only devices of a simulated InfiniBand fabric have hca_type; the kernel's rxe lacks it. If the
 * topology of the fabric gives the device the vendor ID of Mellanox and a device ID, the text is that
 * of the kernel's mlx5 driver.
 */
static void show_hca_type(char *t, const struct host_dev *d)
{
	if (d->ib.vendor_id == MLNX_VENDOR_ID && d->ib.device_id)
		snprintf(t, TREE_TEXT_MAX, "MT%u\n", d->ib.device_id);
	else
		snprintf(t, TREE_TEXT_MAX, "ruse\n");
}

static void show_board_id(char *t, const struct host_dev *d)
{
	snprintf(t, TREE_TEXT_MAX, "RUSE%06x%04x\n", d->ib.vendor_id, d->ib.device_id);
}

static void show_lid(char *t, const struct host_dev *d)
{
	snprintf(t, TREE_TEXT_MAX, "0x%x\n", d->ib.lid);
}

static void show_lmc(char *t, const struct host_dev *d)
{
	snprintf(t, TREE_TEXT_MAX, "%u\n", d->ib.lmc);
}

static void show_sm_lid(char *t, const struct host_dev *d)
{
	snprintf(t, TREE_TEXT_MAX, "0x%x\n", d->ib.sm_lid);
}

static void show_sm_sl(char *t, const struct host_dev *d)
{
	snprintf(t, TREE_TEXT_MAX, "%u\n", d->ib.sm_sl);
}

static void show_link_layer(char *t, const struct host_dev *d)
{
	snprintf(t, TREE_TEXT_MAX, "%s\n", d->ib.host ? "InfiniBand" : "Ethernet");
}

static void show_parent(char *t, const struct host_dev *d)
{
	snprintf(t, TREE_TEXT_MAX, "%s\n", d->ndev);
}

static void show_uevent(char *t, const struct host_dev *d)
{
	snprintf(t, TREE_TEXT_MAX, "NAME=%s\n", d->name);
}

static void show_state(char *t, const struct host_dev *d)
{
	static const char *const names[] = { "NOP", "DOWN", "INIT", "ARMED", "ACTIVE",
					     "ACTIVE_DEFER" };

	snprintf(t, TREE_TEXT_MAX, "%d: %s\n", d->state,
		 d->state < ARRAY_SIZE(names) ? names[d->state] : "UNKNOWN");
}

static void show_phys_state(char *t, const struct host_dev *d)
{
	static const char *const names[] = {
		"<unknown>", "Sleep", "Polling", "Disabled", "PortConfigurationTraining",
		"LinkUp", "LinkErrorRecovery", "Phy Test",
	};

	snprintf(t, TREE_TEXT_MAX, "%d: %s\n", d->phys_state,
		 d->phys_state < ARRAY_SIZE(names) ? names[d->phys_state] : "<unknown>");
}

static void show_cap_mask(char *t, const struct host_dev *d)
{
	snprintf(t, TREE_TEXT_MAX, "0x%08x\n", d->cap_mask);
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
	snprintf(t, TREE_TEXT_MAX, "%u%s Gb/sec (%uX%s)\n", rate / 10, rate % 10 ? ".5" : "", lanes,
		 speeds[i].name);
}

enum link_layer { BOTH, IB, ROCE };

static const struct attr {
	const char *path;	/* below the directory of the device */
	const char *text;	/* constant text; NULL: show() prints it */
	void (*show)(char *t, const struct host_dev *d);
	enum link_layer only;
	size_t like;	/* not 0: member of struct like_shown, the text of devices on an interface if it is set */
} attrs[] = {
	{ "node_type", .text = "1: CA\n" },
	{ "node_guid", .show = show_guid },
	{ "sys_image_guid", .show = show_image_guid },
	{ "node_desc", .show = show_desc, .like = offsetof(struct like_shown, node_desc) },
	{ "fw_ver", .text = "\n", .like = offsetof(struct like_shown, fw_ver) },
	{ "hw_rev", .text = "0\n", .only = IB, .like = offsetof(struct like_shown, hw_rev) },
	{ "hca_type", .show = show_hca_type, .only = IB, .like = offsetof(struct like_shown, hca_type) },
	{ "board_id", .show = show_board_id, .only = IB, .like = offsetof(struct like_shown, board_id) },
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
};

/* The adapter's text; NULL: it has none. */
static const char *attr_like(const struct attr *a, const struct host_dev *d,
			     const struct like_shown *like)
{
	const char *text = (const char *)like + a->like;

	return a->like && !d->ib.host && *text ? text : NULL;
}

int sysfs_put_attrs(int run, const struct host_dev *was, const struct host_dev *now,
		    const struct like_shown *like)
{
	char path[256], old[TREE_TEXT_MAX], text[TREE_TEXT_MAX];
	int first = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		const struct attr *a = &attrs[i];
		const char *own = attr_like(a, now, like);

		if ((was && (!a->show || own)) ||
		    (a->only == (now->ib.host ? ROCE : IB) && !own))
			continue;
		if (own) {
			PATH_OF(text, "%s\n", own);
		} else if (a->show) {
			a->show(text, now);
			if (was) {
				a->show(old, was);
				if (!strcmp(old, text))
					continue;
			}
		}
		PATH_OF(path, DEV_DIR "/%s", now->name, a->path);
		tree_first_error(&first, tree_put(run, path, own || a->show ? text : a->text));
	}
	return first;
}

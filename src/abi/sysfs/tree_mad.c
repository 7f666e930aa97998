/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files of umadN and issmN, in class infiniband_mad. Each port of a device has one umadN and one issmN. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "abi/sysfs/sysfs.h"
#include "abi/sysfs/sysfs_internal.h"
#include "base/devnum.h"

#define MAD_MAJOR 231u
#define LEN 256

static int put_link(int run, const char *target, const char *path)
{
	unlinkat(run, path, 0);
	return symlinkat(target, run, path) ? -errno : 0;
}

/* Removes umadN or issmN. Its links go first, so that no class directory lists it without its files. */
static void remove_node(int run, const char *name)
{
	char path[LEN];

	PATH_OF(path, "sys/class/infiniband_mad/%s", name);
	unlinkat(run, path, 0);
	PATH_OF(path, "dev/infiniband/%s", name);
	unlinkat(run, path, 0);
	PATH_OF(path, "sys/devices/virtual/infiniband_mad/%s", name);
	tree_remove(run, path);
}

static int put_node(int run, const char *name, unsigned int minor, const char *ibdev,
		    unsigned int port)
{
	char dir[128], path[LEN], text[LEN];
	int first = 0;

	PATH_OF(dir, "sys/devices/virtual/infiniband_mad/%s", name);
	tree_first_error(&first, tree_mkdir(run, dir));
	PATH_OF(path, "%s/ibdev", dir);
	PATH_OF(text, "%s\n", ibdev);
	tree_first_error(&first, tree_put(run, path, text));
	PATH_OF(path, "%s/port", dir);
	PATH_OF(text, "%u\n", port);
	tree_first_error(&first, tree_put(run, path, text));
	PATH_OF(path, "%s/dev", dir);
	PATH_OF(text, "%u:%u\n", MAD_MAJOR, minor);
	tree_first_error(&first, tree_put(run, path, text));
	PATH_OF(path, "%s/uevent", dir);
	PATH_OF(text, "MAJOR=%u\nMINOR=%u\nDEVNAME=infiniband/%s\n", MAD_MAJOR, minor, name);
	tree_first_error(&first, tree_put(run, path, text));
	PATH_OF(path, "%s/subsystem", dir);
	tree_first_error(&first, put_link(run, "../../../../class/infiniband_mad", path));
	/* device/infiniband_mad exists for hardware devices, not for the kernel's virtual ones. */
	PATH_OF(path, "sys/devices/virtual/infiniband/%s/device/infiniband_mad", ibdev);
	tree_first_error(&first, tree_mkdir(run, path));
	PATH_OF(path, "sys/devices/virtual/infiniband/%s/device/infiniband_mad/%s", ibdev, name);
	PATH_OF(text, "../../../../infiniband_mad/%s", name);
	tree_first_error(&first, put_link(run, text, path));
	PATH_OF(path, "dev/infiniband/%s", name);
	tree_first_error(&first, tree_put(run, path, ""));
	PATH_OF(path, "sys/class/infiniband_mad/%s", name);
	PATH_OF(text, "../../devices/virtual/infiniband_mad/%s", name);
	tree_first_error(&first, put_link(run, text, path));
	return first;
}

int sysfs_mad(int run, unsigned int n, const char *ibdev, unsigned int port)
{
	char umad[16], issm[16];
	int first = 0;

	PATH_OF(umad, "umad%u", n);
	PATH_OF(issm, "issm%u", n);
	if (!port) {
		remove_node(run, umad);
		remove_node(run, issm);
		return 0;
	}
	tree_first_error(&first, put_node(run, umad, n, ibdev, port));
	tree_first_error(&first, put_node(run, issm, ISSM_BASE_MINOR + n, ibdev, port));
	return first;
}

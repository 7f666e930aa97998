/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A library whose constructor runs before that of libruse.so, and whose destructor runs after that
 * of libruse.so. Both list the devices in sysfs, open uverbs0 and print the results.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int early_touched(void);

static int kept = -1;

static void touch(const char *when)
{
	int fd, entries = 0;
	struct dirent *e;
	struct stat st;
	DIR *d;
	int ret;

	ret = stat("/sys/class/infiniband", &st);
	d = opendir("/sys/class/infiniband");
	while (d && (e = readdir(d)))
		entries += e->d_name[0] != '.';
	if (d)
		closedir(d);
	fd = open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC);
	dprintf(STDOUT_FILENO, "%s: stat %d, %s, %s\n", when, ret,
		entries ? "devices" : "no device", fd < 0 ? "not opened" : "opened");
	if (kept >= 0)
		close(kept);
	kept = fd;
}

__attribute__((constructor)) static void early(void)
{
	touch("constructor");
}

__attribute__((destructor)) static void late(void)
{
	touch("destructor");
}

__attribute__((visibility("default"))) int early_touched(void)
{
	return kept >= 0;
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks of installed files, the run directory, rused and kernel devices. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <json-c/json.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor.h"

/* Minimum free space in the file system of the run directory. */
#define RUNDIR_FREE_KIB 1024

void doctor_library(struct finding *f)
{
	static const char meaning[] = "both must be beside ruse, or in LIBDIR/ruse if ruse is installed";
	char lib[PATH_MAX], daemon[PATH_MAX];

	if (cli_find_file("libruse.so", lib))
		doctor_found(f, CHECK_FAIL, meaning, "libruse.so not found");
	else if (cli_find_file("rused", daemon) || access(daemon, X_OK))
		doctor_found(f, CHECK_FAIL, meaning, "rused not found");
	else
		doctor_found(f, CHECK_OK, meaning, "%.150s", lib);
}

/* *path is the first file that matches a pattern, "" if none does. */
static void first_match(const char *const *patterns, size_t n, char *path, size_t size)
{
	size_t i;

	*path = '\0';
	for (i = 0; i < n && !*path; i++) {
		glob_t g;

		if (!glob(patterns[i], 0, NULL, &g) && g.gl_pathc)
			snprintf(path, size, "%s", g.gl_pathv[0]);
		globfree(&g);
	}
}

void doctor_provider(struct finding *f)
{
	static const char *const libs[] = {
		"/usr/lib/*/libibverbs/librxe-rdmav*.so", "/usr/lib64/libibverbs/librxe-rdmav*.so",
		"/usr/lib/libibverbs/librxe-rdmav*.so", "/usr/local/lib*/libibverbs/librxe-rdmav*.so",
	};
	static const char *const drivers[] = {
		"/etc/libibverbs.d/rxe.driver", "/usr/local/etc/libibverbs.d/rxe.driver",
	};
	char lib[256], driver[256];

	first_match(libs, ARRAY_SIZE(libs), lib, sizeof(lib));
	first_match(drivers, ARRAY_SIZE(drivers), driver, sizeof(driver));
	if (*lib && *driver)
		doctor_found(f, CHECK_OK, "libibverbs loads it for ruse's devices", "%.150s", lib);
	else
		doctor_found(f, CHECK_FAIL,
			     "libibverbs needs it to drive ruse's devices; Debian: apt-get install ibverbs-providers",
			     "%s not found", *lib ? "rxe.driver" : "librxe");
}

void doctor_libibverbs(struct finding *f)
{
	struct link_map *map;
	char path[PATH_MAX];
	void *lib = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (!lib) {
		doctor_found(f, CHECK_FAIL, "RDMA programs need it; Debian: apt-get install libibverbs1",
			     "libibverbs.so.1 not found");
		return;
	}
	/* The name of the file behind the symbolic link shows the version of rdma-core. */
	if (!dlinfo(lib, RTLD_DI_LINKMAP, &map) && realpath(map->l_name, path))
		doctor_found(f, CHECK_OK, "used unmodified", "%.150s", path);
	else
		doctor_found(f, CHECK_OK, "used unmodified", "libibverbs.so.1");
	dlclose(lib);
}

void doctor_kernel_devices(struct finding *f)
{
	DIR *d = opendir("/sys/class/infiniband_verbs");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += !strncmp(e->d_name, "uverbs", 6);
	if (d)
		closedir(d);
	if (n)
		doctor_found(f, CHECK_WARN, "programs under `ruse run` see only ruse's devices; other programs see the kernel's",
			     "%d", n);
	else
		doctor_found(f, CHECK_OK, "RDMA programs need `ruse run`", "none");
}

void doctor_rundir(struct finding *f)
{
	char dir[IPC_RUNDIR_MAX], crash[IPC_RUNDIR_MAX + sizeof(IPC_CRASH_NAME)];
	const char *env = getenv("RUSE_DIR");
	struct statvfs v;
	int rc = ipc_rundir(dir, sizeof(dir));

	if (rc && !env && access("/proc/self/ns/net", F_OK))
		doctor_found(f, CHECK_FAIL, "mount /proc, or set RUSE_DIR to a directory of this user with mode 0700",
			     "its name comes from /proc/self/ns/net: %s", strerror(errno));
	else if (rc)
		doctor_found(f, CHECK_FAIL, "set RUSE_DIR to a directory of this user with mode 0700",
			     "%.110s: %s", dir, strerror(-rc));
	else if (access(dir, W_OK | X_OK))
		doctor_found(f, CHECK_FAIL, "set RUSE_DIR to a directory that this user can write",
			     "%s: %s", dir, strerror(errno));
	else if (!statvfs(dir, &v) && (v.f_bavail * v.f_frsize) >> 10 < RUNDIR_FREE_KIB)
		doctor_found(f, CHECK_WARN, "rused writes the device tree there: free space, or set RUSE_DIR",
			     "%s: file system is full", dir);
	else if (snprintf(crash, sizeof(crash), "%s/" IPC_CRASH_NAME, dir) && !access(crash, F_OK))
		doctor_found(f, CHECK_WARN, "rused crashed and wrote this file: please report it, then remove it",
			     "%s", crash);
	else
		doctor_found(f, CHECK_OK, "one per user and network namespace", "%s", dir);
}

/* The status of rused, read by doctor_rused(). NULL: none. */
static struct json_object *doctor_status;

/* If no rused runs, starts one as a program would, and tells it to exit. */
void doctor_rused(struct finding *f)
{
	static const char meaning[] = "starts with the first program that needs it, exits when idle";
	struct ipc_shutdown req = { 0 };
	struct ipc_conn c;
	uint32_t pid = 0;
	bool started = false;
	char *text;
	int rc;

	rc = cli_rused_connect(&c, &pid);
	if (cli_rused_absent(rc)) {
		rc = cli_rused_attach(&c, &pid);
		started = !rc;
	}
	if (rc) {
		doctor_found(f, CHECK_FAIL, "for details, set RUSE_LOG=debug and read rused.log in the run directory",
			     "%.110s%s%s", cli_rused_where(), *cli_rused_where() ? ": " : "",
			     strerror(-rc));
		return;
	}
	if (!cli_rused_status(&c, &text))
		doctor_status = json_tokener_parse(text);
	free(text);
	if (started)
		ipc_call(&c, &(struct ipc_msg){ IPC_REQ(IPC_SHUTDOWN, &req) });
	ipc_close(&c);
	doctor_found(f, CHECK_OK, meaning, started ? "can be started" : "running, pid %u", pid);
}

void doctor_netdev(struct finding *f)
{
	struct json_object *devs;
	bool lo = false;
	size_t at = 0;

	doctor_found(f, CHECK_WARN, "rused tells it", "unknown");
	if (!doctor_status || !json_object_object_get_ex(doctor_status, "devices", &devs))
		return;
	f->what[0] = '\0';
	for (size_t i = 0; i < json_object_array_length(devs) && at < sizeof(f->what); i++) {
		struct json_object *d = json_object_array_get_idx(devs, i);
		const char *chosen = cli_json_string(d, "chosen");

		if (!chosen || !*chosen)	/* a port of a fabric */
			continue;
		lo |= !strcmp(cli_json_string(d, "netdev") ?: "", "lo");
		at += (size_t)snprintf(f->what + at, sizeof(f->what) - at, "%s%s on %s: %s",
				       at ? "; " : "", cli_json_string(d, "name"),
				       cli_json_string(d, "netdev"), chosen);
	}
	f->verdict = lo ? CHECK_WARN : CHECK_OK;
	f->meaning = lo ? "lo reaches no other host: set an address, or choose with `ruse run --netdev IF`" :
			  "to choose others: `ruse run --netdev IF`, or RUSE_NETDEV";
}

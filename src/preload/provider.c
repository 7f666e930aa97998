/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libibverbs asks for the devices by netlink, or reads them in sysfs, and then loads its providers by dlopen(), which is
 * not seen here. So the loaded libraries are looked at when the program calls exit(); not at the next socket of RDMA netlink,
 * which librdmacm also opens before it asks for devices. A program that has opened a device has a provider. Of one that has
 * not: without librxe, none was loaded. With librxe and two copies of libibverbs, librxe has registered with one of
 * them; which one, and which the program calls, is not seen.
 */
#include <link.h>
#include <string.h>
#include <unistd.h>
#include "base/sys.h"
#include "engine/explain.h"
#include "preload/provider.h"

static long listed_by;		/* the process that has asked for devices; 0: none */
static bool found, told;

struct provider_libs {
	unsigned int verbs;	/* copies of libibverbs */
	bool rxe;
};

void provider_listed(void)
{
	WRITE_ONCE(listed_by, sys_call(SYS_getpid));
}

void provider_found(void)
{
	WRITE_ONCE(found, true);
}

static int provider_see(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct provider_libs *libs = arg;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	const char *name = slash ? slash + 1 : info->dlpi_name ?: "";

	(void)size;
	libs->verbs += !strncmp(name, "libibverbs", 10) && (name[10] == '.' || name[10] == '-');
	libs->rxe |= !strncmp(name, "librxe-rdmav", 12);
	return 0;
}

void provider_check(void)
{
	struct why_rec r = { .call = "ibv_get_device_list" };
	struct provider_libs libs = { 0 };

	if (READ_ONCE(found) || READ_ONCE(told) || READ_ONCE(listed_by) != sys_call(SYS_getpid))
		return;
	dl_iterate_phdr(provider_see, &libs);
	if (!libs.verbs || (libs.rxe && libs.verbs == 1))
		return;
	WRITE_ONCE(told, true);
	if (libs.rxe)
		why_set(&r.why, PROVIDER_OTHER, libs.verbs);
	else
		why_set(&r.why, PROVIDER_NONE, libs.verbs);
	explain_failed(NULL, &r);
}

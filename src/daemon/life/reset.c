/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "daemon/life/reset.h"

/* Removes a resource limit; without the permission raises it to the hard limit. */
static void reset_limit(int what)
{
	struct rlimit rl = { RLIM_INFINITY, RLIM_INFINITY };

	if (setrlimit(what, &rl) && !getrlimit(what, &rl)) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(what, &rl);
	}
}

/* A score that was raised for the starter would make the kernel kill rused first, too. */
static void reset_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "0", 1) != 1)
		log_debug("cannot reset oom_score_adj: %m");
	close(fd);
}

void reset_process(void)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE,
				      RLIMIT_MEMLOCK, RLIMIT_SIGPENDING };
	struct sched_param sp = { 0 };
	struct rlimit rl;
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	sched_setscheduler(0, SCHED_OTHER, &sp);
	setpriority(PRIO_PROCESS, 0, 0);
	if (!getrlimit(RLIMIT_NOFILE, &rl)) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		reset_limit(limits[i]);
	reset_oom_score();
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);	/* EFBIG instead */
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "base/log.h"
#include "base/sys.h"
#include "engine/engine_internal.h"
#include "engine/enter.h"
#include "engine/shakes.h"
#include "ipc/why_log.h"
#include "shake/shake.h"

/* Nothing is written to stderr: the program's output is compared. `ruse run` tells the decisions when it has ended. */
static void shakes_taken(struct rdev *dev, const struct why_rec *r)
{
	struct why_rec rec = *r;
	char text[256];

	why_text(&r->why, text, sizeof(text));
	log_info("shaken: event %u of object %u: %s", (uint32_t)r->why.arg[0],
		 (uint32_t)r->why.arg[5], text);
	rec.last = engine_now();
	rec.dev = dev ? dev->index : 0;
	if (engine.why_log)
		why_log_put(engine.why_log, &rec);
}

/* Reads a file of /proc. Returns the length; 0: it cannot be read. */
static size_t shakes_read(const char *path, char *buf, size_t size)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	while (n < size && (got = sys_read(fd, buf + n, size - n)) > 0)
		n += (size_t)got;
	sys_close(fd);
	return n;
}

/* The rank of a process that mpirun or srun has started; "": none. */
static const char *shakes_rank(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *rank = getenv(names[i]);

		if (rank)
			return rank;
	}
	return "";
}

static void shakes_place(char place[SHAKE_PLACE_LEN])
{
	char comm[32], cmdline[4096];
	size_t n = shakes_read("/proc/self/comm", comm, sizeof(comm) - 1);

	n -= n && comm[n - 1] == '\n';
	comm[n] = '\0';
	n = shakes_read("/proc/self/cmdline", cmdline, sizeof(cmdline));
	shake_place(place, comm, cmdline, n, shakes_rank());
}

bool shakes_begin(void)
{
	static const struct shake_host host = { .taken = shakes_taken };
	const char *v = getenv("RUSE_SHAKE");
	struct shake_cfg cfg;

	if (!v || !*v)
		return false;
	if (!shake_parse(v, &cfg)) {
		log_warn("RUSE_SHAKE=%s is not valid: nothing is shaken", v);
		return false;
	}
	shakes_place(cfg.place);
	shake_begin(&host, &cfg);
	log_info("shaken with RUSE_SHAKE=%s as %s", v, cfg.place);
	return true;
}

ns_t engine_shake_cm(enum shake_message message, bool *twice)
{
	ns_t wait;

	*twice = false;
	if (likely(!READ_ONCE(shake_ops)) || !engine_lock())
		return 0;
	wait = shake_ops->cm(message, twice);
	engine_unlock();
	return wait;
}

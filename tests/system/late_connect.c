/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A library to preload into a client whose server reports its rdma_cm port number before it
 * listens on it: rdma_connect() sleeps for LATE_CONNECT milliseconds (0 to 60,000) first.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct rdma_cm_id;
struct rdma_conn_param;

__attribute__((visibility("default"))) int rdma_connect(struct rdma_cm_id *id,
							struct rdma_conn_param *param);

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	int (*next)(struct rdma_cm_id *, struct rdma_conn_param *);
	const char *s = getenv("LATE_CONNECT");
	long ms = s ? atol(s) : 0;

	*(void **)&next = dlsym(RTLD_NEXT, "rdma_connect");
	if (!next) {
		errno = ENOSYS;
		return -1;
	}
	if (ms > 0 && ms <= 60000)
		nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
	return next(id, param);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What rdmacm asks the subnet administrator by its host: InfiniBand ports have no other way. */
#ifndef RUSE_RDMACM_SA_H
#define RUSE_RDMACM_SA_H

#include "rdmacm/path.h"
#include "wire/sa.h"

/* rdmacm owns it; the host keeps what it needs behind `host`, NULL when it starts. */
struct rdmacm_sa_path {
	unsigned int slot;	/* of the port in the host page */
	uint32_t timeout_ms;	/* of all tries together */
	uint64_t comp_mask;
	struct sa_path_rec path;	/* what is asked for, then the answer */
	void *host;
};

struct rdmacm_sa_join {
	unsigned int slot;
	uint64_t comp_mask;	/* of rec */
	/* What is wanted, then what the group is. */
	struct sa_mcmember_rec rec;
	void *host;
};

#endif

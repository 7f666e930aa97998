/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queries of rdmacm to the subnet administrator (SA), sent by its host. InfiniBand ports only. */
#ifndef RUSE_RDMACM_SA_H
#define RUSE_RDMACM_SA_H

#include "rdmacm/path.h"
#include "why/why.h"
#include "wire/sa.h"

/* Path query. Owned by rdmacm. `host` belongs to the host and is NULL when the query starts. */
struct rdmacm_sa_path {
	unsigned int slot;	/* index of the port in host_page.dev */
	uint32_t timeout_ms;	/* limit for all attempts together */
	uint64_t comp_mask;	/* component mask: fields of path that the query sets */
	struct sa_path_rec path;	/* the query, then the answer */
	struct why why;		/* of an error; set by the host, its id is WHY_NONE if none is known */
	void *host;
};

/* Multicast membership. Ownership as above. */
struct rdmacm_sa_join {
	unsigned int slot;
	uint64_t comp_mask;	/* fields of record that the request sets */
	/* The request, then the SA's record of the multicast group. */
	struct sa_mcmember_rec rec;
	struct why why;		/* as above */
	void *host;
};

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules of `ruse fault` on the MADs of rused, and on connections. */
#ifndef RUSE_GSI_FAULT_H
#define RUSE_GSI_FAULT_H

#include "gsi/gsi.h"

/* fault.c */
void gsi_fault_init(struct gsi_faults *g);
/* Takes the rules from the host page if they have changed. */
void gsi_fault_look(struct gsi *g);
/* Number of copies of a MAD to deliver, by the rules of `ruse fault`; 0: it is lost. peer, qpn: the other end. */
uint32_t gsi_fault(struct gsi_port *p, const uint8_t peer[16], uint32_t qpn, uint32_t psn,
		   enum fault_side side);

/* fault_cm.c */
#define GSI_FAULTS_OF_CM                                                   \
	(1u << FAULT_CM_REJECT | 1u << FAULT_CM_DROP | 1u << FAULT_CM_DELAY | \
	 1u << FAULT_CM_UNREACHABLE)
/* Is there any such rule? */
static inline bool gsi_faults_cm(struct gsi *g)
{
	gsi_fault_look(g);
	return unlikely(g->faults.f.actions & GSI_FAULTS_OF_CM);
}

enum gsi_fate {
	GSI_PASS,
	GSI_LOST,		/* or held, or answered: the caller forgets it */
	GSI_NO_ANSWER,		/* lost, and no answer is to be waited for */
};

/*
 * Judges a message of the CM that p sends to a (FAULT_OUT; FAULT_BOTH: within the host or a fabric), or has received from a
 * (FAULT_IN). *note, for captures, is set unless the result is GSI_PASS.
 */
enum gsi_fate gsi_fault_cm(struct gsi_port *p, const struct mad_addr *a,
			   const uint8_t mad[CM_MAD_LEN], enum fault_dir dir, const char **note);
/* For rdmacm_set_faults(); gsi: a struct gsi. */
uint32_t gsi_fault_step(void *gsi, enum fault_step step, const uint8_t peer[16], uint32_t port,
			uint32_t dev);
/* Holds the message that p sends to a as gsi.late says. True: it is not sent now. */
bool gsi_is_late(struct gsi_port *p, const struct mad_addr *a, const uint8_t mad[CM_MAD_LEN]);
void gsi_fault_fini(struct gsi *g);

#endif

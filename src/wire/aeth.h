/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the codes of AETH syndromes and timeouts mean. */
#ifndef RUSE_WIRE_AETH_H
#define RUSE_WIRE_AETH_H

#include "base/util.h"

/* Nanoseconds that an RNR NAK timer code (5 bits, the rest is ignored) asks for (IBA table 46). */
ns_t aeth_rnr_ns(uint8_t code);

/* Local ACK timeout 4.096 us * 2^code, code from 1 to 31; 0 = never (IBA 9.7.6.1.3). */
ns_t ack_timeout_ns(uint8_t code);

/* "ack", "rnr_nak", "nak psn_seq", ...; never NULL. */
const char *aeth_syndrome_name(uint8_t syndrome);

#endif

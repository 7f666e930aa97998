/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Meaning of AETH syndromes and of timeout codes. */
#ifndef RUSE_WIRE_AETH_H
#define RUSE_WIRE_AETH_H

#include "base/util.h"

/* Wait in ns for an RNR NAK timer code (5 bits, higher bits are ignored; IBA table 46). */
ns_t aeth_rnr_ns(uint8_t code);

/* Local ACK timeout in ns: 4.096 us * 2^code, code 1 to 31; 0: NS_NEVER (IBA 9.7.6.1.3). */
ns_t ack_timeout_ns(uint8_t code);

/* Name of an AETH syndrome: "ack", "rnr_nak", "nak psn_seq", ...; never NULL. */
const char *aeth_syndrome_name(uint8_t syndrome);

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Constants of the capture file formats: draft-ietf-opsawg-pcapng and draft-ietf-opsawg-pcap. */
#ifndef RUSE_CLI_PCAPNG_H
#define RUSE_CLI_PCAPNG_H

#define PCAP_MAGIC_US 0xa1b2c3d4u
#define PCAP_MAGIC_NS 0xa1b23c4du
#define PCAP_LINK_ETHERNET 1
#define PCAP_LINK_SLL 113	/* `tcpdump -i any`: in place of the MAC addresses, 14 bytes before the type of the packet */
#define PCAP_LINK_SLL2 276	/* the same with a header of 20 bytes, which begins with the type */

#define PCAPNG_SHB 0x0a0d0d0au	/* section header block */
#define PCAPNG_MAGIC 0x1a2b3c4du
#define PCAPNG_IDB 1		/* interface description block */
#define PCAPNG_ISB 5		/* interface statistics block */
#define PCAPNG_EPB 6		/* enhanced packet block */

#define PCAPNG_ENDOFOPT 0
#define PCAPNG_COMMENT 1
#define PCAPNG_SHB_USERAPPL 4
#define PCAPNG_IF_NAME 2
#define PCAPNG_IF_DESCRIPTION 3
#define PCAPNG_IF_TSRESOL 9
#define PCAPNG_EPB_FLAGS 2	/* bits 1-0: 1 inbound, 2 outbound */
#define PCAPNG_ISB_STARTTIME 2
#define PCAPNG_ISB_ENDTIME 3
#define PCAPNG_ISB_IFRECV 4
#define PCAPNG_ISB_IFDROP 5

#endif

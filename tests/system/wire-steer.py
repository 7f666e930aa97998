#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A foreign sender: trains of UD packets from one source port to several QPs.

wire-steer.py SOURCE DESTINATION ROUNDS QPN...

Each round sends one UD SEND_ONLY of 256 bytes to every QP number in turn, so that receive offload
merges packets for different sockets into one train. The Q_Key is 0x1234; byte i of the payload in
round r is (r + i) & 255.
"""
import socket
import struct
import sys
import time
import zlib

PORT = 4791
LEN = 256
BURST = 16  # rounds sent at once, for receive offload to merge


def icrc(src, dst, sport, packet):
    """ICRC by IBA A17.3.3, for IPv4 with id 0 and DF, of the packet without its ICRC."""
    total = 20 + 8 + len(packet) + 4
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0xff, total, 0, 0x4000, 0xff, 17, 0xffff, src, dst)
    udp = struct.pack(">HHHH", sport, PORT, total - 20, 0xffff)
    bth = bytearray(packet[:12])
    bth[4] = 0xff
    return zlib.crc32(b"\xff" * 8 + ip + udp + bytes(bth) + packet[12:])


def datagram(src, dst, sport, qpn, psn, round_):
    payload = bytes((round_ + i) & 255 for i in range(LEN))
    packet = struct.pack(">BBHII", 0x64, 0x40, 0xffff, qpn, psn)
    packet += struct.pack(">II", 0x1234, 17) + payload
    return packet + struct.pack("<I", icrc(src, dst, sport, packet))


def main():
    src, dst, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    qpns = [int(q, 0) for q in sys.argv[4:]]
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO: id 0
    s.bind((src, 0))
    a, b, sport = socket.inet_aton(src), socket.inet_aton(dst), s.getsockname()[1]
    for first in range(0, rounds, BURST):
        burst = [datagram(a, b, sport, qpn, r, r)
                 for r in range(first, min(first + BURST, rounds)) for qpn in qpns]
        for d in burst:
            s.sendto(d, (dst, PORT))
        time.sleep(0.004)


main()

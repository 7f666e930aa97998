#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the lines that ruse and tshark print for the same packets.

captures.py OURS THEIRS [SERVICE]

OURS: lines of `ruse capture`; THEIRS: fields of tshark, see captures.sh. Prints the number of
packets; exits with 1 and a line for the first packet that differs.
"""
import re
import sys

# IBA table 38; the index is the opcode.
RC = ["SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_LAST_IMM", "SEND_ONLY", "SEND_ONLY_IMM",
      "WRITE_FIRST", "WRITE_MIDDLE", "WRITE_LAST", "WRITE_LAST_IMM", "WRITE_ONLY", "WRITE_ONLY_IMM",
      "READ_REQ", "READ_RESP_FIRST", "READ_RESP_MIDDLE", "READ_RESP_LAST", "READ_RESP_ONLY", "ACK",
      "ATOMIC_ACK", "CMP_SWP", "FETCH_ADD", None, "SEND_LAST_INV", "SEND_ONLY_INV"]
SERVICES = {0: "RC", 1: "UC", 3: "UD"}
LINE = re.compile(r"(\S+) > (\S+): (\w+) (\w+) psn (\d+) qp (0x[0-9a-f]+) len (\d+)(.*)")


def field(rest, name):
    m = re.search(rf" {name} (\S+)", rest)
    return int(m.group(1), 0) if m else None


def main():
    ours = open(sys.argv[1], encoding="utf-8").read().splitlines()
    theirs = open(sys.argv[2], encoding="utf-8").read().splitlines()
    if len(ours) != len(theirs):
        print(f"{len(ours)} packets by ruse, {len(theirs)} by tshark")
        return 1
    for o, t in zip(ours, theirs):
        m = LINE.search(o)
        if not m:
            print("ruse could not parse:", o)
            return 1
        src, dst, service, op, psn, qp, _, rest = m.groups()
        s4, s6, d4, d6, code, dqp, tpsn, dma, syndrome, msn, sqp = t.split("|")
        code = int(code)
        syn = re.search(r" (0x[0-9a-f]{2}) msn ", rest)
        want = [(src, s4 or s6), (dst, d4 or d6), (service, SERVICES.get(code >> 5)),
                (op, RC[code & 31]), (int(psn), int(tpsn)), (int(qp, 16), int(dqp, 16))]
        if dma:
            want.append((field(rest, "dma"), int(dma)))
        if syndrome:
            want.append((int(syn.group(1), 16) if syn else None, int(syndrome, 0)))
            want.append((field(rest, "msn"), int(msn)))
        if sqp:
            want.append((field(rest, "sqp"), int(sqp, 0)))
        for a, b in want:
            if a != b:
                print(f"ruse: {o}\ntshark: {t}\n{a} is not {b}")
                return 1
    print(len(ours))
    return 0


sys.exit(main())

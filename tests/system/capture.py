#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks a capture of one connection, as tshark decodes it.

capture.py FILE ADDRESS OPCODE[=N|=N+|+]...

ADDRESS: source and destination of every packet. OPCODE is a number of IBA table 38: exactly N
packets of it, N or more, or at least one. Requests other than READ to a QP must have consecutive
PSNs; so must READ responses to it.
"""
import collections
import subprocess
import sys

FIELDS = ["ip.src", "ip.dst", "infiniband.bth.opcode", "infiniband.bth.destqp",
          "infiniband.bth.psn", "infiniband.reth.dmalen", "ip.checksum.status",
          "udp.checksum.status", "udp.dstport"]


def packets(name):
    cmd = ["tshark", "-r", name, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
           "-T", "fields", "-E", "separator=|"]
    for f in FIELDS:
        cmd += ["-e", f]
    text = subprocess.run(cmd, capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        yield dict(zip(FIELDS, line.split("|")))


def main():
    seen = collections.Counter()
    expect = {}	# (destination QP, is a READ response) -> expected PSN
    for n, p in enumerate(packets(sys.argv[1])):
        assert p["udp.dstport"] == "4791", (n, p)
        assert p["ip.src"] == p["ip.dst"] == sys.argv[2], (n, p)
        # 1: correct
        assert p["ip.checksum.status"] == "1" and p["udp.checksum.status"] == "1", (n, p)
        op, qp = int(p["infiniband.bth.opcode"]), int(p["infiniband.bth.destqp"], 0)
        psn = int(p["infiniband.bth.psn"])
        seen[op] += 1
        kind = op & 31
        if op >> 5 == 0 and kind in (17, 18):
            continue	# an ACK repeats its request's PSN
        read_response = op >> 5 == 0 and 13 <= kind <= 16
        want = expect.get((qp, read_response), psn)
        assert psn == want, f"packet {n + 1}: PSN {psn}, not {want}: {p}"
        taken = 1
        if op == 12:
            taken = max(1, -(-int(p["infiniband.reth.dmalen"]) // MTU))
        expect[qp, read_response] = (psn + taken) & 0xffffff
    for want in sys.argv[3:]:
        op, _, n = want.rstrip("+").partition("=")
        have, n = seen.pop(int(op), 0), int(n or 1)
        assert have == n or (want.endswith("+") and have > n), f"opcode {op}: {have}, not {want}"
    assert not seen, f"unexpected opcodes: {seen}"
    print("as it must be")


MTU = 1024	# path MTU of the READ test
main()

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Vanished peers: ruse's CM behaves as the kernel's does.

Two connections, one opened by each side. Then ruse receives no more MADs, so that neither side
gets an answer. Both disconnect, and both try to connect, for RC and UD, to a port without a
listener. Both sides must send as many messages, with the same intervals, and report the same
events.
"""
import re
import statistics
import subprocess
import time

import vm

KINDS = {"0x0010": "REQ", "0x0015": "DREQ", "0x0017": "SIDR_REQ"}
PORT = 24000
# Intervals may differ by this factor on a busy machine; a wrong timeout is off by a power of two.
NEAR = 1.4


def sent(path, address):
    """The times at which this address has sent a message, by kind."""
    out = subprocess.run(["tshark", "-r", path, "-Y",
                          f"infiniband.bth.destqp == 1 and ip.src == {address}", "-T", "fields",
                          "-e", "frame.time_epoch", "-e", "infiniband.mad.attributeid"],
                         check=True, capture_output=True, text=True).stdout
    times = {}
    for line in out.splitlines():
        when, attribute = line.split("\t")[:2]
        kind = KINDS.get(f"0x{int(attribute.split(',')[0], 0):04x}")
        if kind:
            times.setdefault(kind, []).append(float(when))
    return times


def gap(times):
    return statistics.median(b - a for a, b in zip(times, times[1:]))


class Silence:
    def __init__(self, pairs, wire):
        self.pairs, self.here, self.guest = pairs, pairs.here, pairs.guest
        self.fail, self.wire = pairs.fail, wire
        self.bin = pairs.suite.args.build + "/tests/system"

    def connect(self, n, server, client):
        """Connects; returns the commands (server, client)."""
        port = PORT + n
        s = server.start(f"{self.bin}/silent {server.ip4} {port}")
        self.pairs.wait_listening(server, s, port)
        c = client.start(f"{self.bin}/silent -c {server.ip4} {port}")
        if not c.wait_out("connected", vm.slow(60)):
            c.wait(0)
            s.wait(0)
            raise self.fail(f"no connection\n{c.out}\n{s.out}")
        return s, c

    def run(self, path):
        sides = ((self.guest, self.here), (self.here, self.guest))
        up = [self.connect(n, s, c) for n, (s, c) in enumerate(sides)]
        # Drop MADs in ruse instead of changing the neighbour entry: on such a change the kernel's
        # rdma_cm would end the connections.
        self.here.ruse(["fault", "add", "drop", "qp", "1", "dir", "in"])
        wire = self.wire("vm1", path)
        said = {}
        try:
            tried = []
            for (peer, side), (_, c) in zip(sides, up):
                pid = re.search(r"process (\d+)", c.out).group(1)
                side.run(f"kill -USR1 {pid}")
                tried.append((side, "DREQ", c))
                tried.append((side, "REQ", side.start(f"ucmatose -s {peer.ip4} -p {PORT + 9}")))
                tried.append((side, "SIDR_REQ", side.start(f"udaddy -s {peer.ip4}")))
            for side, kind, c in tried:
                c.wait(vm.slow(240))
                event = re.findall(r"RDMA_CM_EVENT_\w+, \w+:? -?\d+", c.out)
                said[side, kind] = (c.rc, event[-1] if event else "nothing: " + c.out)
            time.sleep(0.5)     # dumpcap's buffer
        finally:
            wire.end()
            self.here.ruse(["fault", "del", "all"])
            for s, c in up:
                c.wait(0)
                s.wait(0)
        for (side, kind), (_, event) in said.items():
            self.pairs.suite.note(f"# {side.name}, {kind}: {event.strip()}")
        self.compare(path, said)

    def compare(self, path, said):
        ours, theirs = sent(path, self.here.ip4), sent(path, self.guest.ip4)
        for kind in KINDS.values():
            a, b = ours.get(kind, []), theirs.get(kind, [])
            if len(a) < 2 or len(a) != len(b):
                raise self.fail(f"{kind}: ruse sends {len(a)}, the kernel {len(b)}")
            if not 1 / NEAR < gap(a) / gap(b) < NEAR:
                raise self.fail(f"{kind}: every {gap(a):.2f} s, the kernel's every {gap(b):.2f} s")
            mine, other = said[self.here, kind], said[self.guest, kind]
            # A program's exit status is one byte of its error; 124: killed.
            if mine[1] != other[1] or 124 in (mine[0], other[0]):
                raise self.fail(f"{kind}: ruse {mine}, the kernel {other}")
            self.pairs.suite.note(f"# {kind}: {len(a)}, every {gap(a):.2f} s and "
                                  f"{gap(b):.2f} s: {mine[1].strip()}")

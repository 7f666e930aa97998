# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Latency and bandwidth over the size of the message, for the plots of tests/bench/plot.

A series is a list of [size, value]: microseconds (half a round trip), or GB/s.
"""
import os
import re

from wire import ADDRESS, Failed

SIZES = [2 * 4 ** n for n in range(11)]     # as in sweep.c: 2 bytes to 2 MiB


def perftest_rows(out, column):
    """The sizes and the values in the column whose heading begins with `column`, of the output of `-a`."""
    lines, found = out.splitlines(), []
    for i, line in enumerate(lines):
        if line.lstrip().startswith("#bytes"):
            heads = re.findall(r"(?:[\w.%]+ )?\w+\[[^\]]*\]|\S+", line)
            at = [n for n, head in enumerate(heads) if head.startswith(column)]
            for row in lines[i + 1:]:
                values = row.split()
                if at and values and values[0].isdigit() and len(values) == len(heads):
                    found.append([int(values[0]), float(values[at[0]])])
            break
    found = [row for row in found if row[0] in SIZES]
    if not found:
        raise Failed(f"no '{column}' in the output of perftest")
    return found


def lines_of(out, what):
    """The rows of bench-sweep."""
    return [[int(m[1]), float(m[2])] for m in re.finditer(rf"^{what}_(\d+) ([\d.]+) ", out, re.MULTILINE)]


def perftest(run):
    """run: runs a perftest tool with options and returns its output."""
    latency = perftest_rows(run("ib_send_lat", "-a", "-n", "1000"), "t_typical")
    # The average, as GB/s.
    bandwidth = perftest_rows(run("ib_write_bw", "-a", "-n", "500", "--report_gbits"), "BW average")
    return latency, [[size, value / 8] for size, value in bandwidth]


def measurements(build, run, pair, ucx):
    """Yields (figure, series, function that returns rows) of one host. pair: runs a server and a client."""
    prog = os.path.join(build, "bench", "bench-sweep")
    done = {}

    def once(name, fn):
        if name not in done:
            done[name] = fn()
        return done[name]

    def both(series, name, fn):
        yield "latency", series, lambda: once(name, fn)[0]
        yield "bandwidth", series, lambda: once(name, fn)[1]

    def text(out):
        return lines_of(out, "lat"), lines_of(out, "bw")

    def by_ucx():
        lat, bw = [], []
        for size in SIZES:
            n = max(100, min(20000, (128 << 20) // size))
            lat.append([size, ucx("tag_lat", size, n)[1]])
            # UCX counts a MB as 2^20 bytes.
            bw.append([size, ucx("ucp_put_bw", size, n)[4] * (1 << 20) / 1e9])
        return lat, bw

    yield from both("ruse", "ruse", lambda: perftest(run))
    yield from both("UCX shared memory", "ucx", by_ucx)
    yield from both("TCP", "tcp", lambda: text(pair([prog, "listen", "{port}", "tcp"],
                                                    [prog, "connect", "127.0.0.1", "{port}", "tcp"])))
    yield from both("memcpy", "memcpy", lambda: text(pair(None, [prog, "memcpy"])))


def wire_measurements(wire):
    """The same between two hosts."""
    prog = os.path.join(wire.build, "bench", "bench-sweep")
    done = {}

    def plain(kind):
        if kind not in done:
            port = str(wire.next_port())
            done[kind] = wire.pair([prog, "listen", port, kind], [prog, "connect", ADDRESS["a"], port, kind], int(port),
                                   ("tcp",) if kind == "tcp" else ("udp",))[1]
        return done[kind]

    def ruse(n):
        if "ruse" not in done:
            done["ruse"] = perftest(lambda tool, *options: wire.perftest(tool, "-m", "4096", *options))
        return done["ruse"][n]

    yield "wire latency", "ruse", lambda: ruse(0)
    yield "wire latency", "TCP", lambda: lines_of(plain("tcp"), "lat")
    yield "wire latency", "UDP", lambda: lines_of(plain("udp"), "lat")
    yield "wire bandwidth", "ruse", lambda: ruse(1)
    yield "wire bandwidth", "TCP", lambda: lines_of(plain("tcp"), "bw")
    yield "wire bandwidth", "plain sockets, trains and ICRC", lambda: [
        [65536, wire.udp("recv", "send", "2", both=("roce",))["udp_roce"]]]

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cases that run between ruse and kernel rxe.

A case is a command line for the server and for the client, with

  {gid}     index of the side's own GID in the case's address family
  {port}    port of the TCP connection by which the two find each other
  {peer}    empty for the server; for the client the server's address
  {bin}     the directory of the system tests' programs
  {timeout} perftest's ACK timeout option: seconds while nothing is lost, as the
            emulated guest may pause for longer than the usual 67 ms

Each case runs in both directions and both address families unless it says otherwise.
"""
from dataclasses import dataclass, field

# Rules for `ruse fault add`, for the cases with `loss`. The seed is fixed.
FAULTS = {
    "1 % lost": ("drop 1%",),
    "3 % lost, some twice": ("drop 3%", "duplicate 2%"),
    "reordered and damaged": ("reorder 2%", "corrupt 1%"),
}
SEED = 4791
GROUPS = {4: ("::ffff:239.1.2.3", "239.1.2.3/32"), 6: ("ff0e::77:1", "ff0e::77:1/128")}
MTUS = (256, 512, 1024, 2048, 4096)


@dataclass
class Case:
    name: str
    cmd: str
    expect: str                  # a pattern in the client's output
    families: tuple = (4, 6)
    long: bool = False           # only with --long
    timeout: int = 60
    timers: bool = False         # its ACK timer may expire although nothing is lost
    leaves: bool = False         # may end while its messages are still in flight
    loss: bool = False           # also runs with packet loss
    server: str = ""             # the server's command if it differs from the client's
    env: dict = field(default_factory=dict)


def pingpong(tool, opts="", **kw):
    return Case(f"{tool} {opts}".strip(),
                f"ibv_{tool}_pingpong -d rxe_0 -g {{gid}} -p {{port}} {opts} {{peer}}",
                r"usec/iter", timers=True, **kw)


def perf(tool, opts, **kw):
    rc = "" if "-c U" in opts else "{timeout} "
    return Case(f"{tool} {opts}",
                f"ib_{tool} -d rxe_0 -x {{gid}} -F -p {{port}} {rc}{opts} {{peer}}",
                r"(?m)^ *\d+ +\d+ +[0-9.]+", **kw)


def pingpongs():
    yield pingpong("rc", "-c -n 100", loss=True)
    yield pingpong("rc", "-c -e -m 4096 -s 60001 -n 20")
    yield pingpong("rc", "-c -m 256 -s 9999 -n 20", loss=True)
    yield pingpong("uc", "-c -m 4096 -n 50")
    yield pingpong("uc", "-c -m 512 -s 3001 -n 50")
    yield pingpong("ud", "-c -n 50")
    yield pingpong("srq", "-c -q 8 -n 100 -r 200", leaves=True, loss=True)
    for m in MTUS:
        yield pingpong("rc", f"-c -m {m} -s 33333 -n 20", long=True, loss=m in (256, 4096))
        yield pingpong("uc", f"-c -m {m} -s 33333 -n 20", long=True)
        # The emulated guest takes milliseconds for a hundred packets, and the program's 67 ms ACK
        # timeout cannot be changed: keep the number of packets in flight the same for each MTU.
        yield pingpong("srq", f"-c -e -m {m} -s 10001 -q {min(m // 128, 16)} -n 100",
                       leaves=True, long=True)
    yield pingpong("ud", "-c -e -s 1 -n 50", long=True)
    yield pingpong("ud", "-c -s 4096 -n 50", long=True)


def perftests():
    # For UD and UC all receives are posted before the first message.
    for tool in ("send_bw", "write_bw", "read_bw"):
        for m in MTUS:
            yield perf(tool, f"-m {m} -s 50001 -n 10", families=(4,) if m != 1024 else (4, 6),
                       loss=m == 1024, long=m in (512, 2048) and tool != "send_bw")
            yield perf(tool, f"-m {m} -b -q 4 -s 50001 -n 10", long=True, timeout=180,
                       timers=True)
        # Not with packets of 256 bytes: 80 MB would take the guest minutes. A message of 8 MB may
        # take longer than kernel rxe's ACK timeout, which progress does not restart.
        yield perf(tool, "-m 4096 -a -n 5", long=True, timeout=600, timers=True)
    # More than a window: a READ is requested in parts, and lost parts again.
    yield perf("read_bw", "-m 4096 -s 400001 -n 8", loss=True)
    for tool in ("send_lat", "write_lat", "read_lat"):
        yield perf(tool, "-s 2 -n 50")
        yield perf(tool, "-s 4097 -m 1024 -n 20", families=(6,))
        yield perf(tool, "-a -m 4096 -n 5", long=True, timeout=600, timers=True)
    yield perf("send_bw", "-e -s 8192 -n 20")
    yield perf("send_bw", "--use-srq -q 4 -s 10000 -n 20")
    yield perf("write_bw", "-b -q 4 -s 10000 -n 10")
    yield perf("atomic_bw", "-A FETCH_AND_ADD -n 50", loss=True)
    yield perf("atomic_bw", "-A CMP_AND_SWAP -n 50", long=True)
    yield perf("atomic_lat", "-A FETCH_AND_ADD -n 50", long=True)
    yield perf("atomic_lat", "-A CMP_AND_SWAP -n 50")
    for m in MTUS:
        short = m == 1024
        yield perf("send_bw", f"-c UC -m {m} -s 9999 -n 50", long=not short)
        yield perf("write_bw", f"-c UC -m {m} -s 9999 -n 50", long=not short)
        yield perf("send_bw", f"-c UD -m {m} -s {m - 3} -n 100", long=not short)
        yield perf("send_lat", f"-c UC -m {m} -s {m + 1} -n 20", long=not short)
        yield perf("send_lat", f"-c UD -m {m} -s {m} -n 20", long=not short)
        yield perf("atomic_bw", f"-m {m} -A FETCH_AND_ADD -n 20", long=True)
        yield perf("write_lat", f"-c UC -m {m} -s {m - 1} -n 20", long=True)


def own():
    """Programs of the system tests that check every byte of each operation."""
    for limit in (9000, 200000):
        yield Case(f"verify {limit}", "{bin}/verify tcp {port} {peer}", "every byte right",
                   timeout=600, env={"VERIFY_MAX": str(limit)}, loss=limit == 9000,
                   long=limit > 9000, timers=True)


def all_cases():
    yield from pingpongs()
    yield from perftests()
    yield from own()

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The cases that run between ruse and kernel rxe.

A case is a command line for the server and for the client, with

  {gid}     index of the side's own GID in the case's address family
  {port}    port of the TCP connection by which the two find each other
  {peer}    empty for the server; for the client the server's address
  {bin}     the directory of the system tests' programs
  {timeout} perftest's ACK timeout option: seconds while nothing is lost, as the
            emulated guest may pause for longer than the usual 67 ms

Each case runs in both directions. The long form has all cases, in both address families unless the case says otherwise. The
short form has those with `short`: each operation of RC, UC and UD with checked data or segments, UD in both address
families, and with faults the programs that check every byte, request parts again and repeat atomics.
"""
from dataclasses import dataclass, field

# Rules for `ruse fault add`, for the cases with `loss`. The seed is fixed.
FAULTS = {
    "1 % lost": ("drop 1%",),           # in the long form only
    "3 % lost, some twice": ("drop 3%", "duplicate 2%"),
    "reordered and damaged": ("reorder 2%", "corrupt 1%"),
}
SEED = 4791
SHORT_FAULTS = ("3 % lost, some twice", "reordered and damaged")
GROUPS = {4: ("::ffff:239.1.2.3", "239.1.2.3/32"), 6: ("ff0e::77:1", "ff0e::77:1/128")}
MTUS = (256, 512, 1024, 2048, 4096)


@dataclass
class Case:
    name: str
    cmd: str
    expect: str                  # a pattern in the client's output
    families: tuple = (4, 6)     # in the long form
    short: tuple = ()            # address families in the short form
    timeout: int = 60
    timers: bool = False         # its ACK timer may expire although nothing is lost
    leaves: bool = False         # may end while its messages are still in flight
    loss: bool = False           # also runs with faults, in the long form
    short_loss: bool = False     # also in the short form, over the first of `families`
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
    yield pingpong("rc", "-c -e -m 4096 -s 60001 -n 20", short=(6,))
    yield pingpong("rc", "-c -m 256 -s 9999 -n 20", loss=True, short=(4,))
    yield pingpong("uc", "-c -m 4096 -n 50")
    yield pingpong("uc", "-c -m 512 -s 3001 -n 50", short=(4,))
    yield pingpong("ud", "-c -n 50", short=(4, 6))
    yield pingpong("srq", "-c -q 8 -n 100 -r 200", leaves=True, loss=True, short=(4,))
    for m in MTUS:
        yield pingpong("rc", f"-c -m {m} -s 33333 -n 20", loss=m in (256, 4096))
        yield pingpong("uc", f"-c -m {m} -s 33333 -n 20")
        # The emulated guest takes milliseconds for a hundred packets, and the program's 67 ms ACK
        # timeout cannot be changed: keep the number of packets in flight the same for each MTU.
        yield pingpong("srq", f"-c -e -m {m} -s 10001 -q {min(m // 128, 16)} -n 100", leaves=True)
    yield pingpong("ud", "-c -e -s 1 -n 50")
    yield pingpong("ud", "-c -s 4096 -n 50")


def perftests():
    # For UD and UC all receives are posted before the first message.
    for tool, short in (("send_bw", (4,)), ("write_bw", (6,)), ("read_bw", (4,))):
        for m in MTUS:
            yield perf(tool, f"-m {m} -s 50001 -n 10", families=(4,) if m != 1024 else (4, 6),
                       loss=m == 1024, short=short if m == 1024 else ())
            yield perf(tool, f"-m {m} -b -q 4 -s 50001 -n 10", timeout=180, timers=True)
        # Not with packets of 256 bytes: 80 MB would take the guest minutes. A message of 8 MB may
        # take longer than kernel rxe's ACK timeout, which progress does not restart.
        yield perf(tool, "-m 4096 -a -n 5", timeout=600, timers=True)
    # More than a window: a READ is requested in parts, and lost parts again.
    yield perf("read_bw", "-m 4096 -s 400001 -n 8", loss=True, short=(6,), short_loss=True)
    for tool in ("send_lat", "write_lat", "read_lat"):
        yield perf(tool, "-s 2 -n 50", short=(4,) if tool == "write_lat" else ())
        yield perf(tool, "-s 4097 -m 1024 -n 20", families=(6,))
        yield perf(tool, "-a -m 4096 -n 5", timeout=600, timers=True)
    yield perf("send_bw", "-e -s 8192 -n 20")
    yield perf("send_bw", "--use-srq -q 4 -s 10000 -n 20")
    yield perf("write_bw", "-b -q 4 -s 10000 -n 10", short=(4,))
    yield perf("atomic_bw", "-A FETCH_AND_ADD -n 50", loss=True, short=(4,), short_loss=True)
    yield perf("atomic_bw", "-A CMP_AND_SWAP -n 50")
    yield perf("atomic_lat", "-A FETCH_AND_ADD -n 50")
    yield perf("atomic_lat", "-A CMP_AND_SWAP -n 50", short=(6,))
    for m in MTUS:
        short = (4,) if m == 1024 else ()
        yield perf("send_bw", f"-c UC -m {m} -s 9999 -n 50", short=short)
        yield perf("write_bw", f"-c UC -m {m} -s 9999 -n 50", short=short)
        yield perf("send_bw", f"-c UD -m {m} -s {m - 3} -n 100", short=short)
        yield perf("send_lat", f"-c UC -m {m} -s {m + 1} -n 20")
        yield perf("send_lat", f"-c UD -m {m} -s {m} -n 20")
        yield perf("atomic_bw", f"-m {m} -A FETCH_AND_ADD -n 20")
        yield perf("write_lat", f"-c UC -m {m} -s {m - 1} -n 20")


def own():
    """Programs of the system tests that check every byte of each operation."""
    for limit in (9000, 200000):
        quick = limit == 9000
        yield Case(f"verify {limit}", "{bin}/verify tcp {port} {peer}", "every byte right",
                   timeout=600, env={"VERIFY_MAX": str(limit)}, loss=quick,
                   short=(6,) if quick else (), short_loss=quick, timers=True)


def all_cases():
    yield from pingpongs()
    yield from perftests()
    yield from own()

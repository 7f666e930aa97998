#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the commands of commands_*.c fail and compares what `ruse explain` says with commands.tsv.

commands.py PROGRAM RUSE

A row of the table: name, libibverbs function, errno, reason, and its text as a regular expression.
The failures in the log must be the rows, in their order: no command fails in silence, and none that
succeeds is logged. With --explain stderr has the first failure of each function and reason, and
nothing of a program that works.
"""
import errno
import json
import os
import re
import subprocess
import sys
import tempfile

import network

TIMEOUT = 120


def table():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "commands.tsv")
    with open(path, encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t") for line in f
                if line.strip() and not line.startswith("#")]


def run(ruse, *command, **environment):
    """(lines of stdout, stderr, failures)"""
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir, **environment)
        p = subprocess.run([ruse, "run", "--explain", *command], env=env, text=True, timeout=TIMEOUT,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if p.returncode:
            raise SystemExit(f"the program failed: {p.stdout}{p.stderr}")
        said = json.loads(subprocess.run([ruse, "explain", "--json"], env=env, text=True, check=True,
                                         stdout=subprocess.PIPE).stdout)
        subprocess.run([ruse, "stop", "--now"], env=env, check=True, stdout=subprocess.DEVNULL)
    failures = [f for q in said["processes"] for f in q["failures"] if f["kind"] == "command"]
    return p.stdout.splitlines(), p.stderr, failures


def compare(row, line, failure):
    """The differences, as lines."""
    name, call, error, reason, text = row
    number = getattr(errno, error)
    if line != f"{name} {number}":
        yield f"{name}: the program says '{line}', not {error} ({number})"
    for key, want in (("call", call), ("errno", number), ("name", reason)):
        if failure.get(key) != want:
            yield f"{name}: {key} is {failure.get(key)}, not {want}: {failure.get('text')}"
    if not re.fullmatch(text, failure.get("text", "")):
        yield f"{name}: {failure.get('id')} says: {failure.get('text')}"


def told(rows, err):
    """The differences between stderr and the rows."""
    want = {(call, reason) for _, call, _, reason, _ in rows}
    got = re.findall(r"^ruse: pid \d+: (RX-[0-9a-f]+): (ibv_\w+): .*; `ruse explain \1` says more$", err, re.M)
    if "libruse.so" in err:
        yield "a stack has frames of ruse"
    if not re.search(r"^\S*mistakes-commands\(", err, re.M):
        yield "no stack has a frame of the program"
    if len(set(got)) != len(got):
        yield "stderr repeats itself"
    if len(got) != len(want):
        yield f"stderr has {len(got)} failures, not {len(want)}"


# Arguments of the program: what its one command gives, RTR of a QP to another host or a stopped process.
WIRE = {
    "port": ("EADDRINUSE", "WIRE_PORT", r"UDP port 4791, by which 198\.51\.100\.9 would be reached, "
                                        r"cannot be used: Address already in use"),
    "route": ("ENETUNREACH", "WIRE_ROUTE", r"there is no way to 203\.0\.113\.7: Network is unreachable"),
    "mtu": ("EINVAL", "WIRE_MTU", r"path_mtu is 4096 bytes, and the interface of the device allows up to "
                                  r"1024"),
    "stopped": ("ETIMEDOUT", "QP_PEER_SILENT", r"the process that has QP 0x[0-9a-f]+ lives, and has not answered for 3\.0 s"),
}


# The same, where the interface has no IPv4 address.
IPV6_ONLY = {
    "no-ipv4": ("EINVAL", "DEST_NO_FAMILY", r"the destination GID 198\.51\.100\.9 and the source GID fe80:\S+, at index 0, are of "
                                            r"different address families; the port has no GID that fits"),
}


def one_command(program, ruse, cases):
    """The differences, as lines."""
    for name, (error, reason, text) in cases.items():
        lines, _, failures = run(ruse, program, name)
        failure = failures[0] if len(failures) == 1 else {}
        if (lines != [str(getattr(errno, error))] or failure.get("name") != reason or
                not re.fullmatch(text, failure["text"])):
            yield f"{name}: {lines} {failures}"


def wire(program, ruse):
    """The differences, as lines, on an interface with an MTU of 1500."""
    for command in ("link add r0 type veth peer name r1", "link set r0 up", "link set r1 up",
                    "addr add 198.51.100.1/24 dev r0"):
        subprocess.run(["ip", *command.split()], check=True)
    yield from one_command(program, ruse, WIRE)
    for command in ("del 198.51.100.1/24 dev r0", "add fd98::1/64 dev r0 nodad"):
        subprocess.run(["ip", "addr", *command.split()], check=True)
    yield from one_command(program, ruse, IPV6_ONLY)


# What fails when the queues of a process have the memory that they may have.
FULL = {"qp": "ibv_create_qp", "cq": "ibv_create_cq", "resize": "ibv_resize_cq", "srq": "ibv_create_srq"}


def full(program, ruse):
    """The differences, as lines, with room for queues of 4 MiB."""
    lines, _, failures = run(ruse, program, "full", RUSE_QUEUE_MEMORY="4M")
    row = ["ENOMEM", "QUEUE_MEMORY",
           r"a queue of \d+ bytes was to be created, and the queues of this process have \d+ of 4096 KiB"]
    if len(lines) != len(FULL) or len(failures) != len(FULL):
        yield f"full: {lines} {failures}"
        return
    for (name, call), line, failure in zip(FULL.items(), lines, failures):
        yield from compare([name, call, *row], line, failure)


def main():
    network.own()
    program, ruse = sys.argv[1:]
    rows = table()
    lines, err, failures = run(ruse, program)
    bad = []
    for i in range(max(len(rows), len(lines), len(failures))):
        row = rows[i] if i < len(rows) else ["no row", "", "EPERM", "", ""]
        line = lines[i] if i < len(lines) else ""
        failure = failures[i] if i < len(failures) else {}
        bad += compare(row, line, failure)
    bad += told(rows, err)
    _, err, failures = run(ruse, "ibv_devinfo", "-v")
    if err or failures:
        bad.append(f"ibv_devinfo -v works, but: {err}{failures}")
    bad += wire(program, ruse)
    bad += full(program, ruse)
    print("\n".join(bad[:40]))
    print(f"{len(rows)} commands, {len(bad)} differences")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

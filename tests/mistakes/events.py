#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Takes ports and devices away from a program, and compares what `ruse explain` says of the events.

events.py PROGRAM RUSE

Runs in a network namespace of its own. r0 is an end of a veth pair and has a device; on host H2 of
a fabric opensm runs.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import network

TIMEOUT = 120
# command, host of the fabric, number of the event, reason, part of its text
EVENTS = (
    ("ip link set r0 down", None, 10, "EVENT_PORT", "interface r0 is down"),
    ("ip link set r1 down", None, 10, "EVENT_PORT", "interface r0 has no carrier"),
    ("ip link del r0", None, 10, "EVENT_PORT", "interface r0 was removed"),
    ("rdma link delete $(rdma link | sed -n 's,^link \\([^/]*\\)/.*,\\1,p;q')", None, 8,
     "EVENT_DEVICE", r"the device \S+ was removed"),
    ("$RUSE fabric link down H1/1", "H1", 10, "EVENT_PORT_IB", r"the port of \S+ is no longer ACTIVE"),
    ("$RUSE fabric down", "H1", 8, "EVENT_DEVICE", r"the device \S+ was removed"),
)


def subnet(ruse, env):
    """Makes a fabric and returns its subnet manager when the ports are active."""
    subprocess.run([ruse, "fabric", "up", "--star", "2"], env=env, check=True,
                   stdout=subprocess.DEVNULL)
    # pylint: disable-next=consider-using-with
    sm = subprocess.Popen([ruse, "run", "--host", "H2", "opensm", "-f", "/dev/null"], env=env,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(TIMEOUT * 10):
        out = subprocess.run([ruse, "fabric", "show"], env=env, text=True, check=True,
                             stdout=subprocess.PIPE).stdout
        if re.search(r"^H1 +host +\S+ +\d+ +1 +1 +1 ", out, re.M):
            return sm
        time.sleep(0.1)
    sm.kill()
    raise SystemExit("no subnet")


def run(program, ruse, command, host):
    """(what the program prints, its failures)"""
    for line in ("ip link add r0 type veth peer name r1", "ip link set r1 up",
                 "ip link set r0 up", "ip addr add 10.77.0.1/24 dev r0"):
        subprocess.run(line.split(), check=True)
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir, RUSE=ruse, OSM_TMP_DIR=rundir, OSM_CACHE_DIR=rundir)
        network.allow_opensm(env)
        sm = subnet(ruse, env) if host else None
        p = subprocess.run([ruse, "run", *(["--host", host] if host else []), program, command],
                           env=env, text=True, timeout=TIMEOUT, stdout=subprocess.PIPE, check=False)
        said = json.loads(subprocess.run([ruse, "explain", "--json"], env=env, text=True, check=True,
                                         stdout=subprocess.PIPE).stdout)
        shown = subprocess.run([ruse, "explain"], env=env, text=True, check=True,
                               stdout=subprocess.PIPE).stdout
        if "asynchronous event PORT_ERR" not in shown and "event DEVICE_FATAL" not in shown:
            raise SystemExit(f"{command}: no event is named: {shown}")
        if sm:
            sm.kill()
            sm.wait(TIMEOUT)
        subprocess.run([ruse, "stop", "--now"], env=env, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ip", "link", "del", "r1"], check=False, stderr=subprocess.DEVNULL)
    return p.stdout, [f for q in said["processes"] if q["comm"].startswith("mistakes-event")
                      for f in q["failures"]]


def main():
    network.own()
    program, ruse = sys.argv[1:]
    bad = []
    for command, host, event, reason, text in EVENTS:
        out, failures = run(program, ruse, command, host)
        first = failures[0] if failures else {}
        if (len(failures) != 1 or first["name"] != reason or first.get("event") != event or
                not re.search(text, first["text"])):
            bad.append(f"{command}: the program prints '{out.strip()}'; {failures}")
    print("\n".join(bad) if bad else "ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

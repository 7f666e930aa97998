#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes each mistake of mad.c and compares what `ruse explain` says with mad.tsv.

mad.py PROGRAM RUSE [NAME...]

Runs in a network namespace of its own, with one RoCE device. fabric-* run on host H1 of a star of
three hosts without a subnet manager, subnet-* on one where it has ended.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import cm
import network

NETWORK = """
ip link set lo up
ip link add r0 type veth peer name r1
ip link set r1 up
ip link set r0 up
ip addr add 10.77.0.1/24 dev r0
"""


def rows():
    """{mistake: (line, reason, part of its text)}"""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mad.tsv")
    with open(path, encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return {line[0]: tuple(line[1:]) for line in lines}


def explained(ruse, env):
    """The failures of the program that has ended last."""
    said = json.loads(subprocess.run([ruse, "explain", "--json"], env=env, text=True, check=True,
                                     stdout=subprocess.PIPE).stdout)
    mine = [p for p in said["processes"] if p["comm"].startswith("mistakes-mad")]
    return mine[-1]["failures"] if mine else []


def tried(program, ruse, name, env, host):
    """(what the program prints, what it writes to stderr, its failures)"""
    p = subprocess.run([ruse, "run", "--explain", *host, program, name], env=env, text=True,
                       timeout=cm.TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       check=False)
    if p.returncode:
        raise SystemExit(f"{name}: failed: {p.stderr}")
    return p.stdout, p.stderr, explained(ruse, env)


def run(program, ruse, name):
    """tried() with a rused of its own"""
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir, MAD_REMOVE=f"{ruse} fabric down")
        quiet = {"env": env, "check": True, "stdout": subprocess.DEVNULL}
        host = []
        if name.startswith("fabric-"):
            subprocess.run([ruse, "fabric", "up", "--star", "3"], **quiet)
            host = ["--host", "H1"]
        result = tried(program, ruse, name, env, host)
        subprocess.run([ruse, "stop", "--now"], **quiet)
    return result


def lids(ruse, env):
    """{host: LID} of the hosts whose port is active"""
    out = subprocess.run([ruse, "fabric", "show"], env=env, text=True, check=True,
                         stdout=subprocess.PIPE).stdout
    rows_of_hosts = [line.split() for line in out.splitlines() if " host " in line]
    return {row[0]: row[3] for row in rows_of_hosts if row[6] == "1"}


def subnet(program, ruse, names):
    """
    The results of subnet-*, in turn, by name. opensm on H3 gives LIDs and an M_Key and ends. Then a
    cable is cut, mended, and the switch loses its tables. opensm, which works, must write no reason to
    stderr.
    """
    before = {
        "subnet-link-down": [["link", "down", "H2/1"]],
        "subnet-own-port": [["link", "down", "H1/1"], ["link", "up", "H1/1"]],
        "subnet-no-route": [["node", "off", "S1"], ["node", "on", "S1"]],
    }
    results = {}
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir, OSM_TMP_DIR=rundir, OSM_CACHE_DIR=rundir)
        network.allow_opensm(env)
        quiet = {"env": env, "check": True, "stdout": subprocess.DEVNULL}
        subprocess.run([ruse, "fabric", "up", "--star", "3"], **quiet)
        with open(f"{rundir}/conf", "w", encoding="utf-8") as f:
            f.write("m_key 0x1234567\nm_key_protection_level 2\nm_key_lease_period 0\n")
        with subprocess.Popen([ruse, "run", "--explain", "--host", "H3", "opensm",
                               "-F", f"{rundir}/conf", "-f", f"{rundir}/log"], env=env, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as sm:
            for _ in range(cm.TIMEOUT * 10):
                lid = lids(ruse, env)
                if len(lid) == 3:
                    break
                time.sleep(0.1)
            sm.kill()
            err = sm.communicate(timeout=cm.TIMEOUT)[1]
        if len(lid) != 3 or "RX-" in err:
            raise SystemExit(f"opensm: ports {lid}, {err}")
        env["MAD_LID"] = lid["H2"]
        for name in names:
            for command in before.get(name, []):
                subprocess.run([ruse, "fabric", *command], **quiet)
            results[name] = tried(program, ruse, name, env, ["--host", "H1"])
        subprocess.run([ruse, "stop", "--now"], **quiet)
    return results


def main():
    network.own()
    for command in NETWORK.strip().splitlines():
        subprocess.run(command.split(), check=True)
    program, ruse, *names = sys.argv[1:]
    wanted = rows()
    listed = subprocess.run([program, "--list"], text=True, check=True,
                            stdout=subprocess.PIPE).stdout.split()
    bad = [f"{name}: not in mad.tsv" for name in listed if name not in wanted]
    names = [name for name in names or listed if name in wanted]
    in_subnet = [name for name in names if name.startswith("subnet-")]
    results = subnet(program, ruse, in_subnet) if in_subnet else {}
    for name in names:
        bad += cm.compare(name, wanted[name], *(results.get(name) or run(program, ruse, name)))
    print("\n".join(bad) if bad else "ok")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

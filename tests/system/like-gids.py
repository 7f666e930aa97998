#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The GID tables of devices that are like an adapter, and traffic between RoCEv1 and RoCEv2 (doc/like.md).

like-gids.py RUSE PROGRAM DATA
like-gids.py RUSE --reports

For each adapter the table has the entries of its file, in sysfs, for `ibv_devinfo -v` and for each call that asks for
them. Each row of like-gids.tsv gives what PROGRAM, gid-types, prints, and the reasons. --reports gives r0 the addresses of
adapters that the public has reported; the tables must be the same.
"""
import glob
import ipaddress
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PORT = "/sys/class/infiniband/rxe_0/ports/1"
# Prints gids, gid_attrs/types and gid_attrs/ndevs, and the number of files of gids.
SYSFS = f"""cd {PORT} && for i in gids/*; do echo "$i"; done | wc -l
for i in gid_attrs/types/*; do i=${{i##*/}}; echo "$i|$(cat gids/$i)|$(cat gid_attrs/types/$i)|$(cat gid_attrs/ndevs/$i)"; done"""
# Of the table in doc/like.md: report, adapter, MAC address, addresses, and the lines of `ibv_devinfo -v`. Report P is of
# show_gids, which prints each GID as sysfs has it. D has the IPv4 address crossed out.
REPORTS = [
    ("A", "connectx-5", "b8:59:9f:fe:4d:50", ["10.7.159.71"],
     ["fe80:0000:0000:0000:ba59:9fff:fefe:4d50, RoCE v1", "fe80::ba59:9fff:fefe:4d50, RoCE v2",
      "0000:0000:0000:0000:0000:ffff:0a07:9f47, RoCE v1", "::ffff:10.7.159.71, RoCE v2"]),
    ("M", "connectx-6", "b8:59:9f:37:82:68", ["192.168.1.11"],
     ["fe80:0000:0000:0000:ba59:9fff:fe37:8268, RoCE v1", "fe80::ba59:9fff:fe37:8268, RoCE v2",
      "0000:0000:0000:0000:0000:ffff:c0a8:010b, RoCE v1", "::ffff:192.168.1.11, RoCE v2"]),
    ("P", "connectx-6", "c4:70:bd:aa:1f:c9", ["10.22.116.221", "10.22.116.222", "10.22.116.223"],
     ["fe80:0000:0000:0000:c670:bdff:feaa:1fc9 v1", "fe80:0000:0000:0000:c670:bdff:feaa:1fc9 v2",
      "0000:0000:0000:0000:0000:ffff:0a16:74dd v1", "0000:0000:0000:0000:0000:ffff:0a16:74dd v2",
      "0000:0000:0000:0000:0000:ffff:0a16:74de v1", "0000:0000:0000:0000:0000:ffff:0a16:74de v2",
      "0000:0000:0000:0000:0000:ffff:0a16:74df v1", "0000:0000:0000:0000:0000:ffff:0a16:74df v2"]),
    ("D", "e810", "6c:fe:54:3d:8a:39", ["192.0.2.1"],
     ["fe80::6efe:54ff:fe3d:8a39, RoCE v2", "::ffff:192.0.2.1, RoCE v2"]),
]
bad = []


def ruse(like, *command):
    """(stdout, names of the reasons)"""
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir)
        p = subprocess.run([sys.argv[1], "run", "--like", like, *command], env=env, text=True, timeout=200,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if p.returncode:
            bad.append(f"{like}: {' '.join(command)}: {p.stdout}{p.stderr}")
        said = json.loads(subprocess.run([sys.argv[1], "explain", "--json"], env=env, text=True, check=True, timeout=60,
                                         stdout=subprocess.PIPE).stdout)
        subprocess.run([sys.argv[1], "stop", "--now"], env=env, check=True, timeout=60, stdout=subprocess.DEVNULL)
    return p.stdout, {f["name"] for q in said["processes"] for f in q["failures"]}


def addresses():
    """Of r0, by the names in the files: link-local, IPv4, IPv6."""
    link = subprocess.run(["ip", "-j", "link", "show", "r0"], text=True, check=True, timeout=60, stdout=subprocess.PIPE)
    mac = bytes.fromhex(json.loads(link.stdout)[0]["address"].replace(":", ""))
    eui = bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]
    return {"link-local": ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + eui),
            "IPv4": ipaddress.IPv6Address("::ffff:198.51.100.1"), "IPv6": ipaddress.IPv6Address("fd98::1")}


def gid_text(a):
    """As in sysfs. (Python 3.13 writes a mapped IPv4 address with dots.)"""
    return a.packed.hex(":", 2)


def expect(like, what, got, want):
    if got != want:
        bad.append(f"{like}: {what}: {got}, not {want}")


def table(like, data):
    addr = addresses()
    want = [(addr[name.split()[0]], name.split()[1]) for name in data["gids"]["entries"]["value"]]
    size = data["fields"]["gid_tbl_len"]["value"]
    lines = ruse(like, sys.argv[2], "table")[0].splitlines()
    got = [(int(i), ipaddress.IPv6Address(a), t) for i, a, t in (line.split() for line in lines[:-1])]
    expect(like, "ibv_query_gid_table", got, [(i, a, t) for i, (a, t) in enumerate(want)])
    expect(like, "beyond the table", lines[-1], f"{size} entries, then EINVAL; the last: ENODATA")
    expect(like, "first_ipv4_v2", want[data["gids"]["first_ipv4_v2"]["value"]], (addr["IPv4"], "v2"))

    lines = ruse(like, "sh", "-c", SYSFS)[0].splitlines()
    expect(like, "files of gids", int(lines[0]), size)
    names = {"v1": "IB/RoCE v1", "v2": "RoCE v2"}
    expect(like, "sysfs", sorted(lines[1:]),
           sorted(f"{i}|{gid_text(a)}|{names[t]}|r0" for i, (a, t) in enumerate(want)))

    found = re.findall(r"GID\[ *(\d+)\]:\s+([0-9a-f:.]+), RoCE (v[12])", ruse(like, "ibv_devinfo", "-v")[0])
    expect(like, "ibv_devinfo", [(int(i), ipaddress.IPv6Address(a), t) for i, a, t in found],
           [(i, a, t) for i, (a, t) in enumerate(want)])
    print(f"ok: {like}: {len(want)} entries of {size}")


def report(name, like, mac, addrs, want):
    for command in ("link set r0 down", f"link set r0 address {mac}", "addr flush dev r0", "link set r0 up",
                    *(f"addr add {a}/24 dev r0" for a in addrs)):
        subprocess.run(["ip", *command.split()], check=True, timeout=60)
    if "RoCE" in want[0]:
        got = re.findall(r"GID\[ *\d+\]:\s+(.*)", ruse(like, "ibv_devinfo", "-v")[0])
    else:
        lines = sorted(ruse(like, "sh", "-c", SYSFS)[0].splitlines()[1:], key=lambda line: int(line.split("|")[0]))
        got = [f"{gid} {type_[-2:]}" for _, gid, type_, _ in (line.split("|") for line in lines)]
    expect(like, f"report {name}", got, want)


def reports():
    os.environ["RUSE_NETDEV"] = "r0"
    for row in REPORTS:
        report(*row)
    print("\n".join(bad) if bad else f"ok: {len(REPORTS)} reports")
    return bool(bad)


def main():
    if sys.argv[2] == "--reports":
        return reports()
    paths = sorted(glob.glob(os.path.join(sys.argv[3], "*.json")))
    for path in paths:
        with open(path, encoding="utf-8") as f:
            data = json.load(f)
        table(data["name"], data)
    with open(os.path.join(HERE, "like-gids.tsv"), encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    for like, case, text, *reasons in rows:
        out, told = ruse(like, sys.argv[2], *case.split())
        if not re.fullmatch(text, " ".join(out.split())):
            bad.append(f"{like}: {case}: {out}")
        expect(like, f"{case}: reasons", told, set(reasons))
    print("\n".join(bad) if bad else f"ok: {len(rows)} rows")
    return bool(bad) or not rows or len(paths) < 6


if __name__ == "__main__":
    sys.exit(main())

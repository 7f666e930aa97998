# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which destinations are refused: tests/system/destinations prints an errno for each command, source GID and destination
GID. The kernel's must be those of the table tests/system/destinations.tsv, and ruse's the same, or what the table's
last column says.

Without a kernel:  destinations.py PROGRAM IPV4 IPV6 PEER-IPV4 PEER-IPV6 PEER-LINK-LOCAL
runs the program, which finds ruse in its environment, and compares it with the table.
"""
import os
import subprocess
import sys

TABLE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../system/destinations.tsv")
# Destinations that are the same for every host.
FIXED = {
    "zero": "::", "zero4": "::ffff:0.0.0.0", "compat": "::192.168.77.1", "loop4": "::ffff:127.0.0.1",
    "loop6": "::1", "mcast4": "::ffff:239.1.2.3", "mcast6": "ff0e::77:1", "none6": "2001:db8::1",
    "bcast4": "::ffff:255.255.255.255",
}
KERNEL, RUSE = range(2)


def table():
    """{(command, source, destination): (errno of the kernel, errno of ruse)}, of those that are refused"""
    cells = {}
    with open(TABLE, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#"):
                continue
            commands, sources, targets, kernel, *ruse = line.split()
            for cell in ((c, s, t) for c in commands.split(",") for s in sources.split(",")
                         for t in targets.split(",")):
                cells[cell] = kernel, (ruse or [kernel])[0]
    return cells


def gids(out):
    """{GID: index} of the output of `ibv_devinfo -v`"""
    found = {}
    for line in out.splitlines():
        if "GID[" in line:
            found[line.split("]:")[1].split(",")[0].strip()] = \
                int(line.split("[")[1].split("]")[0])
    return found


def arguments(table_of_gids, own, peer):
    """Arguments of the program; own and peer: (IPv4 address, IPv6 address, link-local address)."""
    index = [table_of_gids[own[2]], table_of_gids[f"::ffff:{own[0]}"], table_of_gids[own[1]]]
    to = dict(FIXED)
    for whose, (v4, v6, link) in (("own", own), ("peer", peer)):
        to.update({f"{whose}-ll": link, f"{whose}4": f"::ffff:{v4}", f"{whose}6": v6})
    return [f"{k}@{v}" for k, v in zip(("ll", "v4", "v6"), index)] + \
           [f"{k}={v}" for k, v in to.items()]


def wrong(out, which):
    """The differences between the program's output and a column of the table, as lines."""
    want = table()
    got = {tuple(line.split()[:3]): line.split()[3] for line in out.splitlines()}
    lines = [f"{' '.join(cell)}: {errno}, not {want.get(cell, '00')[which]}"
             for cell, errno in sorted(got.items()) if errno != want.get(cell, "00")[which]]
    return lines + [f"{' '.join(cell)}: not tried" for cell in want if cell not in got]


def compare(suite, guest, here):
    """Both sides; called by run."""
    program = os.path.join(suite.args.build, "tests/system/destinations")
    found = {s: gids(s.run("ibv_devinfo -v -d rxe_0")[1]) for s in (guest, here)}
    own = {s: (s.ip4, s.ip6, list(found[s])[0]) for s in found}
    bad = []
    for side, peer, which in ((guest, here, KERNEL), (here, guest, RUSE)):
        args = arguments(found[side], own[side], own[peer])
        rc, out = side.run(f"{program} {' '.join(args)}")
        suite.note("".join(f"# {side.name} {line}\n" for line in out.splitlines()))
        if rc:
            raise suite.failed(f"{side.name}: status {rc}\n{out}")
        bad += [f"{side.name} {line}" for line in wrong(out, which)]
    if bad:
        raise suite.failed("\n".join(bad))


def main():
    program, v4, v6, *peer = sys.argv[1:]
    out = subprocess.run(["ibv_devinfo", "-v"], text=True, check=True, stdout=subprocess.PIPE).stdout
    found = gids(out)
    out = subprocess.run([program, *arguments(found, (v4, v6, list(found)[0]), peer)], text=True,
                         check=True, stdout=subprocess.PIPE).stdout
    bad = wrong(out, RUSE)
    print("\n".join(bad + [f"{len(out.splitlines())} cells, {len(bad)} differences"]))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

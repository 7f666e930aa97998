#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes mistakes with `rdma` of iproute2 and with RDMA netlink, and compares the reasons with
netlink.tsv: what the program prints, which is the extended acknowledgement, and `ruse explain`.

netlink.py RUSE [NAME...]
netlink.py --raw MESSAGE: sends a request; see raw()

Runs in a network namespace of its own with two interfaces, r0 and r1.
"""
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile

import network

TIMEOUT = 120
NETLINK_RDMA, NETLINK_EXT_ACK, SOL_NETLINK = 20, 11, 270
NLM_F_CAPPED, NLM_F_ACK_TLVS, NLMSGERR_ATTR_MSG = 0x100, 0x200, 1


def rows():
    """[(mistake, command, errno, reason, text)]"""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "netlink.tsv")
    with open(path, encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]


def raw(client, op, *attrs):
    """
    Sends a request with attributes TYPE=NUMBER and prints its errno and the text that comes with it.
    Without NETLINK_EXT_ACK the answer must end with the request.
    """
    dump = client == "--dump"
    if dump:
        client, op, *attrs = op, *attrs
    body = b"".join(struct.pack("=HHI", 8, int(a.split("=")[0]), int(a.split("=")[1]))
                    for a in attrs)
    request = struct.pack("=IHHII", 16 + len(body), int(client) << 10 | int(op), 0x301 if dump else 1, 7, 0) + body
    texts = []
    for ext_ack in 0, 1:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA) as s:
            s.setsockopt(SOL_NETLINK, NETLINK_EXT_ACK, ext_ack)
            s.send(request)
            answer = s.recv(8192)
        length, kind, flags = struct.unpack_from("=IHH", answer)
        error, echo = struct.unpack_from("=iI", answer, 16)
        if length != len(answer) or kind != 2:
            raise SystemExit(f"not an error: {answer!r}")
        at = 20 + (16 if flags & NLM_F_CAPPED else echo)
        texts.append("")
        while at < length:
            size, kind = struct.unpack_from("=HH", answer, at)
            if kind != NLMSGERR_ATTR_MSG:
                raise SystemExit(f"attribute {kind}")
            texts[-1] += answer[at + 4:at + size - 1].decode()
            at += size + 3 & ~3
        if bool(texts[-1]) != bool(ext_ack) or bool(flags & NLM_F_ACK_TLVS) != bool(ext_ack):
            raise SystemExit(f"NETLINK_EXT_ACK {ext_ack}: flags {flags:#x}, text '{texts[-1]}'")
    print(-error, texts[1])


def as_user(ruse, name, args, errno, reason, text, env):
    """The differences, as lines, of a mistake made without root."""
    script = '"$0" run "$@"; "$0" explain --json >&2; "$0" stop --now >&2'
    p = subprocess.run(["unshare", "-U", "--map-user=1000", "sh", "-c", script, ruse, *args], env=env,
                       text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    want = f'"name":"{reason}"', f'"errno":{errno}', text
    return [f"{name}: no {w}: {p.stdout}{p.stderr}" for w in want if w not in p.stderr]


def main():
    network.own()
    subprocess.run("ip link add r0 type veth peer name r1".split(), check=True)
    for name in "r0", "r1":
        subprocess.run(["ip", "link", "set", name, "up"], check=True)
    subprocess.run("ip addr add 10.77.0.1/24 dev r0".split(), check=True)
    ruse, *names = sys.argv[1:]
    bad = []
    for name, command, errno, reason, text in rows():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory() as rundir:
            env = dict(os.environ, RUSE_DIR=rundir)
            args = command.split()
            if args[0] == "user":
                bad += as_user(ruse, name, args[1:], errno, reason, text, env)
                continue
            if args[0] == "raw":
                args = [sys.executable, os.path.abspath(__file__), "--raw", *args[1:]]
            subprocess.run([ruse, "run", "rdma", "link", "add", "one", "type", "rxe", "netdev",
                            "r0"], env=env, check=False, stderr=subprocess.DEVNULL)
            dev = subprocess.run([ruse, "run", "rdma", "dev"], env=env, check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.split()[1].rstrip(":")
            p = subprocess.run([ruse, "run", "--explain", *[dev if a == "DEV" else a for a in args]],
                               env=env, text=True, timeout=TIMEOUT, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, check=False)
            said = json.loads(subprocess.run([ruse, "explain", "--json"], env=env, text=True,
                                             check=True, stdout=subprocess.PIPE).stdout)
            subprocess.run([ruse, "stop", "--now"], env=env, check=True, stdout=subprocess.DEVNULL)
        failures = said["processes"][-1]["failures"] if said["processes"] else []
        if [f["name"] for f in failures] != [reason] or failures[0]["errno"] != int(errno):
            bad.append(f"{name}: the reasons are {failures}; {p.stdout}{p.stderr}")
            continue
        if not re.search(text, failures[0]["text"]):
            bad.append(f"{name}: {reason} says: {failures[0]['text']}")
        plain = "".join(line for line in (p.stdout + p.stderr).splitlines() if "ruse: " not in line)
        if failures[0]["text"] not in plain:
            bad.append(f"{name}: the program does not say why: {p.stdout}{p.stderr}")
    print("\n".join(bad) if bad else "ok")
    return 1 if bad else 0


if __name__ == "__main__":
    if sys.argv[1] == "--raw":
        raw(*sys.argv[2:])
        sys.exit(0)
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A libibverbs that does not get the rxe provider lists no device, without a message. `ruse explain` says why, and
`ruse doctor` says so before, with a command that helps.

provider.py RUSE
provider.py --list FILE TIMES END: lists devices by this libibverbs, prints their number, and ends by END: exit or _exit

The copies are made from the installed libibverbs by changing strings of the same length.
"""
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile

TIMEOUT = 120
SONAME = b"\0libibverbs.so.1\0", b"\0libibverbx.so.1\0"
CONFIG = b"/libibverbs.d\0", b"/libibverbx.d\0"


def installed():
    ctypes.CDLL("libibverbs.so.1")
    with open("/proc/self/maps", encoding="utf-8") as f:
        return re.search(r"/\S*/libibverbs\.so\S*", f.read())[0]


def copy(path, *changes):
    with open(installed(), "rb") as f:
        data = f.read()
    for old, new in changes:
        if old not in data:
            raise SystemExit(f"{installed()} has no {old!r}")
        data = data.replace(old, new)
    with open(path, "wb") as f:
        f.write(data)
    return path


def list_devices(path, times, end):
    lib, n = ctypes.CDLL(path), ctypes.c_int()
    lib.ibv_get_device_list.restype = ctypes.c_void_p
    for _ in range(int(times)):
        lib.ibv_get_device_list(ctypes.byref(n))
    print(n.value, flush=True)
    if end == "_exit":
        os._exit(0)


def run(ruse, env, *args):
    return subprocess.run([ruse, *args], env=env, text=True, check=False, timeout=TIMEOUT, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def main():
    ruse, bad = sys.argv[1], []
    with tempfile.TemporaryDirectory() as tmp:
        none = copy(f"{tmp}/libibverbs-0none000.so.1", CONFIG)
        other = copy(f"{tmp}/libibverbs-0other00.so.1", SONAME)
        both = copy(f"{tmp}/libibverbs-0both000.so.1", SONAME, CONFIG)
        for path, times, end, devices, reason in (
                ("libibverbs.so.1", "1", "exit", "1", None), ("libibverbs.so.1", "2", "_exit", "1", None),
                (none, "1", "exit", "0", "PROVIDER_NONE"), (none, "2", "_exit", "0", None),
                (none, "3", "exit", "0", "PROVIDER_NONE"), (other, "1", "exit", "0", "PROVIDER_OTHER"),
                (both, "1", "exit", "0", "PROVIDER_NONE")):
            with tempfile.TemporaryDirectory() as rundir:
                env = dict(os.environ, RUSE_DIR=rundir)
                p = run(ruse, env, "run", "--explain", sys.executable, os.path.abspath(__file__), "--list", path, times, end)
                said = json.loads(run(ruse, env, "explain", "--json").stdout)
                run(ruse, env, "stop", "--now")
            what = f"{path} {times} {end}"
            failures = [f for q in said["processes"] for f in q["failures"]]
            if p.stdout != devices + "\n":
                bad.append(f"{what}: not {devices} devices: {p.stdout}{p.stderr}")
            if [(f["name"], f["count"]) for f in failures] != ([(reason, 1)] if reason else []):
                bad.append(f"{what}: not {reason}: {failures}")
            if reason and ": ibv_get_device_list: " not in p.stderr:
                bad.append(f"{what}: the program does not say so: {p.stderr}")
        # What `ruse doctor` prints helps.
        for path in none, other, both:
            with tempfile.TemporaryDirectory() as rundir:
                env = dict(os.environ, RUSE_DIR=rundir)
                p = run(ruse, env, "doctor", path)
                helps = dict(re.findall(r"\b(LD_PRELOAD|IBV_DRIVERS)=(\S+)", p.stdout))
                q = run(ruse, dict(env, **helps), "run", sys.executable, os.path.abspath(__file__), "--list", path, "1", "exit")
                run(ruse, env, "stop", "--now")
            if "built without libelf" in p.stdout:
                continue
            if p.returncode != 1 or not helps or q.stdout != "1\n":
                bad.append(f"{path}: {helps} does not help: {p.stdout}{q.stdout}{q.stderr}")
    print("\n".join(bad) if bad else "ok")
    return bool(bad)


if __name__ == "__main__":
    if sys.argv[1] == "--list":
        list_devices(*sys.argv[2:])
        sys.exit(0)
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The lines of a Python program in the stacks of `ruse run --explain`.

frames_python.py RUSE

The program is this file, too (frames_python.py program). One call fails with the interpreter's lock held, one without
it, one in a thread. A Python that does not export _Py_DumpTraceback() gives its native frames only.
"""
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
import threading

import network

TIMEOUT = 60
EXPORTED = any(hasattr(ctypes.pythonapi, name) for name in ("_Py_DumpTraceback", "PyUnstable_DumpTraceback"))
# Call and function. The line of a function has a comment that names it.
CALLS = (("ibv_reg_mr", "locked"), ("ibv_create_cq", "unlocked"), ("ibv_create_srq", "in_thread"))


def program():
    """Three calls that fail, by ctypes: PyDLL() keeps the interpreter's lock during a call, CDLL() releases it."""
    keeps, releases = ctypes.PyDLL("libibverbs.so.1"), ctypes.CDLL("libibverbs.so.1")
    for lib in (keeps, releases):
        for name in ("ibv_get_device_list", "ibv_open_device", "ibv_alloc_pd", "ibv_reg_mr", "ibv_create_cq",
                     "ibv_create_srq"):
            getattr(lib, name).restype = ctypes.c_void_p
    pointer = ctypes.c_void_p
    devices = ctypes.cast(releases.ibv_get_device_list(None), ctypes.POINTER(pointer))
    ctx = pointer(releases.ibv_open_device(pointer(devices[0])))
    pd = pointer(releases.ibv_alloc_pd(ctx))

    def locked():
        return keeps.ibv_reg_mr(pd, pointer(4096), ctypes.c_size_t(4096), 0)  # line of locked

    def unlocked():
        return releases.ibv_create_cq(ctx, 1 << 30, None, None, 0)  # line of unlocked

    def in_thread():
        attr = (ctypes.c_uint32 * 8)(0, 0, 1 << 30, 1, 0)
        return releases.ibv_create_srq(pd, attr)  # line of in_thread

    def call(function):
        failed.append(function() is None)  # line of call

    failed = []
    call(locked)
    call(unlocked)
    thread = threading.Thread(target=call, args=(in_thread,))
    thread.start()
    thread.join()
    return failed != [True] * 3


def lines():
    """{function: its line}"""
    with open(__file__, encoding="utf-8") as f:
        return {m.group(1): n for n, text in enumerate(f, 1) if (m := re.search(r"# line of (\w+)$", text))}


def wrong(failure, function, where):
    """The differences of a failure, as lines."""
    stack = failure.get("stack", [])
    python = [(s["function"], s["file"], s["line"]) for s in stack if "module" not in s]
    want = [(name, os.path.realpath(__file__), where[name]) for name in (function, "call")] if EXPORTED else []
    if python[:2] != want:
        yield f"{function}: {stack}"
    if any("offset" not in s for s in stack if "module" in s) or not any("module" in s for s in stack):
        yield f"{function}: native frames: {stack}"
    if EXPORTED and any(os.path.realpath(s["module"]) == os.path.realpath(sys.executable) or "libpython" in s["module"]
                        for s in stack if "module" in s):
        yield f"{function}: frames of the interpreter: {stack}"


def main():
    network.own()
    ruse, where, bad = sys.argv[1], lines(), []
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir)

        def run(*command):
            return subprocess.run(command, env=env, text=True, timeout=TIMEOUT, check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        err = run(ruse, "run", "--explain", sys.executable, os.path.realpath(__file__), "program").stderr
        said = json.loads(run(ruse, "explain", "--json").stdout)
        found = {f["call"]: f for f in said["processes"][-1]["failures"] if f["kind"] == "command"}
        if set(found) != {name for name, _ in CALLS}:
            bad.append(f"{found}")
        text = run(ruse, "explain").stdout
        for name, function in CALLS:
            bad += wrong(found.get(name, {}), function, where)
            if not EXPORTED:
                continue
            if f"    at {function} ({os.path.realpath(__file__)}:{where[function]})\n" not in text:
                bad.append(f"{function} is not in {text}")
            if f'  File "{os.path.realpath(__file__)}", line {where[function]} in {function}\n' not in err:
                bad.append(f"{function} is not in {err}")
        run(ruse, "run", sys.executable, os.path.realpath(__file__), "program")
        said = json.loads(run(ruse, "explain", "--json").stdout)
        if any("stack" in f for f in said["processes"][-1]["failures"]):
            bad.append("a stack without --explain")
        run(ruse, "stop", "--now")
    print("\n".join(bad) if bad else "ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(program() if sys.argv[1] == "program" else main())

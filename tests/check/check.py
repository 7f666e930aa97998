#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `ruse run --check` finds in programs that are wrong, and not in the corrected ones.

check.py PROGRAM RUSE shm|udp [CASE]

check.tsv has the cases. A wrong program gives its finding alone, with the line of the post if there is one, in each of CHECK_ROUNDS runs
(1). One that looks at data too early ends with status EARLY. With CHECK_SANITIZED=1 the cases of freed memory are left out: the sanitizer's
allocator comes before that of ruse, and stops a program that uses freed memory by itself.
"""
import concurrent.futures
import ctypes
import errno
import glob
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../mistakes"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../system"))
import network  # noqa: E402
import report_check  # noqa: E402

ROUNDS = int(os.environ.get("CHECK_ROUNDS", "1"))
TIMEOUT = 60
AT_ONCE = 3  # runs; each mostly waits
SANITIZED = os.environ.get("CHECK_SANITIZED") == "1"
HERE = os.path.dirname(os.path.abspath(__file__))
FOUND = 98
EARLY = 3


def cases():
    """(case, name of the finding)"""
    with open(os.path.join(HERE, "check.tsv"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                yield line.rstrip("\n").split("\t")


def lines():
    """{case: (file, line of the call that is told)}"""
    where = {}
    for path in glob.glob(os.path.join(HERE, "*.c")):
        with open(path, encoding="utf-8") as f:
            for n, text in enumerate(f, 1):
                if m := re.search(r"[;)] /\* ([a-z -]+) \*/$", text):
                    where.update({case: (os.path.basename(path), n) for case in m[1].split()})
    return where


def judge(case, name, where, how, run, found):
    """The differences of a run, as lines."""
    kinds = ["hint"] if name.startswith("HINT_") else ["check"]
    wrong = how == "wrong"
    status = FOUND if wrong and kinds == ["check"] else 0
    if wrong and name == "early":
        status, wrong = EARLY, False
        found = [f for f in found if f["name"] != "HINT_LEFT"]
    if run.returncode != status:
        yield f"exit status {run.returncode} instead of {status}: {run.stderr}"
    names = [f["name"] for f in found]
    if names != ([name] if wrong else []):
        yield f"{names} instead of {[name] if wrong else []}: {run.stderr}"
    elif wrong and case not in where:
        if "stack" in found[0]:
            yield f"a stack: {found[0]}"
    elif wrong:
        frame = found[0].get("stack", [{}])[0]
        if (os.path.basename(frame.get("file", "")), frame.get("line")) != where[case]:
            yield f"not posted at {where[case]}: {found[0].get('stack')}"
        if [f["kind"] for f in found] != kinds or found[0]["id"] not in run.stderr:
            yield f"{found}: {run.stderr}"


def suppressed(ruse, program, env, case, rundir):
    """A wrong program without its finding: by its id, and by a file in its stack; not by another one."""
    path = os.path.join(rundir, f"{case}.suppressions")
    base = os.path.basename(program)
    for line, status in ((f"* library {base}", 0), ("CK-101\n* function none", FOUND)):
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"# {case}\n\n{line}\n")
        run = subprocess.run([ruse, "run", f"--check=suppressions={path}", program, case, "wrong"], env=env, text=True,
                             timeout=TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if run.returncode != status or ("CK-0" in run.stderr) != bool(status):
            yield f"{case}: suppressed by {line}: {run.returncode}: {run.stderr}"


def combined(ruse, program, env, case, rundir):
    """--check beside conditions: exit status, summary, JUnit and log of one run."""
    summary, junit, log = (os.path.join(rundir, name) for name in ("summary", "junit", "log"))
    for how, options, status in (("wrong", [], FOUND), ("right", [], 0), ("wrong", ["--fail-status", "7"], 7),
                                 ("right", ["--fail-status", "7"], 0), ("wrong", ["--expect", "processes>=9"], 99),
                                 ("right", ["--expect", "processes>=9"], 99)):
        run = subprocess.run([ruse, "run", f"--check=log={log}", "--strict", "--summary", f"--summary={summary}",
                              "--junit", junit, *options, program, case, how], env=env, text=True, timeout=TIMEOUT,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        with open(summary, encoding="utf-8") as f:
            told = json.load(f)
        yield from report_check.unlike_schema(told)
        with open(log, encoding="utf-8") as f:
            names = [json.loads(line)["name"] for line in f]
        with open(junit, encoding="utf-8") as f:
            failures = f.read().count("<failure")
        wrong = how == "wrong"
        want = (status, wrong, ["CHECK_CHANGED"] * wrong, wrong + (status == 99), wrong)
        have = (run.returncode, told["total"]["findings"], names, failures, bool(re.search("misuse +1", run.stderr)))
        if want != have or [f["name"] for f in told["findings"]] != names:
            yield f"{case} {how} {options}: {have} instead of {want}: {run.stderr}"


def forbid():
    """This process, and what it executes, may not use perf_event_open()."""
    number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
    code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, number, 6, 0, 0, 0x50000 | errno.EPERM, 6, 0, 0, 0x7fff0000)
    data = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", 4, ctypes.addressof(data))
    libc = ctypes.CDLL(None)
    assert not libc.prctl(38, 1, 0, 0, 0) and not libc.prctl(22, 2, program, 0, 0)


def located(ruse, program, env, case, where, log, before):
    """The store that changes a buffer, or why it is not known."""
    for how in ("wrong", "right"):
        run = subprocess.run([ruse, "run", f"--check=locate,log={log}", program, case, how], env=env, text=True,
                             timeout=TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, preexec_fn=before)
        with open(log, encoding="utf-8") as f:
            found = {f["name"]: f for f in map(json.loads, f)}
        told = "cannot be located: perf_event_open" in run.stderr
        change = "CHECK_WRITTEN" if case == "store-target" else "CHECK_CHANGED"
        names = [] if how == "right" else [change] if told else [change, "CHECK_STORE"]
        if sorted(found) != sorted(names) or run.returncode != (FOUND if names else 0):
            yield f"{case} {how}: {sorted(found)} instead of {names}: {run.returncode}: {run.stderr}"
        elif before and told != bool(names):
            yield f"{case} {how}: {run.stderr}"
        elif "CHECK_STORE" in names:
            stack = [(os.path.basename(f.get("file", "")), f.get("line")) for f in found["CHECK_STORE"].get("stack", [])]
            if where[case] not in stack:
                yield f"{case}: no store at {where[case]}: {stack}"


def tried(ruse, program, env, case, name, where, rundir, first):
    """All runs of a case; first: of its finding."""
    log, bad = os.path.join(rundir, f"{case}.findings"), []
    if name == "CHECK_STORE":
        for before in [None] * ROUNDS + [forbid]:
            bad += located(ruse, program, env, case, where, log, before)
        return bad
    if first and name.startswith("CHECK_") and not name.startswith("CHECK_ACK") and case in where:
        bad += suppressed(ruse, program, env, case, rundir)
    for how in (["right"] if name == "lawful" else ["wrong", "right"]) * ROUNDS:
        run = subprocess.run([ruse, "run", f"--check=hints,poison,log={log}", program, case, how], env=env, text=True,
                             timeout=TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        with open(log, encoding="utf-8") as f:
            found = [json.loads(line) for line in f]
        bad += [f"{case} {how}: {b}" for b in judge(case, name, where, how, run, found)]
    return bad


def main():
    network.own()
    program, ruse, link = sys.argv[1:4]
    where, bad, runs, names = lines(), [], [], set()
    with tempfile.TemporaryDirectory() as rundir, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        env = dict(os.environ, RUSE_DIR=rundir)
        if link == "udp":
            env["RUSE_LINK"] = "udp"
        if not sys.argv[4:]:
            runs.append(pool.submit(lambda: list(combined(ruse, program, env, "send-changed", rundir))))
        for case, name in cases():
            if (sys.argv[4:] and case not in sys.argv[4:]) or (SANITIZED and case.startswith("freed-")):
                continue
            runs.append(pool.submit(tried, ruse, program, env, case, name, where, rundir, name not in names))
            names.add(name)
        for run in runs:
            bad += run.result()
        subprocess.run([ruse, "stop", "--now"], env=env, timeout=TIMEOUT, check=False, stdout=subprocess.DEVNULL)
    print("\n".join(bad) if bad else "ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

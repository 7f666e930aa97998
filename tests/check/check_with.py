#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Misuse is found by `ruse run --check` also together with other features of ruse, and nothing else is.

check_with.py PROGRAM RUSE

Each row of WITH is rules of `ruse fault`, and options. CHECK_LONG=1: with each case of CASES, on shm and by UDP; else with one of them, in turns.
In a fabric the two processes are on two hosts.
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../mistakes"))
import network  # noqa: E402

TIMEOUT = 60
FOUND = 98
EARLY = 3
LONG = bool(os.environ.get("CHECK_LONG"))
# Findings of the wrong program, hints aside; None: it ends with status EARLY.
CASES = {
    "send-changed": ["CHECK_CHANGED"],
    "read-early": None,
    "put-list": ["CHECK_CHANGED"],
    "get-store": ["CHECK_WRITTEN"],
    "mr-ended": ["CHECK_MR_ENDED"],
    "recv-early": None,
    "atomic-early": None,
    "put-extended": ["CHECK_CHANGED"],
    "unsignaled": ["CHECK_UNSIGNALED"],
    "get-first-of-two": None,
    "fork-parent": ["CHECK_CHANGED"],
    "store-here": ["CHECK_CHANGED"],
}
LAWFUL = ("read-again", "recv-again", "recv-written", "get-get", "fop-fop", "put-refused", "read-forked")
WORDS = ("poison", "locate", "hints", "hints,poison,locate")
WITH = [
    ([], ["--explain"]),
    ([], ["--like", "e810"]),
    ([], ["--like", "strictest"]),
    ([], ["--no-direct"]),
    ([], ["--no-poll-wrap"]),
    ([], ["--strict", "--summary"]),
    (["drop every 3 service RC"], []),
    (["delay 2ms jitter 1ms"], ["--explain"]),
    (["duplicate 2"], []),
    (["drop every 5", "duplicate 1", "reorder 2"], ["--like", "strictest"]),
    (["hold completions 5ms"], ["--explain"]),
    (["fail query_device errno ENOMEM nth 1000"], ["--like", "e810"]),
]
bad = []


class Here:
    """A run directory with a rused of its own."""

    def __init__(self, ruse, program, rundir, **env):
        self.ruse, self.program = ruse, program
        self.env = dict(os.environ, RUSE_DIR=rundir, **env)
        self.log = os.path.join(rundir, "findings")

    def command(self, *words):
        return subprocess.run([self.ruse, *words], env=self.env, text=True, timeout=TIMEOUT, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout

    def run(self, words, options, case, how, env=()):
        run = subprocess.run([self.ruse, "run", f"--check={words},log={self.log}", *options, self.program, case, how],
                             env=dict(self.env, **dict(env)), text=True, timeout=TIMEOUT, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(self.log, encoding="utf-8") as f:
            names = sorted(json.loads(line)["name"] for line in f)
        return run, names

    def end(self):
        subprocess.run([self.ruse, "stop", "--now"], env=self.env, timeout=TIMEOUT, check=False, stdout=subprocess.DEVNULL)


def expected(words, options, case, how):
    """Status and findings. Hints may be there or not, but those of the case, and nothing is hinted at for a right one."""
    if how == "right" or case in LAWFUL:
        return 0, []
    if CASES[case] is None:
        return EARLY, []
    names = [n for n in CASES[case] if "hints" in words or not n.startswith("HINT_")]
    if case == "unsignaled" and "--like" in options:
        return None, []  # refused, and told as RX-1c3
    return FOUND * any(n.startswith("CHECK_") for n in names), names


def judge(what, here, words, options, case, how, env=()):
    status, want = expected(words, options, case, how)
    try:
        run, names = here.run(words, options, case, how, env)
    except subprocess.TimeoutExpired:
        bad.append(f"{what}: {case} {how}: hangs")
        return
    names = [n for n in names if n != "HINT_LEFT" and n != "CHECK_STORE"]
    if status == EARLY and "--strict" in options and run.returncode == EARLY:
        return
    if names != want or (status is not None and run.returncode != status):
        bad.append(f"{what}: {case} {how}: status {run.returncode}, {names} instead of {status}, {want}: {run.stderr[-3000:]}")


def combinations():
    """(rules, words, options, cases); in the short form each with one case, in turns."""
    names = list(CASES)
    for n, words in enumerate(WORDS):
        yield [], words, [], names if LONG else names[n:n + 1]
    for n, (rules, options) in enumerate(WITH):
        yield rules, WORDS[n % len(WORDS)], options, names if LONG else [names[(4 + n) % len(names)]]
        if LONG:
            yield rules, WORDS[-1], options, names


def prepare(here, rules, options):
    """A rused that is like the adapter, and has the rules."""
    if "--like" in options:
        here.end()
        here.command("run", *options, here.program, "read-again", "right")
    for rule in rules:
        here.command("fault", "add", *rule.split())


def with_link(ruse, program, link):
    n = 0
    with tempfile.TemporaryDirectory() as rundir:
        here = Here(ruse, program, rundir, **({"RUSE_LINK": "udp"} if link == "udp" else {}))
        for rules, words, options, cases in combinations():
            what = f"{link}: {rules} {words} {options}"
            prepare(here, rules, options)
            for case in cases:
                # A READ or a receive that is used too early is only seen if the program polls the memory.
                use = words if case != "recv-early" else words + ",poison"
                for how in ("wrong", "right"):
                    judge(what, here, use, options, case, how)
                    n += 1
            for case in LAWFUL if LONG else LAWFUL[n % len(LAWFUL)::len(LAWFUL)] if rules else ():
                judge(what, here, words, options, case, "right")
                n += 1
            if "--like" in options:
                here.end()
            elif rules:
                here.command("fault", "del", "all")
        here.end()
    return n


def with_errors(ruse, program):
    """Requests and calls that fail by a rule: the program ends, and no misuse is found."""
    rules = ("complete LOC_PROT_ERR op SEND", "complete RETRY_EXC_ERR op WRITE", "complete REM_OP_ERR op READ",
             "fail post_send errno ENOMEM", "fail create_cq errno ENOMEM", "fail reg_mr errno ENOMEM", "fail modify_qp errno EINVAL nth 3")
    with tempfile.TemporaryDirectory() as rundir:
        here = Here(ruse, program, rundir)
        for rule in rules:
            here.command("fault", "add", *rule.split())
            for case in ("send-changed", "put-list", "get-store") if LONG else ("send-changed",):
                for how in ("wrong", "right") if LONG else ("wrong",):
                    run, names = here.run("poison,locate", [], case, how)
                    touched = not (" op " in rule) or {"send-changed": "SEND", "put-list": "WRITE", "get-store": "READ"}[case] in rule
                    if touched and (names or not run.returncode or run.returncode == FOUND):
                        bad.append(f"{rule}: {case} {how}: {run.returncode}, {names}: {run.stderr}")
                    if not touched and run.returncode != (FOUND if how == "wrong" else 0):
                        bad.append(f"{rule}: {case} {how}: {run.returncode}, {names}: {run.stderr}")
            here.command("fault", "del", "all")
        here.end()
    return len(rules) * (6 if LONG else 1)


def with_fabric(ruse, program):
    if not shutil.which("opensm"):
        print("# there is no opensm here")
        return 0
    cases = list(CASES) if LONG else ["send-changed", "get-store"]
    with tempfile.TemporaryDirectory() as rundir:
        here = Here(ruse, program, rundir)
        here.command("fabric", "up", "--star", "2", "--sm")
        for case in [*cases, *(LAWFUL if LONG else LAWFUL[:2])]:
            for how in ("wrong", "right") if case in CASES else ("right",):
                judge("fabric", here, "hints,poison", ["--host", "H1"], case, how, {"CHECK_PEER": "H2"})
        here.command("fabric", "down", "--kill")
        here.end()
    return 2 * len(cases)


def main():
    network.own()
    program, ruse = sys.argv[1:3]
    # Each has a rused of its own, and mostly waits.
    with concurrent.futures.ThreadPoolExecutor() as pool:
        runs = [pool.submit(with_link, ruse, program, "shm"), pool.submit(with_errors, ruse, program),
                pool.submit(with_fabric, ruse, program)]
        n = sum(run.result() for run in runs)
    if LONG:
        n += with_link(ruse, program, "udp")
    print("\n".join(bad) if bad else f"ok: {n} runs")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`ruse shake` finds why programs are wrong that a desk does not show, and finds nothing in the corrected ones.

shake.py PROGRAM RUSE short|long [CASE...]

shake.tsv has the cases. The wrong program passes in each run without decisions, fails with one of SEEDS seeds, again in most of the
repetitions with one decision alone, which is of the case's kind, and in none without it. The corrected one passes with all seeds.
The short form uses the case's kind alone, and begins with a seed that takes decisions; the long form uses the kinds that are on by
default, and begins with seed 1. Seeds are those of a program that is started as `shake-programs`, without its path.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../mistakes"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../system"))
import network  # noqa: E402
import report_check  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
AT_A_TIME = 4
SEEDS = 50
RELIED = 3		# exit status of a program that has relied on what was not so
FAILED = 99		# of `ruse shake`
# form: runs without decisions, repetitions of a failure, those that must fail again, seeds of the corrected program
FORMS = {"short": (0, 2, 2, 2), "long": (200, 10, 8, 500)}


def cases():
    """(case, kind, seeds of the wrong and the corrected program, "-": no decision can be taken)"""
    with open(os.path.join(HERE, "shake.tsv"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                yield line.rstrip("\n").split("\t")


class Case:
    def __init__(self, program, ruse, form, case, place):
        self.program, self.ruse, self.place = program, ruse, place
        self.name, self.kind, wrong, right = case
        self.untouched = right == "-"
        self.none, self.repeat, self.again, self.seeds = FORMS[form]
        self.kinds, self.first, self.first_right = [], 1, 1
        if form == "short":
            self.kinds, self.first = ["--kinds", self.kind], int(wrong)
            self.first_right = 1 if self.untouched else int(right)
        self.bad = []

    def run(self, *words):
        # Status and output do not depend on the time that it takes.
        return subprocess.run([self.ruse, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              stdin=subprocess.DEVNULL)

    def fault(self, what, run):
        self.bad.append(f"{self.name}: {what}; status {run.returncode}:\n{run.stdout}")

    def without(self):
        """The wrong program without decisions."""
        for _ in range(self.none):
            run = self.run("run", "--own", "--shake=1", "--shake-only", "none", "--", self.program, self.name, "wrong")
            if run.returncode:
                self.fault("fails without decisions", run)
                return

    def wrong(self):
        """A wait of 2 ms is not seen in each run of a loaded machine: a later seed has a longer one."""
        first = self.first
        while first <= SEEDS:
            run = self.run("shake", "-n", str(SEEDS + 1 - first), "--seed", str(first), "--stop", "--repeat", str(self.repeat),
                           *self.kinds, "-o", self.place, "--", self.program, self.name, "wrong")
            seed = re.search(rf"^seed (\d+) fails: exit status {RELIED}$", run.stdout, re.M)
            if run.returncode != FAILED or not seed:
                self.fault("no seed fails, or none often enough", run)
                return
            alone = re.search(r"^This decision alone is enough:\n.*\n +at (\w+)@(?:.*\n)*?  fails (\d+) of \d+; without it (\d+) of",
                              run.stdout, re.M)
            if alone and (alone[1] != self.kind or int(alone[3])):
                self.fault(f"not of the kind {self.kind}, or without it as well", run)
                return
            if alone and int(alone[2]) >= self.again:
                self.repeated(run)
                return
            first = int(seed[1]) + 1
        self.fault("no decision alone is enough, often enough", run)

    def repeated(self, run):
        """The command that was told repeats the failure, and the files are there."""
        command = re.search(r"^again: ruse (run .*)$", run.stdout, re.M)
        kept = re.search(r"^kept: (\S+):", run.stdout, re.M)
        again = run
        for _ in range(3):
            if command and again.returncode != RELIED:
                again = self.run(*command[1].split())
        if again.returncode != RELIED:
            self.fault("the command does not repeat the failure", again)
        if not kept or not {"output", "run.json"} <= set(os.listdir(kept[1])):
            self.fault("no files are kept", run)
            return
        with open(os.path.join(kept[1], "run.json"), encoding="utf-8") as f:
            summary = json.load(f)
        bad = report_check.check_json(f.name)
        if bad or "seed" not in summary or not summary["decisions"]:
            self.fault(f"the summary: {bad or summary}", run)

    def right(self):
        run = self.run("shake", "-n", str(self.seeds), "--seed", str(self.first_right), *self.kinds, "-o", self.place, "--",
                       self.program, self.name, "right")
        if run.returncode or f"{self.seeds} runs, " not in run.stdout or ", none failed" not in run.stdout:
            self.fault("the corrected program fails", run)
        elif self.kinds and (" 0 decisions" in run.stdout) != self.untouched:
            self.fault("decisions are missing, or there are some", run)

    def judge(self):
        self.without()
        self.wrong()
        self.right()
        return self.bad


def main():
    network.own()
    program, ruse, form = sys.argv[1:4]
    os.environ["PATH"] = os.path.dirname(program) + os.pathsep + os.environ["PATH"]
    program = os.path.basename(program)
    wanted = [c for c in cases() if not sys.argv[4:] or c[0] in sys.argv[4:]]
    with tempfile.TemporaryDirectory() as place, concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        todo = [Case(program, ruse, form, case, os.path.join(place, case[0])) for case in wanted]
        bad = sum(pool.map(Case.judge, todo), [])
    print("\n".join(bad) if bad else f"ok: {len(wanted)} cases")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

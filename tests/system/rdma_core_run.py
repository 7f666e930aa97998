#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs rdma-core's test-suite in the current directory and checks it against a table.

rdma_core_run.py TABLE [SUITE-OPTIONS...]

A line of TABLE is: test, outcome on ruse (ok, skip), outcome on kernel rxe (ok, skip, fail, or ?
if it was not tried), reason of a skip; separated by tabs. Every test must be in the table and end
as it says, so that every failure and every new skip is noticed. A test that passes where the table
says skip is printed and fails nothing: the reason of the skip (no huge pages, no second device) may
not hold on this machine. With TABLE "-" the outcomes are
printed as such a table.

pyverbs of rdma-core 56 crashes when Python's collector, or the interpreter at its end, frees a
context before the objects on it (rdma-core pull request 1618). Therefore the collector is off, and
the program ends without freeing.

With RDMA_CORE_LOSSY set the network loses packets: a test that expects a remote error may then
see the retry limit, as a responder sends a NAK once and answers nothing in the error state (IBA
10.3.1).
"""
import gc
import importlib.util
import os
import re
import signal
import sys
import unittest

NAK_LOST = re.compile(r'^"Remote [^"]*" does not match ".*Retry exceeded')
# This test checks the completion itself.
WAITS_FOR_NAK = "tests.test_qpex.QpExTestCase.test_qp_ex_rc_bind_mw"
LIMIT = 120  # seconds for one test


class Outcomes(unittest.TextTestResult):
    """Keeps the (outcome, reason) of each test."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.seen = {}

    def startTest(self, test):
        super().startTest(test)
        signal.alarm(LIMIT)

    def stopTest(self, test):
        signal.alarm(0)
        super().stopTest(test)

    def note(self, test, outcome, reason=""):
        # A failed sub-test stays a failure when the test ends.
        reason = " ".join(str(reason).split())
        if outcome == "fail" and nak_lost(test.id(), reason):
            outcome, reason = "ok", ""
        if self.seen.get(test.id(), ("ok", ""))[0] in ("ok", "skip"):
            self.seen[test.id()] = (outcome, reason)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.note(test, "ok")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note(test, "skip", reason)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "fail", err[1])

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "fail", err[1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.note(test, "fail", err[1])


def nak_lost(test, reason):
    return "RDMA_CORE_LOSSY" in os.environ and bool(
        NAK_LOST.match(reason) or
        (test == WAITS_FOR_NAK and reason == "Completion status is Retry exceeded"))


def timeout(_number, _frame):
    raise TimeoutError(f"not done after {LIMIT} s")


def read_table(path):
    table = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                fields = line.rstrip("\n").split("\t")
                table[fields[0]] = fields[1:]
    return table


def judge(table, seen):
    """Lines that tell where the outcomes differ from the table."""
    wrong = []
    for test, (outcome, reason) in sorted(seen.items()):
        if test not in table:
            wrong.append(f"{test}: {outcome}, and not in the table: {reason}")
        elif outcome != table[test][0] and (outcome, table[test][0]) != ("ok", "skip"):
            wrong.append(f"{test}: {outcome} instead of {table[test][0]}: {reason}")
    wrong += [f"{test}: in the table, and did not run" for test in table if test not in seen]
    for test, row in table.items():
        if row[0] == "skip" and (len(row) < 3 or not row[2]):
            wrong.append(f"{test}: a skip without a reason")
        if row[0] == "skip" and row[1] == "ok":
            wrong.append(f"{test}: passes on the kernel's rxe and must pass here")
    return wrong


def news(table, seen):
    """Lines that tell which tests pass though the table says skip."""
    return [f"NEWS: {test} passes, the table says skip: {table[test][2]}"
            for test, (outcome, _reason) in sorted(seen.items())
            if outcome == "ok" and test in table and table[test][0] == "skip"]


def load():
    """The suite's module. sys.argv has its options."""
    sys.path.insert(0, os.getcwd())
    spec = importlib.util.spec_from_file_location("tests", os.path.join(os.getcwd(), "__init__.py"))
    tests = importlib.util.module_from_spec(spec)
    sys.modules["tests"] = tests
    spec.loader.exec_module(tests)
    from args_parser import parser  # of the suite

    parser.parse_args()
    return tests


def main():
    path = sys.argv.pop(1)
    suite = unittest.defaultTestLoader.loadTestsFromModule(load())
    gc.disable()
    signal.signal(signal.SIGALRM, timeout)
    with open(os.devnull, "w", encoding="utf-8") as quiet:
        result = unittest.TextTestRunner(resultclass=Outcomes, stream=quiet).run(suite)
    if path == "-":
        for test, (outcome, reason) in sorted(result.seen.items()):
            print(test, outcome, "?", reason, sep="\t")
        return 0
    table = read_table(path)
    wrong = judge(table, result.seen)
    for line in news(table, result.seen) + wrong:
        print(line)
    count = {}
    for outcome, _reason in result.seen.values():
        count[outcome] = count.get(outcome, 0) + 1
    print("rdma-core:", ", ".join(f"{n} {outcome}" for outcome, n in sorted(count.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    STATUS = main()
    sys.stdout.flush()
    os._exit(STATUS)

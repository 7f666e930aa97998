#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs tests of CPython (package libpython3.N-testsuite): suite.py OUTPUT NAME...

A NAME is a test file, or one of its classes: FILE.CLASS. Writes a line for each test, its name and outcome, to the file
OUTPUT; the name of the running test to OUTPUT.now.

  suite.py --classes FILE    prints the NAMEs of the file's classes
"""
import os
import sys
import unittest


class Outcomes(unittest.TestResult):
    def __init__(self, path):
        super().__init__()
        self.file = open(path, "w", encoding="utf-8")
        self.now = path + ".now"

    def say(self, test, outcome):
        self.file.write(f"{test.id()} {outcome}\n")
        self.file.flush()

    def startTest(self, test):
        super().startTest(test)
        with open(self.now, "w", encoding="utf-8") as f:
            f.write(test.id())

    def addSuccess(self, test):
        self.say(test, "ok")

    def addSkip(self, test, reason):
        self.say(test, "skipped")

    def addExpectedFailure(self, test, err):
        self.say(test, "failed as expected")

    def addUnexpectedSuccess(self, test):
        self.say(test, "unexpected success")

    def addError(self, test, err):
        self.say(test, "error")
        sys.stderr.write(f"{test.id()}: {self._exc_info_to_string(err, test)}\n")

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err:
            self.addError(subtest, err)


def classes(suite):
    """The classes of all tests in a suite, in their order."""
    found = {}
    for test in suite:
        found.update(classes(test) if isinstance(test, unittest.TestSuite) else {type(test): None})
    return found


def main():
    from test import support
    support.use_resources = []
    support.verbose = False
    if sys.argv[1] == "--classes":
        for c in classes(unittest.defaultTestLoader.loadTestsFromName("test." + sys.argv[2])):
            print(f"{sys.argv[2]}.{c.__name__}")
        return
    output = os.path.abspath(sys.argv[1])
    result = Outcomes(output)
    for name in sys.argv[2:]:
        with support.SuppressCrashReport():
            unittest.defaultTestLoader.loadTestsFromName("test." + name).run(result)
    result.file.write("end\n")


if __name__ == "__main__":
    main()

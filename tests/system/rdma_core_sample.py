#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs a random sample of rdma-core's test-suite, which is in the current directory.

rdma_core_sample.py SEED COUNT

Prints the failures. The status is 1 if a test failed that passes without faults (the table of the version says ok), or the
number of a signal as usual.
"""
import gc
import os
import random
import signal
import sys
import unittest

import rdma_core_run

LIMIT = 20


def flat(suite):
    for t in suite:
        if isinstance(t, unittest.TestSuite):
            yield from flat(t)
        else:
            yield t


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    sys.argv[1:] = ["--dev", "rxe_0", "--gid", "1"]
    rdma_core_run.LIMIT = LIMIT
    tests = rdma_core_run.load()
    gc.disable()
    signal.signal(signal.SIGALRM, rdma_core_run.timeout)
    passing = [n for n, row in rdma_core_run.read_table(os.environ["RDMA_CORE_TABLE"]).items() if row[0] == "ok"]
    chosen = set(random.Random(seed).sample(sorted(passing), count))
    suite = unittest.TestSuite(t for t in flat(unittest.defaultTestLoader.loadTestsFromModule(tests)) if t.id() in chosen)
    with open(os.devnull, "w", encoding="utf-8") as quiet:
        result = unittest.TextTestRunner(resultclass=rdma_core_run.Outcomes, stream=quiet).run(suite)
    failed = [(t, why) for t, (outcome, why) in result.seen.items() if outcome == "fail"]
    for test, why in failed:
        print(test, why, sep="\t")
    return 1 if failed else 0


if __name__ == "__main__":
    STATUS = main()
    sys.stdout.flush()
    os._exit(STATUS)

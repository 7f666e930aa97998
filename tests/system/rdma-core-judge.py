#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which outcomes of rdma-core's suite rdma_core_run.py calls a failure, and which news."""
import sys

from rdma_core_run import judge, news

TABLE = {"a": ["ok", "ok", ""], "b": ["skip", "skip", "no huge pages"]}


def outcomes(a, b):
    return {"a": (a, ""), "b": (b, "")}


def main():
    bad = 0
    for a, b, failures, reports in (("ok", "skip", 0, 0), ("ok", "ok", 0, 1), ("skip", "skip", 1, 0),
                                    ("fail", "ok", 1, 1), ("ok", "fail", 1, 0)):
        seen = outcomes(a, b)
        if len(judge(TABLE, seen)) != failures or len(news(TABLE, seen)) != reports:
            print(a, b, judge(TABLE, seen), news(TABLE, seen))
            bad = 1
    if len(judge(TABLE, {"a": ("ok", ""), "c": ("ok", "")})) != 2:
        print("a row without a test, a test without a row")
        bad = 1
    return bad


sys.exit(main())

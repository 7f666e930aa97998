#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sends each request of mad.c and compares what `ruse explain --stuck` says of it.

mad.py PROGRAM RUSE [NAME...]
"""
import sys

import cm
import stuck

# As in stuck.py.
HANGS = {
    "gid": {"WAIT_MAD_GID": f"no response from {cm.SILENT} to the request of class 0x9, attribute 0x11; "
                            "attempt 1 of 3"},
    "lid": {"WAIT_MAD_LID": "no response from LID 77, QP 0x000001, to the request of class 0x3, attribute "
                            "0x11; attempt 1 of 3"},
    "route": {"WAIT_SMP": "no response to the SMP of attribute 0x11 along a directed route of 2 hops; "
                          "attempt 1 of 3"},
}

if __name__ == "__main__":
    sys.exit(stuck.main(HANGS, [], cm.network, ["lid", "route"]))

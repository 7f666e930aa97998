# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where the tests of this directory run."""
import os
import subprocess
import sys

MISSING = 77  # the exit status of a test that cannot run on this machine


def own():
    """
    Starts this script again in a network namespace, as UDP port 4791 exists once in each; without
    root in a user namespace too. Where there are none, the test is skipped. The programs end without
    freeing anything, so leaks are no faults.
    """
    if "MISTAKES_NETWORK" in os.environ:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    flags = "-n" if os.geteuid() == 0 else "-Urn"
    if subprocess.run(["unshare", flags, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("SKIP: no network namespaces here")
        sys.exit(MISSING)
    os.environ["MISTAKES_NETWORK"] = "1"
    os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    os.execvp("unshare", ["unshare", flags, sys.executable, *sys.argv])


def spread(names, workers=3):
    """
    Runs this script once for each part of names, which are added to its arguments, all at the same time and
    each in a network of its own: the programs mostly wait. Returns the exit status. Call it instead of own().
    """
    parts = [names[i::workers] for i in range(min(workers, len(names)))]
    running = [subprocess.Popen([sys.executable, *sys.argv, *part]) for part in parts]
    statuses = {p.wait() for p in running}
    return MISSING if statuses == {MISSING} else int(any(statuses))


def allow_opensm(env):
    """Reports of AddressSanitizer about opensm itself, which tests/asan.supp names, are no faults."""
    supp = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "asan.supp")
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + f":suppressions={supp}"

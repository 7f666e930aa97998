#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""ruse shake with commands that use no RDMA and fail by the seed in RUSE_SHAKE.

campaign.py RUSE

Exit statuses, each sort of failure, what is kept, JUnit, processes that are left, signals.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../mistakes"))
import network  # noqa: E402

# Fails by the seed, and passes without decisions.
FAKE = """s=${RUSE_SHAKE%%,*}
case $RUSE_SHAKE in *,only=*) exit 0 ;; esac
case $s in
12) echo boom; exit 3 ;;
13) kill -SEGV $$ ;;
14) echo waiting; while :; do sleep 1; done ;;
15) echo "data mismatch at 7" ;;
16) exit 3 ;;
esac
exit 0
"""
bad = []


def check(ok, what, run=None):
    if not ok:
        bad.append(f"{what}{f': status {run.returncode}: {run.stdout}{run.stderr}' if run else ''}")


def shake(ruse, *words, **more):
    return subprocess.run([ruse, "shake", *words], text=True, capture_output=True, check=False, stdin=subprocess.DEVNULL, **more)


def seeds(ruse):
    """All sorts of failures."""
    run = shake(ruse, "-n", "8", "--seed", "10", "-j", "4", "--limit", "2", "--repeat", "2", "--fail-if", "mismatch|no such",
                "--junit", "junit.xml", "-o", "kept", "--", "sh", "-c", FAKE)
    check(run.returncode == 99, "a campaign with failures", run)
    for line in ("seed 12 fails: exit status 3", "seed 13 fails: signal 11", "seed 14 fails: it has not ended within the limit",
                 "seed 15 fails: output: data mismatch at 7"):
        check(line in run.stdout, f"'{line}' is not told", run)
    check("seed 16" not in run.stdout, "a failure of a sort that is known is looked at again", run)
    check("8 runs, 0 decisions, 5 failed, 4 findings" in run.stdout, "the sums", run)
    check("No decision was taken" in run.stdout, "it is not told that nothing was tested", run)
    check("repeated without decisions 0 of 2" in run.stdout, "failures without decisions", run)
    cases = xml.etree.ElementTree.parse("junit.xml").getroot().findall("testsuite/testcase")
    check([c.get("name") for c in cases] == [f"seed {n}" for n in range(10, 18)], "JUnit: the seeds")
    check([c.get("name") for c in cases if c.find("failure") is not None] == [f"seed {n}" for n in range(12, 17)],
          "JUnit: the failures")
    with open("kept/seed-12/output", encoding="utf-8") as f:
        check("boom\n" in f.read(), "the output is not kept")
    again = re.search(r"^seed 12 fails.*?^again: ([^\n]*'?.*?)\nkept:", run.stdout, re.M | re.S)
    again = subprocess.run(again[1].replace("ruse ", f"{ruse} ", 1), shell=True, capture_output=True, text=True, check=False)
    check(again.returncode == 3, "the command repeats the failure", again)


def statuses(ruse):
    run = shake(ruse, "-n", "3", "--", "true")
    check(run.returncode == 0 and "3 runs, 0 decisions, none failed" in run.stdout, "a campaign without failures", run)
    run = shake(ruse, "-n", "3", "-o", "kept", "--", "false")
    check(run.returncode == 1 and "without any decision fails: exit status 1" in run.stderr, "a command that fails", run)
    check(os.path.exists("kept/without/output"), "the output of the run without decisions")
    run = shake(ruse, "-n", "3", "--expect", "rdma", "--", "true")
    check(run.returncode == 1 and "--expect rdma" in run.stderr, "a condition that does not hold without decisions", run)
    run = shake(ruse, "-n", "1", "--check=poison", "--", "sh", "-c", "case $RUSE_CHECK in *poison*) ;; *) exit 1; esac")
    check(run.returncode == 0, "--check=poison", run)
    run = shake(ruse, "-n", "3", "--", "./no-such-program")
    check(run.returncode == 1 and "exit status 127" in run.stderr, "a command that is not there", run)
    run = shake(ruse, "-n", "9", "--seed", "12", "--stop", "--repeat", "1", "--", "sh", "-c", FAKE)
    check(run.returncode == 99 and "\n1 run, " in run.stdout, "--stop", run)
    run = shake(ruse, "-n", "2", "--like", "rxe,e810,identity,connectx-5", "--junit", "junit.xml", "--", "sh", "-c", 'test "$RUSE_LIKE"')
    check(run.returncode == 0 and "6 runs" in run.stdout, "--like", run)
    names = [c.get("name") for c in xml.etree.ElementTree.parse("junit.xml").getroot().findall("testsuite/testcase")]
    check(names[:4] == ["seed 1 like rxe", "seed 1 like e810,identity", "seed 1 like connectx-5", "seed 2 like rxe"], f"--like: {names}")
    # Two listen at the same port, each in its own network.
    run = shake(ruse, "-n", "2", "-j", "2", "--net", "--", sys.executable, "-c",
                "import socket, time; s = socket.create_server(('127.0.0.1', 9)); time.sleep(0.5)")
    check(run.returncode == 0, "--net", run)


def usage(ruse):
    for words in ([], ["--"], ["-n", "0", "true"], ["-n", "x", "true"], ["-j", "0", "true"], ["-j", "257", "true"], ["--seed", "-1", "true"],
                  ["--limit", "0", "true"], ["--fail-if", "(", "true"], ["--like", "nothing", "true"], ["--expect", "nothing", "true"],
                  ["--kinds", "nothing", "true"], ["--check=nothing", "true"], ["--repeat", "0", "true"], ["--nothing", "true"], ["-o", "", "true"],
                  ["--seed", str(2**64 - 1), "true"]):
        run = shake(ruse, *words)
        check(run.returncode == 2 and run.stderr and not run.stdout, f"{words}", run)
    run = shake(ruse, "--kinds", "help")
    check(run.returncode == 0 and re.search(r"^late +.*IBA", run.stdout, re.M), "--kinds help", run)


def running(name):
    return subprocess.run(["pgrep", "-f", name], capture_output=True, check=False).returncode == 0


def gone(name):
    """Waits until no process has this in its command line; only what this test has started has it."""
    for _ in range(200):
        if not running(name):
            return True
        time.sleep(0.1)
    return False


def processes(ruse, tmp):
    """What the command leaves is killed, also in a session of its own; a signal ends all."""
    mark = f"shake-campaign-{os.getpid()}"
    run = shake(ruse, "-n", "2", "--", "sh", "-c", f"setsid sh -c 'trap \"\" TERM; while :; do sleep 1; done; : {mark}' & sh -c 'sleep 600; : {mark}' &")
    check(run.returncode == 0, "a command that leaves processes", run)
    check(gone(mark), "processes are left")
    p = subprocess.Popen([ruse, "shake", "-j", "2", "--", "sh", "-c", f"case $RUSE_SHAKE in *,only=*) exit 0; esac; sleep 600; : {mark}"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while p.poll() is None and not running(f"^sh -c case.*{mark}"):
        time.sleep(0.05)
    time.sleep(0.3)
    p.send_signal(signal.SIGINT)
    out = p.communicate()[0]
    check(p.returncode == 128 + signal.SIGINT and "ended by signal 2" in out, f"SIGINT: {p.returncode}: {out}")
    check(gone(mark), "processes are left after SIGINT")
    check(not os.listdir(tmp), f"files are left: {os.listdir(tmp)}")


def main():
    network.own()
    ruse = sys.argv[1]
    with tempfile.TemporaryDirectory() as place:
        tmp = os.path.join(place, "tmp")
        os.mkdir(tmp)
        os.environ["TMPDIR"] = tmp
        os.chdir(place)
        seeds(ruse)
        statuses(ruse)
        usage(ruse)
        processes(ruse, tmp)
    print("\n".join(bad) if bad else "ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What remains of failures when programs and rused have ended.

last.py PROGRAM RUSE STUCK   PROGRAM makes the mistakes of mistakes-commands, STUCK the hangs of tests/stuck

`ruse explain last` names the program and its start, and says if the newest program has no failure, or an earlier one
than another program. A process or QP that is not known is an error. A fault rule that may have caused a failure is
named. The failures and the log survive rused; `ruse run --own` tells those of a program that has failed. A packet that a
repetition has repaired, and what is flushed because the program ends its QP, are no failures.
"""
import fcntl
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import network

TIMEOUT = 60


def output(env, *command):
    """What the command writes to standard output."""
    return subprocess.run(command, env=env, text=True, timeout=TIMEOUT, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def orderly(ruse, stuck):
    """The differences, as lines."""
    bad = []
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir)

        def run(*command):
            return subprocess.run(command, env=env, text=True, timeout=TIMEOUT, check=True, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)

        err = run(ruse, "run", "--explain", stuck, "repaired").stderr
        text = run(ruse, "explain").stdout
        said = json.loads(run(ruse, "explain", "--json").stdout)["processes"]
        if "RX-" in err or not re.search(r"^nothing has failed.*\n.*\n\nNo failures, and not listed: (.|\n)* taken: \d+\.", text):
            bad.append(f"repaired: {err} {text}")
        got = {f["id"]: f["orderly"] for p in said for f in p["failures"]}
        if got != {"RX-084": True, "RX-060": True}:
            bad.append(f"repaired: {got}")
        if said and "RX-084" not in run(ruse, "explain", str(said[0]["pid"])).stdout:
            bad.append("repaired: not listed with the PID")
        err = run(ruse, "run", "--explain", stuck, "ended").stderr
        said = json.loads(run(ruse, "explain", "--json").stdout)
        got = {f["id"]: f["orderly"] for p in said["processes"] if p["pid"] == said["newest"]["pid"] for f in p["failures"]}
        if "RX-" in err or got != {"RX-084": True, "RX-060": True} or "\nNo failures, and" not in run(ruse, "explain").stdout:
            bad.append(f"ended: {err} {got}")
        # Here b never becomes ready.
        err = run(ruse, "run", "--explain", stuck, "state").stderr
        if "RX-084: " not in err or "RX-084: " not in run(ruse, "explain", "last").stdout:
            bad.append(f"not repaired: {err}")
        run(ruse, "stop", "--now")
    return bad


def known(ruse, program, stuck):
    """PIDs and QPs, with and without failures, that exist and that do not. The differences, as lines."""
    bad = []
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir)

        def expect(status, text, *args):
            p = subprocess.run([ruse, "explain", *args], env=env, text=True, timeout=TIMEOUT, check=False,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if p.returncode != status or not re.search(text, p.stderr if status else p.stdout):
                bad.append(f"known: explain {args}: {p.returncode} {p.stdout} {p.stderr}")
            return p.stdout

        subprocess.run([ruse, "run", program], env=env, timeout=TIMEOUT, check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        failed = json.loads(expect(0, "", "--json"))["newest"]["pid"]
        expect(0, r"RX-\w{3}: ", str(failed))
        with subprocess.Popen([ruse, "run", stuck, "rnr"], env=env, text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as p:
            if p.stdout.readline() != "ready\n":
                return ["known: stuck does not start"]
            said = json.loads(expect(0, "", "--stuck", "--json"))["processes"]
            qpn = max(w["qpn"] for q in said for w in q["waits"])
            expect(0, rf"(?m)^nothing has failed of process or QP {p.pid} |RX-\w{{3}}: ", str(p.pid))
            expect(0, rf"(?m)^nothing has failed of process or QP {qpn} |RX-\w{{3}}: ", str(qpn))
            expect(0, str(p.pid), "--stuck", str(p.pid))
            # No QP of the program: it has a few, which are numbered in succession.
            for number in (qpn ^ 0x1000, qpn + (1 << 30)):
                expect(1, f"^ruse explain: no process or QP {number} is known", str(number))
            expect(1, "^ruse explain: no process 4000000000 is known", "--stuck", "4000000000")
            p.stdin.close()
        subprocess.run([ruse, "stop", "--now"], env=env, timeout=TIMEOUT, check=False, stdout=subprocess.DEVNULL)
        expect(0, r"RX-\w{3}: ", str(failed))
        expect(1, "^ruse explain: no process or QP 4000000000 is known", "4000000000")
    return bad


def ruled(ruse, stuck):
    """A rule of `ruse fault` loses each SEND. The differences, as lines."""
    bad = []
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir)

        def run(*command):
            return output(env, *command)

        rule = run(ruse, "fault", "add", "drop", "op", "SEND").strip()
        run(ruse, "fault", "add", "drop", "nth", "1000000")
        run(ruse, "run", stuck, "repaired")
        text = run(ruse, "explain", "last")
        if not re.search(rf"RX-054: .*\n    rule {rule} of `ruse fault` on this host, 'drop op SEND', has acted [1-9]\d* times on this QP$",
                         text, re.M) or "nth" in text:
            bad.append(f"ruled: {text}")
        said = json.loads(run(ruse, "explain", "--json"))["processes"]
        rules = [r["rule"] for p in said for f in p["failures"] if f["name"] == "RETRY_NEVER" for r in f.get("rules", [])]
        if rules != ["drop op SEND"]:
            bad.append(f"ruled: {said}")
        run(ruse, "fault", "del", "all")
        # A rule that was deleted is named, and no rule that was added later.
        run(ruse, "fault", "add", "delay", "1us", "op", "SEND")
        run(ruse, "run", stuck, "repaired")
        text = run(ruse, "explain", "last")
        if (text.count("    rule ") != 1 or
                not re.search(rf"RX-054: .*\n    rule {rule} .*, 'drop op SEND', .* on this QP; it has been deleted since$", text, re.M)):
            bad.append(f"ruled, by a deleted rule: {text}")
        run(ruse, "stop", "--now")
    return bad


def earlier(ruse, program):
    """The newest program fails, and later one that has started before it. The differences, as lines."""
    bad = []
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir)

        def run(*command):
            return output(env, *command)

        # The older one waits after its first failure, as its output is a pipe that is full.
        end, begin = os.pipe()
        os.write(begin, bytes(fcntl.fcntl(begin, fcntl.F_SETPIPE_SZ, 4096)))
        with subprocess.Popen([ruse, "run", program], env=env, stdout=begin, stderr=subprocess.DEVNULL) as older:
            os.close(begin)
            limit = time.monotonic() + TIMEOUT
            while f"(pid {older.pid}," not in run(ruse, "explain"):
                if older.poll() is not None or time.monotonic() > limit:
                    older.kill()
                    return ["earlier: the older program has not failed"]
                time.sleep(0.05)
            run(ruse, "run", program)
            newest = json.loads(run(ruse, "explain", "--json"))["newest"]["pid"]
            if "newest" in (text := run(ruse, "explain", "last")):
                bad.append(f"earlier: before the older program fails again: {text}")
            with os.fdopen(end, "rb") as f:
                f.read()
        for state in "rused runs", "rused has ended":
            text = run(ruse, "explain", "last")
            if not re.search(rf"^The newest program is .* \(pid {newest}, .*\)\.\n.* failed earlier.*`ruse explain {newest}`", text) \
                    or f"(pid {older.pid}, " not in text or "no failure" in text:
                bad.append(f"earlier: {state}: {text}")
            run(ruse, "stop", "--now")
    return bad


def main():
    network.own()
    program, ruse, stuck = sys.argv[1:]
    bad = []
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir)

        def run(*command, **options):
            return subprocess.run(command, env=env, text=True, timeout=TIMEOUT, check=False,
                                  stdout=subprocess.PIPE, **options)

        def expect(what, text, *wanted):
            bad.extend(f"{what}: '{w}' is not in: {text}" for w in wanted if not re.search(w, text))

        name = os.path.basename(program)[:15]
        head = rf"^{name} \(pid \d+, first used RDMA \d+\.\d s ago, ended \d+\.\d s ago\)$"
        run(ruse, "run", program, stderr=subprocess.DEVNULL)
        first = run(ruse, "explain", "last").stdout
        expect("a failure", first, "(?m)" + head, r"RX-\w{3}: ")
        if "newest" in first:
            bad.append(f"a failure: {first}")
        run(ruse, "run", "ibv_devinfo")
        second = run(ruse, "explain", "last").stdout
        expect("a newer program", second, r"^The newest program is ibv_devinfo \(pid \d+, first used RDMA ",
               "ruse has seen no failure of it", "(?m)" + head, r"RX-\w{3}: ")
        run(ruse, "stop", "--now")
        expect("after rused", run(ruse, "explain", "last").stdout, "(?m)" + head, r"RX-\w{3}: ",
               "The newest program is ibv_devinfo")
        told = json.loads(run(ruse, "explain", "--json").stdout)
        if told.get("running") is not False or not told["processes"]:
            bad.append(f"after rused: {told}")
        if not os.path.exists(os.path.join(rundir, "rused.log")):
            bad.append(f"no log: {os.listdir(rundir)}")
        run(ruse, "run", "ibv_devinfo")
        expect("the next rused", run(ruse, "explain", "last").stdout, "(?m)" + head, r"RX-\w{3}: ")
        run(ruse, "stop", "--now")
        expect("a rused without failures", run(ruse, "explain", "last").stdout, "(?m)" + head)
        del env["RUSE_DIR"]
        env["XDG_RUNTIME_DIR"] = rundir
        before = os.listdir(rundir)
        for status in (3, 0):
            p = run(ruse, "run", "--own", "sh", "-c", f"{program} >&2; exit {status}",
                    stderr=subprocess.PIPE)
            if bool(re.search(r"RX-\w{3}: ", p.stderr)) != bool(status) or p.returncode != status:
                bad.append(f"--own, status {status}: {p.returncode} {p.stderr}")
        if os.listdir(rundir) != before:
            bad.append(f"--own leaves {os.listdir(rundir)}")
    bad += orderly(ruse, stuck)
    bad += earlier(ruse, program)
    bad += known(ruse, program, stuck)
    bad += ruled(ruse, stuck)
    print("\n".join(bad) if bad else "ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

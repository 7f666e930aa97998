#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Rules of `ruse fault` about calls, work requests and QPs.

fault-verbs.py RUSE PROGRAM

The program is tests/system/fault-verbs.c. Each call fails with each errno that it may give, and succeeds without the rule;
and the rows of fault-verbs.tsv.
"""
import errno
import json
import os
import re
import select
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RUSE = sys.argv[1]
PATIENCE = 60
# What a call has left besides its errno. Others: nothing.
LEFT = {"modify_qp": " state 0", "post_send": " bad 0 done 0", "post_recv": " bad 0 done 0",
        "post_srq_recv": " bad 0"}
# What the same call answers without a rule. Others: 0.
WITHOUT = {"modify_qp": "0 state 1", "post_send": "0 bad -1 done 3", "post_recv": "0 bad -1 done 3",
           "post_srq_recv": "0 bad -1"}
bad = []


def ruse(*words, fails=False):
    p = subprocess.run([RUSE, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if bool(p.returncode) != fails:
        sys.exit(f"ruse {' '.join(words)}: {p.stdout}{p.stderr}")
    return p.stderr if fails else p.stdout


class Program:
    def __init__(self, *options, **env):
        self.p = subprocess.Popen([RUSE, "run", *options, sys.argv[2]], text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, env=dict(os.environ, **env))
        self.qp = self.line().split()[1:]

    def pid(self):
        return str(json.loads(ruse("status", "--json"))["processes"][0]["pid"])

    def line(self):
        if not select.select([self.p.stdout], [], [], PATIENCE)[0]:
            self.p.kill()
            sys.exit("the program does not answer")
        line = self.p.stdout.readline()
        if not line:
            sys.exit(f"the program has ended: {self.p.wait()}")
        return line.rstrip("\n")

    def ask(self, command):
        self.p.stdin.write(command + "\n")
        self.p.stdin.flush()
        return self.line()

    def end(self):
        self.p.stdin.close()
        if self.p.wait(PATIENCE):
            bad.append(f"the program ends with {self.p.returncode}")


def failures():
    said = json.loads(ruse("explain", "--json"))
    return [f for q in said["processes"] for f in q["failures"]]


def acted(rule):
    return [r["acted"] for r in json.loads(ruse("fault", "list", "--json"))["rules"] if r["id"] == rule][0]


def rule_add(rule, program):
    """Adds a rule, and waits until the program has seen it, which for posts no command does."""
    rule = rule.replace("QP_A", program.qp[0]).replace("QP_B", program.qp[1]).replace("UD", program.qp[2] if
                                                                                       "qp UD" in rule else "UD")
    if "QP_FROM" in rule or "QP_TO" in rule:
        pair = program.ask("new RC").split()
        rule = rule.replace("QP_FROM", pair[0]).replace("QP_TO", pair[1])
    n = int(ruse("fault", "add", *rule.split()))
    program.ask("call query_device" if "query_device" not in rule else "call query_port")
    return n


def pairs(program):
    """Each call with each errno."""
    listed = ruse("fault", "add", "fail", "x", "errno", "x", fails=True)
    n = 0
    with open(os.path.join(HERE, "../../src/wire/fault_call.c"), encoding="utf-8") as f:
        calls = re.findall(r'\[FAULT_\w+\] = \{ "(\w+)"', f.read())
    if "post_send" not in listed or len(calls) < 30:
        bad.append(f"calls: {listed}")
    for call in calls:
        # A provider that does not have it gives this without a command.
        if program.ask(f"call {call}") == str(errno.EOPNOTSUPP):
            print(f"# {call}: the provider lacks it")
            continue
        said = ruse("fault", "add", "fail", call, "errno", "EXDEV", fails=True)
        for name in said.split("it may give:")[1].split():
            want = getattr(errno, name)
            rule = rule_add(f"fail {call} errno {name} nth 1", program)
            got = program.ask(f"call {call}")
            left = LEFT.get(call, " then 0" if re.match("de|destroy", call) else "")
            if got != f"{want}{left}":
                bad.append(f"{call} errno {name}: {got!r}, not '{want}{left}'")
            if acted(rule) != 1:
                bad.append(f"{call} errno {name}: the rule has acted {acted(rule)} times")
            again = program.ask(f"call {call}")
            if again != WITHOUT.get(call, "0"):
                bad.append(f"{call} after errno {name}: {again!r}")
            last = [f for f in failures() if f["errno"] == want and f["name"] == "FAULT_CALL"][-1:]
            if not last or last[0]["text"] != f"rule {rule} of `ruse fault` made this call fail":
                bad.append(f"{call} errno {name}: ruse explain says {last}")
            ruse("fault", "del", "all")
            n += 1
    return n


def expect(what, got, want):
    if not re.fullmatch(want, got):
        bad.append(f"{what}: {got!r}, not {want!r}")


def hang(program):
    """A QP that hangs sends nothing and has no timeouts, and goes on when it is thawed."""
    rule = rule_add("hang qp QP_FROM", program)
    program.ask("post WRITE")
    expect("hang of the requester", program.ask("poll 400"), "none")
    ruse("fault", "del", str(rule))
    expect("after the hang", program.ask("poll 20000"), "0:0")
    program.ask("new UC")
    rule_add(f"hang pid {program.pid()}", program)
    program.ask("post SEND")
    expect("hang of the process", program.ask("poll 200"), "none")
    ruse("fault", "thaw", program.pid())
    expect("after the hang of the process", program.ask("poll 20000"), "0:0")


def hold(program):
    """Without the rule, what it hides becomes visible. The event of a completion comes with it."""
    rule = rule_add("hold completions 1s qp QP_FROM", program)
    program.ask("post WRITE")
    expect("held", program.ask("poll 50"), "none")
    ruse("fault", "del", str(rule))
    expect("after the rule", program.ask("poll 20000"), "0:0")
    rule_add("hold completions 300ms qp QP_FROM", program)
    expect("the event", program.ask("event WRITE"), "0:0 after (3[0-9]{2}|[4-9][0-9]{2}|[0-9]{4,}) ms")
    ruse("fault", "del", "all")


def row(program, rule, command, answer, reason=""):
    number = rule_add(rule, program)
    got = "; ".join(program.ask(c) for c in command.split("; "))
    if not re.fullmatch(answer, got):
        bad.append(f"{rule}: {command}: {got!r}, not {answer!r}")
    names = [f["name"] for f in failures() if f"rule {number} " in f["text"]]
    if reason and reason not in names:
        bad.append(f"{rule}: {command}: no failure {reason} with rule {number}: {names}")
    if not reason and names:
        bad.append(f"{rule}: {command}: failures {names}")
    ruse("fault", "del", "all")


def main():
    with open(os.path.join(HERE, "fault-verbs.tsv"), encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    program = Program()
    n = pairs(program)
    program.end()
    for options, env in (((), {}), (("--explain",), {}), ((), {"RUSE_LINK": "udp"})):
        program = Program(*options, **env)
        link = "wire" if env else "host"
        for where, *r in rows:
            # --explain wraps posts too.
            if where in ("any", link) and (not options or r[0].startswith("fail post")):
                row(program, *r)
        hang(program)
        hold(program)
        program.end()
    print("\n".join(bad) if bad else f"ok: {n} pairs, {len(rows)} rows")
    return bool(bad) or n < 100 or not rows


if __name__ == "__main__":
    sys.exit(main())

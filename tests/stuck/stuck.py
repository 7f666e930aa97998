#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes each hang of stuck.c and compares what `ruse explain --stuck` says of it.

stuck.py PROGRAM RUSE [NAME...]
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../mistakes"))
import network  # noqa: E402

QP = r"0x[0-9a-f]{6}"
# Of each hang: {reason: its text, a regular expression}.
HANGS = {
    "rnr": {"WAIT_RNR": f"the peer's QP {QP} has no receive posted; RNR NAKs to this request: [0-9]+( or more)?; "
                        "rnr_retry is 7, which means for ever"},
    "state": {"WAIT_STATE": f"the peer's QP {QP} is in state INIT and does not receive"},
    "sqd": {"WAIT_SQD": "the QP is in SQD: work requests are not sent before it is in RTS again"},
    "no-timeout": {"WAIT_NO_TIMEOUT": "no answer to PSN 100 has come; timeout is 0, so that the request "
                                      "is not repeated and does not fail"},
    "answer": {"WAIT_ANSWER": "no answer to PSN 100 has come; attempt [1-8] of 8, 17 s each"},
    "peer-stopped": {"WAIT_PEER": "the peer's process lives, but has not taken or not answered what was "
                                  "sent to it: it is stopped, or waits for a CPU"},
    "init": {"WAIT_INIT": "3 receives are posted, but the QP is in INIT: it receives nothing before RTR"},
    "rtr": {"WAIT_RTR": "the QP is in RTR: it receives but cannot send; 0 receives are posted"},
    "recv": {"WAIT_RECV": "5 receives are posted, and no message has arrived for them"},
    "poll": {"WAIT_POLL": "2 completions are in the CQ, and the program does not poll it"},
    "arm": {"WAIT_ARM": "2 completions are in the CQ, and no event of it is in the channel: the program has "
                        "read it, or the CQ was not armed when they came"},
    "event": {"WAIT_EVENT": "2 completions are in the CQ and their event is in the channel: the program "
                            "does not read it"},
    "unsignaled": {"WAIT_UNSIGNALED": "the last work request was executed without a completion, because "
                                      "it is not signaled"},
    "psn": {"WAIT_ANSWER": "no answer to PSN 200 has come; attempt [1-8] of 8, 17 s each"},
    "destroy-cq": {"WAIT_ACK": r"ibv_destroy_cq\(\) waits until all events of the object are acknowledged: "
                               r"1 event was read, 0 acknowledged by ibv_ack_cq_events\(\)"},
    "destroy-qp": {"WAIT_ACK": r"ibv_destroy_qp\(\) waits until all events of the object are acknowledged: "
                               r"1 event was read, 0 acknowledged by ibv_ack_async_event\(\)",
                   "WAIT_POLL": "2 completions are in the CQ, and the program does not poll it"},
    "stopped": None,
    "idle": {},
}
# What `ruse explain` knows of the QP is said beside the wait.
BESIDE = {"psn": "RX-085: a packet with PSN 200 arrived, PSN 100 was expected"}
TRIES = 20     # some waits begin some seconds after the hang
# Of these a healthy program may have, too: shown only if its PID is given.
IDLE = ["recv", "unsignaled", "idle"]
LATE = "rnr"   # asked while the process is stopped for a time


def ask(ruse, env, *args):
    return subprocess.run([ruse, "explain", "--stuck", *args], env=env, text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def ask_late(ruse, env, pid):
    """A process that answers the first time after several questions: the differences."""
    os.kill(pid, signal.SIGSTOP)
    with subprocess.Popen([ruse, "explain", "--stuck"], env=env, text=True, stdout=subprocess.PIPE) as p:
        time.sleep(0.65)
        os.kill(pid, signal.SIGCONT)
        text = p.stdout.read()
    late = "has no receive posted" not in text or "does not answer" in text
    return [f"asked while it was stopped: {text}"] if late else []


def compare(name, want, process, text):
    """The differences, as lines. process: its part of the JSON; text: the answer without --json."""
    if want is None:
        said = "does not answer: it is stopped by a signal; kill -CONT continues it"
        return [] if not process["answers"] and said in text else [f"{name}: {text}"]
    got = {w["name"]: w for w in process["waits"]}
    bad = [f"{name}: {n} is not expected: {got[n]['text']}" for n in set(got) - set(want)]
    for reason, expected in want.items():
        if reason not in got:
            bad.append(f"{name}: no {reason}: {process}")
        elif not re.fullmatch(expected, got[reason]["text"]):
            bad.append(f"{name}: {reason} says: {got[reason]['text']}")
        elif not re.search(f"{got[reason]['id']}: {expected}\n", text):
            bad.append(f"{name}: {reason} is not in: {text}")
        elif got[reason]["part"] == "send" and got[reason]["wr_id"] != 7:
            bad.append(f"{name}: {reason} names work request {got[reason]['wr_id']}")
    if BESIDE.get(name, "") not in text:
        bad.append(f"{name}: '{BESIDE[name]}' is not in: {text}")
    if not process["answers"] or "does not answer" in text:
        bad.append(f"{name}: it does not answer: {text}")
    if any(w["part"] == "rdma_cm" and ("cm_id" in w) == (w["name"] == "WAIT_CHANNEL") for w in got.values()):
        bad.append(f"{name}: a wait has no id of rdma_cm: {process}")
    if not want and text != "nothing waits\n":
        bad.append(f"{name}: {text}")
    return bad


def hang(program, ruse, name, want, idle, fabric):
    """
    name is made by the program; want: of HANGS; idle: nothing is said of it without its PID; fabric: it
    runs on a host of one.
    """
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir)
        host = ["--host", "H1"] if fabric else []
        if fabric:
            subprocess.run([ruse, "fabric", "up", "--star", "2"], env=env, check=True,
                           stdout=subprocess.DEVNULL)
        # In a session of its own, so that its child can be ended too.
        with subprocess.Popen([ruse, "run", *host, program, name], env=env, text=True, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, start_new_session=True) as p:
            try:
                line = p.stdout.readline()
                if line != "ready\n":
                    return [f"{name}: the program failed: {line}"]
                late = ask_late(ruse, env, p.pid) if name == LATE else []
                for _ in range(TRIES):
                    said = json.loads(ask(ruse, env, "--json", str(p.pid)))
                    text = ask(ruse, env, str(p.pid))
                    bad = compare(name, want, said["processes"][0], text)
                    if not bad:
                        break
                alone = ask(ruse, env)
                if idle and alone != "nothing waits\n":
                    return [f"{name}: without PID: {alone}"]
                if [q["pid"] for q in said["processes"]] != [p.pid]:
                    return [f"{name}: {said}"]
                return bad + late
            finally:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
                subprocess.run([ruse, "stop", "--now"], env=env, check=True,
                               stdout=subprocess.DEVNULL)


def main(hangs, idle, prepare=lambda: None, fabric=()):
    program, ruse, *names = sys.argv[1:]
    if not names:
        return network.spread(list(hangs))
    network.own()
    prepare()
    bad = [line for name in names for line in hang(program, ruse, name, hangs[name], name in idle, name in fabric)]
    print("\n".join([*bad, f"{len(names)} hangs, {len(bad)} differences"]))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(HANGS, IDLE))

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`ruse run` with a gate as a job of a shell: this program is the shell, with a terminal of its own.

gate_terminal.py RUSE GATE
"""
import os
import pty
import signal
import sys
import time

RUSE, GATE = sys.argv[1:]
LIMIT = 60


def fail(text):
    print(text, file=sys.stderr)
    os._exit(1)


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(p) for p in f.read().split()]


def name(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as f:
        return f.read().strip()


def sleeper(job):
    """The shell of JOB, once it waits for sleep. Before: a child of vfork() that stops keeps the shell from stopping."""
    until("the program", lambda: child_of(job.pid))
    program = child_of(job.pid)[0]
    until("the program sleeps", lambda: [name(p) for p in child_of(program)] == ["sleep"])
    return program


def until(what, true):
    for _ in range(LIMIT * 20):
        if true():
            return
        time.sleep(0.05)
    fail(f"{what}: not within {LIMIT} s")


class Job:
    """A program in the foreground of the terminal, in a process group of its own, as a shell starts it."""

    def __init__(self, terminal, *command, **env):
        self.terminal = terminal
        self.pid = os.fork()
        if not self.pid:
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.setpgid(0, 0)
            os.tcsetpgrp(terminal, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            for fd in 0, 1, 2:
                os.dup2(terminal, fd)
            os.environ.update({"TERM": "xterm", **env})
            os.execv(command[0], command)
        until("process group", lambda: os.getpgid(self.pid) == self.pid)

    def wait(self, options=0):
        found = []

        def ended():
            pid, status = os.waitpid(self.pid, os.WNOHANG | options)
            if pid:
                found.append(status)
            return pid

        until("wait", ended)
        os.tcsetpgrp(self.terminal, os.getpgid(0))
        return found[0]

    def front(self):
        os.tcsetpgrp(self.terminal, self.pid)
        os.killpg(self.pid, signal.SIGCONT)


def main():
    pid, master = pty.fork()
    if pid:
        text = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:
                break
            text += part
            # The other process asks for keys by these words.
            for word, key in (b"KEY-Z", b"\x1a"), (b"KEY-C", b"\x03"):
                if word in text:
                    text = text.replace(word, b"")
                    os.write(master, key)
        status = os.waitpid(pid, 0)[1]
        for word, there in (b"\x1b[32mholds", True), (b"\x1b[31mfails", True), (b"PLAIN", True):
            if (word in text) != there:
                fail(f"{word}: {text!r}")
        plain = text[text.index(b"PLAIN"):text.index(b"COLOUR")]
        if b"\x1b[" in plain:
            fail(f"NO_COLOR: {plain!r}")
        if status:
            fail(f"status {status}: {text.decode(errors='replace')}")
        return
    session()


def key(letter):
    os.write(1, b"KEY-" + letter)


def session():
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(1, b"PLAIN")
    job = Job(0, RUSE, "run", "--summary", "--expect", "rdma,processes>=2", GATE, "ok", "1", NO_COLOR="1")
    if os.waitstatus_to_exitcode(job.wait()) != 99:
        fail("NO_COLOR: another status")
    os.write(1, b"COLOUR")
    os.environ.pop("NO_COLOR", None)
    job = Job(0, RUSE, "run", "--summary", "--expect", "rdma,processes>=2", GATE, "ok", "1")
    if os.waitstatus_to_exitcode(job.wait()) != 99:
        fail("another status")

    # Ctrl-Z stops ruse and the program, fg continues both.
    job = Job(0, RUSE, "run", "--expect", "rdma", "/bin/sh", "-c", f"sleep 2; exec {GATE} ok 1")
    program = sleeper(job)
    key(b"Z")
    if not os.WIFSTOPPED(job.wait(os.WUNTRACED)):
        fail("Ctrl-Z does not stop ruse")
    until("Ctrl-Z stops the program", lambda: state(program) == "T")
    job.front()
    if os.waitstatus_to_exitcode(job.wait()) != 0:
        fail("after fg: another status")

    # SIGTSTP and SIGCONT that are sent to ruse alone.
    job = Job(0, RUSE, "run", "--expect", "rdma", "/bin/sh", "-c", f"sleep 2; exec {GATE} ok 1")
    program = sleeper(job)
    os.kill(job.pid, signal.SIGTSTP)
    if not os.WIFSTOPPED(job.wait(os.WUNTRACED)):
        fail("SIGTSTP does not stop ruse")
    until("SIGTSTP stops the program", lambda: state(program) == "T")
    os.kill(job.pid, signal.SIGCONT)
    if os.waitstatus_to_exitcode(job.wait()) != 0:
        fail("after SIGCONT: another status")

    # In the background: it does not read the terminal, and goes on.
    job = Job(0, RUSE, "run", "--expect", "rdma", GATE, "ok", "1")
    os.tcsetpgrp(0, os.getpgid(0))
    if os.waitstatus_to_exitcode(job.wait()) != 0:
        fail("in the background: another status")

    # Ctrl-C: the program decides.
    job = Job(0, RUSE, "run", "--expect", "rdma", "/bin/sh", "-c", 'trap "exit 5" INT; echo KEY-C; while :; do sleep 0.1; done')
    if os.waitstatus_to_exitcode(job.wait()) != 5:
        fail("Ctrl-C: another status")
    os._exit(0)


main()

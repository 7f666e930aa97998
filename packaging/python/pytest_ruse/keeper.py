# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""keeper.py BASE PARENT: a directory for a test, which goes with everything that was started for it.

A process of its own, so that nothing is left however pytest ends. It makes the directory, locks it as `ruse run --own`
does, and prints its path. Then it reads lines:

    session PID   the session of this process belongs to the test; pytest does not reap it before the end
    ns PID        so does the network namespace of this process
    end           the test has ended

At `end`, at the end of the input and when PARENT has ended, it kills the processes of the test, removes the directory, and
prints the processes that it could not kill. The processes are those that have RUSE_PYTEST=DIRECTORY in their
environment, those in the namespaces and sessions, and all descendants of these.
"""
import fcntl
import os
import select
import shutil
import signal
import sys
import tempfile
import time

MARK = "RUSE_PYTEST"
LIMIT = 20      # seconds for killed processes to end
NAP = 0.01


def stat_of(pid):
    """(state, parent, session), or None: it has gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            words = f.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return words[0], int(words[1]), int(words[3])


def environment(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as f:
            return f.read().split(b"\0")
    except OSError:
        return []


def namespace(pid):
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None


def found(mark, spaces, sessions):
    """The living processes of the test."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            stat = stat_of(name)
            if stat and stat[0] not in (b"Z", b"X"):
                table[int(name)] = stat
    mine = {pid for pid, stat in table.items()
            if stat[2] in sessions or mark in environment(pid) or namespace(pid) in spaces}
    more = True
    while more:
        more = {pid for pid, stat in table.items() if pid not in mine and stat[1] in mine}
        mine |= more
    return mine


def kill(pid):
    """True: it was killed or has gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    except OSError:
        return False
    return True


def sweep(mark, spaces, sessions):
    """Kills the processes until there are none. Returns those that are left after LIMIT seconds."""
    until = time.monotonic() + LIMIT
    while True:
        left = found(mark, spaces, sessions)
        if not left or time.monotonic() > until:
            return left
        for pid in left:
            kill(pid)
        time.sleep(NAP)


def lines(parent):
    """The lines of the input, until it or the parent ends."""
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    try:
        # A child that the test has forked may hold the other end of the pipe longer than the parent lives.
        poll.register(os.pidfd_open(parent), select.POLLIN)
    except (AttributeError, OSError):
        pass    # an old kernel: the pipe must do
    text = b""
    while True:
        ready = [fd for fd, _ in poll.poll()]
        chunk = os.read(0, 4096) if 0 in ready else b""
        if not chunk:
            return
        text += chunk
        *whole, text = text.split(b"\n")
        yield from (line.decode() for line in whole)


def remove(path):
    # A program that is killed at this moment may still have made a file.
    for _ in range(100):
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.exists(path):
            return True
        time.sleep(NAP)
    return False


def main():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    base, parent = sys.argv[1], int(sys.argv[2])
    path = tempfile.mkdtemp(prefix="ruse-own.", dir=base)
    spaces, held, sessions = set(), [], set()
    try:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(1, f"{path}\n".encode())
        for line in lines(parent):
            word, *rest = line.split()
            if word == "end":
                break
            if word == "session":
                sessions.add(int(rest[0]))
            if word == "ns" and namespace(rest[0]) != namespace("self"):
                # While it is held, no other namespace gets its number.
                held.append(os.open(f"/proc/{rest[0]}/ns/net", os.O_RDONLY))
                spaces.add(os.fstat(held[-1]).st_ino)
    finally:
        left = sweep(f"{MARK}={path}".encode(), spaces, sessions)
        gone = remove(path)
        text = "".join(f"process {pid} cannot be killed\n" for pid in sorted(left))
        if not gone:
            text += f"{path} cannot be removed\n"
        try:
            os.write(1, text.encode())
        except OSError:
            pass    # pytest has ended


if __name__ == "__main__":
    main()

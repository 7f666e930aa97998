# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A client of rused for tests, after src/ipc/ipc.h. $RUN is the run directory."""
import array
import fcntl
import os
import re
import socket
import struct
import time


def message_types():
    """The names in messages.def, as a dictionary of the types; the first is 1."""
    table = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/ipc/messages.def")
    with open(table, encoding="utf-8") as f:
        names = re.findall(r"^MESSAGE\((\w+)", f.read(), re.M)
    return {name: n for n, name in enumerate(names, 1)}


globals().update(message_types())           # HELLO, LEASE and so on
EBUSY, ENOSPC = -16, -28
F_ADD_SEALS, F_SEAL_SHRINK = 1033, 2


def hello_body(pid, comm, sock, run=0):
    """The body of HELLO (struct ipc_hello): namespaces and the process number are 0."""
    return struct.pack("<QQi16s32s4xQ", 0, 0, pid, comm, sock, run)


def connect(wait=False):
    """Connects. wait: waits for a rused that answers; the limit only serves to detect a broken
    one.
    """
    end = time.monotonic() + 60
    while True:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            s.connect(os.environ["RUN"] + "/rused.sock")     # blocking: waits for room in the queue
            s.settimeout(60)
            return s
        except (FileNotFoundError, ConnectionRefusedError):
            if not wait or time.monotonic() > end:
                raise
            time.sleep(0.01)


def message(kind, body=b"", version=1, flags=0):
    return struct.pack("<HHHHIi", version, kind, flags, 0, 1, 0) + body


def call(s, kind, body=b"", fds=()):
    """Sends a request; returns error, body and descriptors of the answer."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    s.sendmsg([message(kind, body)], rights)
    reply, got, _, _ = socket.recv_fds(s, 16384, 4)
    if not reply:
        raise EOFError("connection closed")
    return struct.unpack("<HHHHIi", reply[:16])[5], reply[16:], got


def process(wait=False):
    """A connection that has sent HELLO as a process does."""
    s = connect(wait)
    page = os.memfd_create("page", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(page, 65536)
    fcntl.fcntl(page, F_ADD_SEALS, F_SEAL_SHRINK)
    hello = hello_body(os.getpid(), b"test", b"sock")
    try:
        err, _, fds = call(s, HELLO, hello, [page])
    except (EOFError, ConnectionResetError, BrokenPipeError):
        if not wait:
            raise
        return process(wait=True)           # that rused was about to end
    assert err == 0 and len(fds) == 2, (err, fds)
    for fd in [page] + fds:
        os.close(fd)
    return s


def lease(s, block=0):
    """Asks for a lease; returns the block, or a negative errno."""
    err, body, _ = call(s, LEASE, struct.pack("<4I", block, 1, 0, 0))
    return err or struct.unpack("<2IiI", body)[0]


def closed(s):
    """Waits for the end of the connection and drops what arrives before it."""
    try:
        while s.recv(16384):
            pass
    except (ConnectionResetError, BrokenPipeError):
        pass
    return True

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A client of rused for tests: src/ipc/ipc.h in a few lines. $RUN is the run directory."""
import array
import fcntl
import os
import socket
import struct
import time

HELLO, LEASE, PEER, NETLINK, CONTEXT, STATUS, SHUTDOWN = range(1, 8)
EBUSY, ENOSPC = -16, -28
F_ADD_SEALS, F_SEAL_SHRINK = 1033, 2


def connect(wait=False):
    while True:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            s.connect(os.environ["RUN"] + "/rused.sock")     # blocking: waits for room in the queue
            s.settimeout(60)
            return s
        except (FileNotFoundError, ConnectionRefusedError):
            if not wait:
                raise
            time.sleep(0.01)


def message(kind, body=b"", version=1, flags=0):
    return struct.pack("<HHHHIi", version, kind, flags, 0, 1, 0) + body


def call(s, kind, body=b"", fds=()):
    """Returns error, body, descriptors."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    s.sendmsg([message(kind, body)], rights)
    reply, got, _, _ = socket.recv_fds(s, 16384, 4)
    assert reply, "connection closed"
    return struct.unpack("<HHHHIi", reply[:16])[5], reply[16:], got


def process(wait=False):
    """A connection that has said hello as a process does."""
    s = connect(wait)
    page = os.memfd_create("page", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(page, 32768)
    fcntl.fcntl(page, F_ADD_SEALS, F_SEAL_SHRINK)
    err, _, fds = call(s, HELLO, struct.pack("<QQi16s32s4x", 0, 0, os.getpid(), b"test", b"sock"),
                       [page])
    assert err == 0 and len(fds) == 2, (err, fds)
    for fd in [page] + fds:
        os.close(fd)
    return s


def lease(s, block=0):
    """The block, or a negative errno."""
    err, body, _ = call(s, LEASE, struct.pack("<4I", block, 1, 0, 0))
    return err or struct.unpack("<2IiI", body)[0]


def closed(s):
    """Waits for an end of the connection; what comes before is thrown away."""
    try:
        while s.recv(16384):
            pass
    except (ConnectionResetError, BrokenPipeError):
        pass
    return True

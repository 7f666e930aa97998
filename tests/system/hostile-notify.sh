#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A hostile client sets every descriptor that rused shares with it to blocking, and fills each until a
# write would block. rused must not block: it still notifies and answers its other clients.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

here=$(dirname "$(readlink -f "$0")")
export RUN=$RUSE_DIR

"$RUSE_BUILD/ruse" fault seed 1 || die "no rused"
pid=$(rused_pid) || die "no rused"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here timeout 100 python3 - <<'PY' || die "see above"
from rused_client import *

def block(fd):
    """Fills the descriptor, if it can be written, and makes it blocking. An eventfd is full at 2**64 - 2."""
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.fcntl(fd, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    for _ in range(10000):
        try:
            os.write(fd, struct.pack("<Q", 0xfffffffffffffffe))
        except OSError:
            break
    fcntl.fcntl(fd, fcntl.F_SETFL, flags & ~os.O_NONBLOCK)

def hello():
    s = connect()
    page = os.memfd_create("page", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(page, 65536)
    fcntl.fcntl(page, F_ADD_SEALS, F_SEAL_SHRINK)
    err, _, fds = call(s, HELLO, hello_body(os.getpid(), b"evil", b""), [page])
    assert err == 0 and len(fds) == 2, (err, fds)
    return s, fds

evil, fds = hello()
fds += call(evil, LEASE, struct.pack("<4I", 0, 1, 0, 0))[2]
fds += call(evil, NETLINK)[2]
fds += call(evil, UCMA_OPEN)[2]
for fd in fds:
    block(fd)

good, (_, news) = hello()
for seed in range(3000):                            # more than any queue of unread news holds
    s = good if seed % 2 else evil
    s.send(message(FAULT, b"seed %d" % seed))
    assert struct.unpack("<12xi", s.recv(16384)[:16]) == (0,)
assert len(os.read(news, 8)) == 8

# A client that reads its eventfd is notified of the next change.
while True:
    try:
        os.read(news, 8)
    except BlockingIOError:
        break
good.send(message(FAULT, b"seed 1"))
good.recv(16384)
assert len(os.read(news, 8)) == 8
PY
timeout 60 "$RUSE_BUILD/ruse" status >/dev/null || die "rused does not answer"
[ "$(rused_pid)" = "$pid" ] || die "another rused"
exit 0

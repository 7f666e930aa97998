#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# More clients connect than rused accepts. Each further one gets the error EUSERS or a plain close,
# never a connection reset. When the clients have disconnected, rused accepts new ones again.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

here=$(dirname "$(readlink -f "$0")")
export RUN=$RUSE_DIR

ulimit -n 4096 || skip "4096 descriptors are too many here"
"$RUSE_BUILD/ruse" fault seed 1 || die "no rused"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here timeout 250 python3 - <<'PY' || die "see above"
from rused_client import *

EUSERS = -87
HELLO_BODY = hello_body(os.getpid(), b"crowd", b"")

def greet():
    """A connection, or the error that it was answered with; None: closed without an answer."""
    s = connect()
    try:
        err, _, fds = call(s, HELLO, HELLO_BODY)
    except (EOFError, BrokenPipeError):
        return None
    for fd in fds:
        os.close(fd)
    return err or s

crowd = []
while isinstance(new := greet(), socket.socket):
    crowd.append(new)
print("#", len(crowd), "clients")
assert len(crowd) >= 1000, len(crowd)
end = time.monotonic() + 60
answers = [new]                                     # a reset would be an exception
while EUSERS not in answers or len(answers) < 50:   # its HELLO may come after the refusal
    assert time.monotonic() < end, answers
    answers.append(greet())
assert set(answers) <= {EUSERS, None}, answers
for s in crowd:
    s.close()
end = time.monotonic() + 60
while not isinstance(greet(), socket.socket):
    assert time.monotonic() < end
    time.sleep(0.05)
PY
exit 0

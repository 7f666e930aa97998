#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Many short programs, one after the other: each gets a socket of UDP port 4791.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

most=$(ulimit -H -n)
[ "$most" = unlimited ] || [ "$most" -ge 1024 ] || skip "rused may have $most descriptors, and needs one for each socket"

here=$(dirname "$(readlink -f "$0")")
export RUN=$RUSE_DIR

"$RUSE_BUILD/ruse" fault seed 1 || die "no rused"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here timeout 250 python3 - <<'PY' || die "see above"
from rused_client import *

for n in range(400):                        # more than there are sockets
    s = process()
    err, body, fds = call(s, LEASE, struct.pack("<4I", 0, 1, 0, 0))
    assert not err and len(fds) == 3, (n, err, struct.unpack("<2IiI", body))
    for fd in fds:
        os.close(fd)
    s.close()
PY
exit 0

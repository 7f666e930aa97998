#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A rused that is killed at any moment of its start loses no lease of a living process.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

here=$(dirname "$(readlink -f "$0")")
export RUN=$RUSE_DIR

"$RUSE_BUILD/ruse" fault seed 1 || die "no rused"
RUSED=$(rused_pid) || die "no rused"
export RUSED
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here timeout 250 python3 - <<'PY' || die "see above"
import random
import signal
import subprocess
from rused_client import *

def records():
    """The blocks that RUN/leases has for this process."""
    with open(os.environ["RUN"] + "/leases", "rb") as f:
        data = f.read()
    return {at // 16 for at in range(0, len(data), 16)
            if struct.unpack_from("<iIQ", data, at)[0] == os.getpid()}

me = process()
blocks = {lease(me) for _ in range(200)}
assert records() == blocks, (len(records()), len(blocks))
os.kill(int(os.environ["RUSED"]), signal.SIGKILL)
assert closed(me)

lost = 0
for n in range(60):
    rused = subprocess.Popen([os.environ["RUSE_BUILD"] + "/rused", "--rundir", os.environ["RUN"]])
    time.sleep(random.uniform(0, 0.03))
    rused.kill()
    rused.wait()
    lost += records() != blocks
print("#", lost, "of 60 kills lost leases")
assert not lost
PY
exit 0

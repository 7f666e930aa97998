#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs fork.c, and the same with Python: multiprocessing with pyverbs.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

in_ruse "$RUSE_TESTBIN/fork" || die "fork"

[ -z "$(sanitizers)" ] || { note "no Python under sanitizers"; exit 0; }
/usr/bin/python3 -c 'import pyverbs.device' 2>/dev/null || { note "no pyverbs"; exit 0; }
cat >"$T/fork.py" <<'PY'
import errno, multiprocessing, sys
from pyverbs.device import Context
from pyverbs.pd import PD
from pyverbs.cq import CQ
from pyverbs.pyverbs_error import PyverbsRDMAError

def idle(parent, queue):
    # The inherited context has no objects, so that the child can open it anew.
    with PD(parent), CQ(parent, 10):
        queue.put('ok' if parent.query_device().max_qp else 'no max_qp')

def busy(parent, queue):
    try:
        parent.query_device()
        queue.put('query of the parent\'s context succeeded')
        return
    except PyverbsRDMAError as e:
        if e.error_code not in (errno.EIO, -errno.EIO):
            queue.put(f'query: {e}')
            return
    with Context(name='rxe_0') as ctx, PD(ctx) as pd, CQ(ctx, 10) as cq:
        queue.put('ok' if ctx.query_device().max_qp else 'no max_qp')

if __name__ == '__main__':
    multiprocessing.set_start_method('fork')
    ctx, empty = Context(name='rxe_0'), Context(name='rxe_0')
    cq = CQ(ctx, 10)
    queue = multiprocessing.Queue()
    children = [multiprocessing.Process(target=f, args=(c, queue))
                for f, c in [(busy, ctx), (idle, empty)] * 2]
    for c in children:
        c.start()
    said = [queue.get(timeout=30) for _ in children]
    for c in children:
        c.join(30)
    PD(ctx)
    PD(empty)
    print(said, [c.exitcode for c in children])
    sys.exit(said != ['ok'] * 4 or any(c.exitcode for c in children))
PY
in_ruse timeout 100 /usr/bin/python3 "$T/fork.py" || die "multiprocessing"
exit 0

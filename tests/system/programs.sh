#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Programs with libibverbs by dlopen(), next to other preloads, with signals, threads and children
# (programs.c), and a Python program.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

program=$RUSE_TESTBIN/programs
for way in plain segv cancel spawn; do
	in_ruse timeout 60 "$program" $way || die "programs $way"
done
# RTLD_DEEPBIND bypasses every preload, so the device may fail to open. A sanitizer's library refuses the flag.
if [ -z "$(sanitizers)" ]; then
	in_ruse timeout 60 "$program" deepbind 2>"$T/err" && note "deepbind works" ||
		grep -q 'open_device' "$T/err" || die "deepbind: $(cat "$T/err")"
fi

# second LIBRARY: runs the program with our preload before and after another one
second() {
	local lib
	lib=$(find /usr/lib -name "$1" 2>/dev/null | head -n 1)
	[ -n "$lib" ] || die "no $1: scripts/deps installs it"
	PRELOAD="$PRELOAD:$lib" in_ruse timeout 60 "$program" plain || die "$1 behind us"
	[ -n "$(sanitizers)" ] ||
		PRELOAD="$lib:$PRELOAD" in_ruse timeout 60 "$program" plain || die "$1 before us"
}
second librspreload.so.1
[ -n "$(sanitizers)" ] || second libjemalloc.so.2

note "Python's multiprocessing"
in_ruse timeout 100 /usr/bin/python3 - <<'PY' || die "multiprocessing"
import multiprocessing as mp
import pyverbs.device as d

def work(queue):
    ctx = d.Context(name="rxe_0")
    queue.put(ctx.query_device().max_qp)
    ctx.close()

if __name__ == "__main__":
    mine = d.Context(name="rxe_0")
    want = mine.query_device().max_qp
    method = mp.get_context("fork")
    queue = method.Queue()
    workers = [method.Process(target=work, args=(queue,)) for _ in range(4)]
    for w in workers:
        w.start()
    got = [queue.get(timeout=30) for _ in workers]
    for w in workers:
        w.join()
        assert w.exitcode == 0, w.exitcode
    assert got == [want] * 4, got
    assert mine.query_device().max_qp == want
PY
exit 0

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse status` tells which registered memory peers may map, and of the rest why they may not (status.c); `rdma resource`
# has only what the kernel has.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

# memory_of EXPECTED...: a line "KIND MRS BYTES WHY" for each row of the program's memory, in any order
memory_of() {
	rm -f "$T/in" "$T/out"	# the last program's "ready" is none of this one
	mkfifo "$T/in"
	in_ruse "$RUSE_TESTBIN/status" <"$T/in" >"$T/out" &
	local pid=$!
	exec 3>"$T/in"
	wait_for 20 grep -qs ready "$T/out" || die "status.c does not start"
	"$RUSE_BUILD/ruse" status --json >"$T/status.json" || die "ruse status --json"
	"$RUSE_BUILD/ruse" status >"$T/status" || die "ruse status"
	in_ruse rdma resource show mr -d >"$T/rdma" || die "rdma resource"
	exec 3>&-
	wait "$pid" || die "status.c: status $?"
	python3 - "$T/status.json" "$@" <<'END' || { cat "$T/status"; die "memory"; }
import json, sys
with open(sys.argv[1], encoding="utf-8") as f:
    processes = [p for p in json.load(f)["processes"] if p["comm"] == "status"]
rows = [m for p in processes for m in p["memory"]]
have = {f'{m["memory"]} {m["mrs"]} {m["bytes"]} {m["why"]}'.strip() for m in rows}
want = set(sys.argv[2:])
for line in sorted(have ^ want):
    print("only in", "the status:" if line in have else "the test:", line)
sys.exit(have != want)
END
}

if [ "$(cat /proc/sys/vm/overcommit_memory)" = 2 ]; then
	memory_of "private 7 16831564 a limit forbids the memfd: see \`ruse doctor\`"
	exit 0
fi
other="not allocated page-aligned, or before RDMA was used: see RUSE_MEMORY"
stack="private 1 100 a stack"
file="private 1 300 a mapped file, shared memory or static data"
small="private 1 200 $other"
# Without PROCMAP_QUERY (Linux 6.11) a process does not ask what its other memory is.
if ! printf '6.11\n%s\n' "$(uname -r)" | sort -CV; then
	note "no PROCMAP_QUERY"
	stack="private 3 600 $other" file=$stack small=$stack
fi
covered="private 1 12288 the program has mapped something over the memfd (MAP_FIXED)"
memory_of "shared 3 16818676" "$stack" "$file" "$small" "$covered"
grep -qE 'processes [0-9]+: memory' "$T/status" || die "$(cat "$T/status")"
grep -qE '^shared +3 +16818676' "$T/status" || die "$(cat "$T/status")"
grep -qE 'mrlen 16777216 .*comm status' "$T/rdma" || die "$(cat "$T/rdma")"
! grep -qE 'shared|private|memory' "$T/rdma" || die "rdma tells what the kernel does not: $(cat "$T/rdma")"

# The last block does not fit; what was registered before it has the same reasons as above.
large="private 1 16777216 outside the memfd, which has been full: see RUSE_MEMORY"
RUSE_MEMORY=1M memory_of "shared 2 41460" "$stack" "$file" "$small" "$covered" "$large"
RUSE_MEMORY=private memory_of "private 7 16831564 RUSE_MEMORY is private, or less than 64K"
(
	ulimit -f 102400
	memory_of "private 7 16831564 a limit forbids the memfd: see \`ruse doctor\`"
) || exit
exit 0

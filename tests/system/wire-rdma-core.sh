#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rdma-core's test-suite over the wire: it has both ends in one process, whose packets go through
# UDP port 4791 of one host (RUSE_LINK=udp). IPv4 and IPv6; then with RC packets lost, reordered
# and duplicated, one fault at a time. RDMA_CORE_ROUNDS=10 is the long form.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
here=$(realpath "${BASH_SOURCE%/*}")
rounds=${RDMA_CORE_ROUNDS:-1}
table=
rdma_core_suite

# suite_on FAMILY: the outcomes must be those in the table of this rdma-core
suite_on() {
	local round sent
	sent=$(ruse_on a cat /sys/class/infiniband/rxe_0/ports/1/hw_counters/sent_pkts)
	for round in $(seq "$rounds"); do
		ruse_on a env -C "$T/tests" RUSE_LINK=udp timeout 250 /usr/bin/python3 "$here/rdma_core_run.py" \
			"$table" --dev rxe_0 --gid "$(gid a "$1")" >"$T/out" 2>&1 ||
			{ cat "$T/out"; die "IPv$1, round $round"; }
		grep '^NEWS: ' "$T/out"
	done
	sent=$(($(ruse_on a cat /sys/class/infiniband/rxe_0/ports/1/hw_counters/sent_pkts) - sent))
	note "IPv$1, $sent packets: $(tail -n 1 "$T/out")"
}

fault() {
	on a "$RUSE_BUILD/ruse" fault "$@" >/dev/null || die "ruse fault $*"
}

hosts 4200
suite_on 4
suite_on 6
rounds=1
export RDMA_CORE_LOSSY=1
fault seed 4
fault add drop 2% service RC dir out
fault add reorder 2 1% service RC dir out
fault add duplicate 2% service RC dir out
note "2 % of RC lost, 2 % repeated, 1 % overtaken"
suite_on 4
suite_on 6
n=$(on a "$RUSE_BUILD/ruse" fault list --json |
	python3 -c 'import json, sys; print(sum(r["acted"] for r in json.load(sys.stdin)["rules"]))')
[ "$n" -gt 50 ] || die "$n faults: nothing was proven"
exit 0

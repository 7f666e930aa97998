#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs rdma-core's test-suite as Debian ships it and checks it against the table of its
# version (rdma-core-*.tsv): every test must end as the table says, in each round. The table holds
# the reason of each skip. RDMA_CORE_ROUNDS=10 is the long form.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

here=$(realpath "${BASH_SOURCE%/*}")
table=
rdma_core_suite
cd "$T/tests" || exit 1

# Debian's pyverbs belongs to the system's python, whatever comes first on PATH.
for round in $(seq "${RDMA_CORE_ROUNDS:-2}"); do
	in_ruse timeout 250 /usr/bin/python3 "$here/rdma_core_run.py" "$table" \
		--dev rxe_0 --gid 1 >"$T/out" 2>&1 || { cat "$T/out"; die "round $round"; }
	grep '^NEWS: ' "$T/out"
	note "$(tail -n 1 "$T/out")"
done
exit 0

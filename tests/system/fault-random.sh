#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Programs of others under random rules of `ruse fault` at the verbs (fault_random.py): FAULT_SEEDS of them (6), from
# FAULT_FIRST on (1).
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

here=$(realpath "${BASH_SOURCE%/*}")
for p in ucx_perftest mpicc.openmpi mpirun.openmpi; do
	command -v $p >/dev/null || skip "no $p (scripts/deps --test)"
done
mpicc.openmpi -o "$T/mpi" "$here/hpc-mpi.c" || die "mpicc"
table=
rdma_core_suite
RDMA_CORE_TABLE=$table UCX_ALONE=$(ucx_alone) TMPDIR=$T "$here/fault_random.py" "$(realpath "$RUSE_BUILD/ruse")" "$T/tests" "${FAULT_FIRST:-1}" \
	"${FAULT_SEEDS:-6}" "$T/mpi" >"$T/out" 2>&1 || { cat "$T/out"; die "see above"; }
sed 's/^/# /' "$T/out"
exit 0

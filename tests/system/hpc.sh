#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# UCX's own benchmark and two MPI libraries over UCX, with nothing set but the transport.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

for p in ucx_perftest mpicc.openmpi mpirun.openmpi mpicc.mpich mpirun.mpich; do
	command -v $p >/dev/null || skip "no $p (scripts/deps --test)"
done

for tls in rc_v ud_v; do
	for t in tag_lat tag_bw ucp_put_lat ucp_get ucp_am_lat stream_lat ucp_add ucp_fadd \
		ucp_cswap; do
		note "$tls $t"
		port=$(free_port)
		ucx="env UCX_TLS=$tls ucx_perftest -p $port"
		pair "$port" "$ucx" "$ucx 127.0.0.1 -t $t -n 100 -w 10" || die "$t over $tls"
		grep -q '^Final:' "$T/client.out" || die "$t over $tls: no result"
	done
done

# Messages that the device has sent.
sends() { in_ruse cat /sys/class/infiniband/rxe_0/ports/1/hw_counters/rdma_sends; }

# mpi NAME COMMAND...: all ranks on this host, which may have fewer CPUs.
mpi() {
	local name=$1 before
	shift
	before=$(sends)
	in_ruse timeout 120 "$@" "$T/$name" >"$T/$name.out" 2>&1 || { cat "$T/$name.out" >&2; die "$*"; }
	grep -q '^2 ranks agree$' "$T/$name.out" || die "$*: $(cat "$T/$name.out")"
	# Not by memory that the ranks share.
	[ $(($(sends) - before)) -gt 100 ] || die "$*: $(($(sends) - before)) messages"
}

mpicc.openmpi -o "$T/openmpi" "${BASH_SOURCE%/*}/hpc-mpi.c" || die "mpicc.openmpi"
mpicc.mpich -o "$T/mpich" "${BASH_SOURCE%/*}/hpc-mpi.c" || die "mpicc.mpich"
for tls in rc_v ud_v; do
	note "Open MPI, MPICH over $tls"
	export UCX_TLS=$tls
	mpi openmpi mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 --mca pml ucx
	mpi mpich env MPIR_CVAR_NOLOCAL=1 mpirun.mpich -n 2
done

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# UCX's benchmark, libfabric's pingpong, and two MPI libraries over UCX run on one host, then on two.
# Of their settings only the transport is changed. HPC_LONG=1 adds sizes, runs of 2, 4 and 8 ranks, and
# runs with the transports that UCX chooses itself. Both ends poll, so on a busy machine each message
# costs a time slice: there are few messages, and a command may take HPC_TIMEOUT seconds (300).
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"

for p in ucx_perftest fi_pingpong mpicc.openmpi mpirun.openmpi mpicc.mpich mpirun.mpich; do
	command -v $p >/dev/null || skip "no $p (scripts/deps --test)"
done
mpicc.openmpi -o "$T/openmpi" "${BASH_SOURCE%/*}/hpc-mpi.c" || die "mpicc.openmpi"
mpicc.mpich -o "$T/mpich" "${BASH_SOURCE%/*}/hpc-mpi.c" || die "mpicc.mpich"
export PAIR_TIMEOUT=${HPC_TIMEOUT:-300}
hosts 4200

# A program with an open device on each host: rused ends after the last one, and the counters with
# it.
for h in a b; do
	ruse_on $h stdbuf -oL ibv_asyncwatch >"$T/watch.$h" 2>&1 &
	wait_for 120 grep -q 'async event FD' "$T/watch.$h" || die "$(cat "$T/watch.$h")"
done

long=${HPC_LONG:-}
alone=$(ucx_alone)
atomics="ucp_add ucp_fadd ucp_cswap"

# perftest CLIENT TRANSPORT TEST OPTION...: runs one test of ucx_perftest, with the client on host CLIENT
perftest() {
	local client=$1 tls=$2 t=$3 port ucx
	shift 3
	port=$(free_port)
	ucx="env UCX_TLS=$tls ucx_perftest $alone -p $port"
	pair_on a "$client" "$port" "$ucx" "$ucx ${ADDR4[a]} -t $t $*" || die "$t $* over $tls"
	grep -q '^Final:' "$T/client.out" || die "$t $* over $tls: no result"
}

# ucx CLIENT: every operation of ucx_perftest
ucx() {
	local tls t size
	for tls in rc_v ud_v; do
		note "a, $1: ucx_perftest over $tls"
		for t in tag_lat tag_bw ucp_put_lat ucp_get ucp_am_lat stream_lat $atomics; do
			perftest "$1" $tls "$t" -n 30 -w 3
			# Atomics have one size.
			[[ "$long" && " $atomics " != *" $t "* ]] || continue
			for size in 1000 65536 1000000; do
				perftest "$1" $tls "$t" -n 100 -w 10 -s $size
			done
		done
	done
}

# fabric CLIENT: libfabric's providers over verbs; -c compares each byte. ofi_rxm may crash when it
# disconnects after the last message (doc/testing.md, libfabric): then the run is repeated.
fabric() {
	local ep port pp try opts="-c -I 3"
	[ ! "$long" ] || opts="-c -I 20 -S all"
	for ep in "verbs -e msg" "verbs -e dgram" "verbs;ofi_rxm -e rdm" \
		"verbs;ofi_rxm -e rdm -m tagged"; do
		note "a, $1: fi_pingpong -p $ep"
		pp="fi_pingpong -p $ep $opts"
		for try in 1 2 3; do
			port=$(free_port)
			pair_on a "$1" "$port" "$pp -B $port" "$pp -P $port ${ADDR4[a]}" && break
			[[ $try != 3 && $ep == *ofi_rxm* ]] || die "$pp"
			# The last of the sizes was verified, and then it crashed.
			grep -q '^1m ' "$T/server.out" || die "$pp"
			grep -q 'terminated with signal 11' "$T/server.out" "$T/client.out" || die "$pp"
		done
	done
}

# A remote shell for the MPI libraries, which always runs the command on host b. It sets the host name,
# as Open MPI tells hosts apart by it. Apart from RUSE_DIR the environment is that of mpirun.
cat >"$T/agent" <<-END
	#!/bin/sh
	# agent [-OPTION...] ADDRESS COMMAND...
	while [ "\${1#-}" != "\$1" ]; do shift; done
	shift
	export RUSE_DIR=$T/b
	exec nsenter -t ${HOST[b]} -n -m -- unshare -u sh -c "hostname b; \$*"
END
chmod +x "$T/agent"

# sends HOST: messages that the device has sent
sends() { ruse_on "$1" cat /sys/class/infiniband/rxe_0/ports/1/hw_counters/rdma_sends; }

# mpi CLIENT RANKS LIBRARY COMMAND...: all ranks on host a, or every other one on b. Each host may
# have fewer CPUs.
mpi() {
	local client=$1 ranks=$2 name=$3 rc=0 host n
	shift 3
	declare -A before=([a]=$(sends a) [b]=$(sends b))
	ruse_on a timeout "$PAIR_TIMEOUT" "$@" -n "$ranks" "$T/$name" >"$T/$name.out" 2>&1 || rc=$?
	if [ $rc != 0 ] || ! grep -q "^$ranks ranks agree\$" "$T/$name.out"; then
		die "status $rc: $*: $(cat "$T/$name.out")"
	fi
	# The ranks must have used RDMA, and not shared memory or TCP.
	[ -n "${UCX_TLS:-}" ] || return 0
	for host in a "$client"; do
		n=$(($(sends "$host") - ${before[$host]}))
		[ $n -gt 100 ] || die "$*: $n messages of host $host"
	done
}

# mpis CLIENT RANKS
mpis() {
	local openmpi=() mpich=(env MPIR_CVAR_NOLOCAL=1 mpirun.mpich)
	if [ "$1" = b ]; then
		openmpi=(--mca plm_rsh_agent "$T/agent" -H "${ADDR4[a]},${ADDR4[b]}" --map-by node)
		mpich+=(-genvnone -launcher rsh -launcher-exec "$T/agent"
			-hosts "${ADDR4[a]},${ADDR4[b]}")
	fi
	note "a, $1: Open MPI and MPICH, $2 ranks, ${UCX_TLS:-default transports}"
	mpi "$1" "$2" openmpi mpirun.openmpi --allow-run-as-root --oversubscribe --mca pml ucx \
		"${openmpi[@]}"
	mpi "$1" "$2" mpich "${mpich[@]}"
}

for client in a b; do
	ucx $client
	fabric $client
	for tls in rc_v ud_v ${long:+""}; do
		export UCX_TLS=$tls
		[ "$tls" ] || unset UCX_TLS
		for ranks in 2 4 ${long:+8}; do
			[ "$long" ] || [ "$client$ranks" != b2 ] || continue
			mpis $client "$ranks"
		done
	done
done

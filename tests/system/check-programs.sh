#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stock programs under `ruse run --check` have no error: perftest, rping, ucmatose, udaddy, qperf, UCX's benchmark, MPI,
# libfabric's pingpong and fio. CHECK_LONG=1: all rows of check-programs.tsv, on shm and by UDP; else the short ones on shm. CHECK_LONG=show
# prints what is found, and judges nothing. CHECK_KINDS: the programs. CHECK_WORDS: of RUSE_CHECK.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/stock-pairs.sh
. "${BASH_SOURCE%/*}/stock-pairs.sh"
export "${SANITIZER_OPTIONS[@]}"
here=$(realpath "${BASH_SOURCE%/*}")
long=${CHECK_LONG:-}
export PAIR_TIMEOUT=40
export RUSE_CHECK=${CHECK_WORDS:-1}

run_perftest_cm() {	# COMMAND...
	local port
	# Its client is often quicker than its server, and its own retry may crash (doc/testing.md).
	for _ in 1 2 3 4 5 6; do
		port=$(free_port)
		run_perftest_try "$port" "$@" && return
	done
	return 1
}

run_perftest_try() {	# PORT COMMAND...
	local port=$1
	shift
	run_both "$* -R -F -p $port" "$* -R -F -p $port 198.51.100.1"
}

run_ucx() {	# TRANSPORT TEST
	local port
	port=$(free_port)
	pair "$port" "env UCX_TLS=$1 ucx_perftest $(ucx_alone) -p $port" \
		"env UCX_TLS=$1 ucx_perftest $(ucx_alone) -p $port localhost -t $2 -n 30 -w 3"
}

run_fi() {	# OPTION...
	local port
	port=$(free_port)
	# fi_pingpong listens on the port by TCP.
	pair "$port" "fi_pingpong -B $port $*" "fi_pingpong -P $port $* 198.51.100.1"
}

run_fio() {	# VERB
	local port all
	port=$(free_port)
	all="--ioengine=rdma --port=$port --bs=16k --size=1m --verify=crc32c --do_verify=0 --verify_state_save=0"
	# fio sends without RNR retries: there is a receive for each message.
	run_both "fio --name=server $all --bindname=198.51.100.1 --rw=read --iodepth=128" \
		"fio --name=client $all --hostname=198.51.100.1 --verb=$1 --rw=write --iodepth=8 --iodepth_batch_complete=1"
}

run_udaddy() {	# it has a port of its own, and -p is something else
	run_both "udaddy $*" "udaddy $* -s 198.51.100.1"
}

run_cm() {	# PROGRAM OPTION...
	local port
	port=$(free_port)
	run_both "$* -p $port" "$* -p $port -s 198.51.100.1"
}

run_mpi() {	# openmpi|mpich TRANSPORT
	local run="mpirun.openmpi --allow-run-as-root --oversubscribe --mca pml ucx"
	[ "$1" = openmpi ] || run=mpirun.mpich
	[ -x "$T/$1" ] || "mpicc.$1" -o "$T/$1" "$here/hpc-mpi.c" || return 1
	# shellcheck disable=SC2086
	in_ruse timeout 60 env UCX_TLS="$2" $run -n 2 "$T/$1" >"$T/server.out" 2>"$T/client.out"
}

# one KIND COMMAND: no error; a program that fails under --check must fail without it too
one() {
	local rc=0 found
	: >"$T/server.out"
	: >"$T/client.out"
	# shellcheck disable=SC2086
	"run_$1" $2 2>"$T/pair.out" || rc=$?
	found=$(cat "$T/server.out" "$T/client.out" | grep -a -A12 'CK-0')
	if [ "$long" = show ]; then
		note "$1 $2: status $rc"
		cat "$T/server.out" "$T/client.out" | grep -a 'CK-' | sort | uniq -c
		echo "$found" | head -n 14
		[ $rc -eq 0 ] || tail -n 5 "$T/server.out" "$T/client.out"
		return
	fi
	[ ! "$found" ] || die "$1 $2: $found"
	[ $rc -eq 0 ] || die "$1 $2: status $rc: $(cat "$T/server.out" "$T/client.out")"
}

# What is looked for below is written if there is an error.
in_ruse "$RUSE_BUILD/tests/check/check-programs" send-changed wrong 2>&1 | grep -q CK-001 || die "RUSE_CHECK has no effect"

n=0
for link in shm ${long:+udp}; do
	[ "$link" = shm ] || export RUSE_LINK=udp
	while IFS=$'\t' read -r form kind program command; do
		case $form in ''|'#'*) continue ;; esac
		[ "$long" ] || [ "$form" = short ] || continue
		case " ${CHECK_KINDS:-$kind} " in *" $kind "*) ;; *) continue ;; esac
		command -v "$program" >/dev/null || continue
		one "$kind" "$command" </dev/null
		n=$((n + 1))
	done <"$here/check-programs.tsv"
	"$RUSE_BUILD/ruse" stop --now >/dev/null
	wait_for 10 eval '! rused_pid >/dev/null' || die "rused does not end"
done
[ $n -gt 5 ] || [ "${CHECK_KINDS:-}" ] || skip "$n programs are installed (scripts/deps --test)"
note "$n runs"
exit 0

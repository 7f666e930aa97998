#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stock programs on devices that are like an adapter: each row of like-programs.tsv passes, or is refused as there.
# LIKE_LONG=1: every row under every adapter. LIKE_LONG=show prints the results and judges nothing; LIKE_NAMES are the
# adapters.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/stock-pairs.sh
. "${BASH_SOURCE%/*}/stock-pairs.sh"
export "${SANITIZER_OPTIONS[@]}"
here=$(realpath "${BASH_SOURCE%/*}")
long=${LIKE_LONG:-}
export PAIR_TIMEOUT=40

for p in ib_send_bw rping qperf ucx_perftest; do
	command -v $p >/dev/null || skip "no $p (scripts/deps --test)"
done
alone=$(ucx_alone)

run_ucx() {	# TRANSPORT TEST [VARIABLE=VALUE]
	local port
	port=$(free_port)
	pair "$port" "env UCX_TLS=$1 ${3:-} ucx_perftest $alone -p $port" \
		"env UCX_TLS=$1 ${3:-} ucx_perftest $alone -p $port localhost -t $2 -n 30 -w 3"
}

run_mpi() {	# TRANSPORT
	[ -x "$T/mpi" ] || mpicc.openmpi -o "$T/mpi" "$here/hpc-mpi.c" || return 1
	in_ruse timeout 60 env UCX_TLS="$1" mpirun.openmpi --allow-run-as-root --oversubscribe --mca pml ucx -n 2 \
		"$T/mpi" >&2
}

# one ADAPTER KIND COMMAND REFUSALS: REFUSALS is adapter=expression,... of what the program prints where it is refused
one() {
	local like=$1 kind=$2 command=$3 want='' rc=0 r
	local IFS=,
	for r in $4; do
		[ "${r%%=*}" != "$like" ] || want=${r#*=}
	done
	unset IFS
	: >"$T/server.out"
	: >"$T/client.out"
	# shellcheck disable=SC2086
	"run_$kind" $command 2>"$T/out" || rc=$?
	cat "$T/client.out" "$T/server.out" >>"$T/out"
	if [ "$long" = show ]; then
		note "$like	$kind $command	$rc	$(grep -iE 'error|fail|exceed|unable|can.t|could|refuse|limit|not sup' "$T/out" |
			head -n 3 | tr '\n' ' ')"
	elif [ ! "$want" ]; then
		[ $rc -eq 0 ] || die "$like: $kind $command: status $rc: $(cat "$T/out")"
	else
		[ $rc -ne 0 ] || die "$like: $kind $command is not refused: $(cat "$T/out")"
		grep -qE -- "$want" "$T/out" || die "$like: $kind $command: not \`$want\` but $(cat "$T/out")"
	fi
}

for like in ${LIKE_NAMES:-connectx-5 e810 bnxt strictest ${long:+rxe connectx-6 connectx-7}}; do
	export RUSE_LIKE=$like
	n=0
	while IFS=$'\t' read -r form kind command refusals; do
		case $form in ''|'#'*) continue ;; esac
		[ "$long" ] || [ "$form" = short ] || continue
		one "$like" "$kind" "$command" "$refusals" </dev/null
		n=$((n + 1))
	done <"$here/like-programs.tsv"
	[ $n -gt 5 ] || die "$n rows"
	note "$like: $n rows"
	"$RUSE_BUILD/ruse" stop --now >/dev/null
	wait_for 10 eval '! rused_pid >/dev/null' || die "rused does not end"
done
exit 0

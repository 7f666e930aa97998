#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two hosts on a bad network: `ruse fault` on both drops, reorders, duplicates and damages
# packets, over IPv4 and IPv6. Every program must end in time, correctly or with an error
# completion, and completed payload must be right. WIRE_LONG=1: every size, and more of each.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
export PAIR_TIMEOUT=${WIRE_TIMEOUT:-60}
long=${WIRE_LONG:-}
port=18800
errors=0
waits=
declare -A GID

fault() {
	local h=$1
	shift
	on "$h" "$RUSE_BUILD/ruse" fault "$@" >/dev/null || die "ruse fault $*"
}

# network PERCENT: sets the loss and the other faults in both directions
network() {
	local h
	percent=$1
	for h in a b; do
		fault $h del all
		fault $h add drop "$percent%" dir out
		fault $h add corrupt 0.5% dir out
		fault $h add duplicate 1% dir out
		fault $h add reorder 3 1% dir out
		fault $h add delay 100us jitter 50us 1% dir out
	done
	note "== $percent % lost, 1 % repeated, 1 % overtaken, 1 % late, 0.5 % damaged"
}

# Messages of programs that have seen an error completion: the retry limit, or a flush.
CLEAN='transport retry counter exceeded|RNR retry counter exceeded|Work Request Flushed'
CLEAN+='|Failed status (5|12|13)\b|Completion with error|syndrom'

# both SERVER CLIENT "SERVER COMMAND" "CLIENT COMMAND": both ends succeed, or one has seen an
# error completion. Its peer may then wait for data that never comes, as on any network, and is
# stopped. An end that waits although the other has not failed hangs: a failure.
both() {
	local s=$1 c=$2 end=$((SECONDS + PAIR_TIMEOUT)) rc src pids
	rm -f "$T"/{server,client}.pid
	# Other losses in each case, and different ones in each direction.
	fault "$s" seed "$port"
	fault "$c" seed $((port + 1000))
	ruse_on "$s" bash -c "echo \$\$ >$T/server.pid; exec $3" >"$T/server.out" 2>&1 &
	pids[0]=$!
	wait_for 20 listening_on "$s" "$port" || die "server does not listen: $3: $(cat "$T/server.out")"
	ruse_on "$c" bash -c "echo \$\$ >$T/client.pid; exec $4" >"$T/client.out" 2>&1 &
	pids[1]=$!
	while kill -0 "${pids[0]}" 2>/dev/null || kill -0 "${pids[1]}" 2>/dev/null; do
		sleep 0.05
		[ $SECONDS -lt $end ] || break
		# One end has failed: the other gets a little more time.
		if [ $end -gt $((SECONDS + 3)) ] && { failure 0 || failure 1; }; then
			end=$((SECONDS + 3))
		fi
	done
	ended 0 server; src=$?
	ended 1 client; rc=$?
	result=right
	[ "$rc $src" = "0 0" ] && return 0
	result="waits for what was lost"
	[ -z "$waits" ] || [[ ! "$rc $src" =~ ^(0|137)\ (0|137)$ ]] || return 0
	# 137: stopped by this script.
	if [ "$rc $src" != "137 137" ] && [ "$rc $src" != "0 137" ] && [ "$rc $src" != "137 0" ] &&
		{ [ $rc -lt 128 ] || [ $rc = 137 ]; } && { [ $src -lt 128 ] || [ $src = 137 ]; } &&
		grep -qE "$CLEAN" "$T/client.out" "$T/server.out"; then
		# An end that has finished does not answer if its last ACK was lost. Otherwise the
		# retry limit is reached by eight losses in a row, which is accepted at 20 % loss
		# only.
		errors=$((errors + 1))
		result="done, its last ACK was lost"
		[[ "$rc $src" =~ ^(0 [1-9]|[1-9][0-9]*\ 0$) ]] && return 0
		result="failed cleanly ($rc $src)"
		[ "$percent" -lt 20 ] || return 0
	fi
	die "at $percent %: client $rc, server $src (137: hung): $4
$(sed 's/^/client| /' "$T/client.out"; sed 's/^/server| /' "$T/server.out")"
}

# failure INDEX: has this end ended with an error?
failure() {
	kill -0 "${pids[$1]}" 2>/dev/null && return 1
	! wait "${pids[$1]}"
}

# ended INDEX NAME: returns the end's status; kills it if it still runs
ended() {
	! kill -0 "${pids[$1]}" 2>/dev/null || kill -9 "$(cat "$T/$2.pid")"
	wait "${pids[$1]}"
}

# ping_on SERVER CLIENT FAMILY TOOL OPTIONS...: runs a pingpong
ping_on() {
	local s=$1 c=$2 f=$3 tool=$4
	shift 4
	port=$((port + 1))
	both "$s" "$c" "$tool -d rxe_0 -g ${GID[$s$f]} -p $port $*" \
		"$tool -d rxe_0 -g ${GID[$c$f]} -p $port $* ${ADDR4[$s]}"
	! grep -hiE 'invalid data' "$T/client.out" "$T/server.out" || die "wrong data: $tool"
	note "IPv$f $tool $*: $result"
}

# once_on SERVER CLIENT FAMILY TOOL OPTIONS...: a pingpong over an unreliable service: after a
# loss it waits forever and is stopped; what arrives must be right
once_on() {
	local PAIR_TIMEOUT=2 waits=yes
	ping_on "$@"
}

# unrel_on SERVER CLIENT FAMILY uc|ud: of many messages most must arrive, and those must be right
unrel_on() {
	local s=$1 c=$2 f=$3 u="$RUSE_TESTBIN/unrel $4 500"
	port=$((port + 1))
	both "$s" "$c" "env VERBS_GID=${GID[$s$f]} $u $port" \
		"env VERBS_GID=${GID[$c$f]} $u $port ${ADDR4[$s]}"
	note "IPv$f unrel $4: $(tail -n 1 "$T/server.out")"
}

# perf_on SERVER CLIENT FAMILY TOOL OPTIONS...: runs a perftest program
perf_on() {
	local s=$1 c=$2 f=$3 tool=$4
	shift 4
	port=$((port + 1))
	both "$s" "$c" "$tool -d rxe_0 -x ${GID[$s$f]} -F -p $port $*" \
		"$tool -d rxe_0 -x ${GID[$c$f]} -F -p $port $* ${ADDR4[$s]}"
	note "IPv$f $tool $*: $result"
}

# verify_on SERVER CLIENT FAMILY BYTES: every operation in every size class, each byte checked
verify_on() {
	local s=$1 c=$2 f=$3 v="VERIFY_MAX=$4 $RUSE_TESTBIN/verify tcp"
	port=$((port + 1))
	both "$s" "$c" "env VERBS_GID=${GID[$s$f]} $v $port" \
		"env VERBS_GID=${GID[$c$f]} $v $port ${ADDR4[$s]}"
	note "IPv$f verify up to $4: $result: $(tail -n 1 "$T/client.out")"
}

# acted HOST: how often all rules of the host have acted
acted() {
	on "$1" "$RUSE_BUILD/ruse" fault list --json |
		python3 -c 'import json, sys; print(sum(r["acted"] for r in json.load(sys.stdin)["rules"]))'
}

pingpongs() {
	local n=$((percent < 5 ? 100 : percent < 20 ? 40 : 12))
	ping_on "$@" ibv_rc_pingpong -c -n $n
	ping_on "$@" ibv_rc_pingpong -c -e -m 4096 -s 65536 -n $((n / 4))
	ping_on "$@" ibv_rc_pingpong -c -m 256 -s 20000 -n $((n / 4))
	ping_on "$@" ibv_srq_pingpong -c -q 4 -n $n -r 100
	once_on "$@" ibv_uc_pingpong -c -m 4096 -n 10
	once_on "$@" ibv_ud_pingpong -c -s 1000 -n 10
	unrel_on "$@" uc
	unrel_on "$@" ud
}

perftests() {
	local n=$((percent < 5 ? 100 : percent < 20 ? 40 : 12)) tool
	for tool in send write read; do
		perf_on "$@" ib_${tool}_bw -s 65536 -m 4096 -n $n
		perf_on "$@" ib_${tool}_lat -s 8 -n $n
	done
	# Windows in both directions at once, with acknowledgements between the data.
	[ "$percent" -gt 5 ] || perf_on "$@" ib_send_lat -s 524288 -n 20
	perf_on "$@" ib_atomic_bw -n $n
	perf_on "$@" ib_atomic_lat -A CMP_AND_SWAP -n $n
	[ -z "$long" ] || for tool in send write read; do
		PAIR_TIMEOUT=600
		perf_on "$@" ib_${tool}_bw -a -n 20
		perf_on "$@" ib_${tool}_bw -s 100000 -m 256 -n 50 -q 8
		perf_on "$@" ib_${tool}_lat -a -n 20
	done
}

hosts 4200
for h in a b; do
	for f in 4 6; do
		GID[$h$f]=$(gid $h $f)
	done
done
upto=([1]=4096 [5]=512 [20]=9)
levels=(1 20)
[ -z "$long" ] || levels=(1 5 20)
# Fewer levels under a sanitizer, which is slow.
[ -z "$(sanitizers)" ] || levels=(5)
for p in "${levels[@]}"; do
	network "$p"
	for f in 4 6; do
		# At 20 % one message of some hundreds fails.
		verify_on a b $f "${long:+10}${upto[$p]}"
		if [ "$long" ] || [ $f = 4 ]; then
			pingpongs a b $f
			perftests b a $f
		else
			n=$((p < 20 ? 40 : 12))
			ping_on a b $f ibv_rc_pingpong -c -n $n
			perf_on b a $f ib_read_bw -s 65536 -m 1024 -n $n
			unrel_on b a $f ud
		fi
	done
	n=$(($(acted a) + $(acted b)))
	[ $n -gt 100 ] || die "$n faults: that was a good network"
	note "$n faults"
done
note "$errors clean failures"
exit 0

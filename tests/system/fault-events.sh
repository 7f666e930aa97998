#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ruse fault event: the rows of fault-events.tsv, ibv_asyncwatch, several programs, a stopped program, a fabric.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

fault() { "$RUSE_BUILD/ruse" fault "$@"; }

# start KIND: runs the program; sets qpn and pid
start() {
	: >"$T/out"
	mkfifo "$T/in"
	in_ruse timeout 100 "$RUSE_TESTBIN/fault-events" "$1" <"$T/in" >"$T/out" 2>"$T/err" &
	job=$!
	exec 9>"$T/in"
	wait_for 30 grep -q '^ready' "$T/out" || die "fault-events $1: $(cat "$T/err")"
	read -r _ qpn pid < <(grep '^ready' "$T/out")
}

stop() {
	exec 9>&-
	wait "$job" || die "fault-events: $(cat "$T/err")"
	rm "$T/in"
}

# lines N: has the program printed N lines about events?
lines() { [ "$(grep -c '^event' "$T/out")" -ge "$1" ]; }

number=0
while IFS=$'\t' read -r event kind clauses want reason; do
	[[ $event != \#* ]] || continue
	number=$((number + 1))
	start "$kind"
	clauses=${clauses#-}
	clauses=${clauses//QPN/$qpn}
	clauses=${clauses//PID/$pid}
	# shellcheck disable=SC2086
	got=$(fault event "$event" $clauses 2>&1)
	rc=$?
	if [ "$want" = refused ]; then
		[ $rc != 0 ] || die "$event $kind $clauses: taken"
		[[ $got == "ruse fault: "*"$reason"* ]] || die "$event $kind $clauses: says '$got', not '$reason'"
		! lines 1 || die "$event $kind: refused, but $(cat "$T/out")"
		stop
		continue
	fi
	[ "$rc $got" = "0 1" ] || die "$event $kind $clauses: '$got', status $rc"
	want=${want// \/ /$'\n'}
	wait_for 30 lines "$(wc -l <<<"$want")" || die "$event $kind: no event"
	[ "$(grep '^event' "$T/out" | sed 's/ *$//')" = "$want" ] ||
		die "$event $kind: '$(cat "$T/out")', not '$want'"
	"$RUSE_BUILD/ruse" explain --json "$pid" >"$T/why" || die "explain"
	python3 - "$T/why" "${event#IBV_EVENT_}" "$reason" <<-'END' || die "$event $kind: $(cat "$T/why")"
		import json, sys
		names = ("CQ_ERR QP_FATAL QP_REQ_ERR QP_ACCESS_ERR COMM_EST SQ_DRAINED PATH_MIG PATH_MIG_ERR DEVICE_FATAL "
		         "PORT_ACTIVE PORT_ERR LID_CHANGE PKEY_CHANGE SM_CHANGE SRQ_ERR SRQ_LIMIT_REACHED QP_LAST_WQE_REACHED "
		         "CLIENT_REREGISTER GID_CHANGE").split()
		found = [f for p in json.load(open(sys.argv[1]))["processes"] for f in p["failures"]
		         if f.get("event") == names.index(sys.argv[2])]
		sys.exit(0 if len(found) == 1 and found[0]["name"] == sys.argv[3] else 1)
	END
	stop
done <"${BASH_SOURCE%/*}/fault-events.tsv"
[ $number -gt 30 ] || die "$number rows"

note "port events, as ibv_asyncwatch sees them; several programs"
: >"$T/watch"
in_ruse timeout 100 stdbuf -oL ibv_asyncwatch -d rxe_0 >"$T/watch" 2>&1 &
watch=$!
wait_for 30 grep -q 'async event FD' "$T/watch" || die "ibv_asyncwatch: $(cat "$T/watch")"
start rts
[ "$(fault event GID_CHANGE)" = 2 ] || die "GID_CHANGE in two contexts"
wait_for 30 grep -q 'GID' "$T/watch" || die "ibv_asyncwatch: $(cat "$T/watch")"
wait_for 30 lines 1 || die "the other program has no GID_CHANGE"
[ "$(fault event GID_CHANGE pid "$pid")" = 1 ] || die "GID_CHANGE in one process"
[ "$(fault event QP_FATAL)" = 1 ] || die "QP_FATAL in the one QP that there is"
wait_for 30 lines 3 || die "$(cat "$T/out")"
[ "$(grep -c 'GID' "$T/watch")" = 1 ] || die "an event of another process: $(cat "$T/watch")"

note "a device that fails stays failed for the programs that had it open, and works for new ones"
[ "$(fault event DEVICE_FATAL dev rxe_0)" = 2 ] || die "DEVICE_FATAL"
wait_for 30 lines 4 || die "$(cat "$T/out")"
for event in DEVICE_FATAL GID_CHANGE QP_FATAL; do
	fault event $event 2>"$T/err2" && die "$event of a device that has failed"
done
stop
kill_tree "$watch"
start rts

note "a program that the event ends"
for _ in 1 2 3 4 5; do
	port=$(free_port)
	in_ruse timeout 100 ibv_rc_pingpong -d rxe_0 -g 1 -n 100000000 -p "$port" >"$T/server" 2>&1 &
	server=$!
	wait_for 20 listening "$port" || die "ibv_rc_pingpong: $(cat "$T/server")"
	in_ruse timeout 100 ibv_rc_pingpong -d rxe_0 -g 1 -n 100000000 -p "$port" localhost >"$T/client" 2>&1 &
	client=$!
	wait_for 30 eval "fault event QP_FATAL 2>\"$T/err2\" >\"$T/n\"" || die "QP_FATAL: $(cat "$T/err2")"
	[ "$(cat "$T/n")" -ge 1 ] || die "QP_FATAL: $(cat "$T/n")"
	wait "$server" "$client"
done

note "a stopped program raises the event when it runs again; from a script"
kill -STOP "$pid"
fault run - >"$T/ran" 2>&1 <<-END || die "run: $(cat "$T/ran")"
	# a comment
	event QP_FATAL qp $qpn
END
grep -q 'stopped programs raise the event later' "$T/ran" || die "run: $(cat "$T/ran")"
grep -q "process $pid (.*) is stopped" "$T/ran" || die "run: $(cat "$T/ran")"
kill -CONT "$pid"
wait_for 30 lines 1 || die "no event"
stop

note "the numbers of rdma res"
start rts
cqn=$(in_ruse rdma res show cq | sed -n "s/.* cqn \([0-9]*\) .* pid $pid .*/\1/p")
[ -n "$cqn" ] || die "$(in_ruse rdma res show cq)"
fault event CQ_ERR cq 4095 2>"$T/err2" && die "cq 4095: taken"
[ "$(fault event CQ_ERR cq "$cqn")" = 1 ] || die "cq $cqn"
fault event CQ_ERR cq "$cqn" 2>"$T/err2" && die "cq $cqn: fails twice"
grep -q 'has failed before' "$T/err2" || die "$(cat "$T/err2")"
wait_for 30 lines 2 || die "$(cat "$T/out")"
stop
"$RUSE_BUILD/ruse" stop --now >/dev/null 2>&1

note "an InfiniBand port"
"$RUSE_BUILD/ruse" fabric up --star 2 >/dev/null || die "fabric up"
: >"$T/watch"
in_ruse env RUSE_HOST=H1 timeout 100 stdbuf -oL ibv_asyncwatch >"$T/watch" 2>&1 &
wait_for 30 grep -q 'async event FD' "$T/watch" || die "ibv_asyncwatch: $(cat "$T/watch")"
for event in LID_CHANGE PKEY_CHANGE SM_CHANGE CLIENT_REREGISTER GID_CHANGE; do
	[ "$(fault event $event)" = 1 ] || die "$event on an InfiniBand port"
done
watched() { [ "$(grep -c 'event_type' "$T/watch")" -ge 5 ]; }
wait_for 30 watched || die "ibv_asyncwatch: $(cat "$T/watch")"

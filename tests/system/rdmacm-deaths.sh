#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Deaths. A process with connections is killed: its peer gets an event at once, and its port is
# free at once. rused is killed: commands fail and do not hang, data continues, and a new rused
# serves new programs.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

# rping_up: starts a server and a client that ping each other until they are stopped
rping_up() {
	next_port
	in_ruse timeout 100 rping -s -a 127.0.0.1 -p "$CM_PORT" -v >"$T/server.out" 2>&1 &
	server=$!
	wait_for 20 cm_listening "$CM_PORT" || die "rping does not listen"
	in_ruse timeout 100 rping -c -a 127.0.0.1 -p "$CM_PORT" -v >"$T/client.out" 2>&1 &
	client=$!
	wait_for 20 connected "$CM_PORT" 1 || die "rping is not connected: $(cat "$T/client.out")"
}

ended() { ! kill -0 "$1" 2>/dev/null; }

for who in server client; do
	rping_up
	if [ $who = server ]; then victim=$server other=$client; else victim=$client other=$server; fi
	victim=$(pgrep -P "$victim" | head -n 1)
	case $(cat "/proc/$victim/comm") in timeout) victim=$(pgrep -P "$victim") ;; esac
	[ "$(cat "/proc/$victim/comm")" = rping ] || die "pid $victim is no rping"
	kill -9 "$victim"
	wait_for 10 ended "$other" || die "the $who was killed and its peer does not know"
	# The listener's port is free.
	[ $who = client ] || cm_pair "$CM_PORT" "rping -s -a 127.0.0.1 -p $CM_PORT -C 2" \
		"rping -c -a 127.0.0.1 -p $CM_PORT -C 2" || die "the port of a dead listener is not free"
	wait_for 10 nothing_left || die "left of the dead: $(in_ruse rdma res show cm_id)"
	note "a $who killed"
done

# A forked child continues with the devices that librdmacm opened in its parent.
next_port
in_ruse timeout 60 "$RUSE_TESTBIN/cm-fork" "$CM_PORT" || die "cm-fork: $?"
wait_for 10 nothing_left || die "left of the children: $(in_ruse rdma res show cm_id)"
note "forked children"

# perf_tried: has the client of ib_write_bw both its connections, or was it rejected?
perf_tried() {
	connected "$CM_PORT" 2 || grep -qs REJECTED "$T/perf-client"
}

# perf_up: starts ib_write_bw for five seconds. It listens twice and connects twice, and its client
# may be faster than the second listener (cm.sh).
perf_up() {
	local try
	for try in {1..12}; do
		next_port
		rm -f "$T"/perf-{server,client}
		in_ruse timeout 60 ib_write_bw -R -F -D 5 -p "$CM_PORT" >"$T/perf-server" 2>&1 &
		perf_server=$!
		wait_for 20 cm_listening "$CM_PORT" || die "ib_write_bw does not listen"
		# shellcheck disable=SC2046
		in_ruse $(later "$try") timeout 60 ib_write_bw -R -F -D 5 -p "$CM_PORT" 127.0.0.1 \
			>"$T/perf-client" 2>&1 &
		perf_client=$!
		wait_for 20 perf_tried || die "ib_write_bw is not connected: $(cat "$T/perf-client")"
		if ! grep -q REJECTED "$T/perf-client"; then
			sleep 1
			kill -0 "$perf_client" || die "ib_write_bw: $(cat "$T/perf-client")"
			return
		fi
		grep -q 'REJECTED; error: 8\.' "$T/perf-client" || die "ib_write_bw: $(cat "$T/perf-client")"
		note "ib_write_bw was quicker than its server, try $try"
		stop "$perf_client"
		stop "$perf_server"
	done
	die "ib_write_bw is never connected"
}

# rused dies while there are connections: they continue, commands to rused fail, and a new rused
# serves other programs.
perf_up
rping_up
pid=$(rused_pid) || die "there is no rused"
kill -9 "$pid"
for who in "$server" "$client"; do
	wait_for 20 ended "$who" || die "who waits for an event hangs without rused"
done
grep -qi 'error' "$T/client.out" || die "no error: $(tail -n 3 "$T/client.out")"
next_port
cm_pair "$CM_PORT" "rping -s -a 127.0.0.1 -p $CM_PORT -C 2" \
	"rping -c -a 127.0.0.1 -p $CM_PORT -C 2" || die "a new rused does not serve new programs"
for who in "$perf_client" "$perf_server"; do
	wait_for 30 ended "$who" || die "ib_write_bw hangs"
done
grep -qE '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$T/perf-client" ||
	die "the connection stopped with rused: $(cat "$T/perf-client")"
note "rused killed: $(grep -E '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$T/perf-client")"
exit 0

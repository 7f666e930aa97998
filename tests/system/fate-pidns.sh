#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A PID namespace ends, and with it a program. If that program has started rused, rused ends too: data of
# other programs continues, a waiting rping server gets an error, and the next program starts a new
# rused. If rused was started outside, the rping server goes on.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

own=(unshare -pf --kill-child)
[ "$(id -u)" = 0 ] || own=(unshare -Urpf --kill-child)
"${own[@]}" true 2>/dev/null || skip "may not make a PID namespace"

# in_namespace: starts a program in a new PID namespace; sets `namespace` to the PID of its first process
in_namespace() {
	rm -f "$T/inside" "$T/first"
	# The namespace has the /proc of this script, so its first process reads its PID as this script sees
	# it. The program is another process, which the kernel kills after the first.
	# shellcheck disable=SC2016
	in_ruse "${own[@]}" bash -c 'read -r pid _ </proc/self/stat; echo "$pid" >"$0"
		stdbuf -oL ibv_asyncwatch -d rxe_0 & wait' "$T/first" >"$T/inside" 2>&1 &
	wait_for 60 grep -qs 'async event FD' "$T/inside" || die "the program inside: $(cat "$T/inside")"
	namespace=$(cat "$T/first")
}
ended() { ! kill -0 "$1" 2>/dev/null; }
# end_namespace: kills its first process, and thereby all others
end_namespace() {
	[ "$(readlink "/proc/$namespace/ns/pid")" != "$(readlink /proc/$$/ns/pid)" ] || die "no PID namespace"
	kill -9 "$namespace"
	wait_for 60 ended "$namespace" || die "the namespace does not end"
}
# rping_server: starts one, which waits for a client; sets `server`
rping_server() {
	next_port
	in_ruse timeout 100 rping -s -a 127.0.0.1 -p "$CM_PORT" -C 5 >"$T/server" 2>&1 &
	server=$!
	wait_for 60 cm_listening "$CM_PORT" || die "rping does not listen: $(cat "$T/server")"
}

note "rused was started inside: it ends with the namespace"
in_namespace
rused=$(rused_pid) || die "no rused"
[ "$(readlink "/proc/$rused/ns/pid")" = "$(readlink "/proc/$namespace/ns/pid")" ] || die "rused has left the namespace"
rping_server
port=$(free_port)
bw=()
for who in '' 127.0.0.1; do
	# shellcheck disable=SC2086
	in_ruse timeout 100 ib_write_bw -d rxe_0 -x 1 -F -D 4 -p "$port" $who >"$T/bw$who" 2>&1 &
	bw[${#bw[@]}]=$!
	[ -n "$who" ] || wait_for 60 listening "$port" || die "ib_write_bw does not listen: $(cat "$T/bw")"
done
wait_for 60 grep -qs "remote address" "$T/bw127.0.0.1" || die "ib_write_bw: $(cat "$T/bw127.0.0.1")"
end_namespace
wait_for 60 ended "$rused" || die "rused outlives its PID namespace: correct rused(8) and doc/faq.md"
status=0
wait "$server" || status=$?
{ [ $status != 0 ] && [ $status != 124 ]; } || die "the rping server of the dead rused: status $status"
grep -q 'rdma_get_cm_event: Input/output error' "$T/server" || die "the rping server says: $(cat "$T/server")"
wait "${bw[1]}" || die "data has stopped: $(cat "$T/bw127.0.0.1")"
wait "${bw[0]}" || die "data has stopped: $(cat "$T/bw")"
next_port
cm_pair "$CM_PORT" "rping -s -a 127.0.0.1 -p $CM_PORT -C 2" "rping -c -a 127.0.0.1 -p $CM_PORT -C 2" ||
	die "no new rused"
next=$(rused_pid) || die "no new rused"
[ "$(readlink "/proc/$next/ns/pid")" = "$(readlink /proc/$$/ns/pid)" ] || die "the new rused is not outside"
"$RUSE_BUILD/ruse" stop --now || die "ruse stop: $?"

note "rused was started outside: it goes on, and the rping server too"
"$RUSE_BUILD/rused" --rundir "$RUSE_DIR" --idle 0 &
wait_for 60 test -S "$RUSE_DIR/rused.sock" || die "rused does not listen"
rused=$(rused_pid)
in_namespace
rping_server
end_namespace
in_ruse timeout 100 rping -c -a 127.0.0.1 -p "$CM_PORT" -C 5 >"$T/client" 2>&1 ||
	too_late $? "$T/client" || die "the client: $(cat "$T/client")"
wait "$server" || too_late $? "$T/server" || die "the server: $(cat "$T/server")"
[ "$(rused_pid)" = "$rused" ] || die "another rused runs: $(rused_pid)"
exit 0

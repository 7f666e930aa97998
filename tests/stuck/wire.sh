#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What `ruse explain --stuck` says on two hosts. a sends to b over UDP: b has no receive, is stopped, is killed; a's port
# is down.
#
#   wire.sh PROGRAM
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/../system/hosts.sh"
program=$1

# start HOST NAME: starts the program; line[HOST] is what it prints, descriptor input[HOST] its input
declare -A line input pid
start() {
	local host=$1 fd
	rm -f "$T/$host.in"
	mkfifo "$T/$host.in"
	: >"$T/$host.out"
	ruse_on "$host" "$program" "$2" "$(gid "$host" 4)" <"$T/$host.in" >"$T/$host.out" &
	exec {fd}>"$T/$host.in"
	input[$host]=$fd
	wait_for 60 grep -q . "$T/$host.out" || die "$2 does not start on $host"
	line[$host]=$(head -n 1 "$T/$host.out")
	pid[$host]=${line[$host]##* }
}

# connect HOST PEER: tells the program on HOST of that on PEER
connect() {
	echo "${line[$2]}" >&"${input[$1]}"
	wait_for 60 grep -q ready "$T/$1.out" || die "no connection on $1"
}

stopped() {
	grep -q '^State:.T' "/proc/$1/status"
}

gone() {
	! [ -e "/proc/$1" ]
}

# says HOST TEXT: does `ruse explain --stuck` print it?
says() {
	on "$1" "$RUSE_BUILD/ruse" explain --stuck >"$T/said" 2>&1
	grep -qE "$2" "$T/said"
}

# expect HOST TEXT: some waits begin later
expect() {
	wait_for 60 says "$1" "$2" || die "$1 does not say '$2' but: $(cat "$T/said")"
	note "$1: $(grep -E "$2" "$T/said")"
}

end() {
	local host
	for host in a b; do
		kill "${pid[$host]}" 2>/dev/null
		wait_for 60 gone "${pid[$host]}" || die "the program on $host does not end"
	done
}

answer='RX-304: no answer to PSN 100 has come; attempt [1-8] of 8, 17 s each'
there='Run .ruse explain --stuck. and .ruse explain. on the peer.s host[.]'
hosts 1500

start a wire-send
start b wire-recv
connect b a
connect a b
expect a "RX-300: the peer's QP 0x[0-9a-f]{6} has no receive posted; RNR NAKs to this request: [0-9]+( or more)?; rnr_retry is 7, which means for ever"
expect a 'explain --stuck. on the peer.s host tells'
expect b '^nothing waits$'
end

start a wire-send
start b wire-recv
connect b a
kill -STOP "${pid[b]}"
wait_for 60 stopped "${pid[b]}" || die "b does not stop"
connect a b
expect a "$answer"
expect a "$there"
expect b 'does not answer: it is stopped by a signal; kill -CONT continues it'
kill -KILL "${pid[b]}"
wait_for 60 gone "${pid[b]}" || die "b does not end"
expect a "$answer"
on a ip link set va down
expect a "RX-30e: no answer to PSN 100 has come; the port of this end is down"
end

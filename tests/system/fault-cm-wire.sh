#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ruse fault add cm between two hosts: rules at the host that connects and at the one that listens, for messages that leave
# and that arrive; captures mark the messages.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"

fault() { on "$1" "$RUSE_BUILD/ruse" fault "${@:2}"; }

hosts 4200
mkfifo "$T/in"
ruse_on b timeout 600 "$RUSE_TESTBIN/fault-cm" rc "${ADDR4[b]}" 7471 listen <"$T/in" >"$T/server" 2>&1 &
exec 9>"$T/in"
wait_for 30 grep -q listens "$T/server" || die "$(cat "$T/server")"
ruse_on a ibv_devinfo >/dev/null || die "no device"

# attempt WANT: the program on host a connects to host b
attempt() {
	ruse_on a timeout 120 "$RUSE_TESTBIN/fault-cm" rc "+${ADDR4[b]}" 7471 >"$T/out" 2>&1 || die "$(cat "$T/out")"
	{ read -r pid && read -r got; } <"$T/out"
	[ "$got" = "$1" ] || die "$rule: '$got', not '$1'"
}

# acted HOST: how often the rules of the host have acted
acted() {
	fault "$1" list --json | python3 -c 'import json, sys; print(sum(r["acted"] for r in json.load(sys.stdin)["rules"]))'
}

while IFS=';' read -r host rule want times; do
	# shellcheck disable=SC2086
	fault "$host" add $rule >/dev/null || die "$rule"
	attempt "$want"
	# On a busy machine the CM repeats messages.
	n=$(acted "$host")
	[[ $n = "$times" || ($times -gt 0 && $n -gt $times) ]] || die "$host, $rule: $(fault "$host" list)"
	fault "$host" del all >/dev/null || die "del"
done <<-END
	a;cm reject NO_RESOURCES;REJECTED 3;1
	a;cm reject NO_RESOURCES dir in;ESTABLISHED 0, DISCONNECTED 0;0
	b;cm reject STALE_CONN;REJECTED 10;1
	b;cm reject STALE_CONN dir in peer ${ADDR4[a]};REJECTED 10;1
	b;cm reject STALE_CONN dir out;ESTABLISHED 0, DISCONNECTED 0;0
	b;cm reject STALE_CONN port 7472;ESTABLISHED 0, DISCONNECTED 0;0
	a;cm unreachable peer ${ADDR4[b]};UNREACHABLE -110;1
	a;cm unreachable peer ${ADDR4[a]};ESTABLISHED 0, DISCONNECTED 0;0
	b;cm drop message REQ times 1;ESTABLISHED 0, DISCONNECTED 0;1
	b;cm drop message REP dir out port 7471 times 1;ESTABLISHED 0, DISCONNECTED 0;1
	a;cm drop message REP dir in times 1;ESTABLISHED 0, DISCONNECTED 0;1
	a;cm delay 200ms;ESTABLISHED 0, DISCONNECTED 0;5
	b;cm delay 200ms dir in port 7471;ESTABLISHED 0, DISCONNECTED 0;3
	a;cm unreachable host;ADDR_ERROR -110;1
	a;cm unreachable network;rdma_resolve_addr: ENETUNREACH;1
END

note "captures"
for host in a b; do
	on $host "$RUSE_BUILD/ruse" capture -w "$T/cap.$host" >"$T/capture.$host" 2>&1 &
done
for host in a b; do
	wait_for 10 [ -s "$T/cap.$host" ] || die "capture"
done
fault a add cm drop message REQ nth 1 >/dev/null
fault b add cm reject NO_QP dir in >/dev/null
rule=captures
attempt 'REJECTED 1'
for host in a b; do
	on $host "$RUSE_BUILD/ruse" capture -r "$T/cap.$host" >"$T/text.$host" 2>&1 || die "$(cat "$T/text.$host")"
done
shown() { on "$1" "$RUSE_BUILD/ruse" capture -r "$T/cap.$1" 2>&1 | grep 'CM REQ' | grep -q "fault: $2"; }
wait_for 10 shown a dropped || die "a: $(cat "$T/text.a")"
wait_for 10 shown b rejected || die "b: $(cat "$T/text.b")"
exec 9>&-

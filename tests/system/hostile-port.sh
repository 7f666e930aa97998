#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# While rused has UDP port 4791, another user cannot bind a socket to it, at whatever address and with
# whatever socket options. Multicast still reaches several processes of rused's user.
[ "$(id -u)" = 0 ] || { echo "SKIP: a second uid needs root"; exit 77; }
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

cat >"$T/hijack.py" <<'PY'
"""Another uid binds port 4791 in every way. usage: hijack.py ADDRESSES4 ADDRESSES6"""
import itertools
import os
import socket
import sys
os.setgid(65534)
os.setuid(65534)
RA, RP = socket.SO_REUSEADDR, socket.SO_REUSEPORT
places = [(socket.AF_INET, a) for a in sys.argv[1].split(",")] + \
         [(socket.AF_INET6, a) for a in sys.argv[2].split(",")]
got = []
for (family, address), options in itertools.product(places, ([], [RA], [RP], [RA, RP])):
    s = socket.socket(family, socket.SOCK_DGRAM)
    for o in options:
        s.setsockopt(socket.SOL_SOCKET, o, 1)
    try:
        s.bind((address, 4791))
        got.append((address, options))
    except OSError as e:
        assert e.errno == 98, (address, options, e)
    s.close()
print(len(got), got)
sys.exit(len(got) != 0)
PY

# refused ADDRESSES4 ADDRESSES6: succeeds if every attempt of the other user to bind the port fails
refused() { python3 "$T/hijack.py" "$1" "$2" >"$T/hijack" || { cat "$T/hijack"; return 1; }; }
all4=198.51.100.1,0.0.0.0,127.0.0.1,224.0.0.251,239.1.2.3
all6=fd98::1,::,::1,ff0e::77:1,ff0e::1234

# Before the start the port is free: all 40 ways succeed.
refused $all4 $all6 >"$T/before" && die "the test itself binds nothing"
grep -q '^40 ' "$T/hijack" || { cat "$T/hijack"; die "a bind fails without ruse"; }

# While a connection carries traffic.
port=$(free_port)
export RUSE_LINK=udp
in_ruse timeout 200 ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" -n 20000000 >"$T/server" 2>&1 &
server=$!
wait_for 60 listening "$port" || die "no server"
in_ruse timeout 200 ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" -n 20000000 198.51.100.1 >"$T/client" 2>&1 &
client=$!
packets() {
	[ "$("$RUSE_BUILD/ruse" status --json | python3 -c '
import json, sys
print(json.load(sys.stdin)["wire"].get("rx_packets", 0))')" -gt 1000 ]
}
wait_for 60 packets || { cat "$T/server" "$T/client"; die "no traffic"; }
for _ in 1 2 3; do
	refused $all4 $all6 || die "another uid has the port in mid-stream"
done
kill_tree $client $server
wait $client $server 2>/dev/null

# Multicast: two processes of one user have two QPs each in the group. Another user cannot bind the port then.
for group in ::ffff:239.1.2.3 ff0e::77:1; do
	index=1
	[ $group = ff0e::77:1 ] && index=2
	members=()
	for i in 1 2; do
		rm -f "$T/mc.$i"
		in_ruse timeout 100 "$RUSE_TESTBIN/mcast" $group $index recv 100 >"$T/mc.$i" 2>&1 &
		members+=($!)
	done
	for i in 1 2; do
		wait_for 60 grep -qs ready "$T/mc.$i" || die "$group: $(cat "$T/mc.$i")"
	done
	refused $all4 $all6 || die "another uid has the port beside $group"
	in_ruse timeout 100 "$RUSE_TESTBIN/mcast" $group $index send 100 || die "send to $group"
	for i in "${members[@]}"; do
		wait "$i" || die "$group: $(cat "$T"/mc.?)"
	done
done
exit 0

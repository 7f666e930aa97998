#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# GIDs of devices that are like an adapter: tables and traffic of one process (like-gids.py), stock programs with entries of
# both RoCE versions and with rdma_cm, addresses that come and go.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
export "${SANITIZER_OPTIONS[@]}"
DATA=${BASH_SOURCE%/*}/../../data/like
PORT=/sys/class/infiniband/rxe_0/ports/1
PATH=$PATH:/sbin:/usr/sbin

/usr/bin/python3 -B "${BASH_SOURCE%/*}/like-gids.py" "$RUSE_BUILD/ruse" "$RUSE_TESTBIN/gid-types" "$DATA" ||
	die "like-gids.py"

like() { timeout 120 "$RUSE_BUILD/ruse" run --like connectx-5 "$@"; }

# pair SERVER CLIENT: two ends of perftest; the client's status, its output in $T/client. The server may not listen yet.
pair() {
	local server rc
	# shellcheck disable=SC2086
	like $1 >"$T/server" 2>&1 &
	server=$!
	for _ in $(seq 200); do
		# shellcheck disable=SC2086
		like $2 >"$T/client" 2>&1
		rc=$?
		grep -qE "Couldn't connect|Unexpected CM event|REJECT|Unable to" "$T/client" || break
		kill -0 $server 2>/dev/null || break
		sleep 0.1
	done
	[ $rc -eq 0 ] || kill_tree "$server"
	wait "$server" || rc=1
	return $rc
}
show() { cat "$T/server" "$T/client"; }

# The same with rdma_cm. perftest connects twice, and its server listens again only after the first connection: a client that
# is too early for the second is rejected, and the server waits for ever. So each try has a server of its own.
pair_cm() {
	local server tries
	for tries in $(seq 20); do
		# shellcheck disable=SC2086
		like timeout 20 $1 >"$T/server" 2>&1 &
		server=$!
		sleep 0.$((tries % 10))
		# shellcheck disable=SC2086
		like timeout 20 $2 >"$T/client" 2>&1 && wait "$server" && return 0
		kill_tree "$server"
		wait "$server"
	done
	return 1
}

if command -v ib_send_lat >/dev/null; then
	for i in 0 2 3; do
		for p in ib_send_lat ib_write_lat; do
			note "$p -x $i"
			pair "$p -x $i -F -n 200" "$p -x $i -F -n 200 localhost" || die "$p -x $i: $(show)"
		done
	done
	# The first request that is not answered ends the client: by packets, and by direct placement.
	for p in ib_send_bw ib_write_bw ib_read_bw; do
		for x in "2 3" "3 2"; do
			note "$p -x ${x% *} to $p -x ${x#* }"
			pair "$p -x ${x#* } -F -n 200 -u 8" "$p -x ${x% *} -F -n 200 -u 8 localhost" &&
				die "$p takes both RoCE versions"
			grep -qiE "status 12.*(0x)?5e" "$T/client" || die "$p ${x}: $(show)"
		done
	done
	note "ib_write_bw -x 3 -R"
	pair_cm "ib_write_bw -x 3 -R -F -n 200 -p 7471" "ib_write_bw -x 3 -R -F -n 200 -p 7471 198.51.100.1" ||
		die "ib_write_bw -R: $(show)"
fi

for a in 198.51.100.1 fd98::1 127.0.0.1; do
	want=3
	[ $a != fd98::1 ] || want=5
	got=$(like "$RUSE_TESTBIN/gid-cm" $a 2>&1)
	[ "$got" = "RC $want $want
UD $want" ] || die "rdma_cm at $a has $got"
done
if command -v rping >/dev/null; then
	note rping
	pair "rping -s -a 198.51.100.1 -C 5" "rping -c -a 198.51.100.1 -C 5" || die "rping: $(show)"
fi

for gid in "2=::ffff:198.51.100.1 v1" "3=::ffff:198.51.100.1 v2"; do
	"$RUSE_BUILD/ruse" status | grep -qF "$gid" || die "ruse status: $("$RUSE_BUILD/ruse" status)"
done

# Addresses that come and go.
: >"$T/events"
like stdbuf -oL ibv_asyncwatch -d rxe_0 >"$T/events" 2>&1 &
watch=$!
wait_for 20 grep -q "async event FD" "$T/events" || die "ibv_asyncwatch: $(cat "$T/events")"
gid() { like cat "$PORT/gids/$1"; }
type() { like cat "$PORT/gid_attrs/types/$1" 2>/dev/null; }
is() { [ "$(gid "$1") $(type "$1")" = "$2" ]; }
saw() { [ "$(grep -c GID_CHANGE "$T/events")" -ge "$1" ]; }
v4() { printf '0000:0000:0000:0000:0000:ffff:c633:64%02x' "$1"; }
none=0000:0000:0000:0000:0000:0000:0000:0000
ip addr add 198.51.100.2/24 dev r0
wait_for 10 is 6 "$(v4 2) IB/RoCE v1" || die "index 6: $(gid 6) $(type 6)"
is 7 "$(v4 2) RoCE v2" || die "index 7: $(gid 7) $(type 7)"
wait_for 10 saw 1 || die "no GID_CHANGE: $(cat "$T/events")"
ip -6 addr del fd98::1/64 dev r0
wait_for 10 is 4 "$none " || die "index 4: $(gid 4) $(type 4)"
is 5 "$none " || die "index 5: $(gid 5) $(type 5)"
is 6 "$(v4 2) IB/RoCE v1" || die "index 6 has moved: $(gid 6)"
wait_for 10 saw 2 || die "no second GID_CHANGE: $(cat "$T/events")"
ip addr add 198.51.100.9/24 dev r0
wait_for 10 is 4 "$(v4 9) IB/RoCE v1" || die "index 4: $(gid 4) $(type 4)"
is 5 "$(v4 9) RoCE v2" || die "index 5: $(gid 5) $(type 5)"
wait_for 10 saw 3 || die "no third GID_CHANGE: $(cat "$T/events")"
ip link set r0 address 02:11:22:33:44:66
wait_for 10 is 0 "fe80:0000:0000:0000:0011:22ff:fe33:4466 IB/RoCE v1" || die "index 0: $(gid 0) $(type 0)"
is 1 "fe80:0000:0000:0000:0011:22ff:fe33:4466 RoCE v2" || die "index 1: $(gid 1) $(type 1)"
kill_tree "$watch"

/usr/bin/python3 -B "${BASH_SOURCE%/*}/like-gids.py" "$RUSE_BUILD/ruse" --reports || die "the tables are not as reported"
exit 0

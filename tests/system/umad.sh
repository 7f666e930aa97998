#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libibumad and the diagnostics on RoCE ports: output of ibstat and ibstatus as with the kernel,
# MADs between hosts over the wire, a device that is removed under a program.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
PATH=$PATH:/sbin:/usr/sbin
command -v ibstat >/dev/null || skip "infiniband-diags is not installed"
U=$RUSE_TESTBIN/umadlib
[ -x "$U" ] || skip "umadlib is not built: libibumad-dev was not installed"
hosts 4200

note "ibstat and ibstatus"
guid=$(ruse_on a cat /sys/class/infiniband/rxe_0/node_guid)
hex=0x${guid//:/}
ruse_on a ibstat >"$T/ibstat" || die "ibstat: $(cat "$T/ibstat")"
rate=$(ruse_on a cat /sys/class/infiniband/rxe_0/ports/1/rate)
# The output with rxe of Linux 6.1, apart from the GUIDs and the rate.
cat >"$T/want" <<END
CA 'rxe_0'
	CA type: 
	Number of ports: 1
	Firmware version: 
	Hardware version: 
	Node GUID: $hex
	System image GUID: $hex
	Port 1:
		State: Active
		Physical state: LinkUp
		Base lid: 0
		LMC: 0
		SM lid: 0
		Capability mask: 0x00010000
		Port GUID: $hex
		Link layer: Ethernet
END
sed -i "/Rate: ${rate%% *}/d" "$T/ibstat"
diff "$T/want" "$T/ibstat" || die "ibstat differs"
[ "$(ruse_on a ibstat -l)" = rxe_0 ] || die "ibstat -l"
gid=$(ruse_on a cat /sys/class/infiniband/rxe_0/ports/1/gids/0)
ruse_on a ibstatus >"$T/ibstatus" || die "ibstatus"
cat >"$T/want" <<END
Infiniband device 'rxe_0' port 1 status:
	default gid:	 $gid
	base lid:	 0x0
	sm lid:		 0x0
	state:		 4: ACTIVE
	phys state:	 5: LinkUp
	rate:		 $rate
	link_layer:	 Ethernet

END
diff "$T/want" "$T/ibstatus" || die "ibstatus differs"

note "no QP0 on RoCE: the SMP tools say what they say over the kernel"
for p in "smpquery nodeinfo -D 0" perfquery sminfo; do
	# shellcheck disable=SC2086
	if ruse_on a $p >"$T/out" 2>&1; then die "$p works"; fi
	grep -q 'client_register for mgmt 1 failed' "$T/out" || die "$p: $(cat "$T/out")"
done

ready() { grep -q ready "$T/server"; }

# exchange SERVER CLIENT VERSION BYTES: a request of BYTES and its answer; the server runs until
# its input ends
mkfifo "$T/stay"
exchange() {
	local s=$1 c=$2 v=$3 n=$4 to pid
	[ "$v" = 4 ] && to=::ffff:${ADDR4[$s]} || to=${ADDR6[$s]}
	rm -f "$T/server"
	ruse_on "$s" timeout 60 "$U" server rxe_0 >"$T/server" 2>&1 <"$T/stay" &
	pid=$!
	exec 9>"$T/stay"
	wait_for 20 ready 2>/dev/null || die "server: $(cat "$T/server")"
	ruse_on "$c" timeout 60 "$U" client rxe_0 "$(gid "$c" "$v")" "$to" "$n" >"$T/client" 2>&1 ||
		die "$c to $s, $n bytes: $(cat "$T/client" "$T/server")"
	grep -qx "$n bytes back" "$T/client" || die "$(cat "$T/client")"
	exec 9>&-
	wait "$pid" || die "server on $s: $(cat "$T/server")"
}

note "MADs between programs of a host, and between hosts"
exchange a a 4 216
exchange b a 4 216
exchange a b 6 216
note "RMPP messages"
exchange a a 6 100000
exchange b a 6 100000
exchange a b 4 1000000

note "a class without an agent, a host that does not answer"
got=$(ruse_on a "$U" no-agent rxe_0 "$(gid a 4)" "::ffff:${ADDR4[b]}") || die "no-agent"
[ "$got" = "status 000c" ] || die "unserved: $got"
got=$(ruse_on a "$U" silent rxe_0 "$(gid a 4)" ::ffff:10.77.0.77) || die "silent"
[ "$got" = "Connection timed out" ] || die "silent: $got"

note "a MAD to a UD QP"
got=$(ruse_on a "$U" qp rxe_0 "$(gid a 4)" "::ffff:${ADDR4[a]}") || die "qp: $got"
[ "$got" = received ] || die "qp: $got"

note "a second device, and its end under a program"
ruse_on a rdma link add two type rxe netdev lo || die "link add"
[ "$(ruse_on a cat /sys/class/infiniband_mad/umad1/ibdev)" = two ] || die "umad1"
ruse_on a rdma dev set two name deux || die "rename"
[ "$(ruse_on a cat /sys/class/infiniband_mad/umad1/ibdev)" = deux ] || die "umad1 after the rename"
ruse_on a ls /sys/class/infiniband/deux/device/infiniband_mad/umad1 >"$T/dir" ||
	die "device/infiniband_mad"
ruse_on a timeout 60 "$U" gone deux >"$T/gone" 2>&1 &
pid=$!
is_open() { grep -qs open "$T/gone"; }
wait_for 20 is_open || die "$(cat "$T/gone")"
ruse_on a rdma link del deux || die "link del"
wait $pid || die "gone: $(cat "$T/gone")"
grep -qx gone "$T/gone" || die "$(cat "$T/gone")"
ruse_on a ls /dev/infiniband >"$T/dev"
! grep -q umad1 "$T/dev" || die "$(cat "$T/dev")"
grep -qx umad0 "$T/dev" || die "$(cat "$T/dev")"

note "rused dies: EIO, and POLLERR"
rm "$T/gone"	# the "open" of the program before
ruse_on a timeout 60 "$U" gone rxe_0 >"$T/gone" 2>&1 &
pid=$!
wait_for 20 is_open || die "$(cat "$T/gone")"
RUSE_DIR=$T/a
kill -9 "$(rused_pid)"
wait $pid || die "rused killed: $(cat "$T/gone")"

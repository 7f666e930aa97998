#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Each kind of destination from each kind of source: those of destinations.tsv are refused, with the kernel's errno. With
# links over shared memory and by UDP; in a fabric any destination will do. interop/rxe compares the same with the kernel.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
export "${SANITIZER_OPTIONS[@]}"
INTEROP=${BASH_SOURCE%/*}/../interop/destinations.py

for link in shm udp; do
	note "links: $link"
	# shellcheck disable=SC2046
	"$RUSE_BUILD/ruse" run $([ $link = udp ] && echo --link udp) /usr/bin/python3 -B "$INTEROP" "$RUSE_TESTBIN/destinations" \
		198.51.100.1 fd98::1 198.51.100.2 fd98::2 fe80::2 || die "$link"
done

# routed NAME IPV4 IPV6 ERRNO: RTR and CREATE_AH to these addresses, from the host's own of the same family, end so
routed() {
	local name=$1 command
	"$RUSE_BUILD/ruse" run "$RUSE_TESTBIN/destinations" v4@1 v6@2 "$name-4=::ffff:$2" "$name-6=$3" >"$T/out" || die "$name"
	for command in rc uc ah; do
		grep -qx "$command v4 $name-4 $4" "$T/out" || die "$command to $2: not $4: $(cat "$T/out")"
		grep -qx "$command v6 $name-6 $4" "$T/out" || die "$command to $3: not $4: $(cat "$T/out")"
	done
}
# routes ADD|DEL TYPE NETWORK4 NETWORK6 [ARGUMENT...]: the same for both families
routes() {
	local action=$1 type=$2 v4=$3 v6=$4
	shift 4
	ip route "$action" "$type" "$v4" "$@" || die "route $action $type $v4 $*"
	ip -6 route "$action" "$type" "$v6" "$@" || die "route $action $type $v6 $*"
}
note "routes that a rule for the source selects, and routes of other types"
ip route del default dev r0 || die "default route"
ip rule add from 198.51.100.1 table 100 || die "rule"
ip -6 rule add from fd98::1 table 100 || die "rule"
routes add unicast 192.0.2.0/24 fd99::/64 dev r0 table 100
routed rule 192.0.2.9 fd99::9 0
routed none 203.0.113.9 fd9a::9 ENETUNREACH
while read -r type err; do
	routes add "$type" 203.0.113.0/24 fd9a::/64
	routed "$type" 203.0.113.9 fd9a::9 "$err"
	routes del "$type" 203.0.113.0/24 fd9a::/64
done <<-'END'
	unreachable EHOSTUNREACH
	blackhole EINVAL
	prohibit EACCES
END
ip route add default dev r0 || die "default route"

note "in a fabric"
"$RUSE_BUILD/ruse" fabric up --star 2 >/dev/null || die "fabric up"
"$RUSE_BUILD/ruse" run --host H1 "$RUSE_TESTBIN/destinations" ll@0 zero=:: zero4=::ffff:0.0.0.0 own4=::ffff:198.51.100.1 \
	other=fe80::2 >"$T/out" || die "in a fabric"
[ "$(grep -cv '^attach' "$T/out")" = 16 ] || die "$(cat "$T/out")"
! grep -v '^attach' "$T/out" | grep -v ' 0$' || die "refused in a fabric"
exit 0

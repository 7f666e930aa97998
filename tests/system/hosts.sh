# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# Two hosts, a and b: network namespaces connected by a veth. Source it instead of lib.sh, then
# call `hosts`. Without root everything runs in a user namespace.
if [ "$(id -u)" != 0 ] && [ -z "${HOSTS_UNSHARED:-}" ]; then
	unshare -Urn true 2>/dev/null || { echo "SKIP: no network namespaces here"; exit 77; }
	HOSTS_UNSHARED=1 exec unshare -Urn bash "$0" "$@"
fi
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

# shellcheck disable=SC2034	# lib.sh's cleanup reads it
RUSE_DIRS=("$T/a" "$T/b")
declare -A HOST	# the process that keeps each namespace
declare -A ADDR4=([a]=10.77.0.1 [b]=10.77.0.2) ADDR6=([a]=fd77::1 [b]=fd77::2)

# on HOST CMD...: runs CMD on the host
on() {
	local host=$1
	shift
	RUSE_DIR=$T/$host nsenter -t "${HOST[$host]}" -n -m -- "$@"
}

# ruse_on HOST CMD...: the same under the preload
ruse_on() {
	local host=$1
	shift
	on "$host" env "${SANITIZER_OPTIONS[@]}" LD_PRELOAD="$PRELOAD" "$@"
}

host_up() {
	local host=$1 mtu=$2
	on "$host" ip link set lo up
	on "$host" ip link set "v$host" mtu "$mtu" up
	on "$host" ip addr add "${ADDR4[$host]}/24" dev "v$host"
	on "$host" ip -6 addr add "${ADDR6[$host]}/64" dev "v$host" nodad
}

own_netns() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# carrier: are the links up and the addresses usable?
carrier() {
	on a ip -o link show va | grep -q 'state UP' &&
		! on a ip -6 addr show | grep -q tentative &&
		! on b ip -6 addr show | grep -q tentative
}

# hosts [MTU]: creates the hosts, with rxe_0 on va and on vb; an MTU of 4200 has room for path MTU
# 4096
hosts() {
	local mtu=${1:-4200} host
	for host in a b; do
		mkdir -m 700 "$T/$host"
		# With a /sys of its own, which shows the namespace's interfaces.
		unshare -nm sh -c 'mount -t sysfs none /sys; exec sleep infinity' &
		HOST[$host]=$!
		wait_for 5 own_netns "${HOST[$host]}" || die "no network namespace"
	done
	ip link add va netns "${HOST[a]}" type veth peer name vb netns "${HOST[b]}" ||
		die "no veth"
	host_up a "$mtu"
	host_up b "$mtu"
	on a ip route add default via "${ADDR4[b]}"
	on b ip route add default via "${ADDR4[a]}"
	wait_for 5 carrier || die "the hosts do not see each other"
}

# listening_on HOST PORT: is there a listener on this TCP port?
listening_on() {
	on "$1" cat /proc/net/tcp /proc/net/tcp6 | grep -qE ":$(printf %04X "$2") 0+:0000 0A"
}

# gid HOST 4|6: index of the GID that is the host's address
gid() {
	local want=::ffff:${ADDR4[$1]}
	[ "$2" = 4 ] || want=${ADDR6[$1]}
	ruse_on "$1" ibv_devinfo -v |
		sed -n "s/.*GID\[ *\([0-9]*\)\]:[[:space:]]*$want,.*/\1/p" | head -n 1
}

# pair_on SERVER CLIENT PORT "SERVER COMMAND" "CLIENT COMMAND": as pair() of lib.sh, on two hosts
pair_on() {
	local s=$1 c=$2 port=$3 limit=${PAIR_TIMEOUT:-60} server rc=0
	# shellcheck disable=SC2086
	ruse_on "$s" timeout "$limit" $4 >"$T/server.out" 2>&1 &
	server=$!
	if ! wait_for 20 listening_on "$s" "$port"; then
		kill "$server" 2>/dev/null
		cat "$T/server.out" >&2
		echo "server does not listen on $port: $4" >&2
		return 1
	fi
	# shellcheck disable=SC2086
	ruse_on "$c" timeout "$limit" $5 >"$T/client.out" 2>&1 || rc=$?
	[ $rc -eq 0 ] || echo "client: status $rc: $5" >&2
	wait "$server" || { rc=$?; echo "server: status $rc: $4" >&2; }
	if [ $rc -ne 0 ]; then
		sed 's/^/server| /' "$T/server.out" >&2
		sed 's/^/client| /' "$T/client.out" >&2
	fi
	return $rc
}

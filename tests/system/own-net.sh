# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# A network and a mount namespace for a test; source it before anything else. UDP port 4791, and with it
# multicast between processes, is then not used by another test. One interface, r0, has the
# addresses. Without root it is in a user namespace.
if [ -z "${OWN_NET:-}" ]; then
	OWN_NET_FLAGS=-nm
	[ "$(id -u)" = 0 ] || OWN_NET_FLAGS=-Urnm
	unshare "$OWN_NET_FLAGS" true 2>/dev/null || { echo "SKIP: no network namespaces here"; exit 77; }
	OWN_NET=1 exec unshare "$OWN_NET_FLAGS" bash "$0" "$@"
fi
ip link set lo up &&
	ip link add r0 type veth peer name r1 &&
	ip link set r1 up &&
	ip link set r0 mtu 9000 up &&
	ip addr add 198.51.100.1/24 dev r0 &&
	ip -6 addr add fd98::1/64 dev r0 nodad &&
	ip route add default dev r0 || { echo "FAIL: no network of its own" >&2; exit 1; }
for _ in $(seq 50); do
	ip -6 addr show dev r0 | grep -q tentative || break
	sleep 0.1
done

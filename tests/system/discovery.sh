#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The stock tools print the same device through netlink and through sysfs.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

say() {
	in_ruse "$@" >"$T/out" 2>&1 || { cat "$T/out" >&2; die "$*"; }
}
has() {
	grep -qE -- "$1" "$T/out" || { cat "$T/out" >&2; die "no '$1' in it"; }
}

dev=$(ip -o route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)
dev=${dev:-lo}
note "default device on $dev"

say ibv_devices
has 'rxe_0'
guid=$(awk '/rxe_0/ { print $2 }' "$T/out")
say ibv_devinfo -l
has 'rxe_0'
say ibv_devinfo -v
has 'hca_id:[[:space:]]*rxe_0'
has 'state:[[:space:]]*PORT_ACTIVE'
has 'link_layer:[[:space:]]*Ethernet'
has 'GID\[ *0\]:[[:space:]]*fe80'
has 'GID\[ *1\]:'
say rdma dev
has "rxe_0: node_type ca .*node_guid"
has "${guid:0:4}"
say rdma link
has "rxe_0/1 state ACTIVE physical_state LINK_UP netdev $dev"
say rdma system
has 'netns'
say ibstat
has "CA 'rxe_0'"
has 'State: Active'
has 'Link layer: Ethernet'

# sysfs and netlink agree.
say cat /sys/class/infiniband/rxe_0/node_guid
tr -d ':\n' <"$T/out" >"$T/guid"
[ "$(cat "$T/guid")" = "$guid" ] || die "sysfs says $(cat "$T/guid"), netlink $guid"
say cat /sys/class/infiniband/rxe_0/ports/1/state
has '^4: ACTIVE'
say cat /sys/class/infiniband/rxe_0/ports/1/gids/0
has '^fe80'
say cat /sys/class/infiniband/rxe_0/ports/1/pkeys/0
has '^0xffff'
say ls /sys/class/infiniband /dev/infiniband
has 'rxe_0'
has 'uverbs0'
exit 0

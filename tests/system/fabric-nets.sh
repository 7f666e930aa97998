#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# opensm brings up generated fabrics and ibsim's examples; ibnetdiscover must then find the
# topology.
. "${BASH_SOURCE%/*}/lib.sh"
. "${BASH_SOURCE%/*}/fabric.inc"

# bring_up UP-ARGUMENTS...: brings up a fabric with opensm and checks it
bring_up() {
	local host guid dir
	note "$*"
	fabric up "$@" || die "up $*"
	host=$(fabric show | awk '$2 == "host" { print $1; exit }')
	guid=$(guid_of "$host")
	# opensm must not use the cache of another fabric.
	dir=$(mktemp -d -p "$T")
	RUSE_HOST=$host OSM_TMP_DIR=$dir OSM_CACHE_DIR=$dir in_ruse timeout 200 \
		opensm -o -g "$guid" -f "$dir/log" >"$dir/out" 2>&1 || { cat "$dir/out"; die "opensm"; }
	all_active || die "$*: not all ports are active"
	same_topology "$host" || die "$*: ibnetdiscover sees another fabric"
	fabric down
}

bring_up --fat-tree 4
bring_up --torus 3x3 1
bring_up --dragonfly 3 1 1
for net in /usr/share/doc/ibsim-utils/net-examples/net*; do
	[ ! -f "$net" ] || bring_up "$net"
done
exit 0

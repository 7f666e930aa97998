#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stock ibv_rc_pingpong between two processes over every link.
#
#   server  <-- TCP: addresses -->  client
#           <==  RC over shm   ==>
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

one() {
	local port
	port=$(free_port)
	pair "$port" "ibv_rc_pingpong -d rxe_0 -g 1 -p $port $*" \
		"ibv_rc_pingpong -d rxe_0 -g 1 -p $port $* localhost" || die "ibv_rc_pingpong $*"
	grep -q 'usec/iter' "$T/server.out" || die "no figures of the server: $*"
	grep -q 'usec/iter' "$T/client.out" || die "no figures of the client: $*"
	note "ibv_rc_pingpong $*: $(tail -n 1 "$T/client.out")"
}

all() {
	one
	one -e
	one -c
	one -s 1
	one -s 1048576 -n 200
	one -r 500
	one -m 1024
	one -m 256 -s 100000 -n 200
	one -m 4096 -c -e -s 65536
}

all
note "ring copy, no direct placement"
export RUSE_NO_CMA=1 RUSE_NO_DIRECT=1
all
unset RUSE_NO_CMA
note "no direct placement, polling not wrapped"
export RUSE_NO_POLL_WRAP=1
one
one -e
exit 0

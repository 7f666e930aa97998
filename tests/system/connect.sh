#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Connections that end in every way, with private data compared byte by byte (connect.c): within a
# host, then between two. tests/interop does the same with the kernel.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

hosts 4200
at_server() { ruse_on b "$@"; }
for from in b a; do
	at_client() { ruse_on "$from" "$@"; }
	for a in "${ADDR4[b]}" "${ADDR6[b]}"; do
		next_port
		next_port # connect needs a free port after its own
		cm_pair "$CM_PORT" "$RUSE_TESTBIN/connect $a $CM_PORT" \
			"$RUSE_TESTBIN/connect -c $a $CM_PORT" || die "from $from to $a"
		note "from $from to $a: $(tail -n 1 "$T/client.out")"
	done
done
wait_for 20 nothing_left || die "left: $(at_server rdma res show cm_id; at_client rdma res show cm_id)"
exit 0

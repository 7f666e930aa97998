#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# 32 threads connect to one listener at the same moment, 20 times: within a host, then between
# two. Every connection is established, carries a message and is closed (connect-many-threads.c).
# CONNECT_ROUNDS: another number of rounds, to take figures.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

rounds=${CONNECT_ROUNDS:-20}
hosts 4200
at_server() { ruse_on b "$@"; }
for from in b a; do
	at_client() { ruse_on "$from" "$@"; }
	next_port
	many="${ADDR4[b]} $CM_PORT $rounds"
	CM_TIMEOUT=130 cm_pair "$CM_PORT" "$RUSE_TESTBIN/connect-many-threads $many" \
		"$RUSE_TESTBIN/connect-many-threads -c $many" || die "from $from to b"
	note "from $from to b"
	cat "$T/client.out"
done
wait_for 20 nothing_left || die "left: $(at_server rdma res show cm_id; at_client rdma res show cm_id)"
exit 0

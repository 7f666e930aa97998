#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Rules of `ruse fault` on host a, for packets that it sends and (dir in) receives. Each rule must act, and a
# pingpong with host b must succeed or end with a completion error.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
export PAIR_TIMEOUT=60
port=18700

fault() {
	local h=$1
	shift
	on "$h" "$RUSE_BUILD/ruse" fault "$@"
}

# acted HOST ID: how often the rule has acted
acted() {
	fault "$1" list --json | python3 -c '
import json, sys
print(sum(r["acted"] for r in json.load(sys.stdin)["rules"] if r["id"] == int(sys.argv[1])))' "$2"
}

# ping OPTIONS...: a pingpong must succeed, or fail with a completion error
ping() {
	port=$((port + 1))
	pair_on a b $port "ibv_rc_pingpong -d rxe_0 -g $(gid a 4) -c -p $port $*" \
		"ibv_rc_pingpong -d rxe_0 -g $(gid b 4) -c -p $port $* ${ADDR4[a]}" 2>"$T/err" ||
		grep -q 'transport retry counter exceeded' "$T/err" ||
		{ cat "$T/err" >&2; die "pingpong $*"; }
	tail -n 1 "$T/client.out"
}

hosts 4200
for rule in 'drop 2%' 'drop 2% dir in' 'corrupt 2%' 'duplicate 5%' 'reorder 3 2%' \
	'delay 200us jitter 100us' 'drop every 50 op SEND' 'rnr every 20'; do
	# shellcheck disable=SC2086
	id=$(fault a add $rule) || die "$rule"
	note "$rule: $(ping -m 1024 -n 50 -s 8192)"
	n=$(acted a "$id")
	[ "$n" -gt 0 ] || die "$rule: nothing was done"
	fault a del all >/dev/null || die "del"
done
note "none: $(ping -n 200)"
exit 0

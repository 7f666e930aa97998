#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Rules of `ruse fault` about calls, work requests, completions and QPs.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

/usr/bin/python3 -B "${BASH_SOURCE%/*}/fault-verbs.py" "$RUSE_BUILD/ruse" "$RUSE_TESTBIN/fault-verbs" || die "fault-verbs.py"

# between STATUS RULE...: the status of the 5th work request of the test program `fault`, on a link of shared memory and by UDP
between() {
	local got want=$1
	shift
	"$RUSE_BUILD/ruse" fault add "$@" >/dev/null || die "add $*"
	got=$(FAULT_TIMEOUT=18 in_ruse timeout 250 "$RUSE_TESTBIN/fault" 9 3000 2>"$T/err" | tail -n 1)
	[ "$got" = "$want" ] || { cat "$T/err" >&2; die "$*: '$got', not '$want'"; }
	"$RUSE_BUILD/ruse" fault del all >"$T/deleted" || die "del"
	[ "$(awk 'END { print $NF }' "$T/deleted")" = 1 ] || die "$*: $(cat "$T/deleted")"
}
for RUSE_LINK in '' udp; do
	export RUSE_LINK
	# The 5th is a WRITE.
	while IFS=: read -r status text; do
		between "$text after 4" complete "$status" nth 5 op SEND op WRITE op READ
	done <<-END
		LOC_LEN_ERR:local length error
		LOC_PROT_ERR:local protection error
		LOC_QP_OP_ERR:local QP operation error
		REM_INV_REQ_ERR:remote invalid request error
		REM_OP_ERR:remote operation error
		RETRY_EXC_ERR:transport retry counter exceeded
	END
	between 'remote access error after 4' complete REM_ACCESS_ERR nth 2 op WRITE
	between 'RNR retry counter exceeded after 3' complete RNR_RETRY_EXC_ERR nth 2 op SEND
	between 'remote invalid request error after 3' complete LOC_LEN_ERR nth 2 op RECV
	between 'remote operation error after 3' complete LOC_PROT_ERR nth 2 op RECV
done
unset RUSE_LINK

# A stock program.
"$RUSE_BUILD/ruse" fault add fail post_send errno ENOMEM nth 20 >/dev/null
port=$(free_port)
# start NAME HOST...: runs one end in the background
start() {
	(exec env "${SANITIZER_OPTIONS[@]}" LD_PRELOAD="$PRELOAD" timeout 60 ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" -n 100 \
		"${@:2}") >"$T/$1.out" 2>&1 &
}
start server
server=$!
wait_for 20 listening "$port" || die "no server: $(cat "$T/server.out")"
start client localhost
client=$!
one_ended() { ! kill -0 "$server" || ! kill -0 "$client"; } 2>/dev/null
wait_for 60 one_ended || die "both ends wait"
# The other end waits for what was not sent.
kill $server $client 2>/dev/null
wait $server && wait $client && die "ibv_rc_pingpong succeeds"
grep -q "Couldn't post send" "$T"/{server,client}.out || die "$(cat "$T"/*.out)"
"$RUSE_BUILD/ruse" fault del all >/dev/null
exit 0

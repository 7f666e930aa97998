#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The reports of runs in a real browser: the expected texts are there, nothing is executed, there is no message of the
# console and no request, no text covers another one, and nothing reaches beyond 400 pixels. PICTURES names a directory
# that gets the screenshots (scripts/pictures).
# shellcheck disable=SC2016 # expanded by the inner shell
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/gate.inc
. "${BASH_SOURCE%/*}/gate.inc"
here=$(realpath "${BASH_SOURCE%/*}")
mistakes=$RUSE_BUILD/tests/mistakes/mistakes
pictures=${PICTURES:-$T}
export TMPDIR=$T ruse gate mistakes
page=$T/page.html
# Without a browser, say so before anything runs.
/usr/bin/python3 -B "$here/page.py" "$here/pages/good.html" >"$T/json" 2>"$T/err"
[ $? != 77 ] || skip "$(cat "$T/json")"

# report NAME STATUS OPTION... CMD...: runs CMD with a report and opens it, in two widths, light and dark
report() {
	local name=$1 want=$2 status=0
	shift 2
	rm -f "$page"
	timeout 120 "$ruse" run --report "$page" "$@" >"$T/out" 2>"$T/err" || status=$?
	[ $status = "$want" ] || die "$name: status $status, not $want: $(cat "$T/err" "$T/out")"
	opened "$name"
}
opened() {
	/usr/bin/python3 -B "$here/page.py" "$page" --check --timeout 100 --light --width 1280 --height 800 \
		--screenshot "$pictures/report-$1.png" --text "$T/text" >"$T/json" 2>"$T/err" || die "$1: $(cat "$T/json" "$T/err")"
	/usr/bin/python3 -B "$here/page.py" "$page" --check --timeout 100 --dark --width 400 --height 800 \
		--screenshot "$pictures/report-$1-400.png" >"$T/json" 2>"$T/err" || die "$1, 400 wide: $(cat "$T/json" "$T/err")"
	"$here/valid" html "$page" >"$T/out" 2>&1 || [ $? = 77 ] || die "$1: $(cat "$T/out")"
}
# shows TEXT...: the last page has these texts
shows() {
	local text
	for text; do
		grep -qF -- "$text" "$T/text" || die "no '$text': $(cat "$T/text")"
	done
}

note "a healthy run"
report healthy 0 --own --strict "$gate" ok 20
shows "Passed: the command ended with status 0, and all conditions hold." "nothing hangs" "no failures"

note "a wrong remote key"
port=$(free_port)
report rkey 99 --own --expect no-errors sh -c '"$mistakes" rkey-wrong server "$0" & sleep 0.5
	"$mistakes" rkey-wrong client "$0" 127.0.0.1; wait' "$port"
shows "RX-010" "remote access error" "NAK remote access error" "remedy:"

note "a hang"
report hang 124 --own --timeout 2s sh -c 'exec ibv_rc_pingpong -d rxe_0 -g 1 -p "$0"' "$(free_port)"
shows "was ended (--timeout)" "ibv_rc_pingpong" "remedy:"

note "a retransmission under a fault"
report retransmission 0 --own --expect rdma sh -c '"$ruse" fault add drop nth 5 >/dev/null && "$gate" ok 20'
shows "Requests were repeated" "drop nth 5" "fault: dropped" "again"

note "names with markup"
odd="$T/<img src=x onerror=window.hacked=1>"
cp "$gate" "$odd"
report markup 99 --own --strict "$odd" error 1 '<script>window.hacked=1</script>' $'"><svg onload=window.hacked=1>\xff\x1b[31m'
shows '<script>window.hacked=1</script>' '<img?src=x?oner'

command -v opensm >/dev/null || { note "no opensm: no fabric"; exit 0; }
note "a fabric with a pulled cable"
"$ruse" fabric up --fat-tree 4 --sm >"$T/out" || die "fabric up: $(cat "$T/out")"
# One of the two has a message on the way when the cable is pulled, and fails; the other one would wait for ever.
port=$(free_port)
report fabric 99 --timeout 60 --expect no-errors bash -c '
	"$ruse" run --host H1 ibv_rc_pingpong -d rxe_0 -n 100000000 -p "$0" &
	sleep 0.5
	"$ruse" run --host H9 ibv_rc_pingpong -d rxe_0 -n 100000000 -p "$0" localhost &
	sleep 1
	"$ruse" fabric link down H9/1
	wait -n
	kill $(jobs -p)
	wait' "$port"
shows "RETRY" "H1" "H9" "down"
"$ruse" fabric down --kill >/dev/null
exit 0

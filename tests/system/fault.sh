#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ruse fault on the links of one host: programs succeed or fail with a completion error, and the
# rules' counters say what was done. Also the syntax of rules, cables, and frozen processes.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

fault() { "$RUSE_BUILD/ruse" fault "$@"; }
clean() { fault del all >/dev/null || die "del all"; }

# count ID: prints "MATCHED ACTED" of the rule
count() {
	fault list --json | python3 -c '
import json, sys
for r in json.load(sys.stdin)["rules"]:
    if r["id"] == int(sys.argv[1]):
        print(r["matched"], r["acted"])' "$1"
}
acted() { count "$1" | cut -d' ' -f2; }

# prog ARGS...: runs the test program; prints its last line
prog() {
	in_ruse timeout 250 "$RUSE_TESTBIN/fault" "$@" >"$T/out" 2>"$T/err" ||
		{ cat "$T/out" "$T/err" >&2; die "fault $*"; }
	tail -n 1 "$T/out"
}

# expect PATTERN ARGS...: the program's last line must match
expect() {
	local want=$1 got
	shift
	got=$(prog "$@") || exit 1
	# shellcheck disable=SC2053
	[[ $got == $want ]] || die "'$got', not '$want'"
}

# Syntax: invalid rules are refused with a message.
for bad in 'add' 'add drop 101%' 'add drop 1% nth 3' 'add lose' 'add drop op NOSUCH' 'add delay' \
	'add rate 5' 'add drop qp 0' 'add drop psn 9..5' 'add error WHAT' 'add drop dev nosuch' \
	'add drop jitter 5us' 'add drop peer 1.2.3' 'del 99' 'freeze 1' 'up' 'seed x' 'nothing'; do
	# shellcheck disable=SC2086
	fault $bad >"$T/out" 2>"$T/err" && die "taken: $bad"
	grep -q '^ruse fault: ' "$T/err" || die "no word about: $bad"
done
[ "$(fault list --json | grep -c '"id"')" = 0 ] || die "a refused rule is there"

# Loss and everything else that a network does, from a script.
for p in 1 5 20; do
	cat >"$T/script" <<-EOF
		# a bad network
		seed 4711
		add drop $p%
		add duplicate 2%   # each of them once
		add reorder 3 2%
		wait 10ms
		add corrupt 1%
	EOF
	fault run "$T/script" >"$T/ids" || die "run"
	[ "$(wc -l <"$T/ids")" = 4 ] || die "four rules have four numbers"
	note "$p %: $(prog 30 20000)"
	drop=$(head -n 1 "$T/ids")
	[ "$(acted "$drop")" -gt 0 ] || die "nothing was dropped at $p %"
	clean
done

# Lines of a script that are none.
printf 'add drop 0%% qp 17\0 times 5\n' | fault run - >"$T/ids" 2>"$T/err" && die "a byte 0 ends a rule"
grep -q 'line 1 of - has a byte 0$' "$T/err" || die "$(cat "$T/err")"
(ulimit -v 2000000 && fault run /dev/zero >"$T/ids" 2>"$T/err") && die "/dev/zero is a script"
printf '# %1000d\nadd drop 0%%\nadd drop %300d\n' 1 1 | fault run - >"$T/ids" 2>"$T/err" && die "a line of 300 bytes"
grep -q 'line 3 of - is too long; the commands before it stay in effect$' "$T/err" || die "$(cat "$T/err")"
[ "$(wc -l <"$T/ids")" = 1 ] || die "a long comment is an error"
clean

# Pattern rules act as often as they say, and the program recovers.
id=$(fault add drop nth 3 op READ_RESPONSE)
expect 'done 30' 30 4000
[ "$(acted "$id")" = 1 ] || die "nth 3: $(count "$id")"
for stuck in '' --stuck; do
	# shellcheck disable=SC2086
	"$RUSE_BUILD/ruse" explain $stuck | grep -qx "Rule $id of \`ruse fault\`, 'drop nth 3 op READ_RESPONSE', has acted 1 time." ||
		die "explain $stuck does not end with the rule: $("$RUSE_BUILD/ruse" explain $stuck)"
done
clean
id=$(fault add drop every 7 op SEND times 4)
expect 'done 60' 60 3000
[ "$(acted "$id")" = 4 ] || die "every 7, 4 times: $(count "$id")"
clean
id=$(fault add duplicate 2 every 5 op WRITE)
expect 'done 30' 30 5000
read -r matched n < <(count "$id")
[ "$n" = $((matched / 5)) ] || die "every 5: $matched $n"
[ "$n" -gt 0 ] || die "every 5: $matched $n"
clean
id=$(fault add drop op SEND size 2000..2100)
expect 'done 9' 9 2500
[ "$(acted "$id")" = 0 ] || die "size: $(count "$id")"
clean

# The same seed and the same traffic give the same decisions.
for i in 1 2; do
	fault seed 99
	id=$(fault add drop 30% op WRITE_ONLY)
	expect 'done 60' 60 500
	acted "$id" >"$T/same$i"
	clean
	"$RUSE_BUILD/ruse" stop --now >/dev/null
	wait_for 5 eval '! rused_pid >/dev/null' || die "rused stays"
done
cmp -s "$T/same1" "$T/same2" || die "seed 99: $(cat "$T"/same?)"

# On slow links the bytes are still right.
fault add delay 300us jitter 100us >/dev/null
expect 'done 30' 30 20000
clean
id=$(fault add rate 200Mbit)
expect 'done 30' 30 100000
[ "$(acted "$id")" -gt 0 ] || die "rate"
clean

# RNR NAKs that end after a while, and that do not end.
id=$(fault add rnr times 5)
expect 'done 9' 9 100
[ "$(acted "$id")" = 5 ] || die "rnr: $(count "$id")"
clean
fault add rnr >/dev/null
expect 'RNR retry counter exceeded*' 9 100
clean

# Forced errors.
for e in 'REM_OP:remote operation error' 'REM_ACCESS:remote access error' \
	'REM_INV_REQ:remote invalid request error' 'LOC_PROT:local protection error' \
	'LOC_QP_OP:local QP operation error'; do
	fault add error "${e%%:*}" nth 5 op REQUEST >/dev/null
	expect "${e#*:} after 4" 9 500
	clean
done
id=$(fault add error PSN_SEQ every 4 op WRITE)
expect 'done 30' 30 500
[ "$(acted "$id")" -gt 0 ] || die "PSN_SEQ"
clean

# start ARGS...: starts the program, which pauses half-way; its pid in $mid
start() {
	rm -f "$T/go" "$T/mid"
	mkfifo "$T/go"
	in_ruse timeout 120 "$RUSE_TESTBIN/fault" "$@" pause <"$T/go" >"$T/mid" 2>&1 &
	job=$!
	exec 7>"$T/go"
	wait_for 30 grep -qs ready "$T/mid" || die "never ready: $(cat "$T/mid")"
	mid=$(sed -n 's/^ready //p' "$T/mid")
}
finish() {
	wait $job || die "$(cat "$T/mid")"
	exec 7>&-
	# shellcheck disable=SC2053
	[[ $(tail -n 1 "$T/mid") == $1 ]] || die "'$(tail -n 1 "$T/mid")', not '$1'"
}

# A pulled cable: the port is down and a QP that sends fails; after plugging in it works as
# before.
start 20 4000
fault down rxe_0 >/dev/null || die "down"
in_ruse ibv_devinfo -d rxe_0 | grep -q PORT_DOWN || die "the port is up without its cable"
echo go >&7
finish 'transport retry counter exceeded*'
fault up rxe_0 >/dev/null || die "up"
in_ruse ibv_devinfo -d rxe_0 | grep -q PORT_ACTIVE || die "the port stays down"
expect 'done 9' 9 4000

# A frozen process, for ever and for a moment.
start 20 4000
fault freeze "$mid" >/dev/null || die "freeze"
echo go >&7
finish 'transport retry counter exceeded*'
clean
start 20 4000
fault freeze "$mid" >/dev/null || die "freeze"
echo go >&7
# On a busy machine the QP may have failed before that.
fault thaw "$mid" >/dev/null || wait_for 5 grep -qs 'retry counter exceeded' "$T/mid" || die "thaw"
finish '@(done 20|transport retry counter exceeded*)'

# Stock programs on a bad network; afterwards direct placement is used again.
fault add drop 1% >/dev/null
fault add reorder 2 1% >/dev/null
port=$(free_port)
pair "$port" "ibv_rc_pingpong -d rxe_0 -g 1 -c -p $port -n 200" \
	"ibv_rc_pingpong -d rxe_0 -g 1 -c -p $port -n 200 localhost" 2>"$T/err" ||
	grep -q 'transport retry counter exceeded' "$T/err" ||
	{ cat "$T/err" >&2; die "ibv_rc_pingpong"; }
clean
expect 'done 60' 60 65536
exit 0

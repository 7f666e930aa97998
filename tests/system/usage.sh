#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the commands say to wrong usage, and with which exit status.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

# says STATUS TEXT ARGUMENT...: ruse with these arguments exits with STATUS and prints TEXT
says() {
	local want=$1 text=$2 status
	shift 2
	timeout "$LIMIT" "$RUSE_BUILD/ruse" "$@" >"$T/out" 2>&1
	status=$?
	[ $status = "$want" ] || die "ruse $*: exit status $status, not $want: $(cat "$T/out")"
	grep -qF -- "$text" "$T/out" || die "ruse $*: no '$text': $(cat "$T/out")"
}

LIMIT=20
in_ruse ibv_devices >/dev/null || die "no device"
says 2 "did you mean 'ruse status'?" stats
says 2 "unknown command 'foo'; see" foo
says 0 "usage: ruse status" help status
says 2 "unknown command 'foo'; see" help foo
says 2 "did you mean 'ruse fabric show'?" fabric shw
says 2 "did you mean 'ruse fault list'?" fault lst
says 2 "unknown command 'zap'; see" fault zap
for command in run status capture explain doctor fault fabric stop; do
	says 0 "usage: ruse $command" help "$command"
	status=2
	[ $command != run ] || status=125
	says $status nosuch "$command" --nosuch
done
for command in status capture doctor stop; do
	says 2 "unexpected argument 'x'" "$command" x
done
says 2 "unexpected argument '--jsn'" fault list --jsn
says 2 "unexpected argument 'all'" fault list all --json
says 2 "-q: '0x1000000' is not a QP number from 0 to 0xffffff" capture -q 0x1000000
says 2 "-c: '1k' is not a number of packets" capture -c 1k
says 2 "-s: '10' is not a number of bytes, from 64" capture -s 10
says 2 "'4h' is not a number from 1 to 65536" fabric up --star 4h
says 2 "'x' is not a number" fault del x
says 1 "there is no rule with this number" fault del 77
says 2 "delay: invalid value '12x'; expected a time up to 1s such as 50us (ns, us, ms, s)" fault add delay 12x
says 2 "'101%' is not a percentage from 0% to 100%" fault add drop 101%
says 125 "--own and --dir exclude each other" run --own --dir "$T/own" true
says 125 "--own and --dir exclude each other" run --dir "$T/own" --own true
echo "wait 5 minutes" >"$T/rules"
says 1 "wait: '5 minutes' is not a time up to 1000000s, such as 100ms (us, ms, s)" fault run "$T/rules"
"$RUSE_BUILD/rused" --idle 5m 2>"$T/out" && die "rused --idle 5m"
grep -qF -- "--idle: '5m' is not a number of seconds from 0 to 31536000" "$T/out" || die "$(cat "$T/out")"
says 2 "usage: up --torus" fabric up --torus 3x
says 2 "usage: up --torus" fabric up --torus x3
says 2 "unknown option --tors" fabric up --tors 3x3
says 1 "no fabric is up" fabric show --json
"$RUSE_BUILD/ruse" fabric up --star 2 || die "fabric up"
says 2 "usage: show [--json|--topology]" fabric show --jsn
says 2 "usage: link up|down NODE/PORT" fabric link dwn H1/1
says 1 "there is no node H9" fabric link down H9/1
"$RUSE_BUILD/ruse" fabric down || die "fabric down"
says 1 "/nosuch: No such file" fabric up /nosuch
says 2 "unknown action 'drp'" fault add drp
says 2 "unknown clause '--json'" fault add drop --json
says 0 "usage: ruse fabric COMMAND" fabric up --help
says 0 "usage: ruse fault COMMAND" fault add -h
says 0 "usage: ruse COMMAND" help help
says 2 "--stuck: 'last' is not a process" explain --stuck last
says 2 "--stuck: 'RX-013' is not a process" explain --stuck RX-013
LIMIT=5
says 124 "there is no device 'nope' yet" capture -d nope
LIMIT=20
mode=$(stat -c %a "$RUSE_DIR")
chmod 755 "$RUSE_DIR"
says 1 "its mode must be 0700" status
chmod "$mode" "$RUSE_DIR"
exit 0

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the commands say to wrong usage, and with which exit status.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

# says STATUS TEXT [rused] ARGUMENT...: ruse, or rused, with these arguments exits with STATUS and prints TEXT
says() {
	local want=$1 text=$2 program=ruse status
	shift 2
	[ "$1" != rused ] || { program=rused && shift; }
	timeout "$LIMIT" "$RUSE_BUILD/$program" "$@" >"$T/out" 2>&1
	status=$?
	[ $status = "$want" ] || die "$program $*: exit status $status, not $want: $(cat "$T/out")"
	grep -qF -- "$text" "$T/out" || die "$program $*: no '$text': $(cat "$T/out")"
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
for command in status capture stop; do
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
says 2 "--idle: '5m' is not a number of seconds from 0 to 31536000" rused --idle 5m
says 2 "usage: up --torus" fabric up --torus 3x
says 2 "usage: up --torus" fabric up --torus x3
says 2 "unknown option --tors" fabric up --tors 3x3
says 1 "no fabric is up" fabric show --json
# once TEXT ARGUMENT...: ruse with these arguments prints TEXT once
once() {
	local text=$1 n
	shift
	n=$(timeout "$LIMIT" "$RUSE_BUILD/ruse" "$@" 2>&1 | grep -cF -- "$text")
	[ "$n" = 1 ] || die "ruse $*: '$text' is printed $n times"
}
# A value that is not understood has one warning, an empty one none: the variable is not set.
while read -r variable text; do
	export "${variable?}"
	for program in ibv_devices ibv_devinfo; do
		[ "$program $variable" != "ibv_devices RUSE_QUEUE_MEMORY=64Q" ] || continue
		once "ruse: warning: $variable $text" run $program
		export "${variable%%=*}="
		! timeout "$LIMIT" "$RUSE_BUILD/ruse" run $program 2>&1 | grep -F warning || die "${variable%%=*}= has a warning"
		export "${variable?}"
	done
	unset "${variable%%=*}"
done <<-END
	RUSE_LINK=tcp is not udp; it is ignored
	RUSE_NO_CMA=yes is neither 0 nor 1; it counts as 1
	RUSE_NO_DIRECT=no is neither 0 nor 1; it counts as 1
	RUSE_NO_POLL_WRAP=2 is neither 0 nor 1; it counts as 1
	RUSE_EXPLAIN=on is neither 0 nor 1; it counts as 1
	RUSE_STRICT_ARM=false is neither 0 nor 1; it counts as 1
	RUSE_MEMORY=64Q is not understood: it may be private, all, or a size as 64M or 1G; it is ignored
	RUSE_QUEUE_MEMORY=64Q is no size as 64M or 1G; it is ignored
	RUSE_LOG=loud is not one of err, warn, info, debug; it is ignored
END
once "no fabric has a host H1" run --host H1 ibv_devices
timeout "$LIMIT" "$RUSE_BUILD/ruse" fabric up --star 2 || die "fabric up"
once "no fabric has a host H9" run --host H9 ibv_devices
says 2 "usage: show [--json|--topology]" fabric show --jsn
says 2 "usage: link up|down NODE/PORT" fabric link dwn H1/1
says 1 "there is no node H9" fabric link down H9/1
says 1 "run \`ruse fabric down\` first" fabric up --star 2
timeout "$LIMIT" "$RUSE_BUILD/ruse" fabric down || die "fabric down"
says 1 "/nosuch: No such file" fabric up /nosuch
says 1 "/nonexist: No such file" capture -r /nonexist
says 1 "$T/no/x: No such file" capture -w "$T/no/x"
for arg in "-r /nonexist" "-w $T/no/x"; do
	# shellcheck disable=SC2086
	! timeout "$LIMIT" "$RUSE_BUILD/ruse" capture $arg 2>&1 | grep -F packets || die "ruse capture $arg counts packets"
done
says 2 "ruse: unexpected argument 'foo'" --version foo
says 2 "ruse: unexpected argument 'foo'" -V foo
says 2 "unknown command 'foo'; see" --help foo
says 0 "usage: ruse status" --help status
says 0 "usage: ruse status" -h status
says 2 "ruse: unexpected argument 'foo'" help status foo
says 2 "rused: unexpected argument 'foo'" rused foo
says 2 "rused: unexpected argument 'foo'" rused --version foo
printf 'add drop nth 9\nwait 1us\ndel 0x\nadd drop nth 8\n' >"$T/rules"
says 1 "ruse fault: failed at line 3 of $T/rules: del 0x; the commands before it stay in effect" fault run "$T/rules"
says 0 "drop nth 9" fault list
printf '# none\nzap\n' >"$T/rules"
says 1 "ruse fault: failed at line 2 of $T/rules: zap" fault run "$T/rules"
! grep -F "in effect" "$T/out" || die "no command was executed before: $(cat "$T/out")"
{ echo "add drop nth 6"; printf '%0300d\n' 0; } >"$T/rules"
says 1 "line 2 of $T/rules is too long; the commands before it stay in effect" fault run "$T/rules"
says 0 "deleted" fault del all
says 1 "$T: Is a directory" fault run "$T"
says 1 "$T: Is a directory" capture -r "$T"
says 2 "PORTS must be even, from 2 to" fabric up --fat-tree 3
says 2 "expected an opcode such as SEND_ONLY or a class: SEND, WRITE, READ" fault add drop op FOO
says 2 "did you mean 'drop'?" fault add drpo
says 2 "actions: drop, corrupt" fault add zap
says 2 "did you mean 'times'?" fault add drop tmes 3
says 2 "clauses: nth, every" fault add drop zap 3
"$RUSE_BUILD/ruse" capture -c 1 -w "$T/empty.pcapng" 2>"$T/capture" &
wait_for 20 grep -q running "$T/capture" || die "capture does not start: $(cat "$T/capture")"
kill -INT $!
wait $!
# unwritten REASON PROGRAM ARGUMENT...: PROGRAM, which cannot write its output, gives this reason, and its status is 1
unwritten() {
	local reason=$1 status
	shift
	timeout "$LIMIT" "$RUSE_BUILD/$1" "${@:2}" 2>"$T/out"
	status=$?
	[ $status = 1 ] || die "$*: exit status $status, not 1: $(cat "$T/out")"
	[ "$(grep -cxF "$1: standard output: $reason" "$T/out")" = 1 ] || die "$*: no message: $(cat "$T/out")"
}
if [ -c /dev/full ]; then
	says 1 "/dev/full: No space left on device" capture -r "$T/empty.pcapng" -w /dev/full
	for command in --help --version 'help run' status 'status --json' 'status --watch' doctor 'doctor --json' \
		explain 'explain --json' 'explain RX-013' 'explain --stuck' 'explain --stuck --json' 'fault list' \
		'fault list --json' 'fault add drop nth 3' "capture -r $T/empty.pcapng -w -"; do
		# shellcheck disable=SC2086
		unwritten "No space left on device" ruse $command >/dev/full
	done
	unwritten "No space left on device" rused --help >/dev/full
fi
# Without standard output the connection to rused must not take its place.
printf 'add drop nth 7\nadd drop nth 8\n' >"$T/rules"
unwritten "Bad file descriptor" ruse fault run "$T/rules" >&-
says 0 "drop nth 8" fault list
says 0 "deleted" fault del all
timeout "$LIMIT" "$RUSE_BUILD/ruse" fault del all >&- || die "a command without output needs no standard output"
# A reader that has ended, as head(1), needs no message.
(trap '' PIPE; sleep 0.5; timeout "$LIMIT" "$RUSE_BUILD/ruse" status 2>"$T/out") | :
[ ! -s "$T/out" ] || die "ruse status | : says: $(cat "$T/out")"
says 2 "unknown action 'drp'" fault add drp
says 2 "unknown clause '--json'" fault add drop --json
says 0 "usage: ruse fabric COMMAND" fabric up --help
says 0 "usage: ruse fault COMMAND" fault add -h
says 0 "usage: ruse COMMAND" help help
for command in "explain 4000000000" "explain --json 4000000000" "explain 0xfffff0"; do
	# shellcheck disable=SC2086
	says 1 "ruse explain: no process or QP ${command##* } is known" $command
done
says 1 "ruse explain: no process 4000000000 is known that" explain --stuck 4000000000
says 1 "ruse explain: no process 4000000000 is known that" explain --stuck --json 4000000000
says 2 "--stuck: 'last' is not a process" explain --stuck last
says 2 "--stuck: 'RX-013' is not a process" explain --stuck RX-013
LIMIT=5
says 124 "there is no device 'nope' yet" capture -d nope
LIMIT=20
mode=$(stat -c %a "$RUSE_DIR")
chmod 755 "$RUSE_DIR"
says 1 "its mode must be 0700" status
chmod "$mode" "$RUSE_DIR"

# A run directory that does not exist: commands that only ask do not create it; with --dir its last component is created.
timeout "$LIMIT" "$RUSE_BUILD/ruse" stop --now || die "stop"
run=$RUSE_DIR RUSE_DIR=$T/typo
for command in status 'status --json' explain 'explain --stuck' 'fault list' 'fabric show' stop 'stop --now'; do
	# shellcheck disable=SC2086
	says 1 "there is no run directory $T/typo (RUSE_DIR)" $command
	[ ! -e "$T/typo" ] || die "ruse $command has made $T/typo"
done
says 0 "usage: ruse status" status --help
RUSE_DIR=$run
# An empty argument is a variable of a script that is not set.
for option in dir host netdev; do
	says 125 "ruse run: --$option: the argument is empty" run --$option "" true
	says 125 "ruse run: --$option: the argument is empty" run --$option= true
done
says 2 "rused: --rundir: the argument is empty" rused --rundir ""
says 2 "ruse fabric: --sm=: the argument is empty" fabric up --star 2 --sm=
says 125 "--dir $T/typo/x: No such file or directory" run --dir "$T/typo/x" true
says 125 "--dir $T/rules: Not a directory" run --dir "$T/rules" true
[ ! -e "$T/typo" ] || die "ruse run has made $T/typo"
says 0 "--dir $T/new: created" run --dir "$T/new" true
says 0 rxe_0 run --dir "$T/new" ibv_devices
! "$RUSE_BUILD/ruse" run --dir "$T/new" true 2>&1 | grep . || die "a message about a directory that exists"
RUSE_DIR=$T/new says 0 "has ended" stop --now

# A relative run directory is the same one after a cd.
mkdir -m 700 "$T/cd" "$T/cd/sub"
# shellcheck disable=SC2016
moves='ibv_devices >/dev/null && cd sub && ibv_devices >/dev/null && "$0" status | grep "^rundir"'
(cd "$T/cd" && says 0 "$T/cd/rel" run --dir rel sh -c "$moves" "$RUSE_BUILD/ruse") || exit 1
(cd "$T/cd" && RUSE_DIR=rel2 says 0 "$T/cd/rel2" run sh -c "$moves" "$RUSE_BUILD/ruse") || exit 1
[ -z "$(ls "$T/cd/sub")" ] || die "a second run directory: $(ls "$T/cd/sub")"
(cd "$T/cd" && RUSE_DIR=rel3 in_ruse python3 -c '
import os
os.listdir("/sys/class/infiniband")
os.chdir("sub")
pid = os.fork()
if not pid:
    os._exit(not os.listdir("/sys/class/infiniband"))
assert not os.waitpid(pid, 0)[1]
') || die "a relative RUSE_DIR in libruse.so"
[ -z "$(ls "$T/cd/sub")" ] || die "a forked child has a second run directory: $(ls "$T/cd/sub")"
for run in rel rel2 rel3; do
	RUSE_DIR=$T/cd/$run says 0 "has ended" stop --now
done

# Where rused cannot be reached the first line names the cause, and no other line does.
# cause TEXT VARIABLE...: a program with these environment variables
cause() {
	local text=$1
	shift
	timeout 60 env "${SANITIZER_OPTIONS[@]}" LD_PRELOAD="$PRELOAD" "$@" ibv_devices >"$T/out" 2>&1
	grep -m 1 ruse: "$T/out" | grep -qF -- "cannot reach rused: $text" || die "$*: the first line: $(cat "$T/out")"
	[ "$(grep -cF -- "$text" "$T/out")" = 1 ] || die "$*: twice: $(cat "$T/out")"
	! grep -qE 'reported no error|up to [0-9]+ characters' "$T/out" || die "$*: $(cat "$T/out")"
}
cause "RUSE_NETDEV=eth99: there is no network interface" RUSE_DIR="$T/cd" RUSE_NETDEV=eth99
cause "run directory $T/typo/x: No such file" RUSE_DIR="$T/typo/x"
cause "run directory $T/rules: Not a directory" RUSE_DIR="$T/rules"
RUSE_DIR=$T/cd RUSE_NETDEV=eth99 once "there is no network interface" fabric up --star 2
RUSE_DIR=$T/typo/x once "No such file" fabric up --star 2
exit 0

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse run --own`: two program trees with a rused each, which end with them.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# What is left in the user's directory, but for the link by which `ruse run` preloads from a path with a space.
own_left() {
	find "$XDG_RUNTIME_DIR" -mindepth 1 ! -path "$XDG_RUNTIME_DIR/ruse" ! -path "$XDG_RUNTIME_DIR/ruse/lib-*"
}
ruse=$RUSE_BUILD/ruse
unset RUSE_DIR
RUSE_DIRS=("$T/none")
export XDG_RUNTIME_DIR=$T/xdg
mkdir -m 700 "$XDG_RUNTIME_DIR"
export "${SANITIZER_OPTIONS[@]}"

# The program of a tree: writes its directory and the pids of the programs that its rused has, then
# waits for a file.
cat >"$T/tree" <<'END'
ibv_asyncwatch -d rxe_0 >"$1.events" 2>&1 &
watch=$!
echo $watch >"$1.watch"
# A nested `ruse run` uses the same rused.
until "$RUSE" run ibv_devinfo -d rxe_0 >/dev/null && "$RUSE" status --json | grep -q '"pid":'$watch; do
	kill -0 $watch || exit 9
done
"$RUSE" status --json | grep -oE '"(pid|comm)": *"?[^",]*' >"$1.status"
echo "$RUSE_DIR" >"$1"
until [ -e "$1.end" ]; do sleep 0.05; done
kill $watch
exit 7
END
export RUSE=$ruse
for n in 1 2; do
	"$ruse" run --own bash "$T/tree" "$T/$n" &
	tree[n]=$!
done
for n in 1 2; do
	wait_for 60 test -s "$T/$n" || die "tree $n: $(cat "$T/$n".*)"
	dir[n]=$(cat "$T/$n")
	[ "$(grep -c ibv_asyncwatch "$T/$n.status")" = 1 ] || die "tree $n sees: $(cat "$T/$n.status")"
done
[ "${dir[1]}" != "${dir[2]}" ] || die "one directory: ${dir[1]}"

note "a tree ends: its rused and directory are gone, its status is passed on, the other goes on"
touch "$T/1.end"
status=0
wait "${tree[1]}" || status=$?
[ $status = 7 ] || die "status $status"
[ ! -e "${dir[1]}" ] || die "${dir[1]} is left: $(ls "${dir[1]}")"
RUSE_DIR=${dir[1]} rused_pid && die "the rused of tree 1 is left"
RUSE_DIR=${dir[2]} rused_pid >/dev/null || die "the rused of tree 2 is gone"

note "SIGTERM is passed on"
kill -TERM "${tree[2]}"
status=0
wait "${tree[2]}" || status=$?
[ $status = 143 ] || die "status $status after SIGTERM"
[ ! -e "${dir[2]}" ] || die "${dir[2]} is left: $(ls "${dir[2]}")"
RUSE_DIR=${dir[2]} rused_pid && die "the rused of tree 2 is left"

# It has outlived its tree.
kill "$(cat "$T/2.watch")"

note "a program that outlives its tree starts no rused in the removed directory"
cat >"$T/tree" <<'END'
ibv_devinfo -d rxe_0 >/dev/null || exit 9
setsid bash -c 'for _ in $(seq 600); do [ ! -d "$RUSE_DIR" ] && break; sleep 0.1; done
	ibv_devinfo >"$1.late" 2>&1; echo $? >"$1.status"' late "$1" &
echo "$RUSE_DIR" >"$1"
END
"$ruse" run --own bash "$T/tree" "$T/3" || die "tree 3: $?"
wait_for 100 test -s "$T/3.status" || die "tree 3: the program does not end"
dir[3]=$(cat "$T/3")
RUSE_DIR=${dir[3]} rused_pid && die "a rused in the removed directory"
[ ! -e "${dir[3]}" ] || die "${dir[3]} was made again"
[ "$(cat "$T/3.status")" != 0 ] || die "the program has a device: $(cat "$T/3.late")"
grep -q "${dir[3]}.*No such file" "$T/3.late" || die "no reason: $(cat "$T/3.late")"

note "a program that still has QPs when its tree ends"
cat >"$T/tree" <<'END'
ibv_rc_pingpong -d rxe_0 -g 1 -p "$2" >/dev/null &
echo $! >"$1.program"
for _ in $(seq 600); do
	"$RUSE" status --json | grep -q '"qp": *[1-9]' && echo "$RUSE_DIR" >"$1" && exit
	sleep 0.05
done
exit 9
END
for round in 1 2 3; do
	timeout 200 "$ruse" run --own bash "$T/tree" "$T/5" "$(free_port)" 2>"$T/5.err" || die "tree 5: $(cat "$T/5.err")"
	kill -0 "$(cat "$T/5.program")" || die "round $round: the program has ended: the test shows nothing"
	[ ! -s "$T/5.err" ] || die "round $round: $(cat "$T/5.err")"
	[ -z "$(own_left)" ] || die "round $round: left: $(ls -R "$XDG_RUNTIME_DIR")"
	kill "$(cat "$T/5.program")"
done

note "a rused that is stopped when its tree ends"
cat >"$T/tree" <<'END'
ibv_devinfo -d rxe_0 >/dev/null || exit 9
kill -STOP "$("$RUSE" status --json | grep -oE '"pid": *[0-9]+' | head -n 1 | grep -oE '[0-9]+')"
END
timeout 200 "$ruse" run --own bash "$T/tree" 2>"$T/6.err" || die "tree 6: $(cat "$T/6.err")"
grep -q "has not answered.*stopped" "$T/6.err" || die "silent: $(cat "$T/6.err")"
[ -z "$(own_left)" ] || die "left: $(ls -R "$XDG_RUNTIME_DIR")"

note "what a killed ruse has left is cleared by the next start, if nothing runs there"
cat >"$T/tree" <<'END'
ibv_devinfo -d rxe_0 >/dev/null || exit 9
echo "$RUSE_DIR $$" >"$1"
exec ibv_asyncwatch -d rxe_0 >/dev/null
END
"$ruse" run --own bash "$T/tree" "$T/4" &
killed=$!
wait_for 60 test -s "$T/4" || die "tree 4"
read -r dir program <"$T/4"
kill -9 "$killed"
wait "$killed" 2>/dev/null
"$ruse" run --own true || die "beside a tree: $?"
[ -S "$dir/rused.sock" ] || die "the directory of a program that runs was cleared"
rused=$(RUSE_DIR=$dir rused_pid) || die "no rused of tree 4"
kill -9 "$program" "$rused"
ended() { ! grep -qs . "/proc/$1/cmdline"; }
wait_for 30 ended "$rused" || die "rused has not ended"
wait_for 30 ended "$program" || die "the program has not ended"
# The kernel closes the files of a process after its memory is gone.
wait_for 30 flock -n "$dir/lock" true || die "rused's lock is held"
wait_for 30 flock -n "$dir" true || die "ruse's lock is held"
[ -d "$dir" ] || die "no directory is left: the test shows nothing"
"$ruse" run --own true || die "after a killed tree: $?"
[ ! -e "$dir" ] || die "$dir is left: $(ls "$dir")"

note "a program without RDMA, and one that does not exist"
"$ruse" run --own true || die "true: $?"
"$ruse" run --own /nothere 2>/dev/null
[ $? = 127 ] || die "not found: another status"

note "a parent that ignores SIGCHLD: the status of the program is not lost"
/usr/bin/python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$ruse" run --own sh -c 'exit 7'
[ $? = 7 ] || die "SIGCHLD ignored: another status"

note "SIGINT that is sent to ruse alone, and alarm() before it, reach the program"
# shellcheck disable=SC2016 # expanded by the inner shell
env --default-signal=INT "$ruse" run --own sh -c 'trap "exit 8" INT; touch "$1"; while :; do sleep 0.05; done' sh "$T/int" &
program=$!
wait_for 60 test -e "$T/int" || die "the program does not start"
kill -INT $program
status=0
wait $program || status=$?
[ $status = 8 ] || die "status $status after SIGINT"
/usr/bin/python3 -c 'import os, signal, sys
signal.alarm(1)
os.execv(sys.argv[1], sys.argv[1:])' "$ruse" run --own sh -c 'trap "exit 9" ALRM; while :; do sleep 0.05; done' &
status=0
wait $! || status=$?
[ $status = 9 ] || die "status $status after alarm()"
[ -z "$(own_left)" ] || die "left: $(ls "$XDG_RUNTIME_DIR")"
exit 0

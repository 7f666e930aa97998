#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse run --own`: two program trees with a rused each, which end with them.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
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

note "a program without RDMA, and one that does not exist"
"$ruse" run --own true || die "true: $?"
"$ruse" run --own /nothere 2>/dev/null
[ $? = 127 ] || die "not found: another status"
[ -z "$(ls "$XDG_RUNTIME_DIR")" ] || die "left: $(ls "$XDG_RUNTIME_DIR")"
exit 0

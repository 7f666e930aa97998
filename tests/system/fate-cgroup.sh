#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A cgroup (version 2) is killed, and with it the program that has started rused: rused has left that
# cgroup, and the rping server of another program goes on. The rused of `ruse run --own` stays.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

root=$(awk '$4 == "/" && / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
mine=$(sed -n 's/^0:://p' /proc/self/cgroup)
{ [ -n "$root" ] && [ -n "$mine" ]; } || skip "no cgroups of version 2"
group=${root}${mine%/}/ruse-test-$$
mkdir "$group" 2>/dev/null || skip "may not create a cgroup in $root$mine"
finish() {
	local status=$? name
	for name in service own; do
		[ ! -e "$group/$name" ] || { echo 1 >"$group/$name/cgroup.kill"; wait_for 60 rmdir "$group/$name"; }
	done 2>/dev/null
	rmdir "$group"
	(exit "$status")
	cleanup
}
trap finish EXIT
mkdir "$group/service" "$group/own" || die "no cgroup below $group"
[ -w "$group/service/cgroup.kill" ] || skip "this kernel has no cgroup.kill"
(echo 0 >"$group/service/cgroup.procs") 2>/dev/null || skip "may not enter a cgroup in $group"

# in_cgroup NAME CMD...: runs CMD in the cgroup
in_cgroup() {
	echo 0 >"$group/$1/cgroup.procs" || exit 1
	shift
	exec env "${SANITIZER_OPTIONS[@]}" "$@"
}
# cgroup PID: prints the directory of its cgroup
cgroup() { echo "$root$(sed -n 's/^0:://p' "/proc/$1/cgroup")"; }
left() { [ "$(cgroup "$rused")" != "$group/service" ]; }
killed() { ! grep -q . "$group/$1/cgroup.procs"; }

note "a program in a cgroup starts rused, and another program's rping server uses it"
(in_cgroup service LD_PRELOAD="$PRELOAD" RUSE_LOG=info ibv_asyncwatch -d rxe_0) >"$T/starter" 2>&1 &
wait_for 60 rused_pid >/dev/null || die "no rused: $(cat "$T/starter")"
rused=$(rused_pid)
wait_for 60 left || die "rused is still in the cgroup $(cgroup "$rused")"
its=$(cgroup "$rused")
# A scope, if a service manager runs (system/units), else a cgroup that rused has made.
case $its in
*/rused) said="moved from the cgroup .*/service to $its\$" ;;
*/"rused-$rused.scope") said="moved to the scope rused-$rused.scope of systemd" ;;
*) die "rused is in the cgroup $its" ;;
esac
wait_for 60 grep -q "$said" "$RUSE_DIR/rused.log" || die "the log says: $(cat "$RUSE_DIR/rused.log")"
next_port
in_ruse timeout 100 rping -s -a 127.0.0.1 -p "$CM_PORT" -C 5 >"$T/server" 2>&1 &
server=$!
wait_for 60 cm_listening "$CM_PORT" || die "rping does not listen: $(cat "$T/server")"

note "the cgroup is killed"
echo 1 >"$group/service/cgroup.kill"
wait_for 60 killed service || die "the starter is alive"
in_ruse timeout 100 rping -c -a 127.0.0.1 -p "$CM_PORT" -C 5 >"$T/client" 2>&1 ||
	too_late $? "$T/client" || die "the client: $(cat "$T/client")"
wait $server || too_late $? "$T/server" || die "the server: $(cat "$T/server")"
[ "$(rused_pid)" = "$rused" ] || die "another rused runs: $(rused_pid)"

# Not if another rused is in it, or if the parent takes no process.
note "rused removes its cgroup at its end"
"$RUSE_BUILD/ruse" stop --now || die "ruse stop: $?"
[ ! -e "$its" ] || grep -q . "$its/cgroup.procs" || grep -q . "${its%/rused}/cgroup.subtree_control" ||
	die "$its is left"

if [ "$(id -u)" = 0 ]; then
	note "cgroups are read-only and there is no manager, as in a container: rused stays, without a warning"
	# shellcheck disable=SC2016
	(in_cgroup service unshare -m bash -c 'mount -t tmpfs none /run && mount -o remount,bind,ro "$0" || exit 1
		unset XDG_RUNTIME_DIR
		LD_PRELOAD=$1 RUSE_LOG=info exec ibv_asyncwatch -d rxe_0' "$root" "$PRELOAD") >"$T/starter" 2>&1 &
	wait_for 60 rused_pid >/dev/null || die "no rused: $(cat "$T/starter")"
	rused=$(rused_pid)
	wait_for 60 grep -qs "staying in the cgroup .*/service .*: Read-only file system" "$RUSE_DIR/rused.log" ||
		die "the log says: $(cat "$RUSE_DIR/rused.log")"
	grep -E '(warning|error).*(cgroup|scope)' "$RUSE_DIR/rused.log" && die "rused warns"
	[ "$(cgroup "$rused")" = "$group/service" ] || die "rused is in $(cgroup "$rused")"
	echo 1 >"$group/service/cgroup.kill"
	wait_for 60 killed service || die "the starter is alive"
	rused_pid && die "rused outlives its cgroup: correct rused(8) and doc/faq.md"
	in_ruse ibv_devinfo -d rxe_0 >"$T/info" 2>&1 || die "no new rused: $(cat "$T/info")"
	"$RUSE_BUILD/ruse" stop --now || die "ruse stop: $?"
fi

note "ruse run --own: its rused stays, and is killed with the program tree"
# shellcheck disable=SC2016
(in_cgroup own "$RUSE_BUILD/ruse" run --own bash -c 'ibv_devinfo -d rxe_0 >/dev/null; echo "$RUSE_DIR" >"$0"; sleep 1000' \
	"$T/dir") >"$T/tree" 2>&1 &
wait_for 60 test -s "$T/dir" || die "the tree: $(cat "$T/tree")"
RUSE_DIRS=("$RUSE_DIR" "$(cat "$T/dir")")
rused=$(RUSE_DIR=${RUSE_DIRS[1]} rused_pid) || die "no rused of the tree"
[ "$(cgroup "$rused")" = "$group/own" ] || die "the rused of the tree is in $(cgroup "$rused")"
echo 1 >"$group/own/cgroup.kill"
wait_for 60 killed own || die "the tree is alive"
RUSE_DIR=${RUSE_DIRS[1]} rused_pid && die "the rused of the tree is alive"
rm -r "${RUSE_DIRS[1]}"
exit 0

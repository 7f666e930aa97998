#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A systemd manager of the user: it gives rused a scope of its own, and runs ruse.socket and ruse.service.
#
#    this script ── unshare ── the same script ── dbus-daemon, systemd --user, programs
#
# The second one has its own PID and mount namespace, /run, and a cgroup (version 2).
if [ -z "${UNITS_GROUP:-}" ]; then
	skip() { echo "SKIP: $*"; exit 77; }
	[ "$(id -u)" = 0 ] || skip "a systemd manager of its own needs root"
	for program in systemd busctl systemctl dbus-daemon; do
		[ -n "$(type -p $program)" ] || skip "there is no $program"
	done
	root=$(awk '$4 == "/" && / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
	mine=$(sed -n 's/^0:://p' /proc/self/cgroup)
	{ [ -n "$root" ] && [ -n "$mine" ]; } || skip "no cgroups of version 2"
	export UNITS_GROUP=${mine%/}/ruse-units-$$
	mkdir "$root$UNITS_GROUP" 2>/dev/null || skip "may not create a cgroup in $root$mine"
	unshare -mpf --mount-proc --kill-child bash "$0" "$@"
	status=$?
	for _ in $(seq 100); do
		find "$root$UNITS_GROUP" -depth -type d -exec rmdir '{}' ';' 2>/dev/null
		[ -e "$root$UNITS_GROUP" ] || exit $status
		sleep 0.05
	done
	echo "FAIL: cannot remove the cgroup $root$UNITS_GROUP" >&2
	exit 1
fi
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/cm.sh
. "${BASH_SOURCE%/*}/cm.sh"

mount --make-rprivate / || die "no mounts of its own"
mount -t tmpfs none /run || die "no /run of its own"
umount -R /sys/fs/cgroup 2>/dev/null
mount -t cgroup2 none /sys/fs/cgroup || skip "may not mount cgroup2"
group=/sys/fs/cgroup$UNITS_GROUP
mkdir "$group/manager" "$group/service" || die "no cgroup below $group"
(echo 0 >"$group/manager/cgroup.procs") || skip "may not enter a cgroup"
mkdir -p /run/systemd/system
export XDG_RUNTIME_DIR=$T/xdg XDG_CONFIG_HOME=$T/config HOME=$T
export DBUS_SESSION_BUS_ADDRESS=unix:path=$XDG_RUNTIME_DIR/bus
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkdir -p "$XDG_CONFIG_HOME/systemd/user"
cp "${BASH_SOURCE%/*}/../../packaging/systemd/ruse.socket" "$XDG_CONFIG_HOME/systemd/user" || die "no ruse.socket"
sed "s|^ExecStart=[^ ]*/rused |ExecStart=$RUSE_BUILD/rused |" "$RUSE_BUILD/packaging/systemd/ruse.service" \
	>"$XDG_CONFIG_HOME/systemd/user/ruse.service" || die "no ruse.service"
grep -q "^ExecStart=$RUSE_BUILD/rused " "$XDG_CONFIG_HOME/systemd/user/ruse.service" || die "no rused in ruse.service"

dbus-daemon --session --address="$DBUS_SESSION_BUS_ADDRESS" --nofork --nopidfile >"$T/bus" 2>&1 &
bus=$!
wait_for 60 test -S "$XDG_RUNTIME_DIR/bus" || die "dbus-daemon: $(cat "$T/bus")"
(
	echo 0 >"$group/manager/cgroup.procs"
	exec env -u RUSE_DIR "${SANITIZER_OPTIONS[@]}" systemd --user --unit=basic.target
) >"$T/manager" 2>&1 &
answers() { systemctl --user is-active -q basic.target; }
wait_for 60 answers || skip "systemd --user does not start here: $(tail -n 3 "$T/manager")"
# On the bus, too
on_bus() { busctl --user status org.freedesktop.systemd1 >/dev/null 2>&1; }
wait_for 60 on_bus || die "systemd is not on the bus: $(tail -n 3 "$T/manager")"

cgroup() { sed -n 's/^0:://p' "/proc/$1/cgroup"; }
# start_in_cgroup: starts a program in a cgroup, which starts rused; sets `rused`
start_in_cgroup() {
	(
		echo 0 >"$group/service/cgroup.procs" || exit 1
		exec env "${SANITIZER_OPTIONS[@]}" LD_PRELOAD="$PRELOAD" RUSE_LOG=info ibv_asyncwatch -d rxe_0
	) >"$T/starter" 2>&1 &
	wait_for 60 rused_pid >/dev/null || die "no rused: $(cat "$T/starter")"
	rused=$(rused_pid)
}
# kill_cgroup: kills the starter; rused must be alive
kill_cgroup() {
	killed() { ! grep -q . "$group/service/cgroup.procs"; }
	echo 1 >"$group/service/cgroup.kill"
	wait_for 60 killed || die "the starter is alive"
	in_ruse ibv_devinfo -d rxe_0 >/dev/null || die "ibv_devinfo"
	[ "$(rused_pid)" = "$rused" ] || die "rused was killed with the starter's cgroup"
	"$RUSE_BUILD/ruse" stop --now || die "ruse stop: $?"
}

note "rused gets a scope of its own"
start_in_cgroup
wait_for 60 grep -q "moved to the scope rused-$rused.scope" "$RUSE_DIR/rused.log" ||
	die "$(cgroup "$rused"): $(cat "$RUSE_DIR/rused.log")"
case $(cgroup "$rused") in
"$UNITS_GROUP"/manager/*/"rused-$rused.scope") ;;
*) die "rused is in $(cgroup "$rused")" ;;
esac
kill_cgroup
collected() { [ -z "$(systemctl --user list-units --all --plain --no-legend 'rused-*')" ]; }
wait_for 60 collected || die "left: $(systemctl --user list-units --all 'rused-*')"

note "ruse.socket: the first program starts ruse.service"
unset RUSE_DIR
RUSE_DIRS=("$XDG_RUNTIME_DIR/ruse/$(stat -Lc %i /proc/self/ns/net)")
main_pid() { systemctl --user show -P MainPID ruse.service; }
# served OLD: prints the PID of the rused of ruse.service, if there is one other than OLD
served() {
	local pid
	pid=$(main_pid)
	[ "$pid" != 0 ] && [ "$pid" != "$1" ] && [ "$(cat "/proc/$pid/comm")" = rused ] && echo "$pid"
}
only() { [ "$(pgrep -x rused)" = "$1" ]; }
systemctl --user start ruse.socket || die "ruse.socket: $(systemctl --user status ruse.socket)"
[ "$(main_pid)" = 0 ] || die "ruse.service runs already"
"$RUSE_BUILD/ruse" stop --now || die "ruse stop does not end the rused that it makes systemd start: $?"
in_ruse ibv_devinfo -d rxe_0 >"$T/info" 2>&1 || die "ibv_devinfo: $(cat "$T/info")"
rused=$(served 0) || die "ruse.service does not run: $(systemctl --user status ruse.service)"
only "$rused" || die "more than one rused: $(pgrep -x rused)"
next_port
cm_pair "$CM_PORT" "rping -s -a 127.0.0.1 -p $CM_PORT -C 2" "rping -c -a 127.0.0.1 -p $CM_PORT -C 2" || die "rping"
case $(cgroup "$rused") in
*/ruse.service) ;;
*) die "rused has left its service: $(cgroup "$rused")" ;;
esac

# ended PID: true also for a zombie, until systemd reaps it
ended() { ! grep -qs '^State:.[^ZX]' "/proc/$1/status"; }
for now in '' --now; do
	note "after ruse stop $now the next program starts it again"
	# shellcheck disable=SC2086
	"$RUSE_BUILD/ruse" stop $now || die "ruse stop $now: $?"
	if [ -n "$now" ]; then
		ended "$rused" || die "ruse stop --now has not waited"
	else
		wait_for 60 ended "$rused" || die "rused does not end"
	fi
	in_ruse ibv_devinfo -d rxe_0 >"$T/info" 2>&1 || die "ibv_devinfo: $(cat "$T/info")"
	next=$(served "$rused") || die "ruse.service does not run again: $(systemctl --user status ruse.service)"
	only "$next" || die "more than one rused: $(pgrep -x rused)"
	rused=$next
done

note "the socket is deleted: rused links it again"
in_ruse ibv_asyncwatch -d rxe_0 >"$T/watch" 2>&1 &
watch=$!
wait_for 60 grep -qs 'async event FD' "$T/watch" || die "ibv_asyncwatch: $(cat "$T/watch")"
rused=$(served 0) || die "ruse.service does not run"
rm "${RUSE_DIRS[0]}/rused.sock"
linked() { [ "${RUSE_DIRS[0]}/rused.sock" -ef "$XDG_RUNTIME_DIR/ruse/socket" ]; }
wait_for 60 linked || die "rused has not linked its socket: $(ls -li "${RUSE_DIRS[0]}" "$XDG_RUNTIME_DIR/ruse")"

note "kill -9: systemd starts it again"
kill -9 "$rused"
wait_for 60 served "$rused" >/dev/null || die "ruse.service does not run again: $(systemctl --user status ruse.service)"
stop "$watch"

note "ruse.service alone"
systemctl --user stop ruse.socket ruse.service || die "cannot stop"
rm -f "${RUSE_DIRS[0]}/rused.sock"
systemctl --user start ruse.service || die "ruse.service: $(systemctl --user status ruse.service)"
# The unit is started when systemd has forked; it executes rused afterwards.
wait_for 60 served 0 >/dev/null || die "ruse.service does not run: $(systemctl --user status ruse.service)"
rused=$(served 0)
wait_for 60 test -S "${RUSE_DIRS[0]}/rused.sock" || die "rused does not listen"
in_ruse ibv_devinfo -d rxe_0 >"$T/info" 2>&1 || die "ibv_devinfo: $(cat "$T/info")"
only "$rused" || die "more than one rused: $(pgrep -x rused)"
systemctl --user stop ruse.service || die "cannot stop"
wait_for 60 test ! -e "/proc/$rused" || die "rused is alive"

note "something else than a listening socket"
export RUSE_DIR=$T/run
(
	export LISTEN_FDS=1
	exec bash -c 'LISTEN_PID=$$ exec "$RUSE_BUILD/rused" --foreground' 3</dev/null
) 2>"$T/wrong" && die "rused has taken a file for a socket"
grep -q 'no listening socket of type SEQPACKET' "$T/wrong" || die "rused says: $(cat "$T/wrong")"

note "without a bus rused moves itself"
kill "$bus"
wait "$bus"
RUSE_DIRS+=("$RUSE_DIR")
start_in_cgroup
alone() { [ "$(cgroup "$rused")" = /rused ]; }
wait_for 60 alone || die "rused is in $(cgroup "$rused"): $(cat "$RUSE_DIR/rused.log")"
grep -q 'did not create the scope' "$RUSE_DIR/rused.log" || die "the log says: $(cat "$RUSE_DIR/rused.log")"
kill_cgroup
exit 0

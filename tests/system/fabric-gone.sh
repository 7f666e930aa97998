#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Programs whose fabric is taken down, or whose rused is gone: a umad file fails, but a program that
# reads on, as opensm does, must not use a CPU or write an endless log. The subnet manager is named,
# and ended if that is asked for.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/fabric.inc
. "${BASH_SOURCE%/*}/fabric.inc"
RUSE=$RUSE_BUILD/ruse

# reader MODE: starts umad-gone on H2; its pid in $reader
reader() {
	: >"$T/reader"
	bg H2 timeout 100 "$RUSE_TESTBIN/umad-gone" "$1" >"$T/reader" 2>&1
	reader=$!
	wait_for 30 grep -q ready "$T/reader" || die "umad-gone $1: $(cat "$T/reader")"
}

for mode in block nonblock; do
	note "read() after \`fabric down\`: $mode"
	fabric up --star 2 || die "up"
	reader $mode
	fabric down || die "down"
	wait $reader || die "down, $mode: $(cat "$T/reader")"
	note "$(grep reads, "$T/reader")"
done

note "read() after the death of rused"
fabric up --star 2 || die "up"
reader nonblock
kill -9 "$(rused_pid)"
wait $reader || die "killed: $(cat "$T/reader")"

export OSM_TMP_DIR=$T/opensm OSM_CACHE_DIR=$T/opensm
mkdir "$OSM_TMP_DIR"
export "${SANITIZER_OPTIONS[@]}"
# sm_pid: the pid of the opensm of this test
sm_pid() {
	local p
	for p in $(pgrep -x opensm); do
		grep -qs . "/proc/$p/cmdline" && tr '\0' '\n' 2>/dev/null <"/proc/$p/environ" |
			grep -qxF -- "OSM_TMP_DIR=${1:-$OSM_TMP_DIR}" && echo "$p" && return
	done
	return 1
}
no_sm() { ! sm_pid >/dev/null; }
has_sm() { [ -s "$T/opensm/log" ] && sm_pid >"$T/sm"; }
no_sm_of_ruse() { ! sm_pid "$RUSE_DIR/opensm" >/dev/null; }

for round in 1 2; do
	note "opensm -B goes on after \`fabric down\`: $round"
	rm -f "$T/opensm/log"
	fabric up --fat-tree 4 || die "up"
	"$RUSE" run --host H1 opensm -B -f "$T/opensm/log" >"$T/opensm/out" || die "opensm"
	wait_for 60 all_active || die "not active: $(tail -n 5 "$T/opensm/log")"
	has_sm || die "no opensm"
	fabric down 2>"$T/down" || die "down: $(cat "$T/down")"
	grep -q "still runs: pid $(cat "$T/sm") on host H1; .kill PID. ends it, as .ruse fabric down --kill. would have" "$T/down" ||
		die "not named: $(cat "$T/down")"
	sleep 5
	sm_pid >/dev/null || die "opensm has ended"
	size=$(stat -c %s "$T/opensm/log")
	note "the log has $size bytes"
	[ "$size" -lt 1000000 ] || die "opensm's log has $size bytes"
	kill "$(cat "$T/sm")"
	wait_for 30 no_sm || die "opensm does not end"
	"$RUSE" explain | grep umad_unregister && die "the end of opensm is told as a failure"
done

note "down --kill ends it"
fabric up --star 2 || die "up"
"$RUSE" run --host H2 opensm -B -f "$T/opensm/log" >"$T/opensm/out" || die "opensm"
wait_for 60 all_active || die "not active"
fabric down --kill >"$T/down" 2>&1 || die "down --kill"
[ -s "$T/down" ] && die "down --kill: $(cat "$T/down")"
no_sm || die "opensm runs after down --kill"

note "up --sm starts it, down ends it"
for host in "" =H3; do
	fabric up --star 3 "--sm$host" >"$T/up" || die "up --sm$host"
	grep -q "runs on host ${host:-=H1}$" <(sed 's/host /host =/' "$T/up") || die "--sm$host: $(cat "$T/up")"
	all_active || die "--sm$host: not active"
	sm_pid "$RUSE_DIR/opensm" >/dev/null || die "--sm$host: no opensm"
	fabric down >"$T/down" 2>&1 || die "down: $(cat "$T/down")"
	no_sm_of_ruse || die "opensm runs after down"
	[ -e "$RUSE_DIR/opensm" ] && die "$RUSE_DIR/opensm is left"
done
fabric up --star 3 --sm=H9 2>"$T/up" && die "--sm=H9 is accepted"
grep -q "no host H9" "$T/up" || die "--sm=H9: $(cat "$T/up")"
fabric up --star 3 --sm >/dev/null || die "up after a wrong host"

# no_rused WHAT: none runs, also not a second later
no_rused() {
	local _
	for _ in $(seq 20); do
		rused_pid >/dev/null && die "$1 has started a rused: $("$RUSE" explain)"
		sleep 0.05
	done
}

note "the end of rused ends it, in order, and it starts no other rused"
sm_pid "$RUSE_DIR/opensm" >"$T/sm" || die "no opensm"
"$RUSE" stop --now >/dev/null || die "stop"
no_sm_of_ruse || die "opensm runs after the end of rused"
[ -e "$RUSE_DIR/opensm" ] && die "$RUSE_DIR/opensm is left"
no_rused "opensm of \`up --sm\`"
"$RUSE" explain >"$T/explain"
grep -q "pid $(cat "$T/sm")," "$T/explain" && die "opensm has failed: $(cat "$T/explain")"

note "the rused after one that was killed ends it"
fabric up --star 3 --sm >/dev/null || die "up"
sm_pid "$RUSE_DIR/opensm" >/dev/null || die "no opensm"
kill -9 "$(rused_pid)"
in_ruse ibv_devices >/dev/null || die "no rused after the killed one"
wait_for 30 no_sm_of_ruse || die "the opensm of the killed rused runs"
[ -e "$RUSE_DIR/opensm" ] && die "$RUSE_DIR/opensm is left"
"$RUSE" stop --now >/dev/null || die "stop"

note "a program whose rused was stopped starts none by its open files"
fabric up --star 2 || die "up"
"$RUSE" run --host H2 opensm -B -f "$T/opensm/log" >"$T/opensm/out" || die "opensm"
wait_for 60 all_active || die "not active"
in_ruse timeout 100 python3 -c '
import ctypes, os, struct, sys
answer = ctypes.create_string_buffer(64)
def command(number, body):
    return os.write(fd, struct.pack("IHH", number, len(body), len(answer)) + body)
fd = os.open("/dev/infiniband/rdma_cm", os.O_RDWR)
command(0, struct.pack("QQHB5x", 1, ctypes.addressof(answer), 0x106, 2))
print("ready", flush=True)
sys.stdin.readline()
try:
    command(1, struct.pack("QII", ctypes.addressof(answer), struct.unpack("I", answer[:4])[0], 0))
except OSError as e:
    print(e.strerror)
' >"$T/cm" 2>&1 < <(wait_for 90 test -e "$T/cm.go"; echo) &
cm=$!
wait_for 60 grep -qs ready "$T/cm" || die "rdma_cm: $(cat "$T/cm")"
"$RUSE" stop --now >/dev/null || die "stop"
touch "$T/cm.go"
wait $cm || die "rdma_cm: $(cat "$T/cm")"
grep -q "Input/output error" "$T/cm" || die "rdma_cm: $(cat "$T/cm")"
no_rused "DESTROY_ID"
kill "$(sm_pid)"
wait_for 30 no_sm || die "opensm does not end"
no_rused "opensm"

note "no opensm is installed"
mkdir "$T/empty"
if command -v bwrap >/dev/null && bwrap --dev-bind / / true 2>/dev/null; then
	hide=(bwrap --dev-bind / /)
	for place in /usr/local/sbin/opensm /usr/sbin/opensm; do
		[ ! -e $place ] || hide+=(--ro-bind /dev/null "$(realpath $place)")
	done
	PATH=/usr/bin:/bin "${hide[@]}" "$RUSE" fabric up --star 2 --sm 2>"$T/up" && die "up without opensm"
	grep -q "no opensm here; install it" "$T/up" || die "no opensm: $(cat "$T/up")"
	fabric show >/dev/null 2>&1 && die "a fabric is up"
fi

note "opensm -B goes on after \`run --own\`"
rm -f "$T/opensm/log"
export XDG_RUNTIME_DIR=$T/xdg OPENSM_LOG=$T/opensm/log RUSE
mkdir -m 700 "$XDG_RUNTIME_DIR"
cat >"$T/tree" <<'TREE'
"$RUSE" fabric up --star 2 && "$RUSE" run --host H1 opensm -B -f "$OPENSM_LOG" >/dev/null || exit 1
for _ in $(seq 600); do
	"$RUSE" fabric show | awk '$2 == "switch" || $2 == "host" { all += $6; up += $7 }
				   END { exit !all || up != all }' && echo "$RUSE_DIR" >"$1" && exit
	sleep 0.1
done
exit 1
TREE
timeout 120 "$RUSE" run --own bash "$T/tree" "$T/own" || die "run --own"
RUSE_DIR=$(cat "$T/own")
sm_pid >"$T/sm" || die "no opensm after --own"
sleep 3
[ "$(stat -c %s "$T/opensm/log")" -lt 1000000 ] || die "--own: the log has $(stat -c %s "$T/opensm/log") bytes"
[ -z "$(ls "$XDG_RUNTIME_DIR")" ] || die "left: $(ls -R "$XDG_RUNTIME_DIR")"
kill "$(cat "$T/sm")"
wait_for 30 no_sm || die "opensm does not end"
exit 0

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The socket or the whole run directory of a running rused is deleted. If rused has a client, it
# creates the socket, the directory and the device tree again, keeps UDP port 4791, and new programs
# find it. If it has no client, it ends. If another rused has taken the directory meanwhile, the first
# rused ends after its last client and leaves the files of the other alone.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

here=$(dirname "$(readlink -f "$0")")
export RUN=$RUSE_DIR PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here

# A client with a block of QP numbers and a socket of the port, until standard input ends.
cat >"$T/holder.py" <<'PY'
import sys
from rused_client import *
s = process(wait=True)
err, body, fds = call(s, LEASE, struct.pack("<4I", 0, 1, 0, 0))
assert not err and len(fds) == 3, (err, struct.unpack("<2IiI", body))
print("ready", flush=True)
sys.stdin.read()
PY
mkfifo "$T/hold"
hold() {
	python3 "$T/holder.py" <"$T/hold" >"$T/holder" 2>&1 &
	holder=$!
	exec 7>"$T/hold"
	wait_for 120 grep -q ready "$T/holder" || { cat "$T/holder"; die "no client"; }
}
release() {
	exec 7>&-
	wait $holder || { cat "$T/holder"; die "the client"; }
}

restored() { [ -S "$RUN/rused.sock" ] && [ -e "$RUN/lock" ] && tree_of "$RUN" | cmp -s - "$T/tree"; }
# use: waits until rused has made again what was deleted, and checks that a new program sees the devices and gets a socket of
# the port, and that the only rused is still process $old. A program that is earlier starts another rused.
use() {
	local out
	wait_for 120 restored || die "$1: rused does not make it again: $(tree_of "$RUN" | diff "$T/tree" -)"
	out=$(in_ruse timeout 60 ibv_devinfo 2>&1) || die "$1: a new program: $out"
	grep -q rxe_0 <<<"$out" || die "$1: no devices: $out"
	timeout 60 python3 "$T/holder.py" </dev/null >"$T/out" 2>&1 ||
		{ cat "$T/out"; die "$1: no socket of the port"; }
	[ "$(rused_pid)" = "$old" ] || die "$1: another rused: $(rused_pid), not $old"
	tree_of "$RUN" >"$T/tree.now"
	diff "$T/tree" "$T/tree.now" || die "$1: the device tree differs"
}
# Deletes the run directory. The socket and the lock, which rused watches, go last: on a busy machine rm takes
# long, and rused must not create new files meanwhile.
delete() { find "$RUN" -mindepth 1 ! -name rused.sock ! -name lock -delete; rm -r "$RUN"; }
tree_of() { (cd "$1" && find sys dev hosts | sort); }
ended() { ! kill -0 "$1" 2>/dev/null; }

"$RUSE_BUILD/ruse" fabric up --star 2 >/dev/null || die "no fabric"
in_ruse env RUSE_HOST=H1 ibv_devinfo >"$T/out" 2>&1 || { cat "$T/out"; die "no host H1"; }
hold
old=$(rused_pid) || die "no rused"
tree_of "$RUN" >"$T/tree"
grep -q '^hosts/./sys/.*/ports/1/gids/0' "$T/tree" || die "no device tree of a host"

note "the socket is deleted"
rm "$RUN/rused.sock"
use "socket deleted"
release
hold
note "the socket is another one"
rm "$RUN/rused.sock"
: >"$RUN/rused.sock"
use "socket replaced"
note "the directory is deleted"
delete
use "directory deleted"
note "the directory is deleted and made again"
delete
mkdir -m 700 "$RUN"
use "directory made again"
note "the directory is renamed"
mv "$RUN" "$T/elsewhere"
use "directory renamed"
rm -r "$T/elsewhere"
note "the lock is deleted, too"
rm "$RUN/lock" "$RUN/rused.sock"
use "lock deleted"

note "the lock is another program's"
"$RUSE_BUILD/ruse" fabric down || die "fabric down"
python3 - 7>&- <<'PY' &
import fcntl, os, time
run = os.environ["RUN"]
fd = os.open(run + "/.lock", os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(fd, fcntl.LOCK_EX)
os.rename(run + "/.lock", run + "/lock")
os.unlink(run + "/rused.sock")
open(run + "/rused.sock", "w").close()
time.sleep(1000)
PY
other=$!
leaves() { grep -q 'rused exits when its last client' "$RUN/rused.log"; }
wait_for 120 leaves || die "rused does not leave"
release
wait_for 120 ended "$old" || die "rused stays"
for f in lock rused.sock; do
	[ -e "$RUN/$f" ] || die "rused has removed the $f of another one"
done
kill $other
wait $other 2>/dev/null
rm -r "$RUN"

note "an older rused is stopped: the next one waits, and starts"
mkdir -m 700 "$RUN"
"$RUSE_BUILD/rused" --rundir "$RUN" --idle 0 &
old=$!
hold
kill -STOP "$old"
delete
mkdir -m 700 "$RUN"
"$RUSE_BUILD/rused" --rundir "$RUN" --idle 0 7>&- &
new=$!
wait_for 120 test -S "$RUN/rused.sock" || die "the next rused does not start"
kill -CONT "$old"
release
wait_for 120 ended "$old" || die "the older rused stays"
"$RUSE_BUILD/ruse" status >/dev/null || die "the older rused has taken the place of the next"
kill $new
wait $new || die "the next rused: status $?"

note "without a client rused ends, and leaves no directory"
"$RUSE_BUILD/rused" --rundir "$RUN" --idle 3600 &
old=$!
wait_for 120 test -S "$RUN/rused.sock" || die "no rused"
delete
wait_for 120 ended "$old" || die "rused stays"
[ ! -e "$RUN" ] || die "rused has made the directory again"
exit 0

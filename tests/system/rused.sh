#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Tests rused without programs, with small clients in Python.
#
#    this script ── starts, kills ──► rused ◄── SEQPACKET ── python3 (garbage, messages)
#                                       │
#                                    RUN: rused.sock lock leases sys/ dev/
#
# usage: rused.sh [PATH_OF_RUSED]   default: that of $RUSE_BUILD
set -eu

rused=${1:-${RUSE_BUILD:-$PWD/build}/rused}
here=$(dirname "$(readlink -f "$0")")
RUN=$(mktemp -d)
log=$(mktemp)
export RUN rused
pids=()

cleanup() {
	for p in "${pids[@]}"; do
		kill -9 "$p" 2>/dev/null || true
	done
	rm -rf "$RUN" "$log" "$log.second"
}
trap cleanup EXIT

fail() {
	echo "FAIL: $*" >&2
	tail "$log" >&2
	exit 1
}

# eventually CMD...: repeats CMD until it succeeds; the limit only serves to detect a broken rused
eventually() {
	for _ in $(seq 1500); do
		if "$@"; then return 0; fi
		sleep 0.02
	done
	fail "never: $*"
}

# client: runs the Python code on standard input with all of rused_client imported
client() {
	{ echo 'from rused_client import *'; cat; } |
		PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here python3 - "$@"
}

listens() { [ -S "$RUN/rused.sock" ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }
nothing_left() {
	left=$(find "$RUN" -mindepth 1 ! -name rused.log)
	[ -z "$left" ] || fail "left in the run directory: $left"
}

start() {
	"$rused" --rundir "$RUN" --foreground "$@" 2>>"$log" &
	pid=$!
	pids+=("$pid")
	eventually listens
}

# finish: rused must end by itself with status 0 and leave no files
finish() {
	eventually gone "$pid"
	wait "$pid" || fail "rused: exit status $?"
	nothing_left
}

echo "- garbage closes only who sent it"
start
client <<'PY'
import random
random.seed(1)
good = process()
for n in (1, 15, 16, 17, 72, 88, 1000, 16384, 20000):
    s = connect(); s.send(random.randbytes(n)); assert closed(s), n
TEXT = {FAULT, FABRIC, HOST}                # any text is valid and gets an answer
for kind in FAULT, FABRIC:
    err, body, _ = call(good, kind, b"xyz\xff"); assert err == 0 and b"error" in body, body
err, _, _ = call(good, HOST, b"xyz\xff"); assert err == -19, err
for kind in set(range(300)) - TEXT:
    s = process(); s.send(message(kind, b"xyz")); assert closed(s), kind
for m in (message(HELLO), message(LEASE, bytes(8)), message(STATUS, version=2),
          message(STATUS, flags=1), b"x"):
    s = connect(); s.send(m); assert closed(s), m
many = []
try:
    while len(many) < 1100:                 # more than rused accepts
        many.append(connect())
except OSError:                             # or more descriptors than allowed
    many.pop()
assert lease(good) > 0
PY

echo "- a client that never reads does not stall others"
client <<'PY'
mute = process()
mute.setblocking(False)
try:
    while True:
        mute.send(message(STATUS))
except (BlockingIOError, BrokenPipeError, ConnectionResetError):
    pass
assert lease(process()) > 0
PY

echo "- the dead are forgotten, also when a child keeps their socket open"
client <<'PY'
import signal
me = process()
r, w = os.pipe()
child = os.fork()
if not child:
    s = process()
    b = lease(s)
    if not os.fork():                       # has s open and outlives its parent
        os.close(w); os.read(os.open("/dev/zero", 0), 1); signal.pause()
    os.write(w, struct.pack("<2I", b, 0)); signal.pause()
b = struct.unpack("<2I", os.read(r, 8))[0]
assert lease(me, b) == EBUSY
grandchild = int(open(f"/proc/{child}/task/{child}/children").read())
os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
while lease(me, b) != b:
    time.sleep(0.01)
os.kill(grandchild, 0)                      # still running
os.kill(grandchild, signal.SIGKILL)
PY

echo "- netlink sockets end with their program's end of them, and with rused"
client "$pid" <<'PY'
import sys
s = process()
for _ in range(300):
    err, _, fds = call(s, NETLINK)
    if err: time.sleep(0.01)                # -EMFILE until rused has noticed the closes
    for fd in fds: os.close(fd)
while call(s, NETLINK)[0]: time.sleep(0.01)
PY

echo "- kill -9: the next rused leaves blocks to those who live"
client "$pid" <<'PY'
import signal, subprocess, sys
s = process(); mine = lease(s)
fd = call(s, NETLINK)[2][0]
os.kill(int(sys.argv[1]), signal.SIGKILL)
assert closed(s) and os.read(fd, 100) == b""
new = subprocess.Popen([os.environ["rused"], "--rundir", os.environ["RUN"], "--foreground"],
                       stderr=subprocess.DEVNULL)
stranger = os.fork()
if not stranger:                            # must not get the block, asked for or not
    o = process(wait=True)
    assert lease(o, mine) == EBUSY
    got = {lease(o) for _ in range(1022)}
    assert len(got) == 1022 and mine not in got
    assert lease(o) == ENOSPC
    os._exit(0)
assert os.waitpid(stranger, 0)[1] == 0
s = process(); assert lease(s, mine) == mine
new.terminate()
assert new.wait() == 0
left = os.listdir(os.environ["RUN"])
assert sorted(left) in (["leases"], ["leases", "rused.log"]), left             # this process still uses its block
PY
wait "$pid" 2>/dev/null || true

echo "- a crash: it says where, and that is kept"
crash() {
	"$rused" --rundir "$RUN" &
	pid=$!
	pids+=("$pid")
	eventually listens
	kill "-$1" "$pid"
	wait "$pid" 2>/dev/null && fail "it has survived SIG$1"
	grep -q " crashed: SIG$1, at$" "$RUN/rused.crash" || fail "SIG$1: $(cat "$RUN/rused.crash")"
	grep -q '^rused: error:   rused+0x' "$RUN/rused.crash" || fail "SIG$1: no place"
	rm "$RUN/rused.sock"
}
for sig in SEGV BUS ILL FPE ABRT; do
	crash $sig
done
start --idle 1
[ -e "$RUN/rused.crash" ] || fail "the next rused has removed it"
RUSE_DIR=$RUN "${rused%d}" doctor | grep -q "$RUN/rused.crash" || fail "ruse doctor does not know"
rm "$RUN/rused.crash"
finish

echo "- one that is being killed still takes connections: the next waits for the lock"
client <<'PY'
import subprocess
run = os.environ["RUN"]
lock = os.open(run + "/lock", os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
dying = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
dying.bind(run + "/rused.sock")
dying.listen()
dying.settimeout(60)
new = subprocess.Popen([os.environ["rused"], "--rundir", run, "--foreground"],
                       stderr=subprocess.DEVNULL)
dying.accept()[0].close()
dying.accept()[0].close()                   # the new rused has connected again
dying.close()
os.close(lock)
s = process(wait=True)
assert new.poll() is None
new.terminate()
assert new.wait() == 0 and closed(s)
assert set(os.listdir(run)) <= {"rused.log"}, os.listdir(run)
PY

echo "- idle: goes by itself and leaves nothing; a second one finds the first"
start --idle 1
"$rused" --rundir "$RUN" || fail "the second one: exit status $?"
[ -s "$RUN/sys/class/infiniband/rxe_0/ports/1/gids/0" ] || fail "no sysfs tree"
finish

echo "- one that is stopped: a second one says that it does not answer"
start
kill -STOP "$pid"
if "$rused" --rundir "$RUN" 2>"$RUN/second"; then fail "the second one goes, as if it were served"; fi
grep -q 'cannot lock' "$RUN/second" || fail "it says: $(cat "$RUN/second")"
rm "$RUN/second"
kill -CONT "$pid"
kill "$pid"
finish

echo "- SIGTERM with a client: the client is told, nothing is left"
start
client "$pid" <<'PY'
import signal, sys
s = process()
os.kill(int(sys.argv[1]), signal.SIGTERM)
assert closed(s)
PY
finish

echo "- shutdown by message: when the last has gone, and at once"
start
client <<'PY'
s, t = process(), connect()
call(t, HELLO, hello_body(0, b"ruse", b""))
assert call(t, SHUTDOWN)[0] == 0
t.close()
assert lease(s) > 0
PY
finish
start
client <<'PY'
s, t = process(), process()
assert call(t, SHUTDOWN, struct.pack("<I", 1))[0] == 0
assert closed(s)
PY
finish

echo "- clients that come while it goes are served by it or by the next"
client <<'PY'
import subprocess, random
random.seed(2)
run = os.environ["RUN"]
def up():
    return subprocess.Popen([os.environ["rused"], "--rundir", run, "--idle", "1"])
all = [up()]
end = time.monotonic() + 8
while time.monotonic() < end:
    s = None
    while s is None:
        try:
            s = connect()
        except (FileNotFoundError, ConnectionRefusedError):
            all.append(up())
            time.sleep(0.02)
    # Once connected, HELLO must get an answer.
    err, _, fds = call(s, HELLO, hello_body(0, b"ruse", b""))
    assert err == 0
    for fd in fds: os.close(fd)
    s.close()
    time.sleep(1 + random.uniform(-0.004, 0.012))
for p in all:
    assert p.wait() == 0
assert set(os.listdir(run)) <= {"rused.log"}, os.listdir(run)
PY

echo "- a second one names the first"
ready=$(mktemp -u)
client "$ready" <<'PY' &
import sys
with open(sys.argv[1], "w"):
    pass
s = process(wait=True)
time.sleep(3)
os.remove(sys.argv[1])
PY
holder=$!
# python3 may take longer to start than rused stays without a client.
eventually [ -e "$ready" ]
start --idle 1
for status in 0 1; do
	[ $status = 0 ] && options=() || options=(--foreground)
	got=0
	timeout 60 "$rused" --rundir "$RUN" "${options[@]}" 2>"$log.second" || got=$?
	[ $got = $status ] || fail "a second rused ${options[*]}: not exit status $status"
	grep -qxF "rused: rused (pid $pid) serves $RUN already" "$log.second" || fail "a second rused: $(cat "$log.second")"
done
wait "$holder" || fail "the client: $?"
finish

echo "- many started at once: one stays, the others succeed"
many=()
for _ in 1 2 3 4 5 6 7 8; do
	"$rused" --rundir "$RUN" --idle 1 &
	many+=($!)
done
pids+=("${many[@]}")
for p in "${many[@]}"; do
	wait "$p" || fail "one of many: exit status $?"
done
nothing_left
echo PASS

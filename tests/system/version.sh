#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A process and a rused of different versions: both say so, the process gets no device, and
# `ruse stop --now` ends that rused.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
export PYTHONPATH=${BASH_SOURCE%/*} RUN=$RUSE_DIR
release=$("$RUSE_BUILD/ruse" --version | cut -d' ' -f2)

# A process of version 99 and the rused of this build.
in_ruse ibv_devices >/dev/null || die "no device"
python3 - "$release" <<'PY' || die "rused's answer to another version"
import struct, sys
import rused_client as r
s = r.connect()
s.send(r.message(r.HELLO, b"x" * 300, version=99))
reply = s.recv(16384)
version, kind, flags, _, seq, error = struct.unpack("<HHHHIi", reply[:16])
assert (version, kind, flags, seq, error) == (1, r.HELLO, 1, 1, -93), reply[:16]
assert reply[16:].decode() == sys.argv[1], reply[16:]
assert s.recv(16384) == b""         # closed
PY
grep -q "refused pid [0-9]*: its messages have version 99, those of this rused ($release) version 1" \
	"$RUSE_DIR/rused.log" || die "rused has not logged the refusal"
"$RUSE_BUILD/ruse" stop --now >/dev/null || die "ruse stop --now"

# A rused of version 99 and a process of this build.
python3 - <<'PY' &
import os, socket, struct
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(os.environ["RUN"] + "/rused.sock")
s.listen()
while True:
    c, _ = s.accept()
    if os.path.exists(os.environ["RUN"] + "/named"):
        with open("/proc/self/comm", "w", encoding="ascii") as f:
            f.write("rused")
    try:
        request = c.recv(16384)
        _, kind, _, _, seq, _ = struct.unpack("<HHHHIi", request[:16])
        c.send(struct.pack("<HHHHIi", 99, kind, 1, 0, seq, -93) + b"7.8.9")
    except OSError:
        pass
    c.close()
PY
other=$!
wait_for 20 test -S "$RUSE_DIR/rused.sock" || die "no socket"
# tells FILE WHO: the file has one message with both versions and what to do
tells() {
	grep -c "of another version\|do not work together" "$1" | grep -qx 1 || { cat "$1"; die "$2: no message, or several"; }
	for text in "$2 is of version $release (messages 1)" "(pid $other) of version 7.8.9 (messages 99)" \
		"\`ruse stop --now\` ends that rused"; do
		grep -qF -- "$text" "$1" || { cat "$1"; die "$2: no '$text'"; }
	done
}
in_ruse ibv_devinfo >"$T/out" 2>&1 && die "ibv_devinfo works with a rused of another version"
tells "$T/out" "libruse.so of this program"
for command in status doctor explain; do
	"$RUSE_BUILD/ruse" $command >"$T/out" 2>&1 && die "ruse $command succeeds"
	tells "$T/out" "this ruse"
done
"$RUSE_BUILD/ruse" stop >"$T/out" 2>&1 && die "ruse stop succeeds without --now"
tells "$T/out" "this ruse"
# The socket may be a service manager's, which must not be ended.
"$RUSE_BUILD/ruse" stop --now >"$T/out" 2>&1 && die "ruse stop --now ends a process that is no rused"
grep -qF "process $other has the socket of rused, but is not a rused" "$T/out" || { cat "$T/out"; die "ruse stop --now: no reason"; }
kill -0 $other || die "ruse stop --now has ended a process that is no rused"
touch "$RUSE_DIR/named"
"$RUSE_BUILD/ruse" stop --now >"$T/out" 2>&1 || { cat "$T/out"; die "ruse stop --now"; }
grep -qxF "rused (pid $other) has ended" "$T/out" || { cat "$T/out"; die "ruse stop --now: no message"; }
rm "$RUSE_DIR/named"
in_ruse ibv_devices | grep -q rxe_0 || die "no device after ruse stop --now"
exit 0

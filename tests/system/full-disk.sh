#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A full file system is told as such: where rused starts, and where `ruse capture` writes.
[ "$(id -u)" = 0 ] || { echo "SKIP: a file system needs root"; exit 77; }
if [ -z "${OWN_MOUNTS:-}" ]; then
	OWN_MOUNTS=1 exec unshare -m bash "$0" "$@"
fi
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
RUSE=$RUSE_BUILD/ruse
FULL="No space left on device"

finish() {
	local status=$?
	umount -l "$T/full" 2>/dev/null
	(exit "$status")
	cleanup
}
trap finish EXIT
mount --make-rprivate / || die "no mounts of its own"
mkdir "$T/full"

# rused writes some 20 KiB: it starts, or says that the file system is full, at each size.
run=$RUSE_DIR RUSE_DIR=$T/full refused=0
for kib in 8 20 28; do
	mount -t tmpfs -o size=${kib}k,mode=700 none "$T/full" || die "no tmpfs"
	timeout 60 "$RUSE" run ibv_devices >"$T/out" 2>&1
	if ! grep -q rxe_0 "$T/out"; then
		grep -qF "$FULL" "$T/out" || die "$kib KiB: $(cat "$T/out")"
		refused=$((refused + 1))
	fi
	grep -F "Input/output" "$T/out" && die "$kib KiB: $(cat "$T/out")"
	"$RUSE" stop --now >/dev/null || die "$kib KiB: stop"
	umount -l "$T/full" || die "umount"
done
[ $refused -gt 0 ] || die "never full"

# The failures that rused leaves at its end do not fit: the earlier file stays as it is, and the log tells it.
mount -t tmpfs -o size=1m,mode=700 none "$T/full" || die "no tmpfs"
fail() {
	in_ruse python3 -c '
import os
fd = os.open("/dev/infiniband/umad0", os.O_RDWR)
for n in range(200):
    try:
        os.write(fd, bytes(24 + n))
    except OSError:
        pass
'
	"$RUSE" explain | grep -q RX- || die "no failure: $("$RUSE" explain)"
}
fail
"$RUSE" stop --now >/dev/null || die "stop"
[ -s "$T/full/failures.json" ] || die "no failures.json"
cp "$T/full/failures.json" "$T/before"
fail
head -c 2m /dev/zero >"$T/full/fill" 2>/dev/null
"$RUSE" stop --now >/dev/null || die "stop"
cmp "$T/full/failures.json" "$T/before" || die "failures.json has $(stat -c %s "$T/full/failures.json") bytes"
[ ! -e "$T/full/failures.json.new" ] || die "failures.json.new is left"
grep -q "cannot keep the failures in failures.json: $FULL" "$T/full/rused.log" ||
	die "the log is silent: $(cat "$T/full/rused.log")"
umount -l "$T/full" || die "umount"
RUSE_DIR=$run

mount -t tmpfs -o size=16k,mode=700 none "$T/full" || die "no tmpfs"
timeout 60 "$RUSE" capture -w "$T/full/x" 2>"$T/err" &
capture=$!
wait_for 20 grep -q running "$T/err" || die "capture: $(cat "$T/err")"
port=$(free_port)
pair "$port" "ibv_rc_pingpong -d rxe_0 -g 1 -p $port" "ibv_rc_pingpong -d rxe_0 -g 1 -p $port localhost" || die "pingpong"
wait $capture
status=$?
[ $status = 1 ] || die "capture: status $status: $(cat "$T/err")"
grep -qF "ruse capture: $T/full/x: $FULL" "$T/err" || die "capture: $(cat "$T/err")"
exit 0

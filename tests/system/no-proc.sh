#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Without /proc, `ruse run` finds libruse.so and rused by the name that it was started with: a path, a relative path, or a
# word that the shell has found in PATH. If there is no libruse.so beside it, it says where it has searched.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
command -v bwrap >/dev/null || skip "no bwrap (scripts/deps --test)"
[ -z "$(sanitizers)" ] || skip "the sanitizers need /proc"

box() {
	timeout 60 bwrap --ro-bind / / --bind "$T" "$T" --tmpfs /proc --dev /dev --chdir "$RUSE_BUILD" "$@"
}
box true || skip "bwrap makes no container here"
box test -e /proc/self && die "/proc is there"

PATH=$RUSE_BUILD:$PATH
for name in "$RUSE_BUILD/ruse" ./ruse ruse; do
	box "$name" run ibv_devices >"$T/out" 2>&1 || die "$name: status $?: $(cat "$T/out")"
	grep -q rxe_0 "$T/out" || die "$name: no device: $(cat "$T/out")"
done
# The name of the program in `ruse explain`, and what `ruse doctor` says without RUSE_DIR.
box "$RUSE_BUILD/ruse" run python3 -c '
import os
fd = os.open("/dev/infiniband/uverbs0", os.O_RDWR)
try:
    os.write(fd, bytes(8))
except OSError:
    pass
' >"$T/out" 2>&1 || die "python3: $(cat "$T/out")"
"$RUSE_BUILD/ruse" explain >"$T/out"
grep -q '^python3 (pid' "$T/out" || die "no name: $(cat "$T/out")"
box env -u RUSE_DIR "$RUSE_BUILD/ruse" doctor >"$T/out" 2>&1
grep -A 1 '^FAIL  run directory' "$T/out" | grep -q 'mount /proc, or set RUSE_DIR' || die "doctor: $(cat "$T/out")"
"$RUSE_BUILD/ruse" stop --now >/dev/null || die "stop"

cp "$RUSE_BUILD/ruse" "$T/ruse"
box "$T/ruse" run true >"$T/out" 2>&1
status=$?
[ $status = 127 ] || die "alone: status $status"
grep -qxF "  $T/" "$T/out" || die "alone: $(cat "$T/out")"
exit 0

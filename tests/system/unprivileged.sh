#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Pingpong as an unprivileged user, with ulimit -l 64.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

if [ "$(id -u)" -ne 0 ]; then
	ulimit -l 64 || die "ulimit -l 64"
	user=$(id -un)
	as=()
else
	other_users "$T/build"
	chown -R nobody "$RUSE_DIR"
	user=nobody
	as=(setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps=-all --bounding-set=-all)
	ulimit -l 64
fi
# A sanitizer's report of this user's programs must be found.
if [[ $(sanitizers) == *asan* ]]; then
	planted='import ctypes as c; libc = c.CDLL(None); libc.malloc.restype = c.c_void_p
p = c.c_void_p(libc.malloc(8)); libc.free(p); libc.free(p)'
	env "${SANITIZER_OPTIONS[@]}" "${as[@]}" env LD_PRELOAD="$(sanitizers)" /usr/bin/python3 -c "$planted" >"$T/planted" 2>&1
	grep -qs double-free "$T"/sanitizer/report.* ||
		die "the report of a planted error is lost: $(cat "$T/planted")"
	rm -f "$T"/sanitizer/report.*
fi
port=$(free_port)
run() {
	env "${SANITIZER_OPTIONS[@]}" "${as[@]}" bash -c \
		"LD_PRELOAD=$PRELOAD exec timeout 60 ibv_rc_pingpong -d rxe_0 -g 1 -p $port $*"
}
run >"$T/server.out" 2>&1 &
wait_for 20 listening "$port" || { cat "$T/server.out" >&2; die "no server"; }
run localhost >"$T/client.out" 2>&1 || { cat "$T/client.out" >&2; die "client"; }
wait || die "server"
grep -q usec/iter "$T/server.out" || die "no figures of the server"
grep -q usec/iter "$T/client.out" || die "no figures of the client"
note "$user with $(ulimit -l) KiB of locked memory: $(tail -n 1 "$T/client.out")"
exit 0

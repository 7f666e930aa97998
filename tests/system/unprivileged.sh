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
	# The build tree may be readable by root only: copy what is needed.
	mkdir "$T/build"
	cp "$RUSE_BUILD"/{libruse.so,rused,ruse} "$T/build/"
	chmod a+rx "$T" "$T/build"
	chmod a+rx "$T"/build/*
	chown -R nobody "$RUSE_DIR"
	PRELOAD=${PRELOAD/$RUSE_BUILD/$T/build}
	user=nobody
	as=(setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps=-all --bounding-set=-all)
	ulimit -l 64
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

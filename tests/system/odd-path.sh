#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ruse in a directory whose path LD_PRELOAD cannot have: with spaces, a colon and an umlaut. `ruse run` preloads by a
# symbolic link in the user's directory, which is below XDG_RUNTIME_DIR here.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
odd="$T/odd päth: x"
export "${SANITIZER_OPTIONS[@]}" XDG_RUNTIME_DIR=$T/user
mkdir -m 700 "$XDG_RUNTIME_DIR" "$T/a b"
mkdir "$odd"
cp "$RUSE_BUILD"/{libruse.so,rused,ruse} "$odd/"
ruse=$odd/ruse

# runs [OPTION...]: has a program that another one starts the device?
runs() {
	timeout 60 "$ruse" run "$@" sh -c 'printenv LD_PRELOAD; ibv_devices' >"$T/out" 2>"$T/err" || die "run $*: $(cat "$T/err")"
	grep -q rxe_0 "$T/out" || die "run $*: $(cat "$T/out" "$T/err")"
	! grep -q "cannot be preloaded" "$T/err" || die "run $*: $(cat "$T/err")"
	preload=$(head -n 1 "$T/out")
	preload=${preload##*:}
	[[ $preload == "$XDG_RUNTIME_DIR"/ruse/lib-*/libruse.so ]] || die "run $*: preloaded by '$preload'"
}
runs
[ "$(readlink "/proc/$(rused_pid)/exe")" = "$odd/rused" ] || die "not the rused of this directory"
link=${preload%/*}
[ "$(readlink "$link")" = "$odd" ] || die "$link is a link to $(readlink "$link")"
before=$(stat -c %i "$link")
runs
[ "$(stat -c %i "$link")" = "$before" ] || die "the link is made again"
# Whatever is in its place is replaced.
ln -sfn /nowhere "$link"
runs
rm "$link"
touch "$link"
runs
[ "$(find "$XDG_RUNTIME_DIR/ruse" -name 'lib-*' | wc -l)" = 1 ] || die "left: $(ls -l "$XDG_RUNTIME_DIR/ruse")"
runs --own
RUSE_DIR="$T/a b/r ü" runs
RUSE_DIR="$T/a b/r ü" timeout 60 "$ruse" stop --now >"$T/out" 2>&1 || die "stop: $(cat "$T/out")"

port=$(free_port)
timeout 60 "$ruse" run ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" >"$T/server" 2>&1 &
wait_for 20 listening "$port" || die "no server: $(cat "$T/server")"
timeout 60 "$ruse" run ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" localhost >"$T/client" 2>&1 || die "client: $(cat "$T/client")"
wait || die "server: $(cat "$T/server")"

# A link there is of no use.
XDG_RUNTIME_DIR="$T/a b" timeout 60 "$ruse" run true >"$T/out" 2>&1
rc=$?
[ $rc = 125 ] || die "a link whose path has a space: status $rc: $(cat "$T/out")"
grep -q "cannot preload '$odd/libruse.so': its path contains a space or a colon, and so does '.*a b/ruse'" "$T/out" ||
	die "a link whose path has a space: $(cat "$T/out")"
exit 0

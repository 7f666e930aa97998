#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Messages about a run directory that cannot be used name it.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

COMMANDS=(status 'status --json' explain 'explain --stuck' 'fault list' 'fault add drop 1%' 'fabric show'
	'fabric up --star 2' 'capture -c 1' stop 'stop --now')

# names STATUS REGEX COMMAND: the command fails with this status; it has a message that matches, and none without a path
names() {
	local want=$1 regex=$2 status
	shift 2
	timeout 60 "$@" </dev/null >"$T/out" 2>&1
	status=$?
	[ $status = "$want" ] || die "$*: exit status $status, not $want: $(cat "$T/out")"
	grep -qE -- "$regex" "$T/out" || die "$*: no '$regex': $(cat "$T/out")"
	! grep -F "${regex##*: }" "$T/out" | grep -v / || die "$*: a message without a path: $(cat "$T/out")"
}

ruse=$RUSE_BUILD/ruse
touch "$T/file"
mkdir -m 755 "$T/open"
for command in "${COMMANDS[@]}"; do
	# shellcheck disable=SC2086
	RUSE_DIR=$T/file/x names 1 "$T/file/x: Not a directory" "$ruse" $command
	# shellcheck disable=SC2086
	RUSE_DIR=$T/open names 1 "run directory $T/open belongs to another user, or others may use it" "$ruse" $command
done
RUSE_DIR=$T/file/x names 1 "FAIL .*run directory .*$T/file/x: Not a directory" "$ruse" doctor
RUSE_DIR=$T/file/x names 1 "FAIL .*rused .*$T/file/x: Not a directory" "$ruse" doctor
long=$T/$(printf '%0200d' 0)
RUSE_DIR=$long names 1 "${long:0:60}.*: File name too long" "$ruse" status

command -v bwrap >/dev/null || skip "no bwrap (scripts/deps --test)"
box=(bwrap --ro-bind / / --dev /dev --tmpfs /run --remount-ro /run --tmpfs /tmp
	--ro-bind "$RUSE_BUILD" "$RUSE_BUILD" --remount-ro /tmp --chdir / --unsetenv RUSE_DIR --unsetenv XDG_RUNTIME_DIR)
"${box[@]}" true || skip "bwrap makes no container here"
for command in "${COMMANDS[@]}"; do
	# shellcheck disable=SC2086
	names 1 "/tmp/ruse-[0-9]+.*: Read-only file system" "${box[@]}" "$ruse" $command
done
names 125 "run --own: .* /tmp: Read-only file system" "${box[@]}" "$ruse" run --own true
names 1 "FAIL .*run directory .*/tmp/ruse-[0-9]+.*: Read-only file system" "${box[@]}" "$ruse" doctor
names 1 "FAIL .*rused .*/tmp/ruse-[0-9]+.*: Read-only file system" "${box[@]}" "$ruse" doctor

# Without /proc the network namespace is not known, and so the name of the directory.
if [ -z "$(sanitizers)" ]; then
	names 1 "/proc/self/ns/net: No such file or directory" "${box[@]}" --tmpfs /proc "$ruse" fault add drop 1%
	names 1 "/proc/self/ns/net: No such file or directory" "${box[@]}" --tmpfs /proc "$ruse" doctor
fi
exit 0

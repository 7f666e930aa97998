#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The run directory that is chosen if $RUSE_DIR is not set: root of one user namespace and root of
# another get different directories, and a user whose directory name in /tmp was taken by another user
# gets another directory. The test has its own /tmp.
[ "$(id -u)" = 0 ] || { echo "SKIP: two users need root"; exit 77; }
if [ -z "${OWN_TMP:-}" ]; then
	OWN_TMP=1 exec unshare -nmpf --mount-proc --kill-child bash "$0" "$@"
fi
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

finish() {
	local status=$?
	umount -l /tmp
	(exit "$status")
	cleanup
}
mount --make-rprivate / || die "no mounts of its own"
mount --bind "$RUSE_BUILD" /mnt || die "no build tree for other users"
# The new /tmp hides a checkout below /tmp; programs such as pyenv's python3 need a working directory that exists.
cd / || exit 1
mount -t tmpfs -o mode=1777 none /tmp || die "no /tmp of its own"
trap finish EXIT
export -n RUSE_DIR
unset XDG_RUNTIME_DIR

# as UID CMD...: runs CMD as this user, without privileges
as() {
	local uid=$1
	shift
	env -C / setpriv --reuid "$uid" --regid "$uid" --clear-groups -- "$@"
}
# Commands that start a rused, by changing its state, and end it.
start="/mnt/ruse fault seed 1 && /mnt/ruse stop --now"

as 4001 sh -c "$start" || die "user 4001"
[ "$(stat -c %u:%a /tmp/ruse-4001)" = 4001:700 ] || die "no /tmp/ruse-4001"

# A umask that takes all permissions leaves no directory that cannot be used.
as 4008 sh -c "umask 777; $start" || die "umask 777"
as 4008 sh -c 'umask 777; /mnt/ruse run --own true' || die "umask 777: --own"
as 4008 sh -c "umask 777; cd /tmp/ruse-4008 && /mnt/ruse run --dir new true" || die "umask 777: --dir"
[ "$(stat -c %a /tmp/ruse-4008 /tmp/ruse-4008/new | sort -u)" = 700 ] || die "umask 777: $(ls -lR /tmp/ruse-4008)"
[ "$(echo /tmp/ruse-own.*)" = '/tmp/ruse-own.*' ] || die "umask 777: left: $(ls -ld /tmp/ruse-own.*)"

# Users 4002 and 4003 are both root in a user namespace, and each gets the directory of its real user ID.
for uid in 4002 4003; do
	as $uid unshare -Urn sh -c "$start" || die "user $uid in a user namespace"
	[ "$(stat -c %u:%a /tmp/ruse-$uid)" = $uid:700 ] || { ls -l /tmp; die "no /tmp/ruse-$uid"; }
done
[ ! -e /tmp/ruse-0 ] || die "/tmp/ruse-0 is of no user here"

# A run directory serves one network namespace, and a program of another one is told so.
mkdir -m 700 /tmp/one || die "no /tmp/one"
export RUSE_DIR=/tmp/one
/mnt/ruse fault seed 1 || die "no rused"
said=$(unshare -n /mnt/ruse run ibv_devices 2>&1)
grep -q "rused: it serves another network namespace; set RUSE_DIR to another directory" <<<"$said" || die "$said"
/mnt/ruse stop --now || die "stop"
export -n RUSE_DIR

# A rused removes directories that rused processes of dead namespaces have left beside its own. It
# keeps a directory that is young (3) or locked (2), has a rused.crash (4), leases of a living process
# (5), another owner (6), or a name that is no number.
make_left() {
	local n
	for n in 1 2 3 4 5 6; do
		mkdir -p /tmp/ruse-4001/$n/sys/class/infiniband /tmp/ruse-4001/$n/hosts/1/sys
		chmod 700 /tmp/ruse-4001/$n
		touch /tmp/ruse-4001/$n/rused.log /tmp/ruse-4001/$n/leases
	done
	touch /tmp/ruse-4001/4/rused.crash
	python3 - /tmp/ruse-4001/5/leases $$ <<'PY'
import struct, sys
pid = int(sys.argv[2])
start = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[19])
with open(sys.argv[1], "wb") as f:
    f.write(bytes(16) + struct.pack("<iIQ", pid, 0, start))
PY
	touch /tmp/ruse-4001/2/lock
	mkdir -m 755 /tmp/ruse-4001/name
	chown -R 4001:4001 /tmp/ruse-4001
	chown 4009 /tmp/ruse-4001/6
	for n in 1 2 4 5 6; do
		touch -d '2 days ago' /tmp/ruse-4001/$n/leases /tmp/ruse-4001/$n
	done
}
make_left
exec 8</tmp/ruse-4001/2/lock
flock 8
as 4001 sh -c "$start" 8<&- || die "user 4001 beside leftovers"
gone() { [ ! -e "$1" ]; }
wait_for 60 gone /tmp/ruse-4001/1 || { ls -lR /tmp/ruse-4001/1; die "left behind"; }
no_rused() { ! pgrep -x rused >/dev/null; }
wait_for 60 no_rused || die "rused does not end"
[ "$(cd /tmp/ruse-4001 && echo [2-6] 4/* name)" = "2 3 4 5 6 4/rused.crash name" ] ||
	{ ls -R /tmp/ruse-4001; die "the wrong leftovers are removed"; }
exec 8<&-

# Another user has taken the names: by a file, by a directory, or by a symbolic link, and for users
# 4005 and 4006 the first of the alternative names, too.
as 4009 sh -c 'touch /tmp/ruse-4004; mkdir -m 777 /tmp/ruse-4005 /tmp/ruse-4005.0;
	ln -s /tmp/ruse-4001 /tmp/ruse-4006; ln -s /tmp/ruse-4001 /tmp/ruse-4006.0'
for uid in 4004 4005 4006; do
	as $uid sh -c "$start" || die "user $uid is locked out"
	as $uid sh -c "$start" || die "user $uid is locked out"
	[ "$(find /tmp -maxdepth 1 -name "ruse-$uid.*" -uid $uid -perm 700 | wc -l)" = 1 ] ||
		{ ls -l /tmp; die "user $uid: not one directory"; }
done

# The name is taken and ten programs of one user start at once: all must find the same alternative directory.
as 4009 mkdir -m 777 /tmp/ruse-4007
lookers=()
for _ in $(seq 10); do
	as 4007 /mnt/ruse fault seed 1 &
	lookers+=($!)
done
for p in "${lookers[@]}"; do
	wait "$p" || die "one of ten was locked out"
done
as 4007 sh -c "/mnt/ruse fault add drop 1% && /mnt/ruse fault list | grep -q drop" ||
	die "two run directories"
as 4007 /mnt/ruse stop --now
exit 0

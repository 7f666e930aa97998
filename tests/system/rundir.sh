#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The run directory without $RUSE_DIR: users of two user namespaces do not meet in one, and a
# directory in /tmp that another user has made first does not keep the user out. In a /tmp of its own.
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
mount -t tmpfs -o mode=1777 none /tmp || die "no /tmp of its own"
trap finish EXIT
export -n RUSE_DIR
unset XDG_RUNTIME_DIR

# as UID CMD...: without privileges. The status line of ruse names the run directory.
as() {
	local uid=$1
	shift
	env -C / setpriv --reuid "$uid" --regid "$uid" --clear-groups -- "$@"
}
# A rused is started by what changes something, and ends with it.
start="/mnt/ruse fault seed 1 && /mnt/ruse stop --now"

as 4001 sh -c "$start" || die "user 4001"
[ "$(stat -c %u:%a /tmp/ruse-4001)" = 4001:700 ] || die "no /tmp/ruse-4001"

# Root of two user namespaces is two users.
for uid in 4002 4003; do
	as $uid unshare -Urn sh -c "$start" || die "user $uid in a user namespace"
	[ "$(stat -c %u:%a /tmp/ruse-$uid)" = $uid:700 ] || { ls -l /tmp; die "no /tmp/ruse-$uid"; }
done
[ ! -e /tmp/ruse-0 ] || die "/tmp/ruse-0 is of no user here"

# What rused of dead namespaces has left beside is removed, unless it is young, locked, has files
# of others, answers, or has leases of a living process.
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

# A foreigner was there first: a file, a directory, a link, and a forest of the random ones.
as 4009 sh -c 'touch /tmp/ruse-4004; mkdir -m 777 /tmp/ruse-4005 /tmp/ruse-4005.0;
	ln -s /tmp/ruse-4001 /tmp/ruse-4006; ln -s /tmp/ruse-4001 /tmp/ruse-4006.0'
for uid in 4004 4005 4006; do
	as $uid sh -c "$start" || die "user $uid is locked out"
	as $uid sh -c "$start" || die "user $uid is locked out"
	[ "$(find /tmp -maxdepth 1 -name "ruse-$uid.*" -uid $uid -perm 700 | wc -l)" = 1 ] ||
		{ ls -l /tmp; die "user $uid: not one directory"; }
done

# All find the same, however many look first at once.
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

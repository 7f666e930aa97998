#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Programs see ruse's devices only, also on a machine whose own devices cannot be used, as hosted runners have. Their part
# is played by files in a mount namespace.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

if [ "${1:-}" != inside ]; then
	as=(unshare -m)
	[ "$(id -u)" = 0 ] || as=(unshare -rm)
	"${as[@]}" true 2>/dev/null || skip "no mount namespaces"
	"${as[@]}" bash "$0" inside
	exit
fi

# A /sys/class with the classes of this machine, as symbolic links and directories of these, and an adapter mana_0.
mkdir "$T/class"
cp -a /sys/class/net /sys/class/misc "$T/class/" 2>/dev/null
ib=$T/class/infiniband/mana_0 verbs=$T/class/infiniband_verbs/uverbs7 mad=$T/class/infiniband_mad/umad7
mkdir -p "$ib/ports/1/gids" "$verbs" "$mad"
echo "1: CA" >"$ib/node_type"
echo "4: ACTIVE" >"$ib/ports/1/state"
echo 1 >"$verbs/abi_version"
echo 231:199 >"$verbs/dev"
echo mana_0 | tee "$verbs/ibdev" >"$mad/ibdev"
echo 1 >"$mad/port"
echo 6 >"$T/class/infiniband_verbs/abi_version"
echo 5 >"$T/class/infiniband_mad/abi_version"
mount --bind "$T/class" /sys/class || skip "/sys/class cannot be covered"
if [ -d /dev/infiniband ]; then
	mkdir "$T/dev"
	touch "$T/dev/uverbs7"
	mount --bind "$T/dev" /dev/infiniband || skip "/dev/infiniband cannot be covered"
fi
[ "$(ls /sys/class/infiniband)" = mana_0 ] || die "the machine has no mana_0"
"$RUSE_TESTBIN/walk" | grep -q "^glob mana_0" || die "walk finds no mana_0 without ruse"

# sees TEXT CMD...: CMD under ruse prints what has TEXT, and nothing of the machine's device
sees() {
	local text=$1
	shift
	in_ruse timeout 60 "$@" >"$T/out" 2>&1
	grep -q -- "$text" "$T/out" || die "$*: no '$text': $(cat "$T/out")"
	! grep -E 'mana_0|uverbs7|umad7' "$T/out" || die "$* sees the machine's device: $(cat "$T/out")"
}
sees rxe_0 ibv_devices
sees rxe_0 ibv_devinfo -l
sees rxe_0 rdma link
sees rxe_0 ls -l /sys/class/infiniband /sys/class/infiniband_verbs
sees rxe_0 find /sys/class/infiniband /sys/class/infiniband_mad/
sees rxe_0 bash -c 'echo /sys/class/infiniband/* /sys/class/infiniband*/* /dev/infiniband/*'
sees rxe_0 cat /sys/class/infiniband_verbs/uverbs0/ibdev
! in_ruse cat /sys/class/infiniband/mana_0/node_type || die "the machine's device can be read"
! in_ruse cat /dev/infiniband/uverbs7 || die "the machine's device can be opened"
sees rxe_0 python3 -c 'import glob, os
print(os.listdir("/sys/class/infiniband"), [e.name for e in os.scandir("/sys/class/infiniband")],
      glob.glob("/sys/class/infiniband*/*"), next(os.walk("/sys/class/infiniband")))
os.chdir("/sys/class/infiniband")
print(os.listdir("."))'
if command -v ibstat >/dev/null; then
	sees rxe_0 ibstat -l
fi
sees rxe_0 "$RUSE_TESTBIN/walk"
for f in glob glob64 nftw nftw64 ftw scandir scandirat; do
	grep -q "^$f rxe_0$" "$T/out" || die "$f does not find rxe_0: $(cat "$T/out")"
done
! grep -vE '^[a-z0-9]+ rxe_0$' "$T/out" || die "walk: $(cat "$T/out")"
exit 0

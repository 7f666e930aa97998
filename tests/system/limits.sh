#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs limits.c under small limits of address space, file size and locked memory: either it works, or it
# cannot open the device and prints the limit. It is never killed by a signal.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

# run ULIMIT-OPTION VALUE [KIB]: status in $rc, standard error in $T/err
run() {
	(
		ulimit "$1" "$2" || exit 99
		in_ruse timeout 120 "$RUSE_TESTBIN/limits" ${3:+"$3"} 2>"$T/err"
	)
	rc=$?
}
works() { run "$@"; [ $rc -eq 0 ] || { cat "$T/err" >&2; die "$*: status $rc"; }; }
# refused TEXT ...: no device, and the message has TEXT
refused() {
	local text=$1
	shift
	run "$@"
	[ $rc -eq 2 ] || { cat "$T/err" >&2; die "$*: status $rc instead of 2"; }
	grep -q "$text" "$T/err" || { cat "$T/err" >&2; die "$*: no message"; }
}

# This first program also starts rused, which must not inherit the limit.
refused RLIMIT_FSIZE -f 100
works -f 200000
works -f 3000000
works -v 400000
works -f unlimited

# Locked memory.
if [ "$(id -u)" -eq 0 ]; then
	# Another user, with a rused of its own.
	other_users "$T/build" "$RUSE_TESTBIN/limits"
	run_as=(setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps=-all
		--bounding-set=-all)
	install -d -m 700 -o nobody "$T/nobody"
	dir=$T/nobody
	lib=$T/build/libruse.so
	bin=$T/build/limits
	RUSE_DIRS=("$RUSE_DIR" "$dir")
else
	run_as=()
	dir=$RUSE_DIR
	lib=$RUSE_BUILD/libruse.so
	bin=$RUSE_TESTBIN/limits
fi
# locked KIB: runs limits.c, unprivileged, with MCL_FUTURE and a limit of KIB KiB of locked memory
locked() {
	"${run_as[@]}" env RUSE_DIR="$dir" LD_PRELOAD="$lib" timeout 120 "$bin" "$1" 2>"$T/err"
	rc=$?
}
locked 64
[ $rc -eq 2 ] || { cat "$T/err" >&2; die "64 KiB of locked memory: status $rc instead of 2"; }
grep -q "ulimit -l" "$T/err" || { cat "$T/err" >&2; die "64 KiB of locked memory: no message"; }
most=$(ulimit -H -l)
[ "$most" = unlimited ] || [ "$most" -ge 8192 ] || { note "ulimit -H -l is $most"; exit 0; }
locked 8192
[ $rc -eq 0 ] || { cat "$T/err" >&2; die "8 MiB of locked memory: status $rc"; }
exit 0

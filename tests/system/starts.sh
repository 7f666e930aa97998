#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Programs and rused are started, ended and killed on a busy machine: no program may report that it
# could not reach rused. Also: if rused cannot start, the program's message must have the reason.
#
#   STARTS_SECONDS   duration (default 10)
#   STARTS_LOAD      processes that only compute (default 8)
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

seconds=${STARTS_SECONDS:-10} load=${STARTS_LOAD:-8}

note "rused cannot start: the message has the reason and the path"
# refused NAME TEXT...: without a rused there are no devices, and the message has each TEXT. The program uses
# the library in $T/NAME if there is one, and the run directory $T/run.NAME.
refused() {
	local name=$1 text lib=$PRELOAD
	shift
	RUSE_DIR=$T/run.$name
	[ ! -e "$T/$name" ] || lib=$(sanitizers)$T/$name/libruse.so
	PRELOAD=$lib in_ruse timeout 100 ibv_devinfo >"$T/out.$name" 2>&1 && die "devices without a rused: $name"
	for text; do
		grep -qF -- "$text" "$T/out.$name" || { cat "$T/out.$name"; die "the message lacks: $text"; }
	done
	[ ! -e "$RUSE_DIR/rused.crash" ] || { cat "$RUSE_DIR/rused.crash"; die "rused crashed"; }
}
mkdir "$T/broken" "$T/absent"
cp "$RUSE_BUILD/libruse.so" "$T/broken"
cp "$RUSE_BUILD/libruse.so" "$T/absent"
printf '#!/bin/sh\necho "rused: error: no luck today" >&2\nexit 1\n' >"$T/broken/rused"
chmod +x "$T/broken/rused"
mkdir -m 700 "$T/run.broken" "$T/run.absent" "$T/run.leases"
# A directory in place of a file, so that rused itself fails at its start.
mkdir "$T/run.leases/leases"
# A program tries for seconds to start rused: side by side.
(trap - EXIT; refused broken "cannot reach rused: no luck today" \
	"rused is $T/broken/rused, its run directory $T/run.broken;") &
cases=($!)
(trap - EXIT; refused absent "cannot reach rused: exec: No such file or directory" \
	"rused is $T/absent/rused, its run directory $T/run.absent;") &
cases+=($!)
(trap - EXIT; refused leases "cannot reach rused: cannot start in $T/run.leases: ") &
cases+=($!)
for p in "${cases[@]}"; do
	wait "$p" || die "a message is wrong"
done

note "rused without descriptors exits, at whichever descriptor it fails"
for most in {6..15}; do
	status=0
	(ulimit -n "$most" && exec timeout 100 "$RUSE_BUILD/rused" --rundir "$RUSE_DIR" --idle 1 \
		--foreground) >"$T/out" 2>&1 || status=$?
	[ $status -lt 124 ] || { cat "$T/out"; die "with $most descriptors: status $status"; }
	! grep -q "crashed" "$T/out" || { cat "$T/out"; die "rused crashed with $most descriptors"; }
	rm -rf "${RUSE_DIR:?}"/*
done

note "starts and kills for $seconds s beside $load processes"
burners=()
for _ in $(seq "$load"); do
	while :; do :; done &
	burners+=($!)
done
# worker N: starts programs, kills one in four
worker() {
	local n=0 killed=0 pid status
	RANDOM=$1
	while [ $SECONDS -lt "$seconds" ]; do
		in_ruse ibv_devinfo >"$T/worker.$1" 2>&1 &
		pid=$!
		if [ $((RANDOM % 4)) = 0 ]; then
			sleep "0.0$((RANDOM % 10))"
			kill -9 $pid 2>/dev/null && killed=1
		fi
		wait $pid 2>/dev/null
		status=$?
		n=$((n + 1))
		if grep -q "cannot reach rused" "$T/worker.$1" ||
			{ [ $status != 0 ] && [ $killed = 0 ]; }; then
			echo "program $n of worker $1: status $status: $(cat "$T/worker.$1")" >>"$T/failures"
		fi
		killed=0
	done
	echo $n >"$T/count.$1"
}
SECONDS=0
workers=()
for n in 1 2 3 4; do
	worker $n &
	workers+=($!)
done
# rused is killed, told to end, or told to end when idle.
while [ $SECONDS -lt "$seconds" ]; do
	sleep "0.$((RANDOM % 10))"
	pid=$(rused_pid) || continue
	case $((RANDOM % 4)) in
	0 | 1) kill -9 "${pid%%$'\n'*}" ;;
	2) kill -TERM "${pid%%$'\n'*}" ;;
	3) "$RUSE_BUILD/ruse" stop >/dev/null 2>&1 ;;
	esac 2>/dev/null
done
for p in "${workers[@]}"; do
	wait "$p"
done
kill "${burners[@]}"
wait "${burners[@]}" 2>/dev/null
note "$(cat "$T"/count.* | awk "{ n += \$1 } END { print n }") programs"
[ ! -e "$T/failures" ] || { head -20 "$T/failures"; die "programs have failed"; }
exit 0

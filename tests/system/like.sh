#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Devices that are like an adapter: limits, errnos and reasons (like.py), stock programs, and a rused that runs with
# another adapter.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
export "${SANITIZER_OPTIONS[@]}"

/usr/bin/python3 -B "${BASH_SOURCE%/*}/like.py" "$RUSE_BUILD/ruse" "$RUSE_TESTBIN/like-calls" || die "like.py"

# under NAME CMD...: the two ends of a stock program, of which the second gets the argument localhost
under() {
	local like=$1 server rc
	shift
	timeout 120 "$RUSE_BUILD/ruse" run --like "$like" "$@" >"$T/server" 2>&1 &
	server=$!
	for _ in $(seq 200); do
		timeout 120 "$RUSE_BUILD/ruse" run --like "$like" "$@" localhost >"$T/client" 2>&1
		rc=$?
		# The server may not listen yet.
		grep -q "Couldn't connect" "$T/client" || break
		sleep 0.1
	done
	wait "$server" && [ $rc -eq 0 ] && return
	cat "$T/server" "$T/client"
	die "$like: $*"
}

end_rused() { "$RUSE_BUILD/ruse" stop --now >/dev/null; wait_for 10 eval '! rused_pid >/dev/null'; }

for like in rxe connectx-5 connectx-6 connectx-7 e810 bnxt strictest; do
	under "$like" ibv_rc_pingpong -g 1 -n 200
	"$RUSE_BUILD/ruse" status --json | grep -q "\"like\":\"$like\"" || die "ruse status does not tell $like"
	if command -v ib_send_bw >/dev/null; then
		for bw in ib_send_bw ib_write_bw; do
			under "$like" "$bw" -x 1 -F -n 1000
			under "$like" "$bw" -x 1 -F -n 1000 -q 4
		done
	fi
	end_rused
done

# Another adapter is an error for `ruse run`, and a warning for RUSE_LIKE.
"$RUSE_BUILD/ruse" run --like e810 ibv_devinfo >/dev/null || die "ibv_devinfo"
"$RUSE_BUILD/ruse" run --like bnxt true 2>"$T/err" && die "another adapter is taken"
grep -q "^ruse run: --like bnxt: rused is running like e810; " "$T/err" || die "$(cat "$T/err")"
RUSE_LIKE=bnxt "$RUSE_BUILD/ruse" run ibv_devinfo >/dev/null 2>"$T/err" || die "RUSE_LIKE is an error"
grep -q "RUSE_LIKE=bnxt has no effect" "$T/err" || die "no warning: $(cat "$T/err")"
"$RUSE_BUILD/ruse" run --own --like bnxt ibv_devinfo -v | grep -q "max_qp_wr:.*4351" || die "--own has another adapter"
"$RUSE_BUILD/ruse" run --like nothing true 2>"$T/err" && die "an unknown name is taken"
grep -q "^ruse run: --like nothing: " "$T/err" || die "$(cat "$T/err")"
end_rused
RUSE_LIKE=nothing "$RUSE_BUILD/ruse" run ibv_devinfo 2>"$T/err" && die "rused takes an unknown name"
grep -q "RUSE_LIKE=nothing: there is no adapter nothing; \`ruse like list\` has the names" "$T/err" || die "rused does not tell: $(cat "$T/err")"

# One's own file, by any path to it; a change is told, as rused has read the file.
printf '{ "fields": { "max_sge": 2 } }\n' >"$T/own.json"
(cd "$T" && RUSE_LIKE=./own.json "$RUSE_BUILD/ruse" run --own ibv_devinfo -v) | grep -q "max_sge:.*2$" ||
	die "a relative path in RUSE_LIKE"
(cd "$T" && "$RUSE_BUILD/ruse" run --like ./own.json ibv_devinfo -v) | grep -q "max_sge:.*2$" || die "a relative path"
"$RUSE_BUILD/ruse" run --like "$T/../${T##*/}/own.json" true || die "another path to the file is another adapter"
printf '{ "fields": { "max_sge": 3 } }\n' >"$T/own.json"
"$RUSE_BUILD/ruse" run --like "$T/own.json" true 2>"$T/err" && die "the changed file has no effect"
grep -q "own.json: the file has changed since rused has read it; \`ruse stop\`" "$T/err" || die "$(cat "$T/err")"
end_rused
"$RUSE_BUILD/ruse" run --like "$T/own.json" ibv_devinfo -v | grep -q "max_sge:.*3$" || die "not the changed file"
mkfifo "$T/fifo"
timeout 10 "$RUSE_BUILD/ruse" run --like "$T/fifo" true 2>"$T/err" && die "a FIFO is taken"
grep -q "fifo: it is no regular file" "$T/err" || die "$(cat "$T/err")"
exit 0

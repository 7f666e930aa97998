#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Send queues that are freed when the program polls: each case of like-credits.c under each adapter that does so, and a
# program that writes into its rings. LIKE_LONG=1 adds the adapters of the same driver.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
export "${SANITIZER_OPTIONS[@]}"

likes="connectx-5 e810 bnxt strictest"
[ ! "${LIKE_LONG:-}" ] || likes="$likes connectx-6 connectx-7"
for like in $likes; do
	for c in every64 inline unsignaled unpolled sig-all flush reset two-qps resize overflow ex fork copy threads; do
		timeout 100 "$RUSE_BUILD/ruse" run --like "$like" "$RUSE_TESTBIN/like-credits" $c >"$T/out" 2>&1 ||
			die "$like, $c: $(cat "$T/out")"
		grep -qx ok "$T/out" || die "$like, $c: $(cat "$T/out")"
	done
	# A CQ that is resized gives its credits another ring; bnxt has no such call.
	timeout 60 "$RUSE_BUILD/ruse" run --like "$like" "$RUSE_TESTBIN/like-hostile" "${LIKE_HOSTILE:-1}" $RANDOM \
		>"$T/out" 2>&1 || die "$like, hostile: $(cat "$T/out")"
	note "$like: $(cat "$T/out")"
	rused_pid >/dev/null || die "$like: no rused"
	timeout 60 "$RUSE_BUILD/ruse" run --like "$like" "$RUSE_TESTBIN/like-credits" every64 >"$T/out" 2>&1 ||
		die "$like, after a hostile program: $(cat "$T/out")"
	"$RUSE_BUILD/ruse" stop --now >/dev/null
	wait_for 10 eval '! rused_pid >/dev/null' || die "rused does not end"
done

# As in rxe nothing is full that is completed.
timeout 60 "$RUSE_BUILD/ruse" run "$RUSE_TESTBIN/like-credits" unsignaled >"$T/out" 2>&1 &&
	die "without --like a queue is full of what is completed"
grep -q "work requests are taken" "$T/out" || die "$(cat "$T/out")"
exit 0

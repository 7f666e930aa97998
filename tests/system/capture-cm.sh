#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Compares `ruse capture` with tshark for every CM message of the kernel captures: each field that
# tshark knows must have the same value.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
DATA=${BASH_SOURCE%/*}/../data/kernel-rxe
command -v tshark >/dev/null || skip "tshark is not installed"
command -v xz >/dev/null || skip "xz is not installed"

messages=0
for f in "$DATA"/*/*.pcap.xz; do
	name=${f#"$DATA"/}
	xz -dc "$f" >"$T/in.pcap" || die "$name: cannot be unpacked"
	python3 "${BASH_SOURCE%/*}/capture_cm.py" "$RUSE_BUILD/ruse" "$T/in.pcap" >"$T/out" ||
		die "$name: $(cat "$T/out")"
	messages=$((messages + $(cat "$T/out")))
done
[ $messages -ge 50 ] || die "only $messages CM messages"
note "$messages CM messages"

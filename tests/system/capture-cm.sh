#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Compares `ruse capture` with tshark for every CM message of the kernel captures: each field that
# tshark knows must have the same value.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
DATA=${BASH_SOURCE%/*}/../data/kernel-rxe
command -v tshark >/dev/null || skip "tshark is not installed"
command -v xz >/dev/null || skip "xz is not installed"

# One file with the packets of all captures, as tshark takes longer to start than to read them. Their file
# headers are equal.
for f in "$DATA"/*/*.pcap.xz; do
	name=${f#"$DATA"/}
	xz -dc "$f" >"$T/in.pcap" || die "$name: cannot be unpacked"
	[ -e "$T/all.pcap" ] || head -c 24 "$T/in.pcap" >"$T/all.pcap"
	cmp -n 24 "$T/in.pcap" "$T/all.pcap" || die "$name: another file header"
	tail -c +25 "$T/in.pcap" >>"$T/all.pcap"
done
python3 "${BASH_SOURCE%/*}/capture_cm.py" "$RUSE_BUILD/ruse" "$T/all.pcap" >"$T/out" || die "$(cat "$T/out")"
messages=$(cat "$T/out")
[ "$messages" -ge 50 ] || die "only $messages CM messages"
note "$messages CM messages"

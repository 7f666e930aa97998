#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Malformed datagrams sent to a live connection between two hosts (malformed.c): random,
# truncated, damaged and repeated ones from captures of kernel rxe, with right and wrong ICRCs.
# The transfer must continue with every byte right. MALFORMED=1000000 is the long form.
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
DATA=${BASH_SOURCE%/*}/../data/kernel-rxe
count=${MALFORMED:-50000}
port=18950
seed=${SEED:-$RANDOM}
command -v xz >/dev/null || skip "xz is not installed"

# The RoCE datagrams of the captures, each after its length.
for f in "$DATA"/*/*.pcap.xz; do
	xz -dc "$f" >"$T/$(basename "${f%/*}")-$(basename "$f" .xz)" || die "$f"
done
python3 - "$T"/*.pcap >"$T/corpus" <<'EOP' || die "no corpus"
import struct, sys
out, n = sys.stdout.buffer, 0
for name in sys.argv[1:]:
    b = open(name, "rb").read()
    o, of_file = 24, 0
    while o + 16 <= len(b) and of_file < 150:
        size = struct.unpack("<I", b[o + 8:o + 12])[0]
        p = b[o + 16:o + 16 + size]
        o += 16 + size
        at = {b"\x08\x00": 34, b"\x86\xdd": 54}.get(p[12:14])
        if not at or p[at + 2:at + 4] != b"\x12\xb7":
            continue
        p = p[at + 8:]
        out.write(struct.pack(">H", len(p)) + p)
        n, of_file = n + 1, of_file + 1
assert n > 1000, n
EOP

# total NAME: a wire counter of b's process
total() {
	on b "$RUSE_BUILD/ruse" status --json | python3 -c '
import json, sys
print(sum(p.get("wire", {}).get(sys.argv[1], 0)
          for p in json.load(sys.stdin).get("processes", []) if p["comm"] == "malformed"))' "$1"
}

hosts 4200
ruse_on b timeout 900 "$RUSE_TESTBIN/malformed" recv $port >"$T/recv.out" 2>&1 &
receiver=$!
wait_for 20 listening_on b $port || die "$(cat "$T/recv.out")"
ruse_on a bash -c "echo \$\$ >$T/send.pid
	exec timeout -s KILL 900 $RUSE_TESTBIN/malformed send $port ${ADDR4[b]}" >"$T/send.out" 2>&1 &
sender=$!
wait_for 20 grep -qs '^rc ' "$T/recv.out" || die "$(cat "$T"/*.out)"
read -r _ rc _ ud _ psn <"$T/recv.out"
before=$(total rx_packets)
note "$count datagrams to RC $rc, UD $ud and nobody, PSNs not from $psn on; seed $seed"
on a timeout 600 "$RUSE_TESTBIN/malformed" flood "${ADDR4[a]}" "${ADDR4[b]}" "$rc" "$ud" "$psn" \
	"$count" "$seed" "${MALFORMED_RATE:-40000}" "$T/corpus" || die "flood"
kill -0 $receiver $sender || die "they are gone: $(cat "$T"/*.out)"

told() {
	icrc=$(total bad_icrc) bad=$(total malformed)
	[ "$icrc" -ge $((count / 20)) ] && [ "$bad" -ge $((count / 50)) ]
}
wait_for 10 told || die "only $icrc wrong ICRCs and $bad malformed are told of $count"
note "$(($(total rx_packets) - before)) packets came, $icrc with a wrong ICRC, $bad malformed"
# timeout passes the signal on.
kill -TERM "$(pgrep -P "$(cat "$T/send.pid")" -x malformed)" || die "no sender"
wait $sender || die "sender, seed $seed: $(cat "$T"/*.out)"
wait $receiver || die "receiver, seed $seed: $(cat "$T"/*.out)"
note "the transfer: $(tail -n 1 "$T/recv.out")"
rounds=$(sed -n 's/^rounds //p' "$T/recv.out")
[ "$rounds" -gt 10 ] || die "only $rounds rounds: it did not go on"
exit 0

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Every packet of the kernel rxe captures must parse, have a right ICRC, and be printed by ruse
# with the values that tshark shows. Damaged packets and cut files must be reported.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
DATA=${BASH_SOURCE%/*}/../data/kernel-rxe
command -v tshark >/dev/null || skip "tshark is not installed"
command -v xz >/dev/null || skip "xz is not installed"

# tshark's fields: source, destination, opcode, destination QP, PSN and others.
theirs() {
	tshark -r "$1" -o udp.check_checksum:FALSE -Y infiniband -T fields -E separator='|' \
		-e ip.src -e ipv6.src -e ip.dst -e ipv6.dst -e infiniband.bth.opcode \
		-e infiniband.bth.destqp -e infiniband.bth.psn -e infiniband.reth.dmalen \
		-e infiniband.aeth.syndrome -e infiniband.aeth.msn -e infiniband.deth.srcqp 2>"$T/err" ||
		cat "$T/err" >&2
}

# tshark takes longer to start than to read a capture: it reads the packets of all captures from one file.
# Their file headers are equal: pcap, little-endian, Ethernet.
files=0 packets=0
: >"$T/ours"
for f in "$DATA"/*/*.pcap.xz; do
	name=${f#"$DATA"/}
	xz -dc "$f" >"$T/in.pcap" || die "$name: cannot be unpacked"
	"$RUSE_BUILD/ruse" capture -r "$T/in.pcap" >"$T/lines" 2>"$T/sum" || die "$name: $(cat "$T/sum")"
	grep -q 'wrong ICRC' "$T/sum" "$T/lines" && die "$name: a wrong ICRC"
	n=$(wc -l <"$T/lines")
	grep -q "^ruse capture: $n packets, 0 lost$" "$T/sum" || die "$name: $n lines, but $(cat "$T/sum")"
	sed "s|^|$name: |" "$T/lines" >>"$T/ours"
	[ -e "$T/all.pcap" ] || head -c 24 "$T/in.pcap" >"$T/all.pcap"
	cmp -n 24 "$T/in.pcap" "$T/all.pcap" || die "$name: another file header"
	tail -c +25 "$T/in.pcap" >>"$T/all.pcap"
	files=$((files + 1)) packets=$((packets + n))
done
[ $files -ge 30 ] || die "only $files captures"
theirs "$T/all.pcap" >"$T/theirs"
python3 "${BASH_SOURCE%/*}/captures.py" "$T/ours" "$T/theirs" >"$T/out" || die "$(cat "$T/out")"
[ "$(cat "$T/out")" = $packets ] || die "$packets packets by ruse, $(cat "$T/out") by tshark"
note "$packets packets in $files captures"

# Each wrong bit in a packet must be detected.
xz -dc "$DATA/6.1/atomic_fadd.pcap.xz" >"$T/in.pcap"
python3 - "$T/in.pcap" <<'EOF' || die "damage was not seen"
import struct, subprocess, sys, os
b = bytearray(open(sys.argv[1], "rb").read())
o, spots = 24, []
while o < len(b):
    n = struct.unpack("<I", b[o + 8:o + 12])[0]
    if b[o + 16 + 23] == 17 and b[o + 16 + 36:o + 16 + 38] == b"\x12\xb7":
        spots.append((o + 16, n))
    o += 16 + n
assert spots
for at, n in spots:
    c = bytearray(b)
    c[at + n - 5] ^= 0x10
    open(sys.argv[1] + ".bad", "wb").write(c)
    r = subprocess.run([os.environ["RUSE_BUILD"] + "/ruse", "capture", "-r", sys.argv[1] + ".bad"],
                       capture_output=True, text=True)
    assert r.returncode == 0 and "1 with a wrong ICRC" in r.stderr, r.stderr
    assert r.stdout.count("[wrong ICRC]") == 1
EOF

# A file that is cut anywhere must at worst be an error.
size=$(stat -c %s "$T/in.pcap")
for ((n = 0; n < size; n += 97)); do
	head -c "$n" "$T/in.pcap" >"$T/cut"
	"$RUSE_BUILD/ruse" capture -r "$T/cut" >/dev/null 2>&1
	[ $? -le 1 ] || die "cut at $n"
done
"$RUSE_BUILD/ruse" capture -r "${BASH_SOURCE[0]}" >/dev/null 2>&1 && die "a script is a capture"
exit 0

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Counters and identity of devices that are like an adapter. The bytes of perftest, within 2 %, at both ends: between two
# devices of a host by direct placement and by segments in shared memory; and between hosts. The names are those
# of the adapter's file, in sysfs and by netlink.
#
#   host a: va (rxe_0), da (second)      host b: vb (rxe_0)
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
export "${SANITIZER_OPTIONS[@]}"
DATA=$(realpath "${BASH_SOURCE%/*}/../../data/like")
PATH=$PATH:/sbin:/usr/sbin
command -v rdma >/dev/null || die "no rdma tool: scripts/deps installs iproute2"
command -v ib_send_bw >/dev/null || skip "no perftest"

hosts 4200
on a ip link add da type veth peer name pa || die "no veth"
on a ip link set pa mtu 4200 up
on a ip link set da mtu 4200 up
on a ip addr add 10.79.0.1/24 dev da

# shown HOST DEVICE FILE: a counter, as a path below ports/1
shown() { ruse_on "$1" cat "/sys/class/infiniband/$2/ports/1/$3"; }
ended() { ! RUSE_DIR=$T/$1 rused_pid >/dev/null; }
end_rused() {
	on "$1" "$RUSE_BUILD/ruse" stop --now >/dev/null
	wait_for 10 ended "$1" || die "rused does not end"
}

export RUSE_LIKE=connectx-6
ruse_on a rdma link add second type rxe netdev da || die "no second device"
ruse_on b ibv_devinfo -d rxe_0 >/dev/null || die "no device on b"

# The counters of a device: data sent, data received, in bytes, and packets; WRITEs and READs that came; repetitions.
facts() {
	local xd rd xp rp w r a b c d
	xd=$(shown "$1" "$2" counters/port_xmit_data) rd=$(shown "$1" "$2" counters/port_rcv_data)
	xp=$(shown "$1" "$2" counters/port_xmit_packets) rp=$(shown "$1" "$2" counters/port_rcv_packets)
	w=$(shown "$1" "$2" hw_counters/rx_write_requests) r=$(shown "$1" "$2" hw_counters/rx_read_requests)
	a=$(shown "$1" "$2" hw_counters/local_ack_timeout_err) b=$(shown "$1" "$2" hw_counters/packet_seq_err)
	c=$(shown "$1" "$2" hw_counters/duplicate_request) d=$(shown "$1" "$2" hw_counters/rnr_nak_retry_err)
	echo "$((xd * 4)) $((rd * 4)) $xp $rp $w $r $((a + b + c + d))"
}

# within WHAT BYTES WANT REPEATED: 0 to 2 % above; without the upper limit if packets were repeated
within() {
	[ "$2" -ge "$3" ] || die "$1: $2 bytes are counted of $3"
	[ "$4" -gt 0 ] || [ $(($2 * 100)) -le $(($3 * 102)) ] || die "$1: $2 bytes are counted for $3"
}

# measure WHAT TOOL SERVER DEVICE CLIENT DEVICE
measure() {
	local what=$1 tool=$2 s=$3 sd=$4 c=$5 cd=$6 port bytes iters size i opts repeated
	local -a s0 s1 c0 c1 sent got
	port=$(free_port)
	opts="-m 4096 -s 65536 -n 1000 -x 1 -F -p $port"
	read -ra s0 < <(facts "$s" "$sd")
	read -ra c0 < <(facts "$c" "$cd")
	pair_on "$s" "$c" "$port" "$tool -d $sd $opts" "$tool -d $cd $opts ${ADDR4[$s]}" || die "$what: $tool"
	read -r size iters < <(awk '$1 == 65536 { print $1, $2 }' "$T/client.out")
	bytes=$((size * iters))
	# The programs have ended: their counts stay, and do not change any more.
	read -ra s1 < <(facts "$s" "$sd")
	read -ra c1 < <(facts "$c" "$cd")
	[ "$(facts "$s" "$sd")" = "${s1[*]}" ] || die "$what: $tool: counters change without traffic"
	for i in 0 1 2 3 4 5 6; do
		s1[i]=$((s1[i] - s0[i]))
		c1[i]=$((c1[i] - c0[i]))
	done
	note "$what: $tool, $bytes bytes: server ${s1[*]}, client ${c1[*]}"
	sent=("${c1[@]}") got=("${s1[@]}")
	[ "$tool" != ib_read_bw ] || { sent=("${s1[@]}"); got=("${c1[@]}"); }
	repeated=$((s1[6] + c1[6]))
	within "$what: $tool: sent" "${sent[0]}" "$bytes" $repeated
	within "$what: $tool: received" "${got[1]}" "$bytes" $repeated
	# The other way there are requests or acknowledgements.
	[ $((got[0] * 20)) -le "$bytes" ] || die "$what: $tool: the receiver has sent ${got[0]} bytes"
	[[ ${got[0]} -gt 0 && ${sent[1]} -gt 0 ]] || die "$what: $tool: nothing is counted the other way"
	[ "${got[3]}" -ge $((iters * 16)) ] || die "$what: $tool: ${got[3]} packets have arrived"
	case $tool in
	ib_write_bw) [ "${s1[4]}" -ge "$iters" ] || die "$what: ${s1[4]} WRITEs of $iters" ;;
	ib_read_bw) [ "${s1[5]}" -ge "$iters" ] || die "$what: ${s1[5]} READs of $iters" ;;
	esac
}

for tool in ib_write_bw ib_read_bw ib_send_bw; do
	measure "direct placement" $tool a second a rxe_0
	RUSE_NO_DIRECT=1 measure "segments" $tool a second a rxe_0
	measure "hosts" $tool b rxe_0 a rxe_0
done
end_rused a
end_rused b

# The names, and no others; of a counter by netlink also the value, which does not change without traffic.
cat >"$T/names.py" <<'P'
import json, os, subprocess, sys
like, data = sys.argv[1:]
with open(data, encoding="utf-8") as f:
    want = json.load(f)
top = "/sys/class/infiniband"
device = os.listdir(top)[0]
port = f"{top}/{device}/ports/1"
for kind, more in ("hw_counters", {"lifespan"}), ("counters", set()):
    names = want.get(kind, {}).get("names", {}).get("value", [])
    is_there = os.path.isdir(f"{port}/{kind}")
    assert is_there == bool(names), f"{like}: {kind} is {'' if is_there else 'not '}there"
    if is_there:
        have = set(os.listdir(f"{port}/{kind}"))
        assert have == set(names) | more, f"{like}: {kind}: {sorted(have ^ (set(names) | more))}"
words = subprocess.run(["rdma", "statistic", "show", "link", f"{device}/1"], check=True, text=True,
                       stdout=subprocess.PIPE).stdout.split()
told = dict(zip(words[2::2], words[3::2]))
assert list(told) == want["hw_counters"]["names"]["value"], f"{like}: rdma statistic: {words}"
for name, value in told.items():
    # Those that are not of traffic: this program has objects.
    if not name.startswith("active_"):
        with open(f"{port}/hw_counters/{name}", encoding="ascii") as f:
            assert f.read() == value + "\n", f"{like}: {name}"
sent = [n for n in ("tx_bytes", "ip4OutOctets", "sent_pkts") if n in told]
assert all(int(told[n]) > 1000 for n in sent), f"{like}: {told}"
P
for like in rxe connectx-5 connectx-6 connectx-7 e810 bnxt; do
	export RUSE_LIKE=$like
	port=$(free_port)
	opts="-m 4096 -s 65536 -n 1000 -x 1 -F -p $port"
	pair_on a a "$port" "ib_send_bw $opts" "ib_send_bw $opts ${ADDR4[a]}" || die "$like: ib_send_bw"
	ruse_on a /usr/bin/python3 -B "$T/names.py" $like "$DATA/$like.json" || die "$like: names"
	end_rused a
done

# The identity is that of the file with `,identity`, else that of rxe; librxe runs the device in both cases.
cat >"$T/identity.py" <<'P'
import json, os, re, subprocess, sys
like, data, asked = sys.argv[1], sys.argv[2], sys.argv[3] == "identity" and sys.argv[1] != "rxe"
with open(data, encoding="utf-8") as f:
    want = {k: v["value"] for k, v in json.load(f).get("identity", {}).items()} if asked else {}
want.setdefault("device_name", "rxe_%d")
top = "/sys/class/infiniband"
device, = os.listdir(top)
assert device == want["device_name"].replace("%d", "0"), f"{like}: {device}"
for name in "fw_ver", "board_id", "hca_type", "hw_rev", "node_desc":
    path = f"{top}/{device}/{name}"
    text = open(path, encoding="ascii").read() if os.path.exists(path) else None
    rxe = {"fw_ver": "", "node_desc": "rxe"}.get(name)
    expect = want.get(name, rxe)
    assert text == (None if expect is None else f"{expect}\n"), f"{like}: {name}: {text}"
out = subprocess.run(["ibv_devinfo", "-v"], check=True, text=True, stdout=subprocess.PIPE).stdout
told = dict(re.findall(r"^\s+(\w+):\s+(\S+)", out, re.M))
for name, rxe in ("vendor_id", "0xffffff"), ("vendor_part_id", 0), ("hw_ver", 0):
    expect = want.get(name, rxe)
    assert int(told[name], 0) == (int(expect, 16) if isinstance(expect, str) else expect), f"{like}: {name}: {told[name]}"
fw = (want.get("fw_ver", "0.0.0") + ".0.0").split(".")[:3]
assert told["fw_ver"] == ".".join(fw), f"{like}: {told['fw_ver']}"
P
for like in rxe connectx-5 connectx-6 connectx-7 e810 bnxt; do
	for word in identity credits=poll; do
		export RUSE_LIKE=$like,$word
		ruse_on a /usr/bin/python3 -B "$T/identity.py" $like "$DATA/$like.json" $word || die "$like: $word"
		port=$(free_port)
		opts="-g 1 -n 100 -p $port"
		pair_on a a "$port" "ibv_rc_pingpong $opts" "ibv_rc_pingpong $opts ${ADDR4[a]}" || die "$like: $word: pingpong"
		end_rused a
	done
done
# It belongs to what is asked for.
on a "$RUSE_BUILD/ruse" run --like strictest,identity true 2>"$T/err" && die "strictest has an identity"
grep -q "strictest has no identity" "$T/err" || die "$(cat "$T/err")"
exit 0

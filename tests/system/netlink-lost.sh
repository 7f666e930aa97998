#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# rused dies while a program has an RDMA netlink socket: before a request, and after a request that it
# has not answered. Both are answered by the next rused, over the same socket.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

# A process that obeys: "send", "recv" and "end", one a line.
cat >"$T/client.py" <<'PY'
import socket, struct, sys
s = socket.socket(16, socket.SOCK_RAW, 20)  # AF_NETLINK, NETLINK_RDMA
s.settimeout(60)
seq = 0
print("ready", flush=True)
for line in sys.stdin:
    if line == "send\n":
        seq += 1
        # RDMA_NLDEV_CMD_GET: NLM_F_REQUEST | NLM_F_DUMP
        s.send(struct.pack("=IHHII", 16, 5 << 10 | 1, 0x301, seq, 0))
    elif line == "recv\n":
        found = b""
        while True:
            data = s.recv(16384)
            length, kind, flags, got, port = struct.unpack_from("=IHHII", data)
            assert got == seq, (got, seq)
            if kind == 3:  # NLMSG_DONE
                break
            found += data
        assert b"rxe_0\0" in found, found
    else:
        break
    print("done", flush=True)
PY
mkfifo "$T/orders"
in_ruse timeout 250 python3 "$T/client.py" <"$T/orders" >"$T/said" 2>&1 &
client=$!
exec 7>"$T/orders"
lines=0
# says: has the client printed one line more?
says() { [ "$(wc -l <"$T/said")" -gt "$lines" ]; }
# order WORD...: gives the orders one by one
order() {
	local word
	for word in "$@"; do
		lines=$(wc -l <"$T/said")
		echo "$word" >&7
		wait_for 100 says || { cat "$T/said" >&2; die "no answer to $word"; }
		! grep -q Traceback "$T/said" || { sleep 1; cat "$T/said" >&2; die "$word failed"; }
	done
}
wait_for 100 says || die "the client does not start"
order send recv

note "rused dies before a request"
pid=$(rused_pid) || die "no rused"
kill -9 "$pid"
order send recv

note "rused dies before its answer"
pid=$(rused_pid) || die "no rused"
kill -STOP "$pid"
order send
kill -9 "$pid"
order recv

echo end >&7
exec 7>&-
wait $client || { cat "$T/said" >&2; die "the client: status $?"; }
exit 0

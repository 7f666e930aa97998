#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse run --summary` of stock programs agrees with what they count themselves. MPI ranks are counted, and a program that
# falls back to TCP fails the condition rdma. In a network namespace, as one case uses UDP port 4791.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# shellcheck source=tests/system/gate.inc
. "${BASH_SOURCE%/*}/gate.inc"
for p in ib_send_bw ib_write_bw rping rdma ucx_perftest mpicc.openmpi mpirun.openmpi; do
	command -v $p >/dev/null || skip "no $p (scripts/deps --test)"
done
GATE_LIMIT=${HPC_TIMEOUT:-300}

# Both ends of a pair are descendants of one `ruse run`: pair PORT tcp|cm SERVER CLIENT
{
	sed -n '/^wait_for()/,/^}/p; /^listening()/,/^}/p' "${BASH_SOURCE%/*}/lib.sh"
	sed -n '/^too_late()/,/^}/p' "${BASH_SOURCE%/*}/cm.sh"
	cat <<-'END'
		# A program of its own run: it is not counted.
		cm() { env -u RUSE_RUN rdma res show cm_id 2>/dev/null | grep -qE "state LISTEN .*src-addr [^ ]*:$1 "; }
		tcp() { listening "$1"; }
		bash -c "exec $3" >"$OUT.server" 2>&1 &
		server=$! rc=0
		wait_for 60 "$2" "$1" || { kill $server; exit 90; }
		bash -c "exec $4" >"$OUT.client" 2>&1 || too_late $? "$OUT.client" || rc=91
		[ $rc = 0 ] || kill $server
		wait $server || too_late $? "$OUT.server" || exit 92
		exit $rc
	END
} >"$T/pair"
export OUT=$T/end

# both STATUS PORT tcp|cm SERVER CLIENT OPTION...
both() {
	local want=$1 ends=("${@:2:4}")
	shift 5
	rm -f "$OUT".*
	gated "$want" "$@" bash "$T/pair" "${ends[@]}"
}

for tool in ib_send_bw ib_write_bw; do
	port=$(free_port)
	args="-d rxe_0 -x 1 -F -p $port -s 65536 -n 500"
	both 0 "$port" tcp "$tool $args" "$tool $args localhost" --strict --expect "processes>=2,connections>=2"
	read -r size count < <(awk '$1 == 65536 { print $1, $2 }' "$OUT.client")
	[ "$size $count" = "65536 500" ] || die "$tool: $(cat "$OUT.client")"
	note "$tool: $count messages of $size bytes; counted: $(sum '[t["traffic"], t["recvs"], t["recv_bytes"]]')"
	op=SEND
	[ $tool = ib_send_bw ] || op=WRITE
	is 'traffic("'$op'", "messages") == '"$count"' and traffic("'$op'", "bytes") == '$((count * size))
	is 't["qps"]["RC"] == 2 and t["connections"] == 2 and t["processes"] == 2'
	[ $op = WRITE ] || is 't["recvs"] == '"$count"' and t["recv_bytes"] == '$((count * size))
	is 'all(p["comm"] == "'$tool'" for p in s["processes"])'
done

note "the same over UDP: its link is the wire"
port=$(free_port)
args="-d rxe_0 -x 1 -F -p $port -s 65536 -n 500"
both 0 "$port" tcp "ib_send_bw $args" "ib_send_bw $args localhost" --link udp --strict
note "counted: $(sum '[t["traffic"], t["recvs"], t["recv_bytes"]]')"
is '{r["link"] for r in t["traffic"]} == {"wire"} and traffic("SEND", "messages") == 500 and t["recvs"] == 500'
is 'traffic("SEND", "bytes") == 500 * 65536 and t["recv_bytes"] == 500 * 65536'

# In each ping the client sends two messages, the server reads and writes the data and sends two.
port=$(free_port)
both 0 "$port" cm "rping -s -p $port -a 127.0.0.1 -C 10 -S 100 -v" "rping -c -p $port -a 127.0.0.1 -C 10 -S 100 -v" --expect rdma,no-errors
pings=$(grep -c '^ping data: ' "$OUT.client")
[ "$pings" = 10 ] || die "rping: $(cat "$OUT.client")"
note "rping: $pings pings; counted: $(sum 't["traffic"]')"
is 'traffic("READ", "messages") == 10 and traffic("READ", "bytes") == 1000 and traffic("WRITE", "messages") == 10'
is 'traffic("WRITE", "bytes") == 1000 and traffic("SEND", "messages") == 40 and t["recvs"] == 40'

# UCX adds messages of its own. Its warm-up of 20 puts ends early on a busy machine: it has a time limit, too.
alone=$(ucx_alone)
port=$(free_port)
ucx="ucx_perftest $alone -p $port"
export UCX_TLS=rc_v
both 0 "$port" tcp "$ucx" "$ucx localhost -t ucp_put_bw -s 4096 -n 300 -w 20" --expect rdma,no-errors,processes\>=2
grep -q '^Final: *300 ' "$OUT.client" || die "ucx_perftest: $(cat "$OUT.client")"
note "ucx_perftest: 300 to 320 puts of 4096 bytes; counted: $(sum 't["traffic"]')"
is "$((300 * 4096))"' <= traffic("WRITE", "bytes") < '$((400 * 4096))

note "UCX over TCP"
port=$(free_port)
ucx="ucx_perftest $alone -p $port"
export UCX_TLS=tcp
both 99 "$port" tcp "$ucx" "$ucx localhost -t ucp_put_bw -s 4096 -n 300 -w 20" --expect rdma
grep -q '^Final: *300 ' "$OUT.client" || die "ucx_perftest over TCP has failed: $(cat "$OUT.client")"
said 'expect rdma: no bytes were moved by RDMA'

note "mpirun -n 2"
mpicc.openmpi -o "$T/ring" "${BASH_SOURCE%/*}/hpc-mpi.c" || die "mpicc"
mpi=(mpirun.openmpi --allow-run-as-root --oversubscribe -n 2)
export UCX_TLS=rc_v
for own in "" --own; do
	# shellcheck disable=SC2086
	gated 0 $own --expect 'rdma,no-errors,processes>=2,bytes>=20M' "${mpi[@]}" --mca pml ucx "$T/ring"
	is '{p["comm"] for p in s["processes"] if p["connections"]} == {"ring"}'
done
# This network namespace has no interface but lo, which Open MPI takes only by name.
gated 99 --expect rdma "${mpi[@]}" --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo "$T/ring"
said 'expect rdma: no bytes were moved by RDMA'
exit 0

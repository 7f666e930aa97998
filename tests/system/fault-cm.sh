#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# ruse fault add cm: the rows of fault-cm.tsv, between two ids of one process, then stock programs.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

fault() { "$RUSE_BUILD/ruse" fault "$@"; }

in_ruse ibv_devinfo -d rxe_0 -v >"$T/dev" || die "no device"
ADDRESS=$(sed -n 's/.*::ffff:\([0-9.]*\).*/\1/p' "$T/dev" | head -n 1)
[ -n "$ADDRESS" ] || skip "no IPv4 address"

# told PID NAME: does explain give this reason of the process?
told() {
	"$RUSE_BUILD/ruse" explain --json "$1" >"$T/why" 2>&1 || return 1
	python3 -c '
import json, sys
names = [f.get("name") for p in json.load(open(sys.argv[1]))["processes"] for f in p["failures"]]
sys.exit(sys.argv[2] not in names)' "$T/why" "$2"
}

# All REQs are lost: the CM repeats them for more than a minute, while the other rows run.
lost=7472
lost_rule=$(fault add cm drop message REQ port "$lost") || die "drop"
in_ruse timeout 120 "$RUSE_TESTBIN/fault-cm" rc "$ADDRESS" "$lost" >"$T/lost" 2>&1 &
lost_job=$!
wait_for 30 [ -s "$T/lost" ] || die "$(cat "$T/lost")"

number=0
while IFS=$'\t' read -r rule type want reason; do
	[[ $rule != \#* ]] || continue
	number=$((number + 1))
	[[ $rule != *LOST ]] || { lost_want=$want lost_reason=$reason; continue; }
	port=7471
	words=${rule//PORT/$port}
	[[ $rule != *_REDIRECT ]] || words=$rule
	words=${words//ADDRESS/$ADDRESS}
	# shellcheck disable=SC2086
	id=$(fault add $words 2>&1)
	rc=$?
	if [ "$want" = refused ]; then
		[ $rc != 0 ] || die "$rule: taken"
		[[ $id == "ruse fault: "*"$reason"* ]] || die "$rule: says '$id', not '$reason'"
		continue
	fi
	[ $rc = 0 ] || die "$rule: $id"
	in_ruse timeout 120 "$RUSE_TESTBIN/fault-cm" "$type" "$ADDRESS" "$port" >"$T/out" 2>&1 ||
		die "$rule: status $?: $(cat "$T/out")"
	{ read -r pid && read -r got; } <"$T/out"
	[ "$got" = "$want" ] || die "$rule, $type: '$got', not '$want'"
	[ "$reason" = - ] || told "$pid" "$reason" || die "$rule, $type: $(cat "$T/why")"
	fault list --json >"$T/list"
	python3 - "$T/list" "$id" "$want" "$rule" <<-'END' || die "$rule: $(cat "$T/list")"
		import json, sys
		rule, = (r for r in json.load(open(sys.argv[1]))["rules"] if r["id"] == int(sys.argv[2]))
		quiet = "port 1" in sys.argv[4] or "203." in sys.argv[4] or "route" in sys.argv[4] or "nth 2" in sys.argv[4] or \
		        (sys.argv[4] == "cm reject CONSUMER_DEFINED" and sys.argv[3] == "ESTABLISHED 0")
		sys.exit((rule["acted"] == 0) != quiet)
	END
	fault del "$id" >/dev/null || die "del $id"
done <"${BASH_SOURCE%/*}/fault-cm.tsv"
[ $number -gt 35 ] || die "$number rows"

wait "$lost_job" || die "lost: $(cat "$T/lost")"
{ read -r pid && read -r got; } <"$T/lost"
[ "$got" = "$lost_want" ] || die "lost: '$got', not '$lost_want'"
told "$pid" "$lost_reason" || die "lost: $(cat "$T/why")"
grep -q "rule $lost_rule of" "$T/why" || die "lost: $(cat "$T/why")"
fault list --json >"$T/list"
python3 -c 'import json, sys
r, = json.load(open(sys.argv[1]))["rules"]
sys.exit(r["acted"] != 16 or r["matched"] != 16)' "$T/list" || die "16 REQs are lost: $(cat "$T/list")"
fault del all >/dev/null

note "stock programs"
port=7473
id=$(fault add cm reject CONSUMER_DEFINED port "$port" times 1)
in_ruse timeout 60 rping -s -a "$ADDRESS" -p "$port" -C 2 >"$T/server" 2>&1 &
server=$!
listens() { in_ruse rdma res show cm_id 2>/dev/null | grep -q ":$port"; }
wait_for 30 listens || die "rping -s: $(cat "$T/server")"
in_ruse timeout 60 rping -c -a "$ADDRESS" -p "$port" -C 2 >"$T/client" 2>&1 && die "rping -c: rejected, but status 0"
grep -q 'REJECTED\|event 8\|error 28\|reject' "$T/client" || die "rping -c: $(cat "$T/client")"
in_ruse timeout 60 rping -c -a "$ADDRESS" -p "$port" -C 2 >"$T/client" 2>&1 || die "rping -c: $(cat "$T/client")"
kill "$server" 2>/dev/null
wait "$server"
fault del "$id" >/dev/null

# Half of the messages are lost in each direction, and repeated.
fault seed 7
id=$(fault add cm drop 30% port "$port")
in_ruse timeout 100 ucmatose -b "$ADDRESS" -p "$port" -c 2 -C 1 >"$T/server" 2>&1 &
server=$!
wait_for 30 listens || die "ucmatose: $(cat "$T/server")"
in_ruse timeout 100 ucmatose -s "$ADDRESS" -b "$ADDRESS" -p "$port" -c 2 -C 1 >"$T/client" 2>&1 ||
	die "ucmatose: $(cat "$T/client" "$T/server")"
wait "$server" || die "ucmatose: $(cat "$T/server")"
fault del "$id" >/dev/null

note "a fabric"
fabric() { "$RUSE_BUILD/ruse" fabric "$@"; }
fabric up --star 2 --sm >/dev/null || die "fabric up"
on_fabric() { in_ruse env RUSE_HOST=H1 timeout 100 "$RUSE_TESTBIN/fault-cm" "$1" "$2" 7480 >"$T/out" 2>&1; }
address=$(fabric address | awk '$1 == "H1" { sub("/.*", "", $3); print $3 }')
while IFS=';' read -r rule want reason; do
	# shellcheck disable=SC2086
	fault add $rule >"$T/id" || die "$rule"
	on_fabric rc "$address" || die "$rule: $(cat "$T/out")"
	{ read -r pid && read -r got; } <"$T/out"
	[ "$got" = "$want" ] || die "fabric, $rule: '$got', not '$want'"
	[ -z "$reason" ] || told "$pid" "$reason" || die "fabric, $rule: $(cat "$T/why")"
	fault del all >/dev/null || die "del"
done <<-END
	cm reject INVALID_MTU port 7480;REJECTED 26;REJ_FAULT
	cm reject INVALID_MTU port 7481;ESTABLISHED 0, DISCONNECTED 0;
	cm unreachable;UNREACHABLE -110;CM_FAULT_PEER
	cm unreachable route;ROUTE_ERROR -110;ADDR_FAULT
	cm unreachable host;ADDR_ERROR -110;ADDR_FAULT
	cm unreachable network;rdma_resolve_addr: ENETUNREACH;ADDR_FAULT
	cm drop message REP times 1;ESTABLISHED 0, DISCONNECTED 0;
	cm delay 200ms;ESTABLISHED 0, DISCONNECTED 0;
END
fabric down --kill >/dev/null || die "fabric down"

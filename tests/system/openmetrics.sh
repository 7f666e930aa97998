#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `ruse status --openmetrics`, read by the parser of Prometheus's Python client and, where it is installed, by promtool.
# The figures are those of `ruse status --json`. Also the command of the timer in doc/prometheus.md.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
/usr/bin/python3 -c 'import prometheus_client.openmetrics.parser' 2>/dev/null || skip "there is no python3-prometheus-client"

# metrics: writes $T/metrics, and checks it with the parsers
metrics() {
	"$RUSE_BUILD/ruse" status --openmetrics >"$T/metrics" || die "--openmetrics: status $?"
	/usr/bin/python3 - "$T/metrics" <<'END' || { cat "$T/metrics"; die "the parser does not take it"; }
import sys
from prometheus_client.openmetrics.parser import text_fd_to_metric_families
from prometheus_client.parser import text_fd_to_metric_families as old
with open(sys.argv[1], encoding="utf-8") as f:
    families = list(text_fd_to_metric_families(f))
assert all(m.name.startswith("ruse_") and m.documentation for m in families), families
# The textfile collector knows these types only.
assert all(m.type in ("gauge", "counter") for m in families), families
series = [(s.name, tuple(sorted(s.labels.items()))) for m in families for s in m.samples]
assert len(series) == len(set(series)), "a series occurs twice"
with open(sys.argv[1], encoding="utf-8") as f:
    assert sum(len(m.samples) for m in old(f)) == len(series)
END
	! command -v promtool >/dev/null || promtool check metrics <"$T/metrics" >"$T/promtool" 2>&1 ||
		! grep -v 'no help text\|counter metrics should' "$T/promtool" || die "promtool: $(cat "$T/promtool")"
}

# value SERIES: its value
value() {
	local found
	found=$(grep -F -- "$1 " "$T/metrics") || die "there is no $1: $(cat "$T/metrics")"
	echo "${found##* }"
}

note "without a rused"
metrics
[ "$(cat "$T/metrics")" = "# TYPE ruse_up gauge
# HELP ruse_up 1 if a rused runs for this user and network namespace.
ruse_up 0
# EOF" ] || die "without a rused: $(cat "$T/metrics")"

note "with programs"
in_ruse ibv_devices >/dev/null || die "no device"
"$RUSE_BUILD/ruse" fault add drop nth 3 op SEND_ONLY >/dev/null || die "fault add"
# A program whose name needs each escape: a backslash, a quotation mark, a line feed.
port=$(free_port)
name=$'a\\"b\nc'
cp "$(command -v ibv_rc_pingpong)" "$T/$name"
in_ruse "$T/$name" -d rxe_0 -p "$port" -g 1 -n 100 >"$T/server" 2>&1 &
server=$!
has_qp() { "$RUSE_BUILD/ruse" status --openmetrics | grep -q '^ruse_device_qps.*state="INIT"} 1$'; }
wait_for 20 has_qp || die "server: $(cat "$T/server")"
"$RUSE_BUILD/ruse" status --json >"$T/json"
metrics
[ "$(value ruse_up)" = 1 ] || die "ruse_up"
[ "$(value 'comm="a\\\"b?c",device="rxe_0",kind="qp"}')" = 1 ] || die "its QP"
[ "$(value 'ruse_device_qps{device="rxe_0",type="RC",state="INIT"}')" = 1 ] || die "QPs"
grep -q '^ruse_device_state{device="rxe_0",.*state="ACTIVE"} 1$' "$T/metrics" || die "device state"
[ "$(value ruse_processes)" = "$(python3 -c 'import json,sys; print(len(json.load(sys.stdin)["processes"]))' <"$T/json")" ] ||
	die "processes"
[ "$(value ruse_memory_bytes)" -gt 100000 ] || die "memory of rused"
in_ruse ibv_rc_pingpong -d rxe_0 -p "$port" -g 1 -n 100 localhost >"$T/client" 2>&1 || die "client: $(cat "$T/client")"
wait "$server" || die "server: $(cat "$T/server")"

note "after they have ended: counters stay"
metrics
# Client and server have sent 100 messages of 4096 bytes each.
[ "$(value 'ruse_device_messages_total{device="rxe_0",link="shared memory",operation="SEND"}')" = 200 ] || die "messages"
[ "$(value 'ruse_device_message_bytes_total{device="rxe_0",link="shared memory",operation="SEND"}')" = 819200 ] || die "bytes"
[ "$(value 'ruse_device_receive_bytes_total{device="rxe_0"}')" = 819200 ] || die "received bytes"
! grep -q '^ruse_process_' "$T/metrics" || die "a process is left: $(cat "$T/metrics")"
grep -q '^ruse_fault_acted_packets_total{id="1",rule="drop .*"} ' "$T/metrics" || die "the rule"

note "the timer"
command=$(sed -n "s,^ExecStart=/bin/sh -c '\(.*\)'\$,\1,p" "$(dirname "${BASH_SOURCE[0]}")/../../doc/prometheus.md")
[ -n "$command" ] || die "doc/prometheus.md has no ExecStart"
mkdir "$T/textfiles"
for _ in 1 2; do
	DIR=$T/textfiles PATH=$RUSE_BUILD:$PATH sh -c "$command" || die "$command"
	[ "$(ls -A "$T/textfiles")" = ruse.prom ] || die "files: $(ls -A "$T/textfiles")"
	tail -n 1 "$T/textfiles/ruse.prom" | grep -qx '# EOF' || die "the file is not complete"
done
"$RUSE_BUILD/ruse" status --openmetrics --json >"$T/both" 2>&1
[ $? -eq 2 ] || die "--json and --openmetrics: $(cat "$T/both")"
"$RUSE_BUILD/ruse" status | grep -q completer_retry && die "the table has the counters"

note "hosts of a fabric have a device of the same name"
"$RUSE_BUILD/ruse" fabric up --star 2 || die "fabric up"
"$RUSE_BUILD/ruse" run --host H1 ibv_devinfo >"$T/devinfo" || die "$(cat "$T/devinfo")"
"$RUSE_BUILD/ruse" status --openmetrics >"$T/hosts" || die "status"
grep -qx 'ruse_device_mtu_bytes{host="H1",device="rxe_0"} [0-9]*' "$T/hosts" || die "no host: $(grep ruse_device_mtu "$T/hosts")"
for state in '' 'host="H1",'; do
	[ "$(grep -c "^ruse_device_state{${state}device=\"rxe_0\".*} 1\$" "$T/hosts")" = 1 ] ||
		die "not one state: $(grep ruse_device_state "$T/hosts")"
done
exit 0

#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What a rule of `ruse fault` does is explained as the rule's work, and not as a mistake of a program.
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

ruse() { "$RUSE_BUILD/ruse" "$@"; }
clean() { ruse fault del all >/dev/null || die "del all"; }

# rule ACTION...: adds it; its number in $id
rule() { id=$(ruse fault add "$@") || die "add $*"; }

# again: a new rused, without failures and rules
again() {
	ruse stop --now >/dev/null
	wait_for 20 eval '! rused_pid >/dev/null' || die "rused stays"
	rm -f "$RUSE_DIR/failures.json"
}

# says WHAT PATTERN TEXT: the text has a line that matches
says() { grep -qE -- "$2" <<<"$3" || die "$1 does not say '$2': $3"; }
# hides WHAT PATTERN TEXT: it has none
hides() { ! grep -qE -- "$2" <<<"$3" || die "$1 says '$2': $3"; }

# fails STATUS: the test program `fault` ends with this status
fails() {
	local got
	got=$(in_ruse timeout 250 "$RUSE_TESTBIN/fault" 9 100 2>&1 | tail -n 1)
	[[ $got == "$1 after "* ]] || die "'$got', not '$1'"
}

# pingpong OPTION...: starts both ends of ibv_rc_pingpong, which run until `over`
pingpong() {
	local port
	port=$(free_port)
	in_ruse timeout 100 ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" "$@" >"$T/server.out" 2>&1 &
	server=$!
	wait_for 20 listening "$port" || die "ibv_rc_pingpong: $(cat "$T/server.out")"
	in_ruse timeout 100 ibv_rc_pingpong -d rxe_0 -g 1 -p "$port" "$@" localhost >"$T/client.out" 2>&1 &
	client=$!
}
over() { kill_tree "$server" "$client"; wait "$server" "$client" 2>/dev/null; }

# stuck PATTERN [PID]: does `ruse explain --stuck` say so?
stuck() {
	ruse explain --stuck ${2:+"$2"} >"$T/stuck" 2>&1
	grep -qE -- "$1" "$T/stuck"
}

note "the table of calls in ruse-fault(1)"
sed -n '/^CALLS$/,/^EVENTS$/s/^    \([a-z]\)/\1/p' "${BASH_SOURCE%/*}/../../doc/man/ruse-fault.1.rst" >"$T/calls"
ruse fault calls | diff "$T/calls" - || die "ruse-fault(1) has other calls than \`ruse fault calls\`"

note "RNR NAKs that a rule has made"
rule rnr
fails 'RNR retry counter exceeded'
text=$(ruse explain last)
says "explain last" "RX-1d4: rule $id of \`ruse fault\` answered the request with RNR NAK, [0-9]* times" "$text"
says 'explain last' "rule $id of .*'rnr', has acted [1-9][0-9]* times on this QP" "$text"
hides 'explain last' 'no receive posted' "$text"
pingpong -n 1000
wait_for 20 stuck "RX-324: .*rule $id of \`ruse fault\`" || die "--stuck: $(cat "$T/stuck")"
hides --stuck 'RX-300|no receive posted' "$(cat "$T/stuck")"
over

note "sequence NAKs that a rule has made"
again
rule error PSN_SEQ
fails 'transport retry counter exceeded'
text=$(ruse explain)
says explain "RX-1d5: rule $id of \`ruse fault\` answered PSN" "$text"
says explain "RX-1d6: rule $id of \`ruse fault\` made this QP answer PSN" "$text"
hides explain 'RX-054|RX-059|RX-085|no receive posted' "$text"

# own RULE OPTION...: a run of its own with this rule, in which PID is a process; what is said of it in $text
own() {
	local rule=$1
	shift
	cat >"$T/own.sh" <<-END
		ibv_rc_pingpong -d rxe_0 -g 1 -p $port -n 1000000 & pid=\$!
		for i in \$(seq 200); do grep -q ":$(printf %04X "$port") 0*:0000 0A" /proc/net/tcp /proc/net/tcp6 && break; sleep 0.05; done
		ibv_rc_pingpong -d rxe_0 -g 1 -p $port -n 1000000 localhost &
		sleep 1
		"$RUSE_BUILD/ruse" fault add ${rule/PID/\$pid}
		wait
		exit 1
	END
	text=$(env -u RUSE_DIR "$RUSE_BUILD/ruse" run --own "$@" bash "$T/own.sh" 2>&1)
	if [ $? = 0 ]; then die "the run succeeds: $text"; fi
}

# after HEAD: the part of $text that begins with this
after() { sed -n "/$1/,\$p" <<<"$text"; }

note "what a run with a limit of time tells of a process that hangs, and its failures"
# Who hangs may have the next message to send: then nothing fails.
port=$(free_port)
own 'hang pid PID' --timeout 6 --summary
says "hang pid" "RX-325: rule 1 of \`ruse fault\` lets this QP send and receive nothing" "$(after 'waited for')"
says "hang pid" "^    rule 1 of \`ruse fault\` on this host, 'hang pid [0-9]*'" "$(after 'waited for')"
port=$(free_port)
own 'drop 100%' --timeout 6 --summary --expect no-errors
dropped="^    rule 1 of \`ruse fault\` on this host, 'drop 100%', has acted [1-9][0-9]* times? on this QP"
says "drop: the summary" "$dropped" "$(after 'summary' | sed '/objects left/,$d')"
says "drop: the condition" "no-errors: .*: RX-05[45]?a?: .*; rule 1 of \`ruse fault\` on this host, 'drop 100%', has acted [1-9][0-9]* times? on this QP" "$text"
says "drop: the last failure" "$dropped" "$(after 'objects left')"

note "a port that a rule holds down, and a device that an event makes fail"
again
mkfifo "$T/in"
in_ruse timeout 100 "$RUSE_TESTBIN/fault-events" rts <"$T/in" >"$T/out" 2>"$T/err" &
exec 9>"$T/in"
wait_for 30 grep -q '^ready' "$T/out" || die "fault-events: $(cat "$T/err")"
id=$(ruse fault down rxe_0) || die "down"
wait_for 20 grep -q 'of port' "$T/out" || die "no event: $(cat "$T/out")"
text=$(ruse explain last)
says PORT_ERR "RX-1e5: the port of rxe_0 is down: rule $id of \`ruse fault\`" "$text"
says PORT_ERR "^    rule $id of \`ruse fault\` on this host, 'down rxe_0'" "$text"
ruse fault up rxe_0 >/dev/null || die "up"
ruse fault event DEVICE_FATAL >/dev/null || die "DEVICE_FATAL"
wait_for 20 grep -q 'of device' "$T/out" || die "no event: $(cat "$T/out")"
exec 9>&-
says DEVICE_FATAL "RX-108: the context is unusable: \`ruse fault event\` has raised DEVICE_FATAL" "$(ruse explain last)"

note "a connection that a rule rejects counts as a fault"
again
address=$(in_ruse ibv_devinfo -d rxe_0 -v | sed -n 's/.*::ffff:\([0-9.]*\).*/\1/p' | head -n 1)
if [ -n "$address" ]; then
	rule cm reject CONSUMER_DEFINED port 7471
	text=$(ruse run --summary "$RUSE_TESTBIN/fault-cm" rc "$address" 7471 2>&1)
	says 'cm reject' 'applied: 1 fault$' "$text"
	says 'cm reject' "rule $id of .* with reason 28 .CONSUMER_DEFINED" "$text"
fi

note "completions that are held back"
again
rule hold completions 500ms
pingpong -n 100000000
wait_for 20 stuck "RX-326: .*rule $id of \`ruse fault\`" || die "--stuck: $(cat "$T/stuck")"
for p in $(tree "$client"); do
	[ "$(cat "/proc/$p/comm" 2>/dev/null)" != ibv_rc_pingpong ] || pid=$p
done
# On a busy machine the client also waits for its peer's next message.
for _ in 1 2 3; do
	wait_for 20 stuck "RX-326: .*rule $id of \`ruse fault\`" || die "--stuck: $(cat "$T/stuck")"
	wait_for 20 stuck "RX-326: .*rule $id of \`ruse fault\`" "$pid" || die "--stuck $pid: $(cat "$T/stuck")"
done
over

note "a process that is cut off"
again
# The timeout of its QPs is long: they are still trying when `ruse explain` looks, however late.
mkfifo "$T/go"
FAULT_TIMEOUT=22 in_ruse timeout 100 "$RUSE_TESTBIN/fault" 4 100 pause <"$T/go" >"$T/cut" 2>&1 &
client=$!
exec 7>"$T/go"
wait_for 20 grep -q '^ready ' "$T/cut" || die "never ready: $(cat "$T/cut")"
ruse fault freeze "$(sed -n 's/^ready //p' "$T/cut")" >"$T/id" || die "freeze"
echo go >&7
wait_for 20 stuck "RX-325: rule $(cat "$T/id") of \`ruse fault\` cuts the process off" || die "--stuck: $(cat "$T/stuck")"
exec 7>&-
kill_tree "$client"
wait "$client" 2>/dev/null

note "completions that were held back wake programs that sleep"
again
rule hold completions 20ms
pingpong -e -n 10
wait "$client" || die "$(cat "$T/client.out")"
wait "$server" || die "$(cat "$T/server.out")"

note "over UDP, where an RNR NAK does not bring its reason, the rule is named beside it"
again
rule rnr
RUSE_LINK=udp fails 'RNR retry counter exceeded'
text=$(ruse explain last)
says 'explain last' "RX-053: " "$text"
says 'explain last' "^    rule $id of \`ruse fault\` on this host, 'rnr', has acted [1-9][0-9]* times? on this QP" "$text"
exit 0

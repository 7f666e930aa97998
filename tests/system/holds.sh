#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A command that changes something holds in running programs when it has ended: what a program sends right after it meets
# the change, and the asynchronous event has come. A row for each command; HOLDS_ROUNDS (20) rounds each, beside
# HOLDS_BUSY (0) busy loops. Also a process that is stopped.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

R=$RUSE_BUILD/ruse
ADDRESS=127.0.0.1
export R T ADDRESS
ROUNDS=${HOLDS_ROUNDS:-20}
FEW=$(((ROUNDS + 3) / 4))
LATE=0
# Loops that keep processors busy.
for ((i = 0; i < ${HOLDS_BUSY:-0}; i++)); do
	while :; do :; done &
done

# row NAME TIMEOUT WANT COMMAND [BEFORE [AFTER]]: arguments of holds.c
row() {
	local name=$1
	shift
	in_ruse timeout 800 "$RUSE_TESTBIN/holds" "$ROUNDS" "$@" >"$T/out" 2>"$T/err" || {
		LATE=1
		sort "$T/err" | uniq -c | head -n 5
	}
	note "$name: $(tail -n 1 "$T/out")"
	"$R" fault del all >/dev/null || die "$name: del all"
}

NONE=' >/dev/null'
DEL="\$R fault del all$NONE"
# In these the WRITE fails if the command does not hold yet, or fails only if it does.
row 'add, at the responder' 18 'remote operation error' "\$R fault add error REM_OP$NONE" '' "$DEL"
row 'add, at the requester' 18 'local protection error' "\$R fault add error LOC_PROT$NONE" '' "$DEL"
row 'add of a call' 18 ENOMEM "\$R fault add fail post_send errno ENOMEM$NONE" '' "$DEL"
row 'add of a completion' 18 'remote access error' "\$R fault add complete REM_ACCESS$NONE" '' "$DEL"
row 'del' 18 success "$DEL" "\$R fault add error REM_OP$NONE"
row 'down' 8 'transport retry counter exceeded' "\$R fault down$NONE" '' "\$R fault up$NONE"
row 'up' 18 success "\$R fault up$NONE" "\$R fault down$NONE"
row 'freeze' 8 'transport retry counter exceeded' "\$R fault freeze \$PEER$NONE" '' "\$R fault thaw all$NONE"
row 'thaw' 18 success "\$R fault thaw \$PEER$NONE" "\$R fault freeze \$PEER$NONE"
row 'add, of connections' connect RDMA_CM_EVENT_REJECTED "\$R fault add cm reject NO_RESOURCES dir out$NONE" '' "$DEL"
row 'del, of connections' connect RDMA_CM_EVENT_ESTABLISHED "$DEL" "\$R fault add cm reject NO_RESOURCES dir out$NONE"
# The WRITE has not ended after this time, in milliseconds.
ROUNDS=$FEW HOLDS_MIN=100 HOLDS_THEN="\$R fault thaw all$NONE" \
	row 'hang' 18 success "\$R fault add hang qp \$QP$NONE" '' "$DEL"
ROUNDS=$FEW HOLDS_MIN=50 row 'hold completions' 18 success "\$R fault add hold completions 500ms$NONE" '' "$DEL"
row 'event' 18 'Work Request Flushed Error' "\$R fault event QP_FATAL qp \$QP$NONE"
"$R" fault add error LOC_PROT 50% >/dev/null || die "add"
row 'seed' 18 same "\$R fault seed 4711$NONE"
row 'run' 18 'local protection error' "printf 'del all\nadd error LOC_PROT\n' | \$R fault run -$NONE" '' "$DEL"

# The first line of a capture: it shows later packets.
cat >"$T/begin" <<'EOF'
rm -f "$T/lines"
mkfifo "$T/lines"
exec 3<>"$T/lines"
"$R" capture >"$T/packets" 2>&3 &
echo $! >"$T/pid"
read -r line <&3
EOF
cat >"$T/end" <<'EOF'
kill -INT $(cat "$T/pid")
while kill -0 $(cat "$T/pid") 2>/dev/null; do sleep 0.01; done
grep -q WRITE_ONLY "$T/packets"
EOF
row 'capture' 18 success "sh \$T/begin" '' "sh \$T/end"
# Devices and ports.
row 'down, the event' event 'port error' "\$R fault down$NONE" '' "\$R fault up$NONE"
row 'up, the event' event 'port active' "\$R fault up$NONE" "\$R fault down$NONE"
if in_ruse rdma link add two type rxe netdev lo 2>"$T/err"; then
	in_ruse rdma link del two || die "link del"
	export VERBS_DEVICE=two
	row 'rdma link del' event 'local catastrophic error' 'rdma link del two' 'rdma link add two type rxe netdev lo'
	row 'rdma link add' device there 'rdma link add two type rxe netdev lo' '' 'rdma link del two'
	row 'rdma dev set' device there 'rdma dev set one name two' 'rdma link add one type rxe netdev lo' 'rdma link del two'
	unset VERBS_DEVICE
else
	note "no device for rdma link del: $(cat "$T/err")"
fi
# active STATE: the state of the port of host H1
cat >"$T/active" <<'EOF'
i=0
until "$R" fabric show | awk -v s="$1" '$1 == "H1" && $8 == s { n++ } END { exit !n }'; do
	[ $((i += 1)) -lt 600 ] || exit 1
	sleep 0.05
done
EOF
if command -v opensm >/dev/null; then
	"$R" fabric up --star 2 --sm >/dev/null || die "fabric up"
	export RUSE_HOST=H1
	# The subnet manager makes the port active again.
	UP="sh \$T/active active"
	ROUNDS=$FEW row 'fabric link down' event 'port error' "\$R fabric link down H1/1" '' \
		"\$R fabric link up H1/1 && $UP"
	# A program that has lost its fabric does not find the next one.
	for i in 1 2 3; do
		ROUNDS=1 row "fabric down, $i" event 'local catastrophic error' "\$R fabric down$NONE" '' \
			"\$R fabric up --star 2$NONE"
	done
	# Here no subnet manager makes ports active.
	ROUNDS=$FEW row 'fabric link down, the state' port down "\$R fabric link down H1/1" '' "\$R fabric link up H1/1"
	ROUNDS=$FEW row 'fabric link up' port init "\$R fabric link up H1/1" "\$R fabric link down H1/1"
	ROUNDS=$FEW row 'fabric node off' port down "\$R fabric node off S1" '' "\$R fabric node on S1"
	ROUNDS=$FEW row 'fabric node on' port init "\$R fabric node on S1" "\$R fabric node off S1"
	unset RUSE_HOST
	"$R" fabric down >/dev/null || die "fabric down"
	"$R" fabric up --star 2 --sm >/dev/null || die "fabric up"
	export RUSE_HOST=H1
	ADDRESS=192.168.7.2 row 'fabric address' resolve RDMA_CM_EVENT_ADDR_RESOLVED "\$R fabric address H2/1 192.168.7.2/24" \
		"\$R fabric address H1/1 192.168.7.1/24; \$R fabric address H2/1 10.7.0.2/24"
	unset RUSE_HOST
	"$R" fabric down >/dev/null || die "fabric down"
else
	note "there is no opensm for the rows of fabrics"
fi

# A stopped process is not waited for, but named. The command succeeds, and the process applies the change later.
in_ruse "$RUSE_TESTBIN/fault" 100 4000 pause <"$T/lines" >"$T/mid" 2>&1 &
exec 7>"$T/lines"
wait_for 30 grep -qs ready "$T/mid" || die "never ready: $(cat "$T/mid")"
pid=$(sed -n 's/^ready //p' "$T/mid")
# stopped STATE: the state of the process
stopped() { [ "$(cut -d ' ' -f 3 "/proc/$pid/stat")" = "$1" ]; }
kill -STOP "$pid"
wait_for 10 stopped T || die "does not stop"
"$R" fault add error LOC_PROT >/dev/null 2>"$T/err" || die "add: $(cat "$T/err")"
[ "$(cat "$T/err")" = "ruse fault: process $pid (fault) is stopped; it applies the change when it runs" ] ||
	die "of a stopped process: '$(cat "$T/err")'"
kill -CONT "$pid"
# This change is answered when the process has applied both.
"$R" fault add delay 1us >/dev/null 2>"$T/err" || die "add"
[ ! -s "$T/err" ] || die "of a process that runs again: $(cat "$T/err")"
echo go >&7
wait_for 60 grep -q 'local protection error after 50' "$T/mid" || die "the rule does not hold: $(cat "$T/mid")"
exec 7>&-
"$R" fault del all >/dev/null
[ $LATE = 0 ] || die "a command does not hold when it has ended"

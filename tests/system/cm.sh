# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# Functions for tests of connections with stock programs; source it after lib.sh or hosts.sh.
# at_server and at_client run a command at either end; the test redefines them unless both ends
# are this host.
at_server() { in_ruse "$@"; }
at_client() { in_ruse "$@"; }

CM_PORT=$((7000 + RANDOM % 20000))

# next_port: a new port for each case, in $CM_PORT
next_port() { CM_PORT=$((CM_PORT + 1)); }

# cm_listening PORT: is there a listener on it, in any port space?
cm_listening() {
	at_server rdma res show cm_id 2>/dev/null | grep -qE "state LISTEN .*src-addr [^ ]*:$1 "
}

# stop PID: kills a background job, a shell that waits for its children, with all its descendants
stop() {
	local child
	for child in $(pgrep -P "$1"); do
		stop "$child"
	done
	kill "$1" 2>/dev/null
}

# too_late STATUS OUTPUT: was rping done, and only its end failed? Its event thread asks for the
# next event while the main thread closes the channel as its last action. If the event thread
# comes second, rping prints EBADF and ends with 255. Its output then contains the disconnect
# event or nothing but pings.
too_late() {
	[ "$1" = 255 ] && tail -n 1 "$2" | grep -qx 'rdma_get_cm_event: Bad file descriptor' &&
		{ grep -q 'DISCONNECT EVENT' "$2" || ! sed '$d' "$2" | grep -v 'ping data: ' >/dev/null; }
}

# cm_ready PORT|WORD: does the server listen on the port, or has it printed the word?
cm_ready() {
	case $1 in
	*[!0-9]*) grep -qs -- "$1" "$T/server.out" ;;
	*) cm_listening "$1" ;;
	esac
}

# cm_pair [-k] PORT|WORD SERVER CLIENT: runs both command lines; they must end with status 0 within
# CM_TIMEOUT seconds (60). -k: the server does not end by itself and is killed. The client starts when
# the server listens on PORT or has printed WORD; -: a second later.
cm_pair() {
	local forever='' limit=${CM_TIMEOUT:-60} server rc=0
	[ "$1" != -k ] || { forever=y; shift; }
	rm -f "$T/server.out"
	at_server timeout "$limit" bash -c "exec $2" >"$T/server.out" 2>&1 &
	server=$!
	if [ "$1" = - ]; then
		sleep 1
	elif ! wait_for 20 cm_ready "$1"; then
		stop "$server"
		cat "$T/server.out" >&2
		echo "server is not ready ($1): $2" >&2
		return 1
	fi
	at_client timeout "$limit" bash -c "exec $3" >"$T/client.out" 2>&1 || rc=$?
	! too_late $rc "$T/client.out" || rc=0
	# The server would wait for another client until its timeout.
	[ $rc -eq 0 ] || { echo "client: status $rc: $3" >&2; sleep 1; stop "$server"; }
	if [ -n "$forever" ]; then
		stop "$server"
		wait "$server" 2>/dev/null
	else
		wait "$server" || too_late $? "$T/server.out" ||
			{ rc=1; echo "server failed: $2" >&2; }
	fi
	if [ $rc -ne 0 ]; then
		sed 's/^/server| /' "$T/server.out" | tail -n 30 >&2
		sed 's/^/client| /' "$T/client.out" | tail -n 30 >&2
	fi
	return $rc
}

# tcp_listening PORT: is there a TCP listener at the server?
tcp_listening() { listening "$1"; }

# No id, listener or connection may be left, whatever the case before did.
nothing_left() {
	! at_server rdma res show cm_id | grep -q . && ! at_client rdma res show cm_id | grep -q .
}

rping_case() {	# SERVER-ADDRESS CLIENT-OPTIONS...
	local a=$1
	shift
	next_port
	cm_pair "$CM_PORT" "rping -s -a $a -p $CM_PORT -C 20 -V $*" \
		"rping -c -a $a -p $CM_PORT -C 20 -V $*" || die "rping $a $*"
	note "rping $a $*"
}

# tool_case SERVER-ADDRESS TOOL SERVER-OPTIONS -- CLIENT-OPTIONS: a tool with -b, -s and -p PORT
tool_case() {
	local a=$1 tool=$2 server=''
	shift 2
	while [ "$1" != -- ]; do
		server+=" $1"
		shift
	done
	shift
	next_port
	cm_pair "$CM_PORT" "$tool -b $a -p $CM_PORT$server" "$tool -s $a -p $CM_PORT $*" ||
		die "$tool $a$server -- $*"
	note "$tool $a$server -- $*"
}

# rstream_async_case SERVER-ADDRESS OPTIONS...: as tool_case, for rstream with polling. It treats
# POLLHUP as an error, even together with the last data, if its peer closes quickly: status 16.
rstream_async_case() {
	local a=$1 try
	shift
	for try in 1 2 3 4; do
		next_port
		if cm_pair "$CM_PORT" "rstream -b $a -p $CM_PORT -T a $*" \
			"rstream -s $a -p $CM_PORT -T a $*" 2>"$T/rstream.err"; then
			note "rstream -T a $a $*"
			return 0
		fi
		grep -qE '^(client|server): status 16:' "$T/rstream.err" || break
		note "rstream met POLLHUP beside its last data, try $try"
	done
	# If no attempt succeeds on a busy machine, accept the figures of the end that received
	# all data.
	if grep -qE '^(client|server): status 16:' "$T/rstream.err" &&
		grep -q '^custom' "$T/server.out" "$T/client.out"; then
		note "rstream -T a $a $*: by one end's figures"
		return 0
	fi
	cat "$T/rstream.err" >&2
	die "rstream -T a $a $*"
}

# udaddy's port is fixed: the listener of the case before must have gone.
ud_case() {	# SERVER-ADDRESS TOOL SERVER-OPTIONS -- CLIENT-OPTIONS
	local a=$1 tool=$2 server=''
	shift 2
	while [ "$1" != -- ]; do
		server+=" $1"
		shift
	done
	shift
	wait_for 20 not cm_listening 7174 || die "$tool: another listener"
	cm_pair 7174 "$tool -b $a$server" "$tool -s $a $*" || die "$tool $a$server -- $*"
	note "$tool $a$server -- $*"
}

# Datagrams to the members of a group; the receiver joins first.
mckey_case() {	# GROUP SERVER-ADDRESS CLIENT-ADDRESS OPTIONS...
	local group=$1 s=$2 c=$3
	shift 3
	cm_pair 'joined dgid' "stdbuf -oL mckey -m $group -b $s $*" "mckey -m $group -b $c -s $*" ||
		die "mckey $group $*"
	grep -q '^receiving data' "$T/server.out" || die "mckey $group: $(cat "$T/server.out")"
	note "mckey $group $*"
}

# connected PORT N: does the server have N connections at this port?
connected() {
	[ "$(at_server rdma res show cm_id | grep -cE "state CONNECT .*src-addr [^ ]*:$1 ")" -ge "$2" ]
}

# A server that runs until it is stopped, with many clients: first one after the other, then all
# connected at the same time. Of the latter, each starts when the one before is connected, as rping's
# server can hold only one new request: its event thread overwrites an id that the main thread has not
# taken yet. Two QPs are then created for one id, rdma_create_qp() returns EINVAL, and freed memory is
# used. On kernel rxe 17 of 50 simultaneous clients fail for this reason (doc/testing.md).
persistent_case() {	# SERVER-ADDRESS SEQUENTIAL PARALLEL
	local a=$1 i server pids=()
	next_port
	at_server rping -s -P -a "$a" -p "$CM_PORT" >"$T/server.out" 2>&1 &
	server=$!
	wait_for 20 cm_listening "$CM_PORT" || die "rping -P does not listen"
	for i in $(seq "$2"); do
		at_client timeout 30 rping -c -a "$a" -p "$CM_PORT" -C 2 -V >"$T/client.out" 2>&1 ||
			too_late $? "$T/client.out" ||
			die "rping -P: client $i: $(cat "$T/client.out")"
	done
	for i in $(seq "$3"); do
		at_client timeout 300 rping -c -a "$a" -p "$CM_PORT" -V >"$T/client.$i" 2>&1 &
		pids+=($!)
		wait_for 60 connected "$CM_PORT" "$i" || die "rping -P: client $i of $3 is not there"
	done
	for i in "${pids[@]}"; do
		kill -0 "$i" || die "rping -P: a client has ended: $(cat "$T"/client.[0-9]*)"
		stop "$i"
	done
	wait "${pids[@]}" 2>/dev/null
	# A connection with a READ outstanding ends after its retries.
	wait_for 60 not connected "$CM_PORT" 1 || die "rping -P: connections of the dead are left"
	stop "$server"
	wait "$server" 2>/dev/null
	note "rping -P $a: $2 clients one by one, $3 at once"
}

not() { ! "$@"; }

# counted MESSAGE (req, rep ...): prints how many the CM of this host has received; fails unless
# it has sent as many.
counted() {
	local d=/sys/class/infiniband/rxe_0/ports/1 tx rx
	tx=$(at_server cat "$d/cm_tx_msgs/$1")
	rx=$(at_server cat "$d/cm_rx_msgs/$1")
	[ "$tx" = "$rx" ] && echo "$tx"
}

ended_well() {	# SERVER CLIENT: both printed "end 0"
	grep -q "^$2: end 0" "$T/client.out" || die "$2: $(cat "$T/client.out")"
	grep -q "^$1: end 0" "$T/server.out" || die "$1: $(cat "$T/server.out")"
}

rdma_case() {	# SERVER-ADDRESS
	next_port
	cm_pair "$CM_PORT" "rdma_server -s $1 -p $CM_PORT" "rdma_client -s $1 -p $CM_PORT" ||
		die "rdma_client $1"
	ended_well rdma_server rdma_client
	# With RC, as rxe's provider has no XRC; the server listens on IPv4 only.
	case $1 in *:*) note "rdma_client $1"; return ;; esac
	next_port
	cm_pair "$CM_PORT" "rdma_xserver -p $CM_PORT -c r" \
		"rdma_xclient -s $1 -p $CM_PORT -c r" || die "rdma_xclient $1"
	ended_well rdma_xserver rdma_xclient
	note "rdma_client, rdma_xclient $1"
}

# True for cmtime of rdma-core 56, whose ends also talk over an IPv4 socket of their own.
cmtime_has_socket() {
	cmtime -h 2>&1 | grep -q base_qpn
}

cmtime_case() {	# SERVER-ADDRESS CONNECTIONS
	local far=
	next_port
	if cmtime_has_socket; then
		case $1 in *:*) note "cmtime $1: not run, this version has no IPv6"; return ;; esac
		# This version also connects without QPs. Both ends then use the QP numbers from 1000 up,
		# which the CM of a single host rejects as stale.
		far="-q 100000"
	fi
	cm_pair -k "$CM_PORT" "cmtime -b $1 -p $CM_PORT -c $2" "cmtime -s $1 -p $CM_PORT -c $2 $far" ||
		die "cmtime $1 $2"
	grep -q '^disconnect' "$T/client.out" || die "cmtime: no figures: $(cat "$T/client.out")"
	note "cmtime $1 $2: $(grep -E '^(cm )?connect' "$T/client.out" | tr -s ' ')"
}

rcopy_case() {	# SERVER-ADDRESS
	next_port
	head -c 3000000 /dev/urandom >"$T/from"
	rm -f "$T/to"
	cm_pair -k "$CM_PORT" "rcopy -p $CM_PORT" "rcopy $T/from $1:$T/to -p $CM_PORT" || die "rcopy $1"
	cmp "$T/from" "$T/to" || die "rcopy $1: another file arrived"
	note "rcopy $1"
}

# later TRY: prints words to put before a client's command line, so that rdma_connect() does not run
# before the server listens. They delay it by 300 ms more at each further try; at try 1 there are none.
later() {
	[ "$1" = 1 ] || echo "env LATE_CONNECT=$((($1 - 1) * 300))" \
		"LD_PRELOAD=$PRELOAD:$RUSE_TESTBIN/libsystem-late-connect.so"
}

perf_case() {	# SERVER-ADDRESS TOOL OPTIONS...
	local a=$1 tool=$2
	shift 2
	case $a in *:*) return ;; esac	# this perftest connects by IPv4 only
	next_port
	# perftest listens twice and connects twice without waiting for the second listener. The
	# client then gets a REJ with invalid service ID, or a SIDR_REP with unsupported. Its own
	# retry uses freed ids and may crash (doc/testing.md).
	for try in {1..12}; do
		if CM_TIMEOUT=30 cm_pair "$CM_PORT" "$tool -R -F -p $CM_PORT $*" \
			"$(later "$try") $tool -R -F -p $CM_PORT $* $a" 2>"$T/perf.err"; then
			break
		fi
		if [ $try = 12 ] || ! grep -qE '(REJECTED; error: 8|UNREACHABLE; error: 1)\.' "$T/perf.err"; then
			cat "$T/perf.err" >&2
			die "$tool -R $* $a"
		fi
		note "$tool -R was quicker than its server, try $try"
		next_port
	done
	grep -qE '^ *[0-9]+ +[0-9]+ +[0-9.]+' "$T/client.out" || die "$tool -R: no figures"
	note "$tool -R $* $a"
}

qperf_case() {	# SERVER-ADDRESS TEST...
	local a=$1 server try
	shift
	case $a in *:*) return ;; esac	# no IPv6
	next_port
	at_server qperf -lp "$CM_PORT" >"$T/server.out" 2>&1 &
	server=$!
	wait_for 20 tcp_listening "$CM_PORT" || die "qperf does not listen"
	# qperf's server reports its port before it listens, so on a busy machine the client's REQ
	# may find no listener. Fixed after 0.4.11 (118a571, "Fix rdmacm race").
	for try in {1..12}; do
		# shellcheck disable=SC2046
		at_client $(later "$try") timeout 60 qperf -lp "$CM_PORT" -cm 1 -t 1 "$a" "$@" \
			>"$T/client.out" 2>&1 && break
		grep -q 'Event rejected' "$T/client.out" && [ $try != 12 ] ||
			die "qperf $*: $(cat "$T/client.out" "$T/server.out")"
		note "qperf was quicker than its server, try $try"
	done
	stop "$server"
	wait "$server" 2>/dev/null
	note "qperf -cm 1 $a $*"
}

# An unmodified TCP program with rsockets by librspreload: netcat, which uses only calls that
# librspreload wraps (no SOCK_CLOEXEC, no accept4).
rsocket_case() {	# SERVER-ADDRESS
	local rs=${RSPRELOAD:-/usr/lib/$(uname -m)-linux-gnu/rsocket/librspreload.so} server preload
	next_port
	head -c 20000000 /dev/urandom >"$T/from"
	preload=$(sanitizers)$rs:$RUSE_BUILD/libruse.so
	at_server env LD_PRELOAD="$preload" timeout 60 nc.traditional -l -s "$1" -p "$CM_PORT" \
		>"$T/to" 2>"$T/server.out" </dev/null &
	server=$!
	wait_for 20 cm_listening "$CM_PORT" || die "nc -l: $(cat "$T/server.out")"
	at_client env LD_PRELOAD="$preload" timeout 60 nc.traditional -q 1 "$1" "$CM_PORT" \
		<"$T/from" >"$T/client.out" 2>&1 || die "nc: $(cat "$T/client.out")"
	wait "$server" || die "nc -l: $(cat "$T/server.out")"
	cmp "$T/from" "$T/to" || die "nc: another file arrived"
	note "netcat over librspreload, $1"
}

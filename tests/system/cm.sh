# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# For tests of connections: source it after lib.sh or hosts.sh. The test says
# with at_server and at_client where the two ends run; here they are one host.
at_server() { in_ruse "$@"; }
at_client() { in_ruse "$@"; }

CM_PORT=$((7000 + RANDOM % 20000))

# next_port: a port of its own for each case, in $CM_PORT.
next_port() { CM_PORT=$((CM_PORT + 1)); }

# cm_listening PORT: does somebody listen on it, in any port space?
cm_listening() {
	at_server rdma res show cm_id 2>/dev/null | grep -qE "state LISTEN .*src-addr [^ ]*:$1 "
}

# cm_pair [-k] PORT SERVER CLIENT: both command lines must end with 0 within
# CM_TIMEOUT seconds (60). With -k the server serves for ever and is ended. PORT -: a
# server that does not listen; the client starts a second later.
cm_pair() {
	local forever= limit=${CM_TIMEOUT:-60} server rc=0
	[ "$1" != -k ] || { forever=y; shift; }
	at_server timeout "$limit" bash -c "exec $2" >"$T/server.out" 2>&1 &
	server=$!
	if [ "$1" = - ]; then
		sleep 1
	elif ! wait_for 20 cm_listening "$1"; then
		kill "$server" 2>/dev/null
		cat "$T/server.out" >&2
		echo "server does not listen on $1: $2" >&2
		return 1
	fi
	at_client timeout "$limit" bash -c "exec $3" >"$T/client.out" 2>&1 || rc=$?
	[ $rc -eq 0 ] || echo "client: status $rc: $3" >&2
	if [ -n "$forever" ]; then
		kill "$server" 2>/dev/null
		wait "$server" 2>/dev/null
	else
		wait "$server" || { rc=$?; echo "server: status $rc: $2" >&2; }
	fi
	if [ $rc -ne 0 ]; then
		sed 's/^/server| /' "$T/server.out" | tail -n 30 >&2
		sed 's/^/client| /' "$T/client.out" | tail -n 30 >&2
	fi
	return $rc
}

# No id, listener or connection is left, whatever went before.
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

# tool_case SERVER-ADDRESS TOOL SERVER-OPTIONS -- CLIENT-OPTIONS: those that take -b, -s and -p PORT.
tool_case() {
	local a=$1 tool=$2 server=
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

# rstream_async_case SERVER-ADDRESS OPTIONS...: as tool_case, for rstream that polls. It takes
# POLLHUP for an error, also beside the last data, when its peer has been quick to close: status 16.
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
	cat "$T/rstream.err" >&2
	die "rstream -T a $a $*"
}

# udaddy and mckey have no option for the port.
UD_PORT=7174

rdma_case() {	# SERVER-ADDRESS
	next_port
	cm_pair "$CM_PORT" "rdma_server -s $1 -p $CM_PORT" "rdma_client -s $1 -p $CM_PORT" ||
		die "rdma_client $1"
	grep -q '^rdma_client: end 0' "$T/client.out" || die "rdma_client $1: $(cat "$T/client.out")"
	grep -q '^rdma_server: end 0' "$T/server.out" || die "rdma_server $1: $(cat "$T/server.out")"
	note "rdma_client $1"
}

cmtime_case() {	# SERVER-ADDRESS CONNECTIONS
	next_port
	cm_pair -k "$CM_PORT" "cmtime -b $1 -p $CM_PORT -c $2" "cmtime -s $1 -p $CM_PORT -c $2" ||
		die "cmtime $1 $2"
	grep -q '^disconnect' "$T/client.out" || die "cmtime: no figures: $(cat "$T/client.out")"
	note "cmtime $1 $2: $(grep '^connect' "$T/client.out" | tr -s ' ')"
}

rcopy_case() {	# SERVER-ADDRESS
	next_port
	head -c 3000000 /dev/urandom >"$T/from"
	rm -f "$T/to"
	cm_pair -k - "rcopy -p $CM_PORT" "rcopy $T/from $1:$T/to -p $CM_PORT" || die "rcopy $1"
	cmp "$T/from" "$T/to" || die "rcopy $1: another file arrived"
	note "rcopy $1"
}

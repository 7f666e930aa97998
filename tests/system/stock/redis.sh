#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# redis.sh DIRECTORY: a server with 100 MB of data saves it in the background while a client changes the data; another
# server loads what was saved. Prints the digests of the data. The caller limits the memory.
set -eu
cd "$1"
rm -f dump.rdb

start() {
	redis-server --port 0 --unixsocket "$PWD/redis.sock" --save '' --daemonize no --loglevel notice \
		--enable-debug-command local --rdbcompression no >>redis.log 2>&1 &
	server=$!
	for _ in $(seq 300); do
		[ "$(ask PING 2>/dev/null)" != PONG ] || return 0
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	echo "no server"
	return 1
}

# Without ruse in any case: with it each of these many short processes would open a device, which is not measured here.
ask() { env -u LD_PRELOAD redis-cli -s redis.sock "$@"; }

start
ask DEBUG POPULATE 500 key 200000
ask DEBUG DIGEST
for round in 1 2 3; do
	ask BGSAVE
	for key in 1 2 3 4 5; do
		ask SETRANGE "key:$((round * 50 + key))" 500 "written in round $round"
	done
	for _ in $(seq 300); do
		[ "$(ask INFO persistence | grep -c 'rdb_bgsave_in_progress:1')" = 1 ] || break
		sleep 0.1
	done
	ask INFO persistence | grep -o 'rdb_last_bgsave_status:[a-z]*'
	ask DEBUG DIGEST
done
ask BGSAVE
for _ in $(seq 300); do
	[ "$(ask INFO persistence | grep -c 'rdb_bgsave_in_progress:1')" = 1 ] || break
	sleep 0.1
done
ask SHUTDOWN NOSAVE
wait "$server"
start
ask DBSIZE
ask DEBUG DIGEST
ask SHUTDOWN NOSAVE
wait "$server"

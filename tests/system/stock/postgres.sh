#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# postgres.sh DIRECTORY: initdb, pgbench with two clients on a Unix socket, and sums of its tables.
set -eu
cd "$1"
rm -rf db
# PostgreSQL's programs are outside PATH; the newest version of those installed.
for dir in /usr/lib/postgresql/*/bin; do
	PATH=$dir:$PATH
done
export PGHOST=$PWD PGUSER=ruse PGDATABASE=postgres
initdb -D db -U ruse -A trust --no-locale -E UTF8 -N >log 2>&1
postgres -D db -k "$PWD" -c listen_addresses= -c fsync=off -c shared_buffers=32MB >>log 2>&1 &
server=$!
trap 'kill -INT $server; wait $server' EXIT
for _ in $(seq 300); do
	! pg_isready -q || break
	sleep 0.1
done
pgbench -i -q -s 2 >>log 2>&1
pgbench -n -c 2 -j 2 -t "${PGBENCH:-1500}" --random-seed=1 >>log 2>&1
psql -At <<-SQL
	SELECT count(*), sum(delta) FROM pgbench_history;
	SELECT count(*), sum(abalance) FROM pgbench_accounts;
	SELECT count(*), sum(tbalance) FROM pgbench_tellers;
	SELECT count(DISTINCT md5(repeat(aid::text, 3000))) FROM pgbench_accounts WHERE aid < 3000;
	SET work_mem = '64MB';
	SELECT md5(string_agg(aid::text, ',' ORDER BY aid DESC)) FROM pgbench_accounts;
SQL

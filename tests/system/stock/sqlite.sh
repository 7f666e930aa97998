#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# sqlite.sh DIRECTORY: a database in memory, and one in a file that is mapped; large values, an index and a sort.
set -eu
for db in :memory: "$1/sqlite.db"; do
	[ "$db" = :memory: ] || rm -f "$db"
	sqlite3 "$db" <<-'SQL'
		PRAGMA mmap_size = 100000000;
		PRAGMA cache_size = -100000;
		CREATE TABLE t (id INTEGER PRIMARY KEY, n INT, body BLOB);
		WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 180000)
			INSERT INTO t SELECT i, i * 7919 % 180023, zeroblob(i % 900) FROM c;
		INSERT INTO t SELECT 1000000 + id, n, zeroblob(400000) FROM t WHERE id <= 40;
		CREATE INDEX n ON t (n);
		SELECT count(*), sum(n), sum(length(body)) FROM t;
		SELECT sum(a.n * b.id) FROM t a JOIN t b ON a.n = b.id;
		DELETE FROM t WHERE id % 3 = 0;
		VACUUM;
		SELECT count(*), total(n) FROM (SELECT n FROM t ORDER BY body, n DESC);
		PRAGMA integrity_check;
	SQL
done

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
# Functions for the system tests; source it first. It sets
#
#   RUSE_BUILD   the build tree (default: ./build)
#   RUSE_TESTBIN its tests/system
#   RUSE_DIR     a new run directory, and so a rused of its own
#   T            a directory for the test's files
#
# and removes all of that at the end. A test ends with status 0 or calls die or skip. A test that fails runs again
# (tests/again), unless its output has "wrong data: " or its status is 70: rused has crashed, a sanitizer has reported, or a
# test that passes leaves a process.
set -u

# shellcheck source=tests/clean
. "${BASH_SOURCE%/*}/../clean"
RUSE_BUILD=${RUSE_BUILD:-$PWD/build}
RUSE_TESTBIN=${RUSE_TESTBIN:-$RUSE_BUILD/tests/system}
T=$(mktemp -d)
RUSE_DIR=$T/run
mkdir -m 700 "$RUSE_DIR"
# A path with a space or a colon cannot be in LD_PRELOAD: by a link.
if [[ $RUSE_BUILD == *[\ :]* ]]; then
	ln -s "$RUSE_BUILD" "$T/.build"
	RUSE_TESTBIN=${RUSE_TESTBIN/#"$RUSE_BUILD"/"$T/.build"}
	RUSE_BUILD=$T/.build
fi
export RUSE_BUILD RUSE_TESTBIN RUSE_DIR

note() { echo "# $*"; }
die() { echo "FAIL: $*" >&2; exit 1; }
skip() { echo "SKIP: $*"; exit 77; }

# ucx_alone: prints the option with which ucx_perftest is no MPI program. Where UCX is built with MPI (Debian 13) it is
# one without a word if its input is no terminal; elsewhere the option is not known.
ucx_alone() { ! ucx_perftest -h </dev/null 2>&1 | grep -q 'MPI mode' || echo "-P 0"; }

# rused_pid: prints the pid of this test's rused; fails if there is none. It starts no process: beside programs that
# poll, two for each directory of /proc take longer than an idle rused lives.
rused_pid() {
	local p comm arg cmdline
	for p in /proc/[0-9]*; do
		{ read -r comm <"$p/comm"; } 2>/dev/null || continue
		[ "$comm" = rused ] || continue
		{ mapfile -d '' -t cmdline <"$p/cmdline"; } 2>/dev/null || continue
		for arg in "${cmdline[@]}"; do
			[ "$arg" != "$RUSE_DIR" ] || { echo "${p#/proc/}"; return 0; }
		done
	done
	return 1
}

# wait_for SECONDS CMD...: repeats CMD until it succeeds
wait_for() {
	local tries=$(($1 * 20))
	shift
	until "$@"; do
		[ $((tries--)) -gt 0 ] || return 1
		sleep 0.05
	done
}

# wait [PID...]: as the builtin, but a job that still runs after WAIT_LIMIT seconds (300) is killed, so that no test
# waits for ever; the status is then not 0
wait() {
	local pid late=0 rc list=("$@") tries=$((${WAIT_LIMIT:-300} * 20))
	[ $# -gt 0 ] || mapfile -t list < <(jobs -p)
	# Another process than a job must not be killed, whatever the number.
	for pid in "$@"; do
		jobs -p | grep -qx "$pid" || builtin wait "$pid" 2>/dev/null || [ $? -ne 127 ] || return 127
	done
	for pid in "${list[@]}"; do
		# A job that has ended is no process any more: bash has reaped it.
		while kill -0 "$pid" 2>/dev/null; do
			if [ $((tries--)) -le 0 ]; then
				echo "process $pid has not ended in ${WAIT_LIMIT:-300} seconds:" \
					"$(tr '\0' ' ' <"/proc/$pid/cmdline")" >&2
				kill_tree "$pid"
				late=1
				break
			fi
			sleep 0.05
		done
	done
	builtin wait "$@"
	rc=$?
	[ $late -eq 0 ] || rc=124
	return $rc
}

# tree PID...: prints these processes and their descendants
tree() {
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v roots="$*" '
		BEGIN { n = split(roots, r); for (i = 1; i <= n; i++) found[r[i]] = 1 }
		{ pid = $1; sub(/^.*\) . /, ""); parent[pid] = $1 }
		END {
			do {
				more = 0
				for (p in parent)
					if (!(p in found) && parent[p] in found)
						found[p] = more = 1
			} while (more)
			for (p in found)
				print p
		}' | sort
}

# kill_tree PID...: kills these processes and their descendants (a command would survive the
# `timeout` that runs it). All are stopped first, so that no new child is missed.
kill_tree() {
	local pids="" now
	while [ $# -gt 0 ]; do
		now=$(tree "$@")
		[ "$now" != "$pids" ] || break
		pids=$now
		# shellcheck disable=SC2086
		kill -STOP $pids 2>/dev/null
	done
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null
}

# find_left: sets `left` to the processes that have this test's run directory in their environment. It starts none, which
# would have it, too.
find_left() {
	local p vars
	left=()
	for p in /proc/[0-9]*; do
		[ "$p" != "/proc/$$" ] || continue
		{ mapfile -d '' -t vars <"$p/environ"; } 2>/dev/null || continue
		[[ " ${vars[*]}" != *" RUSE_DIR=$T/"* ]] || left+=("${p#/proc/}")
	done
}

# end_left: kills the processes that a test has left; fails if there was one. What was killed just before has
# 10 s to end.
end_left() {
	local pid left tries=200
	while find_left; [ ${#left[@]} -gt 0 ]; do
		if [ $((tries--)) -le 0 ]; then
			for pid in "${left[@]}"; do
				echo "left over: process $pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")" >&2
			done
			kill -9 "${left[@]}" 2>/dev/null
			return 1
		fi
		sleep 0.05
	done
}

cleanup() {
	local status=$? pid report reports=()
	trap - EXIT
	# shellcheck disable=SC2046
	{ kill_tree $(jobs -p); wait; } 2>/dev/null
	for RUSE_DIR in "${RUSE_DIRS[@]:-$RUSE_DIR}"; do
		while pid=$(rused_pid); do
			kill -9 "$pid"
			sleep 0.05
		done
		reports+=("$RUSE_DIR/rused.crash")
	done
	# A test that fails leaves what it has started.
	end_left || case $status in 0 | 77) status=70 ;; esac
	# A crash of rused or a sanitizer's report fails the test in any case.
	for report in "${reports[@]}" "$T"/sanitizer/report.*; do
		[ -s "$report" ] || continue
		cat "$report" >&2
		status=70
	done
	if [ $status -ne 0 ] && [ $status -ne 77 ] && [ -s "$RUSE_DIR/rused.log" ]; then
		echo "--- rused.log" >&2
		tail -n 40 "$RUSE_DIR/rused.log" >&2
	fi
	rm -rf "$T"
	exit $status
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# The library of the sanitizer that libruse.so was built with; it must be preloaded first.
sanitizers() {
	ldd "$RUSE_BUILD/libruse.so" 2>/dev/null | awk '$1 ~ /^lib(asan|tsan)/ { printf "%s:", $3 }'
}
PRELOAD=$(sanitizers)$RUSE_BUILD/libruse.so
# The sanitizers must not handle faults: the engine and the programs do, and ThreadSanitizer would
# call the interposed sigaction() before it is initialised; a child may start threads after
# fork(). Reports go to files, as rused has no stderr and that of some programs is not read. The suppressions are
# copied: a program of another user may be unable to enter the checkout.
mkdir "$T/sanitizer"
cp "${BASH_SOURCE%/*}"/../{asan,tsan}.supp "$T/sanitizer/"
SANITIZER_OPTIONS=(
	ASAN_OPTIONS="detect_leaks=0:handle_segv=0:handle_sigbus=0:log_path=$T/sanitizer/report\
:suppressions=$T/sanitizer/asan.supp:${ASAN_OPTIONS:-}"
	TSAN_OPTIONS="handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigill=0:handle_sigfpe=0\
:die_after_fork=0:ignore_noninstrumented_modules=1:halt_on_error=1:exitcode=66:log_path=$T/sanitizer/report\
:suppressions=$T/sanitizer/tsan.supp:${TSAN_OPTIONS:-}"
)

# other_users DIR [FILE...]: lets programs of other users run. The checkout may be below a folder that they cannot enter:
# the programs of the build and FILEs are copied to DIR, in $T, and PRELOAD is the copy. Sanitizers' reports can be written.
other_users() {
	local dir=$1
	shift
	mkdir "$dir"
	cp "$RUSE_BUILD"/{libruse.so,rused,ruse} "$@" "$dir/"
	chmod a+x "$T"
	chmod -R a+rX "$dir" "$T/sanitizer"
	chmod 1777 "$T/sanitizer"
	PRELOAD=$(sanitizers)$dir/libruse.so
}

# in_ruse CMD...: runs CMD under the preload, as `ruse run` does
in_ruse() {
	env "${SANITIZER_OPTIONS[@]}" LD_PRELOAD="$PRELOAD" "$@"
}

# free_port: prints a TCP port without a listener, below the ephemeral range
free_port() {
	local port
	while :; do
		port=$((20000 + RANDOM % 10000))
		listening "$port" || break
	done
	echo "$port"
}

# listening PORT: is there a listener on the TCP port?
listening() {
	grep -qE ":$(printf %04X "$1") 0+:0000 0A" /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# unmeasured FILE...: did a program of perftest end because it could not measure the processor's clock? This happens when
# it loses the processor meanwhile, and says nothing of ruse.
unmeasured() { grep -qs "Can't produce a report" "$@"; }

# pair PORT SERVER CLIENT: runs two command lines under ruse, the client as soon as the server
# listens on PORT. Output in $T/server.out and $T/client.out. Both must end with 0 within
# PAIR_TIMEOUT seconds (60).
pair() {
	local rc _
	for _ in 1 2 3; do
		rc=0
		pair_once "$@" || rc=$?
		if [ $rc = 0 ] || ! unmeasured "$T/server.out" "$T/client.out"; then break; fi
	done
	return $rc
}
pair_once() {
	local port=$1 limit=${PAIR_TIMEOUT:-60} server rc=0
	in_ruse timeout "$limit" bash -c "exec $2" >"$T/server.out" 2>&1 &
	server=$!
	if ! wait_for 20 listening "$port"; then
		kill "$server" 2>/dev/null
		cat "$T/server.out" >&2
		echo "server does not listen on $port: $2" >&2
		return 1
	fi
	in_ruse timeout "$limit" bash -c "exec $3" >"$T/client.out" 2>&1 || rc=$?
	[ $rc -eq 0 ] || echo "client: status $rc: $3" >&2
	wait "$server" || { rc=$?; echo "server: status $rc: $2" >&2; }
	if [ $rc -ne 0 ]; then
		sed 's/^/server| /' "$T/server.out" >&2
		sed 's/^/client| /' "$T/client.out" >&2
	fi
	return $rc
}

# rdma_core_suite: copies the installed rdma-core's test-suite to $T/tests and sets `table` to the
# table of its version (rdma_core_run.py)
rdma_core_suite() {
	local suite=/usr/share/doc/rdma-core/tests version
	[ -d "$suite" ] || die "no $suite: scripts/deps installs rdma-core"
	version=$(dpkg-query -W -f '${Version}' rdma-core) || die "the version of rdma-core is not known"
	table=$(realpath "${BASH_SOURCE[0]%/*}")/rdma-core-${version%%[!0-9]*}.tsv
	[ -f "$table" ] || die "no $table: \`rdma_core_run.py -\` prints the outcomes for it"
	cp -r "$suite" "$T/tests"
	gunzip -q "$T"/tests/*.gz
}

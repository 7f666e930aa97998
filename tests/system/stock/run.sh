#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Programs that have nothing to do with RDMA have the same results with and without libruse.so: once with libibverbs
# loaded and no device open ("loaded"), and once with a thread that holds an open device and page-aligned memory
# regions ("held", holder.c). Without libruse.so libibverbs is loaded, too. Times are printed, and not judged: each round
# runs the three ways in turn, every second round in the other direction. The ratio of a round is that of two neighbours;
# the median of the rounds is printed, for the time that passes and for the CPU time, user and system.
#
#   HARMLESS=PATTERN   only the programs whose name matches (a regular expression); those of CPython: ^python
#   HARMLESS_ROUNDS=N  rounds of each program (3)
#
# What is not installed is left out with a note (scripts/deps --harmless).
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/../lib.sh" || exit 2 # without it $T would be the root directory
dir=$(realpath "${BASH_SOURCE%/*}")
rounds=${HARMLESS_ROUNDS:-3}
tests=0 differ=() also='' as=()
unset RUSE_MEMORY

# An ordinary user runs some of the programs and may not read the build tree: the programs are copied.
other_users "$T/build" "$RUSE_TESTBIN/libsystem-holder.so"
mkdir "$T/stock"
cp "$dir"/* "$T/stock/"
chmod -R a+rX "$T/stock"
dir=$T/stock
user=()
[ "$(id -u)" != 0 ] || user=(setpriv --reuid nobody --regid nogroup --clear-groups)
root_dir=$RUSE_DIR user_dir=$T/run-user
mkdir -m 700 "$user_dir"
[ "${#user[@]}" = 0 ] || chown nobody:nogroup "$user_dir"
RUSE_DIRS=("$root_dir" "$user_dir")

as_user() { as=("${user[@]}") RUSE_DIR=$user_dir; }
as_before() { as=() RUSE_DIR=$root_dir; }

# wanted NAME [PROGRAM...]: is the program asked for, and installed?
wanted() {
	local name=$1 p
	[[ $name =~ ${HARMLESS:-} ]] || return 1
	shift
	for p in "$@"; do
		command -v "$p" >/dev/null || { note "$name: no $p"; return 1; }
	done
	tests=$((tests + 1))
}

# way WAY COMMAND...: runs a command without ruse, loaded or held. Early: the constructor that opens the device runs
# before that of libruse.so. The user is that of `as`, a command of setpriv.
way() {
	local way=$1 holder=$T/build/libsystem-holder.so preload
	shift
	case $way in
	plain) preload=(LD_PRELOAD=libibverbs.so.1) ;;
	plain-held) preload=(HOLDER=plain LD_PRELOAD="$holder") ;;
	loaded) preload=(LD_PRELOAD="$PRELOAD:libibverbs.so.1") ;;
	held) preload=(LD_PRELOAD="$holder:$PRELOAD") ;;
	held-early) preload=(LD_PRELOAD="$PRELOAD:$holder") ;;
	esac
	"${as[@]}" env "${preload[@]}" "${SANITIZER_OPTIONS[@]}" "$@"
}

# median: of the numbers that it reads
median() { sort -n | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }'; }

# times_of NAME: what the rounds took. A line of $T/time.WAY has the seconds of one round: those that passed, and of the CPU.
times_of() {
	local name=$1 w column line of=('' time 'CPU time')
	for column in 1 2; do
		line="$name, ${of[column]}: $(awk -v c=$column '{ print $c }' "$T/time.plain" | median) s"
		for w in loaded held; do
			line+=", $w $(paste -d ' ' "$T/time.$w" "$T/time.plain" |
				awk -v c=$column '{ printf("%.4f\n", $(c + 2) > 0 ? $c / $(c + 2) : 1) }' | median)"
		done
		note "$line"
	done
}

# failed NAME WAY WHAT
failed() {
	echo "DIFFERS: $1, $2: $3" >&2
	differ+=("$1 ($2)")
}

# same NAME SECONDS COMMAND...: compares what the command prints, and its status
same() {
	local name=$1 seconds=$2 round w status ways TIMEFORMAT='%R %U %S'
	shift 2
	rm -f "$T"/time.*
	for round in $(seq "$rounds"); do
		ways="plain loaded held $also"
		[ $((round % 2)) = 1 ] || ways="$also held loaded plain"
		for w in $ways; do
			status=0
			{ time way "$w" timeout -k 10 "$seconds" "$@" >"$T/out.$w" 2>"$T/err.$w" </dev/null; } 2>"$T/time" ||
				status=$?
			awk 'END { print $1, $2 + $3 }' "$T/time" >>"$T/time.$w"
			echo "status $status" >>"$T/out.$w"
			if [ "$w" = plain ]; then
				[ $status = 0 ] || { tail -n 20 "$T/out.plain" "$T/err.plain" >&2; die "$name fails without ruse"; }
			elif ! diff "$T/out.plain" "$T/out.$w" >"$T/diff"; then
				head -n 20 "$T/diff" >&2
				tail -n 20 "$T/err.$w" >&2
				failed "$name" "$w" "round $round, status $status"
			fi
		done
	done
	times_of "$name"
}

# suite WAY NAME: a test file of CPython, or one of its classes; its outcomes, sorted, are in $T/outcomes.WAY
suite() {
	local w=$1 work=$T/suite
	shift
	rm -rf "$work"
	mkdir -m 777 "$work"
	(
		cd "$work" || exit
		way "$w" timeout -k 10 "${SUITE_TIMEOUT:-600}" env TMPDIR="$work" \
			/usr/bin/python3 -B "$dir/suite.py" "$work/result" "$@" >"$T/err.suite" 2>&1 </dev/null
	)
	grep -qx end "$work/result" 2>/dev/null || echo "stopped in $(cat "$work/result.now" 2>/dev/null)" >>"$work/result"
	sort "$work/result" >"$T/outcomes.$w"
}

# without WAY NAME: a suite without ruse, which must reach its end: what is missing would be compared with nothing. Some
# of these tests rely on the machine's speed, and may wait for ever.
without() {
	local try
	for try in 1 2 3; do
		suite "$1" "$2"
		! grep -qx end "$T/outcomes.$1" || return 0
		note "$2 without ruse ($1), try $try: $(grep '^stopped' "$T/outcomes.$1")"
	done
	cat "$T/outcomes.$1" "$T/err.suite" >&2
	die "$2 without ruse ($1)"
}

# compared WHO WAY NAME: compares the outcomes with those without ruse; adds their number to `outcomes`. A test whose
# outcome differs without ruse too is not compared; one that differs with ruse gets two further chances.
compared() {
	local who=$1 w=$2 name=$3 base=plain try
	[ "$w" = loaded ] || base=plain-held
	without $base "$name"
	cp "$T/outcomes.$base" "$T/first"
	for try in 1 2 3; do
		suite "$w" "$name"
		diff "$T/first" "$T/outcomes.$w" >"$T/diff" && break
		note "$name as $who, $w, try $try: $(grep '^[<>]' "$T/diff" | head -n 8 | tr '\n' ';')"
		without $base "$name"
		comm -12 "$T/first" "$T/outcomes.$base" >"$T/both"
		mv "$T/both" "$T/first"
		# Only lines that both runs without ruse have must be there.
		comm -23 "$T/first" "$T/outcomes.$w" >"$T/diff"
		[ -s "$T/diff" ] || break
		[ $try != 3 ] || { tail -n 30 "$T/err.suite" >&2; failed "$name as $who" "$w" "$(head -n 5 "$T/diff" | tr '\n' ';')"; }
	done
	outcomes=$((outcomes + $(grep -cvx end "$T/first")))
}

# python WHO FILE: the files of multiprocessing class by class, each with a limit of its own
python() {
	local who=$1 file=$2 names=("$2") w name outcomes SUITE_TIMEOUT=600
	if [[ $file = test_multiprocessing_* ]]; then
		mapfile -t names < <(/usr/bin/python3 -B "$dir/suite.py" --classes "$file")
		[ ${#names[@]} -gt 1 ] || die "no classes in $file"
		SUITE_TIMEOUT=240
	fi
	[ "$who" = root ] || as_user
	for w in loaded held; do
		outcomes=0
		for name in "${names[@]}"; do
			compared "$who" $w "$name"
		done
		note "$file as $who, $w: $outcomes outcomes"
	done
	as_before
}

# A memory cgroup with a limit of $1 MiB; sets `group`, or fails
memory_group() {
	group=
	if [ -d /sys/fs/cgroup/memory ]; then
		group=/sys/fs/cgroup/memory/ruse-test-$$
		mkdir "$group" 2>/dev/null && echo $(($1 << 20)) >"$group/memory.limit_in_bytes"
	else
		group=/sys/fs/cgroup/ruse-test-$$
		mkdir "$group" 2>/dev/null && echo $(($1 << 20)) >"$group/memory.max"
	fi
}
leave_group() {
	local status=$? tries=100
	while [ -n "${group:-}" ] && [ -d "$group" ] && ! rmdir "$group" 2>/dev/null && [ $((tries--)) -gt 0 ]; do
		sleep 0.1
	done
	(exit "$status")
	cleanup # which takes that status
}
trap leave_group EXIT

if wanted shell; then
	also=held-early
	# shellcheck disable=SC2016 # for the other shell
	same shell 300 bash -c 'for i in 1 2 3; do (echo "in a child: $i") | cat; timeout 20 sh -c "echo $i; true"; done'
	also=''
fi
# Values of this size are allocations of their own; with a copy of them at fork() the limit is exceeded.
if wanted redis redis-server redis-cli; then
	mkdir "$T/redis"
	if memory_group 180 2>/dev/null; then
		note "redis: 100 MB of data, the cgroup's limit is 180 MiB"
		# shellcheck disable=SC2016 # for the other shell
		same redis 300 sh -c 'echo $$ >"$1/cgroup.procs" && exec bash "$2" "$3"' - \
			"$group" "$dir/redis.sh" "$T/redis"
	else
		note "redis: without a cgroup, which this user may not make"
		same redis 300 bash "$dir/redis.sh" "$T/redis"
	fi
fi
if compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && wanted postgres; then
	mkdir -m 777 "$T/postgres"
	as_user
	same postgres 300 bash "$dir/postgres.sh" "$T/postgres"
	as_before
fi

if wanted collector gcc; then
	if gcc -O1 -o "$T/collector" "$dir/collector.c" -lgc -lpthread 2>"$T/err"; then
		same collector 300 "$T/collector"
		same collector-incremental 300 "$T/collector" incremental
	else
		note "collector: no libgc-dev"
	fi
fi
! wanted sqlite sqlite3 || same sqlite 300 bash "$dir/sqlite.sh" "$T"
# Long enough that opening a device in each of its processes does not count.
if wanted compiler gcc; then
	seq 400 | sed 's/.*/int f&(int *a, int n) { int s = &; for (int i = 0; i < n; i++) { s += a[i] * & ^ (s >> 3); \
		if (s % 7 == 3) a[i] = s; } return s + a[& % n]; }/' >"$T/source.c"
	# shellcheck disable=SC2016 # for the other shell
	same compiler 300 bash -c 'gcc -O2 -g0 -c -o "$1/x.o" "$2" && sha256sum <"$1/x.o"' - "$T" "$T/source.c"
fi
! wanted ffmpeg ffmpeg || same ffmpeg 300 ffmpeg -nostdin -v error -f lavfi -i testsrc=d=40:s=640x360 -threads 2 \
	-c:v mpeg4 -bitexact -f md5 -
languages=$(realpath "${BASH_SOURCE%/*}/../languages")
! wanted node node || same node 300 node --max-old-space-size=256 "$languages/work.js"
if wanted java java javac && javac -d "$T" "$languages/Work.java"; then
	same java-g1 300 java -Xmx256m -XX:+UseG1GC -cp "$T" Work
	same java-serial 300 java -Xmx256m -XX:+UseSerialGC -cp "$T" Work
fi
if wanted go go; then
	GOCACHE=$T/cache GOFLAGS=-mod=mod CGO_ENABLED=1 go build -o "$T/work" "$languages/work.go" || die "go build"
	GOGC=20 same go 300 "$T/work" 10
fi

if /usr/bin/python3 -c 'import test.test_mmap' 2>/dev/null; then
	for file in test_mmap test_fork1 test_io test_os test_signal test_subprocess test_threading \
		test_multiprocessing_fork test_multiprocessing_spawn; do
		! wanted python-$file || python root $file
		case $file in
		test_mmap | test_fork1 | test_os | test_signal | test_subprocess)
			[ ${#user[@]} = 0 ] || ! wanted python-user-$file || python user $file
			;;
		esac
	done
else
	note "no tests of CPython (libpython3.N-testsuite)"
fi

[ $tests -gt 0 ] || skip "none of the programs is installed (scripts/deps --harmless)"
[ ${#differ[@]} = 0 ] || die "$(printf '%s\n' "${differ[@]}" | sort | uniq -c)"
exit 0

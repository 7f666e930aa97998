#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs the command lines of README.md (fenced blocks) and of the manual pages (EXAMPLES) in order,
# with the programs of this build. Each must end with status 0.
#
# - A line that is followed by the same line with "localhost" is a server: it runs in the
#   background, the next line is started when it listens, and both must end with 0.
# - `ruse capture` runs while a pingpong runs beside it, and is then ended as with Ctrl-C.
# - After the start of a subnet manager the test waits until all ports are active.
#
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
PATH=$PATH:/usr/sbin:/sbin
for program in ibv_rc_pingpong ibv_devinfo ib_send_bw opensm ibnetdiscover; do
	command -v $program >/dev/null || skip "there is no $program here"
done
top=$(readlink -f "${BASH_SOURCE%/*}/../..")
RUSE_BUILD=$(readlink -f "$RUSE_BUILD")
PAIR_TIMEOUT=200
PORT=18515	# the default of pingpong and perftest; this network namespace has no other user

# Lines that are not run: DOCUMENT, a tab, LINE. Each must stand in its document.
not_run="README.md	make run"

# What a line prints.
expected() {
	case $1 in
	"ruse capture -w"*) echo '' ;;
	"ruse capture"*) echo 'RC SEND' ;;
	*ibnetdiscover*) echo '^Switch' ;;
	*ibv_devinfo*) echo 'hca_id:.*rxe_0' ;;
	*ibv_rc_pingpong*) echo 'usec/iter' ;;
	*ib_send_bw*) echo 'BW average' ;;
	*"fault add"*) echo '^[0-9]+$' ;;
	*) echo '' ;;
	esac
}

# A daemon's log and state belong to the test: opensm with the options of the document, and -f.
mkdir "$T/bin" "$T/scratch" "$T/opensm"
printf '#!/bin/sh\nexec %s -f %s/opensm/log "$@"\n' "$(command -v opensm)" "$T" >"$T/bin/opensm"
chmod +x "$T/bin/opensm"
ln -s "$RUSE_BUILD" "$T/scratch/build"
export OSM_TMP_DIR=$T/opensm OSM_CACHE_DIR=$T/opensm
export "${SANITIZER_OPTIONS[@]}"
export PATH=$T/bin:$RUSE_BUILD:$PATH
cd "$T/scratch" || die "no scratch directory"

# daemons: prints the pids of subnet managers of this test
daemons() {
	local p
	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" = opensm ] &&
			tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -qxF -- "RUSE_DIR=$RUSE_DIR" &&
			echo "${p#/proc/}"
	done
}
end_daemons() {
	local pids
	pids=$(daemons)
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null
}
finish() {
	local status=$?
	end_daemons
	(exit "$status")
	cleanup
}
trap finish EXIT

# lines DOCUMENT: its command lines, each with a NUL; a here-document belongs to its line
lines() {
	python3 - "$top/$1" <<'PY'
import re, sys, textwrap

text = open(sys.argv[1], encoding="utf-8").read()
if sys.argv[1].endswith(".md"):
    blocks = re.findall(r"^```\w*\n(.*?)^```$", text, re.S | re.M)
else:
    section = re.search(r"^EXAMPLES\n=+\n(.*?)(?=^\S[^\n]*\n[=-]+$|\Z)", text, re.S | re.M)
    section = section.group(1) if section else ""
    blocks = re.findall(r"^::\n\n((?:[ \t]+\S[^\n]*\n|\n)+)", section, re.M)
for block in blocks:
    rest = textwrap.dedent(block).splitlines()
    while rest:
        line = rest.pop(0)
        here = re.search(r"<<'?(\w+)", line)
        if here:
            while rest:
                line += "\n" + rest.pop(0)
                if line.endswith("\n" + here.group(1)):
                    break
        else:
            line = re.sub(r"\s+# .*", "", line).strip()
        if line and not line.startswith("#"):
            sys.stdout.write(line + "\0")
PY
}

# check NAME LINE: prints what LINE has printed if its key words are missing
check() {
	local want
	want=$(expected "$2")
	[ -z "$want" ] || grep -qE "$want" "$T/$1.out" ||
		{ cat "$T/$1.out" >&2; die "'$2' does not print '$want'"; }
}

# run LINE: in the foreground
run() {
	timeout "$PAIR_TIMEOUT" bash -c "$1" >"$T/line.out" 2>&1 </dev/null ||
		{ local rc=$?; cat "$T/line.out" >&2; die "status $rc: $1"; }
	check line "$1"
}

# run_pair SERVER CLIENT
run_pair() {
	timeout "$PAIR_TIMEOUT" bash -c "$1" >"$T/first.out" 2>&1 </dev/null &
	local server=$!
	wait_for 100 listening $PORT || { cat "$T/first.out" >&2; die "does not listen: $1"; }
	run "$2"
	wait $server || { local rc=$?; cat "$T/first.out" >&2; die "status $rc: $1"; }
	check first "$1"
}

# run_capture LINE: the pingpong may fail: a fault rule of the document can drop its last ACK, after
# which the other side exits. The packets that the capture has seen decide.
run_capture() {
	local pid file pingpong="ibv_rc_pingpong -d rxe_0 -g 1 -n 100"
	bash -c "exec $1" >"$T/cap.out" 2>"$T/cap.err" </dev/null &
	pid=$!
	wait_for 100 grep -q running "$T/cap.err" || { cat "$T/cap.err" >&2; die "does not start: $1"; }
	pair $PORT "$pingpong" "$pingpong localhost" >"$T/pair.out" 2>&1 ||
		note "the pingpong beside it failed: $(cat "$T/pair.out")"
	case $1 in
	*" -c "*) ;;	# ends by itself
	*) kill -INT $pid ;;
	esac
	wait_for 100 over $pid || die "does not end: $1"
	wait $pid || { local rc=$?; cat "$T/cap.err" >&2; die "status $rc: $1"; }
	check cap "$1"
	file=$(sed -n 's/.* -w \([^ ]*\).*/\1/p' <<<"$1")
	[ -z "$file" ] || ruse capture -r "$file" 2>/dev/null | grep 'RC SEND' >"$T/packets" ||
		die "no packets: $1"
}
over() { ! grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$1/status"; }

all_active() {
	ruse fabric show | awk '$2 == "switch" || $2 == "host" { all += $6; up += $7 }
				END { exit !all || up != all }'
}

# same_with_localhost SERVER CLIENT: the same line, perhaps on another host of the fabric
same_with_localhost() {
	local host='s/ --host [^ ]*//'
	[ "$(sed "$host" <<<"$1") localhost" = "$(sed "$host" <<<"$2")" ]
}

for document in README.md doc/man/ruse.1.rst doc/man/ruse-fault.1.rst; do
	mapfile -d '' -t all < <(lines $document)
	note "$document: ${#all[@]} lines"
	[ ${#all[@]} -gt 0 ] || die "$document: no examples are found"
	for ((i = 0; i < ${#all[@]}; i++)); do
		line=${all[i]} next=${all[i + 1]:-}
		if grep -qxF -- "$document	$line" <<<"$not_run"; then
			not_run=$(grep -vxF -- "$document	$line" <<<"$not_run")
			note "not run: $line"
			continue
		fi
		note "$line"
		if same_with_localhost "$line" "$next"; then
			run_pair "$line" "$next"
			note "$next"
			i=$((i + 1))
			continue
		fi
		case $line in
		"ruse capture"*) run_capture "$line" ;;
		*opensm*)
			run "$line"
			wait_for 100 all_active || { ruse fabric show >&2; die "ports are not active"; }
			;;
		*) run "$line" ;;
		esac
	done
	# The next document begins without a fabric and without rules.
	end_daemons
	ruse stop --now >/dev/null || die "ruse stop"
done
[ -z "$not_run" ] || die "not run, but no document has: $not_run"
exit 0

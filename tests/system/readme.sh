#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Runs the command lines of README.md, doc/tutorial.md and doc/examples.md (fenced blocks) and of the manual pages
# (EXAMPLES) in order, with the programs of this build. Each must end with status 0; examples/race must end with 1
# while a rule delays its WRITEs.
#
# - A line that is followed by the same line with "localhost", or with the address of a network
#   namespace that the document makes, is a server: it runs in the background, the next line is
#   started when it listens, and both must end with 0.
# - `ruse capture` runs while a pingpong runs beside it, and is then ended as with Ctrl-C.
# - After the start of a subnet manager the test waits until all ports are active.
#
# shellcheck source=tests/system/own-net.sh
. "${BASH_SOURCE%/*}/own-net.sh"
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
# The words of the documents set PATH; what is not there then is missing.
for program in ibv_rc_pingpong ibv_devinfo ib_send_bw opensm ibnetdiscover tshark make; do
	PATH=$PATH:/usr/sbin command -v $program >/dev/null || skip "there is no $program here"
done
/usr/bin/python3 -c 'import pyverbs' 2>/dev/null || skip "there is no pyverbs here"
top=$(readlink -f "${BASH_SOURCE%/*}/../..")
RUSE_BUILD=$(readlink -f "$RUSE_BUILD")
PAIR_TIMEOUT=200
PORT=18515	# the default of pingpong and perftest; this network namespace has no other user

# Lines that are not run: DOCUMENT, a tab, LINE. Each must stand in its document.
not_run="README.md	make run
doc/tutorial.md	make run
doc/tutorial.md	unshare -Urnm"

# What a line prints.
expected() {
	case $1 in
	"ruse capture -r race"*) echo 'RC WRITE_ONLY.*fault: delayed' ;;
	"ruse capture -r conversation"*) echo 'SEND_' ;;
	"ruse capture -r"*) echo 'fault: dropped' ;;
	"ruse capture -w"*) echo '' ;;
	"ruse capture --ladder"*) echo 'SEND_' ;;
	"ruse capture"*) echo 'RC SEND' ;;
	*ibnetdiscover*) echo '^Switch' ;;
	*ibv_devinfo*) echo 'hca_id:.*rxe_0' ;;
	*ibv_rc_pingpong*) echo 'usec/iter' ;;
	*"run examples/pingpong"*) echo '^1000 round trips' ;;
	*examples/write*) echo '4096 bytes|4096 written' ;;
	*examples/events*) echo '^200 messages, [0-9]+ events' ;;
	*"examples/ud localhost"*) echo '^100 answers, [0-9]+ datagrams sent again' ;;
	*examples/cm*) echo "^received '" ;;
	*examples/loopback.py*) echo '^42' ;;
	*examples/race-fixed*) echo '^0 of 100 records' ;;
	*examples/race*) echo '^[0-9]+ of 100 records' ;;
	"ruse explain last"*) echo 'nothing has failed|no failure of it' ;;
	*ib_write_bw*) echo 'BW average' ;;
	"ruse fault list"*) echo 'drop nth 5' ;;
	*"ruse status") echo 'rxe_0 +va +ACTIVE' ;;
	*"-Y frame.comment"*) echo 'fault: dropped' ;;
	*"opcode == 4'"*) echo '^[0-9.]+[[:space:]]+0x[0-9a-f]+[[:space:]]*$' ;;
	*ib_send_bw*) echo 'BW average' ;;
	*"fault add"*) echo '^[0-9]+$' ;;
	*) echo '' ;;
	esac
}

# A daemon's log and state belong to the test: opensm with the options of the document, and -f.
mkdir "$T/bin" "$T/scratch" "$T/opensm"
printf '#!/bin/sh\nexec %s -f %s/opensm/log "$@"\n' "$(PATH=$PATH:/usr/sbin command -v opensm)" "$T" >"$T/bin/opensm"
chmod +x "$T/bin/opensm"
ln -s "$RUSE_BUILD" "$T/scratch/build"
cp -r "$top/examples" "$T/scratch/"
ln -s "$top/scripts" "$T/scratch/scripts"
# The namespaces of a document have run directories of their own.
export XDG_RUNTIME_DIR=$T/xdg
mkdir -m 700 "$XDG_RUNTIME_DIR"
export OSM_TMP_DIR=$T/opensm OSM_CACHE_DIR=$T/opensm
export "${SANITIZER_OPTIONS[@]}"
PATH=:$PATH:
PATH=${PATH//:\/usr\/sbin:/:}
PATH=${PATH//:\/sbin:/:}
PATH=$T/bin:${PATH#:}
export PATH=${PATH%:}
path=$PATH
cd "$T/scratch" || die "no scratch directory"

# ends_well LINE STATUS: is this the status that the line must have? The race shows rarely without a rule.
ends_well() {
	case $1 in
	*examples/race | *examples/race" "*) [ "$2" = 1 ] || { [ "$2" = 0 ] && ! ruse fault list | grep -q ' delay '; } ;;
	*) [ "$2" = 0 ] ;;
	esac
}

# daemons: prints the pids of subnet managers of this test
daemons() {
	local p
	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" = opensm ] &&
			tr '\0' '\n' 2>/dev/null <"$p/environ" | grep -qxF -- "OSM_TMP_DIR=$T/opensm" &&
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
	RUSE_DIRS=("$RUSE_DIR" "$XDG_RUNTIME_DIR"/ruse/*)
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

# shell LINE: a line for another network namespace uses that namespace's run directory
shell() {
	case $1 in
	"ip netns exec"*) unset RUSE_DIR ;;
	esac
	exec timeout "$PAIR_TIMEOUT" bash -c "$1"
}

# listens LINE: does the server of this line listen?
listens() {
	case $1 in
	"ip netns exec"*)
		# shellcheck disable=SC2086
		set -- $1
		ip netns exec "$4" grep -qE ":$(printf %04X "$PORT") 0+:0000 0A" /proc/net/tcp
		;;
	*examples/cm*) ruse run rdma res show cm_id | grep -q "state LISTEN .*:$PORT " ;;
	*) listening "$PORT" ;;
	esac
}

# ended NAME LINE STATUS: has the line ended as it should, with the output in $T/NAME.out?
ended() {
	ends_well "$2" "$3" || { cat "$T/$1.out" >&2; die "status $3: $2"; }
	check "$1" "$2"
}

# run LINE: in the foreground
run() {
	local rc=0
	(shell "$1") >"$T/line.out" 2>&1 </dev/null || rc=$?
	ended line "$1" $rc
}

# run_pair SERVER CLIENT
run_pair() {
	local server rc line_rc _
	for _ in 1 2 3; do
		rc=0 line_rc=0
		(shell "$1") >"$T/first.out" 2>&1 </dev/null &
		server=$!
		wait_for 100 listens "$1" || { cat "$T/first.out" >&2; die "does not listen: $1"; }
		(shell "$2") >"$T/line.out" 2>&1 </dev/null || line_rc=$?
		wait $server || rc=$?
		unmeasured "$T/first.out" "$T/line.out" || break
	done
	ended line "$2" $line_rc
	ended first "$1" $rc
}

# run_capture LINE PINGPONG: the pingpong may fail: a fault rule of the document can drop its last ACK, after
# which the other side exits. The packets that the capture has seen decide.
run_capture() {
	local pid file pingpong=$2
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
	[ -z "$file" ] || ruse capture -r "$file" 2>/dev/null | grep -E 'RC (SEND|WRITE)' >"$T/packets" ||
		die "no packets: $1"
}
over() { ! grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$1/status"; }

all_active() {
	ruse fabric show | awk '$2 == "switch" || $2 == "host" { all += $6; up += $7 }
				END { exit !all || up != all }'
}

# are_pair SERVER CLIENT: the same line with an address, perhaps on another host
are_pair() {
	local host='s/ --host [^ ]*//; s/^ip netns exec [^ ]* //' server client
	server=$(sed "$host" <<<"$1")
	client=$(sed "$host" <<<"$2")
	[ "$server localhost" = "$client" ] || [ "$server 10.77.0.1" = "$client" ]
}

# routed LINE PORT: a path through this port of the first switch; while opensm changes the forwarding
# tables there is none
routed() {
	(shell "$1") >"$T/line.out" 2>&1 </dev/null && sed -n 3p "$T/line.out" | grep -q "^\[$2\]"
}

for document in README.md doc/tutorial.md doc/examples.md doc/man/ruse.1.rst doc/man/ruse-fault.1.rst; do
	mapfile -d '' -t all < <(lines $document)
	note "$document: ${#all[@]} lines"
	pingpong="ibv_rc_pingpong -d rxe_0 -g 1 -n 100"
	port=4
	[ $document != doc/tutorial.md ] || pingpong=examples/pingpong
	[ $document != doc/examples.md ] || pingpong=examples/race
	[ ${#all[@]} -gt 0 ] || die "$document: no examples are found"
	for ((i = 0; i < ${#all[@]}; i++)); do
		line=${all[i]} next=${all[i + 1]:-}
		if grep -qxF -- "$document	$line" <<<"$not_run"; then
			not_run=$(grep -vxF -- "$document	$line" <<<"$not_run")
			note "not run: $line"
			continue
		fi
		note "$line"
		if are_pair "$line" "$next"; then
			run_pair "$line" "$next"
			note "$next"
			i=$((i + 1))
			continue
		fi
		case $line in
		"export PATH="*)
			eval "$line"
			command -v ruse >/dev/null || die "no ruse: $line"
			;;
		"ruse capture -r"*) run "$line" ;;
		"ruse capture"*) run_capture "$line" "$pingpong" ;;
		*ibtracert*)
			wait_for 100 routed "$line" $port || { cat "$T/line.out" >&2; die "no route: $line"; }
			port=3	# the line before the next one cuts the first cable
			;;
		*opensm*)
			run "$line"
			wait_for 100 all_active || { ruse fabric show >&2; die "ports are not active"; }
			;;
		*) run "$line" ;;
		esac
	done
	# The next document begins without a fabric and without rules.
	end_daemons
	"$RUSE_BUILD/ruse" stop --now >/dev/null || die "ruse stop"
	# The tutorial sets PATH by its own words; the manual pages do not, and need it set.
	[ "$document" != README.md ] || PATH=$path
done
[ -z "$not_run" ] || die "not run, but no document has: $not_run"
exit 0

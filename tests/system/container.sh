#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two containers, each on its own host, without privileges: bubblewrap gives them an ordinary uid, no
# capability, no new privileges, PID and user namespaces, a read-only root, and a tmpfs on /tmp. They
# are also refused the system calls that Docker's default seccomp profile refuses (seccomp.c,
# "container"). The run directory is the default one, in their /tmp.
#
#     container on a  ── va ──────── vb ──  container on b
#
# shellcheck source=tests/system/hosts.sh
. "${BASH_SOURCE%/*}/hosts.sh"
command -v bwrap >/dev/null || skip "no bwrap (scripts/deps --test)"
EPERM=1
PAIR_TIMEOUT=200
hosts 4200

# box HOST CMD...: runs CMD in a container on the host
box() {
	local host=$1
	shift
	on "$host" env "${SANITIZER_OPTIONS[@]}" bwrap --ro-bind / / --dev /dev --proc /proc \
		--tmpfs /tmp --bind "$T" "$T" --ro-bind "$RUSE_BUILD" "$RUSE_BUILD" \
		--unshare-user --uid 1000 --gid 1000 --unshare-pid --unshare-ipc --cap-drop ALL \
		--unsetenv RUSE_DIR --unsetenv XDG_RUNTIME_DIR --die-with-parent --new-session -- \
		"$RUSE_TESTBIN/seccomp" container $EPERM timeout "$PAIR_TIMEOUT" "$@"
}

# in_box HOST CMD...: the same under ruse
in_box() {
	local host=$1
	shift
	box "$host" "$RUSE_BUILD/ruse" run "$@"
}

box a true || skip "bwrap makes no container here"

# shellcheck disable=SC2016
box a sh -c 'id -u; grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; ! touch /x' \
	>"$T/self" 2>&1 || die "the root can be written"
for want in '^1000$' '^CapEff:[[:space:]]*0*$' '^CapBnd:[[:space:]]*0*$' '^NoNewPrivs:[[:space:]]*1$' \
	'^Seccomp:[[:space:]]*2$'; do
	grep -qE "$want" "$T/self" || { cat "$T/self" >&2; die "not a container as meant: $want"; }
done

box a "$RUSE_BUILD/ruse" doctor >"$T/doctor" || { cat "$T/doctor" >&2; die "doctor: status $?"; }
grep -q '^WARN  cross-memory attach' "$T/doctor" || { cat "$T/doctor" >&2; die "the filter allows CMA"; }

port=18515
pingpong="ibv_rc_pingpong -d rxe_0 -g 1 -s 100000 -n 50 -p $port"
note "two processes in one container"
# shellcheck disable=SC2016
box a bash -c '
	$0 run $1 & server=$!
	until grep -qE ":4853 0+:0000 0A" /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done
	$0 run $1 localhost && wait $server' "$RUSE_BUILD/ruse" "$pingpong" >"$T/one" 2>&1 ||
	{ cat "$T/one" >&2; die "in one container"; }

note "two containers"
# shellcheck disable=SC2086
in_box a $pingpong >"$T/server" 2>&1 &
server=$!
wait_for 60 listening_on a $port || { cat "$T/server" >&2; die "the server does not listen"; }
# shellcheck disable=SC2086
in_box b $pingpong "${ADDR4[a]}" >"$T/client" 2>&1 || { cat "$T/client" >&2; die "the client"; }
wait $server || { cat "$T/server" >&2; die "the server"; }

note "two containers, rdma_cm"
in_box a rping -s -a "${ADDR4[a]}" -C 20 -v >"$T/server" 2>&1 &
server=$!
serving() { kill -0 "$server" 2>/dev/null; }
joined() { in_box b rping -c -a "${ADDR4[a]}" -C 20 -v >"$T/client" 2>&1 || ! serving; }
wait_for 60 joined || { cat "$T/client" "$T/server" >&2; die "rping"; }
grep -q "^ping data" "$T/client" || { cat "$T/client" "$T/server" >&2; die "rping: the server ended"; }
wait $server || { cat "$T/server" >&2; die "the server of rping"; }
exit 0

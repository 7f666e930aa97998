#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The steps of packaging/ci/action.yml, run without GitHub (action_run.py). A `cmake` in PATH installs this build in place
# of another one, unless ACTION_BUILD=1; a step that wants to install packages fails.
# shellcheck source=tests/system/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"
here=$(realpath "${BASH_SOURCE%/*}")
action=$here/../../packaging/ci/action.yml
gate=$RUSE_TESTBIN/gate
export "${SANITIZER_OPTIONS[@]}"
unset GITHUB_STEP_SUMMARY LD_PRELOAD
"$here/../../scripts/deps" --check --build --run --install || skip "the action would install packages"

mkdir "$T/bin" "$T/work"
for name in apt-get sudo; do
	printf '#!/bin/sh\necho "%s $*" >>"%s/root"\nexit 1\n' $name "$T" >"$T/bin/$name"
done
if [ -z "${ACTION_BUILD:-}" ]; then
	# The arguments of cmake are those of a build, which is only recorded.
	cat >"$T/bin/cmake" <<END
#!/bin/sh
echo "\$*" >>"$T/cmake"
case \$1 in
--install) exec "$(command -v cmake)" --install "$RUSE_BUILD" --prefix "$T/ruse" >/dev/null ;;
esac
END
fi
# Without root the step installs by sudo.
[ "$(id -u)" = 0 ] || printf '#!/bin/sh\nexec "$@"\n' >"$T/bin/sudo"
chmod +x "$T"/bin/*
PATH=$T/bin:$PATH
if [ -n "${ACTION_BUILD:-}" ]; then
	# The step builds in the source tree.
	mkdir "$T/tree"
	(cd "$here/../.." && git ls-files -z | tar -c --null -T - | tar -x -C "$T/tree") || die "no copy of the tree"
	action=$T/tree/packaging/ci/action.yml
fi
cd "$T/work" || exit 1

# act STATUS INPUT=VALUE...: runs the action; its output is in $T/out
act() {
	local want=$1 status=0
	shift
	rm -rf "$T/state"
	mkdir "$T/state"
	timeout 2400 /usr/bin/python3 -B "$here/action_run.py" "$action" "$T/state" "prefix=$T/ruse" "$@" >"$T/out" 2>&1 ||
		status=$?
	[ $status = "$want" ] || die "$*: status $status, not $want: $(cat "$T/out")"
}
said() { grep -qE -- "$1" "$T/out" || die "not '$1' but: $(cat "$T/out")"; }

note "the defaults: ruse is installed and in PATH, nothing is preloaded or run"
act 0
said '^skipped: Run the command$'
said '^skipped: Preload ruse'
library=$(sed -n 's/^output: library=//p' "$T/out")
[ -f "$library" ] || die "the output library is no file: $library"
[ "$(cat "$T/state/path")" = "$T/ruse/bin" ] || die "GITHUB_PATH: $(cat "$T/state/path")"
[ ! -e "$T/state/env" ] || die "GITHUB_ENV: $(cat "$T/state/env")"
[ -n "${ACTION_BUILD:-}" ] || grep -q -- "-S . -B build-action .*INSTALL_PREFIX=$T/ruse" "$T/cmake" || die "$(cat "$T/cmake")"
"$T/ruse/bin/ruse" run ibv_devices | grep -q rxe_0 || die "the installed ruse has no device"

note "preload"
act 0 preload=true
[ "$(cat "$T/state/env")" = "LD_PRELOAD=$library" ] || die "GITHUB_ENV: $(cat "$T/state/env")"
env "LD_PRELOAD=$(sanitizers)$(sed -n 's/^LD_PRELOAD=//p' "$T/state/env")" ibv_devices | grep -q rxe_0 || die "LD_PRELOAD gives no device"

note "run with conditions that hold"
act 0 "run=echo started
$gate ok 10" expect=rdma,no-errors summary=rdma.json junit=rdma.xml
said '^started$'
/usr/bin/python3 -B "$here/report_check.py" rdma.json || die "the summary: $(cat rdma.json)"
/usr/bin/python3 -B "$here/report_check.py" rdma.xml || die "JUnit: $(cat rdma.xml)"
grep -q '^| rdma | holds |' "$T/state/summary" || die "GITHUB_STEP_SUMMARY: $(cat "$T/state/summary")"

note "conditions that fail, and a command that fails"
act 99 "run=true" expect=rdma
said 'expect rdma: no bytes'
act 99 "run=$gate leak 1" expect=strict summary=true
said 'expect no-leaks: '
said '^ruse run: summary$'
said '^skipped: Keep the report$'
act 7 "run=exit 7" expect=rdma junit=failed.xml report=rdma.html timeout=5m
said '^step: Keep the report$'
said '^uses: actions/upload-artifact@v4 .*path=rdma\.html'
/usr/bin/python3 -B "$here/report_page.py" rdma.html || die "the page is wrong: $(cat rdma.html)"
act 124 "run=sleep 600" timeout=1s
grep -q 'message="exit status 7"' failed.xml || die "JUnit: $(cat failed.xml)"
act 1 "run=false | true; echo not reached"
! grep -q 'not reached' "$T/out" || die "bash goes on after an error: $(cat "$T/out")"
act 0 "run=$gate ok 1" report=ok.html
said '^skipped: Keep the report$'

note "conditions without a command are an error, not a gate that is silently open"
for input in expect=rdma summary=x.json junit=x.xml report=x.html timeout=5m; do
	act 1 $input
	said '::error::expect, summary, junit, report and timeout are for the input run'
	! grep -q '^step: Install' "$T/out" || die "it was installed: $(cat "$T/out")"
done
[ ! -s "$T/root" ] || die "packages were to be installed: $(cat "$T/root")"
exit 0

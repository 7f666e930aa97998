# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A host: a rused with a run directory, and the commands of a test that use it.

A `ruse run` with a gate waits on the host for the end of the test. Its run's id is in the environment of all commands, so
they are counted together, and rused does not end meanwhile.
"""
import json
import os
import signal
import subprocess

from .process import CommandError, Process, Result, RuseError, words

START = 120     # seconds for rused to start on a loaded machine
FAILED = 99     # of `ruse run`: a condition does not hold
# A run, a fabric host and a report of the command that has started pytest.
OUTER = ("RUSE_RUN", "RUSE_HOST", "RUSE_NETDEV", "RUSE_LIKE", "GITHUB_STEP_SUMMARY")


class Fault:
    """Rules of `ruse fault` on one host."""

    def __init__(self, host):
        self._host = host

    def _call(self, *args):
        return self._host.ruse("fault", *args).stdout

    def add(self, rule):
        """Adds a rule, such as "drop 1% op SEND", and returns its number."""
        before = {r["id"] for r in self.list()}
        self._call("add", *words(rule))
        return next(r["id"] for r in self.list() if r["id"] not in before)

    def list(self):
        """The rules as `ruse fault list --json` has them."""
        return json.loads(self._call("list", "--json")).get("rules", [])

    def delete(self, number):
        self._call("del", str(number))

    def clear(self):
        self._call("del", "all")

    def down(self, device=None):
        self._call("down", *([device] if device else []))

    def up(self, device=None):
        self._call("up", *([device] if device else []))

    def event(self, name, **selectors):
        """Raises an asynchronous event, as event("QP_FATAL", pid=process.pid), and returns in how many objects it was."""
        return int(self._call("event", name, *(str(w) for pair in selectors.items() for w in pair)))

    def seed(self, number):
        self._call("seed", str(number))

    def freeze(self, pid):
        self._call("freeze", str(pid))

    def thaw(self, pid="all"):
        self._call("thaw", str(pid))


class Fabric:
    """The simulated InfiniBand fabric of one host: `ruse fabric`."""

    def __init__(self, host):
        self._host = host

    def _call(self, *args):
        return self._host.ruse("fabric", *(str(a) for a in args), timeout=START).stdout

    def up(self, *args, sm=False):
        """up("--star", 4, sm=True): with sm also opensm, and the ports are then active."""
        self._call("up", *args, *(["--sm"] if sm else []))
        return self

    def down(self):
        self._call("down", "--kill")

    def show(self):
        """`ruse fabric show --json`."""
        return json.loads(self._call("show", "--json"))

    def link(self, what, port):
        """link("down", "H1/1")"""
        self._call("link", what, port)

    def node(self, what, node):
        """node("off", "S1")"""
        self._call("node", what, node)

    def run(self, name, command, **options):
        """Runs a command on a host of the fabric; the options are those of Host.run()."""
        return self._host.run(command, options=["--host", name], **options)

    def start(self, name, command, **options):
        return self._host.start(command, options=["--host", name], **options)


class Host:
    """name, rundir, and with ruse_hosts() also address and address6. The first GID of an address is index 1."""

    def __init__(self, lab, name, prefix=None):
        self._lab, self.name = lab, name
        # Puts commands into the namespaces of the host.
        self._prefix = prefix or (lambda cwd: [])
        self.address, self.address6 = "127.0.0.1", "::1"
        self.rundir = os.path.join(lab.path, f"ruse-own.{name}")
        self.files = os.path.join(lab.path, name)
        self.summary_file = os.path.join(self.files, "summary.json")
        self.report_file = os.path.join(self.files, "report.html")
        self.capture_file = os.path.join(self.files, "capture.pcapng")
        self.processes, self._count, self._run, self._capture = [], 0, None, None
        self.problems = None    # sentences of `ruse run --expect`, when the conditions were judged
        self.fault, self.fabric = Fault(self), Fabric(self)

    def __repr__(self):
        return f"<ruse host {self.name} {self.rundir}>"

    @property
    def env(self):
        """The environment of the host's commands, for other ways to start one (`ruse run` must be in front of it)."""
        env = {k: v for k, v in os.environ.items() if k not in OUTER}
        env.update(self._lab.mark, RUSE_DIR=self.rundir)
        if self._run:
            env["RUSE_RUN"] = self._run_id
        return env

    def _spawn(self, args, argv, name, cwd=None, env=None, stdin=None):
        self._count += 1
        cwd = os.fspath(cwd or os.getcwd())
        prefix = self._prefix(cwd) or ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", cwd]
        process = Process(args, [*prefix, *argv], {**self.env, **(env or {})},
                          os.path.join(self.files, f"{self._count}-{os.path.basename(name)}"), stdin)
        return self._lab.add(process)

    def begin(self, conditions, capture, title, like=None):
        """Starts rused and the run, which has the title as its argument for the report."""
        os.mkdir(self.rundir, 0o700)
        os.mkdir(self.files, 0o700)
        gate = [f"--expect={c}" for c in conditions] + [f"--summary={self.summary_file}"]
        gate += [f"--report={self.report_file}"] if capture else []
        gate += [f"--like={like}"] if like else []
        run = self._spawn(["ruse", "run", *gate], [self._lab.program, "run", *gate, "--", "sh", "-c",
                          'echo "$RUSE_RUN"; read -r end; [ "$end" != failed ]', title], "run", stdin=subprocess.PIPE)
        try:
            self._run_id = run.wait_output(r"^[0-9a-f]{16}$", START)[0]
        except CommandError as e:
            raise RuseError(f"ruse run {' '.join(gate)}:\n{e.result.stderr or e}") from None
        self._run = run
        if capture:
            self._capture = self._spawn(["ruse", "capture"], [self._lab.program, "capture", "-w", self.capture_file],
                                        "capture")
            self._capture.wait_output("capture: running", START)

    def ruse(self, *args, timeout=60, check=True):
        """A command of ruse itself: host.ruse("status", "--json")."""
        process = self._spawn(["ruse", *args], [self._lab.program, *args], "ruse")
        return process.wait(timeout, check)

    def start(self, command, *, options=(), cwd=None, env=None, stdin=None):
        """Starts a command under ruse in the background; options are those of `ruse run`. A Process."""
        args = words(command)
        process = self._spawn(args, [self._lab.program, "run", *options, "--", *args], args[0], cwd, env, stdin)
        self.processes.append(process)
        return process

    def run(self, command, *, timeout=60, check=True, input=None, **how):
        """Runs a command under ruse. Raises CommandError if its status is not 0, and TimeoutError, with what it
        waits for, if it does not end in time. A Result."""
        if input is not None:
            path = os.path.join(self.files, f"{self._count + 1}.in")
            with open(path, "wb") as f:
                f.write(input if isinstance(input, bytes) else input.encode())
            with open(path, "rb") as f:
                process = self.start(command, stdin=f, **how)
        else:
            process = self.start(command, **how)
        try:
            return process.wait(timeout, check)
        except TimeoutError as e:
            raise TimeoutError(f"{e}\n{self.stuck()}") from None
        finally:
            process.stop()

    def status(self):
        return json.loads(self.ruse("status", "--json").stdout)

    def explain(self, *which):
        """The text of `ruse explain`."""
        return self.told("explain", *which)

    def stuck(self):
        return self.told("explain", "--stuck")

    def told(self, *args):
        """What a command of ruse prints, also if it fails."""
        try:
            result = self.ruse(*args, check=False)
        except (TimeoutError, OSError) as e:
            return f"ruse {' '.join(args)}: {e}"
        return (result.stdout + result.stderr).rstrip()

    def end_run(self):
        """Ends the run, once: the conditions are judged and the summary is written."""
        if self.problems is not None or not self._run:
            return self.problems or []
        self._run.close_input("failed\n" if self._lab.failed else "")
        try:
            result = self._run.wait(START, check=False)
        except TimeoutError as e:
            result = Result(self._run.args, -1, "", str(e))
        said = [line for line in result.stderr.splitlines() if line.startswith("ruse run: --expect")]
        self.problems = said
        expected = (1,) if self._lab.failed else (0, FAILED)
        if result.status not in expected or (result.status == FAILED and not said):
            self.problems = [*said, result.text()]
        return self.problems

    def summary(self):
        """Ends the run and returns its summary (doc/json.md). None: there is none."""
        self.end_run()
        try:
            with open(self.summary_file, encoding="utf-8") as f:
                return json.load(f)
        except (OSError, ValueError):
            return None

    def end_capture(self):
        """The capture's file is complete then. An error's text, or None."""
        if not self._capture:
            return None
        self._capture.send_signal(signal.SIGINT)
        try:
            self._capture.wait(START)
        except (TimeoutError, CommandError) as e:
            return str(e)
        return None

    def log(self):
        """What rused has written of its own crash, or its log."""
        for name in ("rused.crash", "rused.log"):
            try:
                with open(os.path.join(self.rundir, name), encoding="utf-8", errors="replace") as f:
                    text = f.read()
            except OSError:
                continue
            if text:
                return name, text
        return None, ""

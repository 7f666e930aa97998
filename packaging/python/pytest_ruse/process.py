# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Commands of a test: each is a session of its own, and its output is in files.

A command that has ended is not reaped before the end of the test: until then no other process can have its number, and
its session can be killed without doubt.
"""
import os
import re
import shlex
import signal
import subprocess
import time

NAP = 0.02
GRACE = 5       # seconds between SIGTERM and SIGKILL
SHOWN = 4000    # characters of an output in a message


class RuseError(Exception):
    """Something that ruse or the plugin cannot do."""


class CommandError(AssertionError):
    """A command has failed; `result` has its status and output."""

    def __init__(self, text, result):
        super().__init__(text)
        self.result = result


def words(command):
    """A command as a list: text is split as a shell does, without its expansions."""
    return shlex.split(command) if isinstance(command, str) else [os.fspath(word) for word in command]


def tail(text):
    return text if len(text) <= SHOWN else "[...]" + text[-SHOWN:]


class Result:
    """What a command has done: args, status (signal N: -N; None: it has not ended), stdout, stderr."""

    def __init__(self, args, status, stdout, stderr):
        self.args, self.status, self.stdout, self.stderr = args, status, stdout, stderr

    def __repr__(self):
        return f"<Result {self.args}: status {self.status}>"

    def text(self):
        how = "has not ended" if self.status is None else f"status {self.status}"
        parts = [f"{shlex.join(self.args)}: {how}"]
        for name in ("stdout", "stderr"):
            content = getattr(self, name)
            if content.strip():
                parts.append(f"--- {name}\n{tail(content).rstrip()}")
        return "\n".join(parts)


class Process:
    """A command that runs in the background. args is what was asked for, argv what is executed."""

    def __init__(self, args, argv, env, prefix, stdin=None):
        self.args = args
        self.stdout_path, self.stderr_path = f"{prefix}.out", f"{prefix}.err"
        self.status = None
        with open(self.stdout_path, "wb") as out, open(self.stderr_path, "wb") as err:
            self._popen = subprocess.Popen(argv, env=env, stdout=out, stderr=err, start_new_session=True,
                                           stdin=subprocess.DEVNULL if stdin is None else stdin)
        self.pid = self._popen.pid

    def __repr__(self):
        return f"<Process {self.pid} {shlex.join(self.args)}>"

    @staticmethod
    def _read(path):
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()

    @property
    def stdout(self):
        return self._read(self.stdout_path)

    @property
    def stderr(self):
        return self._read(self.stderr_path)

    @property
    def running(self):
        return self.poll() is None

    def poll(self):
        """The status if it has ended, else None."""
        if self.status is None:
            try:
                end = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                self.status = -1    # reaped by another part of the test
                return self.status
            if end:
                self.status = end.si_status if end.si_code == os.CLD_EXITED else -end.si_status
        return self.status

    def _until(self, done, timeout, what):
        until = time.monotonic() + timeout
        while not done():
            if time.monotonic() > until:
                raise TimeoutError(f"{self.result().text()}\nafter {timeout} s it has not {what}")
            time.sleep(NAP)

    def result(self):
        return Result(self.args, self.poll(), self.stdout, self.stderr)

    def wait(self, timeout=60, check=True):
        """Waits for the end. Raises TimeoutError, and with check CommandError if the status is not 0."""
        self._until(lambda: not self.running, timeout, "ended")
        result = self.result()
        if check and result.status:
            raise CommandError(result.text(), result)
        return result

    def wait_output(self, pattern, timeout=60):
        """Waits until stdout or stderr matches the regular expression, which it returns. Many programs do not flush
        an output that is no terminal."""
        match = []

        def done():
            ended = not self.running
            found = re.search(pattern, self.stdout, re.M) or re.search(pattern, self.stderr, re.M)
            if found:
                match.append(found)
            elif ended:
                raise CommandError(f"{self.result().text()}\nhas ended without output that matches {pattern!r}",
                                   self.result())
            return found
        self._until(done, timeout, f"written {pattern!r}")
        return match[0]

    def wait_listen(self, port, timeout=60):
        """Waits until there is a listener on this TCP port in the network namespace of the command."""
        def done():
            if not self.running:
                raise CommandError(f"{self.result().text()}\nhas ended and does not listen on port {port}", self.result())
            for name in ("tcp", "tcp6"):
                try:
                    table = self._read(f"/proc/{self.pid}/net/{name}")
                except OSError:
                    continue
                if re.search(rf":{port:04X} 0+:0000 0A", table):
                    return True
            return False
        self._until(done, timeout, f"opened port {port}")

    def send_signal(self, number):
        """To the command and the processes of its group."""
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def stop(self):
        """SIGTERM, and after some seconds SIGKILL. The status."""
        if self.running:
            self.send_signal(signal.SIGTERM)
            try:
                self._until(lambda: not self.running, GRACE, "ended")
            except TimeoutError:
                self.send_signal(signal.SIGKILL)
                self._until(lambda: not self.running, GRACE, "ended by SIGKILL")
        return self.status

    def close_input(self, text=""):
        """Writes a last text to the input, and closes it."""
        try:
            if text and self._popen.stdin:
                self._popen.stdin.write(text.encode())
                self._popen.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass
        if self._popen.stdin:
            self._popen.stdin.close()

    def reap(self):
        """After its session was killed."""
        self.close_input()
        try:
            self._popen.wait(GRACE)
        except subprocess.TimeoutExpired:
            pass

# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What one test has: a directory, hosts, processes. The keeper removes all of it."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from . import keeper
from .host import Host
from .net import Network
from .process import RuseError, tail

PATH_MAX = 50   # of the directory's parent: a socket's path below it must be short
GONE = 60       # seconds for the keeper


def base():
    path = tempfile.gettempdir()
    return path if len(path) <= PATH_MAX else "/tmp"


class Lab:
    """path, mark (variables of all processes), hosts, processes."""

    def __init__(self, program, conditions, capture, title, like=None):
        self.program, self.conditions, self._capture, self._title = program, conditions, capture, title
        self._like = like
        self.failed = False     # the test itself: its runs fail
        self.hosts, self.processes, self.closed = [], [], False
        env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", keeper.MARK)}
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", keeper.__file__, base(), str(os.getpid())], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, cwd="/")
        try:
            self.path = self._keeper.stdout.readline().rstrip("\n")
            if not self.path.startswith("/"):
                raise RuseError(f"the keeper does not start: {self.path}\n{self._keeper.stdout.read()}")
        except BaseException:
            self._keeper.stdin.close()
            raise
        self.mark = {keeper.MARK: self.path}

    def tell(self, line):
        self._keeper.stdin.write(f"{line}\n")
        self._keeper.stdin.flush()

    def add(self, process):
        """A process that the keeper ends."""
        self.processes.append(process)
        self.tell(f"session {process.pid}")
        return process

    def host(self, name="host"):
        """The host of this name, which is in the network namespace of pytest."""
        for host in self.hosts:
            if host.name == name:
                return host
        return self._begin(Host(self, name))

    def network(self, count):
        net = Network(self, count)
        hosts = []
        for i in range(count):
            host = Host(self, chr(ord("a") + i), net.prefix(i))
            host.address, host.address6 = net.address(i), net.address6(i)
            hosts.append(self._begin(host))
        return hosts

    def _begin(self, host):
        host.begin(self.conditions, self._capture, self._title, self._like)
        self.hosts.append(host)
        return host

    def judge(self):
        """Ends the runs. The sentences of the conditions that fail."""
        several = len(self.hosts) > 1
        if self.conditions and not self.hosts:
            return [f"ruse run: --expect {','.join(self.conditions)}: the test has not used a host"]
        return [f"host {host.name}: {line}" if several else line for host in self.hosts for line in host.end_run()]

    def sections(self):
        """(title, text) for the report of a test that has failed."""
        several = len(self.hosts) > 1
        problems = self.judge() if self.conditions else []
        if problems:
            yield "ruse run --expect", "\n".join(problems)
        for host in self.hosts:
            of = f" on host {host.name}" if several else ""
            # Before the failures, which are also those of processes that are stopped here.
            running = [p for p in host.processes if p.running]
            if running:
                yield f"ruse explain --stuck{of}", host.stuck()
            yield f"ruse explain{of}", host.explain()
            name, text = host.log()
            if text:
                yield f"{name}{of}", tail(text)
            for process in host.processes:
                if running and process in running or process.status:
                    yield f"output{of}", process.result().text()

    def keep(self, where, failure, sections):
        """Keeps the files of a failed test in a new directory. Returns its path.

        failure: what pytest says of it. A problem with the capture is added to sections.
        """
        path, n = where, 1
        while True:
            try:
                os.makedirs(path)
                break
            except FileExistsError:
                n += 1
                path = f"{where}-{n}"
        for host in self.hosts:
            prefix = f"{host.name}-" if len(self.hosts) > 1 else ""
            host.end_run()
            error = host.end_capture()
            if error:
                sections.append(("ruse capture", error))
            for name in sorted(os.listdir(host.files)):
                source = os.path.join(host.files, name)
                # The plugin's own commands have no output of interest.
                if os.path.getsize(source) and not re.match(r"\d+-(ruse|run|capture)\.", name):
                    shutil.copyfile(source, os.path.join(path, prefix + name))
            name, text = host.log()
            if text:
                with open(os.path.join(path, prefix + name), "w", encoding="utf-8") as f:
                    f.write(text)
        with open(os.path.join(path, "report.txt"), "w", encoding="utf-8", errors="backslashreplace") as f:
            f.write(f"{failure}\n")
            f.writelines(f"--- {title}\n{text}\n" for title, text in sections)
        return path

    def close(self):
        """Ends everything. Raises RuseError if something is left."""
        if self.closed:
            return
        self.closed = True
        try:
            for host in self.hosts:
                host.end_capture()
                for process in host.processes:
                    process.stop()
                host.end_run()
                host.told("stop", "--now")
        finally:
            left = self._end_keeper()
        if left:
            raise RuseError(left)

    def _end_keeper(self):
        try:
            text, _ = self._keeper.communicate("end\n", GONE)
        except BrokenPipeError:
            text = f"the keeper of {self.path} has ended: status {self._keeper.wait(GONE)}"
        except subprocess.TimeoutExpired:
            text = f"the keeper of {self.path} does not end"
        for process in self.processes:
            process.reap()
        return text.strip()

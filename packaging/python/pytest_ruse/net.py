# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Hosts in network namespaces of their own: two are connected by a veth, more by a bridge.

All namespaces are below an outer one, of which the user is root. Each has a process that holds it.
"""
import os
import shutil
import subprocess
import time

from .process import CommandError, Process

MTU = 4200      # with room for path MTU 4096
LIMIT = 60
SPACE = 'mount -t sysfs none /sys 2>/dev/null; echo ready; exec cat'
CD = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh"]


class Forbidden(Exception):
    """There cannot be such namespaces here: the reason."""


class Network:
    """spaces: a holder's PID for each host."""

    def __init__(self, lab, count):
        self._lab = lab
        self._files = os.path.join(lab.path, "net")
        self._number = 0
        self.spaces = []
        missing = [p for p in ("unshare", "nsenter", "ip") if not shutil.which(p)]
        if missing:
            raise Forbidden(f"{', '.join(missing)}: not found (packages util-linux, iproute2)")
        os.mkdir(self._files, 0o700)
        try:
            self._user = False
            if os.geteuid() == 0:
                try:
                    self._outer = self._hold(["unshare", "-n"], "echo ready; exec cat")
                except CommandError:
                    self._user = True
            else:
                self._user = True
            if self._user:
                self._outer = self._hold(["unshare", "-Urn"], "echo ready; exec cat")
            for _ in range(count):
                self.spaces.append(self._hold([*self._enter(self._outer, False), "unshare", "-nm"], SPACE))
            self._connect(count)
        except CommandError as e:
            said = e.result.stderr.strip() or f"status {e.result.status}"
            raise Forbidden(f"{e.result.args[0]}: {said}") from None

    def _start(self, args, argv, stdin=None):
        self._number += 1
        process = Process(args, argv, {**os.environ, **self._lab.mark}, os.path.join(self._files, str(self._number)), stdin)
        return self._lab.add(process)

    def _hold(self, argv, script):
        holder = self._start(["network namespaces are not permitted"], [*argv, "sh", "-c", script], subprocess.PIPE)
        holder.wait_output("^ready$", LIMIT)
        self._lab.tell(f"ns {holder.pid}")
        return holder.pid

    def _enter(self, pid, mounts=True):
        user = ["-U", "--preserve-credentials"] if self._user else []
        return ["nsenter", "-t", str(pid), *user, "-n", *(["-m"] if mounts else []), "--"]

    def prefix(self, index):
        """What puts a command onto a host."""
        return lambda cwd: [*self._enter(self.spaces[index]), *CD, cwd]

    def _ip(self, line, pid=None):
        args = ["ip", *line.split()]
        return self._start(args, [*self._enter(pid or self._outer, bool(pid)), *args]).wait(LIMIT).stdout

    def _connect(self, count):
        if count == 2:
            self._ip(f"link add v0 netns {self.spaces[0]} mtu {MTU} type veth peer name v1 netns {self.spaces[1]} mtu {MTU}")
        else:
            self._ip("link add bridge mtu 4200 type bridge mcast_snooping 0")
            self._ip("link set bridge up")
            for i, pid in enumerate(self.spaces):
                self._ip(f"link add p{i} mtu {MTU} type veth peer name v{i} netns {pid} mtu {MTU}")
                self._ip(f"link set p{i} master bridge up")
        for i, pid in enumerate(self.spaces):
            self._ip("link set lo up", pid)
            self._ip(f"link set v{i} up", pid)
            self._ip(f"addr add {self.address(i)}/24 dev v{i}", pid)
            self._ip(f"-6 addr add {self.address6(i)}/64 dev v{i} nodad", pid)
            self._ip(f"route add default dev v{i}", pid)
        until = time.monotonic() + LIMIT
        while not all(self._ready(i, pid) for i, pid in enumerate(self.spaces)):
            if time.monotonic() > until:
                raise Forbidden(f"the links are not up after {LIMIT} s")
            time.sleep(0.05)

    def _ready(self, index, pid):
        return "state UP" in self._ip(f"-o link show v{index}", pid) and \
            "tentative" not in self._ip(f"-6 addr show dev v{index}", pid)

    @staticmethod
    def address(index):
        return f"10.77.0.{index + 1}"

    @staticmethod
    def address6(index):
        return f"fd77::{index + 1:x}"

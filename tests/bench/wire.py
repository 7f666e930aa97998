# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two hosts for tests/bench/run: network namespaces a and b, connected by a veth."""
import json
import os
import re
import signal
import subprocess
import tempfile
import time

ADDRESS = {"a": "10.77.0.1", "b": "10.77.0.2"}
MTU = 4200      # room for path MTU 4096
TIMEOUT = 90


class Failed(Exception):
    """A measurement failed; the text says why."""


class Wire:
    """The two hosts; use as `with Wire(build, rundir, env)`. Needs root or user namespaces."""

    def __init__(self, build, rundir, env):
        self.build, self.env, self.keeper = build, env, {}
        self.rundir = {h: os.path.join(rundir, h) for h in ADDRESS}
        self.port = 18515

    def __enter__(self):
        try:
            for host in ADDRESS:
                os.mkdir(self.rundir[host], 0o700)
                # pylint: disable-next=consider-using-with
                self.keeper[host] = subprocess.Popen(
                    ["unshare", "-nm", "sh", "-c",
                     "mount -t sysfs none /sys && echo up && exec sleep infinity"],
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
                if self.keeper[host].stdout.readline() != "up\n":
                    raise Failed("no network namespaces: run it as root, or under unshare -Ur")
            self.sh("ip link add va netns {a} type veth peer name vb netns {b}".format(
                **{h: k.pid for h, k in self.keeper.items()}))
            for host, address in ADDRESS.items():
                self.sh(f"ip link set lo up && ip link set v{host} mtu {MTU} up && "
                        f"ip addr add {address}/24 dev v{host} && "
                        f"ip route add default dev v{host}", host)
            time.sleep(1)       # carrier, and IPv6 duplicate address detection
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        for host, keeper in self.keeper.items():
            subprocess.run(self.on(host, [os.path.join(self.build, "ruse"), "stop", "--now"]),
                           env=self.environ(host), check=False, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            keeper.send_signal(signal.SIGKILL)
            keeper.wait()

    def on(self, host, argv):
        return ["nsenter", "-t", str(self.keeper[host].pid), "-n", "-m", "--", *argv]

    def environ(self, host):
        return dict(self.env, RUSE_DIR=self.rundir[host])

    def sh(self, text, host=None):
        argv = ["sh", "-c", text]
        r = subprocess.run(self.on(host, argv) if host else argv, text=True, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if r.returncode:
            raise Failed(f"{text}: {r.stdout.strip()}")

    def run(self, host, argv):
        try:
            r = subprocess.run(self.on(host, argv), env=self.environ(host), timeout=TIMEOUT,
                               text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, check=False)
        except subprocess.TimeoutExpired as e:
            raise Failed(f"{argv[0]}: no end after {TIMEOUT} s") from e
        if r.returncode:
            raise Failed(f"{os.path.basename(argv[0])}: {r.stdout.strip()[-200:]}")
        return r.stdout

    def listening(self, host, port, files=("tcp", "tcp6")):
        state = "0A" if files[0] == "tcp" else "07"
        for name in files:
            with open(f"/proc/{self.keeper[host].pid}/net/{name}", encoding="ascii") as f:
                for line in f:
                    words = line.split()
                    if words[3] == state and words[1].endswith(f":{port:04X}"):
                        return True
        return False

    def pair(self, server, client, port, files=("tcp", "tcp6")):
        """Runs server on a and client on b; returns the outputs of both."""
        with tempfile.TemporaryFile("w+") as log:
            # pylint: disable-next=consider-using-with
            s = subprocess.Popen(self.on("a", server), env=self.environ("a"), stdout=log,
                                 stdin=subprocess.DEVNULL, stderr=log)
            try:
                end = time.monotonic() + 10
                while not self.listening("a", port, files) and s.poll() is None:
                    if time.monotonic() > end:
                        break
                    time.sleep(0.005)
                out = self.run("b", client)
                s.wait(10)
            except subprocess.TimeoutExpired as e:
                raise Failed(f"{server[0]}: no end after its client's") from e
            finally:
                s.kill()
                s.wait()
            log.seek(0)
            return log.read(), out

    def next_port(self):
        self.port += 1
        return self.port

    def perftest(self, tool, *options):
        port = self.next_port()
        argv = [os.path.join(self.build, "ruse"), "run", tool, "-d", "rxe_0", "-x", "1", "-F",
                "-p", str(port), *options]
        # perftest may misread its peer's greeting if that peer is busy.
        for attempt in range(3):
            try:
                return self.pair(argv, argv + [ADDRESS["a"]], port)[1]
            except Failed as e:
                if attempt == 2 or "read remote address" not in str(e):
                    raise
        return ""

    def iperf3(self, seconds):
        """GB/s of one TCP stream, as received."""
        port = str(self.next_port())
        out = self.pair(["iperf3", "-s", "-1", "-p", port],
                        ["iperf3", "-c", ADDRESS["a"], "-p", port, "-t", str(seconds), "-J"],
                        int(port))[1]
        return json.loads(out)["end"]["sum_received"]["bits_per_second"] / 8e9

    def udp(self, server, client, *options, both=()):
        """Runs bench-udp; returns its figures {name: value}. both: options for both ends."""
        port = str(self.next_port())
        prog = os.path.join(self.build, "bench", "bench-udp")
        out = self.pair([prog, server, port, *both],
                        [prog, client, ADDRESS["a"], port, *options, *both], int(port), ("udp",))
        return {m[1]: float(m[2]) for m in re.finditer(r"^(\w+) ([\d.]+) \S+$", "\n".join(out),
                                                       re.MULTILINE)}

    def fault(self, *rule):
        self.run("b", [os.path.join(self.build, "ruse"), "fault", *rule])

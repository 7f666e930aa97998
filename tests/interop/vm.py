# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The guest with kernel rxe, the local side with ruse, and the wire between them.

  Guest  Debian's kernel in emulated QEMU, on a tap device of this network
         namespace; its root file system is that of this machine, read-only
  Here   ruse in this network namespace, its device on the tap

Both sides can start a command, which returns a Command: wait() for it and read its output in
`out`.
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
AGENT_PORT = 7777
MTU = 4200   # room for path MTU 4096
GUEST4, GUEST6 = "192.168.77.{}", "fd00:77::{}"   # number 1, 2 ...
OWN4, OWN6 = "192.168.77.100", "fd00:77::100"
MISSING = 77


BOOT = 20    # seconds that the guest takes to boot on an idle machine
BOOT_MOST = 240    # after which it is started again

_pace = 1.0


class Missing(Exception):
    """The machine lacks something that the tests need."""


def slow(seconds):
    """Scales a time: where the guest boots slowly, everything is slow."""
    return seconds * _pace


def set_pace(boot):
    """Sets the scale of slow() from the guest's boot time in seconds."""
    globals()["_pace"] = max(1.0, boot / BOOT)


def sh(cmd):
    subprocess.run(cmd, shell=True, check=True)


def kernel_dir(build):
    """The directory of the guest's kernel; call it before own_namespace()."""
    path = os.path.join(build, "interop")
    rc = subprocess.run([os.path.join(HERE, "kernel"), path], check=False).returncode
    if rc == MISSING:
        raise Missing("no kernel for the guest")
    if rc:
        raise RuntimeError("tests/interop/kernel failed")
    return path


def own_namespace():
    """Runs this program again in a network namespace of its own."""
    if os.environ.get("INTEROP_UNSHARED"):
        return
    os.environ["INTEROP_UNSHARED"] = "1"
    flags = ["-n"] if os.geteuid() == 0 else ["-U", "-r", "-n"]
    tried = subprocess.run(["unshare", *flags, "true"], check=False, stderr=subprocess.PIPE,
                           text=True)
    if tried.returncode:
        raise Missing("no network namespace: " + tried.stderr.strip())
    os.execvp("unshare", ["unshare", *flags, "--", sys.executable, *sys.argv])


def make_wire(guests=1):
    """Creates a tap device vmN for each guest and, for more than one, a bridge. The queues are
    long, as an emulated receiver is slow: only faults may lose packets.
    """
    for path in ("/dev/net/tun", "/proc/sys/net/ipv6"):
        if not os.path.exists(path):
            raise Missing("no " + path)
    dev = "vm1" if guests == 1 else "wire"
    if guests > 1:
        sh(f"ip link add {dev} type bridge && ip link set {dev} mtu {MTU} up")
    for n in range(1, guests + 1):
        made = subprocess.run(f"ip tuntap add dev vm{n} mode tap vnet_hdr", shell=True,
                              check=False, stderr=subprocess.PIPE, text=True)
        if made.returncode:
            raise Missing("no tap device: " + made.stderr.strip())
        sh(f"ip link set vm{n} mtu {MTU} txqueuelen 20000 up")
        if guests > 1:
            sh(f"ip link set vm{n} master {dev}")
    sh("ip link set lo up")
    sh(f"ip addr add {OWN4}/24 dev {dev} && ip -6 addr add {OWN6}/64 dev {dev} nodad")
    sh(f"ip route add default via {GUEST4.format(1)} dev {dev}")


class Command:
    """A running command; subclasses fill `out`, and `rc` at the end, from a thread."""

    def __init__(self, name, cmd):
        self.name, self.cmd = name, cmd
        self.out, self.rc = "", None
        self.thread = threading.Thread(target=self._follow, daemon=True)

    def wait(self, timeout):
        """Its exit status; 124 if it had to be killed."""
        self.thread.join(timeout)
        # The thread sets rc as its last action and may be alive a moment longer.
        if self.rc is None:
            self.kill()
            self.thread.join(slow(10))
            self.rc = 124
        self.thread.join(slow(10))
        return self.rc

    def wait_out(self, text, timeout):
        """Waits until the output contains `text`; False after the timeout."""
        end = time.monotonic() + timeout
        while text not in self.out:
            if time.monotonic() > end or not self.thread.is_alive():
                return text in self.out
            time.sleep(0.02)
        return True


class GuestCommand(Command):
    def __init__(self, cmd, address):
        super().__init__("kernel", cmd)
        self.conn = request(address, {"cmd": cmd})
        self.thread.start()

    def _follow(self):
        rc = None
        try:
            with self.conn.makefile("r", encoding="utf-8") as lines:
                for line in lines:
                    msg = json.loads(line)
                    self.out += msg.get("out", "")
                    rc = msg.get("rc", rc)
        except (OSError, ValueError):
            pass
        self.rc = 255 if rc is None else rc

    def kill(self):
        try:
            self.conn.shutdown(socket.SHUT_RDWR)
        except OSError:     # it has just ended
            pass


class OwnCommand(Command):
    def __init__(self, cmd, env):
        super().__init__("ruse", cmd)
        # pylint: disable-next=consider-using-with
        self.p = subprocess.Popen(["bash", "-c", "exec " + cmd], env=env, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        self.thread.start()

    def _follow(self):
        while True:
            text = os.read(self.p.stdout.fileno(), 65536)
            if not text:
                break
            self.out += text.decode(errors="replace")
        self.rc = self.p.wait()

    def kill(self):
        self.p.kill()


def request(address, what):
    conn = socket.create_connection((address, AGENT_PORT), timeout=slow(60))
    conn.sendall(json.dumps(what).encode() + b"\n")
    conn.settimeout(None)
    return conn


class Side:
    """Common part of Guest and Here; start() and listening() are theirs."""

    def run(self, cmd, timeout=120):
        """Runs a command; returns exit status and output."""
        c = self.start(cmd)
        rc = c.wait(slow(timeout))
        return rc, c.out

    def gid(self, family):
        """Index of the GID that is this side's IPv4 or IPv6 address."""
        want = f"::ffff:{self.ip4}" if family == 4 else self.ip6
        _, out = self.run("ibv_devinfo -v -d rxe_0")
        for line in out.splitlines():
            if "GID[" in line and line.split("]:")[1].split(",")[0].strip() == want:
                return int(line.split("[")[1].split("]")[0])
        raise RuntimeError(f"{self.name}: no GID {want}:\n{out}")

    def counters(self):
        """The counters of `rdma statistic`."""
        rc, out = self.run("rdma -j statistic show link rxe_0/1")
        if rc:
            raise RuntimeError(f"{self.name}: rdma statistic: {out}")
        return {k: v for k, v in json.loads(out)[0].items() if isinstance(v, int)}


class Guest(Side):
    name = "kernel"

    def __init__(self, build, number=1, memory=1024):
        if not shutil.which("qemu-system-x86_64"):
            raise Missing("no qemu-system-x86_64")
        self.ip4, self.ip6 = GUEST4.format(number), GUEST6.format(number)
        self.mac = f"52:54:00:77:00:0{number}"
        self.dir = tempfile.TemporaryDirectory(prefix="ruse-interop-")
        self.kernel = kernel_dir(build)
        self.console = os.path.join(self.dir.name, "console")
        params = {"start": os.path.join(HERE, "guest-start"), "kernel": self.kernel, "mtu": MTU,
                  "ip4": self.ip4 + "/24", "ip6": self.ip6 + "/64", "gw4": OWN4}
        append = "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable net.ifnames=0 "
        append += " ".join(f"guest.{k}={v}" for k, v in params.items())
        # Nothing depends on the host's hardware: any machine that runs QEMU will do.
        self.cmd = [
               "setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64",
               "-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max", "-smp", "2",
               "-m", str(memory), "-nodefaults", "-display", "none", "-no-reboot",
               "-kernel", f"{self.kernel}/vmlinuz", "-initrd", f"{self.kernel}/initrd",
               "-append", append,
               "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,"
               "multidevs=remap",
               "-netdev", f"tap,id=n0,ifname=vm{number},script=no,downscript=no,vhost=off",
               "-device", f"virtio-net-pci,netdev=n0,mac={self.mac},"
               f"romfile=,host_mtu={MTU}",
               "-device", "virtio-rng-pci",
               "-serial", f"file:{self.console}"]
        self.boot()

    def boot(self):
        # pylint: disable-next=consider-using-with
        self.p = subprocess.Popen(self.cmd, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.started = time.monotonic()

    def wait_up(self, boots=3):
        """Waits until the agent answers; the guest has its device by then. Rarely the emulated processors of a guest spin
        without end before its first program: such a guest is started again.
        """
        while "agent: ready" not in self.console_text():
            if self.p.poll() is not None:
                raise RuntimeError("qemu ended: " + self.p.stderr.read())
            if time.monotonic() > self.started + BOOT_MOST:
                boots -= 1
                text = f"the guest has not come up in {BOOT_MOST} s; its console: {self.console_text()[-300:]!r}"
                if not boots:
                    raise RuntimeError(text)
                print(f"interop: {text}: it is started again", file=sys.stderr, flush=True)
                self.p.kill()
                self.p.wait()
                self.boot()
            time.sleep(0.1)
        set_pace(time.monotonic() - self.started)
        for address in (self.ip4, self.ip6):
            socket.create_connection((address, AGENT_PORT), timeout=slow(60)).close()
        self.know_neighbours()

    def know_neighbours(self):
        """Makes the neighbour entries of both sides permanent. A guest that is busy with a
        thousand packets may answer no ARP or NDP probe for three seconds; its address would then
        be unknown, and part of a burst lost.
        """
        for own, address in ((OWN4, self.ip4), (OWN6, self.ip6)):
            route = json.loads(subprocess.run(["ip", "-j", "route", "get", address], check=True,
                                              stdout=subprocess.PIPE).stdout)[0]
            link = json.loads(subprocess.run(["ip", "-j", "link", "show", route["dev"]],
                                             check=True, stdout=subprocess.PIPE).stdout)[0]
            sh(f"ip neigh replace {address} lladdr {self.mac} dev {route['dev']} nud permanent")
            self.run(f"ip neigh replace {own} lladdr {link['address']} dev eth0 nud permanent")

    def console_text(self):
        try:
            with open(self.console, encoding="utf-8", errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def start(self, cmd):
        return GuestCommand(cmd, self.ip4)

    def listening(self, port):
        with request(self.ip4, {"listening": port}) as conn:
            return b'"rc": 0' in conn.recv(100)

    def stop(self):
        if self.p.poll() is None:
            try:
                request(self.ip4, {"poweroff": 1}).close()
                self.p.wait(slow(10))
            except (OSError, subprocess.TimeoutExpired):
                self.p.kill()
                self.p.wait()
        self.dir.cleanup()


class Here(Side):
    name, ip4, ip6 = "ruse", OWN4, OWN6

    def __init__(self, build):
        self.build = build
        self.dir = tempfile.TemporaryDirectory(prefix="ruse-interop-")
        self.rundir = os.path.join(self.dir.name, "run")
        os.mkdir(self.rundir, 0o700)
        self.env = dict(os.environ, RUSE_DIR=self.rundir,
                        PATH=build + ":" + os.environ["PATH"])
        # Without --idle 0 rused would end between programs, and its counters with it.
        self.rused = subprocess.Popen(["setpriv", "--pdeathsig", "KILL",
                                       os.path.join(build, "rused"), "--rundir", self.rundir,
                                       "--idle", "0"], stdin=subprocess.DEVNULL, env=self.env)
        end = time.monotonic() + 60
        while not os.path.exists(os.path.join(self.rundir, "rused.sock")):
            if time.monotonic() > end or self.rused.poll() is not None:
                raise RuntimeError("rused does not start: " + self.log())
            time.sleep(0.05)

    def start(self, cmd):
        return OwnCommand(f"ruse run {cmd}", self.env)

    def ruse(self, args):
        """Runs a subcommand of ruse; returns its output."""
        return subprocess.run([os.path.join(self.build, "ruse"), *args], env=self.env, check=True,
                              capture_output=True, text=True).stdout

    def wire(self):
        """Counters of ruse's UDP sockets; overflow: packets dropped because a receive buffer was
        full.
        """
        counted = json.loads(self.ruse(["status", "--json"]))["wire"]
        return dict(counted, overflow=self.overflow())

    @staticmethod
    def overflow():
        with open("/proc/self/net/snmp", encoding="ascii") as f:
            names, values = (line.split() for line in f if line.startswith("Udp:"))
        with open("/proc/self/net/snmp6", encoding="ascii") as f:
            more = dict(line.split() for line in f)
        return int(dict(zip(names, values))["RcvbufErrors"]) + int(more["Udp6RcvbufErrors"])

    def listening(self, port):
        for path in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
            with open(path, encoding="ascii") as f:
                for line in f.readlines()[1:]:
                    words = line.split()
                    if words[3] == "0A" and words[1].endswith(f":{port:04X}"):
                        return True
        return False

    def alive(self):
        return self.rused.poll() is None

    def log(self):
        """The log of rused; after a crash the place of the crash."""
        for name in ("rused.crash", "rused.log"):
            try:
                with open(os.path.join(self.rundir, name), encoding="utf-8") as f:
                    return f.read()
            except FileNotFoundError:
                pass
        return ""

    def stop(self):
        subprocess.run([os.path.join(self.build, "ruse"), "stop", "--now"], env=self.env,
                       check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.rused.wait(slow(30))
        except subprocess.TimeoutExpired:
            self.rused.kill()
            self.rused.wait()
        self.dir.cleanup()

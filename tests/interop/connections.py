# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Connections between ruse and kernel rxe through librdmacm: command lines as in cases.py, with

  {addr}    the server's address in the case's family
  {own}     the side's own address
  {port}    a port of its own for each case
  {bin}     the directory of the system tests' programs

Cases with `same` also compare the CM messages on the wire: what ruse's CM sends for a program
must be what the kernel's CM sends for the same program, field by field, apart from the values
that each host chooses.
"""
import os
import re
import subprocess
import time
from dataclasses import dataclass

import vm
from silence import Silence

PORT = 23000
GROUP = "239.1.2.4"     # on RoCE the kernel's rdma_cm cannot join IPv6 groups (ENOTSUPP)


@dataclass
class Connection:
    name: str
    server: str
    client: str
    expect: str = ""             # a pattern in the client's output
    served: str = ""             # a pattern in the server's output
    families: tuple = (4, 6)     # in the long form
    short: tuple = ()            # address families in the short form
    timeout: int = 90
    listens: int = 0             # the port that the server listens on, if not {port}
    forever: bool = False        # the server does not end by itself
    same: bool = False           # each side sends the same in either role: compare the messages
    tcp: bool = False            # the server listens on a TCP port
    again: str = ""              # a pattern: the program's own race, run it again
    rules: tuple = ()            # rules for ruse fault, applied to CM messages


def tool(name, server="", client="", **kw):
    """A tool whose options -b and -s select the server's and the client's role."""
    return Connection(f"{name} {client or server}".strip(),
                      f"{name} -b {{addr}} -p {{port}} {server}",
                      f"{name} -s {{addr}} -p {{port}} {client}", **kw)


def both(name, opts, **kw):
    return tool(name, opts, opts, **kw)


def rping(opts, **kw):
    return Connection(f"rping {opts}".strip(), f"rping -s -a {{addr}} -p {{port}} {opts}",
                      f"rping -c -a {{addr}} -p {{port}} {opts}", **kw)


def udaddy(opts, **kw):
    return Connection(f"udaddy {opts}".strip(), f"udaddy -b {{addr}} {opts}",
                      f"udaddy -s {{addr}} {opts}", expect="return status 0",
                      listens=7174, **kw)


def perf(name, opts, **kw):
    """perftest listens twice and connects twice without waiting for the second listener: it then
    gets a REJ (UD: a SIDR_REP) that says that there is none. Its rdma_cm mode has no IPv6.
    """
    cmd = f"ib_{name} -R -F -p {{port}} {opts}"
    return Connection(f"{name} -R {opts}", cmd, cmd + " {addr}", families=(4,),
                      expect=r"(?m)^ *\d+ +\d+ +[0-9.]+",
                      again="REJECTED; error: 8|UNREACHABLE; error: 1[.]", **kw)


def qperf(tests, **kw):
    """qperf's server reports its port before it listens."""
    return Connection(f"qperf -cm 1 {tests}", "qperf -lp {port}",
                      f"qperf -lp {{port}} -cm 1 -t 1 {{addr}} {tests}", families=(4,),
                      expect="= +[0-9.]+", tcp=True, forever=True, again="Event rejected", **kw)


def all_connections():
    yield rping("-C 5 -V -v", expect="ping data", same=True, short=(4, 6))
    yield Connection("every end, private data", "{bin}/connect {addr} {port}",
                     "{bin}/connect -c {addr} {port}", expect="all connections",
                     served="all served", same=True, short=(4,))
    yield tool("ucmatose", expect="return status 0", same=True, short=(6,))
    yield udaddy("", same=True, short=(4, 6))
    yield both("cmtime", "-c 50", expect="(?m)^disconnect *: ", forever=True, families=(4,))
    yield both("cmtime", "-c 500", expect="(?m)^disconnect *: ", forever=True, timeout=300)
    yield both("cmtime", "-c 20", expect="(?m)^disconnect *: ", forever=True, families=(4,),
               timeout=300, rules=("drop 5% qp 1", "duplicate 20% qp 1"), short=(4,))
    yield both("cmtime", "-c 100", expect="(?m)^disconnect *: ", forever=True, families=(6,),
               timeout=600, rules=("drop 20% qp 1", "duplicate 20% qp 1"))
    yield perf("send_bw", "-s 4097 -n 20", short=(4,))
    yield perf("read_lat", "-s 9000 -n 10")
    yield perf("write_bw", "-b -s 50001 -n 10")
    yield perf("atomic_lat", "-n 10")
    yield perf("send_lat", "-c UD -s 1000 -n 10")
    yield qperf("rc_lat rc_bw")
    yield qperf("rc_rdma_write_bw rc_rdma_read_lat rc_bi_bw")
    yield Connection("rdma_client", "rdma_server -s {addr} -p {port}",
                     "rdma_client -s {addr} -p {port}", expect="end 0", served="end 0")
    yield rping("-C 50 -S 65000 -V")
    yield rping("-C 50 -q")
    yield both("ucmatose", "-c 20 -C 10 -S 1000", expect="return status 0")
    yield both("ucmatose", "-m -t 8", expect="return status 0")
    yield udaddy("-c 10 -C 5")
    yield both("rstream", "-T v -S 5000 -C 100")
    yield both("riostream", "-T v -S 5000 -C 50")


# Lines of tshark's output whose values each host chooses.
CHOSEN = re.compile(r"Transaction ID|Data Payload|Communication ID|Request ID|CA GUID|QPN[^:]*:|"
                    r"Starting PSN|Port GID|Flow Label|Packet Rate|= Reserved: |Source Port|"
                    r"Destination Port|Source IP|Destination IP|Invariant CRC")


class Wire:
    """A capture of UDP port 4791 on an interface."""

    def __init__(self, dev, path):
        self.path = path
        # pylint: disable-next=consider-using-with
        self.p = subprocess.Popen(["dumpcap", "-q", "-i", dev, "-f", "udp port 4791", "-w", path],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.p.stderr:
            if line.startswith("File:"):
                break

    def end(self):
        self.p.terminate()
        self.p.wait()

    def messages(self):
        """Returns (messages, malformed): source address and lines of each CM message, and the
        packets that tshark cannot decode.
        """
        out = subprocess.run(["tshark", "-r", self.path, "-o", "udp.check_checksum:FALSE", "-Y",
                              "infiniband.bth.destqp == 1 or _ws.malformed", "-O", "infiniband"],
                             check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             text=True, errors="replace").stdout
        good, bad = [], ""
        for packet in re.split(r"(?m)^(?=Frame \d+: )", out)[1:]:
            src = re.search(r"Internet Protocol Version \d, Src: ([0-9a-f.:]+)", packet)
            mad = packet.find("MAD Header")
            if "Malformed Packet" in packet or not src or mad < 0:
                bad += packet
            else:
                lines = [x.strip() for x in packet[mad:].splitlines()]
                good.append((src.group(1), tuple(x for x in lines if x and not CHOSEN.search(x))))
        return good, bad


def said(messages, addresses):
    return {m for src, m in messages if src in addresses}


def difference(ours, theirs):
    """Describes the first message that only one side has sent; '' if there is none."""
    def kind(m):
        return next((x for x in m if x.startswith("Attribute ID")), "?")

    for a, b, who in ((ours, theirs, "ruse"), (theirs, ours, "the kernel")):
        for m in sorted(a - b):
            # Show the difference to the most similar message of the other side.
            near = max((o for o in b if kind(o) == kind(m)),
                       key=lambda o, m=m: len(set(o) & set(m)), default=())
            return f"only {who} says\n  " + "\n  ".join(x for x in m if x not in near) + \
                   f"\nof {kind(m)}, the other\n  " + "\n  ".join(x for x in near if x not in m)
    return ""


def present():
    """True if the wire can be captured and decoded here."""
    return all(any(os.access(os.path.join(d, p), os.X_OK) for d in os.environ["PATH"].split(":"))
               for p in ("dumpcap", "tshark"))


class Pairs:
    """Runs the connections and reports to the suite."""

    def __init__(self, suite, here, guest, directory):
        self.suite, self.here, self.guest, self.dir = suite, here, guest, directory
        self.port = PORT
        self.long = suite.args.long
        self.fail = suite.failed

    def start(self, what, side, server, family):
        address = {4: lambda s: s.ip4, 6: lambda s: s.ip6}[family]
        return side.start(what.format(addr=address(server), own=address(side), port=self.port,
                                      bin=os.path.join(self.suite.args.build, "tests/system")))

    def wait_listening(self, server, s, port, tcp=False):
        end = time.monotonic() + vm.slow(60)
        while not (server.listening(port) if tcp else
                   re.search(f"(?m)state LISTEN .*src-addr [^ ]*:{port}( |$)",
                             server.run("rdma res show cm_id")[1])):
            if s.rc is not None or time.monotonic() > end:
                s.wait(0)
                raise self.fail(f"the server does not listen\nserver: {s.cmd}\n{s.out}")
            time.sleep(0.1)

    def pair(self, case, family, server, client):
        """Runs a case, and again if the client was faster than its own server."""
        for attempts in range(1, 13):
            try:
                self.once(case, family, server, client)
                return
            except self.fail as e:
                if attempts == 12 or not case.again or not re.search(case.again, str(e)):
                    raise
                self.suite.note(f"# again: {e}")

    def lossy(self, case, family, server, client):
        """Runs a case with lost and duplicated CM messages; every rule must have applied at least
        once.
        """
        try:
            for rule in case.rules:
                self.here.ruse(["fault", "add", *rule.split()])
            self.pair(case, family, server, client)
        finally:
            listed = self.here.ruse(["fault", "list", "--json"])
            self.here.ruse(["fault", "del", "all"])
        acted = [int(n) for n in re.findall(r'"acted": *(\d+)', listed)]
        if not all(acted):
            raise self.fail(f"no fault has happened: this proves nothing: {acted}")
        self.suite.note(f"# faults: {acted}")

    def mckey(self, receiver, sender):
        """Sends ten datagrams to a group. mckey sends as soon as it is a member; the receiver
        must be a member before that.
        """
        for attempts in range(1, 4):
            r = receiver.start(f"mckey -m {GROUP} -b {receiver.ip4}")
            end = time.monotonic() + vm.slow(30)
            while GROUP not in receiver.run("ip maddr show")[1] and r.rc is None and \
                    time.monotonic() < end:
                time.sleep(0.1)
            time.sleep(1)       # time for its QP and receives; if it is too short, try again
            s = sender.start(f"mckey -m {GROUP} -b {sender.ip4} -s")
            crc = s.wait(vm.slow(60))
            src = r.wait(vm.slow(15))
            text = f"exit status: {sender.name} {crc}, {receiver.name} {src}\n{r.out}\n{s.out}"
            if not crc and not src and "receiving data" in r.out:
                return
            if crc or attempts == 3:
                raise self.fail(text)
            self.suite.note(f"# again: {text}")

    def once(self, case, family, server, client):
        self.port += 2      # every second port: no listener on the next one
        begun = time.monotonic()
        s = self.start(case.server, server, server, family)
        self.wait_listening(server, s, case.listens or self.port, case.tcp)
        ready = time.monotonic()
        c = self.start(case.client, client, server, family)
        crc = c.wait(vm.slow(case.timeout))
        ended = time.monotonic()
        src = s.wait(0 if case.forever else vm.slow(30) if crc == 0 else 3)
        self.suite.note(f"# listens after {ready - begun:.1f} s, client {ended - ready:.1f} s, "
                        f"server {time.monotonic() - ended:.1f} s more")
        text = f"\nserver ({server.name}), status {src}: {s.cmd}\n{s.out}" \
               f"\nclient ({client.name}), status {crc}: {c.cmd}\n{c.out}"
        if crc or (src and not case.forever):
            raise self.fail(f"exit status: {server.name} {src}, {client.name} {crc}" + text)
        # cmtime continues after a failure and ends with status 0.
        if re.search(r"event: |, error: |failure|failing", c.out + s.out):
            raise self.fail("a failure" + text)
        if not re.search(case.expect, c.out) or not re.search(case.served, s.out):
            raise self.fail(f"no {case.expect} or {case.served}" + text)

    def compared(self, case, family):
        """Runs both directions with a capture: each side is server and client once."""
        path = os.path.join(self.dir, "cm.pcapng")
        wire = Wire("vm1", path)
        try:
            self.pair(case, family, self.guest, self.here)
            self.pair(case, family, self.here, self.guest)
            time.sleep(0.5)     # dumpcap's buffer
        finally:
            wire.end()
        messages, bad = wire.messages()
        if bad:
            raise self.fail("malformed:\n" + bad)
        ours, theirs = (said(messages, (s.ip4, s.ip6)) for s in (self.here, self.guest))
        if not ours or not theirs:
            raise self.fail(f"{len(messages)} CM messages captured")
        diff = difference(ours, theirs)
        if diff:
            raise self.fail(diff)
        self.suite.note(f"# {len(messages)} messages of {len(ours)} kinds")

    def all(self):
        can = present()
        for case in all_connections():
            for family in case.families if self.long else case.short:
                sides = [(self.guest, self.here), (self.here, self.guest)]
                if case.same and can:
                    self.named(f"IPv{family} both ways: {case.name}",
                               lambda c=case, f=family: self.compared(c, f))
                    continue
                if case.rules and not self.long:
                    # The programs wait for timeouts of CM. ruse is the client.
                    sides = sides[:1]
                run, how = (self.lossy, ", CM's messages lost") if case.rules else (self.pair, "")
                for server, client in sides:
                    self.named(f"IPv{family} {server.name} <- {client.name}: {case.name}{how}",
                               lambda c=case, f=family, s=server, d=client, r=run: r(c, f, s, d))
        for receiver, sender in ((self.guest, self.here), (self.here, self.guest)):
            self.named(f"IPv4 {receiver.name} <- {sender.name}: mckey",
                       lambda r=receiver, s=sender: self.mckey(r, s))
        if self.long and can:
            self.named("peers that have vanished", lambda: Silence(self, Wire).run(
                os.path.join(self.dir, "silence.pcapng")))

    def named(self, name, fn):
        if self.suite.wanted(name):
            self.suite.one(name, lambda: self.checked(fn))

    def checked(self, fn):
        before = self.suite.now()
        fn()
        self.suite.no_drops(before)

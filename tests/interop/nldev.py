#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""RDMA netlink, device messages (nldev): what is answered to each command, as a message and as a dump.

    nldev.py DEVICE

opens DEVICE, makes an object of each kind, sends each command with each set of attributes, and prints a line for each:
command, form, attributes, and the errno, or the attributes of the answer: their names and sizes, of a table its first row.
interop/rxe runs it with the kernel and with ruse and compares the lines.
"""
import errno
import os
import re
import socket
import struct
import sys

HEADER = "/usr/include/rdma/rdma_netlink.h"
# Attributes from number 96 on, which the headers of a Debian 12 without its updates lack.
UPDATES = ("SYS_ATTR_PRIVILEGED_QKEY_MODE", "DRIVER_DETAILS", "RES_SUBTYPE")
NLDEV = 5 << 10         # RDMA_NL_NLDEV
REQUEST, MULTI, ACK, DUMP = 1, 2, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
NO_DEVICE = 9999
# Commands that change what others rely on: only with these sets of attributes. DELLINK would wait for this process.
SPARED = ("nothing", "no-such-device", "short", "port")
CHANGES = {"SET": (*SPARED, "device"), "NEWLINK": (*SPARED, "device"), "DELLINK": SPARED, "SYS_SET": SPARED}


def enums(text):
    """({command: number}, [attribute names by number], {nested attributes})"""
    def body(name):
        return re.search(r"enum %s \{(.*?)\n\};" % name, text, re.S)[1]
    commands, n = {}, 0
    for name, value in re.findall(r"RDMA_NLDEV_CMD_(\w+)(?: = (\d+))?", body("rdma_nldev_command")):
        n = int(value) if value else n
        commands[name] = n
        n += 1
    attrs, nested = [], set()
    for name, _, comment in re.findall(r"^\s*RDMA_NLDEV_(?:ATTR_)?(\w+)( = \w+)?,\s*(/\*[^*]*\*/)?", body("rdma_nldev_attr"),
                                       re.M):
        if name == "PAD":
            continue
        attrs.append(name)
        if comment and "nested" in comment:
            nested.add(name)
    for number, name in enumerate(UPDATES, 96):
        if len(attrs) == number:
            attrs.append(name)
    return commands, attrs, nested


with open(HEADER, encoding="utf-8") as header:
    COMMANDS, ATTRS, NESTED = enums(header.read())


def put(name, value):
    """An attribute: a number of 32 bits, or a string."""
    data = value.encode() + b"\0" if isinstance(value, str) else struct.pack("=I", value)
    return struct.pack("=HH", 4 + len(data), ATTRS.index(name)) + data + bytes(-len(data) % 4)


def attributes(data):
    while len(data) >= 4:
        size, kind = struct.unpack_from("=HH", data)
        yield ATTRS[kind & 0x3fff], data[4:size]
        data = data[(size + 3) & ~3:]


def shape(data):
    """Names and sizes of attributes, sorted: their order has no meaning. Strings and addresses have any size; equal rows of a
    table are told once, and those of the kernel itself, which ruse does not have, are not told.
    """
    words = []
    for name, value in attributes(data):
        if name == "PAD" or (name.endswith("_ENTRY") and "RES_KERN_NAME" in dict(attributes(value))):
            continue
        if name in NESTED:
            word = f"{name}({shape(value)})"
        else:
            word = f"{name}:{len(value) if len(value) in (1, 4, 8) and not name.endswith('NAME') else 'n'}"
        if word not in words:
            words.append(word)
    return " ".join(sorted(words))


class Netlink:
    def __init__(self):
        self.sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 20)
        self.sock.settimeout(60)
        self.seq = 0

    def send(self, kind, flags, attrs):
        self.seq += 1
        self.sock.send(struct.pack("=IHHII", 16 + len(attrs), kind, flags, self.seq, 0) + attrs)
        return self.seq

    def receive(self):
        """(number of the request, type, flags, payload) of each message of a datagram"""
        data = self.sock.recv(1 << 17)
        while len(data) >= 16:
            size, kind, flags, seq, _ = struct.unpack_from("=IHHII", data)
            yield seq, kind, flags, data[16:size]
            data = data[(size + 3) & ~3:]

    def ask(self, kind, flags, attrs):
        """The answer as words. What is not acknowledged need not be answered: the refusal of a second message ends it."""
        asked = self.send(kind, flags, attrs)
        fence = self.send(NLDEV + COMMANDS["GET"], REQUEST | ACK, put("DEV_INDEX", NO_DEVICE))
        found, code, many, last = [], None, False, False
        while not last or (many and code is None):
            for seq, got, more, payload in self.receive():
                last = last or seq == fence
                if seq == asked and got in (NLMSG_ERROR, NLMSG_DONE):
                    code = struct.unpack_from("=i", payload)[0] if payload else 0
                elif seq == asked:
                    many = many or bool(more & MULTI)
                    found.append(payload)
        return found, code


def answer(found, code):
    """The words of an answer: the shapes of its messages, each once, and its acknowledgement or errno."""
    lines = list(dict.fromkeys(shape(one) for one in found))
    return " / ".join(lines + ["no-end" if code is None else errno.errorcode.get(-code, str(code))])


def objects(name):
    """An object of each kind; they live as long as the answer."""
    # pylint: disable=import-outside-toplevel
    from pyverbs import cq, device, enums as e, mr, pd, qp, srq
    ctx = device.Context(name=name)
    p = pd.PD(ctx)
    c = cq.CQ(ctx, 4)
    m = mr.MR(p, 4096, e.IBV_ACCESS_LOCAL_WRITE)
    s = srq.SRQ(p, srq.SrqInitAttr(srq.SrqAttr(max_wr=4)))
    q = qp.QP(p, qp.QPInitAttr(qp_type=e.IBV_QPT_RC, scq=c, rcq=c, cap=qp.QPCap(4, 4, 1, 1)), qp.QPAttr())
    return ctx, p, c, m, s, q


def first(nl, command, table, index, wanted):
    """The number of the first object of this process in a dump."""
    def find(data):
        row = dict(attributes(data))
        if "RES_PID" in row and struct.unpack("=I", row["RES_PID"])[0] == os.getpid():
            found.append(struct.unpack("=I", row[wanted])[0])
    found = []
    for one in nl.ask(NLDEV + COMMANDS[command], REQUEST | DUMP, put("DEV_INDEX", index) + put("PORT_INDEX", 1))[0]:
        for name, value in attributes(one):
            if name == table:
                for _, row in attributes(value):
                    find(row)
    return found[0] if found else None


KINDS = {"QP": "RES_LQPN", "CM_ID": "RES_CM_IDN", "CQ": "RES_CQN", "MR": "RES_MRN", "PD": "RES_PDN", "CTX": "RES_CTXN",
         "SRQ": "RES_SRQN"}


def cases(nl, index):
    """(name, attributes) of each set"""
    dev, port = put("DEV_INDEX", index), put("PORT_INDEX", 1)
    yield "nothing", b""
    yield "device", dev
    yield "device,port", dev + port
    yield "no-such-device", put("DEV_INDEX", NO_DEVICE)
    yield "device,no-such-port", dev + put("PORT_INDEX", 9)
    yield "port", port
    yield "short", struct.pack("=HHHH", 6, ATTRS.index("DEV_INDEX"), 1, 0)
    yield "driver-details", dev + port + put("DRIVER_DETAILS", 1)[:4] + b"\1\0\0\0"
    for kind, attr in KINDS.items():
        number = first(nl, f"RES_{kind}_GET", f"RES_{kind}", index, attr)
        if number is not None:
            yield f"device,{kind.lower()}", dev + put(attr, number)
            yield f"device,port,{kind.lower()}", dev + port + put(attr, number)
        yield f"device,no-such-{kind.lower()}", dev + put(attr, 0xfffff0)
    for name in ("uverbs", "umad", "issm", "rdma_cm", "nonsense"):
        yield f"chardev-{name}", put("CHARDEV_TYPE", name)
        yield f"device,chardev-{name}", dev + put("CHARDEV_TYPE", name)
        yield f"device,port,chardev-{name}", dev + port + put("CHARDEV_TYPE", name)
    for res in ("QP", "MR", "CM_ID"):
        number = ATTRS.index(f"RES_{res}")
        yield f"stat-{res.lower()}", put("STAT_RES", number)
        yield f"device,port,stat-{res.lower()}", dev + port + put("STAT_RES", number)
        for mode in range(3):
            yield f"device,port,stat-{res.lower()},mode-{mode}", dev + port + put("STAT_RES", number) + put("STAT_MODE", mode)
    for mode in range(4):
        yield f"device,port,mode-{mode}", dev + port + put("STAT_MODE", mode)
    yield "device,port,counter", dev + port + put("STAT_RES", ATTRS.index("RES_QP")) + put("STAT_COUNTER_ID", 1)


def main():
    name = sys.argv[1]
    kept = objects(name)
    nl = Netlink()
    index = 0
    for one in nl.ask(NLDEV + COMMANDS["GET"], REQUEST | DUMP, b"")[0]:
        row = dict(attributes(one))
        if row["DEV_NAME"].rstrip(b"\0").decode() == name:
            index = struct.unpack("=I", row["DEV_INDEX"])[0]
    sets = list(cases(nl, index))
    for command, number in [*COMMANDS.items(), ("beyond", 60)]:
        for form, flags in (("doit", REQUEST | ACK), ("dump", REQUEST | DUMP)):
            for what, attrs in sets:
                if what in CHANGES.get(command, [what]):
                    print(command, form, what, answer(*nl.ask(NLDEV + number, flags, attrs)))
    for client in range(16):
        # 4 is ib_sa's, for ibacm: ruse answers as a kernel does in each network namespace but the first.
        if client not in (4, 5):
            for number in (0, 1, 2):
                print(f"client-{client}", number, "nothing", answer(*nl.ask((client << 10) + number, REQUEST | ACK, b"")))
    del kept


def compare(suite, guest, here):
    """Both sides; called by run."""
    said = {}
    for side in (guest, here):
        rc, out = side.run(f"/usr/bin/python3 -B {os.path.realpath(__file__)} rxe_0", 300)
        if rc:
            raise suite.failed(f"{side.name}: status {rc}\n{out}")
        said[side] = {tuple(line.split()[:3]): line.split(None, 3)[3] for line in out.splitlines()}
    bad = []
    for cell in sorted(said[guest].keys() | said[here].keys()):
        one, other = said[guest].get(cell, "not asked"), said[here].get(cell, "not asked")
        if one != other:
            bad.append(f"{' '.join(cell)}: {guest.name} {one}, {here.name} {other}")
    suite.note(f"# nldev: {len(said[guest])} requests")
    if bad or len(said[guest]) < 2000:
        raise suite.failed("\n".join(bad))


if __name__ == "__main__":
    main()

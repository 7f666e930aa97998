#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""RDMA from Python (pyverbs): two QPs of one process are connected to each other. One end sends a
message, reads the other end's memory, and adds to a number there by an atomic operation."""
import struct
import sys

from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context, get_device_list
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR
import pyverbs.enums as e

GID_INDEX = 1  # the first address of the interface
SIZE = 64
ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC


class End:
    """A QP, with its CQ and its memory."""

    def __init__(self, ctx):
        self.pd = PD(ctx)
        self.mr = MR(self.pd, SIZE, ACCESS)
        self.cq = CQ(ctx, 4)
        cap = QPCap(max_send_wr=1, max_recv_wr=1, max_send_sge=1, max_recv_sge=1)
        init = QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap, sq_sig_all=1)
        self.qp = QP(self.pd, init)

    def connect(self, peer, gid):
        route = GlobalRoute(dgid=gid, sgid_index=GID_INDEX)
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = ACCESS
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        attr.dest_qp_num = peer.qp.qp_num
        attr.path_mtu = e.IBV_MTU_1024
        attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, 7, 7
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
        self.qp.to_rts(attr)

    def sge(self, length):
        return SGE(self.mr.buf, length, self.mr.lkey)

    def post(self, opcode, length, peer=None):
        wr = SendWR(opcode=opcode, num_sge=1, sg=[self.sge(length)])
        if opcode == e.IBV_WR_ATOMIC_FETCH_AND_ADD:
            wr.set_wr_atomic(peer.mr.rkey, peer.mr.buf, 5)
        elif peer:
            wr.set_wr_rdma(peer.mr.rkey, peer.mr.buf)
        self.qp.post_send(wr)

    def wait(self):
        n = 0
        while not n:
            n, completions = self.cq.poll(1)
        if completions[0].status != e.IBV_WC_SUCCESS:
            sys.exit(f"completion with status {completions[0].status}")

    def close(self):
        """Without this Python decides when, and perhaps after the context."""
        for thing in (self.qp, self.cq, self.mr, self.pd):
            thing.close()


def check(got, expected):
    if got != expected:
        sys.exit(f"{got!r} instead of {expected!r}")
    print(got)


def main():
    devices = get_device_list()
    if not devices:
        sys.exit("no device")
    ctx = Context(name=devices[0].name.decode())
    gid = ctx.query_gid(1, GID_INDEX)
    a, b = End(ctx), End(ctx)
    a.connect(b, gid)
    b.connect(a, gid)

    b.qp.post_recv(RecvWR(num_sge=1, sg=[b.sge(SIZE)]))
    a.mr.write(b"a message", 9)
    a.post(e.IBV_WR_SEND, 9)
    a.wait()
    b.wait()
    check(b.mr.read(9, 0), b"a message")

    b.mr.write(b"b's memory", 10)
    a.post(e.IBV_WR_RDMA_READ, 10, b)
    a.wait()
    check(a.mr.read(10, 0), b"b's memory")

    b.mr.write(struct.pack("Q", 37), 8)
    a.post(e.IBV_WR_ATOMIC_FETCH_AND_ADD, 8, b)
    a.wait()
    check(struct.unpack("Q", a.mr.read(8, 0))[0], 37)  # what was there before
    check(struct.unpack("Q", b.mr.read(8, 0))[0], 42)

    a.close()
    b.close()
    ctx.close()


main()

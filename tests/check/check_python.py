#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `ruse run --check` finds in programs of pyverbs that are wrong, and not in the corrected ones.

check_python.py RUSE shm|udp

The program is this file, too (check_python.py program CASE wrong|right): two connected processes, of which the child is always
right. Python's lines are told where it exports a function for that; else the functions of pyverbs alone are.
"""
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading

SIZE = 4096
EARLY = 3
FOUND = 98
HANG = 8  # seconds; --check tells after two
TIMEOUT = 60
ROUNDS = int(os.environ.get("CHECK_ROUNDS", "1"))
EXPORTED = any(hasattr(ctypes.pythonapi, name) for name in ("_Py_DumpTraceback", "PyUnstable_DumpTraceback"))
# The finding of the wrong program and its exit status; the call that is told has a comment that names the case.
CASES = {
    "send-changed": ("CHECK_CHANGED", FOUND),
    "write-thread": ("CHECK_CHANGED", FOUND),
    "read-early": (None, EARLY),
    "read-written": ("CHECK_WRITTEN", FOUND),
    "mr-ended": ("CHECK_MR_ENDED", FOUND),
    # The destructor of pyverbs waits with the interpreter's lock, for ever.
    "ack-missing": ("CHECK_ACK", 128 + signal.SIGALRM),
}


class End:
    """A process's end of the connection."""

    def __init__(self, sock):
        # The program alone needs pyverbs.
        from pyverbs import cq, device, mr, pd, qp  # pylint: disable=import-outside-toplevel
        import pyverbs.enums as e  # pylint: disable=import-outside-toplevel
        self.e, self.sock = e, sock
        self.access = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ
        self.ctx = device.Context(name=device.get_device_list()[0].name.decode())
        self.pd = pd.PD(self.ctx)
        self.cq = cq.CQ(self.ctx, 32)
        self.mr = mr.MR(self.pd, SIZE, self.access)
        cap = qp.QPCap(max_send_wr=8, max_recv_wr=8, max_send_sge=1, max_recv_sge=1)
        init = qp.QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap, sq_sig_all=1)
        self.qp = qp.QP(self.pd, init)
        self.connect()

    def connect(self):
        from pyverbs import addr, qp  # pylint: disable=import-outside-toplevel
        index = next(i for i in range(16) if self.ctx.query_gid(1, i).gid.startswith("0000:0000:0000:0000:0000:ffff"))
        self.sock.sendall(f"{self.qp.qp_num} {self.mr.buf} {self.mr.rkey}\n".encode())
        peer, self.addr, self.rkey = map(int, self.sock.recv(100).split())
        route = addr.GlobalRoute(dgid=self.ctx.query_gid(1, index), sgid_index=index)
        attr = qp.QPAttr(port_num=1)
        attr.qp_access_flags = self.access
        attr.ah_attr = addr.AHAttr(gr=route, is_global=1, port_num=1)
        attr.dest_qp_num = peer
        attr.path_mtu = self.e.IBV_MTU_1024
        attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, 7, 6
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        self.qp.to_rts(attr)

    def meet(self):
        """Waits for the other process to be here, too."""
        self.sock.sendall(b"x")
        assert self.sock.recv(1) == b"x"

    def request(self, opcode, length, offset=0):
        from pyverbs import wr  # pylint: disable=import-outside-toplevel
        sge = wr.SGE(self.mr.buf + offset, length, self.mr.lkey)
        request = wr.SendWR(wr_id=7, opcode=opcode, num_sge=1, sg=[sge])
        if opcode != self.e.IBV_WR_SEND:
            request.set_wr_rdma(self.rkey, self.addr)
        return request

    def poll(self):
        n = 0
        while not n:
            n, completions = self.cq.poll(1)
        assert completions[0].status == self.e.IBV_WC_SUCCESS

    def close(self):
        for thing in (self.qp, self.cq, self.mr, self.pd, self.ctx):
            thing.close()


def send_changed(me, wrong):
    me.qp.post_send(me.request(me.e.IBV_WR_SEND, 512))  # send-changed
    if wrong:
        me.mr.write(b"next", 4, 100)
    me.poll()
    if not wrong:
        me.mr.write(b"next", 4, 100)


def write_thread(me, wrong):
    def post(how):
        if how == "other":
            me.qp.post_send(me.request(me.e.IBV_WR_RDMA_WRITE, 64))
            me.poll()
        else:
            me.qp.post_send(me.request(me.e.IBV_WR_RDMA_WRITE, 2048))  # write-thread

    # The same function has posted before, at another line.
    post("other")
    thread = threading.Thread(target=post, args=("",))
    thread.start()
    thread.join()
    if wrong:
        me.mr.write(b"next", 4, 2000)
    me.poll()
    if not wrong:
        me.mr.write(b"next", 4, 2000)


def read_early(me, wrong):
    me.mr.write(bytes(1000), 1000)
    me.qp.post_send(me.request(me.e.IBV_WR_RDMA_READ, 1000))
    if not wrong:
        me.poll()
    got = me.mr.read(1000, 0)
    if wrong:
        me.poll()
    if got != b"p" * 1000:
        os._exit(EARLY if got == b"\xa5" * 1000 else 1)


def read_written(me, wrong):
    if not wrong:
        me.mr.write(bytes(1000), 1000)
    me.qp.post_send(me.request(me.e.IBV_WR_RDMA_READ, 1000))  # read-written
    if wrong:
        me.mr.write(bytes(1000), 1000)
    me.poll()
    if not wrong:
        assert me.mr.read(1000, 0) == b"p" * 1000


def mr_ended(me, wrong):
    me.qp.post_send(me.request(me.e.IBV_WR_RDMA_WRITE, 1000))  # mr-ended
    if not wrong:
        me.poll()
    me.mr.close()
    if wrong:
        me.poll()


def ack_missing(me, wrong):
    from pyverbs import qp  # pylint: disable=import-outside-toplevel
    attr = qp.QPAttr(qp_state=me.e.IBV_QPS_SQD, cur_qp_state=me.e.IBV_QPS_RTS)
    attr.en_sqd_async_notify = 1
    me.qp.modify(attr, me.e.IBV_QP_STATE | me.e.IBV_QP_EN_SQD_ASYNC_NOTIFY)
    event = me.ctx.get_async_event()
    assert event.event_type == me.e.IBV_EVENT_SQ_DRAINED
    if not wrong:
        event.ack()
    else:
        signal.alarm(HANG)
    me.qp.close()  # ack-missing


def program(case, how):
    # A message stays one, however late it is read.
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = os.fork()
    (theirs if child else ours).close()
    end = End(ours if child else theirs)
    end.mr.write(b"p" * SIZE if not child else bytes(range(1, 251)) * 16, SIZE if not child else 4000)
    if not child:
        from pyverbs import wr  # pylint: disable=import-outside-toplevel
        end.qp.post_recv(wr.RecvWR(num_sge=1, sg=[wr.SGE(end.mr.buf + 2048, 2048, end.mr.lkey)]))
    end.meet()
    if child:
        globals()[case.replace("-", "_")](end, how == "wrong")
        end.meet()
        end.close()
        return os.waitpid(child, 0)[1]
    if end.sock.recv(1):
        end.sock.sendall(b"x")
        end.close()
    return 0


def lines():
    """{case: line}"""
    with open(__file__, encoding="utf-8") as f:
        return {m.group(1): n for n, text in enumerate(f, 1) if (m := re.search(r"\)  # ([a-z-]+)$", text))}


def judge(case, how, run, found, where):
    """The differences of a run, as lines."""
    name, status = CASES[case] if how == "wrong" else (None, 0)
    if run.returncode != status:
        yield f"{case} {how}: exit status {run.returncode}: {run.stderr}"
    if [f["name"] for f in found] != [name] * bool(name):
        yield f"{case} {how}: {[f['name'] for f in found]}: {run.stderr}"
    elif name:
        stack = found[0].get("stack", [])
        python = [(s["function"], s["line"]) for s in stack if s.get("file") == os.path.realpath(__file__)]
        function = "post" if case == "write-thread" else case.replace("-", "_")
        if python[:1] != ([(function, where[case])] if EXPORTED else []):
            yield f"{case}: not at line {where[case]}: {stack}"
        if EXPORTED and f'line {where[case]} in {function}\n' not in run.stderr:
            yield f"{case}: {run.stderr}"
        if not any("pyverbs" in s.get("module", "") for s in stack):
            yield f"{case}: pyverbs is not in {stack}"


def main():
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../mistakes"))
    import network  # pylint: disable=import-outside-toplevel
    if subprocess.run([sys.executable, "-c", "import pyverbs.qp"], check=False, stderr=subprocess.DEVNULL).returncode:
        print("SKIP: there is no pyverbs here")
        return 77
    network.own()
    ruse, link = sys.argv[1:3]
    where, bad = lines(), []
    with tempfile.TemporaryDirectory() as rundir:
        env = dict(os.environ, RUSE_DIR=rundir)
        if link == "udp":
            env["RUSE_LINK"] = "udp"
        log = os.path.join(rundir, "findings")
        for case in list(CASES) * ROUNDS:
            for how in ("wrong", "right"):
                run = subprocess.run([ruse, "run", f"--check=poison,log={log}", sys.executable, "-B", os.path.realpath(__file__),
                                      "program", case, how], env=env, text=True, timeout=TIMEOUT, check=False,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                with open(log, encoding="utf-8") as f:
                    bad += judge(case, how, run, [json.loads(line) for line in f], where)
        subprocess.run([ruse, "stop", "--now"], env=env, timeout=TIMEOUT, check=False, stdout=subprocess.DEVNULL)
    print("\n".join(bad) if bad else "ok")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(program(*sys.argv[2:]) if sys.argv[1] == "program" else main())

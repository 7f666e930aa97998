#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs of others under random rules of `ruse fault` at the verbs.

fault_random.py RUSE SUITE FIRST COUNT [MPI-PROGRAM]

Each of COUNT seeds from FIRST on has a rused of its own, one to three random rules and one program: a sample of rdma-core's
tests (in the directory SUITE; their table in $RDMA_CORE_TABLE), ucx_perftest (with the options $UCX_ALONE), or an MPI program.
The program may fail, but
- rused and the library report no internal error, and rused lives;
- no program dies in a function of libruse.so;
- a program that fails or hangs was met by a rule, and `ruse explain` or `--stuck` names the rule.
Prints what is wrong. The status is 1 if anything is.
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
LIMIT = 60          # seconds for a program
SAMPLE = 12         # of rdma-core's tests

CALLS = {           # a part of the table in ruse-fault(1)
    "post_send": "ENOMEM EINVAL EIO", "post_recv": "ENOMEM EINVAL", "open_device": "EIO ENOMEM EMFILE",
    "alloc_pd": "ENOMEM EAGAIN", "reg_mr": "ENOMEM EFAULT EPERM", "create_cq": "ENOMEM EINVAL",
    "create_qp": "ENOMEM EAGAIN EPERM", "modify_qp": "EINVAL ETIMEDOUT EHOSTUNREACH", "query_qp": "EIO",
    "create_ah": "ENOMEM EHOSTUNREACH", "create_srq": "ENOMEM", "resize_cq": "EINVAL", "destroy_qp": "EBUSY",
    "dereg_mr": "EBUSY", "destroy_cq": "EBUSY", "alloc_mw": "ENOMEM", "query_device": "EIO", "query_port": "EINVAL",
}
STATUSES = {        # of RC
    "SEND": "LOC_LEN LOC_QP_OP LOC_PROT REM_INV_REQ REM_OP RETRY_EXC RNR_RETRY_EXC",
    "WRITE": "LOC_QP_OP LOC_PROT REM_INV_REQ REM_ACCESS REM_OP RETRY_EXC",
    "READ": "LOC_PROT BAD_RESP REM_ACCESS REM_INV_REQ RETRY_EXC",
    "ATOMIC": "LOC_PROT BAD_RESP REM_ACCESS REM_INV_REQ RETRY_EXC",
    "RECV": "LOC_LEN LOC_QP_OP LOC_PROT",
}


def when(rng):
    return rng.choice(["nth %d" % rng.randint(1, 30), "every %d" % rng.randint(2, 40), "%d%%" % rng.choice([1, 3, 10, 50]),
                       "times 1"])


def rule(rng):
    """The words of a rule after `ruse fault`."""
    kind = rng.randrange(10)
    if kind < 4:
        call = rng.choice(sorted(CALLS))
        return "add fail %s errno %s %s" % (call, rng.choice(CALLS[call].split()), when(rng))
    if kind < 7:
        op = rng.choice(sorted(STATUSES))
        return "add complete %s_ERR op %s service RC %s" % (rng.choice(STATUSES[op].split()), op, when(rng))
    if kind < 8:
        return "add hold completions %dms %s" % (rng.choice([1, 5, 50]), when(rng))
    return "add %s %s" % (rng.choice(["drop", "duplicate", "reorder", "rnr", "delay 200us"]), when(rng))


class Seed:
    def __init__(self, ruse, seed, suite, mpi):
        self.ruse, self.seed, self.suite, self.mpi = ruse, seed, suite, mpi
        self.rng = random.Random(seed)
        self.rules = [rule(self.rng) for _ in range(self.rng.randint(1, 3))]
        self.dir = tempfile.mkdtemp(prefix="fault-random-")
        os.mkdir(self.dir + "/run", 0o700)
        self.env = dict(os.environ, RUSE_DIR=self.dir + "/run", UCX_WARN_UNUSED_ENV_VARS="n")
        self.wrong = []

    def tool(self, *args):
        return subprocess.run([self.ruse, *args], env=self.env, capture_output=True, text=True, timeout=60, check=False)

    def command(self):
        kind = self.seed % (3 if self.mpi else 2)
        if kind == 0:
            return "rdma-core", ["/usr/bin/python3", HERE + "/rdma_core_sample.py", str(self.seed), str(SAMPLE)]
        if kind == 1:
            tls = self.rng.choice(["rc_v", "ud_v"])
            test = self.rng.choice(["tag_lat", "tag_bw", "ucp_put_lat", "ucp_get", "ucp_am_lat"])
            port = 20000 + self.rng.randrange(10000)
            ucx = "UCX_TLS=%s ucx_perftest %s -p %d" % (tls, os.environ["UCX_ALONE"], port)
            return "UCX", ["sh", "-c", "%s </dev/null & sleep 1; %s 127.0.0.1 -t %s -n 200 -w 5 -s %d </dev/null; rc=$?; "
                           "kill $! 2>/dev/null; wait $!; exit $rc" %
                           (ucx, ucx, test, self.rng.choice([8, 1000, 65536]))]
        return "MPI", ["env", "UCX_TLS=rc_v", "mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2",
                       "--mca", "pml", "ucx", self.mpi]

    def program(self, command):
        """Status and output; None: it was ended after LIMIT."""
        p = subprocess.Popen([self.ruse, "run", "--", *command], cwd=self.suite, env=self.env, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                             start_new_session=True)
        try:
            out, _ = p.communicate(timeout=LIMIT)
            return p.returncode, out, ""
        except subprocess.TimeoutExpired:
            stuck = self.tool("explain", "--stuck").stdout
            os.killpg(p.pid, signal.SIGKILL)
            out, _ = p.communicate()
            return None, out, stuck

    def died_in_ruse(self, out):
        """UCX prints the stack of a crash; other programs end with a signal, which is found by a second run in gdb."""
        first = re.search(r"==== backtrace.*\n(?:\s*\d+ .*ucs.*\n|\s*\d+ .*libc.*\n)*\s*\d+ (.*)\n", out)
        return bool(first and "libruse" in first[1])

    def run(self):
        self.tool("run", "--", "true")
        self.tool("run", "--", "ibv_devices")
        self.tool("fault", "seed", str(self.seed))
        for words in self.rules:
            r = self.tool("fault", *words.split())
            if r.returncode:
                self.wrong.append("`ruse fault %s`: %s" % (words, r.stderr.strip()))
        name, command = self.command()
        status, out, stuck = self.program(command)
        listed = json.loads(self.tool("fault", "list", "--json").stdout)
        if "rules" not in listed:
            self.wrong.append("ruse fault list: %s: is rused gone?" % listed)
        acted = sum(r["acted"] for r in listed.get("rules", []))
        explain = self.tool("explain")
        if explain.returncode:
            self.wrong.append("ruse explain: status %d: %s" % (explain.returncode, explain.stderr))
        if os.path.exists(self.dir + "/run/rused.crash") or "internal error" in out:
            self.wrong.append("an internal error: " + out[-2000:])
        if self.died_in_ruse(out):
            self.wrong.append("died in libruse.so: " + out[-3000:])
        told = "of `ruse fault`" in explain.stdout + stuck
        if status != 0 and not (acted and told):
            self.wrong.append("%s, %d times met by a rule, not explained: %s\n%s" %
                              ("hangs" if status is None else "status %d" % status, acted, explain.stdout + stuck, out[-3000:]))
        self.tool("stop", "--now")
        print("seed %d: %s: %s; %s; met %d times" %
              (self.seed, name, "; ".join(self.rules),
               "hangs" if status is None else "status %d" % status, acted), flush=True)
        for line in self.wrong:
            print("seed %d: WRONG: %s" % (self.seed, line), flush=True)
        if not self.wrong:
            subprocess.run(["rm", "-rf", self.dir], check=False)
        return not self.wrong


def main():
    ruse, suite, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    mpi = sys.argv[5] if len(sys.argv) > 5 else None
    good = [Seed(ruse, s, suite, mpi).run() for s in range(first, first + count)]
    print("%d of %d seeds" % (sum(good), len(good)))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())

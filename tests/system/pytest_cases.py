# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests for pytest.sh, which runs some of them at a time; many of them fail on purpose. GATE is the program gate."""
import os
import time

import pytest

GATE = os.environ["GATE"]
LONG = 600      # seconds: more than pytest.sh waits


def pids(*numbers):
    with open("pids.new", "w", encoding="utf-8") as f:
        f.write(" ".join(map(str, numbers)))
    os.rename("pids.new", "pids")


@pytest.mark.rdma_expect("rdma,no-errors,no-leaks", "bytes>=1280")
def test_holds_bytes(ruse):
    ruse.run([GATE, "ok", "10"])


@pytest.mark.rdma_expect("processes>=3,ops>=8", "no-leaks")
class TestClass:
    @pytest.mark.rdma_expect("rdma")
    def test_holds_together(self, ruse):
        ruse.run([GATE, "ok", "1"])
        other = ruse.start([GATE, "ok", "2"])
        ruse.run(["sh", "-c", '"$1" ok 1', "sh", GATE])
        other.wait()
        assert len(ruse.summary()["conditions"]) == 4


@pytest.mark.rdma_expect("rdma")
def test_holds_killed(ruse):
    assert ruse.run([GATE, "kill", "3"], check=False).status == -9
    assert ruse.summary()["total"]["leaked"] > 0


def test_holds_input(ruse, tmp_path):
    assert ruse.run("cat", input="text").stdout == "text"
    assert ruse.run("pwd", cwd=tmp_path).stdout == f"{tmp_path}\n"
    assert ruse.run(["printenv", "WORD"], env={"WORD": "x y"}).stdout == "x y\n"


def test_holds_event(ruse, ruse_fault):
    watch = ruse.start("stdbuf -oL ibv_asyncwatch -d rxe_0")
    watch.wait_output("async event FD")
    ruse_fault.seed(4711)
    assert ruse_fault.event("GID_CHANGE", pid=watch.pid) == 1
    watch.wait_output("GID")
    watch.stop()


@pytest.mark.ruse_like("connectx-5")
def test_holds_like(ruse, ruse_fault):
    assert ruse.status()["host"]["like_spec"] == "connectx-5"
    number = ruse_fault.add("fail create_qp errno ENOMEM")
    assert ruse.run([GATE, "ok", "1"], check=False).status
    ruse_fault.delete(number)
    ruse.run([GATE, "ok", "1"])


@pytest.mark.rdma_expect("rdma")
@pytest.mark.xfail(strict=True, reason="the conditions fail")
def test_xfails(ruse):
    ruse.run("true")


@pytest.mark.rdma_expect("rdma")
def test_idle(ruse):
    ruse.run("true")


@pytest.mark.rdma_expect("rdma,no-leaks")
def test_leak(ruse):
    ruse.run([GATE, "leak", "1"])


@pytest.mark.rdma_expect("rdma,no-errors")
def test_ignored(ruse):
    ruse.run([GATE, "error", "1"])


@pytest.mark.rdma_expect("rdma")
def test_each_host(ruse_hosts):
    first, _ = ruse_hosts(2)
    first.run([GATE, "ok", "1"])


@pytest.mark.rdma_expect("rdma")
def test_nothing_counts():
    pass


@pytest.mark.rdma_expect("rdma")
def test_no_host(ruse_hosts):
    pass


@pytest.mark.rdma_expect("rdma")
def test_rused_ends(ruse):
    ruse.run([GATE, "ok", "1"])
    ruse.ruse("stop", "--now")
    ruse.run([GATE, "ok", "1"])


def test_command_fails(ruse):
    ruse.run(["sh", "-c", "echo on stderr >&2; exit 3"])


def test_hangs(ruse):
    server = ruse.start("ibv_rc_pingpong -d rxe_0 -g 1 -p 18516 -n 1000000000")
    server.wait_listen(18516)
    # Without a limit of retries the client waits for ever.
    assert ruse.fault.add("rnr") in [rule["id"] for rule in ruse.fault.list()]
    ruse.run("ibv_rc_pingpong -d rxe_0 -g 1 -p 18516 127.0.0.1", timeout=3)


@pytest.fixture
def daemon(ruse):
    """Programs in the background: one as a child, one that has left its parent, one more in a session of its own, and one
    in the session of its command with an environment of its own."""
    child = ruse.start(["sleep", str(LONG)])
    ruse.run(["sh", "-c", '"$1" daemon 1 "$2/go"', "sh", GATE, os.getcwd()])
    ruse.run(["sh", "-c", 'setsid sleep "$1" & echo $! >session', "sh", str(LONG)])
    ruse.run(["sh", "-c", 'env -i sleep "$1" & echo $! >bare', "sh", str(LONG)])
    found = [child.pid]
    for name in ("go.pid", "session", "bare"):
        until = time.monotonic() + 60
        while not os.path.exists(name) or not open(name, encoding="utf-8").read().strip():
            assert time.monotonic() < until
            time.sleep(0.05)
        with open(name, encoding="utf-8") as f:
            found.append(int(f.read()))
        os.unlink(name)
    for pid in found:
        os.kill(pid, 0)
    return found


def test_background(daemon):
    pids(*daemon)
    assert not daemon


@pytest.fixture
def broken(daemon):
    raise ValueError("set-up fails")


def test_later_fixture(broken):
    pass


@pytest.mark.rdma_expect("rmda")
def test_unknown_condition(ruse):
    pass


def test_sleeps(daemon):
    pids(*daemon)
    time.sleep(LONG)


def test_forked(daemon):
    """The child holds all files of pytest, also the keeper's pipe."""
    child = os.fork()
    if not child:
        time.sleep(LONG)
        os._exit(0)
    pids(child)
    time.sleep(LONG)


def test_hosts_sleep(ruse_hosts):
    for host in ruse_hosts(2):
        host.start(["sleep", str(LONG)])
    pids(0)
    time.sleep(LONG)


@pytest.mark.rdma_expect("rdma,no-errors,no-leaks")
def test_three_hosts(ruse_hosts):
    hosts = ruse_hosts(3)
    for server, client in zip(hosts, hosts[1:] + hosts[:1]):
        args = ["ibv_rc_pingpong", "-d", "rxe_0", "-g", "1", "-n", "20"]
        other = server.start(args)
        other.wait_listen(18515)
        client.run([*args, server.address])
        other.wait()

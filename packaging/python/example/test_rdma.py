# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests of programs that use RDMA; here the ping-pong of ibverbs-utils is the program under test."""
import shutil

import pytest

PORT = 18515    # of TCP, by which the two sides exchange their addresses


def pingpong(server, client, *options):
    """The program on two hosts, or twice on one."""
    args = ["ibv_rc_pingpong", "-d", "rxe_0", "-g", "1", "-p", str(PORT), *options]
    other = server.start(args)
    other.wait_listen(PORT)
    result = client.run([*args, server.address])
    other.wait()
    return result


def test_device(ruse):
    assert "rxe_0" in ruse.run("ibv_devices").stdout


@pytest.mark.rdma_expect("rdma,no-errors,no-leaks", "processes>=2")
def test_pingpong(ruse):
    assert "1000 iters" in pingpong(ruse, ruse).stdout


@pytest.mark.rdma_expect("rdma,no-errors")
def test_packet_loss(ruse, ruse_fault):
    ruse_fault.add("drop nth 5 times 1 op SEND")
    pingpong(ruse, ruse, "-n", "100")
    assert ruse.summary()["total"]["retries"] > 0


@pytest.mark.rdma_expect("rdma,no-errors")
def test_two_hosts(ruse_hosts):
    server, client = ruse_hosts(2)
    pingpong(server, client, "-n", "100")
    wire = [t for t in client.summary()["total"]["traffic"] if t["link"] == "wire"]
    assert sum(t["messages"] for t in wire) >= 100


@pytest.mark.skipif(not shutil.which("opensm"), reason="needs opensm")
def test_fabric(ruse_fabric):
    ruse_fabric.up("--star", 2, sm=True)
    assert "PORT_ACTIVE" in ruse_fabric.run("H1", "ibv_devinfo").stdout

#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""agent.py PORT: runs commands for the tests in the guest (see vm.py).

A connection carries one request, a line of JSON:
  {"cmd": SHELL}       runs it; its output comes back as it is written, as lines
                       {"out": TEXT}, then {"rc": STATUS}. Closing the
                       connection kills the command.
  {"listening": PORT}  {"rc": 0} if there is a listener on the TCP port, else 1
  {"poweroff": 1}      powers the guest off
"""
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading


def listening(port):
    for path in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        with open(path, encoding="ascii") as f:
            for line in f.readlines()[1:]:
                words = line.split()
                if words[3] == "0A" and int(words[1].rsplit(":", 1)[1], 16) == port:
                    return True
    return False


def run(conn, cmd):
    with subprocess.Popen(["bash", "-c", cmd], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True) as p:
        out = p.stdout.fileno()
        while True:
            ready = select.select([out, conn], [], [])[0]
            if conn in ready and not conn.recv(4096):
                os.killpg(p.pid, signal.SIGKILL)
                return
            if out in ready:
                text = os.read(out, 65536)
                if not text:
                    break
                conn.sendall(json.dumps({"out": text.decode(errors="replace")}).encode() + b"\n")
        conn.sendall(json.dumps({"rc": p.wait()}).encode() + b"\n")


def serve(conn):
    with conn:
        request = b""
        while not request.endswith(b"\n"):
            more = conn.recv(65536)
            if not more:
                return
            request += more
        request = json.loads(request)
        try:
            if "cmd" in request:
                run(conn, request["cmd"])
            elif "listening" in request:
                conn.sendall(b'{"rc": %d}\n' % (0 if listening(request["listening"]) else 1))
            else:
                with open("/proc/sysrq-trigger", "w", encoding="ascii") as f:
                    f.write("o")
        except OSError as e:
            print("agent:", e, file=sys.stderr)


def main():
    server = socket.create_server(("::", int(sys.argv[1])), family=socket.AF_INET6,
                                  dualstack_ipv6=True)
    print("agent: ready", flush=True)
    while True:
        conn, _ = server.accept()
        threading.Thread(target=serve, args=(conn,), daemon=True).start()


main()

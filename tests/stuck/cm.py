#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes each hang of cm.c and compares what `ruse explain --stuck` says of it.

cm.py PROGRAM RUSE [NAME...]
"""
import subprocess
import sys

import stuck

NETWORK = """
ip link add r0 type veth peer name r1
ip link set r1 up
ip link set r0 up
ip addr add 10.77.0.1/24 dev r0
ip neigh add 10.77.0.98 lladdr 02:00:00:00:00:03 dev r0 nud permanent
"""
HERE = "10[.]77[.]0[.]1"
SILENT = "10[.]77[.]0[.]98"
NOT_ANSWERED = "was sent [0-9]+ of 16 times, and no answer has come"
LISTEN = {"WAIT_LISTEN": f"it listens at {HERE}, port 7471"}
CHANNEL = "1 event is in an event channel, the oldest is %s: the program does not read it"
# As in stuck.py.
HANGS = {
    "addr": {"WAIT_ADDR": "the address 10[.]77[.]0[.]99 is not resolved yet; the time limit is 60 s"},
    "address": {"WAIT_PROGRAM": f"the address of {HERE} is resolved, and the program has not called "
                                r"rdma_resolve_route\(\) since"},
    "route": {"WAIT_PROGRAM": f"the route of {HERE} is resolved, and the program has not called "
                              r"rdma_connect\(\) since"},
    "rep": {"WAIT_REP": f"the connection request \\(REQ\\) to {SILENT}, port 7471, {NOT_ANSWERED}"},
    "sidr": {"WAIT_REP": f"the address request \\(SIDR_REQ\\) to {SILENT}, port 7471, {NOT_ANSWERED}"},
    "destroy-id": {"WAIT_ACK_CM": r"rdma_destroy_id\(\) waits until all events of the id are acknowledged: "
                                  r"1 event was read, fewer acknowledged by rdma_ack_cm_event\(\)"},
    "read": {**LISTEN,
             "WAIT_REP_HERE": f"the connection request \\(REQ\\) to {HERE}, port 7471, an address of this host, "
                              f"{NOT_ANSWERED}",
             "WAIT_READ": f"the connection request of {HERE} waits in the event channel, and the program "
                          "has not read it",
             "WAIT_CHANNEL": CHANNEL % "CONNECT_REQUEST"},
    # After the first repetition of the REQ.
    "accept": {**LISTEN,
               "WAIT_MRA": f"{HERE}, port 7471, has the connection request and asks for more time "
                           r"\(MRA\), because its program has not answered it",
               "WAIT_ACCEPT": f"the program has read the CONNECT_REQUEST of {HERE}, and called neither "
                              r"rdma_accept\(\) nor rdma_reject\(\)"},
    "rtu": {**LISTEN,
            "WAIT_RTU": f"the acceptance \\(REP\\) was sent to {HERE} [0-9]+ of 16 times, and no RTU has "
                        "come",
            "WAIT_ESTABLISH": f"{HERE}, port 7471, has accepted \\(REP\\), and the program has not "
                              r"established the connection \(RTU\)",
            "WAIT_CHANNEL": CHANNEL % "CONNECT_RESPONSE"},
    "drep": {**LISTEN,
             "WAIT_DREP": f"the request to disconnect \\(DREQ\\) was sent to {HERE} [0-9]+ of 16 times, "
                          r"and no answer \(DREP\) has come",
             "WAIT_DISCONNECT": f"{HERE} disconnects \\(DREQ\\), and the program has not called "
                                r"rdma_disconnect\(\)",
             "WAIT_CHANNEL": CHANNEL % "DISCONNECTED"},
    "connected": {**LISTEN, "WAIT_CONNECTED": f"the connection to {HERE} is established"},
}


def network():
    for command in NETWORK.strip().splitlines():
        subprocess.run(command.split(), check=True)


if __name__ == "__main__":
    sys.exit(stuck.main(HANGS, ["connected"], network))

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the fields that ruse and tshark print for the CM messages in a file.

capture_cm.py RUSE FILE

Prints the number of messages; exits with 1 and a line for the first field that differs.
"""
import re
import subprocess
import sys

# tshark's name of a field (after infiniband.cm.) for each of ruse's names.
FIELDS = {
    "REQ": {"LOCAL_COMM_ID": "req", "SERVICE_ID": "req.serviceid", "LOCAL_CA_GUID": "req.localcaguid",
            "LOCAL_Q_KEY": "req.localqkey", "LOCAL_QPN": "req.localqpn",
            "RESPONDER_RESOURCES": "req.responderres", "INITIATOR_DEPTH": "req.initdepth",
            "REMOTE_CM_RESPONSE_TIMEOUT": "req.remoteresptout",
            "TRANSPORT_SERVICE_TYPE": "req.transpsvctype",
            "END_TO_END_FLOW_CONTROL": "req.e2eflowctrl", "STARTING_PSN": "req.startpsn",
            "LOCAL_CM_RESPONSE_TIMEOUT": "req.localresptout", "RETRY_COUNT": "req.retrcount",
            "PARTITION_KEY": "req.pkey", "PATH_PACKET_PAYLOAD_MTU": "req.pppmtu",
            "RNR_RETRY_COUNT": "req.rnrretrcount", "MAX_CM_RETRIES": "req.maxcmretr", "SRQ": "req.srq",
            "PRIMARY_LOCAL_PORT_LID": "req.prim_locallid",
            "PRIMARY_REMOTE_PORT_LID": "req.prim_remotelid",
            "PRIMARY_TRAFFIC_CLASS": "req.prim_tfcclass", "PRIMARY_HOP_LIMIT": "req.prim_hoplim",
            "PRIMARY_SL": "req.prim_sl", "PRIMARY_SUBNET_LOCAL": "req.prim_subnetlocal",
            "PRIMARY_LOCAL_ACK_TIMEOUT": "req.prim_localacktout"},
    "REP": {"LOCAL_COMM_ID": "rep", "REMOTE_COMM_ID": "rep.remotecommid", "LOCAL_Q_KEY": "rep.localqkey",
            "LOCAL_QPN": "rep.localqpn", "STARTING_PSN": "rep.startpsn",
            "RESPONDER_RESOURCES": "rep.respres", "INITIATOR_DEPTH": "rep.initdepth",
            "TARGET_ACK_DELAY": "rep.tgtackdelay", "RNR_RETRY_COUNT": "rep.rnrretrcount",
            "SRQ": "rep.srq", "LOCAL_CA_GUID": "rep.localcaguid"},
    "RTU": {"LOCAL_COMM_ID": "rtu.localcommid", "REMOTE_COMM_ID": "rtu.remotecommid"},
    "REJ": {"LOCAL_COMM_ID": "rej.localcommid", "REMOTE_COMM_ID": "rej.remotecommid",
            "MESSAGE_REJECTED": "rej.msgrej", "REJECTED_INFO_LENGTH": "rej.rejinfolen",
            "REASON": "rej.reason"},
    "DREQ": {"LOCAL_COMM_ID": "dreq.localcommid", "REMOTE_COMM_ID": "dreq.remotecommid",
             "REMOTE_QPN_EECN": "req.remoteqpneecn"},
    "DREP": {"LOCAL_COMM_ID": "drsp.localcommid", "REMOTE_COMM_ID": "drsp.remotecommid"},
}
ATTRS = ["REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR"]


def theirs(path, names):
    cmd = ["tshark", "-r", path, "-o", "udp.check_checksum:FALSE", "-Y", "infiniband.mad",
           "-T", "fields", "-E", "separator=|"]
    for n in names:
        cmd += ["-e", n]
    out = subprocess.run(cmd, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in out.stdout.decode().splitlines():
        yield dict(zip(names, line.split("|")))


def main():
    ruse, path = sys.argv[1:]
    head = ["infiniband.mad.attributeid", "infiniband.mad.transactionid"]
    names = head + sorted({"infiniband.cm." + n for m in FIELDS.values() for n in m.values()})
    out = subprocess.run([ruse, "capture", "-r", path], check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    ours = [m.groups() for m in (re.search(r"\| CM (\w+) (.*?)(?: \[|$)", line)
                                 for line in out.stdout.decode().splitlines()) if m]
    known = list(theirs(path, names))
    if len(ours) != len(known):
        print(f"{len(ours)} messages by ruse, {len(known)} by tshark")
        return 1
    for (name, rest), t in zip(ours, known):
        values = {k: int(v, 0) for k, v in re.findall(r"(\w+)=(\w+)", rest)}
        want = {"tid": t[head[1]]}
        want.update({k: t["infiniband.cm." + n] for k, n in FIELDS.get(name, {}).items()})
        if name != ATTRS[int(t[head[0]], 0) - 0x10]:
            print(f"ruse: {name} {rest}, tshark: attribute {t[head[0]]}")
            return 1
        for k, v in want.items():
            if not v:
                print(f"tshark says nothing of {k}: {name} {rest}")
                return 1
            if values.get(k, 0) != int(v, 0):
                print(f"{k}: tshark {v}, ruse: {name} {rest}")
                return 1
    print(len(ours))
    return 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What stock programs print of a device that is like an adapter is what data/like has.

like-devinfo.py RUSE DATA [NAME]

ibv_devinfo -v, `rdma dev show` and ibstat, field by field. A field that the file does not have is as in rxe. With NAME:
prints each field of that adapter.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ODP = {"SUPPORT_SEND": 1, "SUPPORT_RECV": 2, "SUPPORT_WRITE": 4, "SUPPORT_READ": 8, "SUPPORT_ATOMIC": 16,
       "SUPPORT_SRQ": 32, "NO SUPPORT": 0}
# Lists of ibv_devinfo: the field, and the bits of its lines. Bits that ibv_devinfo does not know are not compared.
LISTS = {"general_odp_caps": ("odp_caps.general_caps", {"ODP_SUPPORT": 1, "ODP_SUPPORT_IMPLICIT": 2}),
         "rc_odp_caps": ("odp_caps.per_transport_caps.rc_odp_caps", ODP),
         "uc_odp_caps": ("odp_caps.per_transport_caps.uc_odp_caps", ODP),
         "ud_odp_caps": ("odp_caps.per_transport_caps.ud_odp_caps", ODP), "xrc_odp_caps": ("xrc_odp_caps", ODP),
         "raw packet caps": ("raw_packet_caps", {"C-VLAN stripping offload": 1, "Scatter FCS offload": 2,
                                                 "IP csum offload": 4, "Delay drop": 8}),
         "supported_qp": ("rss_caps.supported_qpts", {"SUPPORT_RAW_PACKET": 0x100})}
# Numbers under another name than the field's.
OTHER = {"completion timestamp_mask": "timestamp_mask", "max_rwq_indirection_tables": "rss_caps.max_rwq_indirection_tables",
         "max_rwq_indirection_table_size": "rss_caps.max_rwq_indirection_table_size",
         "max_cq_count": "cq_moderation_caps.max_cq_moderation_count",
         "max_cq_period": "cq_moderation_caps.max_cq_moderation_period",
         "maximum available device memory": "max_dm_size", "port_lid": "lid", "port_lmc": "lmc"}
# ibv_devinfo leaves these out if they are 0, or prints no number.
ABSENT = {"timestamp_mask", "hca_core_clock", "raw_packet_caps", "rss_caps.supported_qpts", "max_dm_size", "max_srq_wr",
          "max_srq_sge", "cq_moderation_caps.max_cq_moderation_count",
          "cq_moderation_caps.max_cq_moderation_period"}
# Tag matching is printed as a sentence; the link layer as a word.
UNSEEN = {"tm_caps.max_rndv_hdr_size", "tm_caps.max_num_tags", "tm_caps.flags", "tm_caps.max_ops", "tm_caps.max_sge",
          "link_layer"}
# What iproute2 calls the bits of device_cap_flags.
CAPS = {"RESIZE_MAX_WR": 0, "BAD_PKEY_CNTR": 1, "BAD_QKEY_CNTR": 2, "RAW_MULTI": 3, "AUTO_PATH_MIG": 4,
        "CHANGE_PHY_PORT": 5, "UD_AV_PORT_ENFORCE_PORT_ENFORCE": 6, "CURR_QP_STATE_MOD": 7, "SHUTDOWN_PORT": 8,
        "INIT_TYPE": 9, "PORT_ACTIVE_EVENT": 10, "SYS_IMAGE_GUID": 11, "RC_RNR_NAK_GEN": 12, "SRQ_RESIZE": 13,
        "N_NOTIFY_CQ": 14, "LOCAL_DMA_LKEY": 15, "MEM_WINDOW": 17, "UD_IP_CSUM": 18, "UD_TSO": 19, "XRC": 20,
        "MEM_MGT_EXTENSIONS": 21, "BLOCK_MULTICAST_LOOPBACK": 22, "MEM_WINDOW_TYPE_2A": 23, "MEM_WINDOW_TYPE_2B": 24,
        "RC_IP_CSUM": 25, "RAW_IP_CSUM": 26, "CROSS_CHANNEL": 27, "MANAGED_FLOW_STEERING": 29, "SIGNATURE_HANDOVER": 30,
        "ON_DEMAND_PAGING": 31}
bad = []


def printed(text):
    """The fields that ibv_devinfo has printed."""
    found, into = {}, None
    for line in text.splitlines():
        label, colon, rest = (p.strip() for p in line.partition(":"))
        number = re.search(r"\((\d+)\)$", rest) or re.match(r"(0x[0-9a-fA-F]+|\d+)", rest)
        if into and not colon and label in LISTS[into][1]:
            found[LISTS[into][0]] |= LISTS[into][1][label]
        elif colon and label in LISTS and not rest:
            into = label
            found[LISTS[into][0]] = 0
        elif colon and number:
            into = None
            found.setdefault(OTHER.get(label, label), int(number.group(1), 0))
    return found


def outputs(ruse, like):
    """(ibv_devinfo, rdma dev, ibstat)"""
    with tempfile.TemporaryDirectory() as rundir:
        def run(*command):
            return subprocess.run([ruse, "run", *(["--like", like] if like else []), *command], timeout=100, check=True,
                                  env=dict(os.environ, RUSE_DIR=rundir), text=True, stdout=subprocess.PIPE).stdout
        got = run("ibv_devinfo", "-v"), json.loads(run("rdma", "-j", "-d", "dev", "show"))[0], run("ibstat")
        subprocess.run([ruse, "stop", "--now"], check=True, env=dict(os.environ, RUSE_DIR=rundir),
                       stdout=subprocess.DEVNULL)
    return got


def check(where, name, got, want):
    if got != want:
        bad.append(f"{where}: {name} is {got}, not {want}")


def caps(words):
    return sum(1 << CAPS[w] for w in words if w in CAPS)


def adapter(ruse, like, fields, rxe, show):
    info, dev, ib = outputs(ruse, like)
    found, want = printed(info), {}
    for name, entry in fields.items():
        if name in UNSEEN:
            continue
        want[name] = int(str(entry["value"]), 0)
        known = dict(LISTS.values()).get(name)
        if known:
            want[name] &= sum(known.values())
        if name not in found and name in ABSENT and not want[name]:
            found[name] = 0
        # An unlimited width or speed is that of the interface.
        if name in ("active_width", "active_speed") and not want[name]:
            want[name] = found.get(name)
        check(like, name, found.get(name), want[name])
        if show:
            print(f"{name}\t{found.get(name)}\t{entry['evidence']}\t{entry['source']}")
    for name, value in rxe.items():
        if name not in want and "." not in name and name not in ("port", "num_comp_vectors",
                                                                           "Unknown flags"):
            check(like, f"{name}, which the file does not have,", found.get(name), value)
    if len(want) < 40:
        bad.append(f"{like}: only {len(want)} fields")
    flags = int(str(fields["device_cap_flags"]["value"]), 0)
    check(like, "rdma dev: caps", caps(dev["caps"]), flags & sum(1 << b for b in CAPS.values()))
    for name, line, base in (("lid", "Base lid", 10), ("lmc", "LMC", 10), ("sm_lid", "SM lid", 10),
                             ("port_cap_flags", "Capability mask", 16)):
        if name in want:
            check(like, f"ibstat: {line}", int(re.search(rf"{line}: (\S+)", ib).group(1), base), want[name])
    widths, speeds = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}, {1: 2.5, 2: 5, 4: 10, 8: 10, 16: 14, 32: 25, 64: 50, 128: 100}
    rate = widths[found["active_width"]] * speeds[found["active_speed"]]
    check(like, "ibstat: Rate", float(re.search(r"Rate: (\S+)", ib).group(1)), float(rate))


def main():
    ruse, data = sys.argv[1:3]
    rxe = printed(outputs(ruse, None)[0])
    names = sorted(os.path.basename(p).removesuffix(".json") for p in glob.glob(os.path.join(data, "*.json")))
    for name in sys.argv[3:] or names:
        with open(os.path.join(data, name + ".json"), encoding="utf-8") as f:
            adapter(ruse, name, json.load(f)["fields"], rxe, len(sys.argv) > 3)
    print("\n".join(bad) if bad else f"ok: {len(names)} adapters")
    return bool(bad) or not names


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Pause frames against two referees: what evb writes tshark reads, what scapy writes evb reads."""

import os
import random
import subprocess

import evbtest
import frames
from evbtest import check, check_equal

PRIORITIES = range(8)
GROUP = "01:80:c2:00:00:01"
SENDER = "02:00:00:00:00:01"

TSHARK_FIELDS = (
    ["eth.dst", "eth.src", "frame.len", "macc.opcode", "macc.cbfc.enbv", "macc.pause_time"]
    + [f"macc.cbfc.pause_time.c{i}" for i in PRIORITIES]
    + ["_ws.expert.message", "_ws.malformed"])


def convert(lines):
    helper = os.environ.get("EVB_PFC_FRAMES")
    if not helper:
        evbtest.skip("EVB_PFC_FRAMES does not name the helper")
    output = subprocess.run([helper], input="\n".join(lines) + "\n", text=True, check=True,
                            capture_output=True).stdout
    return output.splitlines()


def contents():
    """(kind, priorities, quanta) of frames; the first is the design's example."""
    yield "pfc", 0x08, [0, 0, 0, 0xFFFF, 0, 0, 0, 0]
    yield "pause", 0xFF, [0x1234] * 8
    yield "pause", 0xFF, [0] * 8
    for priority in PRIORITIES:
        yield "pfc", 1 << priority, [0] * 8
    numbers = random.Random(4)
    for _ in range(50):
        priorities = numbers.randrange(256)
        yield "pfc", priorities, [numbers.randrange(65536) if priorities >> i & 1 else 0
                                  for i in PRIORITIES]


def text(kind, priorities, quanta):
    return " ".join([kind, f"{priorities:x}", *(f"{time:x}" for time in quanta)])


def dissect(capture):
    """What tshark says of each frame, by field."""
    command = ["tshark", "-r", capture, "-T", "fields", "-E", "separator=;", "-E", "occurrence=a"]
    for field in TSHARK_FIELDS:
        command += ["-e", field]
    try:
        output = subprocess.run(command, text=True, check=True, capture_output=True).stdout
    except FileNotFoundError:
        evbtest.skip("tshark is not installed")
    return [dict(zip(TSHARK_FIELDS, line.split(";"))) for line in output.splitlines()]


def check_dissected(found, kind, priorities, quanta):
    check_equal(found["eth.dst"], GROUP, "destination")
    check_equal(found["eth.src"], SENDER, "source")
    check_equal(found["frame.len"], "60", "length")
    check_equal(found["_ws.expert.message"], "", "what tshark finds wrong")
    check_equal(found["_ws.malformed"], "", "malformed")
    if kind == "pause":
        check_equal(int(found["macc.opcode"], 16), 0x0001, "opcode")
        check_equal(int(found["macc.pause_time"]), quanta[0], "time")
        return
    check_equal(int(found["macc.opcode"], 16), 0x0101, "opcode")
    check_equal(int(found["macc.cbfc.enbv"], 16), priorities, "class-enable vector")
    times = [int(found[f"macc.cbfc.pause_time.c{i}"]) for i in PRIORITIES]
    check_equal(times, quanta, "times")


def test_tshark_reads_what_evb_writes():
    wanted = list(contents())
    written = convert(f"e {text(*content)}" for content in wanted)
    check_equal(len(written), len(wanted), "frames")
    with evbtest.Workspace() as workspace:
        capture = workspace.path("pause.pcap")
        frames.write_capture(capture, map(bytes.fromhex, written))
        found = dissect(capture)
    check_equal(len(found), len(wanted), "frames that tshark saw")
    for one, content in zip(found, wanted):
        check_dissected(one, *content)


def scapy_frame(kind, priorities, quanta):
    try:
        from scapy.contrib import mac_control
        from scapy.layers.l2 import Ether
    except ImportError:
        evbtest.skip("scapy is not installed")
    if kind == "pause":
        return bytes(Ether(src=SENDER, dst=GROUP)
                     / mac_control.MACControlPause(pause_time=quanta[0]))
    fields = {}
    for i in PRIORITIES:
        fields[f"c{i}_enabled"] = priorities >> i & 1
        fields[f"c{i}_pause_time"] = quanta[i]
    return bytes(Ether(src=SENDER, dst=GROUP)
                 / mac_control.MACControlClassBasedFlowControl(**fields))


def test_evb_reads_what_scapy_writes():
    wanted = list(contents())
    made = [scapy_frame(*content) for content in wanted]
    check(all(len(frame) == 60 for frame in made), "frames are padded")
    found = convert(f"d {frame.hex()}" for frame in made)
    check_equal(found, [text(*content) for content in wanted], "frames")


if __name__ == "__main__":
    evbtest.main()

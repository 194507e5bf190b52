# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`evb sim --pcap`: the frames that a node of a simulation sends and receives."""

import json
import os
import shutil
import subprocess

import evbtest
from evbtest import check, check_equal

CONFIGS = os.path.join(evbtest.REPOSITORY, "configs")
INCAST = os.path.join(CONFIGS, "sim", "incast.json")
SLOW = os.path.join(CONFIGS, "sim", "slow-receiver.json")
CLUSTER = os.path.join(CONFIGS, "cluster-8x4.json")
ROOMS = (os.path.join(CONFIGS, "sim", "two-rooms.json"), "--set", "fabric.warm_up=0",
         "--set", "fabric.duration=1ms")
SYSTEM = (CLUSTER, "--set", "fabric.traffic.kind=system", "--set", "fabric.duration=5ms")
UNDERWAY = 4  # packets that can be between the last port and the host at the end


def sim(work, *arguments, status=0):
    result = work.evb("sim", *arguments)
    check_equal(result.status, status, result.describe())
    return result


def packets_of(work, file):
    result = work.evb("dump", "--json", file)
    check_equal(result.status, 0, result.describe())
    lines = [json.loads(line) for line in result.output().splitlines()]
    check(lines[-1]["ok"], lines[-1])
    return [line for line in lines if line["kind"] == "packet"]


def ports_of(file, host):
    """Packets that the host has sent, and those that were sent to it."""
    with open(file, encoding="utf-8") as text:
        ports = json.load(text)["ports"]
    return [sum(port["packets"] for port in ports if port[end] == f"host {host}")
            for end in ("from", "to")]


def test_system():
    """Frames of control as they are, segments with their headers, in the order of time."""
    with evbtest.Workspace() as work:
        pcap, file = work.path("bu0.pcap"), work.path("result.json")
        sim(work, *SYSTEM, "--pcap", f"bu0={pcap}", "--json", file)
        packets = packets_of(work, pcap)
        times = [packet["time_ns"] for packet in packets]
        check_equal(times, sorted(times), "times")
        control = [packet for packet in packets if "segment" not in packet]
        check(len(control) > 50, f"{len(control)} frames of control")
        for packet in control:
            check_equal(packet["captured_bytes"], packet["size_bytes"], f"control: {packet}")
        segments = [packet for packet in packets if "segment" in packet]
        blocks = {}
        for packet in segments:
            segment = packet["segment"]
            check(packet["captured_bytes"] < packet["size_bytes"], f"data: {packet}")
            check_equal(packet["size_bytes"] - packet["captured_bytes"], segment["size_bytes"],
                        f"payload of {packet}")
            name = (segment["event_id"], segment["source_id"])
            check_equal(segment["offset"], blocks.get(name, 0), f"offset of {packet}")
            blocks[name] = segment["offset"] + segment["size_bytes"]
        whole = sum(1 for packet in segments if blocks[
            packet["segment"]["event_id"], packet["segment"]["source_id"]]
            == packet["segment"]["length_bytes"])
        check(whole > 0.8 * len(segments), f"{whole} of {len(segments)} are of whole blocks")
        sent, received = ports_of(file, 9)
        check(sent + received - UNDERWAY <= len(packets) <= sent + received,
              f"{len(packets)} packets, {sent} and {received} of the ports")
        again = work.path("again.pcap")
        sim(work, *SYSTEM, "--pcap", f"bu0={again}")
        with open(pcap, "rb") as one, open(again, "rb") as two:
            check(one.read() == two.read(), "the same seed gives another file")


def test_messages():
    """Messages by their numbers, as tshark reads them."""
    if not shutil.which("tshark"):
        evbtest.skip("tshark is not installed")
    with evbtest.Workspace() as work:
        pcap, file = work.path("0.pcap"), work.path("result.json")
        sim(work, INCAST, "--pcap", f"0={pcap}", "--json", file, "--set", "fabric.duration=2ms")
        fields = ("ip.src", "ip.dst", "frame.len", "frame.cap_len", "data.data")
        output = subprocess.run(
            ["tshark", "-n", "-r", pcap, "-T", "fields", "-E", "separator=,",
             *(part for field in fields for part in ("-e", field))],
            capture_output=True, text=True, check=True, timeout=evbtest.PATIENCE_S).stdout
        rows = [line.split(",") for line in output.splitlines()]
        received = ports_of(file, 0)[1]
        check(0 <= received - len(rows) <= UNDERWAY, f"{len(rows)} of {received} packets")
        senders = {}
        for source, destination, length, captured, payload in rows:
            check_equal((destination, length, captured), ("10.0.0.1", "4092", "58"), "frame")
            number, size = int(payload[:16], 16), int(payload[16:24], 16)
            check_equal(size, 128 << 10, "size of the message")
            senders.setdefault(number, source)
            check_equal(senders[number], source, f"sender of message {number}")
        check(set(senders.values()) == {f"10.0.0.{i}" for i in range(2, 18)}, senders)


def test_pauses():
    """A host that pauses its switch, and is paused."""
    with evbtest.Workspace() as work:
        pcap, file = work.path("5.pcap"), work.path("result.json")
        sim(work, SLOW, "--pcap", f"5={pcap}", "--json", file)
        packets = packets_of(work, pcap)
        pauses = [packet for packet in packets if packet["size_bytes"] == 60]
        check(len(pauses) > 16, f"{len(pauses)} frames of PFC")
        others = [packet for packet in packets if packet["size_bytes"] != 60]
        sent, received = ports_of(file, 5)
        check(sent + received - UNDERWAY <= len(others) <= sent + received,
              f"{len(others)} packets, {sent} and {received} of the ports")


def test_names_of_a_graph():
    """A host of a graph has its name there, wherever the hosts are, and its number."""
    with evbtest.Workspace() as work:
        for order, number in (("in-order", 5), ("shuffled", None)):
            pcap, file = work.path("bu1.pcap"), work.path("result.json")
            sim(work, *ROOMS, "--set", f"fabric.host_order={order}", "--pcap", f"bu1={pcap}",
                "--json", file)
            sent, received = ports_of(file, "5 (bu1)")
            n = sum(packet["size_bytes"] != 60 for packet in packets_of(work, pcap))
            check(sent + received - UNDERWAY <= n <= sent + received,
                  f"{n} packets, {sent} and {received} of the ports")
            if number is not None:
                again = work.path("again.pcap")
                sim(work, *ROOMS, "--pcap", f"{number}={again}")
                with open(pcap, "rb") as one, open(again, "rb") as two:
                    check(one.read() == two.read(), "the number gives another file")


def test_refused():
    with evbtest.Workspace() as work:
        file = work.path("x.pcap")
        for arguments, expected in (
                ((*SYSTEM, "--pcap", f"nobody={file}"), 'there is no host "nobody": name a node of'),
                ((*ROOMS, "--pcap", f"cavern={file}"), 'there is no host "cavern": name a node of'),
                ((*SYSTEM, "--pcap", file), "NODE=FILE is expected"),
                ((*SYSTEM, "--pcap", "bu0="), "NODE=FILE is expected"),
                ((INCAST, "--pcap", f"17={file}"), "there is no host 17, only 0 to 16"),
                ((INCAST, "--pcap", f"-1={file}"), 'there is no host "-1": name a node of'),
                ((INCAST, "--pcap", f"={file}"), "NODE=FILE is expected"),
                ((INCAST, "--pcap", f"{'x' * 100}={file}"), "NODE=FILE is expected"),
                ((INCAST, "--set", "fabric.duration=1h", "--pcap", "1=/nonexistent/x"),
                 "/nonexistent/x: No such file"),
                ((INCAST, "--pcap", f"1={file}", "--sweep", "fabric.seed=1,2"),
                 "--pcap and --trace are for one simulation"),
                ((INCAST, "--pcap", "0=/dev/full"), "/dev/full: No space left")):
            result = sim(work, *arguments, status=1)
            check(expected in result.describe(), f"{expected}: {result.describe()}")


if __name__ == "__main__":
    evbtest.main()

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A system whose ports tag: every frame on the wire has the VLAN and the priority of what it is, full
frames have the MTU, and nodes understand each other, also one that does not tag. scapy reads the
frames."""

import select
import socket
import struct
import threading

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether

import appliance
import cluster
import evbtest
from evbtest import check, check_equal

SOL_PACKET, PACKET_AUXDATA, TP_STATUS_VLAN_VALID, ETH_P_ALL = 263, 8, 0x10, 3
OUTGOING = 4
EVENTS = 60
VLAN, DATA_PRIORITY, CONTROL_PRIORITY = 5, 3, 6
MTU = 1500


class Tap(threading.Thread):
    """Keeps the frames that come in at the bridge's ports, with the tags that the kernel takes off
    in its own place."""

    def __init__(self, bridge):
        super().__init__()
        self.frames = {}  # by node
        self._ended = threading.Event()
        self._sockets = {}
        for node in bridge.nodes:
            tap = bridge.bridge.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            tap.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
            tap.bind((bridge.port(node), ETH_P_ALL))
            self._sockets[tap] = node
            self.frames[node] = []

    def run(self):
        while not self._ended.is_set():
            for tap in select.select(list(self._sockets), [], [], 0.1)[0]:
                frame, auxiliary, _, address = tap.recvmsg(65536, 256)
                if address[2] != OUTGOING:
                    self.frames[self._sockets[tap]].append(self._with_tag(frame, auxiliary))

    @staticmethod
    def _with_tag(frame, auxiliary):
        for level, kind, data in auxiliary:
            if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                status, _, _, _, _, tci, tpid = struct.unpack_from("=IIIHHHH", data)
                if status & TP_STATUS_VLAN_VALID:
                    return frame[:12] + struct.pack("!HH", tpid, tci) + frame[12:]
        return frame

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self.join()
        for tap in self._sockets:
            tap.close()


def system(work, untagged=()):
    configuration = appliance.merged(cluster.shipped("cluster-folded.json"), {
        "name": work.name(),
        "sources": {"packing": 40},
        "events": {"deadline": "30s"},
        "memory": {"kind": "shm"},
    })
    for node in configuration["nodes"]:
        node["ports"][0]["mtu"] = MTU
        if node["name"] not in untagged:
            node["ports"][0]["vlan"] = VLAN
        for generator in node["generators"]:
            generator.update(events=EVENTS, rate=500)
    return configuration


def run(configuration, work):
    """{node: its frames, as scapy reads them}, of a run in which nothing is lost."""
    with cluster.System(work, configuration) as nodes, Tap(nodes.bridge) as tap:
        nodes.start()
        summaries = nodes.end()
        built = sum(summary["events"]["complete"] for summary in summaries.values())
        check_equal(built, EVENTS, "complete events of all nodes")
    return {node: [Ether(frame) for frame in frames] for node, frames in tap.frames.items()}


def kind_of(packet, configuration):
    if ARP in packet:
        return "ARP"
    check(UDP in packet, f"neither ARP nor UDP: {packet.summary()}")
    port = configuration.get("event_manager", {}).get("control_port", 19521)
    return "control" if packet[UDP].dport == port else "data"


def test_frames_are_tagged():
    with evbtest.Workspace() as work:
        configuration = system(work)
        frames = run(configuration, work)
        seen = {}
        for node, packets in frames.items():
            for packet in packets:
                check(Dot1Q in packet, f"{node} sends a frame without a tag: {packet.summary()}")
                kind = kind_of(packet, configuration)
                seen.setdefault((node, kind), set()).add((packet.vlan, packet.prio))
        expected = {"ARP": CONTROL_PRIORITY, "control": CONTROL_PRIORITY, "data": DATA_PRIORITY}
        check_equal(seen, {(node, kind): {(VLAN, priority)} for node in frames
                           for kind, priority in expected.items()}, "tags of what is sent")
        largest = max((packet for packets in frames.values() for packet in packets), key=len)
        check_equal((largest[IP].len, len(largest)), (MTU, MTU + 14 + 4), "the largest frame")


def test_a_node_without_tags_takes_part():
    """Its answers to a tagged ARP request have the tag of that."""
    with evbtest.Workspace() as work:
        configuration = system(work, untagged=("b",))
        for node, packets in run(configuration, work).items():
            check_equal({Dot1Q in packet for packet in packets if ARP not in packet}, {node != "b"},
                        f"whether {node}'s frames are tagged")


if __name__ == "__main__":
    evbtest.main()

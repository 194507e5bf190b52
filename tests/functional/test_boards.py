# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Boards that know nothing of evb burst segments, all at once, into two readout nodes; these send
the blocks as the event manager grants them. Each event is built byte by byte, and no packet is lost.
One readout node receives UDP on its only port; the other has a port for its boards, which send
behind an EtherType."""

import copy
import socket
import threading

import cluster
import ejfat_sender
import evbtest
import frames
import network
import roce_requester
import telemetry
import test_cluster as systems
import test_roce as roce
from evbtest import check, check_equal

EVENTS = 300
PACKING = 10
SOURCES = {"ru0": range(1, 5), "ru1": range(5, 9)}
UDP_PORT = 20000  # of boards
ETHER_TYPE = 0x88B6
RATE = 1e6  # packets/s, more than Python reaches
BOARDS = {"ru0": "10.77.2.10", "ru1": "10.88.0.11"}  # where the boards of each node send


class SystemWithBoards(cluster.SystemWithBoards):
    """The boards are on the bridge, and have a cable to ru1."""

    def __init__(self, work, configuration):
        super().__init__(work, configuration, {"ru1": "10.88.0.200/24"})

    def __enter__(self):
        super().__enter__()
        self.bridge.nodes["boards"].add_address("10.77.2.200/24")
        return self

    def _send_udp(self, plan, taken):
        with self.bridge.nodes["boards"].socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            return plan.send(ejfat_sender.connect(udp, BOARDS["ru0"], UDP_PORT), RATE, taken)

    def _send_frames(self, plan, taken):
        pace = ejfat_sender.Pace(RATE, taken)
        ru1 = self.bridge.nodes["ru1"].hardware_address("boards")
        framer = frames.Framer(destination_mac=ru1.hex())
        with self.bridge.nodes["boards"].socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as raw:
            raw.bind((self.cable("ru1"), 0))
            for segment, _ in plan.all_packets():
                raw.send(framer.ether_frame(b"".join(plan.datagram_parts(segment)),
                                            ether_type=ETHER_TYPE))
                pace.step()
        return pace.steps

    def send(self, plans):
        """All boards at once. Returns {node: packets}."""
        sent = {}
        ways = {"ru0": self._send_udp, "ru1": self._send_frames}

        def send(node):
            sent[node] = ways[node](plans[node], telemetry.taken(f"{self.name}-{node}"))

        threads = [threading.Thread(target=send, args=(node,)) for node in plans]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sent


def configure(work):
    configuration = systems.split(work, "push", packing=PACKING)
    configuration["sources"]["ids"] = ["1-8"]
    for node in configuration["nodes"]:
        for generator in node.get("generators", ()):
            listen = {"udp_port": UDP_PORT, "size": "16MiB", "max_block": "64KiB"}
            if node["name"] == "ru1":
                listen.update(port="boards", ether_type=ETHER_TYPE)
                node["ports"].append({"name": "boards", "profile": "af_packet", "device": "boards",
                                      "address": f"{BOARDS['ru1']}/24"})
            generator.update(kind="port", listen=listen)
    return configuration


def plans_of(stream):
    """The packets of each node's boards; one segment in 50 is sent twice, and their order changes."""
    plans = {}
    for node, sources in SOURCES.items():
        plan = plans[node] = ejfat_sender.Plan(stream, 1500)
        plan.packets = [packet for packet in plan.packets if packet[0].source in sources]
        plan.tail = [packet for packet in plan.tail if packet[0].source in sources]
        plan.duplicate(0.02)
        plan.reorder(20)
    return plans


def check_readout(node, summary, plan, sent):
    evbtest.check_identities(summary)
    drops = evbtest.drops(summary)
    check(drops.keys() <= {"duplicate", "late"}, f"drops of {node}: {drops}")
    check_equal(sum(drops.values()), plan.counts["duplicate"], f"dropped by {node}")
    check_equal(summary["segments"]["received"], sent, f"segments of boards of {node}")
    check_equal(summary["segments"]["placed"], sent - plan.counts["duplicate"], "segments placed")
    check_equal(summary["packets"]["missed"], 0, f"packets missed by {node}")


def test_boards_that_burst():
    with evbtest.Workspace() as work:
        configuration = configure(work)
        stream = ejfat_sender.Stream(range(1, 9), EVENTS, PACKING, (100, 300))
        plans = plans_of(stream)
        with SystemWithBoards(work, configuration) as system:
            system.start()
            for node, address in BOARDS.items():
                check_equal(network.ping(system.bridge.nodes["boards"], address, count=1), 1,
                            f"pings answered by {node}")
            sent = system.send(plans)
            summaries = system.end(systems.PATIENCE_S)
        for node, plan in plans.items():
            check_readout(node, summaries.pop(node), plan, sent[node])
        systems.check_healthy(summaries)
        check_equal(systems.complete(summaries), EVENTS, "events built in all")
        systems.check_built(work, configuration, stream.expected())


ROCE_EVENTS = 300
ROCE_RATE = 20_000  # packets/s


def configure_roce(work, stream):
    """One readout node, whose store holds a few events, and one builder."""
    configuration = cluster.only_nodes(systems.base(work, "cluster-4x2.json", packing=PACKING),
                                       "manager", "ru1", "bu0")
    pairs = [{"source": source, "type": "rc", "local_qpn": 0x20 + number,
              "remote_qpn": 0x120 + number, "local_psn": 77, "remote_psn": roce.FIRST_PSN,
              "address": "10.88.0.99", "rkey": roce.RKEY + number,
              "virtual_address": roce.REGION[0], "size": roce.REGION[1]}
             for number, source in enumerate(stream.sources)]
    configuration["roce"] = {"connection": "static", "queue_pairs": pairs, "path_mtu": 1024}
    for node in configuration["nodes"]:
        for generator in node.get("generators", ()):
            node["ports"].append({"name": "boards", "profile": "af_packet", "device": "boards",
                                  "address": f"{BOARDS['ru1']}/24"})
            generator.update(kind="port", listen={"port": "boards", "roce": True, "size": "1MiB",
                                                  "max_block": "16KiB"})
    return configuration


def test_roce_boards_that_wait():
    """SEND and WRITE to a store that is soon full, because one board runs ahead of the others: RNR
    NAKs hold it back, and nothing is lost, though the wire loses packets."""
    with evbtest.Workspace() as work:
        stream = ejfat_sender.Stream(SOURCES["ru1"], ROCE_EVENTS, PACKING, (300, 800))
        configuration = configure_roce(work, stream)
        with SystemWithBoards(work, configuration) as system:
            system.start()
            direct = copy.copy(system.bridge.nodes["boards"])
            direct.device = system.cable("ru1")
            wire = work.enter(roce_requester.Wire(
                direct, roce_requester.Address(roce.BOARD.mac, socket.inet_aton("10.88.0.99")),
                roce_requester.Address(system.bridge.nodes["ru1"].hardware_address("boards"),
                                       socket.inet_aton(BOARDS["ru1"])), lose=0.002))
            pairs = roce.boards(stream, ["rc"] * 4, ["send", "write", "send", "write"])
            roce_requester.run(wire, pairs, ROCE_RATE, in_turn=False)
            summaries = system.end(systems.PATIENCE_S)
        check(pairs[0].counts["rnr"] > 0, f"not held back: {pairs[0].counts}")
        readout = summaries.pop("ru1")  # a packet that its port misses is sent again
        evbtest.check_identities(readout, readout["packets"]["missed"])
        check_equal(evbtest.drops(readout), {}, "drops of ru1")
        systems.check_healthy(summaries)
        check_equal(systems.complete(summaries), ROCE_EVENTS, "events built in all")
        systems.check_built(work, configuration, stream.expected())


if __name__ == "__main__":
    evbtest.main()

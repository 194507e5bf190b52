# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Boards that speak RoCE v2, by queue pairs that the configuration names: SEND and WRITE, over
wires that lose, double and reorder. The boards are roce_requester.py's, and share no code with evb.
"""

import os
import select
import socket
import struct

import appliance
import ejfat_sender
import evbtest
import judge
import network
import roce_requester
import telemetry
from evbtest import check, check_equal

SOURCES = range(0x1001, 0x1005)
RATE = 8000  # packets a second: what one shared CPU takes, sender and evb together
FIRST_PSN = 0xFFFFF0  # wraps
REGION = 0x10000, 1 << 20  # address, size
RKEY = 0xCAFE00

# Of no kernel: it would answer with ICMP what it has no socket for.
BOARD = roce_requester.Address(bytes.fromhex("020000000099"), socket.inet_aton("10.0.0.99"))


def configuration(work, net, stream, kinds, slots=256):
    """One static queue pair a source: 0x20, 0x21, ... here, 0x120, ... there."""
    port = {"name": "wire", "profile": "af_packet", "device": net.evb.device, "mtu": 1500,
            "address": f"{network.EVB_ADDRESS}/24", "options": {"framecnt": 4096}}
    pairs = [{"source": source, "type": kind, "local_qpn": 0x20 + number,
              "remote_qpn": 0x120 + number, "local_psn": 77, "remote_psn": FIRST_PSN,
              "address": "10.0.0.99", "rkey": RKEY + number, "virtual_address": REGION[0],
              "size": REGION[1]}
             for number, (source, kind) in enumerate(zip(stream.sources, kinds))]
    return appliance.builder(
        work, port, stream, slots, transport={"kind": "roce"},
        roce={"connection": "static", "queue_pairs": pairs, "path_mtu": 1024})


def boards(stream, kinds, operations, end_of_run=True):
    """Queue pairs with all blocks of their source and the end of the run posted."""
    pairs = []
    for number, (source, kind, operation) in enumerate(zip(stream.sources, kinds, operations)):
        name, _, immediate = operation.partition("_")
        pair = roce_requester.QueuePair(
            0x120 + number, 0x20 + number, FIRST_PSN,
            service=roce_requester.UC if kind == "uc" else 0,
            region=(REGION[0] + 4 * number, RKEY + number), source_port=0xC000 + number)
        for index, blocks in enumerate(stream.blocks):
            pair.post(blocks[source], name, index if immediate else None)
        if end_of_run:
            pair.post(ejfat_sender.encode_mfp(source, ejfat_sender.END_OF_RUN, []), name)
        pairs.append(pair)
    return pairs


def wire_of(net, **faults):
    peer = roce_requester.Address(net.evb.hardware_address(),
                                  socket.inet_aton(network.EVB_ADDRESS))
    return roce_requester.Wire(net.host, BOARD, peer, **faults)


def check_packets(summary):
    """Every packet is counted once, RoCE's among them."""
    packets, segments = summary["packets"], summary["segments"]
    kinds = {key: packets[key] for key in ("arp", "icmp_echo", "control", "pause", "roce", "other")}
    check_equal(sum(kinds.values()) + sum(packets["dropped"].values()) + segments["received"],
                packets["received"], f"sum of packets by kind {kinds}")
    check_equal(packets["missed"], 0, "packets that the port missed")
    check_equal(packets["other"], 0, "other packets")


def run_boards(operations, kinds=None, events=500, slots=256, in_turn=True, **faults):
    """All events of all boards, exact; returns the queue pairs and the wire's counts."""
    kinds = kinds or ["rc"] * len(operations)
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(1500))
        stream = ejfat_sender.Stream(SOURCES[:len(operations)], events, packing=10,
                                     size=(0, 800), first_event=1000)
        evb = work.run(configuration(work, net, stream, kinds, slots), namespace=net.evb)
        wire = work.enter(wire_of(net, **faults))
        pairs = boards(stream, kinds, operations)
        roce_requester.run(wire, pairs, RATE, in_turn)
        summary = evb.end()
        check_packets(summary)
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(judge.event_counts(summary), (events, 0), "complete and incomplete events")
        judge.check_files(work.path("events"), stream.expected())
        for pair, kind in zip(pairs, kinds):
            if kind == "rc":
                check_equal(pair.msn, pair.messages, "messages that evb says it has")
        return pairs, wire.counts


def test_send_and_write():
    pairs, _ = run_boards(["send", "send_imm", "write", "write_imm"])
    for pair in pairs:
        check_equal(pair.counts["sequence naks"], 0, "sequence NAKs on a good wire")


def test_unreliable_connections():
    """UC, on a wire that loses nothing."""
    run_boards(["send", "write_imm"], kinds=["uc", "uc"], events=300)


def faulty(operations, fault, wanted, answered=None):
    """With faults on the wire, in both directions, all is exact still."""
    pairs, counts = run_boards(operations, **fault)
    for name in wanted:
        check(counts[name] > 5, f"the wire did not do it: {counts}")
    counted = sum((pair.counts for pair in pairs), start=pairs[0].counts.__class__())
    if answered:
        check(counted[answered] > 0, f"no {answered}: {counted}")


def test_loss():
    faulty(["send", "write_imm"], {"lose": 0.02}, ["lost", "answers lost"], "sequence naks")


def test_doubles():
    faulty(["send_imm", "write"], {"double": 0.1}, ["doubled"])


def test_reordering():
    faulty(["send", "write_imm"], {"delay": 0.02}, ["delayed"], "sequence naks")


def test_all_faults():
    faulty(["send", "send_imm", "write", "write_imm"],
           {"lose": 0.01, "double": 0.03, "delay": 0.01}, ["lost", "doubled", "delayed"])


def test_few_slots():
    """One board is as far ahead of the others as it can: RNR NAKs hold it back, and nothing is
    lost."""
    pairs, _ = run_boards(["send", "write", "write_imm"], events=200, slots=4, in_turn=False)
    check(pairs[0].counts["rnr"] > 10, f"not held back: {pairs[0].counts}")


def ping6(namespace, address, count=3):
    """Echo requests from the namespace's kernel, which asks for the neighbour first; returns how
    many were answered right."""
    answered = 0
    with namespace.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as icmp:
        for number in range(count):
            # The kernel fills the checksum in, and looks at that of the answer.
            head = struct.pack("!HHH", 0, os.getpid() & 0xFFFF, number)
            payload = os.urandom(100)
            icmp.sendto(b"\x80\0" + head + payload, (address, 0))
            while select.select([icmp], [], [], 5)[0]:
                reply = icmp.recv(65536)
                if reply[:1] == b"\x81" and reply[4:8] == head[2:]:
                    answered += reply[8:] == payload
                    break
    return answered


def run_ipv6(has_ipv4):
    board = roce_requester.Address(BOARD.mac, socket.inet_pton(socket.AF_INET6, "fd00::99"))
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(1500))
        net.host.enable_ipv6("fd00::1/64")
        stream = ejfat_sender.Stream(SOURCES[:2], 300, packing=10, size=(0, 800))
        evb = configuration(work, net, stream, ["rc", "uc"])
        evb["ports"][0]["address6"] = "fd00::2"
        if not has_ipv4:
            del evb["ports"][0]["address"]
        for pair in evb["roce"]["queue_pairs"]:
            pair["address"] = "fd00::99"
        evb = work.run(evb, namespace=net.evb)
        check_equal(ping6(net.host, "fd00::2"), 3, "answers to pings")
        peer = roce_requester.Address(net.evb.hardware_address(),
                                      socket.inet_pton(socket.AF_INET6, "fd00::2"))
        wire = work.enter(roce_requester.Wire(net.host, board, peer))
        pairs = boards(stream, ["rc", "uc"], ["write_imm", "send"])
        roce_requester.run(wire, pairs, RATE)
        summary = evb.end()
        check_equal(evbtest.drops(summary), {}, "drops")
        check(summary["packets"]["icmp_echo"] == 3 and summary["packets"]["arp"] > 0,
              f"what neighbours asked: {summary['packets']}")
        judge.check_files(work.path("events"), stream.expected())
        check_equal(pairs[0].msn, pairs[0].messages, "messages that evb says it has")


def test_ipv6():
    """A host finds evb by neighbour discovery and pings it; boards send by RC and UC."""
    run_ipv6(has_ipv4=True)
    run_ipv6(has_ipv4=False)


def test_telemetry():
    """What /evb/qp and /evb/roce tell of two boards, on a wire with faults."""
    events, kinds = 200, ["rc", "uc"]
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(1500))
        stream = ejfat_sender.Stream(SOURCES[:2], events, packing=10, size=(0, 800))
        evb = work.run(configuration(work, net, stream, kinds), namespace=net.evb)
        pairs = boards(stream, kinds, ["send", "write"], end_of_run=False)
        wire = work.enter(wire_of(net))
        roce_requester.run(wire, pairs[1:], RATE)
        wire = work.enter(wire_of(net, lose=0.02, double=0.1))
        roce_requester.run(wire, pairs[:1], RATE)
        with telemetry.Telemetry(evb.name) as client:
            names = client.query("/evb/qp/list")
            check_equal(names, ["wire/32", "wire/33"], "queue pairs")
            reliable, unreliable = (client.query("/evb/qp/info", name) for name in names)
            port = client.query("/evb/roce/info", "wire")
            check("error" in client.query("/evb/qp/info", "wire/34"), "one that is not there")
        for told, pair, kind, number in zip((reliable, unreliable), pairs, kinds, range(2)):
            expected = {
                "name": names[number], "service": kind, "state": "ready", "cause": "none",
                "peer": "10.0.0.99", "qpn": 0x20 + number, "peer_qpn": 0x120 + number,
                "path_mtu_bytes": 1024, "messages": events, "msn": events,
                "bytes": sum(len(blocks[SOURCES[number]]) for blocks in stream.blocks),
                "packets": pair.packets(), "expected_psn": pair.psn(pair.packets())}
            check_equal({key: told[key] for key in expected}, expected, f"queue pair {number}")
        answers = (reliable["nak_sent_sequence"], reliable["duplicates"])
        check(min(answers) > 0, f"NAKs and duplicates: {answers}")
        check_equal(port["datagrams"], port["datagrams_data"] + port["datagrams_taken"],
                    "RoCE packets of the port")
        for key in ("messages", "bytes", "packets", "duplicates", "acks_sent"):
            check_equal(port[key], reliable[key] + unreliable[key], f"sum of {key}")
        summary = evb.drain()
        check_packets(summary)
        judge.check_files(work.path("events"), stream.expected())


def test_wrong_key():
    """A WRITE with another board's key is refused; the other board's events are exact."""
    events = 20
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(1500))
        stream = ejfat_sender.Stream(SOURCES[:1], events, packing=10, size=(0, 800))
        board = configuration(work, net, stream, ["rc"])
        thief = dict(board["roce"]["queue_pairs"][0], local_qpn=0x21, remote_qpn=0x121,
                     rkey=RKEY + 1)
        board["roce"]["queue_pairs"].append(thief)
        evb = work.run(board, namespace=net.evb)
        wire = work.enter(wire_of(net))
        pair = roce_requester.QueuePair(0x121, 0x21, FIRST_PSN, region=(REGION[0], RKEY))
        pair.post(stream.blocks[0][SOURCES[0]], "write")
        try:
            roce_requester.run(wire, [pair], RATE)
        except roce_requester.Refused as refused:
            check_equal((refused.syndrome, refused.psn),
                        (roce_requester.NAK_ACCESS, FIRST_PSN), "answer to the wrong key")
        else:
            raise evbtest.Failure("a WRITE with a wrong key was taken")
        roce_requester.run(wire, boards(stream, ["rc"], ["write"]), RATE)
        summary = evb.end()
        check_packets(summary)
        check_equal(evbtest.drops(summary), {}, "drops")
        judge.check_files(work.path("events"), stream.expected())


if __name__ == "__main__":
    evbtest.main()

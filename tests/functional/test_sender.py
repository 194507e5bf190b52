# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The test sender against a receiver of a few lines, and its captures against scapy: who judges the
judge. Needs no evb."""

import random
import select
import socket
import struct

import ejfat_sender
import evbtest
import frames
import network
from evbtest import check, check_equal

SO_RCVBUFFORCE = 33  # Linux; the socket module does not name it

# From the format's description: one MFP of five fragments, all of its fields known.
MFP_VECTOR = bytes.fromhex(
    "ce40050060000000010000000000000001000301000102030400000004000500080009000c000000"
    "00010203000000000001020304000000000102030405060700010203040506070800000000000000"
    "000102030405060708090a0b00000000")


def assemble(datagrams):
    """{(event, source): block} of the blocks that are whole."""
    blocks, missing = {}, {}
    for datagram in datagrams:
        if datagram[:2] == b"LB":
            datagram = datagram[ejfat_sender.LB_SIZE:]
        version, zero, source, offset, length, event = struct.unpack_from("!BBHIIQ", datagram)
        check_equal((version, zero), (0x10, 0), "begin of the RE header")
        payload = datagram[ejfat_sender.RE_SIZE:]
        key = event, source
        block = blocks.setdefault(key, bytearray(length))
        bytes_left = missing.setdefault(key, {at: True for at in range(0, length)})
        check(0 < len(payload) <= length - offset, "payload inside the block")
        block[offset:offset + len(payload)] = payload
        for at in range(offset, offset + len(payload)):
            bytes_left.pop(at, None)
    return {key: bytes(block) for key, block in blocks.items() if not missing[key]}


def by_event(blocks, stream):
    """The shape of Plan.expected(), without the end of the run."""
    events = {event for event, _ in blocks if event != ejfat_sender.END_OF_RUN}
    return {event: {source: blocks.get((event, source)) for source in stream.sources}
            for event in sorted(events)}


def test_mfp_vector():
    fragments = [bytes(range(size)) for size in (4, 5, 8, 9, 12)]
    found = bytearray(ejfat_sender.encode_mfp(1, 1, fragments, align_log2=3))
    found[20:25] = bytes(range(5))  # the vector's types differ from each other
    check_equal(bytes(found), MFP_VECTOR, "encoded MFP")


def test_sockets():
    for mtu, load_balancer in ((1500, None), (9000, 2)):
        with network.Network(mtu) as net:
            stream = ejfat_sender.Stream(range(1, 5), 40, packing=10, size=(0, 2500))
            plan = ejfat_sender.Plan(stream, mtu, load_balancer)
            receiver = net.host.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sender = net.host.socket(socket.AF_INET, socket.SOCK_DGRAM)
            with receiver, sender:
                receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
                receiver.bind((network.HOST_ADDRESS, 19522))
                sent = plan.send(ejfat_sender.connect(sender, network.HOST_ADDRESS), 20000)
                received = []
                while select.select([receiver], [], [], 0 if len(received) >= sent else
                                    evbtest.PATIENCE_S)[0]:
                    received.append(receiver.recv(65536))
        check_equal(len(received), sent, "datagrams")
        check_equal(max(map(len, received)), mtu - 28, "largest datagram")
        blocks = assemble(received)
        check_equal(by_event(blocks, stream), stream.expected(), "blocks")
        check_equal(by_event(blocks, stream), plan.expected(), "blocks by the plan")
        ends = sorted(source for event, source in blocks if event == ejfat_sender.END_OF_RUN)
        check_equal(ends, stream.sources, "ends of run")


def test_ping_and_offload():
    with network.Network(checksum_offload=True) as net:
        check_equal(network.ping(net.host, network.HOST_ADDRESS), 3, "answers of the own kernel")
        check_equal(network.ping(net.host, network.EVB_ADDRESS, count=1, timeout=0.3), 0,
                    "answers of an address that nobody has")


def test_faults():
    stream = ejfat_sender.Stream(range(1, 9), 300, packing=8, size=(100, 700))
    plan = ejfat_sender.Plan(stream, end_of_run=False)
    plan.lose(0.01)
    plan.duplicate(0.01)
    original = [segment for segment, _ in plan.packets]
    plan.reorder(64)
    moved = {id(packet): place for place, (packet, _) in enumerate(plan.packets)}
    distance = max(abs(place - moved[id(packet)]) for place, packet in enumerate(original))
    check(32 < distance < 64, f"packets were moved by up to {distance}")
    check_equal(len(plan.packets) - plan.good,
                plan.counts["duplicate"] - plan.counts["lost"], "packets more than good ones")
    check(0.005 < plan.counts["lost"] / plan.good < 0.02, f"faults {plan.counts}")
    blocks = assemble(b"".join(plan.datagram_parts(segment)) for segment, _ in plan.packets)
    check_equal(by_event(blocks, stream), plan.expected(), "blocks that can be built")
    whole = sum(None not in event.values() for event in plan.expected().values())
    check(0 < whole < stream.events, f"{whole} whole events make a test of both kinds")


def test_captures():
    try:
        from scapy.all import IP, UDP, RawPcapReader, RawPcapNgReader, Ether
    except ImportError:
        evbtest.skip("scapy is not there")
    stream = ejfat_sender.Stream([7, 9], 20, packing=3, size=(10, 900))
    plan = ejfat_sender.Plan(stream, load_balancer=3)
    with evbtest.Workspace() as work:
        for name, reader in (("a.pcap", RawPcapReader), ("a.pcapng", RawPcapNgReader)):
            count = frames.write_capture(work.path(name), plan.frames())
            packets = reader(work.path(name))
            ethers = [Ether(data) for data, _ in packets]
            packets.close()
            check_equal(len(ethers), count, f"packets in {name}")
            for ether in random.Random(1).sample(ethers, 20):
                again = ether.copy()
                del again[IP].chksum, again[UDP].chksum
                check_equal(bytes(again), bytes(ether), "checksums by scapy")
            blocks = assemble(bytes(ether[UDP].payload) for ether in ethers)
            check_equal(by_event(blocks, stream), stream.expected(), f"blocks of {name}")


def test_damages():
    framer = frames.Framer()
    frame = framer.frame(b"payload" * 30)
    ip = slice(14, 34)
    check_equal(frames.internet_checksum(frame[ip]), 0xFFFF, "IP checksum of a good frame")
    for name, damage in frames.DAMAGES.items():
        bad = damage(frame)
        check(bad != frame, f"{name} does nothing")
        right = frames.internet_checksum(bad[ip]) == 0xFFFF
        check_equal(right, name != "ip_checksum", f"{name}: whether the IP checksum is right")
    moved = frames.unknown_port(frame)
    check_equal(moved[36:], frames.Framer(destination_port=9).frame(b"payload" * 30)[36:],
                "UDP header and payload of unknown_port")


if __name__ == "__main__":
    evbtest.main()

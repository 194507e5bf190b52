# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Random or mutated packets at a port, beside good events: no crash, each packet counted under the
cause that an independent reading of the protocols gives it, the events exact.

EVB_LONG_TESTS, and in CI: a million packets.
"""

import collections
import os
import random
import socket
import struct

import appliance
import ejfat_sender
import evbtest
import frames
import judge
from evbtest import check, check_equal

PACKETS = int(os.environ.get("EVB_FUZZ_PACKETS", 1_000_000 if evbtest.LONG else 300_000))
PACKETS_SANITIZED = 100_000
CAPTURES = 5
SOURCES = range(0x1001, 0x1009)
UNEXPECTED = 0x1100
PORT = 19522
# Events that only garbage knows; few, so that they never take the slots of good ones.
GARBAGE_EVENTS = [10**9 + number for number in range(16)]

IPV6_FRAGMENT = 44  # next header


# --- an independent reading of a frame: the counter that it belongs to -------------------------


def classify(frame):
    """Name of the counter; `placed` stands for whatever the builder decides."""
    ether_type, at = _ether_type(frame)
    if ether_type is None:
        return "malformed_frame"
    if ether_type == 0x0806:
        return _classify_arp(frame[at:])
    if ether_type == 0x0800:
        return _classify_ipv4(frame[at:])
    if ether_type == 0x86DD:
        return _classify_ipv6(frame[at:])
    return "other"


def _ether_type(frame):
    """(EtherType behind up to two tags, where its payload begins)"""
    at = 12
    for tags in range(3):
        if len(frame) < at + 2:
            return None, at
        ether_type = int.from_bytes(frame[at:at + 2], "big")
        if ether_type not in (0x8100, 0x88A8) or tags == 2:
            break
        at += 4
    return ether_type, at + 2


def _classify_arp(arp):
    if len(arp) < 28:
        return "malformed_frame"
    return "arp" if arp[:6] == bytes.fromhex("000108000604") else "other"


def _classify_ipv4(ip):
    if len(ip) < 20 or ip[0] >> 4 != 4:
        return "malformed_frame"
    header = (ip[0] & 15) * 4
    total, fragment = struct.unpack_from("!H2xH", ip, 2)
    if header < 20 or total < header or total > len(ip):
        return "malformed_frame"
    if fragment & 0x3FFF:
        return "ip_fragment"
    if ip[9] != socket.IPPROTO_UDP:
        return "other"
    verdict, checksum, udp = _udp(ip[header:total])
    if verdict:
        return verdict
    if frames.internet_checksum(ip[:header]) != 0xFFFF:
        return "ip_checksum"
    pseudo = ip[12:20] + struct.pack("!HH", socket.IPPROTO_UDP, len(udp))
    if checksum and frames.internet_checksum(pseudo + udp) != 0xFFFF:
        return "udp_checksum"
    return _classify_datagram(udp)


def _classify_ipv6(ip):
    if len(ip) < 40 or ip[0] >> 4 != 6:
        return "malformed_frame"
    size = int.from_bytes(ip[4:6], "big")
    if size > len(ip) - 40:
        return "malformed_frame"
    if ip[6] == IPV6_FRAGMENT:
        return "ip_fragment"
    if ip[6] != socket.IPPROTO_UDP:
        return "other"
    verdict, checksum, udp = _udp(ip[40:40 + size])
    if verdict:
        return verdict
    pseudo = ip[8:40] + struct.pack("!II", len(udp), socket.IPPROTO_UDP)
    if not checksum or frames.internet_checksum(pseudo + udp) != 0xFFFF:
        return "udp_checksum"
    return _classify_datagram(udp)


def _udp(data):
    """(verdict or None, checksum field, the datagram cut to its length)"""
    if len(data) < 8:
        return "malformed_frame", 0, data
    size, checksum = struct.unpack_from("!HH", data, 4)
    if size < 8 or size > len(data):
        return "malformed_frame", 0, data
    return None, checksum, data[:size]


def _classify_datagram(udp):
    if int.from_bytes(udp[2:4], "big") != PORT:
        return "unknown_port"
    segment = udp[8:]
    if segment[:2] == b"LB":
        if len(segment) < 16 or segment[2] not in (2, 3) or segment[3] != 1:
            return "malformed_segment"
        segment = segment[16:]
    if len(segment) <= 20 or segment[0] >> 4 != 1:
        return "malformed_segment"
    source, offset, length = struct.unpack_from("!HII", segment, 2)
    if offset + len(segment) - 20 > length:
        return "malformed_segment"
    if source == UNEXPECTED:
        return "unexpected_source"
    return "placed" if source in SOURCES else "unknown_source"


# --- packets that nobody should send -----------------------------------------------------------


class Fuzzer:
    """Makes bad packets, some out of good ones."""

    def __init__(self, seed, good):
        self._random = random.Random(seed)
        self._good = good
        self._framer = frames.Framer(destination_port=PORT)
        self._unchecked = frames.Framer(destination_port=PORT, checksum=False)
        self._near_misses = [self._garbage, self._mutated, self._mutated, self._extended]
        self._kinds = [self._noise, self._ether_types, self._ip_protocols, self._payloads,
                       self._ports, self._arp, self._ipv6, self._strangers, self._headers,
                       self._cut, *self._near_misses]

    def packet(self):
        """A bad packet. Chance alone makes no segment of an event that only it knows."""
        while True:
            kind = self._random.choice(self._kinds)
            frame = kind()
            if kind in self._near_misses or classify(frame) != "placed":
                return frame

    def _bytes(self, most=200):
        return self._random.randbytes(self._random.randrange(most))

    def _noise(self):
        most = 9000 if self._random.random() < 0.02 else 200
        return self._random.randbytes(self._random.randrange(1, most))

    def _ether_types(self):
        common = self._random.choice((0x0800, 0x0806, 0x86DD, 0x8100, 0x88A8, 0x88B5, None))
        kind = common or self._random.randrange(0x600, 0x10000)
        return self._framer.ether_frame(self._bytes(), ether_type=kind)

    def _ip_protocols(self):
        frame = bytearray(self._framer.frame(self._bytes()))
        frame[23] = self._random.choice((1, 2, 6, 17, 47, 132, self._random.randrange(256)))
        return bytes(frame)

    def _payloads(self):
        head = self._random.choice((b"", b"\x10\x00", b"LB\x02\x01", b"LB\x03\x01", b"LB"))
        framer = self._random.choice((self._framer, self._unchecked))
        return framer.frame(head + self._bytes())

    def _ports(self):
        port = self._random.randrange(65536)
        return frames.Framer(destination_port=port).frame(self._bytes())

    def _arp(self):
        """Mostly for IPv4 over Ethernet."""
        head = bytearray.fromhex("0001080006040001")
        if self._random.random() < 0.2:
            head[self._random.randrange(6)] ^= 1 << self._random.randrange(8)
        return self._framer.ether_frame(head + self._bytes(40), ether_type=0x0806)

    def _ipv6(self):
        payload = struct.pack("!HHHH", 1, PORT, 8 + self._random.randrange(40), 0) + self._bytes()
        kind = self._random.choice((17, 17, 58, 6, 0, 43, IPV6_FRAGMENT, 50, 51, 60, 135, 139, 140))
        size = max(0, len(payload) + self._random.choice((0, 0, 0, -1, 1)))
        header = struct.pack("!IHBB", 6 << 28, size, kind, 64) + bytes(32)
        return self._framer.ether_frame(header + payload, ether_type=0x86DD)

    def _segment(self, source, event, offset, length):
        segment = ejfat_sender.Segment(source, event, offset, length, self._bytes(1400) + b"x")
        return self._unchecked.frame(segment.header() + segment.payload)

    def _strangers(self):
        source = self._random.choice((UNEXPECTED, self._random.randrange(0x2000, 0x10000)))
        return self._segment(source, self._random.getrandbits(64), self._random.randrange(5000),
                             self._random.getrandbits(self._random.choice((12, 32))))

    def _headers(self):
        """A known source, and a payload that does not lie in its block."""
        return self._segment(self._random.choice(SOURCES), self._random.randrange(100),
                             self._random.choice((3000, 2**32 - 1, 2**31)),
                             self._random.randrange(3001))

    def _garbage(self):
        """Well-formed segments of events that no good source knows."""
        offset = self._random.choice((0, 0, 8, self._random.randrange(4000)))
        length = self._random.choice((2000, 6000, 2**24, 2**32 - 1))
        return self._segment(self._random.choice(SOURCES), self._random.choice(GARBAGE_EVENTS),
                             offset, length)

    def _mutated(self):
        """Some bytes changed. Never a changed payload with right checksums: nobody could tell."""
        while True:
            original = self._random.choice(self._good)
            frame = bytearray(original)
            reach = self._random.choice((14, 42, 62, len(frame)))
            for _ in range(self._random.choice((1, 1, 2, 3, 8))):
                frame[self._random.randrange(reach)] ^= 1 << self._random.randrange(8)
            frame = bytes(frame)
            if classify(frame) != "placed" or frame[42:] == original[42:]:
                return frame

    def _cut(self):
        frame = self._random.choice(self._good)
        return frame[:self._random.randrange(1, len(frame))]

    def _extended(self):
        """With bytes behind the end that the IP header states, which mean nothing."""
        return self._random.choice(self._good) + self._bytes(100)


def mix(good, fuzzer, count):
    """The good packets in their order, spread among `count` bad ones. Yields (frame, is good)."""
    step = count / len(good)
    made = 0
    for number, frame in enumerate(good, 1):
        while made < number * step:
            made += 1
            yield fuzzer.packet(), False
        yield frame, True


def run_capture(seed, count):
    stream = ejfat_sender.Stream(SOURCES, 100, packing=8, size=(100, 600), seed=seed)
    plan = ejfat_sender.Plan(stream)
    packets = list(plan.frames(frames.Framer(destination_port=PORT)))
    good, ends = packets[:len(plan.packets)], packets[len(plan.packets):]
    fuzzer = Fuzzer(seed, good)
    counts = collections.Counter()
    with evbtest.Workspace() as work:
        path = work.path("fuzz.pcap")

        def counted():
            for frame, _ in mix(good, fuzzer, count):
                counts[classify(frame)] += 1
                yield frame
            for frame in ends:
                counts["placed"] += 1
                yield frame

        written = frames.write_capture(path, counted())
        port = {"name": "file", "profile": "pcap", "device": path}
        configuration = appliance.builder(work, port, stream, slots=128)
        configuration["sources"].update(ids=[*SOURCES, UNEXPECTED], expected=list(SOURCES))
        summary = work.run(configuration).end(timeout=300)
        check_summary(summary, counts, written, stream.events)
        found = judge.read_directory(work.path("events"))
    garbage = {event for event in found if event in GARBAGE_EVENTS}
    judge.check_events({event: blocks for event, blocks in found.items() if event not in garbage},
                       plan.expected())
    check_equal(summary["events"]["incomplete"], len(garbage), "incomplete events")
    return counts


def check_summary(summary, counts, written, events):
    evbtest.check_identities(summary)
    packets, segments = summary["packets"], summary["segments"]
    check_equal(packets["received"], written, "packets received")
    seen = {"arp": packets["arp"], "other": packets["other"], **packets["dropped"],
            **{cause: segments["dropped"][cause]
               for cause in ("malformed_segment", "unknown_source", "unexpected_source")}}
    check_equal(packets["icmp_echo"], 0, "echo requests answered by a port without address")
    check_equal({cause: count for cause, count in seen.items() if count},
                {cause: count for cause, count in counts.items() if cause != "placed"},
                "packets by cause")
    check_equal(summary["events"]["complete"], events, "complete events")


def test_random_and_mutated_packets():
    packets = PACKETS_SANITIZED if evbtest.is_sanitized() else PACKETS
    counts = sum((run_capture(seed, packets // CAPTURES) for seed in range(CAPTURES)),
                 collections.Counter())
    print(f"  {sum(counts.values())} packets: {dict(counts.most_common())}")
    check(len(counts) >= 11, "every cause was met")


if __name__ == "__main__":
    evbtest.main()

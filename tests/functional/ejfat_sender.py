#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A sender of event data that shares no code with evb: what the functional tests judge evb by.

Sources make MFPs with known bytes (Stream); these are cut into EJFAT segments, which a Plan holds
in the order of sending, with whatever faults a test asks for; the plan knows which events can be
built from what is sent. Plans go out through kernel UDP sockets or into capture files.

As a program it sends a stream to a host:
    ejfat_sender.py --to 10.0.0.2:19522 --sources 8 --events 1000 --packing 4 --mtu 9000
"""

import argparse
import collections
import random
import socket
import struct
import sys
import time

import evbtest
import frames

IP_UDP_SIZE = frames.IPV4_SIZE + frames.UDP_SIZE
RE_SIZE = 20
LB_SIZE = 16
END_OF_RUN = 2**64 - 1
_NOISE = random.Random(20260101).randbytes(1 << 20)


def _padded(data, size):
    return data + b"\0" * (-len(data) % size)


def encode_mfp(source, event_id, fragments, kind=15, align_log2=2, version=1):
    """An MFP of LHCb Run 3: header, types, sizes, padded fragments."""
    count = len(fragments)
    types = _padded(bytes([kind]) * count, 4)
    sizes = _padded(struct.pack(f"<{count}H", *map(len, fragments)), 4)
    body = types + sizes + b"".join(_padded(part, 1 << align_log2) for part in fragments)
    return struct.pack("<HHIQHBB", 0x40CE, count, 20 + len(body), event_id, source, align_log2,
                       version) + body


class Stream:
    """The data of a run: blocks[index][source] is the MFP of a source for event `index`.

    Fragment sizes are drawn between size[0] and size[1]. The event id of an MFP is
    first_event + index * packing.
    """

    def __init__(self, sources, events, packing=1, size=(40, 160), first_event=0, seed=1):
        self.sources = list(sources)
        self.events = events
        self.packing = packing
        self.first_event = first_event
        draw = random.Random(seed)
        self.blocks = [{source: self._block(source, index, size, draw) for source in self.sources}
                       for index in range(events)]

    def _block(self, source, index, size, draw):
        event_id = self.event_id(index)
        fragments = []
        for number in range(self.packing):
            length = draw.randint(*size)
            start = draw.randrange(len(_NOISE) - length)
            head = struct.pack("<HHI", source, number, (event_id + number) & 0xFFFFFFFF)
            fragments.append((head + _NOISE[start:start + length])[:length])
        return encode_mfp(source, event_id, fragments)

    def event_id(self, index):
        return self.first_event + index * self.packing

    def expected(self):
        """{event id: {source: MFP}} of everything."""
        return {self.event_id(index): blocks for index, blocks in enumerate(self.blocks)}


class Segment:
    """One packet's worth of a block."""

    __slots__ = ("source", "event", "offset", "length", "payload")

    def __init__(self, source, event, offset, length, payload):
        self.source = source
        self.event = event
        self.offset = offset
        self.length = length
        self.payload = payload

    def header(self):
        return struct.pack("!BBHIIQ", 0x10, 0, self.source, self.offset, self.length, self.event)

    def changed(self, **fields):
        values = {name: getattr(self, name) for name in self.__slots__}
        return Segment(**{**values, **fields})


def cut(source, event, block, payload_size):
    """A block's segments in order."""
    view = memoryview(block)
    return [Segment(source, event, offset, len(block), view[offset:offset + payload_size])
            for offset in range(0, len(block), payload_size)]


class Pace:
    """Holds a loop to `rate` steps/s, looking at the clock every 16 steps.

    With `taken`, a function that returns how many packets the receiver has taken from its port, at
    most WINDOW steps are ahead of the receiver: its rings hold them while it has no CPU, however
    long that is.
    """

    WINDOW = 1024

    def __init__(self, rate, taken=None):
        self._rate = rate
        self._taken = taken
        self._before = taken() if taken else 0
        self._start = time.monotonic()
        self.steps = 0

    def step(self):
        self.steps += 1
        if self.steps % 16 == 0:
            ahead = self._start + self.steps / self._rate - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
        if self._taken and self.steps % (self.WINDOW // 2) == 0:
            end = time.monotonic() + evbtest.PATIENCE_S
            while self.steps - (self._taken() - self._before) > self.WINDOW // 2:
                evbtest.check(time.monotonic() < end, f"{self.steps} packets sent, and the "
                              f"receiver has taken {self._taken() - self._before}")
                time.sleep(0.005)


class Plan:
    """The packets of a run in the order of sending.

    Faults change the order or the packets; `counts` tells what was done. Bad packets (inject())
    want a stream in order: ask for them before anything else is done to the plan.
    """

    def __init__(self, stream, mtu=1500, load_balancer=None, end_of_run=True, seed=1):
        self.stream = stream
        self.payload_size = mtu - IP_UDP_SIZE - RE_SIZE - (LB_SIZE if load_balancer else 0)
        self.load_balancer = load_balancer
        self.counts = collections.Counter()
        self._random = random.Random(seed)
        # (segment, damage): damage names a function of frames.DAMAGES, or is None
        self.packets = [
            (segment, None) for index, blocks in enumerate(stream.blocks)
            for source, block in blocks.items()
            for segment in cut(source, stream.event_id(index), block, self.payload_size)]
        self.good = len(self.packets)
        self._lost = set()
        self.tail = [(Segment(source, END_OF_RUN, 0, 20, encode_mfp(source, END_OF_RUN, [])), None)
                     for source in stream.sources] if end_of_run else []

    # --- faults

    def lose(self, ratio):
        kept = []
        for packet in self.packets:
            if self._random.random() < ratio:
                self._lost.add((packet[0].event, packet[0].source))
                self.counts["lost"] += 1
            else:
                kept.append(packet)
        self.packets = kept

    def duplicate(self, ratio):
        doubled = []
        for packet in self.packets:
            doubled.append(packet)
            if self._random.random() < ratio:
                doubled.append(packet)
                self.counts["duplicate"] += 1
        self.packets = doubled

    def reorder(self, window):
        """Moves packets by less than `window` places."""
        order = [(number + self._random.uniform(0, window - 1), number)
                 for number in range(len(self.packets))]
        self.packets = [self.packets[number] for _, number in sorted(order)]

    def silence(self, source):
        """The source does not send, not even the end of the run."""
        for index in range(self.stream.events):
            self._lost.add((self.stream.event_id(index), source))
        silent = sum(1 for segment, _ in self.packets if segment.source == source)
        self.counts["lost"] += silent
        self.packets = [packet for packet in self.packets if packet[0].source != source]
        self.tail = [packet for packet in self.tail if packet[0].source != source]

    def inject(self, cause, count, stranger=None):
        """Puts `count` bad packets among the good ones, each to be counted under `cause`;
        `stranger` is the source id that they claim, for the causes that are about it."""
        first = [number for number, (segment, _) in enumerate(self.packets)
                 if segment.offset == 0 and segment.length > self.payload_size]
        chosen = set(self._random.sample(first, count))
        mixed = []
        for number, packet in enumerate(self.packets):
            before, after = self._bad(cause, packet[0], stranger) \
                if number in chosen else ([], [])
            mixed += [*before, packet, *after]
        self.packets = mixed
        self.counts[cause] += count

    def _bad(self, cause, segment, stranger):
        """Packets to be sent before and after the first segment of a block of several."""
        half = self.payload_size // 2
        noise = _NOISE[:half]
        if cause == "overlapping":
            return [], [(segment.changed(offset=half, payload=_NOISE[:min(
                self.payload_size, segment.length - half)]), None)]
        if cause == "duplicate":
            return [], [(segment.changed(payload=_NOISE[:len(segment.payload)]), None)]
        if cause == "length_mismatch":
            return [], [(segment.changed(offset=half, length=segment.length + 4, payload=noise),
                         None)]
        if cause == "oversized":
            return [(segment.changed(length=0x7FFFFFFF, payload=noise), None)], []
        if cause in ("unknown_source", "unexpected_source"):
            return [(segment.changed(source=stranger), None)], []
        if cause == "malformed_segment":
            return [(segment.changed(offset=segment.length - 1, payload=noise), None)], []
        return [(segment.changed(payload=noise), cause)], []

    # --- what is to be expected

    def expected(self):
        """{event id: {source: MFP, or None if it cannot be built}} of the events of which
        anything is sent."""
        sent = {segment.event for segment, _ in self.packets}
        return {event: {source: None if (event, source) in self._lost else block
                        for source, block in blocks.items()}
                for event, blocks in self.stream.expected().items() if event in sent}

    # --- the ways out

    def all_packets(self):
        return self.packets + self.tail

    def datagram_parts(self, segment):
        head = segment.header()
        if self.load_balancer:
            head = struct.pack("!2sBBHHQ", b"LB", self.load_balancer, 1, 0, segment.source,
                               segment.event) + head
        return head, segment.payload

    def frames(self, framer=None):
        framer = framer or frames.Framer()
        for segment, damage in self.all_packets():
            frame = framer.frame(b"".join(self.datagram_parts(segment)))
            yield frames.DAMAGES[damage](frame) if damage else frame

    def send(self, udp_socket, rate, taken=None):
        """Sends what is not damaged through a connected socket, `rate` packets/s; see Pace."""
        pace = Pace(rate, taken)
        for segment, damage in self.all_packets():
            if not damage:
                udp_socket.sendmsg(self.datagram_parts(segment))
                pace.step()
        return pace.steps


def connect(udp_socket, address, port=19522):
    """Prepares a socket: blocks when the kernel's buffer is full, never fragments."""
    mtu_discover, probe = 10, 3  # IP_MTU_DISCOVER, IP_PMTUDISC_PROBE
    udp_socket.setsockopt(socket.IPPROTO_IP, mtu_discover, probe)
    udp_socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    udp_socket.connect((address, port))
    return udp_socket


def _arguments():
    parser = argparse.ArgumentParser(description="Sends generated events as EJFAT segments.")
    parser.add_argument("--to", default="10.0.0.2:19522", metavar="ADDRESS:PORT")
    parser.add_argument("--sources", type=int, default=8, help="source ids 1 to this")
    parser.add_argument("--events", type=int, default=1000, help="MFPs a source")
    parser.add_argument("--packing", type=int, default=1, help="consecutive events in an MFP")
    parser.add_argument("--size", type=int, nargs=2, default=(40, 160), help="of a fragment")
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--rate", type=float, default=20000, help="packets a second")
    parser.add_argument("--load-balancer", type=int, choices=(2, 3), help="LB header version")
    parser.add_argument("--loss", type=float, default=0)
    parser.add_argument("--duplicate", type=float, default=0)
    parser.add_argument("--reorder", type=int, default=0, metavar="PACKETS")
    parser.add_argument("--capture", metavar="FILE", help="write a pcap or pcapng, do not send")
    return parser.parse_args()


def _main():
    arguments = _arguments()
    stream = Stream(range(1, arguments.sources + 1), arguments.events, arguments.packing,
                    tuple(arguments.size))
    plan = Plan(stream, arguments.mtu, arguments.load_balancer)
    plan.lose(arguments.loss)
    plan.duplicate(arguments.duplicate)
    if arguments.reorder > 1:
        plan.reorder(arguments.reorder)
    address, _, port = arguments.to.rpartition(":")
    if arguments.capture:
        framer = frames.Framer(destination=address, destination_port=int(port))
        sent = frames.write_capture(arguments.capture, plan.frames(framer))
    else:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp_socket:
            sent = plan.send(connect(udp_socket, address, int(port)), arguments.rate)
    print(f"{sent} packets, {arguments.events} events, {dict(plan.counts)}")


if __name__ == "__main__":
    sys.exit(_main())

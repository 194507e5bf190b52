# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A tap on the wires of a system's nodes: which node sends data to which builder, and when; and
whether several nodes send to one builder at one time."""

import collections
import contextlib
import socket
import struct

import evb_decode

ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
SO_TIMESTAMPNS = 35
DATA_PORT = 19522
RE_AT = 14 + 20 + 8  # of EJFAT's reassembly header: Ethernet, IPv4, UDP
RE_SIZE = 20
MORE = 2  # flag: another header and block follow
BUFFER = 256 << 20  # bytes of packets, as the kernel counts them, that wait at a tap
# A node that sends nothing for so long, in s, has paused between two packets of an event.
PAUSE = 5e-3

# A block of a packet, or a part of one. time: s, of the machine's clock; builder: the address of its node.
Packet = collections.namedtuple("Packet", "time builder event")


class Tap:
    """Context manager: sees what comes out of these nodes."""

    def __init__(self, system, nodes):
        self._system = system
        self._nodes = nodes
        self._stack = contextlib.ExitStack()
        self._sockets = {}

    def __enter__(self):
        for node in self._nodes:
            tap = self._stack.enter_context(self._system.bridge.bridge.socket(
                socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)))
            tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
            tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            tap.bind((self._system.bridge.port(node), ETH_P_ALL))
            tap.setblocking(False)
            self._sockets[node] = tap
        return self

    def __exit__(self, *_):
        self._stack.close()

    def packets(self):
        """{node: [Packet, ...]} of data that has come out since the last call."""
        return {node: list(_data_of(tap)) for node, tap in self._sockets.items()}


def _data_of(tap):
    while True:
        try:
            frame, ancillary, _, (_, _, direction, *_) = tap.recvmsg(1 << 16, 64)
        except BlockingIOError:
            return
        if direction == socket.PACKET_OUTGOING:
            continue  # on its way to the node
        if len(frame) < RE_AT + RE_SIZE or frame[12:14] != b"\x08\x00" or frame[23] != 17:
            continue
        if int.from_bytes(frame[36:38], "big") != DATA_PORT:
            continue
        seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
        for event in _events_of(frame):
            if event != evb_decode.END_OF_RUN:
                yield Packet(seconds + nanoseconds * 1e-9, socket.inet_ntoa(frame[30:34]), event)


def _events_of(frame):
    """The event number of each block."""
    at, more = RE_AT, True
    while more:
        yield int.from_bytes(frame[at + 12:at + RE_SIZE], "big")
        more = frame[at + 1] & MORE
        at += RE_SIZE + int.from_bytes(frame[at + 8:at + 12], "big")


def shared_milliseconds(packets):
    """Of the milliseconds in which a builder's node was sent something, the share in which it was
    by several nodes. packets: {node: [Packet, ...]}"""
    senders = collections.defaultdict(set)
    for node, sent in packets.items():
        for packet in sent:
            senders[packet.builder, int(packet.time * 1000)].add(node)
    return sum(len(nodes) > 1 for nodes in senders.values()) / max(1, len(senders))


def _stretches(sent):
    """(builder, first time, last time) of packets that a node sends of one event without a pause."""
    first = last = None
    for packet in sent:
        if last is None or packet[1:] != last[1:] or packet.time - last.time > PAUSE:
            if last is not None:
                yield last.builder, first, last.time
            first = packet.time
        last = packet
    if last is not None:
        yield last.builder, first, last.time


def overlap(packets):
    """Of the time in which a node sends an event to a builder's node, the share in which several do.
    In this a node that begins where another one ends is no conflict."""
    steps = collections.defaultdict(list)
    for sent in packets.values():
        for builder, first, last in _stretches(sent):
            steps[builder] += [(first, 1), (last, -1)]
    busy = shared = 0.0
    for changes in steps.values():
        senders, before = 0, 0.0
        for time, change in sorted(changes):
            busy += (time - before) * (senders > 0)
            shared += (time - before) * (senders > 1)
            senders, before = senders + change, time
    return shared / busy if busy else 0.0

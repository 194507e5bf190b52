# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What a stranger sends to the nodes of chaos.py: garbage and forged headers to the control port,
control frames that were recorded earlier, and segments."""

import random
import socket
import struct

import ejfat_sender
import faults
import frames

DATA_PORT = 19522
STRANGER = "10.78.0.200"
ADDRESSES = {"m": "10.78.0.1", "r0": "10.78.0.10", "r1": "10.78.0.11", "b0": "10.78.0.100",
             "b1": "10.78.0.101"}
_KEPT = 2000  # recorded frames
_HEADERS = 42  # bytes before a datagram
_HEADER = struct.Struct("<IBBHHHIQQIIQIIIHH")
_MAGIC = 0x43627665
_EPOCH_MOST = 2**32 - 1


def crc32c(data):
    """As in docs/control-protocol.md."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Forger:
    """Sends from the bridge's ends of the nodes' wires, and records what comes from the nodes."""

    def __init__(self, trial, seed):
        self._draw = random.Random(seed)
        self._nodes = trial.nodes
        self._sockets = {}
        self._macs = {}
        self._recorded = []  # (destination, frame)
        for node in trial.nodes:
            wire = trial.bridge.bridge.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            wire.bind((trial.bridge.port(node), 0))
            wire.setblocking(False)
            self._sockets[node] = wire
            self._macs[node] = trial.bridge.nodes[node].hardware_address()

    def close(self):
        for wire in self._sockets.values():
            wire.close()

    def record(self):
        """Keeps some of the control frames that nodes have sent since the last call."""
        to = {mac: node for node, mac in self._macs.items()}
        for wire in self._sockets.values():
            for _ in range(_KEPT):
                try:
                    frame, address = wire.recvfrom(2048)
                except BlockingIOError:
                    break
                if address[2] == socket.PACKET_OUTGOING or frame[:6] not in to or \
                        frame[42:46] != struct.pack("<I", _MAGIC):
                    continue
                if len(self._recorded) == _KEPT:
                    self._recorded[self._draw.randrange(_KEPT)] = to[frame[:6]], frame
                else:
                    self._recorded.append((to[frame[:6]], frame))

    def replay(self, count):
        for _ in range(min(count, len(self._recorded))):
            node, frame = self._draw.choice(self._recorded)
            self._send(node, frame)

    def alter(self, count):
        """Recorded frames of which one byte differs, or a part is cut off."""
        for _ in range(min(count, len(self._recorded))):
            node, frame = self._draw.choice(self._recorded)
            datagram = bytearray(frame[_HEADERS:])
            if self._draw.randrange(4) == 0:
                datagram = datagram[:self._draw.randrange(len(datagram))]
            else:
                datagram[self._draw.randrange(len(datagram))] ^= 1 << self._draw.randrange(8)
            source = socket.inet_ntoa(frame[26:30])
            self._datagram(source, node, faults.CONTROL_PORT, datagram)

    def control(self, count):
        """From a member's address, of one that knows none of the sessions."""
        for _ in range(count):
            member, target = self._draw.sample(self._nodes, 2)
            self._datagram(ADDRESSES[member], target, faults.CONTROL_PORT,
                           self._frame(self._nodes.index(member), self._nodes.index(target)))

    def _frame(self, member, target, kind=None):
        kind = self._draw.randrange(4) if kind is None else kind
        if kind == 0:
            return self._draw.randbytes(self._draw.randrange(200))
        epoch = _EPOCH_MOST if kind == 1 else self._draw.randrange(4)
        numbers = [self._draw.getrandbits(64) for _ in range(2)]
        header = _HEADER.pack(_MAGIC, 1, self._draw.randrange(8), 68, member, target, epoch,
                              numbers[0] | 1, numbers[1], self._draw.getrandbits(32),
                              self._draw.getrandbits(32), 0, self._draw.getrandbits(32) | 1,
                              self._draw.getrandbits(32), 100, 16, 0)
        return header + struct.pack("<I", crc32c(header))

    def version(self, member, target):
        """As a member whose release has another version of the protocol sends."""
        frame = bytearray(self._frame(self._nodes.index(member), self._nodes.index(target), 1))
        frame[4] += 1
        self._datagram(ADDRESSES[member], target, faults.CONTROL_PORT, frame)

    def segments(self, count):
        """To builders, from an address that no source has: of sources that are not in the
        configuration, of events far away, too short, and ends of the run."""
        for _ in range(count):
            source = self._draw.choice((1, 2, 77))
            event = self._draw.choice((2**40 + self._draw.randrange(2**20), 2**64 - 1,
                                       self._draw.randrange(1000)))
            block = ejfat_sender.encode_mfp(source, event, [b"forged"])
            [segment] = ejfat_sender.cut(source, event, block, 1400)
            payload = segment.header() + bytes(segment.payload)
            self._datagram(STRANGER, self._draw.choice(("b0", "b1")), DATA_PORT,
                           payload[:self._draw.choice((11, 20, 1400))])

    def _datagram(self, source, target, port, payload):
        framer = frames.Framer(source=source, destination=ADDRESSES[target], source_port=40000,
                               destination_port=port, source_mac="02:00:00:00:00:99",
                               destination_mac=self._macs[target].hex(":"))
        self._send(target, framer.frame(payload).ljust(frames.MINIMUM_FRAME, b"\0"))

    def _send(self, target, frame):
        try:
            self._sockets[target].send(frame)
        except OSError:  # its wire is down
            pass

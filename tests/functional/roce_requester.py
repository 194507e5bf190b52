# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A RoCE v2 requester that shares no code with evb: sends blocks by RC or UC, SEND or WRITE, over a
wire that loses, doubles and reorders on demand, and follows the standard's rules for answers.
"""

import collections
import random
import select
import socket
import struct
import time
import zlib

from evbtest import Failure, check, check_equal

UDP_PORT = 4791
PSN_MASK = 0xFFFFFF
MTU = 1024  # path MTU
WINDOW = 64  # packets not acknowledged
ACK_EVERY = 16  # packets of a message of which one asks for an ACK
TIMEOUT_S = 0.05
PATIENCE_S = 60.0

UC = 0x20  # added to an RC opcode
SEND = {"first": 0, "middle": 1, "last": 2, "last_imm": 3, "only": 4, "only_imm": 5}
WRITE = {name: 6 + code for name, code in SEND.items()}
ACKNOWLEDGE = 0x11
CNP = 0x81

ACK, RNR_NAK, NAK = 0, 1, 3  # upper three bits of a syndrome
NAK_SEQUENCE, NAK_ACCESS = 0x60, 0x62

Address = collections.namedtuple("Address", "mac ip")  # bytes: 4 of IPv4, 16 of IPv6

# Of an IP header without options: what routers may change, and what follows it: the UDP checksum
# and the BTH's notification bits.
MASKED = {20: (1, 8, 10, 11, 26, 27, 32), 40: (1, 2, 3, 7, 46, 47, 52)}


def ip_size(ip_packet):
    return 40 if ip_packet[0] >> 4 == 6 else 20


def icrc(ip_packet):
    """Of an IP packet without options, its last 4 bytes left out."""
    masked = bytearray(ip_packet[:-4])
    for offset in MASKED[ip_size(ip_packet)]:
        masked[offset] = 0xFF
    if ip_size(ip_packet) == 40:
        masked[0] |= 0x0F  # the rest of the traffic class
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + masked))


def bth(opcode, qpn, psn, pad=0, ack_request=False):
    return struct.pack("!BBHII", opcode, pad << 4, 0xFFFF, qpn,
                       (0x80000000 if ack_request else 0) | psn)


def frame(source, destination, headers, payload=b"", source_port=0xC123, tos=0):
    """Headers from the BTH on; padding must be as the BTH says."""
    body = headers + payload + b"\0" * (-len(payload) % 4)
    size = 28 + len(body) + 4
    udp = struct.pack("!HHHH", source_port, UDP_PORT, size - 20, 0)
    if len(source.ip) == 16:
        ip = struct.pack("!IHBB", 6 << 28 | tos << 20, size - 20, socket.IPPROTO_UDP, 64)
        packet = ip + source.ip + destination.ip + udp + body + b"\0\0\0\0"
        return destination.mac + source.mac + b"\x86\xdd" + packet[:-4] + icrc(packet)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, tos, size, 0, 0x4000, 64, socket.IPPROTO_UDP, 0,
                     source.ip, destination.ip)
    total = sum(struct.unpack("!10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    checksum = struct.pack("!H", 0xFFFF - ((total & 0xFFFF) + (total >> 16)))
    packet = ip[:10] + checksum + ip[12:] + udp + body + b"\0\0\0\0"
    return destination.mac + source.mac + b"\x08\x00" + packet[:-4] + icrc(packet)


class Refused(Failure):
    """A NAK that ends the connection."""

    def __init__(self, syndrome, psn):
        super().__init__(f"NAK {syndrome:#x} of PSN {psn:#x}")
        self.syndrome, self.psn = syndrome, psn


class Answer:
    """What came back: opcode, QPN, PSN and, of an ACK, syndrome and MSN."""

    def __init__(self, data):
        self.opcode, _, _, self.qpn, psn = struct.unpack_from("!BBHII", data)
        self.psn = psn & PSN_MASK
        self.syndrome = self.msn = None
        if self.opcode == ACKNOWLEDGE:
            both, = struct.unpack_from("!I", data, 12)
            self.syndrome, self.msn = both >> 24, both & PSN_MASK


class Wire:
    """Sends and receives whole frames on a namespace's device as `own`, which need be no address of
    the kernel's. Faults are probabilities, of packets in either direction."""

    def __init__(self, namespace, own, peer, lose=0.0, double=0.0, delay=0.0, seed=1):
        self.own, self.peer = own, peer
        self.counts = collections.Counter()
        self._faults = lose, double, delay
        self._random = random.Random(seed)
        self._held = []
        self._socket = namespace.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self._socket.bind((namespace.device, 0x86DD if len(own.ip) == 16 else 0x0800))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def send(self, headers, payload=b"", source_port=0xC123):
        lose, double, delay = self._faults
        data = frame(self.own, self.peer, headers, payload, source_port)
        self.counts["sent"] += 1
        draw = self._random.random
        if draw() < lose:
            self.counts["lost"] += 1
            return
        if draw() < delay:
            self.counts["delayed"] += 1
            self._held.append((self._random.randint(1, 8), data))
            return
        self._socket.send(data)
        if draw() < double:
            self.counts["doubled"] += 1
            self._socket.send(data)
        self._let_go()

    def _let_go(self):
        held, self._held = self._held, []
        for left, data in held:
            if left <= 1:
                self._socket.send(data)
            else:
                self._held.append((left - 1, data))

    def flush(self):
        """Sends what is delayed, in the wrong order."""
        held, self._held = self._held, []
        for _, data in reversed(held):
            self._socket.send(data)

    def receive(self, timeout):
        """The answers that are there; waits for one at most so long."""
        answers = []
        while select.select([self._socket], [], [], 0 if answers else timeout)[0]:
            data = self._socket.recv(65536)
            packet = self._packet(data)
            if packet is None:
                continue
            check_equal(icrc(packet).hex(), packet[-4:].hex(), "ICRC of an answer")
            check_equal(data[:6], self.own.mac, "Ethernet address of an answer")
            if self._random.random() < self._faults[0]:
                self.counts["answers lost"] += 1
                continue
            answers.append(Answer(packet[ip_size(packet) + 8:]))
        return answers

    def _packet(self, frame_bytes):
        """The IP packet, without Ethernet's padding; None if it is no answer to us."""
        start = ip_size(frame_bytes[14:])
        size, = struct.unpack_from("!H", frame_bytes, 14 + (4 if start == 40 else 2))
        packet = frame_bytes[14:14 + size + (40 if start == 40 else 0)]
        n = len(self.own.ip)
        if (packet[start - n:start] != self.own.ip or
                packet[6 if start == 40 else 9] != socket.IPPROTO_UDP or
                struct.unpack_from("!H", packet, start + 2)[0] != UDP_PORT):
            return None
        check_equal(packet[start - 2 * n:start - n], self.peer.ip, "source of an answer")
        return packet


class QueuePair:
    """One queue pair: messages posted in order are packets with numbers, sent by go-back-N."""

    def __init__(self, own_qpn, peer_qpn, psn, service=0, region=None, source_port=0xC123):
        self.own_qpn, self.peer_qpn, self.first_psn = own_qpn, peer_qpn, psn
        self._service = service
        self._region = region  # (address, rkey)
        self._source_port = source_port
        self._packets = []  # (opcode, extension headers, payload, asks for an ACK)
        self.messages = 0
        self._oldest = self._next = self._newest = 0
        self._deadline = self._resume = 0.0
        self.counts = collections.Counter()
        self.msn = 0

    def post(self, block, operation, immediate=None):
        names = SEND if operation == "send" else WRITE
        parts = [block[offset:offset + MTU] for offset in range(0, len(block), MTU)] or [b""]
        for number, part in enumerate(parts):
            begins, ends = number == 0, number == len(parts) - 1
            name = ("only" if ends else "first") if begins else ("last" if ends else "middle")
            extension = b""
            if operation == "write" and begins:
                extension = struct.pack("!QII", *self._region, len(block))
            if ends and immediate is not None:
                name += "_imm"
                extension += struct.pack("!I", immediate)
            asks = ends or number % ACK_EVERY == ACK_EVERY - 1
            self._packets.append((self._service + names[name], extension, part,
                                  asks and not self._service))
        self.messages += 1

    def packets(self):
        return len(self._packets)

    def psn(self, index):
        return (self.first_psn + index) & PSN_MASK

    def _index(self, psn):
        ahead = (psn - self.psn(self._oldest)) & PSN_MASK
        return self._oldest + (ahead - (PSN_MASK + 1) if ahead > PSN_MASK // 2 else ahead)

    def done(self):
        return self._oldest == len(self._packets)

    def send(self, wire, most):
        """Sends what may be sent now, `most` packets at most; returns how many."""
        now = time.monotonic()
        if now < self._resume:
            return 0
        if self._oldest < self._next and now > self._deadline:
            self.counts["timeouts"] += 1
            self._next = self._oldest
        sent = 0
        while (self._next < len(self._packets) and self._next - self._oldest < WINDOW and
               sent < most):
            opcode, extension, payload, asks = self._packets[self._next]
            # The last of a window asks, too: nothing else would open it.
            asks |= not self._service and self._next - self._oldest == WINDOW - 1
            if self._next < self._newest:
                self.counts["again"] += 1
            wire.send(bth(opcode, self.peer_qpn, self.psn(self._next), -len(payload) % 4, asks) +
                      extension, payload, self._source_port)
            if self._next == self._oldest:
                self._deadline = now + TIMEOUT_S
            self._next += 1
            self._newest = max(self._newest, self._next)
            sent += 1
        if self._service:
            self._oldest = self._next
        return sent

    def take(self, answer):
        """Follows an answer."""
        if answer.opcode == CNP:
            self.counts["cnp"] += 1
            return
        check_equal(answer.opcode, ACKNOWLEDGE, "opcode of an answer")
        index, kind = self._index(answer.psn), answer.syndrome >> 5
        check(index < self._newest, f"answer to PSN {answer.psn:#x}, which was never sent")
        if kind == ACK:
            check_equal(answer.syndrome, 0x1F, "syndrome of an ACK")
            self.counts["acks"] += 1
            self._advance(index + 1)
            self.msn = max(self.msn, answer.msn)
        elif kind == RNR_NAK:
            self.counts["rnr"] += 1
            self._advance(index)
            self._next = self._oldest
            self._resume = time.monotonic() + 0.00064
        elif answer.syndrome == NAK_SEQUENCE:
            self.counts["sequence naks"] += 1
            self._advance(index)
            self._next = self._oldest
        else:
            raise Refused(answer.syndrome, answer.psn)

    def _advance(self, index):
        if index > self._oldest:
            self._oldest = index
            self._deadline = time.monotonic() + TIMEOUT_S
            self._next = max(self._next, index)


def run(wire, pairs, rate, in_turn=True, patience=PATIENCE_S):
    """Sends all that was posted, about `rate` packets a second, until it is done: in turn, or as
    many as it can of the first, and a packet of each other."""
    by_qpn = {pair.own_qpn: pair for pair in pairs}
    end = time.monotonic() + patience
    start, sent, turn = time.monotonic(), 0, 0
    while not all(pair.done() for pair in pairs):
        check(time.monotonic() < end, f"not all was acknowledged in {patience} s")
        allowed = int((time.monotonic() - start) * rate) - sent
        least = 0 if in_turn or allowed <= 0 else 1
        moved = 0
        turn = (turn + 1) % len(pairs) if in_turn else 0
        for pair in pairs[turn:] + pairs[:turn]:
            moved += pair.send(wire, max(least, min(8, allowed - moved)))
        sent += moved
        if moved == 0:
            wire.flush()
        for answer in wire.receive(0 if moved else 0.001):
            check(answer.qpn in by_qpn, f"answer to queue pair {answer.qpn:#x}")
            by_qpn[answer.qpn].take(answer)
    wire.flush()
    return sent

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Ethernet frames with IPv4 and UDP, what can be wrong with them, and capture files of them."""

import socket
import struct

ETHERNET_SIZE = 14
IPV4_SIZE = 20
UDP_SIZE = 8
MINIMUM_FRAME = 60  # bytes, without the frame check sequence

ETHERTYPE_IPV4 = 0x0800
ETHERTYPE_VLAN = 0x8100
ETHERTYPE_EVB = 0x88B5


def internet_checksum(data):
    """RFC 1071. A sum of 16-bit words with end-around carry is the number modulo 0xFFFF."""
    return 0xFFFF - int.from_bytes(data + b"\0" * (len(data) % 2), "big") % 0xFFFF


def _mac(text):
    return bytes.fromhex(text.replace(":", ""))


class Framer:
    """Puts datagrams of one flow into frames."""

    def __init__(self, source="10.0.0.1", destination="10.0.0.2", source_port=40000,
                 destination_port=19522, source_mac="02:00:00:00:00:01",
                 destination_mac="02:00:00:00:00:02", checksum=True):
        self._source = socket.inet_aton(source)
        self._destination = socket.inet_aton(destination)
        self._ports = source_port, destination_port
        self._ethernet = _mac(destination_mac) + _mac(source_mac)
        self._checksum = checksum
        self._identification = 0

    def frame(self, payload, vlan=None):
        payload = bytes(payload)
        self._identification = (self._identification + 1) & 0xFFFF
        udp_size = UDP_SIZE + len(payload)
        addresses = self._source + self._destination
        ip = struct.pack("!BBHHHBBH", 0x45, 0, IPV4_SIZE + udp_size, self._identification, 0x4000,
                         64, socket.IPPROTO_UDP, 0)
        ip = ip[:10] + struct.pack("!H", internet_checksum(ip + addresses)) + addresses
        udp = struct.pack("!HHHH", *self._ports, udp_size, 0)
        if self._checksum:
            pseudo = addresses + struct.pack("!HH", socket.IPPROTO_UDP, udp_size)
            udp = udp[:6] + struct.pack("!H", internet_checksum(pseudo + udp + payload))
        return self._link_header(ETHERTYPE_IPV4, vlan) + ip + udp + payload

    def ether_frame(self, payload, vlan=None, ether_type=ETHERTYPE_EVB):
        """The payload directly behind an EtherType, padded as Ethernet does to its least frame."""
        frame = self._link_header(ether_type, vlan) + bytes(payload)
        return frame + b"\0" * (MINIMUM_FRAME - len(frame))

    def _link_header(self, ether_type, vlan):
        tag = b"" if vlan is None else struct.pack("!HH", ETHERTYPE_VLAN, vlan)
        return self._ethernet + tag + struct.pack("!H", ether_type)


# --- damage: each takes a good UDP frame without VLAN tag and returns one that evb must refuse,
# --- under the cause that the function is named for


def _with(frame, offset, data):
    return frame[:offset] + data + frame[offset + len(data):]


def _with_ip_checksum(frame):
    end = ETHERNET_SIZE + IPV4_SIZE
    header = _with(frame[ETHERNET_SIZE:end], 10, b"\0\0")
    return _with(frame, ETHERNET_SIZE + 10, struct.pack("!H", internet_checksum(header)))


def malformed_frame(frame):
    """Cut off: the IP header promises more bytes than there are."""
    return frame[:-1]


def ip_checksum(frame):
    return _with(frame, ETHERNET_SIZE + 8, bytes([frame[ETHERNET_SIZE + 8] ^ 1]))  # TTL


def udp_checksum(frame):
    return frame[:-1] + bytes([frame[-1] ^ 0x40])


def ip_fragment(frame):
    """Says that more fragments of the datagram follow."""
    return _with_ip_checksum(_with(frame, ETHERNET_SIZE + 6, b"\x20\x00"))


def unknown_port(frame):
    """To port 9, UDP checksum mended."""
    offset = ETHERNET_SIZE + IPV4_SIZE
    checksum = int.from_bytes(frame[offset + 6:offset + 8], "big")
    port = int.from_bytes(frame[offset + 2:offset + 4], "big")
    if checksum:
        checksum = (checksum + port - 9) % 0xFFFF or 0xFFFF
    return _with(_with(frame, offset + 2, struct.pack("!H", 9)), offset + 6,
                 struct.pack("!H", checksum))


def other(frame):
    """A frame that evb does not speak: TCP."""
    return _with_ip_checksum(_with(frame, ETHERNET_SIZE + 9, bytes([socket.IPPROTO_TCP])))


DAMAGES = {function.__name__: function for function in
           (malformed_frame, ip_checksum, udp_checksum, ip_fragment, unknown_port, other)}


# --- capture files -----------------------------------------------------------------------------


class PcapWriter:
    """A classic capture file with nanoseconds; context manager. `snap_length` bytes of each frame
    are kept."""

    def __init__(self, path, snap_length=262144):
        self._snap_length = snap_length
        self._file = open(path, "wb", buffering=1 << 20)
        self._file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def write(self, frame, time_ns):
        kept = frame[:self._snap_length]
        self._file.write(struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(kept),
                                     len(frame)))
        self._file.write(kept)


class PcapngWriter(PcapWriter):
    """The same as pcapng: section header, one interface, enhanced packets."""

    def __init__(self, path):  # pylint: disable=super-init-not-called
        self._file = open(path, "wb", buffering=1 << 20)
        self._block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
        resolution = struct.pack("<HHB3xHH", 9, 1, 9, 0, 0)  # if_tsresol: 10^-9 s
        self._block(1, struct.pack("<HHI", 1, 0, 262144) + resolution)

    def _block(self, kind, body):
        size = struct.pack("<I", len(body) + 12)
        self._file.write(struct.pack("<I", kind) + size + body + size)

    def write(self, frame, time_ns):
        head = struct.pack("<IIIII", 0, time_ns >> 32, time_ns & 0xFFFFFFFF, len(frame), len(frame))
        self._block(6, head + frame + b"\0" * (-len(frame) % 4))


def write_capture(path, frames, interval_ns=1000):
    """Writes frames at a steady pace; pcapng if the name says so. Returns how many."""
    writer = PcapngWriter if path.endswith(".pcapng") else PcapWriter
    count = 0
    with writer(path) as capture:
        for frame in frames:
            capture.write(frame, 1_700_000_000 * 10**9 + count * interval_ns)
            count += 1
    return count

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""RoCE v2 packets made at random, judged by others: scapy makes them and their ICRC, tshark decodes
what lib/wire writes, and what lib/wire parses is what was made."""

import contextlib
import json
import logging
import os
import random
import shutil
import struct
import subprocess
import zlib

import evbtest
from evbtest import check, check_equal

ICRC_SIZE = 4
CNP = 0x81
QP1_QKEY = 0x80010000

# operation: name, names of the extension headers
RC_OPERATIONS = {
    0x00: ("SEND_FIRST", ()), 0x01: ("SEND_MIDDLE", ()), 0x02: ("SEND_LAST", ()),
    0x03: ("SEND_LAST_IMM", ("imm",)), 0x04: ("SEND_ONLY", ()), 0x05: ("SEND_ONLY_IMM", ("imm",)),
    0x06: ("WRITE_FIRST", ("reth",)), 0x07: ("WRITE_MIDDLE", ()), 0x08: ("WRITE_LAST", ()),
    0x09: ("WRITE_LAST_IMM", ("imm",)), 0x0A: ("WRITE_ONLY", ("reth",)),
    0x0B: ("WRITE_ONLY_IMM", ("reth", "imm")), 0x0C: ("READ_REQUEST", ("reth",)),
    0x0D: ("READ_RESPONSE_FIRST", ("aeth",)), 0x0E: ("READ_RESPONSE_MIDDLE", ()),
    0x0F: ("READ_RESPONSE_LAST", ("aeth",)), 0x10: ("READ_RESPONSE_ONLY", ("aeth",)),
    0x11: ("ACKNOWLEDGE", ("aeth",)), 0x12: ("ATOMIC_ACKNOWLEDGE", ("aeth", "result")),
    0x13: ("COMPARE_SWAP", ("atomic",)), 0x14: ("FETCH_ADD", ("atomic",)),
    0x16: ("SEND_LAST_INVALIDATE", ("ieth",)), 0x17: ("SEND_ONLY_INVALIDATE", ("ieth",)),
}
OPERATIONS = {
    **{code: (f"RC_{name}", headers) for code, (name, headers) in RC_OPERATIONS.items()},
    **{0x20 + code: (f"UC_{name}", headers) for code, (name, headers) in RC_OPERATIONS.items()
       if code <= 0x0B},
    0x64: ("UD_SEND_ONLY", ("deth",)), 0x65: ("UD_SEND_ONLY_IMM", ("deth", "imm")),
    CNP: ("CNP", ("reserved",)),
}
WITHOUT_PAYLOAD = {0x0C, 0x11, 0x12, 0x13, 0x14, CNP}

# header: struct format, names of its fields; 24-bit fields are made of two
LAYOUTS = {
    "imm": ("!I", ("immediate",)),
    "ieth": ("!I", ("invalidate_rkey",)),
    "reth": ("!QII", ("address", "rkey", "length")),
    "atomic": ("!QIQQ", ("address", "rkey", "swap_add", "compare")),
    "aeth": ("!I", ("syndrome_msn",)),
    "deth": ("!II", ("qkey", "source_qpn")),
    "result": ("!Q", ("atomic_result",)),
    "reserved": ("!QQ", (None, None)),
}
WIDE = {"address", "swap_add", "compare", "atomic_result"}  # told as text: JSON has no 64 bits

# our name: tshark's
TSHARK_FIELDS = {
    "opcode": "infiniband.bth.opcode", "solicited": "infiniband.bth.se",
    "migrated": "infiniband.bth.m", "pad": "infiniband.bth.padcnt",
    "partition_key": "infiniband.bth.p_key", "destination_qpn": "infiniband.bth.destqp",
    "ack_request": "infiniband.bth.a", "psn": "infiniband.bth.psn",
    "address": "infiniband.reth.va", "rkey": "infiniband.reth.r_key",
    "length": "infiniband.reth.dmalen", "swap_add": "infiniband.atomiceth.swapdt",
    "compare": "infiniband.atomiceth.cmpdt", "syndrome": "infiniband.aeth.syndrome",
    "msn": "infiniband.aeth.msn", "atomic_result": "infiniband.atomicacketh.origremdt",
    "qkey": "infiniband.deth.q_key", "source_qpn": "infiniband.deth.srcqp",
}
TSHARK_REQ = {
    "service_id": "serviceid", "ca_guid": "localcaguid", "qkey": "localqkey", "qpn": "localqpn",
    "responder_resources": "responderres", "initiator_depth": "initdepth",
    "remote_response_timeout": "remoteresptout", "transport": "transpsvctype",
    "flow_control": "e2eflowctrl", "starting_psn": "startpsn",
    "local_response_timeout": "localresptout", "retry_count": "retrcount",
    "partition_key": "pkey", "path_mtu": "pppmtu", "rdc_exists": "rdcexist",
    "rnr_retry_count": "rnrretrcount", "max_cm_retries": "maxcmretr", "srq": "srq",
    "extended_transport": "ext_transport",
}
# Not flow label and packet rate: tshark 4.0 takes them from other bits than Linux sends them in.
TSHARK_PATH = {
    "local_lid": "locallid", "remote_lid": "remotelid", "traffic_class": "tfcclass",
    "hop_limit": "hoplim", "service_level": "sl", "subnet_local": "subnetlocal",
    "ack_timeout": "localacktout",
}
TSHARK_REP = {
    "remote_id": "remotecommid", "qkey": "localqkey", "qpn": "localqpn",
    "starting_psn": "startpsn", "responder_resources": "respres", "initiator_depth": "initdepth",
    "target_ack_delay": "tgtackdelay", "failover": "failoveracc", "flow_control": "e2eflowctrl",
    "rnr_retry_count": "rnrretrcount", "srq": "srq", "ca_guid": "localcaguid",
}


def scapy_layers():
    """Scapy's modules; skips where it is not installed."""
    logging.getLogger("scapy").setLevel(logging.ERROR)  # of the machine's routes: none needed
    try:
        import scapy.contrib.roce as roce  # pylint: disable=import-outside-toplevel
        import scapy.layers.all as layers  # pylint: disable=import-outside-toplevel
        import scapy.utils as utils  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        evbtest.skip(f"scapy: {error}")
    return roce, layers, utils


def icrc_by_hand(packet):
    """The ICRC of the bytes from the IP header on, the last four left out, as the standard has it:
    bit by bit in order, with nothing of scapy's."""
    packet = bytearray(packet[:-ICRC_SIZE])
    if packet[0] >> 4 == 4:
        udp = 4 * (packet[0] & 15)
        masked = [1, 8, 10, 11]
    else:
        udp = 40
        masked = [1, 2, 3, 7]
        packet[0] |= 0x0F
    for offset in (*masked, udp + 6, udp + 7, udp + 8 + 4):
        packet[offset] = 0xFF
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + packet))


class Made:
    """A packet made at random, and what it says."""

    def __init__(self, scapy, rng, opcode, payload=None, qpn=None):
        self.name = OPERATIONS[opcode][0]
        self.fields = {"opcode": opcode}
        if payload is None:
            size = 0 if opcode in WITHOUT_PAYLOAD else rng.choice(
                (0, 1, 2, 3, 4, rng.randrange(5, 300), 256, 1024, 4096))
            payload = rng.randbytes(size)
        self._bth(rng, -len(payload) % 4, qpn)
        extensions = b"".join(self._extension(rng, name) for name in OPERATIONS[opcode][1])
        self.fields["payload_offset"] = 12 + len(extensions)
        self.fields["payload_size"] = len(payload)
        self._build(scapy, rng, extensions + payload + b"\0" * self.fields["pad"])

    def _bth(self, rng, pad, qpn):
        self.fields.update(
            pad=pad, psn=rng.getrandbits(24), partition_key=rng.getrandbits(16),
            destination_qpn=rng.getrandbits(24) | 2 if qpn is None else qpn,
            **{name: rng.random() < 0.5
               for name in ("solicited", "migrated", "fecn", "becn", "ack_request")})

    def _extension(self, rng, name):
        layout, names = LAYOUTS[name]
        values = [0 if field is None else rng.getrandbits(64 if field in WIDE else 32)
                  for field in names]
        if name == "deth":
            values = [QP1_QKEY, rng.getrandbits(24)]
        found = dict(zip(names, values))
        found.pop(None, None)
        if name == "aeth":
            both = found.pop("syndrome_msn")
            found = {"syndrome": both >> 24, "msn": both & 0xFFFFFF}
        self.fields.update(found)
        return struct.pack(layout, *values)

    def _build(self, scapy, rng, behind_bth):
        roce, layers, _ = scapy
        bth = roce.BTH(
            opcode=self.fields["opcode"], solicited=self.fields["solicited"],
            migreq=self.fields["migrated"], padcount=self.fields["pad"],
            pkey=self.fields["partition_key"], fecn=self.fields["fecn"],
            becn=self.fields["becn"], dqpn=self.fields["destination_qpn"],
            ackreq=self.fields["ack_request"], psn=self.fields["psn"])
        udp = layers.UDP(sport=rng.randrange(0xC000, 0x10000), dport=4791,
                         chksum=rng.choice((0, rng.getrandbits(16))))
        link = layers.Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
        for _ in range(rng.choice((0, 0, 1, 2))):
            link = link / layers.Dot1Q(vlan=rng.randrange(1, 4095), prio=rng.randrange(8))
        is_ipv4 = rng.random() < 0.5
        if is_ipv4:
            ip = layers.IP(src="10.0.0.1", dst="10.0.0.2", tos=rng.getrandbits(8),
                           ttl=rng.randrange(1, 256), id=rng.getrandbits(16), flags="DF")
        else:
            ip = layers.IPv6(src="fd00::1", dst="fd00::2", tc=rng.getrandbits(8),
                             fl=rng.getrandbits(20), hlim=rng.randrange(1, 256))
            bth.icrc = 0
        self.frame = bytes(link / ip / udp / bth / layers.Raw(behind_bth))
        by_hand = icrc_by_hand(self.frame[len(link):])
        if is_ipv4:
            check_equal(self.frame[-ICRC_SIZE:], by_hand, "scapy's ICRC, against the standard's")
        self.frame = self.frame[:-ICRC_SIZE] + by_hand


class Judged:
    """What lib/wire makes of packets: `parsed`, and `written`, a capture of them written anew."""

    def __init__(self, work, scapy, packets):
        _, _, utils = scapy
        tool = os.environ.get("EVB_ROCE_REWRITE")
        if not tool:
            evbtest.skip("EVB_ROCE_REWRITE names no program")
        made = work.path("made.pcap")
        self.capture = work.path("written.pcap")
        utils.wrpcap(made, list(packets), linktype=1)
        process = work.start(tool, made, self.capture).finish()
        check_equal(process.status, 0, f"status of {process.describe()}")
        self.parsed = [json.loads(line) for line in process.lines]
        with contextlib.closing(utils.RawPcapReader(self.capture)) as reader:
            self.written = [data for data, _ in reader]


def tshark(capture, names):
    """Rows of numbers, None where a packet lacks the field."""
    program = shutil.which("tshark")
    if not program:
        evbtest.skip("tshark is not installed")
    arguments = [argument for name in names for argument in ("-e", name)]
    output = subprocess.run(
        [program, "-n", "-r", capture, "-T", "fields", "-E", "separator=|", *arguments],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
    return [[_number(text) for text in line.split("|")] for line in output.splitlines()]


def _number(text):
    if text in ("", "True", "False"):
        return {"": None, "True": 1, "False": 0}[text]
    if text.count(":") == 7:  # an EUI-64
        return int(text.replace(":", ""), 16)
    return int(text, 0)


def _value(parsed, name):
    value = parsed[name]
    return int(value) if name in WIDE or name in ("service_id", "ca_guid") else value


def make_all(scapy, count):
    rng = random.Random(4791)
    opcodes = list(OPERATIONS) * (count // len(OPERATIONS))
    return [Made(scapy, rng, opcode) for opcode in opcodes]


def test_parsed_is_what_scapy_made():
    scapy = scapy_layers()
    made = make_all(scapy, 400)
    with evbtest.Workspace() as work:
        judged = Judged(work, scapy, [packet.frame for packet in made])
    check_equal(len(judged.parsed), len(made), "packets parsed")
    for packet, parsed, written in zip(made, judged.parsed, judged.written):
        check("error" not in parsed, f"{packet.fields}: {parsed}")
        check(parsed["icrc_ok"], f"ICRC of {packet.frame.hex()}")
        found = {name: _value(parsed, name) for name in packet.fields}
        check_equal(found, packet.fields, "fields")
        check_equal(written.hex(), packet.frame.hex(), f"{packet.name} written anew")


def test_icrc_finds_each_damage():
    """A bit of each packet is turned over: in its trailer, which is then written right again; or
    anywhere behind the BTH."""
    scapy = scapy_layers()
    rng = random.Random(1)
    made = [packet for packet in make_all(scapy, 200) if packet.fields["payload_size"]]
    damaged = []
    for number, packet in enumerate(made):
        frame = bytearray(packet.frame)
        span = ICRC_SIZE if number % 2 else packet.fields["payload_size"] + ICRC_SIZE
        frame[-1 - rng.randrange(span)] ^= 1 << rng.randrange(8)
        damaged.append(bytes(frame))
    with evbtest.Workspace() as work:
        judged = Judged(work, scapy, damaged)
    for number, (packet, parsed) in enumerate(zip(made, judged.parsed)):
        check_equal(parsed["icrc_ok"], False, f"ICRC of a damaged {packet.fields}")
        if number % 2:
            check_equal(judged.written[number].hex(), packet.frame.hex(), "written anew")


def test_tshark_reads_what_is_written():
    scapy = scapy_layers()
    made = [packet for packet in make_all(scapy, 400) if packet.fields["opcode"] != CNP]
    with evbtest.Workspace() as work:
        judged = Judged(work, scapy, [packet.frame for packet in made])
        rows = tshark(judged.capture, list(TSHARK_FIELDS.values()))
    check_equal(len(rows), len(made), "packets that tshark read")
    compared = set()
    for packet, row in zip(made, rows):
        for name, found in zip(TSHARK_FIELDS, row):
            if name in packet.fields and found is not None:
                compared.add(name)
                check_equal(found, int(packet.fields[name]), f"opcode {packet.fields['opcode']}: {name}")
    check_equal(set(TSHARK_FIELDS) - compared, set(), "fields that tshark never showed")


def _mad(rng, attribute):
    """A MAD of random bytes behind its header."""
    header = struct.pack("!BBBBHHQHHI", 1, 7, 2, 3, 0, 0, rng.getrandbits(64), attribute, 0, 0)
    return header + rng.randbytes(256 - len(header))


def _check_cm(attribute, name, prefix, fields, change=lambda mad: mad):
    """tshark and lib/wire find the same in MADs of random bytes. fields: path of names: tshark's"""
    scapy = scapy_layers()
    rng = random.Random(attribute)
    made = [Made(scapy, rng, 0x64, change(_mad(rng, attribute)), qpn=1) for _ in range(20)]
    with evbtest.Workspace() as work:
        judged = Judged(work, scapy, [packet.frame for packet in made])
        rows = tshark(judged.capture, [prefix + field for field in fields.values()])
    check_equal(len(rows), len(made), "packets that tshark read")
    for parsed, row in zip(judged.parsed, rows):
        check_equal(parsed["cm"].get("attribute"), attribute, f"message {parsed['cm']}")
        for path, found in zip(fields, row):
            *parents, field = path
            place = parsed["cm"]
            for parent in parents:
                place = place[parent]
            check_equal(_value(place, field), found, f"{name}: {'.'.join(path)}")


def test_tshark_reads_the_same_req():
    fields = {(name,): field for name, field in TSHARK_REQ.items()}
    for path, prefix in (("primary", "prim_"), ("alternate", "alt_")):
        fields.update({(path, name): prefix + field for name, field in TSHARK_PATH.items()})
    _check_cm(0x10, "REQ", "infiniband.cm.req.", fields)


def test_tshark_reads_the_same_rep():
    _check_cm(0x13, "REP", "infiniband.cm.rep.",
              {(name,): field for name, field in TSHARK_REP.items()})


def test_tshark_reads_the_same_rej():
    def fits(mad):  # of the information no more than its field holds
        return mad[:24 + 9] + bytes([mad[24 + 9] % 73 << 1]) + mad[24 + 10:]

    _check_cm(0x12, "REJ", "infiniband.cm.rej.",
              {("local_id",): "localcommid", ("remote_id",): "remotecommid",
               ("reason",): "reason", ("subject",): "msgrej", ("info_size",): "rejinfolen"}, fits)


def test_tshark_reads_the_same_of_the_end():
    ids = {("local_id",): "localcommid", ("remote_id",): "remotecommid"}
    _check_cm(0x14, "RTU", "infiniband.cm.rtu.", ids)
    _check_cm(0x15, "DREQ", "infiniband.cm.dreq.", ids)
    _check_cm(0x15, "DREQ", "infiniband.cm.req.", {("remote_qpn",): "remoteqpneecn"})
    _check_cm(0x16, "DREP", "infiniband.cm.drsp.", ids)


if __name__ == "__main__":
    evbtest.main()

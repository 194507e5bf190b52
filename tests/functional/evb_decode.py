#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Decodes MEP, MFP and MDF files, independently of evb: the judge of what evb writes.

As a program:
    evb_decode.py verify FILE...               checks structure strictly, prints counts as JSON
    evb_decode.py compare-mdf A B --events N   the same banks, event by event
As a module: meps(), mfps(), Mfp.fragments(), records(), Record.banks(). Every function raises
FormatError, with the offset, on the first thing that is not as the format says.

Formats (all little endian): MEP and MFP of LHCb Run 3 as in EDMS 2100937, MDF of LHCb.
"""

import argparse
import json
import struct
import sys
from collections import Counter, namedtuple

MEP_MAGIC = 0xCEFA
MFP_MAGIC = 0x40CE
BANK_MAGIC = 0xCBCB
END_OF_RUN = 2**64 - 1
TYPE_ODIN = 16
TYPE_MISSING = 92

Fragment = namedtuple("Fragment", "event_id type size payload")
Bank = namedtuple("Bank", "type version source_id payload")


class FormatError(Exception):
    """The bytes are not what the format says."""

    def __init__(self, offset, text):
        super().__init__(f"offset {offset}: {text}")
        self.offset = offset


def require(condition, offset, text):
    if not condition:
        raise FormatError(offset, text)


def pad(size, alignment):
    return -size % alignment


class Mfp:
    """One multi-fragment packet that starts at `offset` of `data` and ends at or before `limit`."""

    def __init__(self, data, offset, limit):
        require(limit - offset >= 20, offset, "MFP header is cut off")
        (magic, self.n_fragments, self.size, self.event_id, self.source_id, self.align_log2,
         self.version) = struct.unpack_from("<HHIQHBB", data, offset)
        require(magic == MFP_MAGIC, offset, f"MFP magic is 0x{magic:04x}")
        require(20 <= self.size <= limit - offset, offset,
                f"MFP of {self.size} bytes, {limit - offset} are there")
        self.data = data
        self.offset = offset
        self.opaque = self.n_fragments == 0
        if not self.opaque:
            self._read_tables()

    def _read_tables(self):
        n = self.n_fragments
        types_at = self.offset + 20
        sizes_at = types_at + n + pad(n, 4)
        self.first_fragment = sizes_at + 2 * n + pad(2 * n, 4)
        end = self.offset + self.size
        require(self.first_fragment <= end, self.offset, "MFP tables are cut off")
        self.types = self.data[types_at:types_at + n]
        self.sizes = struct.unpack_from(f"<{n}H", self.data, sizes_at)
        require(not any(self.data[types_at + n:sizes_at]), types_at + n, "padding is not zero")
        require(not any(self.data[sizes_at + 2 * n:self.first_fragment]), sizes_at + 2 * n,
                "padding is not zero")
        require(self.align_log2 <= 16, self.offset, f"alignment 2^{self.align_log2}")
        alignment = 1 << self.align_log2
        padded = sum(size + pad(size, alignment) for size in self.sizes)
        require(self.first_fragment + padded == end, self.offset,
                f"fragments of {padded} bytes in an MFP of {self.size}")

    @property
    def opaque_payload(self):
        return self.data[self.offset + 20:self.offset + self.size]

    @property
    def missing(self):
        """True if it stands for a source of which nothing came."""
        return (not self.opaque and not any(self.sizes)
                and all(kind == TYPE_MISSING for kind in self.types))

    def fragments(self):
        at = self.first_fragment if not self.opaque else 0
        for i in range(self.n_fragments):
            size = self.sizes[i]
            yield Fragment(self.event_id + i, self.types[i], size, self.data[at:at + size])
            at += size + pad(size, 1 << self.align_log2)


class Mep:
    """One built event that starts at `offset` of `data`.

    `from_file`: also requires what files promise: source ids ascending, MFPs in their order without
    gaps at multiples of 8 bytes, padding zero.
    """

    def __init__(self, data, offset, from_file=True):
        left = len(data) - offset
        require(left >= 8, offset, "MEP header is cut off")
        magic, n, words = struct.unpack_from("<HHI", data, offset)
        require(magic == MEP_MAGIC, offset, f"MEP magic is 0x{magic:04x}")
        self.size = 4 * words
        require(self.size <= left, offset, f"MEP of {self.size} bytes, {left} are there")
        ids_at = offset + 8
        offsets_at = ids_at + 2 * (n + n % 2)
        header_end = offsets_at + 4 * n
        require(header_end <= offset + self.size, offset, "MEP tables are cut off")
        self.offset = offset
        self.source_ids = struct.unpack_from(f"<{n}H", data, ids_at)
        starts = [offset + 4 * word for word in struct.unpack_from(f"<{n}I", data, offsets_at)]
        require(len(set(self.source_ids)) == n, offset, "a source id stands twice")
        require(all(start >= header_end for start in starts), offset, "MFP inside of the header")
        self.mfps = [Mfp(data, start, offset + self.size) for start in starts]
        self._check_mfps()
        if from_file:
            self._check_order(data, header_end)

    def _check_mfps(self):
        for source_id, mfp in zip(self.source_ids, self.mfps):
            require(mfp.source_id == source_id, mfp.offset,
                    f"MFP of source 0x{mfp.source_id:04x}, the table says 0x{source_id:04x}")
            require(mfp.event_id == self.event_id, mfp.offset,
                    f"MFP of event {mfp.event_id} in the MEP of {self.event_id}")
        counts = {mfp.n_fragments for mfp in self.mfps if not mfp.opaque}
        require(len(counts) <= 1, self.offset, f"MFPs with {sorted(counts)} fragments")
        self.n_events = counts.pop() if counts else 1
        extents = sorted((mfp.offset, mfp.offset + mfp.size) for mfp in self.mfps)
        for before, behind in zip(extents, extents[1:]):
            require(before[1] <= behind[0], behind[0], "MFPs overlap")

    def _check_order(self, data, at):
        require(list(self.source_ids) == sorted(self.source_ids), self.offset,
                "source ids are not ascending")
        for mfp in self.mfps:
            start = at + pad(at - self.offset, 8)
            require(mfp.offset == start, mfp.offset, f"MFP expected at offset {start}")
            require(not any(data[at:start]), at, "padding is not zero")
            at = mfp.offset + mfp.size
        end = at + pad(at - self.offset, 8)
        require(end == self.offset + self.size, self.offset, "MEP is longer than its MFPs")
        require(not any(data[at:end]), at, "padding is not zero")

    @property
    def event_id(self):
        return self.mfps[0].event_id if self.mfps else None

    @property
    def missing(self):
        """Source ids whose MFPs stand for what did not come."""
        return [mfp.source_id for mfp in self.mfps if mfp.missing]


def meps(data, from_file=True):
    offset = 0
    while offset < len(data):
        mep = Mep(data, offset, from_file)
        require(mep.size >= 8, offset, "empty MEP")
        yield mep
        offset += mep.size


def mfps(data):
    offset = 0
    while offset < len(data):
        mfp = Mfp(data, offset, len(data))
        yield mfp
        offset += mfp.size


def mdf_checksum(data):
    """Jenkins one-at-a-time over bytes taken as signed chars."""
    value = 0
    for byte in data:
        value = (value + (byte if byte < 128 else byte - 256)) & 0xFFFFFFFF
        value = (value + (value << 10)) & 0xFFFFFFFF
        value ^= value >> 6
    value = (value + (value << 3)) & 0xFFFFFFFF
    value ^= value >> 11
    return (value + (value << 15)) & 0xFFFFFFFF


class Record:
    """One event of an MDF file."""

    def __init__(self, data, offset, checksum=True):
        left = len(data) - offset
        require(left >= 48, offset, "record header is cut off")
        fields = struct.unpack_from("<4I4B7I", data, offset)
        self.size = fields[0]
        require(fields[0] == fields[1] == fields[2], offset, f"sizes {fields[:3]} differ")
        require(48 <= self.size <= left, offset, f"record of {self.size} bytes, {left} are there")
        require(self.size % 4 == 0, offset, f"record of {self.size} bytes")
        self.checksum, compression, version, data_type = fields[3:7]
        require(compression == 0, offset, f"compression {compression}")
        require(version == 0x37, offset, f"version and subheader 0x{version:02x}")
        require(data_type == 1, offset, f"data type {data_type}")
        self.mask = fields[8:12]
        self.run, self.orbit, self.bunch = fields[12:15]
        self.data = data
        self.offset = offset
        if checksum and self.checksum:
            actual = mdf_checksum(data[offset + 16:offset + self.size])
            require(actual == self.checksum, offset,
                    f"checksum 0x{self.checksum:08x}, its bytes give 0x{actual:08x}")

    def banks(self):
        at, end = self.offset + 48, self.offset + self.size
        while at < end:
            require(end - at >= 8, at, "bank header is cut off")
            magic, size, kind, version, source_id = struct.unpack_from("<HHBBH", self.data, at)
            require(magic == BANK_MAGIC, at, f"bank magic is 0x{magic:04x}")
            require(8 <= size <= end - at, at, f"bank of {size} bytes, {end - at} are left")
            behind = at + size + pad(size, 4)
            require(behind <= end, at, "padding of the bank is cut off")
            yield Bank(kind, version, source_id, self.data[at + 8:at + size])
            at = behind

    def status(self):
        """(flags, ids of missing sources); None of an event without flags."""
        flags = self.data[self.offset + 19]
        missing = [bank.source_id for bank in self.banks()
                   if (bank.type, bank.version, bank.payload) == (TYPE_MISSING, 0, b"")]
        return (flags, missing) if flags else None


def records(data, checksum=True):
    offset = 0
    while offset < len(data):
        record = Record(data, offset, checksum)
        yield record
        offset += record.size


def read(path):
    with open(path, "rb") as file:
        return file.read()


def kind_of(data):
    if len(data) >= 12 and data[0:4] == data[4:8] == data[8:12]:
        return "mdf"
    magic = struct.unpack_from("<H", data)[0] if len(data) >= 2 else None
    return {MEP_MAGIC: "mep", MFP_MAGIC: "mfp"}.get(magic, "unknown")


def verify_meps(data, counts):
    for mep in meps(data):
        counts["meps"] += 1
        counts["events"] += mep.n_events
        counts["mfps"] += len(mep.mfps)
        counts["missing_mfps"] += len(mep.missing)
        counts["incomplete_meps"] += bool(mep.missing)
        counts["fragments"] += sum(mfp.n_fragments for mfp in mep.mfps)


def verify_mfps(data, counts):
    for mfp in mfps(data):
        counts["mfps"] += 1
        counts["fragments"] += mfp.n_fragments
        counts["end_of_run"] += mfp.event_id == END_OF_RUN


def verify_records(data, counts):
    for record in records(data):
        banks = list(record.banks())
        counts["records"] += 1
        counts["banks"] += len(banks)
        counts["payload_bytes"] += sum(len(bank.payload) for bank in banks)
        counts["incomplete_records"] += record.status() is not None and bool(record.status()[0])


def verify(path):
    """Counts of one file. Raises FormatError."""
    data = read(path)
    kind = kind_of(data)
    counts = Counter()
    require(kind != "unknown", 0, "neither MEP, MFP nor MDF")
    {"mep": verify_meps, "mfp": verify_mfps, "mdf": verify_records}[kind](data, counts)
    return {"file": path, "kind": kind, "bytes": len(data), **counts}


def bank_set(record, ignore_status):
    banks = Counter(record.banks())
    if ignore_status:
        banks = Counter({bank: n for bank, n in banks.items()
                         if (bank.type, bank.version, bank.payload) != (TYPE_MISSING, 0, b"")})
    return banks


def describe(banks):
    return ", ".join(f"type {bank.type} version {bank.version} source 0x{bank.source_id:04x} "
                     f"{len(bank.payload)} B" + (f" ({n} times)" if n > 1 else "")
                     for bank, n in list(banks.items())[:5])


def compare_in_order(expected, actual):
    """Event k of `actual` against event k of `expected`, which is cycled over."""
    for k, banks in enumerate(actual):
        wanted = expected[k % len(expected)]
        if banks != wanted:
            return (f"event {k}: missing {sum((wanted - banks).values())} banks "
                    f"[{describe(wanted - banks)}], "
                    f"too many {sum((banks - wanted).values())} [{describe(banks - wanted)}]")
    return None


def compare_any_order(expected, actual):
    """As many of each event of `expected` as cycling over it gives, in any order."""
    def key(banks):
        return frozenset(banks.items())

    wanted = Counter(key(expected[k % len(expected)]) for k in range(len(actual)))
    found = Counter(key(banks) for banks in actual)
    missing, extra = wanted - found, found - wanted
    if missing or extra:
        return f"{sum(missing.values())} events are missing, {sum(extra.values())} not expected"
    return None


def compare_mdf(path_a, paths_b, events=None, any_order=False, ignore_status=False):
    """None if B has the events of A, over and over; else one line that says what differs."""
    expected = [bank_set(record, ignore_status) for record in records(read(path_a), False)]
    actual = [bank_set(record, ignore_status) for path in paths_b
              for record in records(read(path), False)]
    if not expected:
        return f"{path_a} has no events"
    if events is not None and len(actual) != events:
        return f"{len(actual)} events, expected {events}"
    compare = compare_any_order if any_order else compare_in_order
    return compare(expected, actual)


def main():
    parser = argparse.ArgumentParser(description="Decode MEP, MFP and MDF files.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("verify", help="check files, print counts as JSON")
    command.add_argument("files", nargs="+", metavar="FILE")
    command = commands.add_parser("compare-mdf", help="the same banks in each event?")
    command.add_argument("a", metavar="A", help="reference, cycled over if B has more events")
    command.add_argument("b", metavar="B", nargs="+", help="files that are read one after another")
    command.add_argument("--events", type=int, help="B must have this many")
    command.add_argument("--any-order", action="store_true", help="of the events")
    command.add_argument("--ignore-status", action="store_true", help="leave out banks of missing sources")
    arguments = parser.parse_args()
    if arguments.command == "verify":
        failed = False
        for path in arguments.files:
            try:
                print(json.dumps(verify(path)))
            except FormatError as error:
                print(json.dumps({"file": path, "error": str(error)}))
                failed = True
        return 1 if failed else 0
    difference = compare_mdf(arguments.a, arguments.b, arguments.events, arguments.any_order,
                             arguments.ignore_status)
    if difference:
        print(f"different: {difference}")
        return 1
    print("the same banks")
    return 0


if __name__ == "__main__":
    sys.exit(main())

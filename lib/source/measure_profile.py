#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Measure the fragment sizes by subdetector in an MDF file; print the table of lhcb_profile.c.

usage: measure_profile.py FILE.mdf
"""

import struct
import sys
import textwrap

# probabilities of the table's points: steps of 1/32, and ever finer ones in the upper tail
POINTS = [i / 32 for i in range(32)] + [1 - 1 / 32 / 2**i for i in range(1, 5)] + [1]
# (name, bank type); types of the simulation's truth are not data and left out
KINDS = [
    ("VELO", 63),
    ("RICH", 9),
    ("UT", 66),
    ("SCIFI", 64),
    ("ECAL", 21),
    ("HCAL", 22),
    ("MUON", 13),
]
TEST_DETECTOR = 51


def banks(path):
    """Yield (type, version, source id, payload size) of every bank in the file."""
    with open(path, "rb") as file:
        data = file.read()
    record = 0
    while record < len(data):
        (size,) = struct.unpack_from("<I", data, record)
        offset = record + 48
        while offset < record + size:
            magic, length, kind, version, source = struct.unpack_from("<HHBBH", data, offset)
            assert magic == 0xCBCB, f"no bank at {offset}"
            yield kind, version, source, length - 8
            offset += (length + 3) & ~3
        record += size


def quantiles(sizes):
    """The sizes at the probabilities of POINTS."""
    ordered = sorted(sizes)
    return [ordered[round((len(ordered) - 1) * point)] for point in POINTS]


def show(name, sources, kind, version, sizes):
    """Print one entry of the C table."""
    filled = [size for size in sizes if size]
    empty = 1 - len(filled) / len(sizes)
    print(f'\t{{ "{name}", {sources}, {kind}, {version}, {empty:.6f},')
    print(textwrap.fill("{ " + ", ".join(str(size) for size in quantiles(filled)) + " } },",
                        width=92, initial_indent="\t  ", subsequent_indent="\t    "))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = list(banks(sys.argv[1]))
    everything = []
    for name, kind in KINDS:
        mine = [bank for bank in found if bank[0] == kind]
        versions = {version for _, version, _, _ in mine}
        assert len(versions) == 1, f"{name}: versions {versions}"
        sizes = [size for _, _, _, size in mine]
        everything += sizes
        show(name, len({source for _, _, source, _ in mine}), kind, versions.pop(), sizes)
    show("other", 0, TEST_DETECTOR, 0, everything)


if __name__ == "__main__":
    main()

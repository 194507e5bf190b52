# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Built events from MFPs, without an appliance: what ring_feeder publishes."""

import struct

import evb_decode


def make_mep(blocks):
    """A MEP of these MFPs, in their order."""
    n = len(blocks)
    at = 8 + 2 * (n + n % 2) + 4 * n
    body, offsets, ids = b"", [], []
    for block in blocks:
        body += bytes(-(at + len(body)) % 8)
        offsets.append((at + len(body)) // 4)
        ids += struct.unpack_from("<H", block, 16)
        body += block
    body += bytes(-(at + len(body)) % 8)
    return struct.pack(f"<HHI{n}H{2 * (n % 2)}x{n}I", 0xCEFA, n, (at + len(body)) // 4, *ids,
                       *offsets) + body


def meps_of(mfp_path):
    """The MEPs of a file of MFPs, one per event id."""
    with open(mfp_path, "rb") as file:
        data = file.read()
    blocks = {}
    for mfp in evb_decode.mfps(data):
        blocks.setdefault(mfp.event_id, []).append(data[mfp.offset:mfp.offset + mfp.size])
    return [make_mep(of_event) for of_event in blocks.values()]

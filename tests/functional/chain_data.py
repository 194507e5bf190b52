# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The data of chain.py: events of the LHCb file, which producers play again and again, and the
comparison of built events with them."""

import os
import struct

import evb_decode
import evbtest
import judge
from chain_boards import mfps_of
from evbtest import check, check_equal

READOUTS = ("ru0", "ru1")
FRAME = 8900  # bytes of data in a frame


class Recording:
    """Events of the LHCb file with some of its sources, or all (0); half of them for each readout."""

    def __init__(self, work, n_sources):
        path = work.path("all.mfp")
        original = evbtest.shared_file("data/lhcb-minbias.mdf")
        self.n_events = self._count(evb_decode.read(original))
        process = work.evb("gen", "--mdf", original, "--out", path, "--packing", "1",
                           "--events", str(self.n_events))
        check_equal(process.status, 0, process.describe())
        self.events = [{} for _ in range(self.n_events)]
        self._read(evb_decode.read(path))
        os.unlink(path)
        self._choose(n_sources)
        self.files = {node: work.path(f"{node}.mfp") for node in READOUTS}
        for node, path in self.files.items():
            with open(path, "wb") as file:
                for blocks in self.events:
                    file.writelines(blocks[source] for source in self.sources[node])

    @staticmethod
    def _count(data):
        """Records of an MDF file, which begin with their size."""
        offset = n = 0
        while offset < len(data):
            offset += struct.unpack_from("<I", data, offset)[0]
            n += 1
        return n

    def _read(self, data):
        for event, source, mfp in mfps_of(data):
            if event != evb_decode.END_OF_RUN:
                self.events[event][source] = mfp

    def _choose(self, n_sources):
        ids = sorted(self.events[0])
        if 0 < n_sources < len(ids):
            ids = ids[::len(ids) // n_sources][:n_sources]
        self.ids = ids
        self.sources = dict(zip(READOUTS, (ids[:len(ids) // 2], ids[len(ids) // 2:])))
        self.events = [{source: blocks[source] for source in ids} for blocks in self.events]
        self.largest = max(self._size(blocks) for blocks in self.events)
        self.largest_block = max(-(-len(mfp) // 64) * 64 for blocks in self.events
                                 for mfp in blocks.values())
        self.frames = max(sum(-(-len(mfp) // FRAME) for mfp in blocks.values())
                          for blocks in self.events)

    @staticmethod
    def _size(blocks):
        """At least the size of the MEP."""
        return 64 + sum(len(mfp) + 16 for mfp in blocks.values())


class Blocks:
    """Compares built events with what was played."""

    def __init__(self, recording):
        self._recording = recording
        self._known = {}  # by event of the file: the bytes of a complete MEP, where its ids are

    def missing(self, event, data):
        """The sources in whose place there is an error MFP; fails if any other byte differs."""
        index = event % self._recording.n_events
        if index in self._known and self._with_id(index, event) == data:
            return frozenset()
        mep = evb_decode.Mep(data, 0, from_file=False)
        check_equal(sorted(mep.source_ids), self._recording.ids, f"sources of event {event}")
        lost = set()
        for mfp in mep.mfps:
            block = data[mfp.offset:mfp.offset + mfp.size]
            wanted = self._recording.events[index][mfp.source_id]
            if block != wanted[:8] + event.to_bytes(8, "little") + wanted[16:]:
                check(judge.is_error_mfp(block, judge.MISSING_TYPE),
                      f"event {event}, source {mfp.source_id:#x} differs")
                lost.add(mfp.source_id)
        if not lost:
            self._known[index] = bytes(data), [mfp.offset + 8 for mfp in mep.mfps]
        return frozenset(lost)

    def _with_id(self, index, event):
        data, places = self._known[index]
        result, event_id = bytearray(data), event.to_bytes(8, "little")
        for at in places:
            result[at:at + 8] = event_id
        return result


def event_id_of(data):
    """That of the first MFP of a MEP, without decoding the others."""
    try:
        n, = struct.unpack_from("<H", data, 2)
        at, = struct.unpack_from("<I", data, 8 + 2 * (n + n % 2))
        return struct.unpack_from("<Q", data, 4 * at + 8)[0]
    except struct.error as error:
        raise evbtest.Failure(f"no MEP in a block of {len(data)} bytes") from error

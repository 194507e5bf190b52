# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Built events (MEP) with their sources (MFP) and fragments, and decisions of a filter.

The classes read any memory and copy nothing: a slot of an event ring, a mapped file, bytes. Each
value is read once and checked against the size of the memory, so that the bytes may be any bytes:
what is malformed raises ValueError.

Formats: docs/formats.md.
"""

import struct
from typing import NamedTuple

import numpy

__all__ = ["Fragment", "Mep", "Odin", "Result", "Results", "Source"]

MEP_MAGIC, MFP_MAGIC = 0xCEFA, 0x40CE
# Types of fragments.
TYPE_ODIN, TYPE_MISSING, TYPE_MALFORMED = 16, 92, 95
# Flags of a source.
SOURCE_MISSING, SOURCE_MALFORMED, SOURCE_OPAQUE = 0x1, 0x2, 0x4
# Flags of a result.
RESULT_ACCEPTED, RESULT_UNDECIDED, RESULT_TIMED_OUT = 0x1, 0x2, 0x4

_MEP = struct.Struct("<HHI")
_MFP = struct.Struct("<HHIQHBB")
_ODIN = struct.Struct("<IHHQIIIIQ")
_MOST_ALIGN = 16  # log2
_ODIN_SUBDETECTOR = 0
_BUNCH = 0xFFF


class Fragment(NamedTuple):
    """What one source read out for one event."""

    event_id: int
    type: int  # LHCb bank type
    data: numpy.ndarray  # of uint8: the bytes without padding, read-only


class Odin(NamedTuple):
    """ODIN's fragment, version 7: the time and the kind of one event."""

    run: int
    event_type: int
    step: int
    gps_us: int
    tck: int
    partition: int
    bunch: int
    orbit: int
    event_id: int


class Source:
    """What one source sent: an MFP. A sequence of Fragments, one per event of the MEP.

    `view` is a memoryview of bytes, in which the MFP begins at `at`.
    """

    __slots__ = ("_view", "_at", "_size", "_payload_at", "_n", "_offsets", "id", "version",
                 "event_id", "align")

    def __init__(self, view, at=0):
        room = len(view) - at
        if room < _MFP.size:
            raise ValueError("an MFP does not fit into its memory")
        magic, n, size, self.event_id, self.id, align, self.version = _MFP.unpack_from(view, at)
        payload = _MFP.size + n + -n % 4 + 2 * n + -2 * n % 4
        if magic != MFP_MAGIC or align > _MOST_ALIGN or not payload <= size <= room:
            raise ValueError(f"the MFP of source {self.id:#x} is malformed")
        self._view, self._at, self._size, self._payload_at = view, at, size, at + payload
        self._n, self._offsets = n, None
        self.align = 1 << align  # bytes

    @property
    def data(self):
        """The whole MFP: a memoryview."""
        return self._view[self._at:self._at + self._size]

    @property
    def payload(self):
        """All fragments with their padding, or the opaque block: an array of uint8."""
        at = self._payload_at
        return numpy.frombuffer(self._view, "u1", self._at + self._size - at, at)

    @property
    def types(self):
        """The type of each fragment: an array of uint8."""
        return numpy.frombuffer(self._view, "u1", self._n, self._at + _MFP.size)

    @property
    def sizes(self):
        """The bytes of each fragment, without padding: an array of uint16."""
        n = self._n
        return numpy.frombuffer(self._view, "<u2", n, self._at + _MFP.size + n + -n % 4)

    @property
    def flags(self):
        """SOURCE_..."""
        if self._n == 0:
            return SOURCE_OPAQUE
        kind = self._view[self._at + _MFP.size]
        if kind not in (TYPE_MISSING, TYPE_MALFORMED) or self.sizes.any() or \
                not numpy.isin(self.types, (TYPE_MISSING, TYPE_MALFORMED)).all():
            return 0
        return SOURCE_MISSING | (SOURCE_MALFORMED if kind == TYPE_MALFORMED else 0)

    @property
    def missing(self):
        """Nothing usable came from this source; an error MFP stands in its place."""
        return bool(self.flags & SOURCE_MISSING)

    @property
    def opaque(self):
        """The source sent a block without fragments: `payload`."""
        return self._n == 0

    @property
    def offsets(self):
        """Where each fragment begins in the payload, in bytes; one more entry for the end."""
        if self._offsets is None:
            sizes = self.sizes.astype(numpy.int64)
            offsets = numpy.zeros(len(sizes) + 1, numpy.int64)
            numpy.cumsum((sizes + self.align - 1) & -self.align, out=offsets[1:])
            if len(sizes) and offsets[-2] + sizes[-1] > len(self.payload):
                raise ValueError(f"source {self.id:#x}: a fragment does not lie inside its MFP")
            self._offsets = offsets
        return self._offsets

    def __len__(self):
        return self._n

    def __getitem__(self, index):
        if not -self._n <= index < self._n:
            raise IndexError(index)
        index %= self._n
        begin = self.offsets[index]
        return Fragment(self.event_id + index, int(self.types[index]),
                        self.payload[begin:begin + int(self.sizes[index])])

    def __iter__(self):
        payload, event_id = self.payload, self.event_id
        for kind, size, begin in zip(self.types.tolist(), self.sizes.tolist(), self.offsets.tolist()):
            yield Fragment(event_id, kind, payload[begin:begin + size])
            event_id += 1

    def __repr__(self):
        return f"<evb.Source {self.id:#06x}: {len(self)} fragments, flags {self.flags:#x}>"


class Mep:
    """A built event, which begins at byte `at` of `data`: a sequence of Sources."""

    __slots__ = ("_view", "_header", "_offsets", "_ids", "data", "event_id", "n_events")

    def __init__(self, data, at=0):
        view = memoryview(data).cast("B").toreadonly()[at:]
        if len(view) < _MEP.size:
            raise ValueError("the bytes are not a MEP")
        magic, n, words = _MEP.unpack_from(view)
        ids_end = _MEP.size + 2 * (n + n % 2)
        self._header = ids_end + 4 * n  # bytes
        if magic != MEP_MAGIC or not self._header <= 4 * words <= len(view):
            raise ValueError("the bytes are not a MEP")
        self.data = self._view = view[:4 * words]  # all bytes: a memoryview
        self._ids = struct.unpack_from(f"<{n}H", view, _MEP.size)
        self._offsets = struct.unpack_from(f"<{n}I", view, ids_end)  # words
        self.event_id = 0  # of the first event
        self.n_events = 0  # fragments per source; 0: opaque blocks only
        for index in range(n):
            source = self._open(index)
            self.event_id, self.n_events = source.event_id, len(source)
            if self.n_events:
                break

    def _open(self, index):
        at = 4 * self._offsets[index]
        if at < self._header:
            raise ValueError(f"source {index} of the MEP lies in its header")
        source = Source(self._view, at)
        if source.id != self._ids[index]:
            raise ValueError(f"source {index} of the MEP has another id than in the table")
        return source

    def _belongs(self, source):
        if source.event_id != self.event_id or source._n not in (0, self.n_events):
            raise ValueError(f"source {source.id:#x} does not belong to the event")
        return source

    def __len__(self):
        return len(self._ids)

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._belongs(self._open(index % len(self)))

    def __iter__(self):
        for index in range(len(self._ids)):
            yield self._belongs(self._open(index))

    @property
    def ids(self):
        """The ids of all sources, in the order of the MEP: a tuple."""
        return self._ids

    def find(self, source_id):
        """The source of this id; KeyError if the event has none."""
        try:
            return self[self._ids.index(source_id)]
        except ValueError as error:
            if source_id in self._ids:
                raise
            raise KeyError(source_id) from error

    @property
    def sizes(self):
        """The bytes of each fragment: an array with a row per source and a column per event.

        `mep.sizes.sum(axis=0)` are the sizes of the events. Reads all tables of sizes at once, many
        times faster than a loop over the sources. An opaque block is in the first column.
        """
        n = self.n_events
        halves = numpy.frombuffer(self._view, "<u2")
        starts = 2 * numpy.array(self._offsets, numpy.int64)
        sizes = numpy.zeros((len(starts), max(n, 1)), numpy.uint32)
        try:
            counts = halves[starts + 1]
            whole = counts == n
            tables = starts[whole] + (_MFP.size + n + -n % 4) // 2
            sizes[whole, :n] = halves[tables[:, None] + numpy.arange(n)]
        except IndexError as error:
            raise ValueError("a source does not lie inside the MEP") from error
        for index in numpy.flatnonzero(counts == 0):
            sizes[index, 0] = len(self[int(index)].payload)
        if not (whole | (counts == 0)).all():
            raise ValueError("the sources of the MEP differ in their number of fragments")
        return sizes

    def odin(self, index):
        """ODIN's fragment of event `index` of this MEP, or None."""
        if not 0 <= index < self.n_events:
            raise IndexError(index)
        for number, source_id in enumerate(self._ids):
            if source_id >> 11 != _ODIN_SUBDETECTOR:
                continue
            source = self[number]
            if len(source) == 0 or source.types[index] != TYPE_ODIN:
                continue
            fragment = source[index]
            if len(fragment.data) == _ODIN.size:
                odin = Odin(*_ODIN.unpack(fragment.data))
                return odin._replace(bunch=odin.bunch & _BUNCH)
        return None


class Result(NamedTuple):
    """The decision about one built event, of the results of a filter."""

    event_id: int
    lines: int  # 64 bits
    tag: int
    decide_us: int  # microseconds from the event's completion; 0xffffffff: not decided
    builder: int  # that built the event
    member: int  # that decided
    flags: int  # RESULT_...


class Results:
    """A block of results, which is copied: the `data` of an event of a ring of results, a datagram,
    or a whole file of decisions. Iterates Result after Result, in the order of event ids."""

    _HEADER, _RECORD = struct.Struct("<8sIIIIQ"), struct.Struct("<QQIIHBBI")

    def __init__(self, data):
        data = bytes(data)
        size = self._RECORD.size
        if len(data) < size or data[:16] != struct.pack("<8sII", b"EVBDECID", 1, size):
            raise ValueError("the bytes are no decisions")
        *_, self.run_number, self.packing, self.first = self._HEADER.unpack_from(data)
        self._records = data[size:len(data) // size * size]

    def __len__(self):
        return len(self._records) // self._RECORD.size

    def __iter__(self):
        return (Result(*record[:7]) for record in self._RECORD.iter_unpack(self._records))

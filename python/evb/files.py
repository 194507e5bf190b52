# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Reads .mep, .mfp and .mdf files, mapped into memory.

    for mep in evb.open_file("run.mep"):       # .mep: Mep, .mfp: Source, .mdf: Record
        use(mep.event_id, mep.find(0x1001).payload)

What a file has is recognized by its first bytes. Checksums are not verified: `evb dump --verify`
does that.
"""

import mmap
import os
import struct
from typing import NamedTuple

import numpy

from evb.events import MEP_MAGIC, MFP_MAGIC, Mep, Source

__all__ = ["Bank", "EventFile", "Record", "open_file"]

_RECORD = struct.Struct("<4I4B7I")
_BANK = struct.Struct("<HHBBH")
_BANK_MAGIC = 0xCBCB
_VERSION = 0x37  # version 3, 7 words of subheader


class Bank(NamedTuple):
    """What one source read out for one event."""

    type: int
    version: int
    source_id: int
    data: numpy.ndarray  # of uint8: the bytes without padding, read-only


class Record:
    """One event of an MDF file, which begins at byte `at` of `data`: an iterable of Banks."""

    def __init__(self, data, at=0):
        view = memoryview(data).cast("B").toreadonly()[at:]
        if len(view) < _RECORD.size:
            raise ValueError("the bytes are not an MDF record")
        fields = _RECORD.unpack_from(view)
        size, compression, version = fields[0], fields[4], fields[5]
        if fields[:3] != (size,) * 3 or version != _VERSION or \
                not _RECORD.size <= size <= len(view):
            raise ValueError("the bytes are not an MDF record")
        if compression != 0:
            raise ValueError("the MDF record is compressed; evb does not read such records")
        self.data = view[:size]  # all bytes: a memoryview
        self.flags = fields[7]  # of the event, as evb writes them
        self.mask = fields[8:12]
        self.run, self.orbit, self.bunch = fields[12:]

    def __iter__(self):
        at, view = _RECORD.size, self.data
        while at < len(view):
            if len(view) - at < _BANK.size:
                raise ValueError(f"a bank is cut off at byte {at} of its record")
            magic, size, kind, version, source_id = _BANK.unpack_from(view, at)
            if magic != _BANK_MAGIC or not _BANK.size <= size <= len(view) - at:
                raise ValueError(f"no bank at byte {at} of its record")
            yield Bank(kind, version, source_id,
                       numpy.frombuffer(view, "u1", size - _BANK.size, at + _BANK.size))
            at += size + -size % 4


_KINDS = {"mep": Mep, "mfp": Source, "mdf": Record}


def _kind_of(view, path):
    if len(view) >= 12 and view[0:4] == view[4:8] == view[8:12]:
        return "mdf"
    magic = int.from_bytes(view[:2], "little")
    if len(view) == 0:  # recorded without an event
        return os.path.splitext(path)[1][1:]
    return {MEP_MAGIC: "mep", MFP_MAGIC: "mfp"}.get(magic)


class EventFile:
    """A file. Iterating it gives Mep, Source or Record after each other, by its `kind`."""

    def __init__(self, path):
        self.path = os.fspath(path)
        self._map = None
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > 0:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._view = memoryview(self._map if self._map is not None else b"")
        self.kind = _kind_of(self._view, self.path)  # "mep", "mfp" or "mdf"
        if self.kind not in _KINDS:
            raise ValueError(f"{self.path}: neither MEPs nor MFPs nor MDF")

    @property
    def data(self):
        """All bytes of the file: an array of uint8."""
        return numpy.frombuffer(self._view, "u1")

    def __iter__(self):
        at, opened = 0, _KINDS[self.kind]
        while at < len(self._view):
            try:
                one = opened(self._view, at)
            except ValueError as error:
                raise ValueError(f"{self.path}: at byte {at}: {error}") from error
            yield one
            at += len(one.data)

    def close(self):
        """Closes the file. It stays mapped as long as views on it exist."""
        self._view = memoryview(b"")
        self._map = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def open_file(path):
    """Opens a file of events: an EventFile."""
    return EventFile(path)

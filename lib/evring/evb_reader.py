# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Reads built events of a running evb: libevb-reader for Python.

    import evb_reader

    with evb_reader.Reader("demo", group="filter") as reader:
        for event in reader:              # until the run is over; each event is released after its turn
            for source in event.mep:
                for fragment in source:
                    use(source.id, fragment.event_id, fragment.type, fragment.data)

Nothing is copied: types, sizes and data are read-only views on the slot of the event ring. They are
numpy arrays where numpy is installed, otherwise memoryviews. `numpy.frombuffer(fragment.data,
"<f4")` reads numbers of another type, also without a copy.

A view is valid until its event is released. After that the builder writes the next event there, so
copy what must live longer. The memory stays mapped as long as views on it exist, also after
Reader.close().

The man page evb-reader(3) describes groups, spies, and what happens when a process dies. One thread
at a time may use a reader.
"""

import ctypes
import errno
import os
import struct
import time
import weakref
from typing import NamedTuple

try:
    import numpy
except ImportError:
    numpy = None

__all__ = ["Decision", "EndOfRun", "Event", "Fragment", "Mep", "Odin", "Reader", "ReaderError", "Result",
           "Results", "Source"]

# Flags of an event.
INCOMPLETE, MALFORMED, FLUSHED, REPEATED, UNDECIDED = 0x1, 0x2, 0x4, 0x8, 0x10
# Flags of a source.
SOURCE_MISSING, SOURCE_MALFORMED, SOURCE_OPAQUE = 0x1, 0x2, 0x4
# Flags of a result.
RESULT_ACCEPTED, RESULT_UNDECIDED, RESULT_TIMED_OUT = 0x1, 0x2, 0x4

GROUP, SPY = 0, 1

_POLL_MS = 100  # a longer wait is made of such ones, between which Python handles signals
_MAP_STEP = 1 << 16  # bytes; ctypes keeps one type per size of a buffer for ever


class ReaderError(OSError):
    """A function of the library failed: `errno`, and one line that says what and where."""


class EndOfRun(EOFError):
    """The run is over, or its process dead, and all events were delivered."""


class _Options(ctypes.Structure):
    _fields_ = [("mode", ctypes.c_int), ("group", ctypes.c_char_p),
                ("directory", ctypes.c_char_p)]


class _Decision(ctypes.Structure):
    _fields_ = [("accept", ctypes.c_bool), ("lines", ctypes.c_uint64), ("tag", ctypes.c_uint32)]


class _Event(ctypes.Structure):
    _fields_ = [("event_id", ctypes.c_uint64), ("data", ctypes.c_void_p),
                ("length", ctypes.c_size_t), ("first_ns", ctypes.c_uint64),
                ("complete_ns", ctypes.c_uint64), ("flags", ctypes.c_uint32),
                ("run_number", ctypes.c_uint32), ("n_sources", ctypes.c_uint16),
                ("n_missing", ctypes.c_uint16), ("builder", ctypes.c_uint16),
                ("decider", ctypes.c_uint16), ("slot", ctypes.c_uint32),
                ("sequence", ctypes.c_uint64), ("decision", _Decision),
                ("decided_ns", ctypes.c_uint64)]


class _Counters(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("events", "bytes", "overruns", "regained")]


class _Mep(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t),
                ("event_id", ctypes.c_uint64), ("n_sources", ctypes.c_uint16),
                ("n_events", ctypes.c_uint16)]


class _Source(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint16), ("n_fragments", ctypes.c_uint16),
                ("version", ctypes.c_uint8), ("align_log2", ctypes.c_uint8),
                ("flags", ctypes.c_uint32), ("event_id", ctypes.c_uint64),
                ("data", ctypes.c_void_p), ("length", ctypes.c_size_t),
                ("types", ctypes.c_void_p), ("sizes", ctypes.c_void_p),
                ("payload", ctypes.c_void_p), ("payload_length", ctypes.c_size_t),
                ("next_offset", ctypes.c_size_t), ("next_index", ctypes.c_uint32)]


class _Odin(ctypes.Structure):
    _fields_ = [("run", ctypes.c_uint32), ("event_type", ctypes.c_uint16),
                ("step", ctypes.c_uint16), ("gps_us", ctypes.c_uint64), ("tck", ctypes.c_uint32),
                ("partition", ctypes.c_uint32), ("bunch", ctypes.c_uint32),
                ("orbit", ctypes.c_uint32), ("event_id", ctypes.c_uint64)]


def _load():
    """The library; EVB_READER_LIBRARY names another file than the installed one."""
    library = ctypes.CDLL(os.environ.get("EVB_READER_LIBRARY", "libevb-reader.so.1"))
    pointer = ctypes.c_void_p
    for name, result, arguments in (
            ("evb_reader_open", ctypes.c_int, [pointer, ctypes.c_char_p, pointer]),
            ("evb_reader_next", ctypes.c_int, [pointer, pointer, ctypes.c_int]),
            ("evb_reader_decide", ctypes.c_int, [pointer, pointer, pointer]),
            ("evb_reader_release", ctypes.c_int, [pointer, pointer]),
            ("evb_event_intact", ctypes.c_bool, [pointer, pointer]),
            ("evb_reader_counters", _Counters, [pointer]),
            ("evb_reader_error", ctypes.c_char_p, [pointer]),
            ("evb_reader_close", None, [pointer]),
            ("evb_mep_open", ctypes.c_int, [pointer, pointer, ctypes.c_size_t]),
            ("evb_mep_source", ctypes.c_int, [pointer, ctypes.c_uint, pointer]),
            ("evb_mep_find", ctypes.c_int, [pointer, ctypes.c_uint16, pointer]),
            ("evb_mep_odin", ctypes.c_int, [pointer, ctypes.c_uint, pointer])):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()


class Fragment(NamedTuple):
    """What one source read out for one event."""

    event_id: int
    type: int  # LHCb bank type
    data: object  # bytes without padding: a numpy array of uint8, or a memoryview


class Decision(NamedTuple):
    """What a member of a deciding group said of an event."""

    accept: bool
    lines: int  # 64 bits
    tag: int


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


def _numbers(view, code, dtype):
    return view.cast(code) if numpy is None else numpy.frombuffer(view, dtype)


class Source:
    """What one source sent: an MFP. A sequence of Fragments, one per event of the MEP."""

    def __init__(self, view, base, found):
        self._view = view[found.payload - base:][:found.payload_length]
        self._offsets = None
        self.id = found.id
        self.version = found.version
        self.event_id = found.event_id  # of the first fragment
        self.flags = found.flags
        self.align = 1 << found.align_log2  # bytes
        self.types = _numbers(view[found.types - base:][:found.n_fragments], "B", "u1")
        self.sizes = _numbers(view[found.sizes - base:][:2 * found.n_fragments], "H", "<u2")
        self.payload = _numbers(self._view, "B", "u1")  # all fragments, or the opaque block

    @property
    def missing(self):
        """Nothing usable came from this source; an error MFP stands in its place."""
        return bool(self.flags & SOURCE_MISSING)

    @property
    def opaque(self):
        """The source sent a block without fragments: `payload`."""
        return bool(self.flags & SOURCE_OPAQUE)

    @property
    def offsets(self):
        """Where each fragment begins in the payload, in bytes; one more entry for the end."""
        if self._offsets is None:
            if numpy is not None:
                offsets = numpy.zeros(len(self.sizes) + 1, numpy.int64)
                numpy.cumsum((self.sizes.astype(numpy.int64) + self.align - 1) & -self.align,
                             out=offsets[1:])
                last = int(offsets[-2] + self.sizes[-1]) if len(self.sizes) else 0
            else:
                offsets, last = [0], 0
                for size in self.sizes:
                    last = offsets[-1] + size
                    offsets.append((last + self.align - 1) & -self.align)
            if last > len(self._view):
                raise ValueError(f"source {self.id:#x}: a fragment does not lie inside its MFP")
            self._offsets = offsets
        return self._offsets

    def __len__(self):
        return len(self.types)

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        begin = self.offsets[index]
        end = begin + int(self.sizes[index])
        return Fragment(self.event_id + index, int(self.types[index]), self.payload[begin:end])

    def __iter__(self):
        return (self[index] for index in range(len(self)))

    def __repr__(self):
        return f"<evb_reader.Source {self.id:#06x}: {len(self)} fragments, flags {self.flags:#x}>"


class Mep:
    """A built event: a sequence of Sources. Bytes from elsewhere, as of a .mep file, are copied."""

    def __init__(self, data):
        buffer = (ctypes.c_ubyte * len(data)).from_buffer_copy(data)
        self._open(buffer, len(data))

    @classmethod
    def _of_slot(cls, buffer, length):
        mep = cls.__new__(cls)
        mep._open(buffer, length)
        return mep

    def _open(self, buffer, length):
        self._mep = _Mep()
        self._base = ctypes.addressof(buffer)
        if _library.evb_mep_open(ctypes.byref(self._mep), self._base, length) != 0:
            raise ValueError("the bytes are not a MEP")
        self._view = memoryview(buffer).cast("B").toreadonly()[:self._mep.length]
        self.event_id = self._mep.event_id  # of the first event
        self.n_events = self._mep.n_events  # fragments per source; 0: opaque blocks only

    def _source(self, function, key):
        found = _Source()
        result = function(ctypes.byref(self._mep), key, ctypes.byref(found))
        if result == -errno.ENOENT:
            raise KeyError(key)
        if result != 0:
            raise ValueError(f"source {key} of the MEP is malformed")
        return Source(self._view, self._base, found)

    def __len__(self):
        return self._mep.n_sources

    def __getitem__(self, index):
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self._source(_library.evb_mep_source, index % len(self))

    def __iter__(self):
        return (self[index] for index in range(len(self)))

    def find(self, source_id):
        """The source of this id; KeyError if the event has none."""
        return self._source(_library.evb_mep_find, source_id)

    def odin(self, index):
        """ODIN's fragment of event `index` of this MEP, or None."""
        found = _Odin()
        result = _library.evb_mep_odin(ctypes.byref(self._mep), index, ctypes.byref(found))
        if result == -errno.EINVAL:
            raise IndexError(index)
        if result < 0:
            raise ValueError("ODIN's fragment is malformed")
        return Odin(*(getattr(found, name) for name in Odin._fields)) if result else None


class Event:
    """One built event in its slot. `with event:` releases it at the end."""

    def __init__(self, reader, event):
        self._reader, self._event, self._mep = reader, event, None
        self.released = False
        for name in ("event_id", "flags", "run_number", "n_sources", "n_missing", "builder",
                     "length", "first_ns", "complete_ns"):
            setattr(self, name, getattr(event, name))
        self.decision = None  # a Decision, in groups after a deciding one
        if event.decided_ns:
            said = event.decision
            self.decision = Decision(said.accept, said.lines, said.tag)

    def _usable(self):
        if self.released or self._reader._closed:
            raise ValueError("the event is released, or its reader closed")

    @property
    def mep(self):
        """The Mep in the slot."""
        self._usable()
        if self._mep is None:
            self._mep = Mep._of_slot(self._reader._map(self._event), self.length)
        return self._mep

    @property
    def data(self):
        """All bytes of the event: a read-only memoryview on the slot."""
        self._usable()
        return memoryview(self._reader._map(self._event)).cast("B").toreadonly()[:self.length]

    @property
    def incomplete(self):
        """Sources are missing."""
        return bool(self.flags & INCOMPLETE)

    @property
    def intact(self):
        """For spies: the bytes are still those of this event."""
        self._usable()
        return _library.evb_event_intact(self._reader._handle, ctypes.byref(self._event))

    def decide(self, accept, lines=0, tag=0):
        """Decides about the event, as a member of a deciding group, before it is released."""
        self._usable()
        said = _Decision(accept, lines, tag)
        self._reader._check(_library.evb_reader_decide(
            self._reader._handle, ctypes.byref(self._event), ctypes.byref(said)))

    def release(self):
        """Gives the slot back. A second call has no effect."""
        self._mep = None
        if self.released or self._reader._closed:
            return
        self._reader._check(
            _library.evb_reader_release(self._reader._handle, ctypes.byref(self._event)))
        self.released = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()


class Reader:
    """The event rings of the appliance `name`. `with Reader(...) as reader:` closes it."""

    def __init__(self, name, group="main", spy=False, directory=None):
        self._handle, self._closed, self._n_views = None, True, 0
        handle = ctypes.c_void_p()
        options = _Options(SPY if spy else GROUP, group.encode(),
                           os.fsencode(directory) if directory else None)
        result = _library.evb_reader_open(ctypes.byref(handle), name.encode(),
                                          ctypes.byref(options))
        if result != 0:
            why = _library.evb_reader_error(handle).decode() if handle else os.strerror(-result)
            _library.evb_reader_close(handle)
            raise ReaderError(-result, why)
        self._handle, self._closed = handle, False

    def _open_handle(self):
        if self._closed:
            raise ValueError("the reader is closed")
        return self._handle

    def _check(self, result):
        if result < 0:
            raise ReaderError(-result, _library.evb_reader_error(self._handle).decode())
        return result

    def _map(self, event):
        """A buffer at the event. The memory stays mapped as long as any view on it exists."""
        size = (event.length + _MAP_STEP - 1) // _MAP_STEP * _MAP_STEP
        buffer = (ctypes.c_ubyte * size).from_address(event.data)
        self._n_views += 1
        weakref.finalize(buffer, self._view_ended).atexit = False
        return buffer

    def _view_ended(self):
        self._n_views -= 1
        self._close_if_unused()

    def _close_if_unused(self):
        if self._closed and self._n_views == 0 and self._handle is not None:
            _library.evb_reader_close(self._handle)
            self._handle = None

    def next(self, timeout=None):
        """The next Event, or None when `timeout` seconds are over (None: no limit). Raises EndOfRun."""
        end = None if timeout is None else time.monotonic() + timeout
        event = _Event()
        while True:
            wait = _POLL_MS
            if end is not None:
                wait = max(0, min(wait, int(1000 * (end - time.monotonic()))))
            result = _library.evb_reader_next(self._open_handle(), ctypes.byref(event), wait)
            if result == -errno.EPIPE:
                raise EndOfRun
            if self._check(result) == 1:
                return Event(self, event)
            if end is not None and time.monotonic() >= end:
                return None

    def __iter__(self):
        while True:
            try:
                event = self.next()
            except EndOfRun:
                return
            try:
                yield event
            finally:
                event.release()

    @property
    def counters(self):
        """A dictionary: events, bytes, overruns (spy), regained (from dead members)."""
        found = _library.evb_reader_counters(self._open_handle())
        return {name: getattr(found, name) for name, _ in _Counters._fields_}

    def close(self):
        """Leaves the group, to which unreleased events return, and unmaps the memory.

        If views on events exist, this happens when the last one is gone.
        """
        self._closed = True
        self._close_if_unused()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

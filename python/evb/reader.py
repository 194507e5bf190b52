# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Reads built events of a running evb: libevb-reader for Python.

A view on an event is valid until the event is released. After that the builder writes the next event
there, so copy what must live longer. The memory stays mapped as long as views on it exist, also after
Reader.close().

The man page evb-reader(3) describes groups, spies, and what happens when a process dies. One thread
at a time may use a reader.
"""

import ctypes
import errno
import functools
import os
import weakref
from typing import NamedTuple

from evb import library
from evb.events import Mep

__all__ = ["Decision", "EndOfRun", "Event", "Reader", "ReaderError"]

# Flags of an event.
INCOMPLETE, MALFORMED, FLUSHED, REPEATED, UNDECIDED = 0x1, 0x2, 0x4, 0x8, 0x10

GROUP, SPY = 0, 1


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


@functools.cache
def _library():
    pointer = ctypes.c_void_p
    return library.load("EVB_READER_LIBRARY", "libevb-reader.so.1", (
        ("evb_reader_open", ctypes.c_int, [pointer, ctypes.c_char_p, pointer]),
        ("evb_reader_next", ctypes.c_int, [pointer, pointer, ctypes.c_int]),
        ("evb_reader_decide", ctypes.c_int, [pointer, pointer, pointer]),
        ("evb_reader_end_with_run", None, [pointer]),
        ("evb_reader_release", ctypes.c_int, [pointer, pointer]),
        ("evb_event_intact", ctypes.c_bool, [pointer, pointer]),
        ("evb_reader_counters", _Counters, [pointer]),
        ("evb_reader_error", ctypes.c_char_p, [pointer]),
        ("evb_reader_close", None, [pointer])))


class Decision(NamedTuple):
    """What a member of a deciding group said of an event."""

    accept: bool
    lines: int  # 64 bits
    tag: int


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
            self._mep = Mep(self.data)
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
        return _library().evb_event_intact(self._reader._handle, ctypes.byref(self._event))

    def decide(self, accept, lines=0, tag=0):
        """Decides about the event, as a member of a deciding group, before it is released."""
        self._usable()
        said = _Decision(accept, lines, tag)
        self._reader._check(_library().evb_reader_decide(
            self._reader._handle, ctypes.byref(self._event), ctypes.byref(said)))

    def release(self):
        """Gives the slot back. A second call has no effect. A spy holds no slot."""
        self._mep = None
        if self.released or self._reader._closed:
            return
        if not self._reader._spy:
            self._reader._check(
                _library().evb_reader_release(self._reader._handle, ctypes.byref(self._event)))
        self.released = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()


class Reader:
    """The event rings of the appliance `name`, as a member of a group, or as a spy.

    end_with_run: the reader ends with the present run, also where the process of evb can begin
    another one. `with Reader(...) as reader:` closes it.
    """

    def __init__(self, name, group="main", spy=False, directory=None, end_with_run=False):
        self._handle, self._closed, self._n_views, self._spy = None, True, 0, spy
        handle = ctypes.c_void_p()
        options = _Options(SPY if spy else GROUP, group.encode(),
                           os.fsencode(directory) if directory else None)
        result = _library().evb_reader_open(ctypes.byref(handle), name.encode(),
                                            ctypes.byref(options))
        if result != 0:
            why = _library().evb_reader_error(handle).decode() if handle else os.strerror(-result)
            _library().evb_reader_close(handle)
            raise ReaderError(-result, why)
        self._handle, self._closed = handle, False
        if end_with_run:
            _library().evb_reader_end_with_run(handle)

    def _open_handle(self):
        if self._closed:
            raise ValueError("the reader is closed")
        return self._handle

    def _check(self, result):
        if result < 0:
            raise ReaderError(-result, _library().evb_reader_error(self._handle).decode())
        return result

    def _map(self, event):
        """A buffer at the event. The memory stays mapped as long as any view on it exists."""
        buffer = library.bytes_at(event.data, event.length)
        self._n_views += 1
        weakref.finalize(buffer, self._view_ended).atexit = False
        return buffer

    def _view_ended(self):
        self._n_views -= 1
        self._close_if_unused()

    def _close_if_unused(self):
        if self._closed and self._n_views == 0 and self._handle is not None:
            _library().evb_reader_close(self._handle)
            self._handle = None

    def next(self, timeout=None):
        """The next Event, or None when `timeout` seconds are over (None: no limit). Raises EndOfRun."""
        event = _Event()

        def step(milliseconds):
            result = _library().evb_reader_next(self._open_handle(), ctypes.byref(event),
                                                milliseconds)
            if result == -errno.EPIPE:
                raise EndOfRun
            return self._check(result) == 1

        return Event(self, event) if library.wait(step, timeout) else None

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
        found = _library().evb_reader_counters(self._open_handle())
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

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Gives data of readout boards to a running evb: libevb-producer for Python.

    with evb.Producer("farm", "input") as producer:
        for event_id, mfp in blocks:
            producer.put(source_id, event_id, mfp)    # waits for room
        producer.finish()

`reserve()` and `commit()` save the copy: numpy.frombuffer(producer.reserve(source, size), "u1") is an
array in the ring. Such a view may be used until its commit.

The man page evb_producer(3) describes what happens when a process dies. One thread at a time may
use a producer.
"""

import ctypes
import errno
import functools
import os
import time
from typing import NamedTuple

from evb import library

__all__ = ["Counters", "Info", "Producer", "ProducerError"]

INCOMPLETE = 0x1  # flag of a block: the source knows that data are missing


class ProducerError(OSError):
    """A function of the library failed: `errno`, and one line that says what and where."""


class Info(NamedTuple):
    """The ring."""

    size: int  # bytes of room for blocks
    max_block: int  # bytes of the largest block
    packing: int  # fragments per MFP that evb expects; 0: any
    sources: tuple  # ids
    connected: bool  # the process of evb lives


class Counters(NamedTuple):
    """What this producer has done."""

    blocks: int
    bytes: int
    full: int  # reservations that found no room
    waits: int


class _Options(ctypes.Structure):
    _fields_ = [("directory", ctypes.c_char_p), ("checked", ctypes.c_bool)]


class _Info(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64), ("max_block", ctypes.c_uint32),
                ("packing", ctypes.c_uint32), ("sources", ctypes.POINTER(ctypes.c_uint16)),
                ("n_sources", ctypes.c_uint), ("connected", ctypes.c_bool)]


class _Counters(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in Counters._fields]


@functools.cache
def _library():
    pointer, text = ctypes.c_void_p, ctypes.c_char_p
    return library.load("EVB_PRODUCER_LIBRARY", "libevb-producer.so.0", (
        ("evb_producer_open", ctypes.c_int, [pointer, text, text, pointer]),
        ("evb_producer_reserve", ctypes.c_int,
         [pointer, ctypes.c_uint16, ctypes.c_size_t, pointer]),
        ("evb_producer_commit", ctypes.c_int,
         [pointer, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint32]),
        ("evb_producer_cancel", None, [pointer]),
        ("evb_producer_finish", ctypes.c_int, [pointer]),
        ("evb_producer_wait", ctypes.c_int, [pointer, ctypes.c_size_t, ctypes.c_int]),
        ("evb_producer_event_fd", ctypes.c_int, [pointer, ctypes.c_size_t]),
        ("evb_producer_level", ctypes.c_uint, [pointer]),
        ("evb_producer_last", ctypes.c_int, [pointer, ctypes.c_uint16, pointer]),
        ("evb_producer_info", _Info, [pointer]),
        ("evb_producer_counters", _Counters, [pointer]),
        ("evb_producer_error", text, [pointer]),
        ("evb_producer_close", None, [pointer])))


class Producer:
    """One ring of an appliance. `with Producer(...) as producer:` closes it."""

    def __init__(self, appliance, ring, checked=False, directory=None):
        self._handle = None
        handle = ctypes.c_void_p()
        options = _Options(os.fsencode(directory) if directory else None, checked)
        result = _library().evb_producer_open(ctypes.byref(handle), appliance.encode(),
                                            ring.encode(), ctypes.byref(options))
        if result != 0:
            why = _library().evb_producer_error(handle).decode() if handle else os.strerror(-result)
            _library().evb_producer_close(handle)
            raise ProducerError(-result, why)
        self._handle = handle

    def _open_handle(self):
        if self._handle is None:
            raise ValueError("the producer is closed")
        return self._handle

    def _check(self, result):
        if result < 0:
            raise ProducerError(-result, _library().evb_producer_error(self._handle).decode())
        return result

    def reserve(self, source, size):
        """A writable memoryview of `size` bytes in the ring. Raises ProducerError with errno EAGAIN
        if the ring is full."""
        place = ctypes.c_void_p()
        self._check(_library().evb_producer_reserve(self._open_handle(), source, size,
                                                    ctypes.byref(place)))
        return memoryview(library.bytes_at(place.value, size)).cast("B")[:size]

    def commit(self, event_id, length, flags=0):
        """Commits the block that was reserved first."""
        self._check(_library().evb_producer_commit(self._open_handle(), event_id, length, flags))

    def cancel(self):
        """Gives up all reservations."""
        _library().evb_producer_cancel(self._open_handle())

    def put(self, source, event_id, data, flags=0, timeout=None):
        """Copies a block into the ring and commits it. Waits for room up to `timeout` seconds
        (None: no limit). Returns False if there was none."""
        data = memoryview(data).cast("B")
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                block = self.reserve(source, len(data))
                break
            except ProducerError as error:
                if error.errno not in (errno.EAGAIN, errno.ENOTCONN):
                    raise
            if not self.wait(len(data), None if end is None else max(0, end - time.monotonic())):
                return False
        block[:] = data
        self.commit(event_id, len(data), flags)
        return True

    def wait(self, size, timeout=None):
        """Whether a block of `size` bytes can be reserved within `timeout` seconds (None: no limit)."""
        return bool(library.wait(
            lambda milliseconds: self._check(
                _library().evb_producer_wait(self._open_handle(), size, milliseconds)), timeout))

    def event_fd(self, size):
        """An eventfd, readable when a block of `size` bytes can be reserved; each call arms it."""
        return self._check(_library().evb_producer_event_fd(self._open_handle(), size))

    def finish(self):
        """Says that no block will follow."""
        self._check(_library().evb_producer_finish(self._open_handle()))

    @property
    def level(self):
        """The highest of 0, 0.25, 0.5, 0.75 and 0.875 that was reached since the last look."""
        return _library().evb_producer_level(self._open_handle()) / 1000

    def last(self, source):
        """The event id that was committed last for a source, or None."""
        event_id = ctypes.c_uint64()
        found = self._check(_library().evb_producer_last(self._open_handle(), source,
                                                         ctypes.byref(event_id)))
        return event_id.value if found else None

    @property
    def info(self):
        info = _library().evb_producer_info(self._open_handle())
        return Info(info.size, info.max_block, info.packing,
                    tuple(info.sources[:info.n_sources]), info.connected)

    @property
    def counters(self):
        counters = _library().evb_producer_counters(self._open_handle())
        return Counters(*(getattr(counters, name) for name in Counters._fields))

    def close(self):
        """Leaves the ring to the next producer. A second call has no effect."""
        handle, self._handle = self._handle, None
        _library().evb_producer_close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

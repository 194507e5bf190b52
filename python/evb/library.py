# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The C libraries, loaded when they are first needed; and long waits in steps."""

import ctypes
import os
import time

MAP_STEP = 1 << 16  # bytes; ctypes keeps one type per size of a buffer for ever
_POLL_MS = 100  # a longer wait is made of such ones, between which Python handles signals


def load(variable, name, functions):
    """The library of this name, or the file that the environment variable names. functions:
    (name, type of the result, types of the arguments)."""
    path = os.environ.get(variable, name)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"{error}: install evb's libraries (meson install, then ldconfig), or set "
                          f"{variable} to the path of {name}") from error
    for function_name, result, arguments in functions:
        function = getattr(library, function_name)
        function.restype, function.argtypes = result, arguments
    return library


def bytes_at(address, size):
    """A ctypes array of at least `size` bytes at an address."""
    return (ctypes.c_ubyte * (-(-size // MAP_STEP) * MAP_STEP)).from_address(address)


def wait(step, timeout):
    """Calls step(ms) until it returns something true, or `timeout` seconds (None: no limit) are
    over. Returns what it returned last."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        most = _POLL_MS
        if end is not None:
            most = max(0, min(most, int(1000 * (end - time.monotonic()))))
        found = step(most)
        if found or (end is not None and time.monotonic() >= end):
            return found

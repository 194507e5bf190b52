# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""flesnet v1.0, the timeslice builder of CBM (github.com/cbm-fles/flesnet), over ZeroMQ in one process.

Four pattern generators are its inputs, in memory that nobody writes; one output puts timeslices of 100
microslices into shared memory, where its program tsclient takes them without reading the content.
"""

import os
import time

from evbtest import check_equal
from prometheus import free_port
from runs import Unavailable

INPUTS = 4
TIMESLICE = 100  # microslices of each input
SIZES = (200, 1000, 10_000)  # bytes of a microslice; it rounds down to a multiple of 8
CLIENT = "tsclient"  # stands beside the program
SECONDS = 4  # by which the longer run is longer than the short one, at least
_FEW = 100  # timeslices of the short run, most of which is its start


def client_of(program):
    """The path of its consumer. Raises Unavailable."""
    path = os.path.join(os.path.dirname(program), CLIENT)
    if not os.access(path, os.X_OK):
        raise Unavailable(f"{path} is missing: build the target {CLIENT}, too")
    return path


def arguments(program, size, timeslices, name, port):
    """Its command line; `name` is that of its shared memory."""
    inputs = [f"pgen://127.0.0.1/{index}?mean={size}&datasize=27&descsize=19"
              for index in range(INPUTS)]
    return [program, "-l", "4", "-t", "ZeroMQ", "--base-port", str(port),
            "-i", *map(str, range(INPUTS)), "-o", "0", "-I", *inputs,
            "-O", f"shm://127.0.0.1/{name}?datasize=27&descsize=19",
            "--timeslice-size", str(TIMESLICE), "-n", str(timeslices),
            "-e", f"{client_of(program)} -c %i -i shm:%s"]


def event_bytes(size):
    """Content of a timeslice."""
    return INPUTS * TIMESLICE * (size & ~7)


def _run(work, program, size, timeslices):
    """Seconds and CPU seconds of a whole run."""
    begin, cpu = time.monotonic(), os.times()
    process = work.start(*arguments(program, size, timeslices, work.name(), free_port()))
    process.finish()
    check_equal(process.status, 0, f"status of {process.describe()}")
    spent = os.times()
    return (time.monotonic() - begin, spent.children_user + spent.children_system -
            cpu.children_user - cpu.children_system)


def rate(size, runs):
    """What two whole runs, as (timeslices, seconds, CPU seconds), tell: start and end, which both have,
    are left out."""
    (few, few_s, few_cpu), (many, many_s, many_cpu) = runs
    data = (many - few) * event_bytes(size)
    built = data / (many_s - few_s)
    return {"built": built, "fragments": built / (size & ~7), "cpu_gb": 1e9 * (many_cpu - few_cpu) / data}


def more_of(timeslices, seconds, wanted_s):
    """How many timeslices to try next, if so many take so long and it should be longer."""
    return int(timeslices * min(20.0, max(2.0, 1.2 * wanted_s / max(seconds, 0.01))))


def measure(work, program, size, seconds=SECONDS):
    """Rates with microslices of a size."""
    start = _run(work, program, size, _FEW)
    n, took = _FEW, start
    while took[0] - start[0] < seconds:
        n = more_of(n, took[0] - start[0], seconds)
        took = _run(work, program, size, n)
    return rate(size, [(_FEW, *start), (n, *took)])

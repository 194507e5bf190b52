# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""How many bytes of events per second `evb convert` writes to HDF5 and reads from it."""

import os
import subprocess
import tempfile
import time

import evbtest
import make_meps
from runs import Table, Target

FRAGMENT = 100  # bytes
MEPS = 2  # that are generated, and repeated in the file
SIZE = 500_000_000  # bytes of the file
# Sources, events in a built event, and compression.
CASES = {"40 sources, 200 kB each": (40, 2000, "none"),
         "100 sources, 10 kB each": (100, 100, "none"),
         "100 sources, 10 kB each, zstd": (100, 100, "zstd"),
         "100 sources, 10 kB each, deflate": (100, 100, "deflate")}
QUICK = "100 sources, 10 kB each"
SLOW = {"none": 1, "zstd": 4, "deflate": 20}  # how much less is converted
TARGET = Target("500 MB/s", "to", lambda value: value >= 500e6)


def make_file(folder, sources, packing, size):
    """A file of MEPs, at least of so many bytes unless it is small."""
    path = os.path.join(folder, f"{sources}-{packing}-{size}.mep")
    if not os.path.exists(path):
        mfps = path + ".mfp"
        subprocess.run([evbtest.binary(), "gen", "--out", mfps, "--quiet", "--sources",
                        f"1-{sources}", "--packing", str(packing), "--events", str(MEPS), "--law",
                        "fixed", "--mean", str(FRAGMENT)], check=True, stdout=subprocess.DEVNULL)
        meps = b"".join(make_meps.meps_of(mfps)[:MEPS])
        os.unlink(mfps)
        with open(path, "wb") as file:
            for _ in range(max(1, size // len(meps))):
                file.write(meps)
    return path


def convert(bench, source, target, *options):
    """Bytes of the target, and seconds of the whole program, its start included."""
    begin = time.monotonic()
    done = subprocess.run(["taskset", "-c", str(bench.first), evbtest.binary(), "convert", *options,
                           source, target], capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    if done.returncode != 0:
        raise evbtest.Failure(done.stderr.strip())
    return os.path.getsize(target), seconds


def measure(bench, folder, sources, packing, compression):
    size = int(SIZE * min(1, bench.window) / SLOW[compression])
    bench.need_memory(3 * size)
    source = make_file(folder, sources, packing, size)
    target, back = os.path.join(folder, "to.h5"), os.path.join(folder, "back.mep")
    try:
        written, to = convert(bench, source, target, "--compression", compression)
        size, back_seconds = convert(bench, target, back)
    finally:
        for path in (target, back):
            if os.path.exists(path):
                os.unlink(path)
    return {"to": size / to, "back": size / back_seconds, "share": written / size}


def run_convert(bench):
    """Sub-suite `convert`."""
    cases = {QUICK: CASES[QUICK]} if bench.quick else CASES
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        found, missing = bench.interleave({
            name: lambda case=case: measure(bench, folder, *case) for name, case in cases.items()})
    table = Table("convert: built events to HDF5 and back, in memory", [
        ("to", "to HDF5", "bytes/s"), ("back", "back", "bytes/s"),
        ("share", "HDF5 file", "share")], [
            f"generated fragments of {FRAGMENT} bytes, which hardly compress; rates: bytes of the .mep "
            "file, with the start of the program; on one CPU, files in /dev/shm",
            "HDF5 file: its size against the .mep file's, with the index of all fragments"])
    for name, (_, _, compression) in cases.items():
        table.add(name, found.get(name, ()), missing=missing.get(name),
                  targets=[TARGET] if compression == "none" else ())
    return [table]

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""How many bytes of built events per second Python reads through numpy views on the ring."""

import json
import os
import subprocess
import sys
import tempfile

import evbtest
import make_meps
from runs import Table, Target

FRAGMENT = 100  # bytes
MEPS = 4  # in the file, which is published again and again
# Sources, events in a built event, and how the bytes are touched.
CASES = {"40 sources, 200 kB each, by source": (40, 2000, "source"),
         "100 sources, 10 kB each, by source": (100, 100, "source"),
         "100 sources, 10 kB each, whole event": (100, 100, "event"),
         "100 sources, 10 kB each, by fragment": (100, 100, "fragment"),
         "40 sources, 1 kB each, by source": (40, 10, "source")}
QUICK = "100 sources, 10 kB each, by source"
SLOW = {"fragment": 50, "source": 1, "event": 1}  # how much less is read
# Of smaller blocks, what Python does per block takes longer than reading their bytes.
LARGE = [name for name in CASES if "200 kB" in name or "whole event" in name]
TARGET = Target("1 GB/s", "rate", lambda value: value >= 1e9)


def make_file(folder, sources, packing):
    """A file of MEPs, and the bytes of one."""
    path = os.path.join(folder, f"{sources}-{packing}.mep")
    if not os.path.exists(path):
        subprocess.run([evbtest.binary(), "gen", "--out", path + ".mfp", "--quiet", "--sources",
                        f"1-{sources}", "--packing", str(packing), "--events", str(MEPS), "--law",
                        "fixed", "--mean", str(FRAGMENT)], check=True, stdout=subprocess.DEVNULL)
        with open(path, "wb") as file:
            file.write(b"".join(make_meps.meps_of(path + ".mfp")[:MEPS]))
    return path, os.path.getsize(path) // MEPS


def measure(bench, folder, sources, packing, by):
    """One run: the feeder on one CPU, Python on the other."""
    path, size = make_file(folder, sources, packing)
    bench.need_memory(64 * size)
    count = max(10, int(bench.window * 2e9 / size / SLOW[by]))
    feeder = os.path.join(bench.build, "tests", "unit", "evring", "ring_feeder")
    reader = os.path.join(evbtest.REPOSITORY, "tests", "perf", "touch_events.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
                   "PYTHONPATH": os.path.join(evbtest.REPOSITORY, "python"),
                   "EVB_READER_LIBRARY": os.path.join(bench.build, "lib", "evring",
                                                      "libevb-reader.so")}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as ring:
        feeding = subprocess.Popen(["taskset", "-c", str(bench.second), feeder, ring, path,
                                    str(count)], stdout=subprocess.PIPE)
        try:
            feeding.stdout.readline()
            done = subprocess.run(["taskset", "-c", str(bench.first), sys.executable, reader, ring,
                                   by], env=environment, capture_output=True, text=True,
                                  check=False)
        finally:
            feeding.kill()
            feeding.wait()
            feeding.stdout.close()
    if done.returncode != 0:
        raise evbtest.Failure(f"touch_events.py: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    return {"rate": found["bytes"] / found["seconds"],
            "per_cpu": found["bytes"] / found["cpu_seconds"],
            "event": 1e9 * found["cpu_seconds"] / found["events"]}


def run_python(bench):
    """Sub-suite `python`."""
    cases = {QUICK: CASES[QUICK]} if bench.quick else CASES
    with tempfile.TemporaryDirectory() as folder:
        found, missing = bench.interleave({
            name: lambda case=case: measure(bench, folder, *case) for name, case in cases.items()})
    table = Table("python: built events, every byte through numpy views on the ring", [
        ("rate", "touched", "bytes/s"), ("per_cpu", "per CPU", "bytes/s"),
        ("event", "an event", "us")], [
            "fragments of 100 bytes; numpy's maximum of all bytes, while another CPU copies the next "
            "events into the ring",
            "touched: per second of the clock; per CPU: per second of CPU time of Python"])
    for name, (_, _, by) in cases.items():
        table.add(name, found.get(name, ()), missing=missing.get(name),
                  targets=[TARGET] if name in LARGE else ())
    return [table]

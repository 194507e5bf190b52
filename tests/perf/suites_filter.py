# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""How many events the filters of examples/filter decide about per second and core, and what the
iterator of built events costs."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile

import evbtest
import make_meps
from runs import Table

EVENTS = 1000  # in the file, which is published again and again
TRACKS = (5, 15, 50)  # on average; noise hits are a third more
PACKING = 10  # events in a built event
MEPS = {"1238 sources, 1 fragment": (1238, 1), "1238 sources, 100 fragments": (1238, 100),
        "40 sources, 1000 fragments": (40, 1000)}
RATE = re.compile(r"(\d+) events per second of CPU time")


def _programs(bench):
    programs = {"C": [os.path.join(bench.build, "examples", "filter", "filter")]}
    if importlib.util.find_spec("numpy"):
        programs["Python"] = [sys.executable,
                              os.path.join(evbtest.REPOSITORY, "examples", "filter", "filter.py")]
    return programs


def _environment(bench):
    # One thread of numpy, for the figure is that of a core.
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.path.join(evbtest.REPOSITORY, "python"),
            "EVB_READER_LIBRARY": os.path.join(bench.build, "lib", "evring", "libevb-reader.so")}


def make_file(bench, folder, tracks):
    """The path of a file of MEPs with so many tracks per event."""
    path = os.path.join(folder, f"{tracks}.mep")
    hits = os.path.join(folder, f"{tracks}.mfp")
    subprocess.run([os.path.join(bench.build, "examples", "filter", "make_hits"), hits,
                    "--events", str(EVENTS), "--packing", str(PACKING), "--tracks", str(tracks),
                    "--noise", str(tracks * 4 // 3)], check=True, stdout=subprocess.DEVNULL)
    with open(path, "wb") as file:
        file.write(b"".join(make_meps.meps_of(hits)))
    return path


def measure(bench, command, path, events):
    """One run: the feeder on one CPU, the filter on the other."""
    feeder = os.path.join(bench.build, "tests", "unit", "evring", "ring_feeder")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as ring:
        feeding = subprocess.Popen(
            ["taskset", "-c", str(bench.second), feeder, ring, path, str(events // PACKING)],
            stdout=subprocess.PIPE)
        try:
            feeding.stdout.readline()
            done = subprocess.run(
                ["taskset", "-c", str(bench.first), *command, "--directory", ring, "feeder"],
                env=_environment(bench), capture_output=True, text=True, check=False)
        finally:
            feeding.kill()
            feeding.wait()
            feeding.stdout.close()
    found = RATE.search(done.stderr)
    if done.returncode != 0 or not found:
        raise evbtest.Failure(f"{' '.join(command)}: {done.stderr.strip()}")
    return {"rate": float(found.group(1)), "event_ns": 1e9 / float(found.group(1))}


def run_filter(bench):
    """Sub-suite `filter`."""
    tracks = TRACKS[1:2] if bench.quick else TRACKS
    table = Table("filter: examples/filter, built events of 10 events", [
        ("rate", "per core", "events/s"), ("event_ns", "an event", "us")], [
            "CPU time from the built event in its slot to the decision, without the wait for it"])
    with tempfile.TemporaryDirectory() as folder:
        files = {n: make_file(bench, folder, n) for n in tracks}
        experiments = {
            f"{language}, {n} tracks": lambda command=command, n=n, language=language: measure(
                bench, command, files[n],
                int(bench.window * (20_000 if language == "C" else 1000)))
            for language, command in _programs(bench).items() for n in tracks}
        found, missing = bench.interleave(experiments)
    for name in experiments:
        table.add(name, found.get(name, ()), missing=missing.get(name))
    return [table, _iterator(bench)]


def _iterator(bench):
    def cost(sources, fragments):
        return bench.tool("mep_cost", "--cpu", bench.first, "--seconds", bench.window / 10,
                          "--size", bench.cold_bytes, "--sources", sources,
                          "--fragments", fragments)

    found, missing = bench.interleave({name: lambda of=of: cost(*of)
                                       for name, of in MEPS.items()})
    table = Table("filter: evb_mep.h over built events in memory", [
        ("source_ns", "a source", "ns"), ("fragment_ns", "a fragment", "ns")], [
            "fragments of 100 bytes, which are not read; the time of a source is that of all its "
            "fragments"])
    for name in MEPS:
        for order in ("source by source", "event by event"):
            table.add(f"{name}, {order}", [one[order] for one in found.get(name, ())],
                      missing=missing.get(name))
    return table

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The Python package against the running program: what its telemetry client, its files and its
consumers see is what the program says; a consumer that is killed at any moment loses nothing.

EVB_SEED changes the moments.
"""

import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python")
sys.path.insert(0, PACKAGE)

import appliance
import evb
import evbtest
import judge
import test_kill
from evbtest import check, check_equal

SEED = int(os.environ.get("EVB_SEED", "1"))
KILLS = 5
ENVIRONMENT = {"PYTHONPATH": PACKAGE}


def need(*modules):
    for module in modules:
        if not importlib.util.find_spec(module):
            evbtest.skip(f"python3-{module} is not installed")
    if not os.environ.get("EVB_READER_LIBRARY"):
        evbtest.skip("EVB_READER_LIBRARY does not name the library")


def start_python(work, script, *arguments):
    return work.start(sys.executable, os.path.join(HERE, script), *arguments,
                      environment=ENVIRONMENT)


# --- telemetry ---------------------------------------------------------------------------------


def stat(work, *arguments):
    return json.loads(work.evb("stat", "--json", *arguments).output())


def test_telemetry():
    with evbtest.Workspace() as work:
        # More sources than a page of names holds.
        configuration = appliance.generated(work, sources=600, count=20, size=20,
                                            event_ring={"groups": ["holds"]}, writer=None)
        with evb_run_held(work, configuration) as run, evb.Telemetry() as telemetry:
            check_equal(evb.running(), [run.name], "running appliances")
            check_equal(telemetry.name, run.name, "the only one")
            found = telemetry.summary()
            expected = stat(work, "--name", run.name, "/evb/summary")["/evb/summary"]
            check_equal(found, expected, "summary")
            check(found["events_complete"] == 20, f"events: {found}")
            check_equal(telemetry.list("source"), list(range(0x1001, 0x1001 + 600)), "sources")
            [(name, builder)] = telemetry.all("builder").items()
            check_equal((name, builder["events_complete"]), ("b0", 20), "the builder")
            check_equal(telemetry.query("/evb/nothing"), None, "an unknown command")
            refused(lambda: telemetry.query("/evb/role/info", "x"), "no role")
            refused(lambda: telemetry.list("nothing"), "no group")
        check_equal(evb.running(), [], "running appliances afterwards")
        refused(evb.Telemetry, "0 are running")


class evb_run_held:
    """A run whose events nobody releases before the end, so that its counters stand still."""

    def __init__(self, work, configuration):
        self._work, self._configuration = work, configuration

    def __enter__(self):
        self._run = self._work.run(self._configuration)
        with evb.Telemetry(self._run.name) as telemetry:
            self._run.wait_until(lambda: telemetry.summary()["events_complete"] == 20, "events")
        return self._run

    def __exit__(self, *_):
        with evb.Reader(self._run.name, "holds") as reader:
            check_equal(sum(1 for _ in reader), 20, "events")
        self._run.end()


def refused(function, text):
    try:
        function()
    except evb.TelemetryError as error:
        check(text in str(error), f"{error!r} does not say {text!r}")
    else:
        raise evbtest.Failure(f"not refused: {text}")


# --- files -------------------------------------------------------------------------------------


def dump(work, path):
    lines = work.evb("dump", "--json", "--sources", "--fragments", "--hex", path).lines
    return [line for line in map(json.loads, lines) if line["kind"] in ("mep", "mfp", "mdf")]


def fragments_of(one):
    return [(fragment["event_id"], fragment["type"], fragment["payload"])
            for fragment in one.get("fragments", ())]


def check_sources(sources, lines):
    for source, line in zip(sources, lines, strict=True):
        check_equal((source.id, source.event_id, len(source), source.version),
                    (line["source_id"], line["event_id"], line["n_fragments"], line["version"]),
                    "an MFP")
        check_equal([(fragment.event_id, fragment.type, fragment.data.tobytes().hex())
                     for fragment in source], fragments_of(line), "fragments")


def test_files_are_what_dump_says():
    need("numpy")
    with evbtest.Workspace() as work:
        work.run(appliance.generated(work, sources=5, packing=3, count=40, size=60)).end()
        [mep] = judge.files(work.path("events"))
        mfp = work.path("some.mfp")
        work.evb("gen", "--out", mfp, "--sources", "1-3", "--packing", "4", "--events", "20")
        with evb.open_file(mep) as file:
            for found, line in zip(file, dump(work, mep), strict=True):
                check_equal((found.event_id, len(found.data)),
                            (line["event_id"], line["size_bytes"]), "a MEP")
                check_sources(found, [{**source, "event_id": line["event_id"]}
                                      for source in line["sources"]])
        with evb.open_file(mfp) as file:
            check_sources(file, dump(work, mfp))


def test_real_files_are_what_dump_says():
    need("numpy")
    with evbtest.Workspace() as work:
        path = evbtest.shared_file("data/lhcb-run3-two-events.mdf")
        with evb.open_file(path) as file:
            for found, line in zip(file, dump(work, path), strict=True):
                check_equal((found.run, found.orbit, found.bunch),
                            (line["run"], line["orbit"], line["bunch"]), "a record")
                check_equal([(bank.source_id, bank.type, bank.version, bank.data.tobytes().hex())
                             for bank in found],
                            [(bank["source_id"], bank["type"], bank["version"], bank["payload"])
                             for bank in line["banks"]], "banks")


# --- consumers ---------------------------------------------------------------------------------


def start_consumer(work, name, ledger):
    consumer = start_python(work, "ledger_consumer.py", name, "main", ledger, "6")
    consumer.wait_for_line("joined")
    return consumer


def test_consumers_killed():
    need("numpy")
    draw = random.Random(SEED)
    with evbtest.Workspace() as work:
        ledger = work.path("ledger")
        evb_run = work.run(test_kill.configuration(work, 0, "main"))
        consumers = [start_consumer(work, evb_run.name, ledger) for _ in range(2)]
        killed = set()
        for _ in range(KILLS):
            test_kill.random_sleep(draw, 0.3)
            victim = consumers.pop(draw.randrange(len(consumers)))
            victim.kill()
            killed.add(victim.pid)
            consumers.append(start_consumer(work, evb_run.name, ledger))
        summary = evb_run.drain()
        for consumer in consumers:
            consumer.finish()
            check_equal(consumer.status, 0, f"status of {consumer.describe()}")
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {}, "drops")
        test_kill.check_ledger(ledger, killed, test_kill.event_ids(test_kill.complete(summary)))


# --- the package -------------------------------------------------------------------------------


def test_pip_installs_it():
    """Without a network, and without a change to the source tree."""
    if not importlib.util.find_spec("pip"):
        evbtest.skip("python3-pip is not installed")
    with evbtest.Workspace() as work:
        package = shutil.copytree(PACKAGE, work.path("python"),
                                  ignore=shutil.ignore_patterns("__pycache__"))
        before = sorted(os.listdir(package))
        target = work.path("target")
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-cache-dir",
             "--target", target, package], capture_output=True, text=True, check=False,
            cwd=work.directory)
        check_equal(done.returncode, 0, f"status of pip: {done.stdout}{done.stderr}")
        check_equal(sorted(set(os.listdir(package)) - {"__pycache__"}), before, "files")
        for name in os.listdir(os.path.join(PACKAGE, "evb")):
            if name.endswith(".py"):
                check(os.path.exists(os.path.join(target, "evb", name)), f"{name} is not installed")


if __name__ == "__main__":
    evbtest.main()

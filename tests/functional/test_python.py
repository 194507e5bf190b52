# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The Python package against the running program: what its telemetry client, its files and its
consumers see is what the program says; a consumer or producer that is killed at any moment loses
nothing; produced events are built byte for byte, and decisions arrive.

EVB_SEED changes the moments.
"""

import concurrent.futures
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
import ejfat_sender
import evb
import evb_decode
import evbtest
import judge
import test_kill
import test_round_trip
from evbtest import check, check_equal

SEED = int(os.environ.get("EVB_SEED", "1"))
KILLS = 4
EVENTS = 600
MONITOR = os.path.join(evbtest.REPOSITORY, "examples", "monitor", "monitor.py")
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
                                            event_ring={"groups": ["holds"]}, writer=None,
                                            events={"drain_timeout": "60s"})  # for what is done here
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


# --- producers and decisions -------------------------------------------------------------------


def accepted(event_id):
    """A decision: (accept, lines, tag)."""
    return event_id % 3 != 0, 1 << event_id % 64, event_id & 0xFFFF


def produce(name, stream):
    """All blocks of a stream, one event after the other, in place and by copy."""
    with evb.Producer(name, "boards", checked=True) as producer:
        for index, blocks in enumerate(stream.blocks):
            for source, block in blocks.items():
                if index % 2:
                    producer.put(source, stream.event_id(index), block)
                    continue
                check(producer.wait(len(block), evbtest.PATIENCE_S), "no room in the ring")
                producer.reserve(source, len(block))[:] = block
                producer.commit(stream.event_id(index), len(block))
        producer.finish()


def decide(name):
    """The ids of all events, in the order in which they came."""
    ids = []
    with evb.Reader(name, "filter") as reader:
        for event in reader:
            event.decide(*accepted(event.event_id))
            ids.append(event.event_id)
    return ids


def read_decisions(name):
    with evb.Reader(name, "sees") as reader:
        return {event.event_id: event.decision for event in reader}


def test_produced_events_and_decisions():
    """From a producer in Python to files: the accepted events, byte for byte."""
    need("numpy")
    stream = ejfat_sender.Stream(range(1, 4), EVENTS, packing=2, size=(20, 900))
    with evbtest.Workspace() as work, concurrent.futures.ThreadPoolExecutor(3) as threads:
        configuration = appliance.builder(
            work, {"name": "wire", "profile": "ring", "mtu": 1500, "address": "10.0.0.1/24"}, stream,
            groups=[{"name": "filter", "decides": True}, {"name": "sees", "after": "filter"}],
            results=[{"name": "results", "group": "filter", "directory": work.folder("results")}],
            generators=[{"name": "boards", "port": "wire", "kind": "producer",
                         "producer": {"size": "1MiB", "max_block": "64KiB"}}])
        configuration["writers"][0]["after"] = "filter"
        run = work.run(configuration)
        decided, seen = threads.submit(decide, run.name), threads.submit(read_decisions, run.name)
        produced = threads.submit(produce, run.name, stream)
        produced.result()
        summary = run.end()
        check_equal(sorted(decided.result()), sorted(stream.expected()), "events for the filter")
        expected = {event_id: blocks for event_id, blocks in stream.expected().items()
                    if accepted(event_id)[0]}
        check_equal(seen.result(), {event_id: evb.Decision(*accepted(event_id))
                                    for event_id in expected}, "decisions")
        judge.check_files(work.path("events"), expected)
        check_results(work.path("results"), stream)
        check_equal(evbtest.drops(summary), {}, "drops")


def check_results(folder, stream):
    [path] = judge.files(folder, "decisions")
    results = evb.Results(evb_decode.read(path))
    check_equal((results.packing, results.first), (stream.packing, 0), "header of the results")
    check_equal([(one.event_id, (bool(one.flags & 1), one.lines, one.tag)) for one in results],
                [(event_id, accepted(event_id)) for event_id in sorted(stream.expected())],
                "results")


def test_producer_killed():
    """What a producer committed before its death is sent, and the next one goes on behind it."""
    stream = ejfat_sender.Stream(range(1, 4), EVENTS, packing=2, size=(20, 900))
    with evbtest.Workspace() as work:
        configuration = appliance.builder(
            work, {"name": "wire", "profile": "ring", "mtu": 1500, "address": "10.0.0.1/24"}, stream,
            generators=[{"name": "boards", "port": "wire", "kind": "producer",
                         "producer": {"size": "1MiB", "max_block": "64KiB"}}])
        blocks = work.path("blocks.mfp")
        with open(blocks, "wb") as file:
            file.write(b"".join(block for event in stream.blocks for block in event.values()))
        run = work.run(configuration)
        draw = random.Random(SEED)
        for _ in range(KILLS):
            producer = start_python(work, "producer.py", run.name, "boards", blocks)
            producer.wait_for_line("block")
            test_kill.random_sleep(draw, 0.02)
            producer.kill()
        last = start_python(work, "producer.py", run.name, "boards", blocks, "finish")
        run.end()
        last.finish()
        check_equal(last.status, 0, f"status of {last.describe()}")
        judge.check_files(work.path("events"), stream.expected())


# --- examples ----------------------------------------------------------------------------------


def test_monitor_of_real_events():
    """The example draws the sizes that the events of the file have."""
    need("numpy", "matplotlib")
    original = evbtest.shared_file("data/lhcb-minbias.mdf")
    sizes = [sum(len(bank.data) for bank in record) for record in evb.open_file(original)]
    with evbtest.Workspace() as work:
        sources = test_round_trip.source_map(work, original)
        run = work.run({
            "name": work.name(),
            "ports": [{"name": "wire", "profile": "ring", "mtu": 9000, "address": "10.0.0.1/24"}],
            "sources": {"ids": {"source_map": sources}, "packing": 5},
            "builders": [{"name": "b0", "slots": 16, "slot_size": "8MiB"}],
            "event_ring": {"groups": ["monitor"]},
            # The end of the run waits for the monitor, which first loads matplotlib.
            "events": {"deadline": "30s", "drain_timeout": "60s"},
            "generators": [{"name": "boards", "port": "wire", "kind": "mdf", "file": original,
                            "events": 3 * len(sizes) // 5}]})
        picture = work.path("sizes.png")
        monitor = start_python(work, MONITOR, run.name, "--group", "monitor", "--out", picture)
        run.end()
        monitor.finish()
        check_equal(monitor.status, 0, f"status of {monitor.describe()}")
        check_equal(monitor.lines, [
            f"{3 * len(sizes)} events, 0 incomplete; {min(sizes)} to {max(sizes)} bytes, "
            f"{sum(sizes) / len(sizes):.0f} on average"], "what the monitor says")
        check_drawn(picture)


def check_drawn(path):
    """The file is a picture with bars in the first colour of matplotlib."""
    from matplotlib import colors, image
    pixels = image.imread(path)[:, :, :3]
    bars = (abs(pixels - colors.to_rgb("C0")) < 0.01).all(axis=2).mean()
    check(0.01 < bars < 0.6, f"{bars:.1%} of the picture are bars")


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

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What a producer ring carries: blocks that a process fills by memcpy and an appliance takes; and
what a readout node copies that sends them through a memif."""

import json
import os
import time

import evbtest
import telemetry
from paths import Memif
from runs import Load, Table, Target, memory_of, slots_for

BLOCKS = (100, 1000, 10_000, 100_000, 200_000)
GOAL_BYTES = 40e9 / 8  # bytes/s of blocks of 200 kB
GOAL_BLOCKS = 50_000  # blocks/s; of 100 kB they are 40 Gb/s
GOAL_SMALL = 1e6  # blocks/s of 100 B

TARGETS = {
    100: Target("1 million blocks/s", "one rate", lambda value: value >= GOAL_SMALL),
    100_000: Target("50 000 blocks/s", "one rate", lambda value: value >= GOAL_BLOCKS),
    200_000: Target("40 Gb/s", "one", lambda value: value >= GOAL_BYTES),
}


def run_producer(bench):
    """Sub-suite `producer`."""
    return [_rings(bench), _memif(bench)]


# --- the ring alone ----------------------------------------------------------------------------


def _rings(bench):
    cpus = [bench.first] + ([bench.second] if bench.second != bench.first else [])
    found, missing = bench.interleave({"producer": lambda: bench.tool(
        "producer_cost", "--cpus", ",".join(map(str, cpus)), "--blocks",
        ",".join(map(str, BLOCKS)), "--size", bench.cold_bytes, "--seconds",
        min(0.3, bench.window / 4))})
    table = Table("producer: memory in no cache to a producer ring", [
        ("one rate", "one CPU", "packets/s"), ("one", "one CPU", "bytes/s"),
        ("copy", "memcpy alone", "bytes/s"), ("two rate", "two CPUs", "packets/s"),
        ("two", "two CPUs", "bytes/s")], [
        "one CPU: producer and appliance in turn, and memcpy alone, per second of CPU time; two "
        "CPUs: one each, per second of the clock",
        "M/s: millions of blocks per second"])
    for number, block in enumerate(BLOCKS):
        results = [_figures(one["blocks"][number]) for one in found["producer"]]
        table.add(f"{block} B", results, {"block_bytes": block}, missing.get("producer"),
                  [TARGETS[block]] if block in TARGETS else ())
    return table


def _figures(one):
    figures = {}
    for name in ("copy", "one", "two"):
        if name in one:
            figures[name] = one[name]["bytes_per_second"]
            figures[f"{name} rate"] = one[name]["blocks_per_second"]
    return figures


# --- a producer, a readout node, a memif, and a node that builds --------------------------------

RING, BUILDER, READOUT = "boards", "m", "r"
SOURCES = 4
IN_PLACE = 1e-3  # bytes copied per byte of 200 kB MFPs: their headers of 20 bytes are 1e-4


def _system(bench, work, load, kind):
    """Two nodes, joined by a memif: one grants and builds, the other sends what is in a producer
    ring, or what it made itself."""
    def node(name, role, roles, cpu, address, **more):
        return {"name": name, "lcores": [{"cpu": cpu, "roles": ["rx.wire", "control", *roles]}],
                "ports": [{"name": "wire", "mtu": load.mtu, "link_rate": "1Tb/s", "link_timeout": 0,
                           **Memif.port(role, work.path("memif.sock"), address)}], **more}

    generator = {"name": RING, "port": "wire", "ids": [f"1-{SOURCES}"]}
    if kind == "producer":
        generator.update(kind=kind, producer={"size": bench.cold_bytes, "max_block": "1MiB"})
    else:
        generator.update(size={"law": "fixed", "mean": load.fragment}, events=_events(bench, load),
                         variants=max(1, bench.cold_bytes // load.event_bytes))
    slots = slots_for(load, bench.cold_bytes)
    bench.need_memory(2 * bench.cold_bytes + memory_of(load, slots, 1))
    return {
        "name": work.name(),
        "sources": {"ids": [f"1-{SOURCES}"], "packing": load.packing},
        "events": {"deadline": "5s", "drain_timeout": "5s"},
        "event_manager": {"shaping": "none", "heartbeat_timeout": "5s"},
        "nodes": [
            node(BUILDER, "server", ["builder.b"], bench.second, "10.0.0.1", manager=True,
                 builders=[{"name": "b", "slots": slots, "slot_size": load.slot_bytes}]),
            node(READOUT, "client", [f"readout.{RING}"], bench.first, "10.0.0.2",
                 generators=[generator])]}


def _events(bench, load):
    return int(bench.window * 4e9 / load.event_bytes)


def _sample(client):
    lcore = client.query("/evb/lcore/info", "1")
    cycles = [lcore[f"{kind}_cycles"] for kind in ("busy", "idle", "backpressured")]
    return time.monotonic(), client.query("/evb/readout/info", RING)["payload_bytes"], cycles


def _rate(client, total):
    """Of the middle of a run that sends so many bytes: {bytes/s, bytes/s of CPU time at work}."""
    end, samples = time.monotonic() + evbtest.PATIENCE_S, []
    while not samples or samples[-1][1] < 0.9 * total:
        evbtest.check(time.monotonic() < end, f"sent {samples[-1:]} of {total} bytes")
        samples.append(_sample(client))
        time.sleep(0.01)
    first = next(sample for sample in samples if sample[1] > 0.1 * total)
    seconds, sent = (samples[-1][i] - first[i] for i in (0, 1))
    cycles = [after - before for before, after in zip(first[2], samples[-1][2])]
    evbtest.check(seconds > 0 and cycles[0] > 0, f"too short: {sent} bytes in {seconds:.3f} s")
    return {"sent": sent / seconds, "per_cpu": sent / seconds * sum(cycles) / cycles[0]}


def _send(bench, load, kind):
    bench.need_two_cpus()
    total = _events(bench, load) * load.event_bytes
    with evbtest.Workspace() as work:
        configuration = _system(bench, work, load, kind)
        file, watched = work.write("system.json", configuration), work.path("watched")
        watch = {"LD_PRELOAD": os.path.join(bench.build, "tests", "perf", "libtx_watch.so"),
                 "EVB_TX_WATCH": watched}
        nodes = {}
        for name, environment in ((BUILDER, None), (READOUT, watch)):  # the server first
            nodes[name] = work.start(evbtest.binary(), "run", file, "--node", name, "--summary",
                                     work.path(name), environment=environment,
                                     summary=work.path(name))
            nodes[name].wait_for_line("running")
        if kind == "producer":
            tool = bench.start_tool(
                work, "spiller", "--appliance", f"{configuration['name']}-{READOUT}", "--ring",
                RING, "--sources", SOURCES, "--packing", load.packing, "--fragment", load.fragment,
                "--events", _events(bench, load), "--duration", 0, "--period", 0, "--spills", 1)
        with telemetry.Telemetry(f"{configuration['name']}-{READOUT}") as client:
            result = _rate(client, total)
        if kind == "producer":
            bench.finish_tool(tool)
        complete = {name: node.end() for name, node in nodes.items()}[BUILDER]["events"]["complete"]
        with open(watched, encoding="ascii") as report:
            seen = json.load(report)
    return {**result, "lost": _events(bench, load) - complete,
            "copied": (total - seen["in_ring"]) / total,
            "written": seen["elsewhere"] / (seen["elsewhere"] + seen["in_ring"])}


def _memif(bench):
    loads = {(kind, mtu): Load.of(mtu=mtu, sources=SOURCES)
             for kind, mtu in (("producer", 9000), ("producer", 1500), ("generator", 9000))}
    experiments = {"copy": lambda: bench.copy_bound(sorted({load.payload
                                                            for load in loads.values()}))}
    for (kind, mtu), load in loads.items():
        experiments[f"{kind}, segment {mtu}"] = \
            lambda load=load, kind=kind: _send(bench, load, kind)
    found, missing = bench.interleave(experiments)
    table = Table("producer: ring, readout node, memif, node that builds; MFPs of 200 kB", [
        ("sent", "sent", "bytes/s"), ("per_cpu", "readout", "bytes/s"),
        ("copy", "copy bound", "bytes/s"), ("of_copy", "of copy", "share"),
        ("copied", "copied", "share"), ("written", "not in ring", "share"), ("lost", "lost", "")], [
            "readout: per second in which the readout node's lcore works; the driver of memif "
            "copies each packet within that: the copy bound is one of these",
            "copied: bytes of blocks that the readout node passed to the driver from elsewhere "
            "than the producer ring, per byte of blocks; seen at the driver, packet by packet",
            "not in ring: the same of all bytes that it passed on: with headers of packets, and "
            "control messages",
            "generator: the same node sends what it made itself; nothing of that is in a ring"])
    for (kind, mtu), load in loads.items():
        name = f"{kind}, segment {mtu}"
        results = [{**one, "copy": bench.best_copy(bound[load.payload]),
                    "of_copy": one["per_cpu"] / bench.best_copy(bound[load.payload])}
                   for one, bound in zip(found[name], found["copy"])]
        table.add(name, results, load.describe(), missing.get(name), [
                      Target("none lost", "lost", lambda lost: lost == 0, True),
                      Target("no copy of its own", "copied", lambda share: share <= IN_PLACE, True)
                  ] if kind == "producer" else ())
    return table

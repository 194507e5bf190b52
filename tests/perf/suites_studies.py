# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What docs/planning.md says of the event manager: its load in simulated systems of many nodes."""

import json

import evbtest
from runs import Table

NODES, NODES_QUICK = (64, 256, 512), (16,)
RATE = 30000  # events/s
WARM_UP, DURATION = "5ms", "8ms"


def _node(number):
    """Node 0 is the manager alone; each other one has a source and a builder."""
    node = {"name": f"n{number}",
            "ports": [{"name": "wire", "profile": "mlx5", "device": "0000:81:00.0", "mtu": 9000,
                       "address": f"10.9.{number // 200}.{number % 200 + 1}/16",
                       "link_rate": "100Gb/s"}]}
    if number == 0:
        return {**node, "manager": True, "builders": []}
    return {**node, "generators": [{"name": "boards", "port": "wire", "ids": [number],
                                    "rate": RATE, "size": {"law": "fixed", "mean": 200}}]}


def _system(name, count, policy):
    return {"name": name, "sources": {"ids": [f"1-{count}"]},
            "builders": [{"name": "b0", "slots": 64, "slot_size": "4MiB", "group": "auto"}],
            "idle": {"policy": policy},
            "event_manager": {"source_buffer": 4096},
            "nodes": [_node(number) for number in range(count + 1)],
            "fabric": {"topology": "switch", "frame": "9KiB", "warm_up": WARM_UP,
                       "duration": DURATION, "traffic": {"kind": "system"}}}


def _simulate(count, policy):
    with evbtest.Workspace() as work:
        path = work.path("result.json")
        file = work.write("system.json", _system(work.name(), count, policy))
        # Nodes have gigabytes of memory that they never touch, unless malloc() fills it.
        process = work.start(evbtest.binary(), "sim", file, "--json", path,
                             environment={"MALLOC_PERTURB_": "0"})
        process.finish(3600)
        with open(path, encoding="utf-8") as stream:
            result = json.load(stream)
    seconds = result["measured_ns"] / 1e9
    row = {"complete": result["system"]["events_complete"] / seconds,
           "published": result["system"]["published"]["p50_ns"]}
    for port in result["ports"]:
        for end, way in (("from", "sent"), ("to", "received")):
            if port[end] == "host 0":
                row[f"{way}_frames"] = port["packets"] / seconds
                row[f"{way}_share"] = port["busy_ns"] / result["measured_ns"]
    return row


def run_studies(bench):
    """Sub-suite `studies`. One run per row: a simulation repeats itself."""
    table = Table(
        f"studies: the event manager's port at {RATE} events/s, folded nodes, 100 Gb/s",
        [("complete", "complete", "/s"), ("sent_frames", "sent", "packets/s"),
         ("sent_share", "of the link", "share"), ("received_frames", "received", "packets/s"),
         ("received_share", "of the link", "share"), ("published", "announced to published", "us")],
        [f"simulated: {DURATION}, the first {WARM_UP} not counted; idle.policy as named"])
    for count in NODES_QUICK if bench.quick else NODES:
        for policy in ("poll", "adaptive"):
            table.add(f"{count} nodes, {policy}", [_simulate(count, policy)])
    return [table]

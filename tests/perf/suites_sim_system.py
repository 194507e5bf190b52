# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What a simulation of a system costs, and what it says of systems that are measured, too."""

import json
import os
import statistics

import bottleneck
import evbtest
import suites_cluster
from runs import Table, Target

NODES, NODES_QUICK = (8, 64, 256, 512), (8, 64)
SIMULATED_S = 30  # of the system, behind WARMUP_S
WARMUP_S = 5
NEAR = 0.03  # of the goodput: how far simulation and measurement may differ


def _cost(bench):
    nodes = NODES_QUICK if bench.quick else NODES
    names = {f"{count} nodes, {mode}": (count, mode) for mode in ("push", "pull")
             for count in nodes if mode == "push" or count <= NODES_QUICK[-1]}
    # One process per case: its memory is that of the case.
    found, missing = bench.interleave({
        name: lambda count=count, mode=mode: bench.tool(
            "sim_system_cost", "--cpu", bench.first, "--nodes", count, "--mode", mode)["cases"][0]
        for name, (count, mode) in names.items()})
    table = Table(
        "sim: folded nodes with links of 100 Gb/s at one switch, events of 200 B x 100 per source",
        [("slower", "CPU ms per simulated ms", ""), ("hops", "packet hops", "/s"),
         ("node_bytes", "memory, node", "MB"), ("open_s", "s until the start", ""),
         ("events", "events", "/s"), ("link_share", "link", "share"),
         ("control_share", "control", "share")],
        ["2 ms are simulated behind 1 ms; rates of events are per simulated second",
         "CPU: of one core; memory: of the process, per node"])
    for name in names:
        table.add(name, found.get(name, ()), missing=missing.get(name))
    return table


def simulate(tool, layout, send_rate, burst=bottleneck.BURST):
    """The layout of a system behind narrow links, simulated from its configuration. send_rate: of
    nodes of sources, bits/s."""
    with evbtest.Workspace() as work:
        path = work.path("system.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(layout.configuration(work.name()), file)
        return tool("sim_system_cost", "--file", path, "--queue", layout.queue, "--burst", burst,
                    "--others", send_rate, "--warmup", WARMUP_S, "--seconds", SIMULATED_S)


def _beside(bench):
    suites_cluster.need_root()
    rows = dict(list(suites_cluster.INCAST.items())[:2]) if bench.quick else suites_cluster.INCAST
    found, missing = bench.interleave({
        name: lambda layout=layout: suites_cluster.run_layout(bench, layout, 5)
        for name, layout in rows.items()})
    table = Table(
        "sim: incast, measured and simulated", [
            ("wire_share", "goodput", "share"), ("sim_wire_share", "simulated", "share"),
            ("complete", "complete", "/s"), ("sim_complete", "simulated", "/s"),
            ("dropped", "lost packets", "/s"), ("sim_dropped", "simulated", "/s"),
            ("control_share", "control", "share"), ("sim_control_share", "simulated", "share"),
            ("send_rate", "sources send", "bit/s"),
            ("near", "goodput, simulated of measured", "")], [
            "measured: as `incast`; simulated: the same configuration, the same queue and burst of "
            "the narrow link. Nodes of sources send with the rate that was measured while they "
            "sent; otherwise CPUs take no time",
            f"simulated {SIMULATED_S} s behind {WARMUP_S} s"])
    for name, layout in rows.items():
        if not found[name]:
            table.add(name, [], {}, missing.get(name), [])
            continue
        simulated = simulate(bench.tool, layout, statistics.median(
            one["send_rate"] for one in found[name]))
        results = [{**one, **{f"sim_{key}": value for key, value in simulated.items()},
                    "near": simulated["wire_share"] / one["wire_share"]
                            if one["wire_share"] else None}
                   for one in found[name]]
        table.add(name, results, {}, missing.get(name), [] if name == "none" else [
            Target(f"goodput within {NEAR:.0%}", "near", lambda near: abs(near - 1) <= NEAR, True)])
    return table


def tables(bench):
    """Of the sub-suite `sim`."""
    return [_cost(bench), *([_beside(bench)] if os.geteuid() == 0 else [])]

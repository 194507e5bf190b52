# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What a decision of the event manager costs, and the control messages that carry it."""

from runs import Table

SLOTS = 16
BUILDERS = 64
# Name, and what sched_cost is told. Without more: round-robin, no group rule, no shaping.
CASES = (
    ("round-robin", ()),
    ("occupancy", ("--policy", "occupancy")),
    ("weighted", ("--policy", "weighted")),
    ("random", ("--policy", "random")),
    ("round-robin, 8 groups", ("--groups", 8)),
    ("round-robin, linear shift", ("--shaping", "linear-shift")),
    ("round-robin, links at a rate", ("--rates",)),
    ("round-robin, one builder with credits", ("--credited", 1, "--slots", BUILDERS * SLOTS)),
)
CASES_QUICK = CASES[:1]
MESSAGES = "control messages"
NODES = (4, 36, 256, 1024)
NODES_QUICK = (4, 36)
SYSTEMS = {"push": (), "pull": ("--pull",)}


def run_sched(bench):
    """Sub-suite `sched`."""
    cases = CASES_QUICK if bench.quick else CASES
    counts = (4, 64, 1024) if bench.quick else (4, 16, 64, 256, 1024)

    def experiment(options):
        return lambda: bench.tool(
            "sched_cost", "--cpu", bench.first, "--seconds", min(0.2, bench.window / 10),
            "--slots", SLOTS, "--builders", ",".join(map(str, counts)), *options)

    def messages():
        return bench.tool("control_cost", "--cpu", bench.first, "--seconds",
                          min(0.2, bench.window / 10))

    found, missing = bench.interleave({**{name: experiment(options) for name, options in cases},
                                       MESSAGES: messages})
    return [_decisions(cases, found, missing), _scaling(cases, counts, found, missing),
            _messages(found.get(MESSAGES, ()), missing.get(MESSAGES))]


def run_nodes(bench):
    """Sub-suite `nodes`."""
    nodes = NODES_QUICK if bench.quick else NODES

    def system(options):
        return lambda: bench.tool(
            "system_cost", "--cpu", bench.first, "--nodes", ",".join(map(str, nodes)),
            "--events", 2000 if bench.quick else 100_000, *options)

    found, missing = bench.interleave({mode: system(options) for mode, options in SYSTEMS.items()})
    return [_systems(mode, nodes, found, missing) for mode in SYSTEMS]


def _case(result, builders):
    return next(case for case in result["cases"] if case["builders"] == builders)


def _decisions(cases, found, missing):
    table = Table(
        f"sched: {BUILDERS} builders with {SLOTS} slots, half of them in flight",
        [("rate", "decisions", "events/s"), ("grant_ns", "grant", "ns"), ("done_ns", "done", "ns"),
         ("credit_ns", "credit", "ns"), ("all", "the three", "ns")],
        ["a decision is the choice of builder and slot for an event, with the grant filled in"])
    for name, _ in cases:
        results = [_case(one, BUILDERS) for one in found.get(name, ())]
        table.add(name, [{**one, "rate": 1e9 / one["grant_ns"],
                          "all": one["grant_ns"] + one["done_ns"] + one["credit_ns"]}
                         for one in results], missing=missing.get(name))
    return table


def _messages(results, missing):
    table = Table(
        "sched: control messages, both sides",
        [("small", "frame of a grant", "ns"), ("full", "full frame", "ns"),
         ("event", "event alone", "ns"), ("frames", "frames of it", ""),
         ("together", "event of 16", "ns")],
        ["between manager and builder: grant, done, publish, published, credit, and "
         "acknowledgements"])
    for name, keyed in (("without a key", False), ("with a key", True)):
        table.add(name, [_message_costs(next(case for case in one["cases"]
                                             if case["keyed"] == keyed)) for one in results],
                  missing=missing)
    return table


def _systems(mode, nodes, found, missing):
    table = Table(
        f"nodes: the logic of a system, {mode}",
        [("manager_ns", "manager, event", "ns"), ("node_ns", "a node, event", "ns"),
         ("records", "records, event", ""), ("record_bytes", "bytes of them", ""),
         ("manager_bytes", "manager", "MB"), ("node_bytes", "a node", "MB"),
         ("start_ns", "until the run", "ms"),
         ("restart_ns", "manager replaced", "ms")],
        ["the manager, and nodes with a builder and 4 sources each, in one process without network "
         "and control endpoints; after half of the events the manager is replaced by another one"])
    for count in nodes:
        table.add(f"{count} nodes", [next(case for case in one["cases"] if case["nodes"] == count)
                                     for one in found.get(mode, ())], missing=missing.get(mode))
    return table


def _message_costs(case):
    return {"small": case["grant"]["frame_ns"], "full": case["full_frame"]["frame_ns"],
            "event": case["event"]["ns"], "frames": case["event"]["frames"],
            "together": case["event_of_16"]["ns"]}


def _scaling(cases, counts, found, missing):
    table = Table("sched: a grant against the number of builders",
                  [(str(count), f"{count}", "ns") for count in counts])
    for name, _ in cases:
        table.add(name, [{str(count): _case(one, count)["grant_ns"] for count in counts}
                         for one in found.get(name, ())], missing=missing.get(name))
    return table

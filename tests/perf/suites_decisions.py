# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""How many decisions of consumers per second come out in the order of events."""

from runs import Table, Target

GOAL = 1e6  # decisions/s
NAMES = {"order": "the ordering logic alone", "one": "through an event ring, one CPU",
         "many": "through an event ring, a member per further CPU"}


def run_decisions(bench):
    """Sub-suite `decisions`."""
    found, missing = bench.interleave({"decisions": lambda: bench.tool(
        "decision_cost", "--cpus", ",".join(map(str, bench.cpus)), "--seconds",
        min(0.5, bench.window / 4)),
        "flow": lambda: bench.tool("decision_flow_cost", "--cpu", bench.cpus[0], "--seconds",
                                   min(0.5, bench.window / 4))})
    table = Table("decisions: in the order of events", [
        ("rate", "decisions", "events/s"), ("timed_out", "timed out", "")], [
        "alone, one CPU: 24 members, per second of CPU time; alone, one event in a thousand is never "
        "decided",
        "of a system: both nodes on the CPU, records in memory instead of a network",
        "ring: publish, decide, release, read the decision, put it in order, reclaim the slot"])
    for key, name in NAMES.items():
        results = [{"rate": one[key]["decisions_per_second"], "timed_out": one[key]["timed_out"]}
                   for one in found["decisions"] if key in one]
        table.add(name, results, missing=missing.get("decisions"),
                  targets=[Target("1 million decisions/s", "rate", lambda value: value >= GOAL)])
    table.add("from one node of a system to another, one CPU",
              [{"rate": one["decisions_per_second"], "timed_out": one["timed_out"]}
               for one in found["flow"]],
              missing=missing.get("flow"),
              targets=[Target("1 million decisions/s", "rate", lambda value: value >= GOAL)])
    return [table]

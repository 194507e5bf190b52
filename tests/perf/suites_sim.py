# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What a simulated packet costs, and an event of the engine alone."""

import suites_sim_system
from runs import Table

CHOICES = ("by destination", "ECMP", "random", "adaptive")
PENDING = (500, 5000, 50000)


def run_sim(bench):
    """Sub-suite `sim`."""
    def experiment():
        return bench.tool("sim_cost", "--cpu", bench.first,
                          "--packets", 200 if bench.quick else 4880,
                          "--events", 200_000 if bench.quick else 5_000_000)

    found, missing = bench.interleave({"sim": experiment})
    results, why = found.get("sim", ()), missing.get("sim")
    return [_permutations(results, why), _holds(results, why), *suites_sim_system.tables(bench)]


def _permutations(results, missing):
    table = Table(
        "sim: permutation over 128 hosts, Clos of 2 levels, 100 Gb/s, PFC",
        [("hops_per_second", "packet hops", "packets/s"), ("events_per_second", "events", "packets/s"),
         ("slowdown", "CPU per simulated time", ""), ("idle_bytes", "bytes per host", ""),
         ("busy_bytes", "with packets", "")],
        ["per second of CPU time; packets of 4096 bytes; the memory is that of switches, links and "
         "routes, then with packets and events, divided by the hosts"])
    for name in CHOICES:
        table.add(name, [next(row for row in one["permutations"] if row["name"] == name)
                         for one in results], missing=missing)
    return table


def _holds(results, missing):
    table = Table("sim: one event taken and scheduled (hold model)", [("event_ns", "event", "ns")])
    for pending in PENDING:
        table.add(f"{pending} pending", [next(row for row in one["holds"] if row["pending"] == pending)
                                         for one in results], missing=missing)
    return table

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What a producer ring carries: blocks that a process fills by memcpy and an appliance takes."""

from runs import Table, Target

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
    return [table]


def _figures(one):
    figures = {}
    for name in ("copy", "one", "two"):
        if name in one:
            figures[name] = one[name]["bytes_per_second"]
            figures[f"{name} rate"] = one[name]["blocks_per_second"]
    return figures

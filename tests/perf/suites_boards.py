# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""How fast the store of a readout node takes the segments of boards, beside a builder."""

from runs import Table, Target

LOADS = ((1500, 10_000), (1500, 200_000), (9000, 10_000), (9000, 200_000))  # MTU, block
GOAL = Target("80 % of a builder", "share", lambda value: value >= 0.8)


def run_boards(bench):
    """Sub-suite `boards`."""
    def measure(load):
        return lambda: bench.tool("boards_cost", "--cpu", bench.first, "--mtu", load[0], "--block",
                                  load[1], "--size", bench.cold_bytes, "--seconds",
                                  min(0.6, bench.window / 2))

    found, missing = bench.interleave({load: measure(load) for load in LOADS})
    table = Table("boards: segments of 40 boards, from memory in no cache to whole blocks", [
        ("store rate", "store of a readout", "packets/s"), ("store", "the same", "bytes/s"),
        ("builder rate", "builder", "packets/s"), ("builder", "the same", "bytes/s"),
        ("share", "store to builder", "share")], [
        "both in turn in one process, per second of CPU time; what a readout sends is not in it"])
    for load in LOADS:
        mtu, block = load
        table.add(f"MTU {mtu}, {block} B", [_figures(one) for one in found[load]],
                  {"mtu": mtu, "block_bytes": block}, missing.get(load), [GOAL])
    return [table]


def _figures(one):
    figures = {}
    for name in ("store", "builder"):
        figures[name] = one[name]["bytes_per_second"]
        figures[f"{name} rate"] = one[name]["segments_per_second"]
    figures["share"] = figures["store rate"] / figures["builder rate"]
    return figures

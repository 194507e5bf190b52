# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The latency of control: how long the steps of events take, and what suspended builders cost."""

import dataclasses

import evbtest
from folded import Folded, settle
from runs import Table, Target
from suites_suspend import MOVING, moving

SHARES = (0.1, 0.5, 0.9)
LOW = 100e3  # events/s, but at most a quarter of the highest rate; grants are to take as long as at
HIGH = 0.8  # this share of the highest rate
SAME = 0.2
STEPS = {"grant": "announce -> grant", "first_segment": "grant -> first segment",
         "complete": "first segment -> complete", "published": "complete -> published",
         "released": "published -> released", "credit": "released -> credit"}
SUSPENSIONS_MS = (0, 1, 5, 20)
SUSPENDED = dataclasses.replace(MOVING, slots=11)
NOTHING_LOST = Target("nothing lost", "lost", lambda lost: lost == 0, True)


def _steps(pair, node):
    """{step: its quantiles since the start} of a node."""
    return {name: pair.query(node, "/evb/step/info", name) for name in STEPS}


def _at(bench, rate):
    """The steps of node b, all of whose control goes over the wire."""
    with evbtest.Workspace() as work, Folded(
            work, (bench.first, bench.second), rate) as pair:
        settle(pair, bench)
        result = {"events": pair.rate(bench.window)}
        for name, step in _steps(pair, "b").items():
            result[name] = {key: step[f"latency_{key}_ns"] for key in ("p50", "p99", "max")}
        result["lost"] = pair.drain()
    return result


def _latencies(bench):
    """{rate as a text: what was found at it}"""
    bench.need_two_cpus()
    highest = _at(bench, 0)["events"]
    rates = {f"{share:.0%}": share * highest for share in (SHARES[-1:] if bench.quick else SHARES)}
    rates.update(low=min(LOW, highest / 4), high=HIGH * highest)
    return {"highest": highest, **{name: _at(bench, rate) for name, rate in rates.items()}}


def _latency_tables(bench):
    found, missing = bench.interleave({"latency": lambda: _latencies(bench)})
    results, why = found["latency"], missing.get("latency")
    table = Table("control: how long the steps of events take, of two folded nodes over memif", [
        ("events", "events", "events/s"), ("p50", "p50", "us"), ("p99", "p99", "us"),
        ("max", "max", "us"), ("lost", "lost", "")], [
            "each node on a CPU of its own, idle poll, events of 2 x 200 bytes, packing 1; shares "
            "are those of the highest rate, of sources without a limit",
            "of the node that is not the event manager; a quantile is at most 12.5 % too high"])
    names = [f"{share:.0%}" for share in SHARES]
    for name in (name for name in names if not results or name in results[0]):
        for step, title in STEPS.items():
            table.add(f"{name}: {title}",
                      [{**one[name][step], "events": one[name]["events"],
                        "lost": one[name]["lost"]} for one in results],
                      {"share": name, "step": step}, why, [NOTHING_LOST])
    pair = Table("control: announce -> grant at a low and at a high rate", [
        ("highest", "highest", "events/s"), ("low_rate", "low", "events/s"), ("low", "p50", "us"),
        ("high_rate", f"{HIGH:.0%} of highest", "events/s"), ("high", "p50", "us"),
        ("ratio", "ratio", "share")], [
            "in the farm of 2009 grants took as long at 100 kHz as at 1.7 MHz"])
    rows = [{"highest": one["highest"],
             **{f"{name}_rate": one[name]["events"] for name in ("low", "high")},
             **{name: one[name]["grant"]["p50"] for name in ("low", "high")}} for one in results]
    pair.add("grant", [{**row, "ratio": row["high"] / row["low"]} for row in rows], {}, why,
             [Target(f"equal within {SAME:.0%}", "ratio",
                     lambda ratio: 1 - SAME <= ratio <= 1 + SAME)])
    return [table, pair]


# --- suspended builders -------------------------------------------------------------------------


def _curve(bench):
    found, missing = bench.interleave({
        f"{case} ms": lambda case=case: moving(bench, SUSPENDED, case)
        for case in (SUSPENSIONS_MS[:2] if bench.quick else SUSPENSIONS_MS)})
    table = Table(
        f"control: the highest rate while one of {SUSPENDED.builders} builders stands still", [
            ("complete", "complete", "/s"), ("kept", "of that without", "share"),
            ("suspended", "stopped for", "ms"), ("skips", "skips", "/s"), ("lost", "lost", "")], [
            "sources without a limit; one builder's process after the other is stopped (SIGSTOP), "
            f"{SUSPENDED.slots - 1} credits each, as in the farm of 2009; nodes are processes in "
            "network namespaces",
            "the nodes share the CPUs: one that stands still leaves its share to the others"])
    free = [one["complete"] for one in found["0 ms"]]
    for name, results in found.items():
        table.add(name, [{**one, "kept": one["complete"] / base} for one, base in
                         zip(results, free)], {"slots": SUSPENDED.slots}, missing.get(name),
                  [NOTHING_LOST])
    return table


def run_control(bench):
    """Sub-suite `control`."""
    return [*_latency_tables(bench), _curve(bench)]

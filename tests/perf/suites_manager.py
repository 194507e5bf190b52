# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""How many events per second one event manager controls, and what an event costs it."""

from runs import Table, Target

NODES = (2, 8, 36, 128, 512)
NODES_QUICK = (2, 8)
READOUTS = (2, 8, 32, 128)  # beside two nodes that build
READOUTS_QUICK = (2, 8)
RATE = 10000  # events/s
GOALS = {2: 2.5e6, 36: 1e6}  # events/s
COLUMNS = [
    ("events_per_second", "events", "events/s"), ("messages_per_second", "messages", "events/s"),
    ("messages_per_event", "an event", ""), ("frames_per_event", "frames", ""),
    ("bytes_per_event", "bytes", ""), ("manager_ns", "manager", "ns"),
    ("nodes_ns", "all nodes", "ns"), ("manager_busy", "manager busy", "share"),
    ("nodes_busy", "nodes busy", "share")]


SENT_COLUMNS = [
    ("events_per_second", "events", "events/s"), ("sent_frames_per_event", "frames sent", ""),
    ("sent_bytes_per_event", "bytes sent", ""), ("frames_per_event", "all frames", ""),
    ("bytes_per_event", "all bytes", ""), ("events_per_turn", "events a turn", ""),
    ("manager_ns", "manager", "ns")]


def cost_goal(readouts):
    """CPU ns per event that the manager may take."""
    return 300 + 10 * readouts


def run_manager(bench):
    """Sub-suite `manager`."""
    counts = NODES_QUICK if bench.quick else NODES
    seconds = min(0.5, bench.window / 4)

    def experiment(count, *options):
        return lambda: bench.tool("manager_cost", "--seconds", seconds, "--nodes", count, *options)

    def two(count):
        def run():
            bench.need_two_cpus()
            return experiment(count, "--cpus", f"{bench.first},{bench.second}")()
        return run

    found, missing = bench.interleave({
        **{("two", count): two(count) for count in counts},
        **{("one", count): experiment(count, "--cpus", bench.first, "--alternate")
           for count in counts}})
    tables = []
    for key, title in (("two", "manager and nodes in a process and on a CPU each"),
                       ("one", "manager and nodes by turns on one CPU")):
        table = Table(f"manager: {title}", COLUMNS, [
            "two nodes read out and build; of more, a third builds; packing 1, push, linear shift",
            "real logic and control endpoints on both sides, but nodes without builders only check "
            "their grants; frames of MTU 9000 through shared memory, no driver",
            "messages, frames and bytes (with Ethernet, IP and UDP headers): both directions; ns: "
            "CPU per event"])
        for count in counts:
            results = [one["cases"][0] for one in found.get((key, count), ())]
            table.add(f"{count} nodes", results, missing=missing.get((key, count)),
                      targets=_targets(key, count, results))
        tables.append(table)
    return tables + [_sent(bench, seconds)]


def _sent(bench, seconds):
    """What the manager sends per event, to each readout node and by multicast."""
    counts = READOUTS_QUICK if bench.quick else READOUTS
    ways = {"each": (), "multicast": ("--multicast",)}

    def experiment(count, options):
        return lambda: bench.tool(
            "manager_cost", "--seconds", seconds, "--nodes", count + 2, "--builders", 2, "--rate",
            RATE, "--cpus", bench.first, "--alternate", *options)

    found, missing = bench.interleave({(way, count): experiment(count, options)
                                       for way, options in ways.items() for count in counts})
    table = Table("manager: what it sends, to each readout node and by multicast", SENT_COLUMNS, [
        f"two nodes build, the others read out; {RATE} events/s, packing 1, push; manager and nodes "
        "by turns on one CPU",
        "sent: by the manager; all: both directions; bytes with Ethernet, IP and UDP headers"])
    for way in ways:
        for count in counts:
            results = [one["cases"][0] for one in found.get((way, count), ())]
            table.add(f"{count} readout nodes, {way}", results,
                      missing=missing.get((way, count)))
    return table


def _targets(key, count, results):
    if not results:
        return []
    limit = cost_goal(results[0]["readouts"])
    targets = [Target(f"<= {limit} ns", "manager_ns", lambda value: value <= limit)]
    if key == "two" and count in GOALS:
        targets.append(Target(f"{GOALS[count] / 1e6} million events/s", "events_per_second",
                              lambda value: value >= GOALS[count]))
    return targets

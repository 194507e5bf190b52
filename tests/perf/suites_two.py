# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Two folded nodes that send to each other and build, beside what memory and driver alone do."""

import contextlib
import dataclasses
import os
import signal
import subprocess

import evbtest
from folded import AUTO, LARGE_MTU, MEMIF, OWN, VETH, Folded, Work, settle
from paths import Kernel
from runs import Table, Target
from suites_cluster import need_root

# As many small events as are built while a CPU is away for a time slice.
SMALL = Work(sources=2, slots=512, in_flight=1024)
SEVERAL = Work(sources=6, slots=512, in_flight=1024)
LARGE = Work(sources=6, fragment=100, packing=1000, slots=64)
LARGEST = dataclasses.replace(LARGE, mtu=LARGE_MTU)  # in packets as large as a memif carries
NAMES = {SMALL: "200 B x 2", SEVERAL: "200 B x 6", LARGE: "1000 x 100 B x 6",
         LARGEST: f"1000 x 100 B x 6, MTU {LARGE_MTU}"}
LOADS = {MEMIF: (SMALL, SEVERAL, LARGE, LARGEST), VETH: (SMALL, SEVERAL, LARGE)}

PATHS = {  # name: work, path, placement
    f"{NAMES[load]}, {path}, {placement}": (load, path, placement)
    for path, loads in LOADS.items() for load in loads for placement in (OWN, AUTO)}
HOGS = 4  # other processes that want a whole CPU
BESIDE = f"{NAMES[SMALL]}, {MEMIF}, {OWN}"
FIRST = ("nice", "-n", "-10")  # ten times the others' weight, as in the service's unit

# Copies of each byte: those of events for the node itself one, from the block to the slot; those
# for the other node two more, in and out of the driver's memory. Half of the events are of each.
COPIES = 0.5 * 1 + 0.5 * 3

NOTHING_LOST = Target("nothing lost", "lost", lambda lost: lost == 0, True)


@contextlib.contextmanager
def hogs(number, apart):
    """So many processes that want a CPU each. apart: in a session of their own."""
    shell = subprocess.Popen(
        ["/bin/sh", "-c", 'for one in "$@"; do while :; do :; done & done; wait', "hogs",
         *map(str, range(number))], preexec_fn=os.setsid if apart else os.setpgrp)
    try:
        yield
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def _run(bench, load, path, placement, n_hogs=0, n_nodes=2, launcher=(), idle="adaptive", apart=False):
    """Events per second and CPU time per event of a run, and what it lost. idle: "poll" where
    each node has a CPU for itself. n_hogs, apart: see hogs."""
    bench.need_two_cpus()
    if path == VETH or launcher:
        need_root()
    with evbtest.Workspace() as work, Folded(
            work, (bench.first, bench.second), load=load, path=path, placement=placement,
            idle=idle, n_nodes=n_nodes, launcher=launcher) as nodes:
        settle(nodes, bench)
        with hogs(n_hogs, apart):
            result = nodes.measure(bench.window)
            result["lost"] = nodes.drain()
    return {**result, "built": result["events"] * load.load.event_bytes}


def _copies(bench, load):
    """Events per second that copies alone allow on both CPUs."""
    block = min(load.load.payload, load.load.mfp_bytes)
    copied = bench.best_copy(bench.copy_bound([block], [bench.first, bench.second])[block])
    return copied / COPIES / load.load.event_bytes


def _driver(bench, load):
    """Events per second that af_packet alone would move, of packets that are full: one CPU sends,
    the other one receives. Half of the bytes cross the link."""
    received = Kernel().bound(bench, load.load._replace(fragment=8900, packing=1))
    return received["packets_per_second"] * load.load.payload / (load.load.event_bytes / 2)


def _bound(bench, load, path):
    copies = _copies(bench, load)
    return min(copies, _driver(bench, load)) if path == VETH else copies


def _paths(bench):
    rows = {name: row for name, row in PATHS.items() if not bench.quick or row[0] not in (LARGE, LARGEST)}
    experiments = {}
    for name, row in rows.items():
        experiments[name] = lambda row=row: _run(bench, *row, idle="poll")
    for load, path in dict.fromkeys(row[:2] for row in rows.values()):
        experiments[load, path] = lambda load=load, path=path: _bound(bench, load, path)
    found, missing = bench.interleave(experiments)
    table = Table("two: folded nodes that send to each other", [
        ("events", "events", "events/s"), ("built", "built", "bytes/s"),
        ("bound", "bound", "events/s"), ("share", "of the bound", "share"),
        ("of_best", "of the best placement", "share"), ("cpu_ns", "CPU per event", "ns"),
        ("lost", "lost", "")], [
            "all sources without a limit, every event through the event manager (push, linear "
            "shift); the two nodes' CPU time, per event of the system; idle policy poll",
            "bound: memory copies (memif: two in mean), and over veth what af_packet alone moves in "
            "full packets, one CPU sending and one receiving"])
    for name, (load, path, placement) in rows.items():
        pairs = zip(found[name], found[load, path], found[f"{NAMES[load]}, {path}, {OWN}"],
                    found[f"{NAMES[load]}, {path}, {AUTO}"])
        table.add(name, [{
            **one, "bound": bound, "share": one["events"] / bound,
            "of_best": one["events"] / max(own["events"], auto["events"])}
            for one, bound, own, auto in pairs], {**load.load.describe(), "path": path},
            missing.get(name) or missing.get((load, path)), _targets(load, path, placement))
    return table


def _targets(load, path, placement):
    targets = [NOTHING_LOST]
    if placement == AUTO:
        return [*targets, Target("within 10 % of the best placement", "of_best",
                                 lambda share: share >= 0.9)]
    if load in (LARGE, LARGEST):
        targets.append(Target("90 % of the bound", "share", lambda share: share >= 0.9))
    if (load, path) == (SMALL, MEMIF):
        targets.append(Target("2.5 M events/s", "events", lambda rate: rate >= 2.5e6))
    if (load, path) == (SEVERAL, VETH):
        targets.append(Target("250 000 events/s", "events", lambda rate: rate >= 250e3))
    return targets


def _beside_others(bench):
    found, missing = bench.interleave({
        "quiet": lambda: _run(bench, SMALL, MEMIF, OWN),
        "loaded": lambda: _run(bench, SMALL, MEMIF, OWN, HOGS),
        "apart": lambda: _run(bench, SMALL, MEMIF, OWN, HOGS, apart=True),
        "first": lambda: _run(bench, SMALL, MEMIF, OWN, HOGS, launcher=FIRST),
        "two": lambda: _run(bench, SEVERAL, VETH, OWN),
        "three": lambda: _run(bench, SEVERAL, VETH, OWN, 0, 3)})
    table = Table("two: the same beside other work, and three nodes on two CPUs", [
        ("events", "events", "events/s"), ("kept", "of that without", "share"),
        ("cpu_ns", "CPU per event", "ns"), ("lost", "lost", "")], [
            "of that without: without the busy processes, or with two nodes; idle policy adaptive"])
    table.add(BESIDE, found["quiet"], {}, missing.get("quiet"), [NOTHING_LOST])
    third = Target("a third", "kept", lambda share: share >= 1 / 3)
    for key, name in (("loaded", f"beside {HOGS} busy processes"),
                      ("apart", "the same, these in another session"),
                      ("first", f"the same in one session, nodes by `{' '.join(FIRST)}`")):
        table.add(f"{BESIDE}, {name}", [
            {**one, "kept": one["events"] / quiet["events"]}
            for one, quiet in zip(found[key], found["quiet"])], {"hogs": HOGS},
            missing.get(key), [NOTHING_LOST, third])
    table.add(f"{NAMES[SEVERAL]}, {VETH}, 3 nodes", [
        {**one, "kept": one["events"] / two["events"]}
        for one, two in zip(found["three"], found["two"])], {},
        missing.get("three") or missing.get("two"),
        [NOTHING_LOST, Target("two thirds", "kept", lambda share: share >= 2 / 3)])
    return table


def run_two(bench):
    """Sub-suite `two`."""
    return [_paths(bench), _beside_others(bench)]

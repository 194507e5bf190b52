# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Farms of 2 to 16 nodes, each with a source and a builder, over nodes, credits, parallel sends, mode
and shaping, as DAQPIPE was measured and simulated for LHCb's Run 3.

Nodes are processes in network namespaces, all on this machine: their links are so slow that it can
carry them all.
"""

import contextlib
import glob
import os
import sys
import time

import bottleneck
import evbtest
import farm_points
import machine
import wire_tap
from bottleneck import ahead_of_others
from farm_points import MANAGER
from runs import Table, Unavailable, progress
from suites_cluster import need_root

WINDOWS = 3
LAUNCHER = ("setsid",)  # Ctrl-C is for this program
PATIENCE_S = 20  # for the first events, which without shaping may never be complete
TICKS = os.sysconf("SC_CLK_TCK")


class System(bottleneck.Linked):
    """Context manager: the system of a point; narrow links once start() has been called."""

    def __init__(self, work, point):
        super().__init__(work, point.configuration(work.name()), LAUNCHER)
        self.point = point

    def start(self, *nodes, arguments=()):
        for node in self.point.node_names:
            self.narrow(node, self.point.link * 1e6, self.point.queue)
            self.narrow_uplink(node, self.point.link * 1e6, farm_points.UPLINK_QUEUE,
                                farm_points.UPLINK_BURST)
        super().start(*nodes, arguments=arguments)

    def _node(self, node):
        client = self.client(node)
        summary = client.query("/evb/summary")
        builder = client.query("/evb/builder/info", node.replace("n", "b"))
        keys = ("events_complete", "events_incomplete", "packets_missed")
        return {"time": time.monotonic(), "window_conflicts": builder["window_conflicts"],
                **{key: summary[key] for key in keys}}

    def sample(self):
        links = self.links(self.point.node_names)
        return {"time": time.monotonic(), "cpu": cpu_times(self.processes.values()),
                "nodes": {node: {**self._node(node), "drops": links[node]["drops"]}
                          for node in self.point.node_names}}

    def wait_until_busy(self):
        """Until each builder has been granted all its credits twice."""
        wanted = 2 * self.point.nodes * self.point.credits
        manager = self.processes[MANAGER]
        with contextlib.suppress(evbtest.Failure):
            manager.wait_until(
                lambda: self.client(MANAGER).query("/evb/sched/info", MANAGER)["grants"] >= wanted,
                f"{wanted} grants", PATIENCE_S)
        evbtest.check(manager.running(), f"ended early: {manager.describe()}")

    def conflicts(self, seconds):
        with wire_tap.Tap(self, self.point.node_names) as tap:
            time.sleep(seconds)
            packets = tap.packets()
        return {"overlap": wire_tap.overlap(packets),
                "shared_milliseconds": wire_tap.shared_milliseconds(packets)}


def cpu_times(processes):
    """Seconds of CPU since their beginning: of all that runs on this machine, and of these
    processes; and those in which the thread of each that waited longest was ready, without a CPU."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, hard, soft = map(int, file.readline().split()[1:8])
    nodes = waited = 0
    for process in processes:
        longest = 0
        for path in glob.glob(f"/proc/{process.pid}/task/*/schedstat"):
            with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
                ran, ready, _ = map(int, file.read().split())
                nodes, longest = nodes + ran * 1e-9, max(longest, ready * 1e-9)
        waited += longest
    return {"busy": (user + nice + system + hard + soft) / TICKS, "nodes": nodes, "waited": waited,
            "cpus": len(machine.cpus())}


def measure(bench, point, description):
    """The record of a point."""
    with ahead_of_others(), evbtest.Workspace() as work, System(work, point) as system:
        system.start()
        system.wait_until_busy()
        warmup = time.monotonic()
        time.sleep(bench.warmup)
        samples = [system.sample()]
        warmup = samples[0]["time"] - warmup
        for _ in range(WINDOWS):
            time.sleep(bench.window)
            samples.append(system.sample())
        conflicts = system.conflicts(bench.window / 2)
    return farm_points.result(point, description, warmup, samples, conflicts)


# --- the sweep ----------------------------------------------------------------------------------


def _duration(seconds):
    if seconds is None:
        return "not known yet how long"
    return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"


def say(text):
    """Progress, on a terminal in one line, else each."""
    if sys.stderr.isatty():
        progress(text)
    elif text:
        print(text, file=sys.stderr, flush=True)


def _sweep(bench, points, results, table):
    need_root()
    done = []
    left = [point for point in points if not results.find(point, bench.window)]
    if len(left) < len(points):
        say(f"{len(points) - len(left)} of {len(points)} points are in {bench.points}\n")
    for number, point in enumerate(left):
        estimate = farm_points.remaining(done, [one.nodes for one in left[number:]])
        say(f"point {number + 1} of {len(left)}, {_duration(estimate)}: {point.name}")
        began = time.monotonic()
        try:
            results.add(measure(bench, point, machine.describe(bench.build)))
        except evbtest.Failure as failure:
            table.add(point.name, [], missing=f"failed: {str(failure).splitlines()[0]}")
            bench.failures.append(f"{point.name}: {failure}")
        done.append((point.nodes, time.monotonic() - began))
    say("")


def _table(link):
    return Table(
        f"farm: nodes with a source and a builder each, links of {link}, saturated", [
            ("goodput_mean", "goodput, mean", "share"), ("goodput_least", "least", "share"),
            ("payload_mean", "payload, mean", "Mb/s"), ("incomplete", "incomplete", "/s"),
            ("lost", "lost packets", "/s"), ("overlap", "conflicts", "share"),
            ("cpu_busy", "CPUs busy", "share"), ("waited", "waited", "share")], [
            "a row: nodes, mode, shaping, credits of a builder / parallel sends of an event",
            "goodput: bytes of complete events on the wire, as a share of a node's link, which counts "
            "as Ethernet does; mean of the nodes and least of them, medians of "
            f"{WINDOWS} windows of one run",
            "conflicts: of the time in which a node sends an event to a builder, the share in which "
            "several do, as a tap sees it",
            "CPUs busy: with all that runs on this machine; waited: share of the time in which a node "
            "was ready and had no CPU. * marks points where that was more than "
            f"{farm_points.CPU_LIMIT:.0%}: there the CPU is the limit, and not the network",
        ])


def run_farm(bench):
    """Sub-suite `farm`."""
    points = farm_points.chosen(bench.quick, bench.full, bench.settings)
    results = farm_points.Results(bench.points)
    table = _table(", ".join(f"{link:g} Mb/s" for link in sorted({one.link for one in points})))
    try:
        _sweep(bench, points, results, table)
    except KeyboardInterrupt:
        bench.stopped = True
        say("")
    except (Unavailable, evbtest.Skip) as reason:
        table.add("all points that are not here", [], missing=str(reason))
    for point in points:
        record = results.find(point, bench.window)
        if record:
            table.add(point.name + (" *" if record["cpu_limited"] else ""), farm_points.rows(record))
    return [table]

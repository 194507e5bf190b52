# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The points of the farm bench: which there are, the system that each stands for, and the file of
their results. Nothing here runs anything. docs/contributing/measurements.md has the file's format."""

import dataclasses
import itertools
import json
import os
import statistics

import bottleneck
import cluster
import runs

FORMAT, VERSION = "evb-farm", 1
MANAGER = "m"
EVENT_HEADER = 16384  # bytes of a slot beside the blocks, and more than enough
UPLINK_BURST = 4000  # bytes that a node may send at once
UPLINK_QUEUE = 64 << 20  # bytes: what a node has given to its link waits, and is not lost
UTILISATION = 0.97  # share of the links that grants fill
SLEEP = "300us"  # less than what a packet takes on a link
# Of a timed shift: much for a network, little for processes that share CPUs.
IDLE_WINDOW = 4e-3
# From this share of their time on in which nodes wait for a CPU, it is the CPU that is measured.
CPU_LIMIT = 0.25


class BadSetting(ValueError):
    """A text of --set that means nothing."""


@dataclasses.dataclass(frozen=True)
class Point:
    """Nodes with a source and a builder each, around one switch."""
    nodes: int = 4
    mode: str = "push"
    shaping: str = "linear-shift"
    barrier: bool = False
    credits: int = 4  # events in flight of a builder
    parallel_sends: int = 1  # in pull
    seed: int = 1
    link: float = 25.0  # Mb/s of each node, in both directions
    queue: int = 100_000  # bytes of the switch in front of each node
    packing: int = 48
    fragment: int = 200  # bytes
    mtu: int = 1500
    phase_barrier: int = 0

    @property
    def name(self):
        order = self.shaping + (" + barrier" if self.barrier else "")
        sends = f" / {self.parallel_sends}" if self.mode == "pull" else ""
        others = [f", {field.name} {getattr(self, field.name):g}" for field in dataclasses.fields(self)[6:]
                  if getattr(self, field.name) != field.default]
        return f"{self.nodes} nodes, {self.mode}, {order}, {self.credits}{sends}" + "".join(others)

    @property
    def remote(self):
        """What of an event comes over the link of its builder."""
        return bottleneck.Event(self.nodes - 1, self.packing, self.fragment, self.mtu)

    @property
    def node_names(self):
        return [f"n{index}" for index in range(self.nodes)]

    @property
    def block_seconds(self):
        """Time that a block takes on a link."""
        return self.remote.wire / (self.nodes - 1) * 8 / (self.link * 1e6)

    @property
    def send_window(self):
        """Seconds. In a cycle of a timed shift half of the events of a builder are sent."""
        return self.block_seconds * max(1, self.credits / 2)

    def is_sensible(self):
        """Whether no other point is the same, and all keys act."""
        if self.mode == "pull":  # has no rounds
            return (self.parallel_sends < self.nodes and
                    not (self.barrier or self.phase_barrier) and self.shaping == "linear-shift")
        return self.parallel_sends == 1 and (
            not (self.barrier or self.phase_barrier) or self.shaping in ("linear-shift", "random"))

    def configuration(self, name):
        """The complete system file."""
        def port(number):
            return {"name": "wire", "profile": "af_packet", "device": "eth1", "mtu": self.mtu,
                    "address": f"10.78.0.{number}/24", "link_rate": round(self.link * 1e6),
                    "options": {"qdisc_bypass": 0}}

        # Files of results from before the key existed have no such key.
        phases = {"phase_barrier": self.phase_barrier} if self.phase_barrier else {}
        slots = self.credits + 3
        size = self.nodes * self.remote.block + EVENT_HEADER
        return cluster.frugal({
            "name": name,
            "sources": {"ids": [f"1-{self.nodes}"], "packing": self.packing},
            "events": {"deadline": "2s", "drain_timeout": "5s"},
            "memory": {"kind": "shm"},
            "idle": {"policy": "adaptive", "yields": 2, "sleep": SLEEP},
            "event_manager": {
                "mode": self.mode, "shaping": self.shaping, "barrier": self.barrier,
                "credits": self.credits, "parallel_sends": self.parallel_sends, "seed": self.seed,
                "target_utilisation": UTILISATION, "window": 0, "heartbeat": "100ms",
                "heartbeat_timeout": "5s", "source_buffer": max(256, 4 * self.nodes * self.credits),
                "send_window": f"{round(self.send_window * 1e6)}us",
                "idle_window": f"{round(IDLE_WINDOW * 1e6)}us", **phases},
            "nodes": [{"name": MANAGER, "manager": True, "ports": [port(1)]}] + [
                {"name": node, "ports": [port(10 + index)],
                 "builders": [{"name": f"b{index}", "slots": slots, "slot_size": -(-size // 4096) * 4096}],
                 "generators": [{"name": "boards", "port": "wire", "ids": [index + 1],
                                 "seed": self.seed, "size": {"mean": self.fragment}}]}
                for index, node in enumerate(self.node_names)]})

    def fabric(self):
        """The network, which the system file says nothing of."""
        return {"topology": "one switch", "switching": "store-and-forward, output-queued, tail drop",
                "delay_ns": 0, "uplink_queue_bytes": UPLINK_QUEUE, "uplink_burst_bytes": UPLINK_BURST,
                "frame_overhead_bytes": bottleneck.ETHERNET - 14,
                "links": {node: {"rate_bits_per_second": round(self.link * 1e6),
                                 "queue_bytes": self.queue, "burst_bytes": bottleneck.BURST}
                          for node in self.node_names}}


# --- sweeps -------------------------------------------------------------------------------------

SHAPINGS = ["none", "linear-shift", "timed-shift", "random"]
QUICK = {"nodes": [2], "mode": ["push", "pull"], "credits": [2]}
DEFAULT = {"nodes": [2, 4, 8, 16], "mode": ["push", "pull"], "shaping": SHAPINGS, "credits": [1, 4],
           "parallel_sends": [1, 2]}
FULL = {**DEFAULT, "barrier": [False, True], "phase_barrier": [0, 1], "credits": [1, 2, 4, 8, 16],
        "parallel_sends": [1, 2, 4, 8]}
_VALUES = {"mode": ["push", "pull"], "shaping": SHAPINGS, "barrier": [False, True]}
_RANGES = {"nodes": (2, 16), "credits": (1, 4096), "parallel_sends": (1, 15), "seed": (0, 2**32),
           "link": (1, 10_000), "queue": (1538, 1 << 30), "packing": (1, 60_000),
           "fragment": (1, 65_000), "mtu": (576, 9000), "phase_barrier": (0, 65_535)}


def _value(key, text):
    if key in _VALUES:
        found = {str(value).lower(): value for value in _VALUES[key]}.get(text)
        if found is None:
            known = ", ".join(str(value).lower() for value in _VALUES[key])
            raise BadSetting(f"{key}: no such value '{text}'; there are {known}")
        return found
    lowest, highest = _RANGES[key]
    try:
        value = float(text) if key == "link" else int(text)
    except ValueError:
        value = None
    if value is None or not lowest <= value <= highest:
        raise BadSetting(f"{key}: '{text}' is not a number from {lowest} to {highest}")
    return value


def settings(texts):
    """{key: [value, ...]} of texts KEY=VALUE,..."""
    found = {}
    for text in texts:
        key, equals, values = text.partition("=")
        if not equals or key not in (*_VALUES, *_RANGES):
            raise BadSetting(f"'{text}' is not KEY=VALUE,...; keys: "
                             f"{', '.join((*_VALUES, *_RANGES))}")
        found[key] = [_value(key, value) for value in values.split(",")]
    return found


def sweep(values):
    """The sensible points of all combinations, small systems first."""
    keys = list(values)
    points = (Point(**dict(zip(keys, combination)))
              for combination in itertools.product(*values.values()))
    return sorted(filter(Point.is_sensible, dict.fromkeys(points)), key=lambda point: point.nodes)


def chosen(quick, full, values):
    """The points of a run. values: of settings()"""
    points = sweep({**(QUICK if quick else FULL if full else DEFAULT), **values})
    if not points:
        raise BadSetting("no point of this sweep makes sense: parallel_sends acts in pull, below the "
                         "number of nodes; shapings and barriers act in push")
    return points


def remaining(done, left):
    """Seconds that the points that are left will take, from those that were measured: 8 nodes take
    as long to start and to end as a point is measured. done: [(nodes, seconds)]; left: numbers of
    nodes. None if not known."""
    if not done:
        return None
    typical = statistics.median(seconds / (1 + nodes / 8) for nodes, seconds in done)
    return sum(typical * (1 + nodes / 8) for nodes in left)


# --- what is measured ---------------------------------------------------------------------------


def _rate(before, after, node, key):
    seconds = after["nodes"][node]["time"] - before["nodes"][node]["time"]
    return (after["nodes"][node][key] - before["nodes"][node][key]) / seconds


def figures(point, before, after):
    """What happened between two samples: {"time", "nodes": {node: counters and "time"}, "cpu"}."""
    nodes = point.node_names
    events = {node: _rate(before, after, node, "events_complete") for node in nodes}
    share = {node: rate * point.remote.wire * 8 / (point.link * 1e6)
             for node, rate in events.items()}
    seconds = after["time"] - before["time"]
    cpu = {key: (after["cpu"][key] - before["cpu"][key]) / seconds / after["cpu"]["cpus"]
           for key in ("busy", "nodes")}
    waited = (after["cpu"]["waited"] - before["cpu"]["waited"]) / seconds / (len(nodes) + 1)

    def per_second(key):
        return sum(_rate(before, after, node, key) for node in nodes)

    return {"seconds": seconds,
            "goodput_mean": statistics.mean(share.values()), "goodput_least": min(share.values()),
            "payload_mean": statistics.mean(events.values()) * point.remote.payload,
            "payload_least": min(events.values()) * point.remote.payload,
            "events": sum(events.values()), "incomplete": per_second("events_incomplete"),
            "lost": per_second("drops") + per_second("packets_missed"),
            "window_conflicts": per_second("window_conflicts"),
            "cpu_busy": cpu["busy"], "cpu_nodes": cpu["nodes"], "waited": waited}


UNITS = {"seconds": "s", "payload_mean": "bytes/s", "payload_least": "bytes/s", "events": "/s",
         "incomplete": "/s", "lost": "/s", "window_conflicts": "/s"}


def result(point, machine, warmup, samples, conflicts):
    """The record of a point in the file: all that a simulation of it needs, and what it is to find.
    samples: at both ends of each window."""
    windows = [figures(point, *pair) for pair in itertools.pairwise(samples)]
    found = {key: runs.figure([window[key] for window in windows], UNITS.get(key, "share"))
             for key in windows[0]}
    found.update({key: runs.figure([value], "share") for key, value in conflicts.items()})
    return {"point": dataclasses.asdict(point), "configuration": point.configuration("farm"),
            "fabric": point.fabric(), "seed": point.seed,
            "duration": {"warmup_seconds": warmup, "window_seconds": [one["seconds"] for one in windows]},
            "figures": found, "cpu_limited": found["waited"]["median"] > CPU_LIMIT,
            "machine": machine}


def rows(record):
    """The figures of a record as rows of a table have them: a dict a window."""
    found = record["figures"].items()
    return [{key: one["values"][number] for key, one in found if number < len(one["values"])}
            for number in range(max(len(one["values"]) for _, one in found))]


class Results:
    """The file of results, which is whole at any moment. path None: nothing is stored."""

    def __init__(self, path):
        self._path = path
        self.records = []
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.records = self._checked(json.load(file))

    def _checked(self, content):
        if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (
                FORMAT, VERSION):
            raise ValueError(f"{self._path} is not a file of the farm bench, version {VERSION}: "
                             "give another name")
        return content["points"]

    def find(self, point, window):
        """The record of this point, measured for at least so many seconds at a time."""
        wanted = point.configuration("farm"), point.fabric()
        for record in self.records:
            if (record["configuration"], record["fabric"]) == wanted and min(
                    record["duration"]["window_seconds"]) >= window:
                return record
        return None

    def add(self, record):
        self.records.append(record)
        if self._path:
            with open(f"{self._path}.new", "w", encoding="utf-8") as file:
                json.dump({"format": FORMAT, "version": VERSION, "points": self.records}, file, indent=1)
                file.write("\n")
            os.replace(f"{self._path}.new", self._path)

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Systems whose builders are behind narrow links: the bridge's ports send at a rate, behind a small
queue that drops what it has no room for, as a switch's do.

Nodes: m is the event manager, r0, r1, ... send, b0, b1, ... build.
"""

import collections
import contextlib
import dataclasses
import fcntl
import glob
import json
import os
import subprocess
import tempfile
import time

import appliance
import cluster
import network
import telemetry
from evbtest import check

UDP_HEADERS = 28  # IPv4 and UDP
RE_SIZE = 20
ETHERNET = 14 + 24  # header; preamble, FCS and gap
GROUP = "main"
BURST = 20_000  # bytes that a narrow link may send at once


def _padded(size, unit):
    return -(-size // unit) * unit


class Event(collections.namedtuple("Event", "sources packing fragment mtu")):
    """Built of `packing` fragments of so many bytes from each source, one block a source."""

    @property
    def block(self):
        """Bytes of a source's MFP."""
        return (20 + _padded(self.packing, 4) + _padded(2 * self.packing, 4) +
                self.packing * _padded(self.fragment, 4))

    @property
    def payload(self):
        """Bytes that are copied to the slot."""
        return self.sources * self.block

    @property
    def segments(self):
        return self.sources * -(-self.block // (self.mtu - UDP_HEADERS - RE_SIZE))

    @property
    def wire(self):
        """Bytes of a link, as Ethernet counts."""
        return self.payload + self.segments * (ETHERNET + UDP_HEADERS + RE_SIZE)


@dataclasses.dataclass
class Layout:
    readouts: int = 8  # with one source each
    builders: int = 1  # nodes
    per_node: int = 1  # builders of each, which share its link
    packing: int = 100
    fragment: int = 200
    mtu: int = 1500
    # Of each builder's link, bit/s: slow, so that the nodes, which share few CPUs, are faster, and
    # what the kernel is late for is short beside what the queue holds.
    link: float = 25e6
    told: bool = True  # whether the event manager knows it
    queue: int = 60_000  # bytes, in front of the link; 0: the link is not narrow
    rate: float = 0  # events a second that there are; 0: as many as there is room for
    events: int = 0  # until the end of the run; 0: no end
    slots: int = 32
    consumed: bool = False  # builders have a group of consumers, which somebody must be
    pfc: bool = False  # builders' ports pause their link partner
    changes: dict = dataclasses.field(default_factory=dict)  # of the configuration

    @property
    def event(self):
        return Event(self.readouts, self.packing, self.fragment, self.mtu)

    @property
    def capacity(self):
        """Events a second that all links together can carry."""
        return self.builders * self.link / 8 / self.event.wire

    def _port(self, number):
        return {"name": "wire", "profile": "af_packet", "device": "eth1", "mtu": self.mtu,
                "address": f"10.78.0.{number}/24"}

    def _builder(self, index):
        port = self._port(100 + index)
        if self.told:
            port["link_rate"] = self.link
        if self.pfc:
            # A builder pauses while it has credits left, also if many of its events are in flight.
            port["flow_control"] = {"mode": "soft", "high_water": 0.5, "low_water": 0.3}
        node = {"name": f"b{index}", "ports": [port],
                "builders": [{"name": f"b{number or ''}", "slots": self.slots,
                              "slot_size": _padded(self.event.payload + 16384, 4096)}
                             for number in range(self.per_node)]}
        if self.consumed:
            node["event_ring"] = {"groups": [GROUP]}
        return node

    def _readout(self, index):
        generator = {"name": "boards", "port": "wire", "ids": [index + 1],
                     "size": {"mean": self.fragment}, "events": self.events}
        if self.rate:
            generator["rate"] = self.rate
        return {"name": f"r{index}", "ports": [self._port(10 + index)], "generators": [generator]}

    def configuration(self, name):
        return appliance.merged({
            "name": name,
            "sources": {"ids": [f"1-{self.readouts}"], "packing": self.packing},
            "events": {"deadline": "500ms", "drain_timeout": "5s"},
            "memory": {"kind": "shm"},
            # Nodes share few CPUs. At these rates a sleep is less than what a packet takes.
            "idle": {"policy": "adaptive", "yields": 2, "sleep": "300us"},
            "event_manager": {"heartbeat_timeout": "5s"},
            "nodes": [{"name": "m", "manager": True, "ports": [self._port(1)]},
                      *map(self._builder, range(self.builders)),
                      *map(self._readout, range(self.readouts))],
        }, self.changes)


def _network_threads():
    """The kernel's threads that carry packets where there are many; in a container none are seen."""
    found = []
    for path in glob.glob("/proc/[0-9]*/comm"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            if file.read().startswith("ksoftirqd/"):
                found.append(int(path.split("/")[2]))
    return found


def _set_scheduler(policy, priority, processes):
    with contextlib.suppress(PermissionError, ProcessLookupError):
        for process in processes:
            os.sched_setscheduler(process, policy, os.sched_param(priority))


@contextlib.contextmanager
def ahead_of_others():
    """Nodes share few CPUs with whatever else runs: they go first, in real time, and the network
    with them, where that is allowed. A bridge that gets no time is a slower link. Of several tests
    at a time, the last one to end gives the kernel's threads their usual place back."""
    with open(os.path.join(tempfile.gettempdir(), "evb-tests-ahead"), "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        try:
            _set_scheduler(os.SCHED_RR, 1, (0, *_network_threads()))
            yield
        finally:
            _set_scheduler(os.SCHED_OTHER, 0, (0,))
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _set_scheduler(os.SCHED_OTHER, 0, _network_threads())


Sample = collections.namedtuple("Sample", "time builders links sched credits")


class Linked(cluster.System):
    """Context manager: a system whose links can be made narrow, and clients of its telemetry."""

    def __init__(self, work, configuration, launcher=()):
        super().__init__(work, configuration, launcher)
        self._clients = {}

    def __exit__(self, *arguments):
        for client in self._clients.values():
            client.__exit__()
        super().__exit__(*arguments)

    def _tc(self, *arguments, namespace=None):
        done = subprocess.run(["tc", "-n", (namespace or self.bridge.bridge).name, *arguments],
                              capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"tc {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def _tbf(self, device, rate, queue, burst, **namespace):
        """Frames count as on Ethernet."""
        self._tc("qdisc", "replace", "dev", device, "root", "tbf", "rate", f"{int(rate)}bit",
                 "burst", str(burst), "limit", str(queue), "overhead", "24", **namespace)

    def narrow(self, node, rate, queue, burst=BURST):
        """The bridge sends no faster to the node."""
        self._tbf(self.bridge.port(node), rate, queue, burst)

    def narrow_uplink(self, node, rate, queue, burst):
        """The node sends no faster. For a port with the option qdisc_bypass 0."""
        namespace = self.bridge.nodes[node]
        self._tbf(namespace.device, rate, queue, burst, namespace=namespace)

    def links(self, nodes):
        """{node: what the bridge's queue in front of it has counted: packets, bytes, drops}"""
        found = {one["dev"]: one for one in json.loads(self._tc("-s", "-j", "qdisc", "show"))}
        return {node: {key: found[self.bridge.port(node)][key]
                       for key in ("packets", "bytes", "drops")} for node in nodes}

    def link(self, node):
        return self.links([node])[node]

    def client(self, node):
        if node not in self._clients:
            client = telemetry.Telemetry(f"{self.name}-{node}")
            self._clients[node] = client.__enter__()
        return self._clients[node]


class Farm(Linked):
    """Context manager: the nodes of a layout; narrow links once start() has been called."""

    def __init__(self, work, layout):
        super().__init__(work, layout.configuration(work.name()))
        self.layout = layout
        self.builders = [f"b{index}" for index in range(layout.builders)]
        self.readouts = [f"r{index}" for index in range(layout.readouts)]

    def start(self, *nodes, arguments=()):
        for node in self.builders if self.layout.queue else ():
            self.narrow(node, self.layout.link, self.layout.queue)
        super().start(*nodes, arguments=arguments)

    def credits(self):
        """{builder's node: what the manager knows of it, of the first builder of the node}"""
        found = self.client("m").query("/evb/credits/all")
        return {f"b{index}": found[f"credits_{index * self.layout.per_node}"]
                for index in range(self.layout.builders)}

    def sched(self):
        return self.client("m").query("/evb/sched/info", "m")

    def pfc(self, node):
        return self.client(node).query("/evb/pfc/info", "wire")

    def readout(self, node):
        return self.client(node).query("/evb/readout/info", "boards")

    def sending(self):
        """What the readouts have sent, in packets, and cycles: of readouts with work, and of their
        lcores."""
        found = []
        for node in self.readouts:
            role = self.client(node).query("/evb/role/info", "readout.boards")
            lcore = self.client(node).query("/evb/lcore/info", str(role["lcore"]))
            found.append((self.readout(node)["segments"], role["busy_cycles"],
                          sum(lcore[f"{kind}_cycles"]
                              for kind in ("busy", "idle", "backpressured"))))
        return time.monotonic(), found

    def sample(self):
        narrow = self.builders if self.layout.queue else ()
        return Sample(time.monotonic(),
                      {node: self.client(node).query("/evb/summary") for node in self.builders},
                      self.links(narrow) if narrow else {},
                      self.sched(), self.credits())

    def wait_for_events(self, count=1):
        """Until the builders together have built this many more."""
        def built():
            return sum(sample["events_complete"] + sample["events_incomplete"]
                       for sample in self.sample().builders.values())

        first = built()
        self.processes["m"].wait_until(lambda: built() >= first + count, f"{count} events")

    def stop(self):
        """Ends the run at once; the summaries by node."""
        self.command("stop")
        return self.end()


def rates(before, after, layout):
    """What happened between two samples, a second; shares are of all links together."""
    seconds = after.time - before.time

    def grown(key):
        return sum(after.builders[node][key] - before.builders[node][key]
                   for node in before.builders) / seconds

    def on_links(key):
        return sum(after.links[node][key] - before.links[node][key]
                   for node in before.links) / seconds

    links = layout.builders * layout.link / 8
    received = grown("packets_received_bytes") + 24 * grown("packets_received")
    placed = grown("segments_placed_bytes") + \
        (ETHERNET + UDP_HEADERS + RE_SIZE) * grown("segments_placed")
    return {
        "seconds": seconds,
        "complete": grown("events_complete"),
        "incomplete": grown("events_incomplete"),
        "dropped": on_links("drops"),
        "goodput": grown("events_complete") * layout.event.payload,
        "goodput_share": grown("events_complete") * layout.event.payload / links,
        "wire_share": grown("events_complete") * layout.event.wire / links,
        "data_share": placed / links,
        "control_share": (received - placed) / links,
    }


def send_rate(before, after, layout):
    """Bits/s at which a node of sources sends while it sends: what its CPU, driver and the kernel
    behind it take. From two results of Farm.sending()."""
    (begin, earlier), (end, later) = before, after
    packets = sum(new[0] - old[0] for old, new in zip(earlier, later))
    busy = sum((new[1] - old[1]) / (new[2] - old[2]) for old, new in zip(earlier, later))
    return packets * layout.event.wire / layout.event.segments * 8 / (busy * (end - begin))


def losses(summary):
    """Packets and segments that were lost or dropped, and events that are not complete, by a
    node's final account. Events that the end of the run cut off are no loss."""
    packets, segments, events = summary["packets"], summary["segments"], summary["events"]
    late = segments["dropped"].get("late", 0)  # of those events
    return (sum(packets["dropped"].values()) + packets["missed"] +
            sum(segments["dropped"].values()) - late +
            events["incomplete"] - min(events["flushed"], events["incomplete"]))


class Direct(cluster.System):
    """Context manager: two nodes over one veth pair, one that sends without being granted and is
    the manager, one that builds. pfc: whether they pause each other."""

    def __init__(self, work, pfc, slots=128, packing=50, fragment=200, rate=0, changes=None):
        ports = [{"name": "wire", "profile": "af_packet", "device": "eth1", "link_rate": 1e9,
                  "address": f"10.78.0.{number}/24",
                  "flow_control": {"mode": "soft" if pfc else "off", "high_water": 0.5,
                                   "low_water": 0.3}} for number in (1, 2)]
        super().__init__(work, appliance.merged({
            "name": work.name(),
            "sources": {"ids": ["1-4"], "packing": packing},
            "events": {"deadline": "5s"},
            "memory": {"kind": "shm"},
            "event_manager": {"mode": "static", "heartbeat_timeout": "5s"},
            "nodes": [
                {"name": "a", "manager": True, "ports": [ports[0]],
                 "generators": [{"name": "boards", "port": "wire", "rate": rate,
                                 "size": {"mean": fragment}}]},
                {"name": "b", "ports": [ports[1]], "event_ring": {"groups": [GROUP]},
                 "builders": [{"name": "b", "slots": slots, "slot_size": "64KiB"}]}],
        }, changes or {}))

    def __enter__(self):
        self.bridge = self._stack.enter_context(network.Pair(
            {"a": ("eth1", 1500), "b": ("eth1", 1500)}))
        self._stack.callback(self._clean)
        return self

    def query(self, node, *arguments):
        with telemetry.Telemetry(f"{self.name}-{node}") as client:
            return client.query(*arguments)


@contextlib.contextmanager
def consumers(work, farm, program, microseconds):
    """A consumer of each builder's events. microseconds: {node: of an event}, or of all."""
    processes = {}
    for node in farm.builders:
        each = microseconds[node] if isinstance(microseconds, dict) else microseconds
        processes[node] = consumer(work, farm, node, program, each)
    yield processes
    for process in processes.values():
        process.finish()


def consumer(work, system, node, program, microseconds):
    process = work.start(program, f"{system.name}-{node}", GROUP, str(round(microseconds)))
    process.wait_for_line("joined")
    return process

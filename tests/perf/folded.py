# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Systems of folded nodes, each of which sends and builds, on this machine."""

import dataclasses
import json
import os
import time
import types

import cluster
import evbtest
import network
import telemetry
from runs import Load, losses

MEMIF, VETH = "memif", "veth"
LARGE = "veth with packets as large as the loopback's"
LARGE_MTU = 65_000
OWN, AUTO = "own lcore", "auto"


@dataclasses.dataclass(frozen=True)
class Work:
    """What the nodes send: sources in all, fragments of at most so many bytes, `packing` in an MFP.
    size: the law of their sizes; without it all have the same. variants: different MFPs per source,
    sent in turn. in_flight: events that the sources hold until they are released."""

    sources: int = 2
    fragment: int = 200
    packing: int = 1
    slots: int = 256
    size: dict = dataclasses.field(default=None, hash=False)
    variants: int = 4
    in_flight: int = 256

    mtu: int = 9000

    @property
    def load(self):
        return Load(self.mtu, self.sources, self.packing, self.fragment)


def large_profile(work):
    """The path of a driver profile: af_packet's, with rings for packets of LARGE_MTU."""
    with open(os.path.join(evbtest.REPOSITORY, "pmd-config", "af_packet.json"), encoding="utf-8") as file:
        profile = json.load(file)
    frame = 255 * 256  # bytes, of which 16 in a block are a multiple of the page size
    profile.update({
        "maximum_mtu": LARGE_MTU, "rx_descriptors": 1024, "tx_descriptors": 512,
        "jumbo_minimum_buffer": frame,
        "jumbo_arguments": {"blocksz": str(16 * frame), "framesz": str(frame), "framecnt": "2048"}})
    return work.write("large.json", profile)


class Folded(cluster.System):
    """Context manager: folded nodes a, the event manager, b, ..., over memif (two nodes) or veth.
    path: MEMIF (two nodes), VETH, or LARGE. placement: OWN, all roles of a node on one lcore on a
    CPU of its own while there are enough, or AUTO. rate: events per second, 0: as many as there is
    room for. launcher: see cluster.System."""

    def __init__(self, work, cpus, rate=0, load=Work(), path=MEMIF, placement=OWN, idle="poll",
                 n_nodes=2, launcher=()):
        names = "abcdefgh"[:n_nodes]
        each = load.sources // n_nodes
        super().__init__(work, {
            "name": work.name(),
            "sources": {"ids": [f"1-{load.sources}"], "packing": load.packing},
            "events": {"deadline": "2s"},
            "idle": {"policy": idle},
            "event_manager": {"mode": "push", "shaping": "linear-shift", "heartbeat": "100ms",
                              "heartbeat_timeout": "5s", "source_buffer": load.in_flight},
            "builders": [{"name": "b0", "slots": load.slots, "slot_size": load.load.slot_bytes}],
            "nodes": [{
                "name": name, "manager": name == "a",
                "ports": [self._port(work, path, number, load.mtu)],
                **({"lcores": [{"cpu": cpus[number % len(cpus)], "roles": [
                    "rx.wire", "control", "builder.b0", "readout.boards"]}]}
                   if placement == OWN else {}),
                "generators": [{"name": "boards", "port": "wire", "rate": rate,
                                "ids": [f"{1 + number * each}-{(number + 1) * each}"],
                                "variants": load.variants,
                                "size": load.size or {"law": "fixed", "mean": load.fragment}}]}
                for number, name in enumerate(names)]}, launcher)
        # What a system has without the frugality of the tests.
        self.file = work.write("system.json", self.configuration)
        self._path = path
        self._clients = {}

    @staticmethod
    def _port(work, path, number, mtu):
        port = {"name": "wire", "profile": "memif", "device": work.path("memif.sock"),
                "mtu": mtu, "address": f"10.78.0.{number + 1}/24", "link_timeout": 0}
        if path == MEMIF:
            return {**port, "options": {"role": "client" if number else "server"}}
        port["device"] = f"veth-{number}"
        if path == LARGE:
            return {**port, "profile": large_profile(work), "mtu": LARGE_MTU}
        return {**port, "profile": "af_packet"}

    def __enter__(self):
        if self._path == MEMIF:
            self.bridge = types.SimpleNamespace(nodes=dict.fromkeys(self.nodes))
        else:
            of = network.Pair if len(self.nodes) == 2 else network.Bridge
            self.bridge = self._stack.enter_context(of(self.devices()))
        self._stack.callback(self._clean)
        for node in self.nodes:  # the server of the memif first
            self.start(node)
            self._clients[node] = self._stack.enter_context(
                telemetry.Telemetry(f"{self.name}-{node}"))
        return self

    def complete(self):
        """Events that have been built and published."""
        return self._clients["a"].query("/evb/sched/info", "a")["events_complete"]

    def bytes_built(self):
        """Of the events that have been published."""
        return sum(client.query("/evb/summary")["bytes_built"] for client in self._clients.values())

    def wait_for_events(self, count):
        self.processes["a"].wait_until(lambda: self.complete() >= count, f"{count} events")

    def _cpu_seconds(self):
        return sum(process.cpu_seconds() for process in self.processes.values())

    def measure(self, seconds):
        """Events per second from now on, and CPU time of all nodes per event."""
        events, cpu, start = self.complete(), self._cpu_seconds(), time.monotonic()
        time.sleep(seconds)
        done, used = self.complete() - events, self._cpu_seconds() - cpu
        return {"events": done / (time.monotonic() - start),
                "cpu_ns": 1e9 * used / done if done else None}

    def rate(self, seconds):
        """Events per second from now on."""
        return self.measure(seconds)["events"]

    def query(self, node, command, *parameters):
        return self._clients[node].query(command, *parameters)

    def drain(self):
        """Builds what the sources have, and ends the run; what was lost."""
        self.command("drain")
        return sum(sum(losses(summary).values()) for summary in self.end().values())


def settle(system, bench):
    """Until the run goes on evenly."""
    system.wait_for_events(100)
    time.sleep(bench.warmup)


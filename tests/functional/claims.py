# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Several processes claim one node of a system, each at a wire of its own with the node's address:
they start, are killed, unplugged (for one or both directions) and plugged in again, at random from
a seed. After the last change of each history one of those that are plugged in is in step with the
others, and the rest are refused and told so. The pure logic: tests/unit/control/claims.h."""

import json
import os
import random
import time

import bottleneck
import cluster
import evbtest
import telemetry
from evbtest import check
from faults import Injector

CLAIMANTS = 3
CHANGES = 4  # in a history
PAUSE_S = 0.45  # between two changes, at most: shorter and longer than peers notice a silence
START_S = 180.0  # of one process, at most
BEATS_S = 0.06  # in which a peer sends heartbeats
REFUSED = "another one runs as node"
REPLACED = "another event manager is in office"


def frames_of(peer, name, folder=None):
    """Frames without records that an appliance has accepted from a peer in the present sessions."""
    with telemetry.Telemetry(name, folder) as client:
        info = client.query("/evb/control/info", peer)
    if not info or "unsequenced" not in info:
        raise ConnectionError(f"{name} does not know {peer} yet")
    return info["unsequenced"]


class Claimant:
    """A wire, and perhaps a process at it. hears, speaks: whether it is plugged in."""

    def __init__(self, claims, name):
        self.name = name
        self.hears = self.speaks = True
        self._claims = claims
        self._folder = claims.work.folder(f"run-{name}")
        self._process = None

    def running(self):
        return self._process is not None and self._process.running()

    def reachable(self):
        """Those that have been replaced end, and have said so."""
        return self.running() and self.hears and self.speaks and not self.is_replaced()

    def start(self):
        claims = self._claims
        self._process = claims.work.start(
            evbtest.binary(), "run", claims.file, "--node", claims.claimed,
            namespace=claims.bridge.nodes[self.name],
            environment={"RUNTIME_DIRECTORY": self._folder})

    def kill(self):
        self._process.kill()
        self._process = None

    def ended_by_itself(self):
        return self._process is not None and not self._process.running()

    def plug(self):
        self._claims.injector.join(self.name)
        self.hears = self.speaks = True

    def unplug(self, draw):
        sides = draw.choice((("from",), ("to",), ("from", "to")))
        self._claims.injector.cut(self.name, *sides)
        self.hears, self.speaks = "to" not in sides, "from" not in sides
        return " and ".join(sides)

    def is_up(self):
        return "running" in self._process.output()

    def is_refused(self):
        return REFUSED in self._process.errors()

    def is_replaced(self):
        return REPLACED in self._process.errors()

    def describe(self):
        return f"{self.name}: {self._process.describe() if self._process else 'never started'}"

    def frames_of(self, peer):
        path = os.path.join(self._folder, "dpdk")
        return frames_of(peer, f"{self._claims.name}-{self._claims.claimed}", path)

    def status(self):
        return cluster.ask(os.path.join(self._folder, "evb",
                                        f"{self._claims.name}-{self._claims.claimed}.ctl"),
                           timeout=1.0)


class Claims(bottleneck.Farm):
    """Context manager: m, r0, r1 and b0, of which one is claimed."""

    def __init__(self, work, claimed, seed):
        super().__init__(work, bottleneck.Layout(
            readouts=2, builders=1, packing=10, queue=0, link=1e9, rate=50,
            changes={"events": {"deadline": "100ms"},
                     "event_manager": {"heartbeat_timeout": "200ms"},
                     "idle": {"policy": "adaptive", "yields": 2, "sleep": "1ms"}}))
        self.work = work
        self.claimed = claimed
        self.injector = None
        self.failures = []
        self.refused = 0
        self.seconds = []
        self.changes = []  # of the newest history
        self.waited_for = []  # by the newest history: (seconds, text)
        self._draw = random.Random(seed)
        self._names = [claimed] + [f"c{index}" for index in range(1, CLAIMANTS)]
        self._peers = [node for node in self.nodes if node != claimed] if claimed == "m" else ["m"]
        self.claimants = []

    def devices(self):
        devices = super().devices()
        return {**devices, **{name: devices[self.claimed] for name in self._names}}

    def __enter__(self):
        super().__enter__()
        try:
            self.injector = self._stack.enter_context(Injector(self.bridge, self._names))
            self.claimants = [Claimant(self, name) for name in self._names]
            for node in self.nodes:
                if node != self.claimed:
                    self.launch(node)
            self.claimants[0].start()
            self._settle(evbtest.PATIENCE_S)
        except BaseException:
            self.__exit__()
            raise
        return self

    # --- histories ---

    def _change(self):
        claimant = self._draw.choice(self.claimants)
        if not claimant.running():
            change = "started"
            claimant.start()
        elif self._draw.randrange(3) == 0:
            change = "killed"
            claimant.kill()
        elif not claimant.reachable():
            change = "plugged in"
            claimant.plug()
        else:
            change = "unplugged " + claimant.unplug(self._draw)
        return f"{claimant.name} {change}"

    def history(self, within):
        """Some changes, and the wait until all is in order."""
        self.changes = []
        for _ in range(CHANGES):
            time.sleep(self._draw.uniform(0, PAUSE_S))
            self.changes.append(self._change())
        seconds = self._settle(evbtest.PATIENCE_S)
        self.seconds.append(seconds)
        self.refused += sum(claimant.reachable() and claimant.is_refused()
                            for claimant in self.claimants)
        if seconds > within:
            self.failures.append(f"history {len(self.seconds)}: in order after {seconds:.2f} s: "
                                 f"{self.changes}; {self.waited_for}")

    def _settle(self, patience):
        """Seconds, from when the processes have started. A start takes about a second of CPU time,
        and a loaded machine may let a process wait for half a minute before it runs."""
        for claimant in self.claimants:
            end = time.monotonic() + START_S
            while claimant.running() and not claimant.is_up():
                check(time.monotonic() < end, f"does not start: {claimant.describe()}")
                time.sleep(0.01)
        begin = time.monotonic()
        end = begin + patience
        self.waited_for = []
        while True:
            why = self._wrong()
            if why and (not self.waited_for or self.waited_for[-1][1] != why):
                self.waited_for.append((round(time.monotonic() - begin, 2), why))
            if not why:
                return max(0.0, time.monotonic() - begin - BEATS_S)
            if time.monotonic() > end:
                shown = "\n".join(claimant.describe() for claimant in self.claimants)
                raise evbtest.Failure(f"history {len(self.seconds) + 1}: {self.changes}; "
                                      f"{self.waited_for}\n{shown}")

    def _wrong(self):
        """Why not all is in order."""
        reachable = [claimant for claimant in self.claimants if claimant.reachable()]
        try:
            before = {claimant: self._beats(claimant) for claimant in reachable}
            time.sleep(BEATS_S)
            in_step = [claimant for claimant in reachable
                       if all(now > then for now, then in
                              zip(self._beats(claimant), before[claimant])) and
                       claimant.status()["node"]["registered"]]
        except (OSError, json.JSONDecodeError):
            return "a process does not answer"
        for claimant in reachable:
            if claimant not in in_step and not claimant.is_refused() and claimant.running():
                return f"{claimant.name} is not in step, and is not told so"
        if len(in_step) > 1:
            return f"{[claimant.name for claimant in in_step]} are in step"
        if not in_step and any(claimant.reachable() for claimant in reachable):
            return "nobody is in step"
        ended = [claimant for claimant in self.claimants
                 if claimant.ended_by_itself() and not claimant.is_replaced()]
        return f"ended by itself: {ended[0].describe()}" if ended else ""

    def _beats(self, claimant):
        """What both sides accepted from each other."""
        return [claimant.frames_of(peer) for peer in self._peers] + \
            [frames_of(self.claimed, f"{self.name}-{peer}") for peer in self._peers]


def run(histories, seed=1, within=1.0, nodes=("m", "r1")):
    """Half of the histories are of the event manager, half of a source. Returns what is wrong."""
    wrong = []
    for claimed in nodes:
        with evbtest.Workspace() as work:
            evbtest.need_root()
            with Claims(work, claimed, seed) as claims:
                try:
                    for _ in range(histories // len(nodes)):
                        claims.history(within)
                except evbtest.Failure as failure:
                    claims.failures.append(str(failure))
                print(f"node {claimed}: {len(claims.seconds)} histories of {CLAIMANTS} processes, "
                      f"{claims.refused} refused, in order within "
                      f"{max(claims.seconds, default=0):.2f} s, mean "
                      f"{sum(claims.seconds) / max(len(claims.seconds), 1):.2f} s", flush=True)
                wrong += [f"node {claimed}: {failure}" for failure in claims.failures]
    return wrong

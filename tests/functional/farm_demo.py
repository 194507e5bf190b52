#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`./dev demo farm`: the chain of configs/farm.json and configs/farm-filter.json on this machine, each
builder and each node in a network namespace. Two processes play events of the example's detector
into the rings of two readout nodes; two builder nodes build them; a sender beside each builder gives
the built events to one of two filter nodes, on which examples/filter decides, and a recorder writes
the accepted ones. After a third of the time the event manager is killed, and a process that stands
by takes its place; after two thirds a sender is killed and started again. Shows the events live, and
ends with an account: each event that was played is decided. Needs root; nothing is left behind.

    farm_demo.py [SECONDS]
"""

import glob
import os

import cluster
import demo
import evb_decode
import evbtest

RATE = 200  # events/s
LAUNCHER = ("setsid",)  # Ctrl-C is for this program
SOURCES = {"ru0": (0x1001, 0x3801), "ru1": (0x3802, 0x3803)}
BUILDERS = ("build0", "build1")
FILTERS = ("filter0", "filter1")


def say(text):
    print(text, flush=True)


class Farm(cluster.System):
    """The first stage, with one more wire for the process that stands by."""

    def devices(self):
        devices = super().devices()
        return {**devices, "standby": devices[self.manager]}

    def stand_by(self):
        """A second process of the event manager's node, at a wire of its own with the address of that
        node. The others refuse it as long as the first one lives."""
        folder = self._work.folder("standby")
        return self._work.start(
            *LAUNCHER, evbtest.binary(), "run", self.file, "--node", self.manager,
            namespace=self.bridge.nodes["standby"], environment={"RUNTIME_DIRECTORY": folder})


def build_file(path):
    """A program of the build folder."""
    path = os.path.join(os.path.dirname(evbtest.binary()), path)
    if not os.access(path, os.X_OK):
        evbtest.skip(f"{path} is not built")
    return path


def make_files(work, events):
    """What the two producers play: events of the detector, each source's in one of two files."""
    path = work.path("hits.mfp")
    process = work.start(build_file("examples/filter/make_hits"), path, "--events", str(events))
    evbtest.check_equal(process.finish().status, 0, process.describe())
    data = evb_decode.read(path)
    files = {}
    for node, sources in SOURCES.items():
        files[node] = work.path(f"{node}.mfp")
        with open(files[node], "wb") as file:
            for mfp in evb_decode.mfps(data):
                if mfp.source_id in sources:
                    file.write(data[mfp.offset:mfp.offset + mfp.size])
    os.unlink(path)
    return files


def one_each(configuration, node, parts):
    """Puts as many nodes in the place of one, with a generator or builder each."""
    nodes = configuration["nodes"]
    [whole] = [one for one in nodes if one["name"] == node]
    [port] = whole["ports"]
    address, prefix = port["address"].split("/")
    network, host = address.rsplit(".", 1)
    configuration["nodes"] = [one for one in nodes if one is not whole] + [
        {**whole, **part, "name": f"{node}{index}",
         "ports": [{**port, "address": f"{network}.{int(host) + index}/{prefix}"}]}
        for index, part in enumerate(parts)]


def configurations(work):
    """Those of configs/, with each builder on a node of its own, and a sender beside each of them."""
    first, second = cluster.shipped("farm.json"), cluster.shipped("farm-filter.json")
    [builders] = [node["builders"] for node in first["nodes"] if node["name"] == "build"]
    [[built]] = [node["generators"] for node in second["nodes"] if node["name"] == "egress"]
    one_each(first, "build", [{"builders": [builder]} for builder in builders])
    one_each(second, "egress", [
        {"generators": [{**built, "event_ring": {**built["event_ring"], "appliance": node}}]}
        for node in ("farm-build0", "farm-build1")])
    for configuration in (first, second):
        configuration["name"] = work.name()
        configuration["memory"] = {"kind": "shm"}
    for node in first["nodes"]:
        for generator in node.get("generators", ()):
            generator["rate"] = RATE
    for node in second["nodes"]:
        for generator in node.get("generators", ()):
            built = generator["event_ring"]
            built["appliance"] = built["appliance"].replace("farm", first["name"])
        for writer in node.get("writers", ()):
            writer["directory"] = work.folder("accepted")
    return first, second


class Demo:
    def __init__(self, work, first, second):
        self._work, self.first, self.second = work, first, second
        self._killed = set()
        self._last = None

    def start(self, files):
        for system in (self.second, self.first):
            say("starting nodes " + ", ".join(system.nodes))
            system.start()
        self.standby = self.first.stand_by()
        for node in FILTERS:
            self._work.start(*LAUNCHER, build_file("examples/filter/filter"),
                             f"{self.second.name}-{node}")
        for node, path in files.items():
            self._work.start(*LAUNCHER, build_file("lib/producer/producer"),
                             f"{self.first.name}-{node}", "boards", path)

    def counts(self):
        """Events that each builder node has built, and that each filter node has got."""
        return {node: system.ask(node)["events"]["complete"]
                for system, nodes in ((self.first, BUILDERS), (self.second, FILTERS))
                for node in nodes}

    def show(self, second, passed):
        now, last = self.counts(), self._last
        if last:
            say(f"{second:4} s  " + "  ".join(
                f"{name} {(now[name] - last[name]) / passed:5.0f}" for name in now) +
                f" events/s | {sum(now[node] for node in BUILDERS)} built, "
                f"{sum(now[node] for node in FILTERS)} on filter nodes")
        self._last = now

    def once(self, what, condition):
        if not condition or what in self._killed:
            return False
        self._killed.add(what)
        return True

    def disturb(self, part):
        if self.once("manager", part > 1 / 3):
            say("kill -9 of the event manager; the process that stands by takes its place")
            self.first.processes[self.first.manager].kill()
        if self.once("egress", part > 2 / 3):
            say("kill -9 of a sender to the filter nodes; it is started again")
            self.second.processes["egress0"].kill()
            self.second.launch("egress0")

    def watch(self, seconds):
        self.show(0, 1)
        for second, passed in demo.each_second(seconds):
            self.show(second, passed)
            self.disturb(second / seconds)

    def end(self):
        """Summaries by node, after the producers have ended, and with them all runs."""
        rest = [node for node in self.first.nodes if node != self.first.manager]
        first = self.first.end(nodes=rest)
        self.standby.finish()
        return first, self.second.end()


def recorded(work):
    """How many times each event stands in the files of the recorders, by its id."""
    times = {}
    for path in glob.glob(work.path("accepted", "*.mep")):
        data = evb_decode.read(path)
        for mep in evb_decode.meps(data):
            inner = evb_decode.Mep(mep.mfps[0].opaque_payload, 0, from_file=False)
            times[inner.event_id] = times.get(inner.event_id, 0) + 1
    return times


def account(work, events, first, second):
    """Prints what became of all events; returns whether one was lost."""
    complete, incomplete = (sum(first[node]["events"][key] for node in BUILDERS)
                            for key in ("complete", "incomplete"))
    sums = [second[node]["decisions"][0] for node in FILTERS]
    got = sum(second[node]["events"]["complete"] for node in FILTERS)
    times = recorded(work)
    twice = sum(count - 1 for count in times.values())
    say(f"\n{events} events played, {complete} built, {incomplete} incomplete")
    for node, row in zip(FILTERS, sums):
        say(f"  {node}: {second[node]['events']['complete']} events, "
            f"{row['accepted']} accepted, {row['rejected']} rejected")
    say(f"{got - complete} events were sent twice; "
        f"{len(times)} events recorded, {twice} of them twice")
    return complete != events or got < complete


def run(seconds):
    events = RATE * (seconds + 2)  # the rest after the last line that is shown
    with evbtest.Workspace() as work:
        files = make_files(work, events)
        one, two = configurations(work)
        with Farm(work, one, LAUNCHER) as first, \
                cluster.System(work, two, LAUNCHER, prefix="f-") as second:
            shown = Demo(work, first, second)
            shown.start(files)
            try:
                shown.watch(seconds)
            except KeyboardInterrupt:
                say("\nending")
                return 0
            summaries = shown.end()
        return demo.EXIT_LOSSES if account(work, events, *summaries) else 0


if __name__ == "__main__":
    demo.main(run, 15)

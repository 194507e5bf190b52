# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Results of a system: consumers on two builder nodes decide, a third node writes all decisions in
the order of events. A builder node, the node of the results, or that of an elected event manager is
killed and comes back: each event stands in the results once, in order."""

import dataclasses
import glob
import os

import bottleneck
import evbtest
import test_decide as filtering
from evbtest import check, check_equal

PACKING = filtering.PACKING
RATE = 300  # events per second
TIMED_OUT = filtering.TIMED_OUT
BUILDER_OF = {"b0": 0, "b1": 1}  # system-wide numbers


@dataclasses.dataclass
class Layout(bottleneck.Layout):
    """A node x that only writes results."""

    folder: str = ""
    elects: bool = False  # m or r0 is the event manager

    def configuration(self, name):
        result = super().configuration(name)
        result["groups"] = [{"name": "filter", "decides": True}]
        result["nodes"].append({
            "name": "x", "ports": [self._port(200)],
            "results": [{"name": "all", "group": "filter", "directory": self.folder,
                         "timeout": "10s" if self.elects else "1s"}]})
        for node in result["nodes"]:
            if self.elects and node["name"] == "r0":
                node["manager"] = True
        return result


class Farm(bottleneck.Farm):
    """m, b0, b1, r0, and x for the results; a member of the filter on each builder node."""

    def __init__(self, work, elects=False):
        self.folder = work.folder("results")
        super().__init__(work, Layout(
            readouts=1, builders=2, packing=PACKING, fragment=40, queue=0, link=1e9, rate=RATE,
            folder=self.folder, elects=elects,
            changes={"events": {"deadline": "10s", "drain_timeout": "10s"},
                     "event_manager": {"mode": "push", "start": "manual", "heartbeat": "20ms",
                                       "heartbeat_timeout": "500ms"}}))
        self._work = work

    def decide(self, node):
        return filtering.start_member(self._work, f"{self.name}-{node}", hold=1)

    def again(self, node):
        """Kills a node and starts it again."""
        self.processes[node].kill()
        self.start(node)

    def written(self):
        """(event, builder, lines, tag, flags) of all files, in the order of their records."""
        records = []
        for path in sorted(glob.glob(os.path.join(self.folder, "*.decisions"))):
            records += filtering.records_of(path, len(records))
        return records

    def start_led_by_m(self):
        """r0, which has the data, stands by."""
        self.start("m", "b0", "b1", "x")
        self.wait_for(lambda status: status["office"]["manager"] == "m", "m is in office", "x")
        self.start("r0")
        self.wait_for(lambda status: status["state"] == "ready", "m has all nodes", "m")

    def until_written(self, more):
        end = self.number() + more
        self.processes["m"].wait_until(lambda: self.number() >= end, f"{more} more results")

    def number(self):
        """Whole records in the files so far."""
        return sum(max(0, os.path.getsize(path) // 32 - 1)
                   for path in glob.glob(os.path.join(self.folder, "*.decisions")))


def check_decisions(records, timed_out):
    """All events from the first to the last, each once; those that nobody decided are of this
    builder. Returns their number."""
    check_equal([event for event, *_ in records], [PACKING * n for n in range(len(records))],
                "events of the results")
    late = [event for event, builder, _, _, flags in records if flags & TIMED_OUT]
    for event, builder, lines, tag, flags in records:
        if flags & TIMED_OUT:
            check_equal(builder, timed_out, f"builder of event {event}")
        else:
            check_equal((lines, tag, flags), filtering.decision(event), f"result of {event}")
    return len(late)


def trial(killed):
    with evbtest.Workspace() as work, Farm(work, elects=killed == "m") as farm:
        filtering.decider()
        if killed == "m":
            farm.start_led_by_m()
        else:
            farm.start()
        deciders = [farm.decide("b0"), farm.decide("b1")]
        farm.command("start")
        farm.until_written(100)
        if killed in BUILDER_OF:
            # Some of its events are published, and nobody decides about them.
            member = deciders[BUILDER_OF[killed]]
            member.suspend()
            published = farm.ask(killed)["node"]["published"]
            member.wait_until(lambda: farm.ask(killed)["node"]["published"] > published + 3,
                              "published events")
            farm.again(killed)
            member.kill()
            deciders[BUILDER_OF[killed]] = farm.decide(killed)
        else:
            farm.again(killed)
        if killed == "m":
            farm.wait_for(lambda status: status["office"]["manager"] == "r0", "r0 takes over", "r0")
        farm.until_written(150)
        farm.command("drain")
        summaries = farm.end()
        for decider in deciders:
            decider.finish()
        return farm.written(), summaries


def test_builder_node_is_killed():
    records, summaries = trial("b1")
    late = check_decisions(records, BUILDER_OF["b1"])
    check(3 <= late <= bottleneck.Layout.slots + 1, f"{late} events without a decision")
    results = summaries["x"]["results"]
    check_equal((results["records"], results["timed_out"]), (len(records), late), "results")
    check_equal(summaries["b0"]["results"]["sent_lost"], 0, "lost decisions")


def test_results_node_is_killed():
    records, summaries = trial("x")
    check_equal(check_decisions(records, None), 0, "events without a decision")
    check(0 < summaries["x"]["results"]["records"] < len(records), "records of the second process")
    for node in "b0", "b1":
        check_equal(summaries[node]["results"]["sent_lost"], 0, "lost decisions")


def test_manager_is_killed():
    """Another node takes over, and goes on reporting which events there are."""
    records, summaries = trial("m")
    check_equal(check_decisions(records, None), 0, "events without a decision")
    check_equal(summaries["x"]["results"]["records"], len(records), "records")
    for node in "b0", "b1":
        check_equal(summaries[node]["results"]["sent_lost"], 0, "lost decisions")


if __name__ == "__main__":
    evbtest.main()

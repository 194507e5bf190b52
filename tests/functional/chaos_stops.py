# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Nodes of a shipped system that are stopped for a moment (SIGSTOP), again and again, and one that is
killed for good: what becomes of the events, and of the rate of the others. `chaos.py --stops` and
`chaos.py --kill` print it."""

import collections
import contextlib
import signal
import time

import appliance
import cluster
import evbtest
from telemetry import Telemetry

LOOK_S = 0.02
WINDOW_S = 0.1  # rates are those of any such time
BEFORE_S = 1.0
AFTER_S = 1.5  # the node is missed, and its events are not waited for any more

EVENTS = ("incomplete", "discarded", "withdrawn")

Look = collections.namedtuple("Look", "time events")


def configured(work, name, **event_manager):
    """A shipped system under a name of its own. event_manager: keys that differ."""
    # Nodes that start at once would race for the machine's hugepages.
    changes = {"name": work.name(), "memory": {"kind": "shm"}, "event_manager": event_manager}
    return appliance.merged(cluster.shipped(name), changes)


class Eyes:
    """Context manager: the counters of all nodes, by connections that stay open."""

    def __init__(self, system):
        self._system = system
        self._stack = contextlib.ExitStack()
        self._clients = {}

    def __enter__(self):
        for node in self._system.nodes:
            client = Telemetry(f"{self._system.name}-{node}")
            self._clients[node] = self._stack.enter_context(client)
        return self

    def __exit__(self, *_):
        self._stack.close()

    def forget(self, node):
        del self._clients[node]

    def counters(self):
        """{node: {key: number}}"""
        return {node: client.query("/evb/summary") for node, client in self._clients.items()}

    def losses(self):
        """What was lost or came in vain: {(node, what): number}."""
        result = collections.Counter()
        for node, counters in self.counters().items():
            result.update({(node, key.removeprefix("segment_drop_")): count
                           for key, count in counters.items() if "_drop_" in key})
            result.update({(node, kind): counters[f"events_{kind}"] for kind in EVENTS})
            result[(node, "missed")] = counters["packets_missed"]
        return result

    def built(self):
        """Events that all nodes have built, and when."""
        total = sum(counters["events_complete"] + counters["events_incomplete"]
                    for counters in self.counters().values())
        return Look(time.monotonic(), total)


# --- nodes that are stopped ----------------------------------------------------------------------


def wait_for(system, predicate, what, patience=evbtest.PATIENCE_S):
    """Until the predicate holds for what the manager in office knows of the system, which it returns."""
    managers = [node["name"] for node in system.configuration["nodes"] if node.get("manager")]
    end = time.monotonic() + patience
    while True:
        states = [system.ask(node) for node in managers if system.processes[node].running()]
        for state in states:
            if "system" in state and predicate(state["system"]):
                return state["system"]
        evbtest.check(time.monotonic() < end, f"not in {patience} s: {what}: {states}")
        time.sleep(LOOK_S)


def finished(system):
    """Waits until all nodes take part, and all events that were announced by then are released."""
    start = time.monotonic()
    state = wait_for(system, lambda state: state["in_doubt"] == 0 and not any(
        node["lost"] or not node["registered"] for node in state["nodes"]), "all nodes take part")
    wait_for(system, lambda now: now["released"] >= state["announced"],
             f"events up to {state['announced']} are released")
    return time.monotonic() - start


def manager_of(system):
    """The nodes that are in office as the event manager, as they say."""
    return {node for node in system.nodes if "system" in system.ask(node)}


def stop(system, eyes, node, seconds):
    """Stops a node once. Returns what was lost, how long the events took afterwards, and whether
    another node has become the event manager."""
    before, manager = eyes.losses(), manager_of(system)
    process = system.processes[node]
    process.signal(signal.SIGSTOP)
    time.sleep(seconds)  # for which the process is away
    process.signal(signal.SIGCONT)
    slowest = finished(system)
    return eyes.losses() - before, slowest, manager_of(system) != manager


def describe(losses):
    return ", ".join(f"{node}: {what} {count}"
                     for (node, what), count in sorted(losses.items())) or "nothing"


def check_losses(losses, stopped, took_over):
    """What is wrong. Of a node that was stopped for longer than heartbeat_timeout, events are taken
    away: what it has of them is discarded, and what still comes to it is late. A node that takes over
    from it orders all data of open events again, as nobody knows whose orders the other one had sent,
    and has the events of the stopped node built by others, which give them up when it is back."""
    given_up = ("discarded", "withdrawn", "late")
    return [f"{node}: {what} {count}" for (node, what), count in sorted(losses.items())
            if not (what in given_up and (took_over or node == stopped))
            and not (what == "duplicate" and took_over)]


def run_stops(name, seconds, times, only=None):
    """Prints a line for each node and duration. Returns what is wrong."""
    wrong = []
    with evbtest.Workspace() as work, cluster.System(work, configured(work, name)) as system:
        system.start()
        wait_for(system, lambda state: state["released"] > 100, "events are built")
        with Eyes(system) as eyes:
            for node in only or system.nodes:
                for duration in seconds:
                    losses, slowest, take_overs = collections.Counter(), 0.0, 0
                    for _ in range(times):
                        lost, took, took_over = stop(system, eyes, node, duration)
                        losses += lost
                        slowest = max(slowest, took)
                        take_overs += took_over
                        wrong += [f"{node} stopped for {duration} s: {text}"
                                  for text in check_losses(lost, node, took_over)]
                    print(f"{name}: {node} stopped {times} times for {duration} s, {take_overs} "
                          f"take-overs: {describe(losses)}; slowest {slowest:.2f} s", flush=True)
        system.command("drain")
        summaries = system.end()
    for node, summary in summaries.items():
        if summary["events"]["incomplete"]:
            dropped = {cause: count for of in ("packets", "segments")
                       for cause, count in summary[of]["dropped"].items() if count}
            wrong.append(f"{node}: {summary['events']}, dropped: {dropped}")
    return wrong


# --- a node that is killed -----------------------------------------------------------------------


def rates(looks):
    """(time since the first look, events per second) of each stretch of WINDOW_S at the least."""
    first = 0
    for look in looks:
        while first + 1 < len(looks) and look.time - looks[first + 1].time >= WINDOW_S:
            first += 1
        if look.time - looks[first].time >= WINDOW_S:
            yield (look.time - looks[0].time,
                   (look.events - looks[first].events) / (look.time - looks[first].time))


def watch(eyes, seconds):
    looks = [eyes.built()]
    while looks[-1].time < looks[0].time + seconds:
        time.sleep(LOOK_S)
        looks.append(eyes.built())
    return looks


Death = collections.namedtuple("Death", "usual usual_lowest lowest when stall later")


def rate(looks):
    return (looks[-1].events - looks[0].events) / (looks[-1].time - looks[0].time)


def kill(name, victim, leaves_will, **event_manager):
    """Kills a node at full rate. What the others built before: in sum, and the lowest rate; after it:
    the lowest rate, when that was, for how long it was less than half; and in the last second."""
    with evbtest.Workspace() as work:
        configuration = configured(work, name, **event_manager)
        with cluster.System(work, configuration) as system:
            system.start()
            wait_for(system, lambda state: state["released"] > 1000, "events are built")
            with Eyes(system) as eyes:
                eyes.forget(victim)
                before = watch(eyes, BEFORE_S)
                system.processes[victim].begin_kill(leaves_will)
                after = watch(eyes, AFTER_S)
                last = watch(eyes, BEFORE_S)
            system.nodes.remove(victim)
            system.command("stop")
            system.end()
    usual = rate(before)
    low = [when for when, value in rates(after) if value < usual / 2]
    lowest, when = min((value, when) for when, value in rates(after))
    return Death(usual, min(value for _, value in rates(before)), lowest, when,
                 max(low) - min(low) + WINDOW_S if low else 0.0, rate(last))


def run_kill(name, victim, leaves_will, **event_manager):
    """Prints what the death of a node does to the others. Returns what is wrong."""
    death = kill(name, victim, leaves_will, **event_manager)
    text = f"{name}: {victim} killed{'' if leaves_will else ' without a last will'}: the others built {death.usual:.0f} events/s before ({death.usual_lowest:.0f} " \
           f"at the least in any {WINDOW_S} s), {death.lowest:.0f} at the least after it (at {death.when:.2f} s), " \
           f"less than half for {death.stall:.2f} s, {death.later:.0f} afterwards"
    print(text, flush=True)
    return [text] if death.lowest < death.usual / 2 else []

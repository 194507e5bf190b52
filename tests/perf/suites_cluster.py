# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Systems of several nodes behind narrow links: what shaping and credits are for.

Nodes are processes in network namespaces, all on this machine: rates are those of the narrow links,
chosen far below what the machine can do.
"""

import contextlib
import os
import signal
import threading
import time

import bottleneck
import evbtest
from bottleneck import Direct, Farm, Layout
from runs import Table, Unavailable

# The prototype of 2009: retries a second of packets that a receiver had no room for, with its rules
# of scheduling and with them broken.
RETRIES_2009 = {"unshaped": 110_505.0, "shaped": 324.0}
# A builder without credits, measured elsewhere; Gb/s.
CREDITLESS = {"at its limit": 25.0, "at twice its limit": 2.9}

OFFERED = (0.5, 1, 1.5, 2, 4)
TARGET = 0.97  # share of the links that grants fill


def _need_root():
    if os.geteuid() != 0:
        raise Unavailable("needs root for network namespaces")


@contextlib.contextmanager
def _ahead_of_others():
    """Ten nodes share few CPUs with whatever else runs: they go first."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)


@contextlib.contextmanager
def _farm(layout):
    _need_root()
    with _ahead_of_others(), evbtest.Workspace() as work, Farm(work, layout) as farm:
        farm.start()
        farm.work = work
        yield farm


def _consumer_program(bench):
    return os.path.join(bench.build, "tests", "functional", "slow_consumer")


def _shaped(mode="push", shaping="linear-shift", **more):
    return {"event_manager": {"mode": mode, "shaping": shaping, "target_utilisation": TARGET,
                              "parallel_sends": 8, "heartbeat_timeout": "5s", **more}}


# --- incast -------------------------------------------------------------------------------------

INCAST = {
    "none": Layout(changes=_shaped(shaping="none")),
    "linear shift, push": Layout(changes=_shaped()),
    "linear shift, pull": Layout(changes=_shaped("pull", target_utilisation=0.95)),
    "linear shift, push, MTU 9000": Layout(mtu=9000, queue=200_000, changes=_shaped()),
    "linear shift, push, 3 builders": Layout(builders=3, changes=_shaped()),
}


def _steady(bench, layout, farm):
    """Rates of the run once it goes on evenly."""
    farm.wait_for_events(5)
    time.sleep(0.3 if bench.quick else 1.5)
    before = farm.sample()
    time.sleep(2.5 * bench.window)
    return bottleneck.rates(before, farm.sample(), layout)


def _run(bench, layout):
    with _farm(layout) as farm:
        result = _steady(bench, layout, farm)
        farm.stop()
    return result


def _incast(bench):
    rows = dict(list(INCAST.items())[:2]) if bench.quick else INCAST
    found, missing = bench.interleave({name: lambda layout=layout: _run(bench, layout)
                                       for name, layout in rows.items()})
    layout = INCAST["none"]
    table = Table(
        f"incast: {layout.readouts} sources to a builder behind {layout.link / 1e6:.0f} Mb/s and "
        f"a queue of {layout.queue // 1000} kB, events of {layout.event.payload // 1000} kB", [
            ("complete", "complete", "/s"), ("incomplete", "incomplete", "/s"),
            ("dropped", "lost packets", "/s"), ("wire_share", "complete, on the wire", "share"),
            ("goodput_share", "their payload", "share"), ("control_share", "control", "share")], [
            "shares are of the bottleneck, which counts bytes as Ethernet does: headers, preamble, "
            "FCS and gap; packets of 1500 bytes carry 94.4 % of payload, of 9000 bytes 99.0 %",
            f"grants fill {TARGET:.0%} of the link, of pull 95 %, since its messages take more",
            "lost packets are those that the bottleneck's queue had no room for"])
    for name, layout in rows.items():
        table.add(name, found[name], {"mtu": layout.mtu, "queue": layout.queue,
                                      "builders": layout.builders,
                                      "link_bits_per_second": layout.link}, missing.get(name))
    table.notes += _factor(found)
    return table


def _factor(found):
    """What is lost without shaping, beside what is lost with it."""
    none, shaped = found.get("none", []), found.get("linear shift, push", [])
    if not none or not shaped:
        return []
    lost = sum(one["dropped"] * one["seconds"] for one in shaped)
    seconds = sum(one["seconds"] for one in shaped)
    unshaped = sorted(one["dropped"] for one in none)[len(none) // 2]
    factor = unshaped * seconds / max(lost, 1)
    ratio = RETRIES_2009["unshaped"] / RETRIES_2009["shaped"]
    return [
        f"without shaping {unshaped:.0f} packets a second are lost, with it {lost:.0f} in "
        f"{seconds:.0f} s: a factor of {'more than ' if lost == 0 else ''}{factor:.0f}",
        f"the 2009 prototype had {RETRIES_2009['unshaped']:.0f} retries a second unshaped and "
        f"{RETRIES_2009['shaped']:.0f} shaped, a factor of {ratio:.0f}; retries are not losses, so "
        "only the order of magnitude compares"]


# Events that fit into the bottleneck's queue: without pacing of sends they survive alone.
CURVE = {
    "linear shift, push": Layout(packing=25, changes=_shaped()),
    "linear shift, pull": Layout(packing=100, changes=_shaped("pull", target_utilisation=0.95)),
    "none, the link's rate is known": Layout(packing=25, changes=_shaped(shaping="none")),
    "none, it is not known": Layout(packing=25, told=False, changes=_shaped(shaping="none")),
}


def _at_load(bench, layout, share):
    layout = Layout(**{**layout.__dict__, "rate": share * layout.capacity})
    return _run(bench, layout)


def _offered(bench):
    shares = (0.5, 2) if bench.quick else OFFERED
    found, missing = bench.interleave({
        (name, share): lambda layout=layout, share=share: _at_load(bench, layout, share)
        for name, layout in CURVE.items() for share in shares})
    table = Table(
        "incast: complete events on the wire, in shares of the bottleneck, against the load",
        [(str(share), f"{share:g} x", "share") for share in shares], [
            "the load is what the sources have, in units of what the bottleneck can carry; what "
            "cannot be granted waits in the sources",
            "link's rate not known: only credits hold grants back, 28 events of "
            f"{CURVE['none, it is not known'].event.payload // 1000} kB",
            f"a builder without credits, measured elsewhere, fell from {CREDITLESS['at its limit']}"
            f" to {CREDITLESS['at twice its limit']} Gb/s at twice its load"])
    for name, layout in CURVE.items():
        rows = [{str(share): found[(name, share)][number]["wire_share"]
                 for share in shares if number < len(found[(name, share)])}
                for number in range(bench.repetitions)]
        reasons = [missing[(name, share)] for share in shares if (name, share) in missing]
        table.add(name, [row for row in rows if row],
                  {"event_bytes": layout.event.payload, "link_rate_told": layout.told},
                  "; ".join(reasons) or None)
    return table


def run_incast(bench):
    """Sub-suite `incast`."""
    return [_incast(bench), _offered(bench)]


# --- a port that pauses -------------------------------------------------------------------------

PAUSED = Layout(readouts=4, builders=3, packing=50, consumed=True, pfc=True,
                changes=_shaped(heartbeat="20ms"))
PAUSE_S = 1.0
PERIOD_S = 10.0


def _grants(before, after):
    """Grants a second by builder, between two (time, credits)."""
    return {node: (after[1][node]["grants"] - before[1][node]["grants"]) / (after[0] - before[0])
            for node in before[1]}


def _look(farm):
    return time.monotonic(), farm.credits()


def _until(condition, timeout=10.0):
    """Polls; returns when it became true."""
    end = time.monotonic() + timeout
    while not condition():
        evbtest.check(time.monotonic() < end, "a pause did not begin, or end")
        time.sleep(0.001)
    return time.monotonic()


def _pause_once(farm, consumer, period):
    """One period: builder b0's consumer stops, so its slots fill and its port pauses; a second
    later it goes on."""
    usual = _look(farm)
    time.sleep(period - PAUSE_S)
    usual = _grants(usual, _look(farm))
    consumer.signal(signal.SIGSTOP)
    try:
        began = _until(lambda: farm.pfc("b0")["pausing"])
        _until(lambda: farm.credits()["b0"]["paused"])
        told = _look(farm)
        time.sleep(max(0, PAUSE_S - (time.monotonic() - began)))
        last = _look(farm)
    finally:
        consumer.signal(signal.SIGCONT)
    ended = _until(lambda: not farm.pfc("b0")["pausing"])
    granted = _until(lambda: farm.credits()["b0"]["grants"] > last[1]["b0"]["grants"])
    time.sleep(max(0, ended + 0.1 - time.monotonic()))
    back = _look(farm)
    time.sleep(0.5)
    after = _grants(back, _look(farm))
    during = _grants(told, last)
    others = [node for node in usual if node != "b0"]
    return {
        "b0_usual": usual["b0"], "b0_during": during["b0"], "b0_after": after["b0"],
        "others_usual": sum(usual[node] for node in others),
        "others_during": sum(during[node] for node in others),
        "kept": sum(during.values()) / sum(usual.values()),
        "told": (told[0] - began) * 1e9, "granted": (granted - ended) * 1e9,
    }


def _pause(bench):
    """All periods of one run: [result, ...]."""
    layout = Layout(**{**PAUSED.__dict__, "rate": PAUSED.capacity / 2})
    with _farm(layout) as farm:
        with bottleneck.consumers(farm.work, farm, _consumer_program(bench), 0) as consumers:
            farm.wait_for_events(50)
            results = [_pause_once(farm, consumers["b0"], 3.0 if bench.quick else PERIOD_S)
                       for _ in range(bench.repetitions)]
            summaries = farm.stop()
    lost = sum(bottleneck.losses(summary) for summary in summaries.values())
    return [{**result, "lost": lost} for result in results]


def _pause_tables(bench):
    table = Table(
        f"suspend: builder b0's port pauses for {PAUSE_S:g} s of each "
        f"{3 if bench.quick else PERIOD_S:g} s", [
            ("b0_usual", "b0 before", "/s"), ("b0_during", "during", "/s"),
            ("b0_after", "0.1 s after XON", "/s"), ("others_usual", "others before", "/s"),
            ("others_during", "during", "/s"), ("kept", "all, during", "share"),
            ("told", "XOFF -> no grants", "ms"), ("granted", "XON -> grant", "ms"),
            ("lost", "lost", "")], [
            f"{PAUSED.readouts} sources, {PAUSED.builders} builders behind "
            f"{PAUSED.link / 1e6:.0f} Mb/s each, load half of that; grants a second",
            "the pause is real: b0's consumer stops, its slots fill, at 80 % it sends XOFF and "
            "tells the manager; the consumer goes on, and below 60 % it sends XON",
            "times include how long the observer takes to ask, 1 to 2 ms"])
    results, missing = _once(bench, "pause", lambda: _pause(bench))
    table.add("PFC-aware grants", results, {"period_s": PERIOD_S}, missing)
    return table


def _once(bench, name, run):
    """As Bench.interleave() of one experiment that does its own repetitions."""
    try:
        return run(), None
    except (Unavailable, evbtest.Skip) as reason:
        return [], str(reason)
    except evbtest.Failure as failure:
        bench.failures.append(f"{name}: {failure}")
        return [], "failed: " + str(failure).splitlines()[0]


def _direct(bench, pfc):
    _need_root()
    with _ahead_of_others(), evbtest.Workspace() as work, Direct(work, pfc) as system:
        system.start()
        consumer = bottleneck.consumer(work, system, "b", _consumer_program(bench), 5000)
        before = system.query("b", "/evb/summary"), time.monotonic()
        time.sleep(1.5 * bench.window)
        after = system.query("b", "/evb/summary"), time.monotonic()
        held = system.query("a", "/evb/readout/info", "boards")["held_pause"]
        paused = system.query("a", "/evb/pfc/info", "wire")["paused_ns"] if pfc else 0
        system.processes["a"].stop()
        system.processes["b"].stop()
        consumer.finish()
        lost = bottleneck.losses(system.processes["b"].summary())
    return {"complete": (after[0]["events_complete"] - before[0]["events_complete"]) /
            (after[1] - before[1]), "lost": lost, "held": held, "paused": paused}


def _direct_table(bench):
    found, missing = bench.interleave({
        "without flow control": lambda: _direct(bench, False),
        "PFC": lambda: _direct(bench, True)})
    table = Table(
        "suspend: nothing is granted (static mode), the consumer takes 200 events a second", [
            ("complete", "complete", "/s"), ("lost", "lost packets, events", ""),
            ("held", "polls held by a pause", ""), ("paused", "paused", "ms")], [
            "two nodes over one veth pair, the one sends as fast as it can; pause frames are the "
            "only thing that holds it"])
    for name, results in found.items():
        table.add(name, results, {}, missing.get(name))
    return table


# --- suspended builders -------------------------------------------------------------------------

MOVING = Layout(readouts=4, builders=4, packing=2, slots=3, queue=0, told=False, changes={
    **_shaped(shaping="none", policy="round-robin"),
    "idle": {"policy": "adaptive", "yields": 5, "sleep": "100us"}})
MOVING_RATE = 3000.0
SUSPENSIONS_MS = (0, 1, 10)


class Suspender:
    """Context manager: stops one process after the other for so long, again and again."""

    def __init__(self, processes, seconds):
        self._processes = processes
        self._seconds = seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.durations = []

    def _run(self):
        while not self._over.is_set():
            for process in self._processes:
                start = time.monotonic()
                process.signal(signal.SIGSTOP)
                time.sleep(self._seconds)
                process.signal(signal.SIGCONT)
                self.durations.append(time.monotonic() - start)

    def __enter__(self):
        if self._seconds > 0:
            self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        if self._seconds > 0:
            self._thread.join()


def _moving(bench, milliseconds):
    layout = Layout(**{**MOVING.__dict__, "rate": MOVING_RATE})
    with _farm(layout) as farm:
        farm.wait_for_events(50)
        time.sleep(bench.warmup)
        processes = [farm.processes[node] for node in farm.builders]
        with Suspender(processes, milliseconds / 1e3) as suspender:
            before = farm.sample()
            time.sleep(1.5 * bench.window)
            after = farm.sample()
        rates = bottleneck.rates(before, after, layout)
        time.sleep(0.2)
        summaries = farm.stop()
    each = suspender.durations or [0]
    return {"complete": rates["complete"],
            "kept": rates["complete"] / MOVING_RATE,
            "skips": (after.sched["skips"] - before.sched["skips"]) / rates["seconds"],
            "suspended": sum(each) / len(each) * 1e9,
            "lost": sum(bottleneck.losses(summary) for summary in summaries.values())}


def _moving_table(bench):
    cases = (0, 1) if bench.quick else SUSPENSIONS_MS
    found, missing = bench.interleave({
        f"{case} ms each" if case else "nobody": lambda case=case: _moving(bench, case)
        for case in cases})
    table = Table(
        f"suspend: {MOVING.builders} builders are stopped in turn, {MOVING_RATE:.0f} events a "
        "second", [
            ("complete", "complete", "/s"), ("kept", "of the load", "share"),
            ("skips", "skips", "/s"), ("suspended", "stopped for", "ms"), ("lost", "lost", "")], [
            f"round-robin, {MOVING.slots} slots a builder, of which one is kept for data that is "
            "faster than its grant; one builder's process is stopped at any time (SIGSTOP)",
            "a skip is a turn of a builder that had no free slot"])
    for name, results in found.items():
        table.add(name, results, {"slots": MOVING.slots}, missing.get(name))
    return table


# --- a slow builder -----------------------------------------------------------------------------

SLOW = Layout(readouts=4, builders=4, packing=20, queue=0, told=False, consumed=True,
              slots=32, changes=_shaped(shaping="none"))
FAST_US = 10_000
SLOW_US = 100_000


def _slow(bench, policy, share):
    """share: of what all consumers can take; 0: all that they can."""
    most = (SLOW.builders - 1) * 1e6 / FAST_US + 1e6 / SLOW_US
    layout = Layout(**{**SLOW.__dict__, "rate": share * most,
                       "changes": _shaped(shaping="none", policy=policy)})
    work_us = {f"b{index}": SLOW_US if index == 0 else FAST_US for index in range(SLOW.builders)}
    with _farm(layout) as farm:
        with bottleneck.consumers(farm.work, farm, _consumer_program(bench), work_us):
            farm.wait_for_events(200)
            # Until the slow one's slots are full.
            time.sleep(1.0 if bench.quick else 3.0)
            first, before = _look(farm), farm.sample()
            free, named, end = [], 0, time.monotonic() + 2.5 * bench.window
            while time.monotonic() < end:
                free.append({node: one["free"] for node, one in farm.credits().items()})
                named += farm.sched()["scarce"] == "b0.b"
                time.sleep(0.02)
            grants = _grants(first, _look(farm))
            rates = bottleneck.rates(before, farm.sample(), layout)
            summaries = farm.stop()
    others = [node for node in grants if node != "b0"]
    return {"total": rates["complete"], "of_sum": rates["complete"] / (share * most or most),
            "slow": grants["b0"], "fast": sum(grants[node] for node in others) / len(others),
            "free_slow": sum(one["b0"] for one in free) / len(free),
            "free_fast": sum(sum(one[node] for node in others) for one in free) /
            len(free) / len(others),
            "named": named / len(free),
            "lost": sum(bottleneck.losses(summary) for summary in summaries.values())}


def _slow_table(bench):
    cases = {"round-robin, 80 % of that": ("round-robin", 0.8),
             "occupancy, 80 % of that": ("occupancy", 0.8),
             "round-robin, all": ("round-robin", 0),
             "occupancy, all": ("occupancy", 0)}
    if bench.quick:
        cases = dict(list(cases.items())[:1])
    found, missing = bench.interleave({name: lambda case=case: _slow(bench, *case)
                                       for name, case in cases.items()})
    table = Table(
        "suspend: one builder's consumer takes 10 events a second, three take 100 each", [
            ("total", "all", "/s"), ("of_sum", "of the load", "share"), ("slow", "slow one", "/s"),
            ("fast", "each other", "/s"), ("free_slow", "its free slots", ""),
            ("free_fast", "the others'", ""), ("named", "named as scarce", "share"),
            ("lost", "lost", "")], [
            "the load is a share of the 310 events a second that the consumers take together, or, "
            "in rows with all, as much as they can",
            "named: share of the time in which /evb/sched tells its name"])
    for name, results in found.items():
        table.add(name, results, {"slots": SLOW.slots}, missing.get(name))
    return table


def run_suspend(bench):
    """Sub-suite `suspend`."""
    return [_pause_tables(bench), _direct_table(bench), _moving_table(bench), _slow_table(bench)]

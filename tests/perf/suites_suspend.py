# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Systems of several nodes whose builders pause, stop, are slow, or have few credits."""

import bisect
import collections
import signal
import threading
import time

import bottleneck
import evbtest
from bottleneck import Direct, Layout
from runs import Table, Target, Unavailable
from suites_cluster import NOTHING_LOST, consumer_program, need_root, running, shaped

KEPT = 0.97  # of a rate that is not to fall: events are few, and counted from outside

# --- a port that pauses -------------------------------------------------------------------------

# Events are small, so that a bin has some of them: control messages take 4 % of the link. Three links
# at once are much for two CPUs.
PAUSED = Layout(link=50e6, readouts=4, builders=3, packing=20, slots=64, consumed=True, pfc=True,
                changes=shaped(heartbeat="20ms", target_utilisation=0.95))
PAUSE_S = 1.0
PERIOD_S = 10.0
LOOK_S = 0.004
BIN_S = 0.02
BACK_S = 0.1  # after XON, until the builder has its rate again
LOADS = {"half of what the links carry": 0.5, "twice what the links carry": 2}
# Moments of the timeline: what is told before and after each.
AROUND = {"XOFF": (-3, 5), "XON": (-2, 7)}  # bins

Look = collections.namedtuple("Look", "time grants pausing")


class Watcher:
    """Looks at a system every few ms."""

    def __init__(self, farm):
        self._farm = farm
        self.looks = []

    def look(self):
        credits = self._farm.credits()
        now = time.monotonic()
        grants = {node: one["grants"] for node, one in credits.items()}
        self.looks.append(Look(now, grants, self._farm.pfc("b0")["pausing"]))
        return self.looks[-1]

    def until(self, end):
        """Looks until that time."""
        while time.monotonic() < end:
            self.look()
            time.sleep(LOOK_S)

    def until_pausing(self, value, timeout=10.0):
        """Looks until builder b0 stops its link partner, or does no more; when it was seen."""
        end = time.monotonic() + timeout
        while self.look().pausing != value:
            evbtest.check(time.monotonic() < end, "a pause did not begin, or end")
            time.sleep(0.001)
        return self.looks[-1].time

    def granted(self, node, moment):
        """Grants of a builder up to then, between two looks as the line through them."""
        times = [look.time for look in self.looks]
        place = min(max(bisect.bisect_left(times, moment), 1), len(times) - 1)
        before, after = self.looks[place - 1], self.looks[place]
        part = (moment - before.time) / (after.time - before.time)
        return before.grants[node] + part * (after.grants[node] - before.grants[node])

    def rate(self, node, start, end):
        return (self.granted(node, end) - self.granted(node, start)) / (end - start)

    def bins(self, moment, first, last):
        """[{node: grants a second}, ...] of the bins `first` to `last` after a moment."""
        return [{node: self.rate(node, moment + number * BIN_S, moment + (number + 1) * BIN_S)
                 for node in self.looks[0].grants} for number in range(first, last)]

    def back(self, node, moment, usual):
        """Until a builder has its rate again, seconds after a moment: the end of the first bin that
        begins four of which together have nine tenths of it."""
        number = 0
        while moment + (number + 4) * BIN_S < self.looks[-1].time:
            start = moment + number * BIN_S
            if self.rate(node, start, start + 4 * BIN_S) >= 0.9 * usual:
                return (number + 1) * BIN_S
            number += 1
        return number * BIN_S


def _pause_once(farm, consumer, period):
    """One period: builder b0's consumer stops, so its slots fill and its port pauses; a second
    later it goes on."""
    watcher = Watcher(farm)
    begin = time.monotonic()
    watcher.until(begin + period - PAUSE_S)
    stopped = time.monotonic()
    consumer.signal(signal.SIGSTOP)
    try:
        off = watcher.until_pausing(1)
        watcher.until(off + PAUSE_S)
    finally:
        consumer.signal(signal.SIGCONT)
    going = time.monotonic()
    on = watcher.until_pausing(0)
    watcher.until(on + 0.6)
    nodes = list(watcher.looks[0].grants)
    usual = {node: watcher.rate(node, begin, stopped) for node in nodes}
    # What was on its way when the pause began is not counted.
    during = {node: watcher.rate(node, off + BIN_S, going) for node in nodes}
    others = nodes[1:]
    return {
        "b0_usual": usual["b0"], "b0_during": during["b0"],
        "b0_after": watcher.rate("b0", on + BACK_S, on + 0.6),
        "others_usual": sum(usual[node] for node in others),
        "others_during": sum(during[node] for node in others),
        "others_kept": sum(during[node] for node in others) /
        sum(usual[node] for node in others),
        "kept": sum(during.values()) / sum(usual.values()),
        "back": watcher.back("b0", on, usual["b0"]) * 1e9,
        "bins": {moment: watcher.bins(at, *AROUND[moment])
                 for moment, at in (("XOFF", off), ("XON", on))},
    }


def _pause(bench, load):
    """All periods of one run: [result, ...]."""
    layout = Layout(**{**PAUSED.__dict__, "rate": PAUSED.capacity * load})
    with running(layout) as farm:
        with bottleneck.consumers(farm.work, farm, consumer_program(bench), 0) as consumers:
            farm.wait_for_events(50)
            time.sleep(bench.warmup)
            results = [_pause_once(farm, consumers["b0"], 3.0 if bench.quick else PERIOD_S)
                       for _ in range(bench.repetitions)]
            dropped = sum(farm.link(node)["drops"] for node in farm.builders)
            summaries = farm.stop()
    lost = dropped + sum(bottleneck.losses(summary) for summary in summaries.values())
    return [{**result, "lost": lost} for result in results]


PAUSE_TARGETS = [
    NOTHING_LOST,
    Target("no grants for b0", "b0_during", lambda rate: rate < 1, True),
    Target("the others keep their rate", "others_kept", lambda share: share >= KEPT),
    Target(f"back in {BACK_S * 1e3:.0f} ms", "back", lambda ns: ns <= BACK_S * 1e9)]
SHARE_MOVES = Target("b0's share moves to them", "kept", lambda share: share >= KEPT)


def _timeline(name, results):
    table = Table(
        f"suspend: grants in bins of {BIN_S * 1e3:.0f} ms around XOFF and XON, load {name}",
        [("b0", "b0", "/s"), ("others", "the others", "/s")],
        ["medians of the periods; XOFF and XON as seen from outside, up to 5 ms late"])
    for moment, (first, last) in AROUND.items():
        for place, number in enumerate(range(first, last)):
            rows = [result["bins"][moment][place] for result in results]
            table.add(f"{moment} {number * BIN_S * 1e3:+.0f} ms",
                      [{"b0": row["b0"], "others": sum(row.values()) - row["b0"]} for row in rows])
    return table


def _pause_tables(bench):
    table = Table(
        f"suspend: builder b0's port pauses for {PAUSE_S:g} s of each "
        f"{3 if bench.quick else PERIOD_S:g} s", [
            ("b0_usual", "b0 before", "/s"), ("b0_during", "during", "/s"),
            ("b0_after", "0.1 s after XON", "/s"), ("others_usual", "others before", "/s"),
            ("others_during", "during", "/s"), ("others_kept", "of before", "share"),
            ("kept", "all, of before", "share"), ("back", "XON -> rate back", "ms"),
            ("lost", "lost", "")], [
            f"{PAUSED.readouts} sources, {PAUSED.builders} builders behind "
            f"{PAUSED.link / 1e6:.0f} Mb/s each; grants a second",
            "the pause is real: b0's consumer stops, its slots fill, at 80 % it sends XOFF and "
            "tells the manager; the consumer goes on, and below 60 % it sends XON",
            f"the rate is back when the {4 * BIN_S * 1e3:.0f} ms from then on have 90 % of it"])
    tables = [table]
    for name, load in list(LOADS.items())[:1 if bench.quick else None]:
        results, missing = _once(bench, f"pause, {name}", lambda load=load: _pause(bench, load))
        table.add(f"load: {name}", results, {"period_s": PERIOD_S, "load": load}, missing,
                  PAUSE_TARGETS + ([SHARE_MOVES] if load < 0.6 else []))
        if results:
            tables.append(_timeline(name, results))
    return tables


def _once(bench, name, run):
    """As Bench.interleave() of one experiment that does its own repetitions."""
    try:
        return run(), None
    except (Unavailable, evbtest.Skip) as reason:
        return [], str(reason)
    except evbtest.Failure as failure:
        bench.failures.append(f"{name}: {failure}")
        return [], "failed: " + str(failure).splitlines()[0]


# --- pause frames alone -------------------------------------------------------------------------


def _direct(bench, pfc):
    need_root()
    with evbtest.Workspace() as work, Direct(work, pfc) as system:
        system.start()
        consumer = bottleneck.consumer(work, system, "b", consumer_program(bench), 5000)
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
        table.add(name, results, {}, missing.get(name), [NOTHING_LOST] if name == "PFC" else [])
    return table


# --- suspended builders -------------------------------------------------------------------------

MOVING = Layout(readouts=4, builders=4, packing=2, slots=3, queue=0, told=False, changes={
    **shaped(shaping="none", policy="round-robin"),
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


def moving(bench, layout, milliseconds):
    """What a system builds while one builder after the other is stopped for so long; 0: none."""
    with running(layout) as farm:
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
            "skips": (after.sched["skips"] - before.sched["skips"]) / rates["seconds"],
            "suspended": sum(each) / len(each) * 1e9,
            "lost": sum(bottleneck.losses(summary) for summary in summaries.values())}


def _moving(bench, milliseconds):
    found = moving(bench, Layout(**{**MOVING.__dict__, "rate": MOVING_RATE}), milliseconds)
    return {**found, "kept": found["complete"] / MOVING_RATE}


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
    targets = [NOTHING_LOST, Target("rate kept", "kept", lambda share: share >= KEPT)]
    skips = Target("skips counted", "skips", lambda rate: rate > 0, True)
    for name, results in found.items():
        table.add(name, results, {"slots": MOVING.slots}, missing.get(name),
                  targets if name == "nobody" else [*targets, skips])
    return table


# --- few credits --------------------------------------------------------------------------------

STARVED = Layout(readouts=4, builders=4, packing=20, queue=0, told=False, consumed=True,
                 changes=shaped())
FAST_US = 10_000


def _starved(bench, slots):
    """All that the consumers can take, which is less than what the sources have."""
    most = STARVED.builders * 1e6 / FAST_US
    layout = Layout(**{**STARVED.__dict__, "slots": slots, "rate": 1.5 * most})
    with running(layout) as farm:
        with bottleneck.consumers(farm.work, farm, consumer_program(bench), FAST_US):
            # Until all slots are full.
            farm.wait_for_events(2 * slots * STARVED.builders)
            before = farm.sample()
            time.sleep(1.5 * bench.window)
            after = farm.sample()
            rates = bottleneck.rates(before, after, layout)
            waiting = farm.sched()["events_waiting"]
            summaries = farm.stop()
    return {"complete": rates["complete"], "kept": rates["complete"] / most, "waiting": waiting,
            "stalls": (after.sched["stalls_no_credit"] - before.sched["stalls_no_credit"]) /
            rates["seconds"],
            "lost": sum(bottleneck.losses(summary) for summary in summaries.values())}


def _starved_table(bench):
    cases = {"2 credits a builder": 3, "28 credits a builder": 32}
    found, missing = bench.interleave({name: lambda slots=slots: _starved(bench, slots)
                                       for name, slots in cases.items()})
    table = Table(
        f"suspend: {STARVED.builders} consumers take {1e6 / FAST_US:.0f} events a second each, "
        "sources have 1.5 times as many", [
            ("complete", "complete", "/s"), ("kept", "of what consumers take", "share"),
            ("stalls", "polls without a credit", "/s"), ("waiting", "waiting in sources", ""),
            ("lost", "lost", "")])
    for name, results in found.items():
        table.add(name, results, {"slots": cases[name]}, missing.get(name), [
            NOTHING_LOST, Target("rate kept", "kept", lambda share: share >= KEPT),
            Target("stalls counted", "stalls", lambda rate: rate > 0, True)])
    return table


# --- a slow builder -----------------------------------------------------------------------------

SLOW = Layout(readouts=4, builders=4, packing=20, queue=0, told=False, consumed=True,
              slots=32, changes=shaped(shaping="none"))
SLOW_US = 100_000


def _slow(bench, policy, share):
    """share: of what all consumers can take; 0: all that they can."""
    most = (SLOW.builders - 1) * 1e6 / FAST_US + 1e6 / SLOW_US
    layout = Layout(**{**SLOW.__dict__, "rate": share * most,
                       "changes": shaped(shaping="none", policy=policy)})
    work_us = {f"b{index}": SLOW_US if index == 0 else FAST_US for index in range(SLOW.builders)}
    with running(layout) as farm:
        with bottleneck.consumers(farm.work, farm, consumer_program(bench), work_us):
            farm.wait_for_events(200)
            # Until the slow one's slots are full.
            time.sleep(1.0 if bench.quick else 3.0)
            before = farm.sample()
            free, named, end = [], 0, time.monotonic() + 2.5 * bench.window
            while time.monotonic() < end:
                free.append({node: one["free"] for node, one in farm.credits().items()})
                named += farm.sched()["scarce"] == "b0.b"
                time.sleep(0.02)
            after = farm.sample()
            summaries = farm.stop()
    rates = bottleneck.rates(before, after, layout)
    grants = {node: (after.credits[node]["grants"] - before.credits[node]["grants"]) /
              rates["seconds"] for node in before.credits}
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
        table.add(name, results, {"slots": SLOW.slots}, missing.get(name),
                  [NOTHING_LOST, Target("rate kept", "of_sum", lambda share: share >= KEPT)])
    return table


def run_suspend(bench):
    """Sub-suite `suspend`."""
    return [*_pause_tables(bench), _direct_table(bench), _moving_table(bench),
            _starved_table(bench), _slow_table(bench)]

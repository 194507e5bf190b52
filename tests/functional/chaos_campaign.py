# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Rounds of faults that are done to a system of chaos_system.py, and what became of its events."""

import collections
import dataclasses
import random
import time

import evbtest


@dataclasses.dataclass
class Round:
    """faults: their kinds; what: with their nodes. The rest is what was seen until the system ran again."""

    faults: list
    what: list
    loses: bool
    seconds: float = 0.0
    lost: list = dataclasses.field(default_factory=list)
    twice: int = 0
    unflagged: int = 0
    incomplete: int = 0

    def describe(self):
        return f"{', '.join(self.what)}: {self.seconds:.2f} s, {len(self.lost)} lost, " \
               f"{self.twice} twice ({self.unflagged} not flagged), {self.incomplete} incomplete"


class Campaign:
    """The rounds of a run, and the sum of them."""

    def __init__(self, chaos, seed, kinds, quiet):
        self.chaos = chaos
        self._kinds = kinds
        self._quiet = quiet
        self.draw = random.Random(seed)
        self.rounds = []
        self.count = 0  # faults
        self._deck = []
        self._before = None  # states when the system ran again for the last time
        self._seen = collections.Counter()

    def begin(self):
        _, self._before = self.chaos.recover(evbtest.PATIENCE_S)
        self._settle()

    def _next_kind(self):
        """All kinds come equally often."""
        if not self._deck:
            self._deck = list(self._kinds)
            self.draw.shuffle(self._deck)
        return self._deck.pop()

    def _choose(self, most):
        """One to three faults that do not touch the same, and when each begins and ends."""
        chosen, touched = [], set()
        for _ in range(min(most, self.draw.choice((1, 1, 2, 2, 3)))):
            kind = self._next_kind()
            free = [node for node in kind.targets if not kind.touches(node) & touched]
            if not free:
                self._deck.insert(0, kind)
                continue
            node = self.draw.choice(free)
            touched |= kind.touches(node)
            begin = self.draw.uniform(0, 0.3) if chosen else 0.0
            chosen.append((kind(self.chaos, node, self.draw), begin,
                           begin + self.draw.uniform(*kind.seconds)))
        return chosen

    def round(self, most, patience):
        """Does the faults, and waits until the system runs again."""
        chosen = self._choose(most)
        result = Round([fault.kind for fault, *_ in chosen],
                       [f"{fault.kind} ({fault.node})" for fault, *_ in chosen],
                       any(fault.loses for fault, *_ in chosen))
        self.rounds.append(result)
        self.count += len(chosen)
        steps = sorted([(begin, index, fault.begin) for index, (fault, begin, _) in
                        enumerate(chosen)] +
                       [(end, index, fault.end) for index, (fault, _, end) in enumerate(chosen)],
                       key=lambda step: step[0])
        start = time.monotonic()
        for at, _, action in steps:
            time.sleep(max(0.0, start + at - time.monotonic()))  # how long a fault lasts is drawn
            action()
        result.seconds, states = self.chaos.recover(patience)
        self._after(result, states)

    def _after(self, result, states):
        """What became of the events, and whether the event manager counts the same."""
        chaos, before = self.chaos, self._before
        chaos.collect()
        if chaos.forger:
            chaos.forger.record()
        first = chaos.led(before)["system"]["released"]
        result.lost = self._newly_lost(first)
        new = self._settle()
        result.twice, result.unflagged, result.incomplete = \
            new["twice"], new["unflagged"], new["incomplete"]
        if result.incomplete and not result.loses and self._quiet:
            chaos.failures.append(f"incomplete without a cause: {result.describe()}")
        was, led = chaos.led(before), chaos.led(states)
        if was["pid"] == led["pid"] and chaos.epoch(was) == chaos.epoch(led):
            self._check_count(result, was["system"], led["system"])
        self._before = states

    def _check_count(self, result, before, now):
        """Of an event that was published twice, one publication counts."""
        counted = now["incomplete"] - before["incomplete"]
        if not result.incomplete - result.twice <= counted <= result.incomplete:
            self.chaos.failures.append(f"the event manager counts {counted} incomplete events: "
                                       f"{result.describe()}")

    def _newly_lost(self, end):
        """Of the events that were released when the round began: consumers have them by now."""
        begin = self._seen["checked"]
        self._seen["checked"] = max(begin, end)
        return self.chaos.account.lost(begin, end)

    def _settle(self):
        """What is new since the last call."""
        account = self.chaos.account
        now = collections.Counter(twice=len(account.twice()),
                                  unflagged=len(account.twice_unflagged()),
                                  incomplete=len(account.incomplete))
        new = {key: now[key] - self._seen[key] for key in ("twice", "unflagged", "incomplete")}
        self._seen.update(new)
        return new

    def end(self):
        """The end of the run, as a round without faults."""
        result = Round(["end of the run"], ["end of the run"], False)
        self.rounds.append(result)
        announced = self.chaos.led(self.chaos.states())["system"]["announced"]
        summaries = self.chaos.end_run()
        newest = max(self.chaos.account.times, default=0) + 1
        result.lost = self._newly_lost(max(newest, announced))
        new = self._settle()
        result.twice, result.unflagged, result.incomplete = \
            new["twice"], new["unflagged"], new["incomplete"]
        return summaries

    # --- what is told ---

    def table(self):
        kinds = [kind.kind for kind in self._kinds] + ["end of the run"]
        head = f"{'fault':37} {'times':>6} {'lost':>5} {'twice':>6} {'unflagged':>10} " \
               f"{'incomplete':>11} {'slowest':>8}"
        lines = [head]
        losing = [kind.kind for kind in self._kinds if kind.loses]
        for kind in kinds:
            rounds = [one for one in self.rounds if kind in one.faults]
            if rounds:
                times = sum(one.faults.count(kind) for one in rounds)
                causes = [one for one in rounds if kind in losing or not one.loses]
                lines.append(self._row(kind, times, rounds, causes))
        lines.append(self._row("all", self.count, self.rounds, self.rounds))
        return "\n".join(lines)

    @staticmethod
    def _row(name, times, rounds, causes):
        lost = sum(len(one.lost) for one in rounds)
        twice, unflagged = (sum(getattr(one, key) for one in rounds)
                            for key in ("twice", "unflagged"))
        incomplete = sum(one.incomplete for one in causes)
        slowest = max(one.seconds for one in rounds)
        return f"{name:37} {times:6} {lost:5} {twice:6} {unflagged:10} {incomplete:11} " \
               f"{slowest:6.2f} s"

    def verdict(self, within):
        """What is wrong."""
        wrong = list(self.chaos.failures)
        for one in self.rounds:
            if one.lost or one.unflagged:
                wrong.append(f"{one.describe()}: lost {one.lost[:5]}")
            if one.seconds > within:
                wrong.append(f"not running again within {within} s: {one.describe()}")
        return wrong

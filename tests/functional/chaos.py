#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Faults at random, done to a system of real processes, and what they did to its events:

    chaos.py [--minutes N | --faults N] [--seed S] [--mode push|pull] [--within S] [--verbose]
    chaos.py --histories N [--seed S]
    chaos.py --stops S[,S...] [--times N] [--system FILE] [--nodes NODE[,NODE...]]
    chaos.py --kill NODE [--system FILE] [--source-buffer N]

Faults come in rounds of one to three at a time. A round is over when the system runs again: all
nodes take part, and events are complete. At the end the run is drained, and a table tells what was
done and what became of the events, as their consumers saw them; a row counts for a kind all that
happened in its rounds. `./dev chaos` calls this program.

--stops stops each node of a system of configs/ for so many seconds (SIGSTOP), N times, and tells
what was lost, or came in vain; --kill kills a node (SIGKILL) and tells the rate of the others.

Exit status 1: an event was lost, or published twice without the flag, or is incomplete without a
cause; the system did not run again within the seconds given; a process ended by itself, or an
account is wrong.
"""

import argparse
import collections
import dataclasses
import random
import signal
import sys
import time

import chaos_faults
import chaos_stops
import claims
import evbtest
from chaos_forge import Forger
from chaos_system import Chaos

WITHIN_S = 5.0


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
        chaos.forger.record()
        first = before["m"]["system"]["released"]
        result.lost = self._newly_lost(first)
        new = self._settle()
        result.twice, result.unflagged, result.incomplete = \
            new["twice"], new["unflagged"], new["incomplete"]
        if result.incomplete and not result.loses and self._quiet:
            chaos.failures.append(f"incomplete without a cause: {result.describe()}")
        if before["m"]["pid"] == states["m"]["pid"]:
            self._check_count(result, before["m"]["system"], states["m"]["system"])
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
        announced = self.chaos.states()["m"]["system"]["announced"]
        summaries = self.chaos.end_run()
        newest = max(self.chaos.account.times, default=0) + 1
        result.lost = self._newly_lost(max(newest, announced))
        new = self._settle()
        result.twice, result.unflagged, result.incomplete = \
            new["twice"], new["unflagged"], new["incomplete"]
        return summaries

    # --- what is told ---

    def table(self):
        kinds = [kind.kind for kind in chaos_faults.KINDS] + ["end of the run"]
        head = f"{'fault':37} {'times':>6} {'lost':>5} {'twice':>6} {'unflagged':>10} " \
               f"{'incomplete':>11} {'slowest':>8}"
        lines = [head]
        losing = [kind.kind for kind in chaos_faults.KINDS if kind.loses]
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


def drops_by_cause(summaries):
    causes = collections.Counter()
    for summary in summaries.values():
        causes.update(evbtest.drops(summary))
    return ", ".join(f"{cause} {count}" for cause, count in sorted(causes.items())) or "none"


def run(minutes=None, n_faults=None, seed=1, mode="push", within=WITHIN_S, verbose=False,
        kinds=chaos_faults.KINDS, heartbeat_timeout="500ms", deadline="300ms", quiet=True):
    """Prints the table. Returns what is wrong. quiet: the machine gives each process the CPU within
    the deadline, so that each incomplete event has a fault as its cause."""
    with evbtest.Workspace() as work, \
            Chaos(work, mode, heartbeat_timeout, deadline) as chaos:
        chaos.forger = Forger(chaos, seed)
        chaos.begin()
        campaign = Campaign(chaos, seed, kinds, quiet)
        campaign.begin()
        end = time.monotonic() + 60 * minutes if minutes else None
        summaries = {}
        try:
            while campaign.count < n_faults if n_faults else time.monotonic() < end:
                campaign.round(n_faults - campaign.count if n_faults else 3, evbtest.PATIENCE_S)
                if verbose:
                    print(campaign.rounds[-1].describe(), flush=True)
                    if campaign.rounds[-1].seconds > 2:
                        print(*(f"    {at} {why}" for at, why in chaos.waited_for), sep="\n",
                              flush=True)
            summaries = campaign.end()
        except evbtest.Failure as failure:
            chaos.failures.append(f"{', '.join(campaign.rounds[-1].what)}: {failure}")
        chaos.forger.close()
        print(f"seed {seed}, mode {mode}, {len(chaos.account.times)} events")
        print(campaign.table())
        print(f"dropped by nodes that were there at the end: {drops_by_cause(summaries)}")
        return campaign.verdict(within)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--faults", type=int, help="end after so many, not by time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=("push", "pull"), default="push")
    parser.add_argument("--within", type=float, default=WITHIN_S,
                        help="seconds in which the system must run again")
    parser.add_argument("--histories", type=int,
                        help="so many histories of processes that claim one node, instead")
    parser.add_argument("--stops", help="seconds for which nodes are stopped, with commas")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--nodes", help="those that are stopped, with commas; else all")
    parser.add_argument("--kill", metavar="NODE", help="a node that is killed")
    parser.add_argument("--system", default="cluster-folded.json", help="a file of configs/")
    parser.add_argument("--source-buffer", type=int, help="events, in the place of the file's")
    parser.add_argument("--verbose", action="store_true", help="tell each round")
    parser.add_argument("--only", help="kinds of faults, or beginnings of them, with commas")
    options = parser.parse_args()
    kinds = chaos_faults.KINDS
    if options.only:
        kinds = [kind for kind in kinds if kind.kind.startswith(tuple(options.only.split(",")))]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        if options.histories:
            wrong = claims.run(options.histories, options.seed)
        elif options.stops:
            wrong = chaos_stops.run_stops(
                options.system, [float(text) for text in options.stops.split(",")], options.times,
                only=options.nodes.split(",") if options.nodes else None)
        elif options.kill:
            wrong = chaos_stops.run_kill(options.system, options.kill, options.source_buffer)
        else:
            wrong = run(options.minutes, options.faults, options.seed, options.mode,
                        within=options.within, verbose=options.verbose, kinds=kinds)
    except (evbtest.Skip, evbtest.Failure) as reason:
        sys.exit(f"chaos: {reason}")
    for line in wrong:
        print(f"wrong: {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

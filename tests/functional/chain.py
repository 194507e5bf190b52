#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The whole chain as one judged program: two processes play events of the LHCb file into the rings of
two readout nodes, two builders build them, a sender gives each built event to one of two filter
nodes, whose members decide, recorders write the accepted ones, and one more node writes all
decisions in the order of events.

    chain.py [--mode push|pull|static] [--events N] [--kills N] [--seed S] [--sources N] [--rate R]
             [--boards ring|udp]

With `--boards udp`, boards that know nothing of evb burst the same events, all at once, as UDP
packets to ports of the readout nodes (chain_boards.py).

With --kills, processes are killed by SIGKILL at random moments and started again, one at a time,
each kind equally often. At the end each event is judged; in mode static, those that a killed builder
node had begun may be damaged. `./dev chain` calls this program.

Exit status 1: an accepted event is not in the files exactly as it was played, or twice without the
flag; a rejected one is there; an account is wrong; the chain did not run again after a kill.
"""

import argparse
import collections
import dataclasses
import os
import signal
import struct
import sys
import time

import evbtest
from chain_data import Blocks, event_id_of
from chain_system import FILTERS, Chain, Filter, Tap
from test_decide import TIMED_OUT, accepted, decision

INCOMPLETE = 1  # EVB_EVENT_INCOMPLETE
REPEATED = 8  # EVB_EVENT_REPEATED
NOTE = struct.Struct("<QQII")  # of decider.c
HEAD = struct.Struct("<QII")  # of event_tap.c
KILLS = {
    "producer": Chain.kill_producer,
    "readout unit": Chain.kill_readout,
    "builder node": Chain.kill_build,
    "sender": Chain.kill_sender,
    "filter member": Chain.kill_member,
    "filter node": Chain.kill_filter,
    "recorder": Chain.kill_recorder,
    "results node": Chain.kill_results,
    "event manager": Chain.kill_manager,
}
KILL_RATE = 200  # events per second
SLOW_S = 7  # after which it is told for what a recovery has waited


@dataclasses.dataclass
class Kill:
    """What was killed, and between which events of the first stage, announced before and after. Of a
    builder node, `newest` is the end of what a readout can have sent to the dead process."""

    kind: str
    node: str
    before: int
    after: int = 0
    seconds: float = 0.0
    newest: int = 0
    damaged: int = 0  # events


# --- the judge ---------------------------------------------------------------------------------


def notes(path, layout):
    """The records of a ledger. A consumer that got nothing may have written none."""
    if not os.path.exists(path):
        return iter(())
    with open(path, "rb") as file:
        data = file.read()
    return layout.iter_unpack(data[:len(data) // layout.size * layout.size])


class Judge:
    def __init__(self, chain, kills):
        self.chain = chain
        self.kills = kills
        self.wrong = []
        self.built = collections.defaultdict(list)  # event: flags of each publication
        self.filtered = collections.defaultdict(list)  # event: (number in stage two, flags)
        self.files = collections.Counter()  # copies by event
        self.copies = collections.Counter()  # copies by number in stage two
        self.incomplete = {}  # event: sources
        self.excused = set()  # events that a killed builder may have damaged
        self.again = set()  # events that may come again after its death, and then incomplete
        self.timed_out = 0

    def expect(self, condition, message):
        if not condition:
            self.wrong.append(message)

    def read(self):
        for life in self.chain.lives:
            if isinstance(life, Tap):
                for event, flags, _ in notes(life.ledger, HEAD):
                    self.built[event].append(flags)
            elif isinstance(life, Filter):
                # What a member held when it died comes again.
                published = {(number, event, flags) for number, event, flags, _ in
                             notes(life.ledger, NOTE)}
                for number, event, flags in published:
                    self.filtered[event].append((number, flags))
        blocks = Blocks(self.chain.recording)
        for _, mep in self.chain.recorded():
            data = mep.mfps[0].opaque_payload
            event = event_id_of(data)
            lost = blocks.missing(event, data)
            self.files[event] += 1
            self.copies[mep.event_id, event] += 1
            if lost:
                self.incomplete[event] = lost

    def _excuse(self):
        """In mode static nobody grants again what a killed builder node had begun: it is lost or
        incomplete. A builder begins events in order, and each needs a slot. So these events are
        behind the last complete one, before what the readouts had announced, and not more than the
        slots. Events before them may come again if no acknowledgement had reached a readout."""
        if self.chain.mode != "static":
            return
        slots = [builder["slots"] for node in self.chain.first.configuration["nodes"]
                 for builder in node.get("builders", ())]
        kills = [kill for kill in self.kills if kill.kind == "builder node"]
        taps = [life for life in self.chain.lives if isinstance(life, Tap)]
        n, begin = len(slots), list(range(len(slots)))
        for kill, tap in zip(kills, taps):
            for event, flags, _ in notes(tap.ledger, HEAD):
                if not flags & INCOMPLETE:
                    begin[event % n] = max(begin[event % n], event + n)
            held = {event for i in range(n)
                    for event in range(begin[i], min(begin[i] + n * slots[i], kill.newest), n)}
            kill.damaged = sum(map(self._is_damaged, held - self.excused))
            self.excused |= held
            self.again |= {event for i in range(n)
                           for event in range(begin[i] - n * self.chain.unacknowledged, begin[i])}

    def _is_damaged(self, event):
        return len(self.built.get(event, ())) != 1 or event in self.incomplete

    def _none(self, what, events, excused=frozenset()):
        events = sorted(set(events) - excused)
        self.expect(not events, f"{len(events)} events {what}: {events[:5]}")

    def judge(self):
        events = range(self.chain.events)
        self._excuse()
        self._none("were not built", [e for e in events if e not in self.built], self.excused)
        self._none("reached no filter", [e for e in events if e not in self.filtered],
                   self.excused)
        self._none("are accepted and not in the files",
                   [e for e in events if accepted(e, 1) and not self.files[e]], self.excused)
        self._none("are rejected and in the files", [e for e in self.files if not accepted(e, 1)])
        self._none("were never played", [e for e in {*self.built, *self.filtered, *self.files}
                                         if e >= self.chain.events])
        self._judge_copies()
        self._none("are incomplete", self.incomplete, self.excused | self.again)
        self._judge_results()
        self._judge_origins()

    def _judge_copies(self):
        self._none("were built twice without the flag",
                   [e for e, flags in self.built.items()
                    if sum(not flag & REPEATED for flag in flags) > 1],
                   self.excused | self.again)
        self._none("were published twice without the flag",
                   [e for e, copies in self.filtered.items()
                    if sum(not flags & REPEATED for _, flags in copies) > 1],
                   self.excused | self.again)
        again = sum(max(0, len({number for number, _ in copies}) - len(self.built[event]))
                    for event, copies in self.filtered.items())
        ahead = self.chain.second.configuration["event_manager"]["source_buffer"]
        killed = sum(kill.kind == "sender" for kill in self.kills)
        self.expect(again <= killed * ahead, f"{again} events were sent more often than built; the "
                                             f"sender, killed {killed} times, held {ahead}")
        for (number, event), count in self.copies.items():
            published = sum(number == one for one, _ in self.filtered[event])
            self.expect(count <= published, f"event {event} was published {published} times, "
                                            f"and written {count} times")

    def _judge_results(self):
        """Each number of the second stage once, in order, with the decision of its event. What a
        filter node had published when it was killed may count as not decided in time."""
        records = self.chain.results()
        event_of = {number: event for event, copies in self.filtered.items()
                    for number, _ in copies}
        numbers = [number for number, *_ in records]
        lost = sorted(set(event_of) - set(numbers))
        self.expect(numbers == sorted(event_of), f"the results have {len(numbers)} events, "
                    f"{len(set(numbers))} different, of {len(event_of)}; "
                    f"in order: {numbers == sorted(numbers)}; "
                    f"{len(lost)} are not there, {lost[:1]} to {lost[-1:]}")
        killed = any(kill.kind == "filter node" for kill in self.kills)
        for number, _, *found in records:
            self.timed_out += bool(found[2] & TIMED_OUT)
            if found[2] & TIMED_OUT and killed or number not in event_of:
                continue
            wanted = decision(event_of[number], 1)
            self.expect(tuple(found) == wanted, f"result {number}, of event {event_of[number]}: "
                                                f"{found}, not {wanted}")

    def _judge_origins(self):
        """Results by the events of the first stage: each once, in order, with its decision. What a
        kill delays by more than the timeout is left out, and a killed results node may have written
        more than it has reported."""
        records = self.chain.results("origins")
        events = [event for event, *_ in records]
        kinds = {kill.kind for kill in self.kills}
        if "results node" not in kinds:
            self.expect(events == sorted(set(events)), "results by origin are not in order")
        if not kinds - {"builder node", "recorder", "producer", "filter member"}:
            self._none("are not in the results by origin", set(self.filtered) - set(events),
                       self.excused)
        self._none("have another result by origin",
                   [event for event, _, *found in records if tuple(found) != decision(event, 1)])

    def accounts(self, first, second):
        """The nodes' own accounts, where all processes lived from the beginning."""
        for node, summary in (*first.items(), *second.items()):
            try:
                evbtest.check_identities(summary)
            except evbtest.Failure as failure:
                self.expect(False, f"{node}: {failure}")
        if self.kills:
            return
        n = self.chain.events
        groups = [second[node]["decisions"][0] for node in FILTERS]
        sums = {key: sum(group[key] for group in groups)
                for key in ("accepted", "rejected", "undecided", "held")}
        undecided = sum(event % 10 == 5 for event in range(n))
        rejected = sum(not accepted(event, 1) for event in range(n))
        wanted = {"accepted": n - rejected - undecided, "rejected": rejected,
                  "undecided": undecided, "held": 0}
        self.expect(sums == wanted, f"decisions {sums}, not {wanted}")
        for name, summaries in (("first", first), ("second", second)):
            complete = sum(one["events"]["complete"] for one in summaries.values())
            self.expect(complete == n, f"the {name} stage has built {complete} of {n} events")
            for node, summary in summaries.items():
                drops = evbtest.drops(summary)
                self.expect(not drops, f"drops of {node}: {drops}")
        if self.chain.boards:
            self._judge_boards(first)

    def _judge_boards(self, first):
        """Each packet of a board is in a block: check_identities() has found none missed, lost or
        left over."""
        for node in self.chain.boards.processes:
            sent = sum(packets for packets, _ in self.chain.boards.sent(node)) + \
                len(self.chain.recording.sources[node])  # ends of the run
            placed = first[node]["segments"]["placed"]
            self.expect(placed == sent, f"the boards of {node} sent {sent} packets, of which "
                                        f"{placed} came into its store")

    def describe(self):
        twice = {e: flags for e, flags in self.built.items() if len(flags) > 1}
        again = {e: copies for e, copies in self.filtered.items() if len(copies) > 1}
        shares = {node: 0 for node in FILTERS}
        for life in self.chain.lives:
            if life.node in shares:
                shares[life.node] += len({number for number, *_ in notes(life.ledger, NOTE)})
        return f"{self.chain.events} events played, {len(self.built)} built ({len(twice)} twice), " \
               f"{len(self.filtered)} at filters {shares} ({len(again)} more than once); " \
               f"{len(self.files)} in the files ({sum(n > 1 for n in self.files.values())} of them " \
               f"more than once), {len(self.incomplete)} of them incomplete; " \
               f"{self.timed_out} results without a decision in time"


# --- kills -------------------------------------------------------------------------------------


def do_kills(chain, n_kills, kinds, verbose):
    """The kills of all kinds in turn, each followed by the recovery of the chain."""
    kills, deck = [], []
    for _ in range(n_kills):
        if not deck:
            deck = list(kinds)
            chain.draw.shuffle(deck)
        kind = deck.pop()
        time.sleep(chain.draw.uniform(0, 0.3))  # until any moment of what the process does
        before = chain.announced()
        start = time.monotonic()
        node, again = KILLS[kind](chain)
        kill = Kill(kind, node, before)
        time.sleep(chain.draw.uniform(0, 0.3))  # for which the process is away
        if kind == "builder node":
            kill.newest = chain.newest()
        again()
        chain.recover()
        kill.after, kill.seconds = chain.announced(), time.monotonic() - start
        kills.append(kill)
        if verbose:
            print(f"{len(kills)}: {kind} ({node}), events {kill.before} to {kill.after}: "
                  f"{kill.seconds:.1f} s", flush=True)
            if kill.seconds > SLOW_S:
                print(*(f"    {at} {why}" for at, why in chain.waited_for), sep="\n", flush=True)
    return kills


def table(kills):
    lines = [f"{'killed':15} {'times':>6} {'damaged':>8} {'slowest':>9}"]
    for kind in KILLS:
        of_kind = [kill for kill in kills if kill.kind == kind]
        if of_kind:
            lines.append(f"{kind:15} {len(of_kind):6} {sum(one.damaged for one in of_kind):8} "
                         f"{max(kill.seconds for kill in of_kind):7.2f} s")
    return "\n".join(lines)


def run(mode="push", events=1000, n_kills=0, seed=1, n_sources=40, rate=0, verbose=False,
        patience=600, kinds=None, boards="ring"):
    """Returns what is wrong. events: played at least."""
    kinds = kinds or list(KILLS)
    evbtest.need_root()
    with evbtest.Workspace() as work:
        chain = Chain(work, mode, n_sources, rate or (KILL_RATE if n_kills else 0),
                      None if n_kills else events, seed, boards == "udp")
        start = time.monotonic()
        with chain:
            kills = []
            began = time.monotonic()
            if n_kills:
                chain.recover()
                kills = do_kills(chain, n_kills, kinds, verbose)
                chain.end_behind(events)
            summaries = chain.end(patience)
            ended = time.monotonic()
        verdict = Judge(chain, kills)
        verdict.read()
        verdict.judge()
        verdict.accounts(*summaries)
        print(f"mode {mode}, seed {seed}, {len(chain.recording.ids)} sources: {verdict.describe()}")
        if chain.boards:
            print(chain.boards.describe())
        played = chain.played - began
        print(f"{began - start:.1f} s to start, {played:.1f} s to play, {chain.events / played:.0f} "
              f"events/s of up to {chain.recording.frames} packets, {ended - chain.played:.1f} s to "
              f"the end of both runs, {time.monotonic() - ended:.1f} s to judge")
        if kills:
            print(table(kills))
        return verdict.wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=("push", "pull", "static"), default="push")
    parser.add_argument("--events", type=int, default=1000, help="to play, at least")
    parser.add_argument("--kills", type=int, default=0, help="kill -9, of one kind after the other")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sources", type=int, default=40,
                        help="of the file's 1238 (0, or more: all)")
    parser.add_argument("--rate", type=int, default=0, help="events per second (0: as fast as it "
                        f"goes; {KILL_RATE} with kills)")
    parser.add_argument("--only", help="kinds to kill, or beginnings of them, with commas")
    parser.add_argument("--boards", choices=("ring", "udp"), default="ring", help="the events come "
                        "from producer rings, or from boards that send by UDP")
    options = parser.parse_args()
    if options.boards == "udp" and (options.kills or options.rate):
        parser.error("--boards udp: the boards send what is triggered, without --kills and --rate")
    if options.events < 1 or min(options.kills, options.sources, options.rate) < 0:
        parser.error("--events is at least 1, --kills, --sources and --rate at least 0")
    kinds = None
    if options.only:
        kinds = [kind for kind in KILLS if kind.startswith(tuple(options.only.split(",")))]
        if not kinds:
            parser.error(f"--only: the kinds are {', '.join(KILLS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        wrong = run(options.mode, options.events, options.kills, options.seed, options.sources,
                    options.rate, verbose=True, patience=3600, kinds=kinds, boards=options.boards)
    except evbtest.Skip as reason:
        sys.exit(f"chain: {reason}")
    except evbtest.Failure as failure:
        wrong = [str(failure)]
    for line in wrong[:20]:
        print(f"wrong: {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The event manager in office is killed, stopped and cut off, again and again, and a standby takes
over: how long that takes, whether two were ever in office, and what became of the events.
`chaos.py --standby` prints it.

Terms in office are judged by the logs of the nodes, which run on one machine and so have one clock.
A term ends when the node has left, or when its process has died. The lease of a node that is stopped
ends meanwhile: it acts again only after it has looked at its clock."""

import collections
import contextlib
import datetime
import glob
import os
import re
import signal
import statistics
import time

import bottleneck
import chaos_system
import evbtest
from chaos_campaign import Campaign, Round
from chaos_faults import Fault

MANAGERS = ("m", "b0", "b1")
LATER_S = 0.1  # a take-over takes heartbeat_timeout and at most so much more
LOOK_S = 0.005
_CAME = re.compile(r"node (\S+) is the event manager in office since (\S+), epoch (\d+)")
_LEFT = re.compile(r"this node was the event manager in office from (\S+) to (\S+), epoch (\d+)")


class Layout(chaos_system.Layout):
    def configuration(self, name):
        result = super().configuration(name)
        for node in result["nodes"]:
            if node["name"] in MANAGERS:
                node["manager"] = True
        return result


# --- terms in office -----------------------------------------------------------------------------


Term = collections.namedtuple("Term", "begin end epoch node")  # end: None while it goes on


def _seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def terms_of(node, log, died=None):
    """Of one process of the node. died: when it had ended."""
    terms = {}
    for line in log.splitlines():
        came, left = _CAME.search(line), _LEFT.search(line)
        if left:
            epoch = int(left[3])
            terms[epoch] = Term(_seconds(left[1]), _seconds(left[2]), epoch, node)
        elif came and came[1] == node:
            epoch = int(came[3])
            terms.setdefault(epoch, Term(_seconds(came[2]), died, epoch, node))
    return list(terms.values())


def judge_terms(terms):
    """What is wrong with the terms of all processes."""
    wrong = []
    terms = sorted(terms)
    for before, after in zip(terms, terms[1:]):
        if before.end is None or before.end > after.begin:
            wrong.append(f"two in office: {before} and {after}")
        if before.epoch >= after.epoch:
            wrong.append(f"the epoch does not grow: {before} and {after}")
        if before.end is not None and before.end < before.begin:
            wrong.append(f"a term ends before it begins: {before}")
    return wrong


# --- the system and its faults -------------------------------------------------------------------


class Standby(chaos_system.Chaos):
    """Context manager: m, b0 and b1 can be the event manager."""

    layout_of = Layout

    def __init__(self, work, mode, heartbeat_timeout, deadline, heartbeat):
        super().__init__(work, mode, heartbeat_timeout, deadline, heartbeat)
        self._started = []  # (node, process)
        self._died = {}  # process: time

    def launch(self, node, *arguments):
        process = super().launch(node, *arguments)
        self._started.append((node, process))
        return process

    def kill_process(self, node):
        super().kill_process(node)
        self._died[self.processes[node]] = time.time()

    def led(self, states):
        for node in MANAGERS:
            state = states.get(node)
            if state and "system" in state and state["office"]["manager"] == node:
                return state
        return None

    def seen(self):
        """What the managers that answer at once say."""
        states = {}
        for node in MANAGERS:
            try:
                states[node] = self.ask(node, timeout=0.05)
            except (OSError, ValueError):
                continue
        return states

    def more(self, events=50):
        def released():
            led = self.led(self.seen())
            return led["system"]["released"] if led else -1

        first = max(0, released())
        self.until(lambda: released() >= first + events, f"{events} events more")

    def until_led(self, predicate, what):
        """Until the predicate holds for what the manager in office says, which it returns."""
        end = time.monotonic() + evbtest.PATIENCE_S
        while True:
            led = self.led(self.seen())
            if led and predicate(led):
                return led
            evbtest.check(time.monotonic() < end, f"not in {evbtest.PATIENCE_S} s: {what}")
            time.sleep(LOOK_S)

    def terms(self):
        return [term for node, process in self._started
                for term in terms_of(node, process.errors(), self._died.get(process))]


class OfManager(Fault):
    """Done to the node in office."""

    def replaced(self):
        """Waits until another node is in office. Returns its name."""
        led = self.chaos.until_led(lambda led: led["node"]["name"] != self.node,
                                   f"another node than {self.node} is in office")
        return led["node"]["name"]


class Kill(OfManager):
    kind = "manager in office killed"

    def begin(self):
        self.chaos.kill_process(self.node)

    def end(self):
        self.chaos.launch_again(self.node)


class Stop(OfManager):
    kind = "manager in office stopped"

    def begin(self):
        self.chaos.processes[self.node].signal(signal.SIGSTOP)

    def end(self):
        self.chaos.continue_process(self.node)


class Cut(OfManager):
    kind, loses = "manager in office cut off", True

    def begin(self):
        self.chaos.injector.cut(self.node, *self.draw.choice(((), ("from",), ("to",))))

    def end(self):
        self.chaos.injector.join(self.node)


KINDS = (Kill, Stop, Cut)
# events_s: until events are released again. waits: of the other nodes, for the CPU until then, in the
# thread that waited most.
TakeOver = collections.namedtuple("TakeOver", "kind at events_s waits")


def waited(process):
    """{thread: seconds that it could run and did not get a CPU}"""
    found = {}
    for path in glob.glob(f"/proc/{process.pid}/task/*/schedstat"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            found[path] = int(file.read().split()[1]) * 1e-9
    return found


class TakeOvers(Campaign):
    """Each round is one take-over."""

    def __init__(self, chaos, seed):
        super().__init__(chaos, seed, KINDS, quiet=False)
        self.take_overs = []

    def take_over(self):
        chaos = self.chaos
        led = chaos.until_led(lambda led: True, "a node is in office")
        kind = self._next_kind()
        fault = kind(chaos, led["node"]["name"], self.draw)
        result = Round([kind.kind], [f"{kind.kind} ({fault.node})"], kind.loses)
        self.rounds.append(result)
        self.count += 1
        others = [chaos.processes[node] for node in chaos.nodes if node != fault.node]
        before = [waited(process) for process in others]
        at = time.time()
        fault.begin()
        fault.replaced()
        chaos.until_led(lambda now: now["system"]["released"] > led["system"]["released"] +
                        chaos_system.MORE, "events are released again")
        waits = max(seconds - old.get(path, 0) for process, old in zip(others, before)
                    for path, seconds in waited(process).items())
        self.take_overs.append(TakeOver(kind.kind, at, time.time() - at, waits))
        time.sleep(self.draw.uniform(0, 0.3))  # how long the fault lasts is drawn
        fault.end()
        result.seconds, states = chaos.recover(evbtest.PATIENCE_S)
        self._after(result, states)


# --- what is told --------------------------------------------------------------------------------


def first_after(terms, at):
    """Seconds until a term begins. None: none does."""
    later = [term.begin - at for term in terms if term.begin > at]
    return min(later) if later else None


def distribution(values):
    """ms"""
    values = sorted(1e3 * value for value in values)
    tenths = statistics.quantiles(values, n=10, method="inclusive") if len(values) > 1 else values * 9
    return f"{len(values):4} times, least {values[0]:4.0f}, median {statistics.median(values):4.0f}, " \
           f"90 % {tenths[8]:4.0f}, most {values[-1]:4.0f} ms"


def histogram(values, timeout):
    """Lines: how many take-overs took so long, in steps of a tenth of heartbeat_timeout."""
    step = timeout / 10
    counts = collections.Counter(int(value / step) for value in values)
    return [f"    {1e3 * step * at:6.0f} to {1e3 * step * (at + 1):5.0f} ms {counts[at]:4} {'#' * counts[at]}"
            for at in sorted(counts)]


def report(campaign, timeout, within):
    """Prints the take-over times. Returns what is wrong."""
    terms = campaign.chaos.terms()
    took = {take_over: first_after(terms, take_over.at) for take_over in campaign.take_overs}
    wrong = judge_terms(terms)
    for kind in KINDS:
        of_kind = [take_over for take_over in took if take_over.kind == kind.kind]
        if of_kind:
            print(f"{kind.kind}: in office after {distribution([took[one] for one in of_kind])}")
            print(f"{'':{len(kind.kind)}}  events after "
                  f"{distribution([one.events_s for one in of_kind])}")
    print(*histogram(took.values(), timeout), sep="\n")
    caused = len(took)
    print(f"{len(terms)} terms: the first, {caused} after a fault, {len(terms) - 1 - caused} without one; "
          f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    if within is not None:
        wrong += [f"{take_over.kind}: in office after {1e3 * seconds:.0f} ms, "
                  f"more than {1e3 * (timeout + within):.0f} ms; a node waited for the CPU for "
                  f"{1e3 * take_over.waits:.0f} ms of {1e3 * take_over.events_s:.0f}"
                  for take_over, seconds in took.items() if seconds > timeout + within]
    return wrong


def run(times, seed=1, mode="push", timeout=0.5, within=LATER_S, verbose=False):
    """Prints what was found. Returns what is wrong. within: seconds after heartbeat_timeout; None:
    not judged. Where times are judged, all processes go ahead of others, in real time."""
    first = contextlib.nullcontext() if within is None else bottleneck.ahead_of_others()
    with first, evbtest.Workspace() as work, \
            Standby(work, mode, f"{timeout * 1e3:.0f}ms", "1s", f"{timeout * 1e2:.0f}ms") as chaos:
        chaos.begin()
        campaign = TakeOvers(chaos, seed)
        campaign.begin()
        try:
            while campaign.count < times:
                campaign.take_over()
                if verbose:
                    print(campaign.rounds[-1].describe(), flush=True)
            campaign.end()
        except evbtest.Failure as failure:
            chaos.failures.append(f"{', '.join(campaign.rounds[-1].what)}: {failure}")
        print(f"seed {seed}, mode {mode}, heartbeat_timeout {timeout} s, {len(chaos.account.times)} "
              "events")
        print(campaign.table())
        wrong = report(campaign, timeout, within) + campaign.verdict(evbtest.PATIENCE_S)
    print(f"{len(campaign.take_overs)} take-overs: " + (
        f"{len(wrong)} things are wrong" if wrong else
        "nothing lost, nothing published twice without the flag, never two in office" + (
            f", each within heartbeat_timeout + {1e3 * within:.0f} ms" if within else "")))
    return wrong

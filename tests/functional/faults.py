# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Systems that something is done to: nodes that are killed and come back, an injector of faults in
the place of each node's wire. What the consumers of every builder process got is written down, and
judged against what was sent: each event once, byte by byte.

Nodes as in bottleneck: m is the event manager, r0 and r1 send, b0 and b1 build.
"""

import collections
import contextlib
import dataclasses
import json
import os
import signal
import struct
import subprocess

import bottleneck
import evb_decode
import evbtest
import judge
from evbtest import check, check_equal
from test_cluster import all_sent

RATE = 150  # events a second
SIZE = {"law": "gaussian", "mean": 150, "sigma": 30, "maximum": 240}
PACKING = 10  # two segments an MFP
CONTROL_PORT = 19521
REPEATED = 8  # EVB_EVENT_REPEATED of evb_reader.h
HEAD = struct.Struct("<QII")  # of an event in a tap's file


@dataclasses.dataclass
class Layout(bottleneck.Layout):
    """Sizes differ; readouts obey pause frames if asked to."""

    obedient: bool = False

    def configuration(self, name):
        result = super().configuration(name)
        for node in result["nodes"]:
            for generator in node.get("generators", ()):
                generator["size"] = dict(SIZE)
                if self.obedient:
                    # The longest pause is 0.3 s then.
                    node["ports"][0].update(link_rate=100e6, flow_control={"mode": "soft"})
        return result


# --- the injector --------------------------------------------------------------------------------


class Injector:
    """Context manager: injector.c between the nodes of a bridge and the bridge. Each command
    returns what has been done so far."""

    def __init__(self, bridge, nodes, seed=1):
        self._bridge = bridge
        self._nodes = nodes
        self._seed = seed
        self._process = None

    def __enter__(self):
        wires = []
        for index, node in enumerate(self._nodes):
            outer, inner, port = f"outer{index}", f"inner{index}", self._bridge.port(node)
            self._ip("set", port, "nomaster")
            self._ip("add", outer, "type", "veth", "peer", "name", inner)
            self._ip("set", inner, "up")
            self._ip("set", outer, "master", "bridge", "up")
            wires.append(f"{port}:{inner}")
        self._process = subprocess.Popen(
            [evbtest.program("injector"), str(CONTROL_PORT), str(self._seed), *wires], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=self._bridge.bridge.join)
        self._answer()
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        try:
            self._process.wait(evbtest.PATIENCE_S)
        finally:
            self._process.kill()
            self._process.stdout.close()

    def _ip(self, *arguments):
        done = subprocess.run(["ip", "-n", self._bridge.bridge.name, "link", *arguments],
                              capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"ip link {' '.join(arguments)}: {done.stderr.strip()}")

    def _answer(self):
        line = self._process.stdout.readline()
        check(line, "the injector has ended")
        return json.loads(line)

    def _command(self, text):
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()
        return self._answer()

    def lose(self, share):
        return self._command(f"lose {share}")

    def lose_shared(self, share):
        return self._command(f"lose-shared {share}")

    def double(self, share):
        return self._command(f"double {share}")

    def delay(self, share, microseconds):
        return self._command(f"delay {share} {microseconds}")

    def cut(self, node, *sides):
        """sides: what comes "from" the node, what goes "to" it; both without them."""
        for side in sides or ("from", "to"):
            counts = self._command(f"cut {self._nodes.index(node)} {side}")
        return counts

    def join(self, node):
        return self._command(f"join {self._nodes.index(node)}")

    def counts(self):
        return self._command("count")

    def epoch(self, node):
        """The highest that the node has named in a frame."""
        return self.counts()["epochs"][self._nodes.index(node)]

    def frames(self, node):
        """Control frames that have come from the node."""
        return self.counts()["frames"][self._nodes.index(node)]


# --- what consumers got --------------------------------------------------------------------------


Published = collections.namedtuple("Published", "event flags blocks")


class Life:
    """One process of a builder's node, as its consumer saw it."""

    def __init__(self, trial, node, path, microseconds):
        self.node = node
        self._path = path
        self._all = None  # records, once there will be no more
        self._tap = trial.work.start(evbtest.program("event_tap"), f"{trial.name}-{node}",
                                     bottleneck.GROUP, path, str(microseconds))
        self._tap.wait_for_line("joined")

    def finish(self):
        self._tap.finish()
        check_equal(self._tap.status, 0, f"status of {self._tap.describe()}")
        self._all = list(self._read())

    def _records(self):
        """(event id, flags, bytes of the MEP) in the order of publication."""
        return self._read() if self._all is None else self._all

    def _read(self):
        """The last may not be all there yet."""
        with open(self._path, "rb") as file:
            data = file.read()
        offset = 0
        while len(data) - offset >= HEAD.size:
            event, flags, length = HEAD.unpack_from(data, offset)
            offset += HEAD.size
            if len(data) - offset < length:
                return
            yield event, flags, data[offset:offset + length]
            offset += length

    def events(self):
        """Numbers of the events so far."""
        return [event // PACKING for event, *_ in self._records()]

    def published(self):
        for event, flags, data in self._records():
            [mep] = evb_decode.meps(data, from_file=False)
            check_equal(mep.event_id, event, "event id of a MEP")
            yield Published(event // PACKING, flags,
                            {mfp.source_id: data[mfp.offset:mfp.offset + mfp.size]
                             for mfp in mep.mfps})


# --- the system ----------------------------------------------------------------------------------


def _thread_states(pid):
    """Letters, as in proc(5)."""
    states = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii", errors="replace") as file:
            states.add(file.read().rpartition(")")[2].split()[0])
    return states


class Trial(bottleneck.Farm):
    """Context manager: m, r0, r1, b0, b1; with an injector if asked for. microseconds: that a
    node's consumer takes for an event. more: of the configuration of the event manager."""

    layout_of = Layout

    def __init__(self, work, mode, injected=False, deadline="30s", microseconds=None,
                 obedient=False, readouts=2, **more):
        super().__init__(work, self.layout_of(
            readouts=readouts, builders=2, packing=PACKING, fragment=SIZE["maximum"], queue=0, link=1e9,
            rate=RATE, consumed=True, obedient=obedient,
            # The rate leaves room for long sleeps.
            changes={"events": {"deadline": deadline, "drain_timeout": "30s"},
                     "idle": {"sleep": "1ms"},
                     "event_manager": {"mode": mode, **more}}))
        self.work = work
        self.lives = []
        self.injector = None
        self._injected = injected
        self._microseconds = microseconds or {}

    def __enter__(self):
        super().__enter__()
        try:
            if self._injected:
                self.injector = self._stack.enter_context(Injector(self.bridge, self.nodes))
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self):
        """Starts all nodes and their consumers; events are built when it returns."""
        self.start()
        for node in self.builders:
            self._listen(node)
        self.more(30)

    def _listen(self, node):
        path = self.work.path(f"tap{len(self.lives)}")
        self.lives.append(Life(self, node, path, self._microseconds.get(node, 0)))

    def life(self, node):
        """The node's newest."""
        return [life for life in self.lives if life.node == node][-1]

    def kill(self, node, leaves_will=True):
        if node in self._clients:
            self._clients.pop(node).__exit__()
        self.processes[node].kill(leaves_will)
        if node in self.builders:
            self.life(node).finish()

    def back(self, node):
        """Another process of the node."""
        self.start(node)
        if node in self.builders:
            self._listen(node)

    def stop_process(self, node):
        """The node's process does nothing from now on: all its threads stand still."""
        process = self.processes[node]
        process.signal(signal.SIGSTOP)
        self.until(lambda: _thread_states(process.pid) == {"T"}, f"{node} has stopped")

    def continue_process(self, node):
        if self.processes[node].running():
            self.processes[node].signal(signal.SIGCONT)

    @contextlib.contextmanager
    def stopped(self, node):
        """The node's process does nothing meanwhile. It may be killed, too."""
        self.stop_process(node)
        try:
            yield
        finally:
            self.continue_process(node)

    @contextlib.contextmanager
    def stopped_while_it_builds(self, node, events):
        """The builder's process does nothing meanwhile, and was granted at least so many events that
        it has not published. On a busy machine it may have published all when it is stopped, and
        the manager may not know yet: then once more."""
        while True:
            with self.stopped(node):
                self.until_granted(node, events)
                if self.credits()[node]["grants"] >= len(self.life(node).events()) + events:
                    yield
                    return
            self.more(1)

    # --- what is known of it ---

    def state(self, node, timeout=evbtest.PATIENCE_S):
        """What the node itself says."""
        return self.ask(node, timeout)

    def own(self, node, key):
        return self.state(node)["node"][key]

    def held(self, node):
        """Events that are built there and not published."""
        own = self.state(node)["node"]
        return own["built"] - own["published"] - own["withdrawn"]

    def member(self, node):
        """What the event manager says of the node."""
        members = self.state("m")["system"]["nodes"]
        return next(member for member in members if member["name"] == node)

    def until(self, predicate, what, timeout=evbtest.PATIENCE_S):
        evbtest.wait_until(predicate, what, timeout,
                           lambda: "\n".join(self._shown(node) for node in self.nodes))

    def _shown(self, node):
        try:
            return json.dumps(self.state(node, timeout=1.0))
        except OSError as error:
            return f"{node}: {error}"

    def more(self, events=50):
        """Until so many more events are finished."""
        first = self.sched()["events_released"]
        self.until(lambda: self.sched()["events_released"] >= first + events,
                   f"{events} events more")

    def until_granted(self, node, events):
        """Until it was granted so many more events, or all that it takes, and they were sent."""
        first = self.credits()[node]["grants"]

        def granted():
            credits = self.credits()[node]
            return credits["grants"] >= first + events + 2 or credits["free"] == 0

        self.until(granted, f"{events} grants of {node}")
        self.until_polled("m")

    def until_polled(self, node):
        """Until each of its lcores has ended the poll that it is in: what it decided has left it."""
        def loops():
            found = self.client(node).query("/evb/lcore/all")
            return {name: one["loops"] for name, one in found.items() if name != "count"}

        first = loops()
        self.until(lambda: all(now >= first[name] + 2 for name, now in loops().items()),
                   f"{node} has polled")

    def settled(self):
        """Waits until all that has been announced is finished. Returns how many events were
        incomplete."""
        newest = max(self.own(node, "announced") for node in self.readouts)
        self.until(lambda: self.sched()["events_released"] >= newest, f"event {newest}")
        return self.sched()["events_incomplete"]

    # --- its end ---

    def finish(self):
        """Ends the run and judges the accounts of all nodes; returns the verdict on the events,
        and the accounts."""
        announced = self.sched()["events_announced"]
        self.command("drain")
        summaries = self.end()
        for node in self.builders:
            self.life(node).finish()
        for summary in summaries.values():
            evbtest.check_identities(summary)
        verdict = Verdict(self.lives)
        check_equal(sorted(verdict.lives), list(range(max(verdict.lives) + 1)), "events published")
        check(len(verdict.lives) >= announced,
              f"{len(verdict.lives)} events were published, {announced} were announced")
        verdict.check_bytes(all_sent(self.work, self.configuration, len(verdict.lives)))
        verdict.check_flags()
        return verdict, summaries


class Verdict:
    """What became of the events."""

    def __init__(self, lives):
        self.lives = collections.defaultdict(list)  # by event
        self.incomplete = collections.defaultdict(set)  # sources that are missing, by event
        self.flagged = set()  # as events that may have been handed out before
        self._published = [published for life in lives for published in life.published()]
        for life in lives:
            events = life.events()
            check_equal(len(set(events)), len(events), f"events that one process of {life.node} "
                        "has published")
            for event in events:
                self.lives[event].append(life)

    @property
    def twice(self):
        """Events that more than one process has published."""
        return {event for event, lives in self.lives.items() if len(lives) > 1}

    def check_bytes(self, sent):
        for event, _, blocks in self._published:
            wanted = sent[event * PACKING]
            check_equal(sorted(blocks), sorted(wanted), f"sources of event {event}")
            for source, mfp in blocks.items():
                if judge.is_error_mfp(mfp, judge.MISSING_TYPE):
                    self.incomplete[event].add(source)
                else:
                    check(mfp == wanted[source],
                          f"event {event}: the MFP of source {source} differs")

    def check_flags(self):
        """Of the times that an event was published one at most is without the flag."""
        plain = set()
        for event, flags, _ in self._published:
            if flags & REPEATED:
                self.flagged.add(event)
                continue
            check(event not in plain, f"event {event} was published twice, and nobody is told so")
            plain.add(event)

    def check_exact(self):
        """All are complete, none was published twice, or is said to have been."""
        check_equal(dict(self.incomplete), {}, "incomplete events")
        check_equal(self.twice, set(), "events published twice")
        check_equal(self.flagged, set(), "events flagged as repeated")

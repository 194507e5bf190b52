# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The chain of chain.py: the systems of configs/farm.json and configs/farm-filter.json with the data
of the LHCb file, the processes around them, and what kills and replaces each of them."""

import glob
import itertools
import os
import random
import signal
import time

import appliance
import cluster
import evb_decode
import evbtest
import test_decide
import test_kill
from chain_boards import Boards
from chain_data import FRAME, READOUTS, Recording
from evbtest import check, check_equal

TAP, FILTER, FILES = "tap", "filter", "files"  # groups
FILTERS = ("filter0", "filter1")
RESULTS = "results"  # node
MEMBERS = 2  # of the group that decides, on each filter node
FRAMES = 900  # of the 1024 that a queue of a node holds, for events that are on their way
AHEAD = 64  # events that a producer ring holds
MORE = 10  # events of each stage after which the chain counts as running


# --- the two systems ---------------------------------------------------------------------------


def pages(size):
    return -(-size // 4096) * 4096


def in_flight(frames):
    """Events on their way whose frames a port holds."""
    return max(4, min(64, FRAMES // frames))


def receive_ring(frames):
    """Options of a port whose receive ring holds at least so many jumbo frames, in blocks of 28."""
    return {"framecnt": 28 * max(64, -(-frames // 28))}


def first_stage(work, recording, mode, rate):
    slot = pages(recording.largest * 5 // 4)
    configuration = appliance.merged(cluster.shipped("farm.json"), {
        "name": work.name(), "memory": {"kind": "shm"},
        "sources": {"ids": recording.ids},
        "events": {"deadline": "4s", "drain_timeout": "60s"},
        "event_ring": {"groups": ["egress", TAP]},
        "idle": {"policy": "adaptive", "yields": 2, "sleep": "1ms"},
        "event_manager": {"mode": mode, "source_buffer": in_flight(recording.frames),
                          "on_source_silent": "pause", "heartbeat": "50ms",
                          "heartbeat_timeout": "1s"}})
    if mode == "static":
        # Nobody grants: senders wait for slots. On a busy machine an acknowledgement comes late: no
        # sender repeats packets that wait in a queue, and no event ends before its last source.
        configuration.update(transport={"kind": "roce"}, roce={"timeout": 18})
        configuration["events"]["deadline"] = "30s"
    for node in configuration["nodes"]:
        for builder in node.get("builders", ()):
            builder.update(slots=128, slot_size=slot)
            # With some for control messages.
            node["ports"][0]["options"] = receive_ring(
                recording.frames * in_flight(recording.frames) + 1024)
        for generator in node.get("generators", ()):
            ids = recording.sources[node["name"]]
            generator["ids"] = ids
            generator["producer"] = {
                "size": max(pages(AHEAD * recording.largest // 2),
                            4 * len(ids) * recording.largest_block),
                "blocks": max(64, 1 << (AHEAD * len(ids)).bit_length() - 1),
                "max_block": recording.largest_block}
            if rate:
                generator["rate"] = rate
    return configuration, slot


def second_stage(work, first, mode, slot):
    configuration = appliance.merged(cluster.shipped("farm-filter.json"), {
        "name": work.name(), "memory": {"kind": "shm"},
        # Numbers of a killed sender hold the others back for ten deadlines.
        "events": {"deadline": "1s", "drain_timeout": "60s"},
        "groups": [{"name": FILTER, "decides": True, "undecided": "accept"},
                   {"name": FILES, "after": FILTER}],
        "idle": {"policy": "adaptive", "yields": 2, "sleep": "1ms"},
        "event_manager": {"mode": "push" if mode == "static" else mode,
                          "source_buffer": in_flight(-(-slot // FRAME)),
                          "heartbeat": "50ms", "heartbeat_timeout": "1s"}})
    configuration["builders"][0].update(slots=128, slot_size=slot + 8192)
    for node in configuration["nodes"]:
        node.pop("writers", None)
        for generator in node.get("generators", ()):
            generator["event_ring"].update(appliance=f"{first['name']}-build", max_event=slot)
    [port] = configuration["nodes"][0]["ports"]
    configuration["nodes"].append({
        "name": RESULTS, "builders": [], "ports": [{**port, "address": "10.78.2.20/24"}],
        "results": [{"name": "all", "group": FILTER, "directory": work.folder("results"),
                     "timeout": "5s", "window": 16384},
                    {"name": "origins", "group": FILTER, "directory": work.folder("origins"),
                     "timeout": "5s", "window": 16384, "origin_packing": 1}]})
    return configuration


# --- consumers ---------------------------------------------------------------------------------


class Life:
    """The consumers of one process of a node. They end by themselves after its end, when they have
    taken all that it published."""

    def __init__(self, chain, system, node):
        self.chain = chain
        self.node = node
        self.process = system.processes[node]
        self.ledger = chain.work.path(f"ledger-{node}-{next(chain.numbers)}")
        self.processes = []

    def over(self):
        return not any(process.running() for process in (self.process, *self.processes))

    def check_end(self):
        for process in self.processes:
            process.finish()
            check_equal(process.status, 0, f"status of {process.describe()}")


class Tap(Life):
    """Notes what the builders publish."""

    def __init__(self, chain, system, node):
        super().__init__(chain, system, node)
        self.processes = [chain.work.start(evbtest.program("event_tap"), self.process.name, TAP,
                                           self.ledger, "0", "heads")]
        self.processes[0].wait_for_line("joined")


class Filter(Life):
    """Members that decide, and a recorder of accepted events. What is accepted is known by the id
    of the first stage's event."""

    def __init__(self, chain, system, node):
        super().__init__(chain, system, node)
        self.processes = [self._member() for _ in range(MEMBERS)]
        for member in self.processes:
            member.wait_for_line("joined")
        self.processes.append(self._recorder())

    def _member(self):
        return self.chain.work.start(evbtest.program("decider"), self.process.name, FILTER, "1",
                                     "4", self.ledger)

    def _recorder(self):
        return test_kill.start_recorder(self.chain.work, self.process.name,
                                        self.chain.work.folder(f"accepted-{self.node}"))

    def kill_member(self):
        self.processes.pop(0).kill()

    def replace_member(self):
        self.processes.insert(0, self._member())
        self.processes[0].wait_for_line("joined")

    def kill_recorder(self):
        self.processes.pop().kill()

    def replace_recorder(self):
        self.processes.append(self._recorder())


# --- the chain ---------------------------------------------------------------------------------


def missing(name, states):
    """Why a system does not run; empty if it does."""
    for node, state in states.items():
        if state["state"] != "running" or not state["node"]["registered"] or \
                state["node"]["excluded"]:
            return f"{node} is {state['state']}, {state['node']}"
    for node in states[name]["system"]["nodes"]:
        if node["lost"] or node["excluded"] or not node["registered"] or \
                node["state"] != "running":
            return f"{node}"
    in_doubt = states[name]["system"].get("in_doubt", 0)  # not in mode static
    return f"{in_doubt} builders in doubt" if in_doubt else ""


class Chain(evbtest.Fixture):
    """Context manager: both systems, the consumers, and two players, or boards that send by UDP."""

    def __init__(self, work, mode, n_sources=40, rate=0, events=None, seed=1, boards=False):
        super().__init__()
        self.work = work
        self.recording = Recording(work, n_sources)
        one, slot = first_stage(work, self.recording, mode, rate)
        self.boards = Boards(self.recording) if boards else None
        if boards:
            self.boards.configure(one)
            self.first = cluster.SystemWithBoards(work, one, self.boards.cables())
        else:
            self.first = cluster.System(work, one)
        self.second = cluster.System(work, second_stage(work, one, mode, slot), prefix="f-")
        self.numbers = itertools.count()
        self.draw = random.Random(seed)
        self.mode = mode
        self.lives = []  # all that ever were
        self.players = {}
        self.waited_for = []  # what the last recover() has waited for
        self.events = None
        self.played = None  # when the last event was played
        self._end_file = work.path("end")
        if events:
            self.end_at(events)

    def _make(self):
        for system in (self.first, self.second):
            self._stack.enter_context(system)
        systems = self.second, self.first
        for node, system in ((node, system) for system in systems for node in system.nodes):
            system.launch(node)
        for system in systems:
            for process in system.processes.values():
                process.wait_for_line("running")
        self.tap = self._listen(Tap, self.first, "build")
        self.filters = {node: self._listen(Filter, self.second, node) for node in FILTERS}
        if self.boards:
            self.boards.start(self.work, self.first)
            return
        for node in READOUTS:
            self.play(node)

    def _listen(self, kind, system, node):
        life = kind(self, system, node)
        self.lives.append(life)
        return life

    def play(self, node):
        self.players[node] = self.work.start(
            evbtest.program("player"), f"{self.first.name}-{node}", "boards",
            self.recording.files[node], str(self.recording.n_events), self._end_file)

    def end_at(self, events):
        """Events below this number are played."""
        self.events = events
        self.work.write("end.part", f"{events}\n")
        os.rename(self.work.path("end.part"), self._end_file)

    def end_behind(self, events):
        """Ends the play behind these events, and what the producers have committed."""
        for player in self.players.values():
            player.signal(signal.SIGSTOP)
        self.end_at(max(events, self.newest() + 2 * AHEAD))
        for player in self.players.values():
            player.signal(signal.SIGCONT)

    def announced(self):
        """The end of what all readouts of the first stage have announced."""
        return self.first.ask()["system"]["announced"]

    def newest(self):
        """The end of what any of them has announced."""
        return max(self.first.ask(node)["node"]["announced"] for node in READOUTS)

    @property
    def unacknowledged(self):
        """Events whose messages a readout may have sent without an acknowledgement, at most."""
        return max(max(64, 1 << (2 * len(ids) - 1).bit_length()) // len(ids) + 1
                   for ids in self.recording.sources.values())

    @staticmethod
    def _finished(states):
        """How many events each stage has finished. In mode static its builders' process knows."""
        built = states[0]["build"]["events"]
        return [state["manager"]["system"].get("released", built["complete"] + built["incomplete"])
                for state in states]

    # --- kills ---

    @staticmethod
    def _kill(system, node):
        system.processes[node].signal(signal.SIGKILL)

    @staticmethod
    def _launch(system, node):
        system.processes[node].finish()
        system.start(node)

    def kill_producer(self):
        node = self.draw.choice(READOUTS)
        self.players[node].kill()
        return node, lambda: self.play(node)

    def kill_readout(self):
        node = self.draw.choice(READOUTS)
        self._kill(self.first, node)
        return node, lambda: self._launch(self.first, node)

    def kill_build(self):
        def again():
            self._launch(self.first, "build")
            self.tap = self._listen(Tap, self.first, "build")

        self._kill(self.first, "build")
        return "build", again

    def kill_sender(self):
        self._kill(self.second, "egress")
        return "egress", lambda: self._launch(self.second, "egress")

    def kill_manager(self):
        system = self.draw.choice((self.first, self.second))
        self._kill(system, system.manager)
        return system.processes[system.manager].name, lambda: self._launch(system, system.manager)

    def kill_member(self):
        node = self.draw.choice(FILTERS)
        life = self.filters[node]
        life.kill_member()
        return node, life.replace_member

    def kill_filter(self):
        node = self.draw.choice(FILTERS)

        def again():
            self._launch(self.second, node)
            self.filters[node] = self._listen(Filter, self.second, node)

        self._kill(self.second, node)
        return node, again

    def kill_results(self):
        self._kill(self.second, RESULTS)
        return RESULTS, lambda: self._launch(self.second, RESULTS)

    def kill_recorder(self):
        node = self.draw.choice(FILTERS)
        life = self.filters[node]
        life.kill_recorder()
        return node, life.replace_recorder

    # --- recovery, and the end ---

    def check_alive(self):
        for process in (*self.players.values(), *self.first.processes.values(),
                        *self.second.processes.values()):
            check(process.running(), f"ended by itself: {process.describe()}")

    def _states(self):
        """What each node of both systems says, and which does not answer."""
        states = {}, {}
        for system, of_nodes in zip((self.first, self.second), states):
            for node in system.nodes:
                try:
                    of_nodes[node] = system.ask(node, timeout=2.0)
                except (OSError, ValueError) as error:
                    return states, f"{system.name}-{node}: {error}"
        return states, ""

    def _old_consumers(self):
        current = (self.tap, *self.filters.values())
        return [life.node for life in self.lives if life not in current and not life.over()]

    def recover(self, patience=evbtest.PATIENCE_S):
        """Waits until all nodes take part, each stage goes on, and no consumers of dead processes
        are left. Returns the seconds."""
        begin, mark = time.monotonic(), None
        self.waited_for = []
        while True:
            self.check_alive()
            states, why = self._states()
            why = why or missing(self.first.manager, states[0]) or \
                missing(self.second.manager, states[1])
            if not why:
                now = self._finished(states)
                mark = mark or now
                slow = [system.name for system, at, was in
                        zip((self.first, self.second), now, mark) if at < was + MORE]
                why = f"{slow} do not go on" if slow else ""
                if not why and self._old_consumers():
                    why = f"old consumers of {self._old_consumers()} have not ended"
                if not why:
                    return time.monotonic() - begin
            if not self.waited_for or self.waited_for[-1][1] != why:
                self.waited_for.append((round(time.monotonic() - begin, 2), why))
            check(time.monotonic() < begin + patience, f"not running again: {why}: {states}")
            time.sleep(0.05)

    def end(self, patience):
        """After the last event is played: waits for the end of all. Returns the summaries of both
        systems, by node."""
        limit = time.monotonic() + patience
        if self.boards:
            self.boards.play(self.events, limit)
        for player in self.players.values():
            player.finish(limit - time.monotonic())
            check_equal(player.status, 0, player.describe())
        self.played = time.monotonic()
        summaries = [system.end(limit - time.monotonic()) for system in (self.first, self.second)]
        for life in self.lives:
            life.check_end()
        return summaries

    def recorded(self):
        """(filter node, MEP of the second stage, its bytes) of all that is in the recorders' files."""
        for node in FILTERS:
            folder = self.work.folder(f"accepted-{node}")
            unfinished = [name for name in os.listdir(folder) if name.startswith(".")]
            check_equal(unfinished, [], f"unfinished files of {node}")
            for path in sorted(glob.glob(os.path.join(folder, "*.mep"))):
                for mep in evb_decode.meps(evb_decode.read(path)):
                    yield node, mep

    def results(self, folder="results"):
        """(number in the second stage, builder, lines, tag, flags) of all records, in the order of
        the files. In the folder "origins" numbers are those of the first stage, and each process
        counts its own records."""
        records = []
        for path in sorted(glob.glob(self.work.path(folder, "*.decisions"))):
            before = len(records) if folder == "results" else 0
            records += test_decide.records_of(path, before, packing=1)
        return records

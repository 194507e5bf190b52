# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The system of chaos.py: nodes as in faults, the consumers of each builder process, and the account
of what they got. Its shared memory and its disk are small file systems of its own."""

import collections
import ctypes
import itertools
import json
import os
import signal
import subprocess
import time

import bottleneck
import evb_decode
import evbtest
import faults
import judge
import telemetry
import test_kill
from evbtest import check, check_equal
from test_cluster import all_sent

RATE = 100  # events per second
LEDGER = "ledger"  # group of the consumer that is stopped and killed
FILES = "files"  # group of the recorder
RECORDED = "b0"  # node whose events are recorded
CHUNK = 500  # events that are generated at once, to compare with
DISK_MIB = 32  # for the minutes that a round takes on a busy machine
MORE = 10  # events, all complete, after which the system counts as running

_CLONE_NEWNS = 0x20000
_MS_SLAVE_ALL = 0x80000 | 0x4000
_libc = ctypes.CDLL(None, use_errno=True)


def _mount(*arguments):
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        evbtest.skip(f"no mounts here: {done.stderr.strip()}")


def separate_mounts():
    """What this process mounts from now on nobody else sees; it goes with the process."""
    if _libc.unshare(_CLONE_NEWNS) != 0 or \
            _libc.mount(b"none", b"/", None, _MS_SLAVE_ALL, None) != 0:
        evbtest.skip(f"no mount namespaces here: {os.strerror(ctypes.get_errno())}")


class Layout(faults.Layout):
    def configuration(self, name):
        result = super().configuration(name)
        result["idle"]["sleep"] = "2ms"  # waking up would be most of the CPU time
        for node in result["nodes"]:
            if node.get("builders"):
                files = [FILES] if node["name"] == RECORDED else []
                node["event_ring"] = {"groups": [bottleneck.GROUP, LEDGER, *files]}
            for generator in node.get("generators", ()):
                generator["rate"] = RATE
        return result


class Consumers(faults.Life):
    """Those of one builder process: a tap, which is left alone, a member of another group that
    keeps a ledger, and perhaps a recorder."""

    def __init__(self, chaos, node):
        path = chaos.work.path(f"tap{next(chaos.numbers)}")
        super().__init__(chaos, node, path, 0)
        self.process = chaos.processes[node]
        self.ids = []  # of the events, in the order of publication
        self.incomplete = 0
        self._work = chaos.work
        self._name = self.process.name
        self._file = open(path, "rb")
        self._rest = b""
        self._ledger = f"{path}.ledger"
        self._killed = set()
        self.consumer = self._start_consumer()
        self._folder = chaos.disk_folder(os.path.basename(path)) if node == RECORDED else None
        self._recorded = []
        self.recorder = self._start_recorder() if self._folder else None

    def _start_consumer(self):
        return self._work.start(evbtest.program("ledger_consumer"), self._name, LEDGER,
                                self._ledger, "4")

    def _start_recorder(self):
        return test_kill.start_recorder(self._work, self._name, self._folder, "--rotate-size",
                                        "64KiB")

    def kill_consumer(self):
        self.consumer.kill()
        self._killed.add(self.consumer.pid)

    def replace_consumer(self):
        self.consumer = self._start_consumer()

    def replace_recorder(self):
        self.recorder = self._start_recorder()

    def fresh(self):
        """(event id, flags, MEP) of what the tap got since the last call."""
        data = self._rest + self._file.read()
        offset = 0
        while len(data) - offset >= faults.HEAD.size:
            event, flags, length = faults.HEAD.unpack_from(data, offset)
            if len(data) - offset - faults.HEAD.size < length:
                break
            offset += faults.HEAD.size
            self.ids.append(event)
            yield event, flags, data[offset:offset + length]
            offset += length
        self._rest = data[offset:]

    def take_files(self):
        """Reads and removes the files that the recorder has finished."""
        if not self._folder:
            return
        for name in sorted(os.listdir(self._folder)):
            if not name.startswith("."):
                path = os.path.join(self._folder, name)
                self._recorded += [event for event, _ in judge.read_meps(path)]
                os.unlink(path)

    def over(self):
        """All its processes have ended."""
        others = [self.consumer, self.recorder] if self.recorder else [self.consumer]
        return not any(process.running() for process in (self.process, self._tap, *others))

    def wait_over(self):
        for process in (self._tap, self.consumer, self.recorder):
            if process:
                process.finish()

    def judge(self):
        """After all of it has been taken: each group got each event once."""
        self._tap.finish()
        check_equal(self._tap.status, 0, f"status of {self._tap.describe()}")
        check_equal(len(set(self.ids)), len(self.ids), f"events that a process of {self.node} "
                    "has published")
        check_equal(self.consumer.status, 0, f"status of {self.consumer.describe()}")
        if os.path.exists(self._ledger):
            test_kill.check_ledger(self._ledger, self._killed, sorted(self.ids))
        if self._folder:
            self.take_files()
            check_equal(sorted(self._recorded), sorted(self.ids),
                        f"recorded events, by {self.recorder.describe()}")
        self._file.close()
        for path in (self._path, self._ledger):
            if os.path.exists(path):
                os.unlink(path)


class Account:
    """What consumers got, by event."""

    def __init__(self, work, configuration):
        self._work = work
        self._configuration = configuration
        self._sent = {}  # the newest chunks
        self.times = collections.Counter()
        self.plain = collections.Counter()  # times without the flag
        self.incomplete = {}  # {event: sources}

    def take(self, life, event_id, flags, data):
        event = event_id // faults.PACKING
        [mep] = evb_decode.meps(data, from_file=False)
        check_equal(mep.event_id, event_id, "event id of a MEP")
        missing = set()
        wanted = self._wanted(event)
        check_equal(sorted(mfp.source_id for mfp in mep.mfps), sorted(wanted),
                    f"sources of event {event}")
        for mfp in mep.mfps:
            block = data[mfp.offset:mfp.offset + mfp.size]
            if block != wanted[mfp.source_id]:
                check(judge.is_error_mfp(block, judge.MISSING_TYPE),
                      f"event {event} of {life.node}: the MFP of source {mfp.source_id} differs")
                missing.add(mfp.source_id)
        self.times[event] += 1
        self.plain[event] += not flags & faults.REPEATED
        if missing:
            life.incomplete += 1
            self.incomplete[event] = missing

    def _wanted(self, event):
        chunk = event // CHUNK
        if chunk not in self._sent:
            if len(self._sent) > 3:
                del self._sent[min(self._sent)]
            self._sent[chunk] = all_sent(self._work, self._configuration, CHUNK,
                                         chunk * CHUNK * faults.PACKING)
        return self._sent[chunk][event * faults.PACKING]

    def lost(self, begin, end):
        return [event for event in range(begin, end) if not self.times[event]]

    def twice(self):
        return [event for event, times in self.times.items() if times > 1]

    def twice_unflagged(self):
        return [event for event, plain in self.plain.items() if plain > 1]


class Chaos(faults.Trial):
    """Context manager: the nodes m, r0, r1, b0, b1, and their consumers."""

    layout_of = Layout

    def __init__(self, work, mode, heartbeat_timeout, deadline, heartbeat="50ms"):
        # A live process keeps its number while no 10 heartbeats are missing: as long as the timeout.
        super().__init__(work, mode, injected=True, deadline=deadline,
                         heartbeat_timeout=heartbeat_timeout, heartbeat=heartbeat)
        self.account = Account(work, self.configuration)
        self.failures = []
        self.forger = None  # of foreign frames, if there is one
        self.numbers = itertools.count()
        self.down = set()  # nodes that are not to run now
        self._disk = None
        self._newest = {}  # consumers by node
        self.waited_for = []  # what recover() has waited for: (seconds, text)

    def __enter__(self):
        evbtest.need_root()
        separate_mounts()
        _mount("-t", "tmpfs", "-o", "size=64m", "none", "/dev/shm")
        self._disk = self.work.folder("disk")
        _mount("-t", "tmpfs", "-o", f"size={DISK_MIB}m", "none", self._disk)
        return super().__enter__()

    def __exit__(self, *arguments):
        super().__exit__(*arguments)
        for folder in ("/dev/shm", self._disk):
            subprocess.run(["umount", "--lazy", folder], check=False)

    def disk_folder(self, name):
        path = os.path.join(self._disk, name)
        os.makedirs(path)
        return path

    @property
    def disk(self):
        return self._disk

    def _listen(self, node):
        self._newest[node] = Consumers(self, node)
        self.lives.append(self._newest[node])

    def life(self, node):
        return self._newest[node]

    # --- processes ---

    def kill_process(self, node):
        self.down.add(node)
        self.processes[node].signal(signal.SIGKILL)

    def launch_again(self, node, *launcher):
        self.processes[node].finish()
        self._launcher = launcher
        self.launch(node)
        self._launcher = ()
        self.down.discard(node)

    def is_up(self, node):
        process = self.processes[node]
        return process.running() and any("running" in line for line in process.lines)

    def tend(self):
        """Consumers for new builder processes; those of old ones are judged. A node that has ended
        by itself is a failure, and started again."""
        for node in self.nodes:
            if node not in self.down and not self.processes[node].running():
                self.failures.append(f"{node} has ended: {self.processes[node].describe()}")
                self.launch_again(node)
            elif node in self.builders and self.is_up(node) and \
                    self.life(node).process is not self.processes[node]:
                self._listen(node)
        for life in [life for life in self.lives if life.over()]:
            self._take(life)
            self._judge(life)
            self.lives.remove(life)

    def _take(self, life):
        for record in life.fresh():
            try:
                self.account.take(life, *record)
            except (evb_decode.FormatError, evbtest.Failure) as error:
                self.failures.append(str(error))
        life.take_files()

    def _judge(self, life):
        try:
            life.judge()
        except evbtest.Failure as failure:
            self.failures.append(str(failure))

    def collect(self):
        """Reads all that consumers got so far."""
        for life in self.lives:
            self._take(life)

    # --- recovery ---

    def states(self):
        """What each node says; None if one does not."""
        try:
            return {node: self.ask(node, timeout=2.0) for node in self.nodes}
        except (OSError, json.JSONDecodeError):
            return None

    def led(self, states):
        """What the event manager says; None if no node is it."""
        return states["m"]

    @staticmethod
    def epoch(state):
        """That of the event manager, where it is elected."""
        return state["office"]["epoch"] if "office" in state else None

    def missing(self, states):
        """Why the system does not run: nodes that do not take part, by themselves or by the event
        manager. Empty if all do."""
        led = self.led(states)
        if not led:
            return "no event manager is in office"
        for node, state in states.items():
            if state["state"] != "running" or not state["node"]["registered"] or \
                    state["node"]["excluded"]:
                return f"{node} is {state['state']}, {state['node']}"
        for node in led["system"]["nodes"]:
            if node["lost"] or node["excluded"] or not node["registered"] or \
                    node["state"] != "running":
                return f"{node}"
        in_doubt = led["system"]["in_doubt"]
        return f"{in_doubt} builders in doubt" if in_doubt else ""

    def recover(self, patience):
        """Waits until all nodes take part, each builder publishes, each source announces, and
        events are complete again. Returns seconds, and the states then."""
        begin = time.monotonic()
        self.waited_for = []
        mark = None
        while True:
            self.tend()
            states = self.states()
            why = self.missing(states) if states else "a node does not answer"
            if why:
                mark = None
            elif mark is None or self.incomplete(states) != self.incomplete(mark):
                mark = states
                why = f"{self.incomplete(states)} incomplete events"
            else:
                why = self._stands_still(mark, states)
            if not why:
                return time.monotonic() - begin, states
            self._waits_for(why, begin)
            if time.monotonic() > begin + patience:
                raise evbtest.Failure(f"not running again after {patience} s: {why}: "
                                      f"{json.dumps(states)}\n{self._builders_seen()}")
            time.sleep(0.02)

    def _builders_seen(self):
        """What the event manager knows of the builders."""
        try:
            with telemetry.Telemetry(f"{self.name}-m") as client:
                return json.dumps([client.query("/evb/credits/all"),
                                   client.query("/evb/sched/info", "m")])
        except (OSError, json.JSONDecodeError) as error:
            return f"m: {error}"

    def _waits_for(self, why, begin):
        if not self.waited_for or self.waited_for[-1][1] != why:
            self.waited_for.append((round(time.monotonic() - begin, 2), why))

    def incomplete(self, states):
        """As the event manager in office has counted."""
        return self.led(states)["system"]["incomplete"]

    def _stands_still(self, mark, states):
        def grown(node, key):
            return states[node]["node"][key] > mark[node]["node"][key]

        last = max(mark[node]["node"]["announced"] for node in self.readouts)
        still = [node for node in self.builders if not grown(node, "published")] + \
                [node for node in self.readouts if not grown(node, "announced")]
        if still:
            return f"{', '.join(still)} stand still"
        released = self.led(states)["system"]["released"]
        return "" if released >= last + MORE else f"{last - released} events are behind"

    # --- its end ---

    def end_run(self):
        """Drains the system and judges all consumers. Returns the nodes' accounts."""
        self.command("drain")
        summaries = self.end()
        for life in self.lives:
            life.process.finish()
            life.wait_over()
            self._take(life)
            self._judge(life)
            counted = judge.event_counts(summaries[life.node])
            counted = sum(counted) - summaries[life.node]["events"]["withdrawn"]
            if counted != len(life.ids):
                self.failures.append(f"{life.node} has published {counted} events, its consumer "
                                     f"got {len(life.ids)}")
        for node, summary in summaries.items():
            try:
                evbtest.check_identities(summary)
            except evbtest.Failure as failure:
                self.failures.append(f"{node}: {failure}")
        return summaries

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The faults of chaos.py. Each kind is a class; an object is one fault, with a begin and an end, on
a node that it is given. What it touches belongs to it alone meanwhile."""

import contextlib
import os
import signal
import subprocess

import evbtest
from evbtest import check


class Fault:
    """targets: nodes that it may be done to. seconds: how long it may last. loses: data that is
    sent by UDP meanwhile is lost by design, so that events are incomplete."""

    kind = ""
    targets = ()
    seconds = (0.1, 1.0)
    loses = False

    def __init__(self, chaos, node, draw):
        self.chaos = chaos
        self.node = node
        self.draw = draw

    @classmethod
    def touches(cls, node):
        """What no other fault may touch meanwhile."""
        return {node}

    def begin(self):
        raise NotImplementedError

    def end(self):
        raise NotImplementedError


# --- processes -----------------------------------------------------------------------------------


class Kill(Fault):
    def begin(self):
        self.chaos.kill_process(self.node)

    def end(self):
        self.chaos.launch_again(self.node)


class KillBuilder(Kill):
    kind, targets = "builder killed", ("b0", "b1")


class KillSource(Kill):
    kind, targets, loses = "source killed", ("r0", "r1"), True


class KillManager(Kill):
    kind, targets = "manager killed", ("m",)


class Stop(Fault):
    seconds = (0.1, 1.5)

    def begin(self):
        self.chaos.stop_process(self.node)

    def end(self):
        self.chaos.continue_process(self.node)


class StopBuilder(Stop):
    kind, targets = "builder stopped", ("b0", "b1")


class StopSource(Stop):
    kind, targets, loses = "source stopped", ("r0", "r1"), True


class StopManager(Stop):
    kind, targets = "manager stopped", ("m",)


class SecondProcess(Fault):
    """As on another machine, with the node's address. It is refused, and told so, while the first
    lives."""

    kind, targets, seconds = "second process of a node", ("m", "r0", "r1", "b0", "b1"), (0.3, 1.5)

    def begin(self):
        chaos = self.chaos
        self.process = chaos.work.start(
            "unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /dev/shm && exec "$@"', "sh",
            evbtest.binary(), "run", chaos.file, "--node", self.node,
            namespace=chaos.bridge.nodes[self.node],
            environment={"RUNTIME_DIRECTORY": chaos.work.folder(f"second{next(chaos.numbers)}")})

    def end(self):
        self.process.wait_until(lambda: "another one runs as node" in self.process.errors(),
                                "the second process is refused")
        self.process.kill()


class Clock(Kill):
    """A process whose steady clock is days away from that of the others."""

    kind, targets, seconds, loses = "clock step", ("m", "r0", "r1", "b0", "b1"), (0.1, 0.2), True

    def end(self):
        offset = str(self.draw.randrange(1, 10**6))
        self.chaos.launch_again(self.node, "unshare", "--time", "--monotonic", offset,
                                "--boottime", offset)


# --- the network ---------------------------------------------------------------------------------


class Cut(Fault):
    kind, targets, loses = "node cut off", ("m", "r0", "r1", "b0", "b1"), True
    seconds = (0.1, 1.5)

    def begin(self):
        self.chaos.injector.cut(self.node, *self.draw.choice(((), ("from",), ("to",))))

    def end(self):
        self.chaos.injector.join(self.node)


class Link(Fault):
    """The node's own interface."""

    targets, loses = ("m", "r0", "r1", "b0", "b1"), True

    def _set(self, *arguments):
        namespace = self.chaos.bridge.nodes[self.node]
        done = subprocess.run(["ip", "-n", namespace.name, "link", "set", namespace.device,
                               *arguments], capture_output=True, text=True, check=False)
        check(done.returncode == 0, f"ip link set {arguments}: {done.stderr.strip()}")


class LinkDown(Link):
    kind = "link down"

    def begin(self):
        self._set("down")

    def end(self):
        self._set("up")


class Mtu(Link):
    kind = "smaller MTU"

    def begin(self):
        self._set("mtu", str(self.draw.choice((300, 576, 1000))))

    def end(self):
        self._set("mtu", "1500")


class BadWires(Fault):
    kind, targets = "control frames lost, doubled, late", ("wires",)

    def begin(self):
        self.chaos.injector.lose(self.draw.uniform(0, 0.2))
        self.chaos.injector.double(self.draw.uniform(0, 0.3))
        self.chaos.injector.delay(self.draw.uniform(0, 0.3), 5000)

    def end(self):
        self.chaos.injector.lose(0)
        self.chaos.injector.double(0)
        self.chaos.injector.delay(0, 0)


class Forged(Fault):
    targets = ("wires",)
    seconds = (0.1, 0.4)
    COUNT = 150

    def send(self):
        raise NotImplementedError

    def begin(self):
        self.send()

    def end(self):
        self.send()


class ForgedControl(Forged):
    kind = "forged control frames"

    def send(self):
        self.chaos.forger.control(self.COUNT)


class ReplayedControl(Forged):
    kind = "replayed control frames"

    def send(self):
        self.chaos.forger.replay(self.COUNT)


class ForgedSegments(Forged):
    kind = "forged segments and ends of run"

    def send(self):
        self.chaos.forger.segments(self.COUNT)


# --- consumers, disk, memory ---------------------------------------------------------------------


class OfConsumers(Fault):
    targets = ("b0", "b1")

    def life(self):
        return self.chaos.life(self.node)


class StopConsumer(OfConsumers):
    """It holds slots, and the builder has soon no other."""

    kind, seconds = "consumer stopped", (0.3, 1.5)

    def begin(self):
        self.life().consumer.suspend()

    def end(self):
        self.life().consumer.signal(signal.SIGCONT)


class KillConsumer(OfConsumers):
    kind = "consumer killed"

    def begin(self):
        self.life().kill_consumer()

    def end(self):
        self.life().replace_consumer()


class KillRecorder(OfConsumers):
    kind, targets = "recorder killed", ("b0",)

    def begin(self):
        self.life().recorder.kill()

    def end(self):
        self.life().replace_recorder()


def fill(path):
    """A file that takes what is free in its file system."""
    with open(path, "wb") as file:
        free = os.fstatvfs(file.fileno())
        with contextlib.suppress(OSError):  # others write, too
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_bsize)


class DiskFull(OfConsumers):
    """The recorder waits for room, and its builder for slots."""

    kind, targets, seconds = "disk full", ("b0",), (0.3, 1.5)

    def _ballast(self):
        return os.path.join(self.chaos.disk, "ballast")

    def begin(self):
        fill(self._ballast())

    def end(self):
        os.unlink(self._ballast())


class MemoryFull(Kill):
    """/dev/shm is full when a builder is to start again: it uses the room of its dead process, or
    is refused and told why, and is started again when there is room."""

    kind, targets = "shared memory full", ("b0", "b1")
    BALLAST = "/dev/shm/ballast"

    @classmethod
    def touches(cls, node):
        return {"b0", "b1"}

    def begin(self):
        fill(self.BALLAST)
        super().begin()
        self.chaos.launch_again(self.node)
        self.chaos.down.add(self.node)

    def end(self):
        process = self.chaos.processes[self.node]
        process.wait_until(lambda: not process.running() or self.chaos.is_up(self.node),
                           "it runs or is refused")
        os.unlink(self.BALLAST)
        if process.running():
            self.chaos.down.discard(self.node)
            return
        super().end()
        check("/dev/shm has" in process.errors(), f"not refused: {process.describe()}")


KINDS = (KillBuilder, KillSource, KillManager, StopBuilder, StopSource, StopManager, SecondProcess,
         Clock, Cut, LinkDown, Mtu, BadWires, ForgedControl, ReplayedControl, ForgedSegments,
         StopConsumer, KillConsumer, KillRecorder, DiskFull, MemoryFull)

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What evb tells the service manager that has started it, and the units of systemd."""

import ctypes
import glob
import os
import shutil
import signal
import socket
import subprocess

import appliance
import evbtest
from evbtest import check, check_equal

WATCHDOG_S = 0.6
SILENT_PERIODS = 3
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class Manager:
    """The socket on which a service manager listens."""

    def __init__(self, work):
        self.path = work.path("notify")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)
        self.told = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def environment(self, **more):
        return {"NOTIFY_SOCKET": self.path, **more}

    def next(self, patience=evbtest.PATIENCE_S):
        """The lines of the next message; None: none came."""
        self._socket.settimeout(patience)
        try:
            lines = self._socket.recv(4096).decode().splitlines()
        except TimeoutError:
            return None
        self.told.append(lines)
        return lines

    def wait_for(self, wanted, evb):
        """Waits for a message with a line for which `wanted` is true. Returns that line."""
        while (lines := self.next()) is not None:
            for line in lines:
                if wanted(line):
                    return line
        raise evbtest.Failure(f"not told; but {self.told[-20:]} by {evb.describe()}")

    def discard(self):
        """What has arrived."""
        while self.next(0.001) is not None:
            pass


def start(work, manager, **environment):
    return work.run(appliance.generated(work, generator={"rate": 2000}),
                    environment=manager.environment(**environment))


def ptrace(request, thread):
    check_equal(_libc.ptrace(request, thread, None, None), 0,
                f"ptrace {request}: {os.strerror(ctypes.get_errno())}")


def worker(evb):
    """A thread that runs the roles of an lcore."""
    for path in glob.glob(f"/proc/{evb.pid}/task/*/comm"):
        with open(path, encoding="ascii") as file:
            if "worker" in file.read():
                return int(path.split("/")[-2])
    raise evbtest.Failure(f"no worker among the threads of {evb.describe()}")


def test_ready_status_and_stopping():
    with evbtest.Workspace() as work, Manager(work) as manager:
        evb = start(work, manager)
        check_equal(manager.next(), ["READY=1", "STATUS=running"], "the first message")
        status = manager.wait_for(lambda line: "events/s" in line, evb)
        check(status.startswith("STATUS="), status)
        evb.signal(signal.SIGTERM)
        manager.wait_for(lambda line: line == "STOPPING=1", evb)
        check("EXTEND_TIMEOUT_USEC=10000000" in manager.told[-1], f"{manager.told[-1]}")
        evb.end()
        manager.discard()
        check(not any("WATCHDOG=1" in lines for lines in manager.told),
              "signs of life for no watchdog")


def test_watchdog():
    """Signs of life come while all CPUs make progress, and none while a thread of an lcore stands."""
    with evbtest.Workspace() as work, Manager(work) as manager:
        evb = start(work, manager, WATCHDOG_USEC=str(int(WATCHDOG_S * 1e6)))
        for _ in range(3):
            manager.wait_for(lambda line: line == "WATCHDOG=1", evb)
        thread = worker(evb)
        ptrace(PTRACE_SEIZE, thread)
        ptrace(PTRACE_INTERRUPT, thread)
        os.waitpid(thread, 0x40000000)  # __WALL: it stands now
        manager.wait_for(lambda line: "makes no progress" in line, evb)
        before = len(manager.told)
        check_equal(manager.next(SILENT_PERIODS * WATCHDOG_S), None, "told while an lcore stands")
        check_equal(len(manager.told), before, "messages")
        check("has made no progress for 0.3 s: one of its roles does not return" in evb.errors(),
              evb.describe())
        ptrace(PTRACE_DETACH, thread)
        manager.wait_for(lambda line: line == "WATCHDOG=1", evb)
        evb.drain()


def test_watchdog_of_another_process():
    with evbtest.Workspace() as work, Manager(work) as manager:
        evb = start(work, manager, WATCHDOG_USEC="100000", WATCHDOG_PID="1")
        manager.wait_for(lambda line: "events/s" in line, evb)
        evb.drain()
        manager.discard()
        check(not any("WATCHDOG=1" in lines for lines in manager.told), f"{manager.told}")


def test_units():
    """systemd accepts the units, with the program where it is."""
    if not shutil.which("systemd-analyze"):
        evbtest.skip("there is no systemd-analyze")
    with evbtest.Workspace() as work:
        units = glob.glob(os.path.join(evbtest.REPOSITORY, "packaging", "*.service.in"))
        check_equal(len(units), 2, f"units: {units}")
        for path in units:
            with open(path, encoding="utf-8") as file:
                text = file.read().replace("@bindir@/evb", evbtest.binary())
            work.write(os.path.basename(path).removesuffix(".in"), text)
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", work.path("evb@.service"),
             work.path("evb-host@.service")],
            capture_output=True, text=True, check=False,
            env={**os.environ, "SYSTEMD_UNIT_PATH": f"{work.directory}:"})
        check_equal((done.returncode, done.stdout + done.stderr), (0, ""), "systemd-analyze verify")


if __name__ == "__main__":
    evbtest.main()

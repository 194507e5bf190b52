# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`evb top` as a person meets it: in a terminal (tmux), at several sizes, with keys, resized, in
front of appliances that run, die and come back."""

import itertools
import os
import re
import shutil
import signal
import subprocess
import time

import appliance
import evbtest
import telemetry
from evbtest import check, check_equal

SIZES = ((80, 24), (120, 40), (40, 10))
INTERVAL_S = 0.2
RATE = 500  # events a second


class Terminal:
    """Context manager: a terminal of its own in which a command runs, and a shell after it."""

    _numbers = itertools.count(1)

    def __init__(self, work, *arguments, columns=80, rows=24, environment=None):
        self._server = f"evbtest-{os.getpid()}-{next(self._numbers)}"
        command = " ".join([evbtest.binary(), "top", "--interval", f"{round(INTERVAL_S * 1000)}ms",
                            *arguments])
        variables = {"LC_ALL": "C.UTF-8", "PS1": "", **(environment or {})}
        self._script = work.write(f"{self._server}.sh", "".join((
            "trap : INT\n",  # for the command, not the shell
            "stty -a > before\n",
            command, "\necho ended with $?\n",
            "stty -a > whole && mv whole after\n",
            "exec cat\n")))
        self._directory = work.directory
        self._size = (columns, rows)
        self._environment = [f"{name}={value}" for name, value in variables.items()]

    def tmux(self, *arguments):
        result = subprocess.run(["tmux", "-L", self._server, "-f", "/dev/null", *arguments],
                                capture_output=True, text=True, check=False,
                                cwd=self._directory)
        check(result.returncode == 0, f"tmux {' '.join(arguments)}: {result.stderr.strip()}")
        return result.stdout

    def __enter__(self):
        columns, rows = self._size
        self.tmux("new-session", "-d", "-s", "t", "-x", str(columns), "-y", str(rows), "env",
                  *self._environment, "sh", self._script)
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-L", self._server, "kill-server"], capture_output=True,
                       check=False)

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options, "-t", "t")

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "t", *keys)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-t", "t", "-x", str(columns), "-y", str(rows))

    def state(self, name):
        """What tmux knows of the terminal."""
        return self.tmux("display-message", "-p", "-t", "t", f"#{{{name}}}").strip()

    def wait_for(self, pattern, timeout=evbtest.PATIENCE_S):
        """Waits until the screen has the pattern; returns its match."""
        end = time.monotonic() + timeout
        while True:
            screen = self.screen()
            match = re.search(pattern, screen, re.MULTILINE)
            if match:
                return match
            check(time.monotonic() < end, f"no {pattern!r} on the screen:\n{screen}")
            time.sleep(0.05)

    def wait_until(self, predicate, what, timeout=evbtest.PATIENCE_S):
        evbtest.wait_until(predicate, what, timeout, self.screen)

    def has(self, name):
        return os.path.exists(os.path.join(self._directory, name))

    def file(self, name):
        with open(os.path.join(self._directory, name), encoding="ascii") as file:
            return file.read()


def running(work, **changes):
    """An appliance that goes on until it is stopped."""
    configuration = appliance.generated(work, sources=8, count=0, writer=None,
                                        generator={"rate": RATE}, **changes)
    return configuration, work.run(configuration)


def wait_for_rates(terminal):
    terminal.wait_for(r"^events +[1-9][0-9.]* k?ev/s")


def events(terminal):
    """The rate that the headline tells."""
    number, unit = terminal.wait_for(r"^events +([0-9.]+) (k?)ev/s").groups()
    return float(number) * (1000 if unit else 1)


def uptime(terminal):
    hours, minutes, seconds = terminal.wait_for(r"running (\d+):(\d+):(\d+)").groups()
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)


# --- what is shown -----------------------------------------------------------------------------


def test_sizes():
    """Fits each size, and shows what matters most in all of them."""
    with evbtest.Workspace() as work:
        configuration, process = running(work)
        for columns, rows in SIZES:
            with Terminal(work, process.name, columns=columns, rows=rows) as terminal:
                wait_for_rates(terminal)
                lines = terminal.screen().rstrip("\n").split("\n")
                check_equal(len(lines), rows, f"rows at {columns}x{rows}")
                check(all(len(line) <= columns for line in lines), f"too wide: {lines}")
                check(configuration["name"] in lines[0], f"no name in {lines[0]!r}")
                for label in ("events", "built", "complete", "latency", "slots"):
                    check(any(line.startswith(label) for line in lines),
                          f"no {label} at {columns}x{rows}: {lines}")
                check("q:quit" in lines[-1], f"last line {lines[-1]!r}")
        terminal_text = "\n".join(lines)
        check("100%" in terminal_text, f"not complete: {terminal_text}")
        process.drain()


def test_rates_move():
    """Figures follow the appliance: the rate, the time it runs, the history."""
    with evbtest.Workspace() as work:
        _, process = running(work)
        with Terminal(work) as terminal:  # the only one that runs here, or among others
            terminal.wait_for(r"evb top")
        with Terminal(work, process.name) as terminal:
            wait_for_rates(terminal)
            terminal.wait_until(lambda: 300 < events(terminal) < 700, "at 500 events/s")
            first, before = uptime(terminal), len(re.findall("[▁-█]", terminal.screen()))
            terminal.wait_until(lambda: uptime(terminal) > first, "later")
            terminal.wait_until(lambda: len(re.findall("[▁-█]", terminal.screen())) > before,
                                f"a longer history than {before} bars")
            process.signal(signal.SIGSTOP)
            terminal.wait_for(r"down since")
            process.signal(signal.SIGCONT)
            terminal.wait_until(lambda: "down since" not in terminal.screen(), "up again")
        process.drain()


def test_keys():
    with evbtest.Workspace() as work:
        _, process = running(work)
        with Terminal(work, process.name) as terminal:
            wait_for_rates(terminal)
            terminal.keys("5")
            terminal.wait_for(r"sources: 8, sorted by the worst")
            terminal.keys("s")
            terminal.wait_for(r"sorted by source")
            check_equal(re.findall(r"0x[0-9a-f]{4}", terminal.screen()),
                        [f"0x{number:04x}" for number in range(0x1001, 0x1009)], "sources")
            terminal.keys("r")
            terminal.wait_for(r"sorted by source, reversed")
            terminal.keys("/", "1004")
            terminal.wait_for(r"sources: 1,")
            terminal.keys("Escape")
            terminal.wait_for(r"sources: 8,")
            terminal.keys("h")
            terminal.wait_for(r"latency, p99: ")
            terminal.keys("?")
            terminal.wait_for(r"hold the screen")
            terminal.keys("0")
            terminal.wait_for(r"^events ")
            terminal.keys("p")
            terminal.wait_for(r"PAUSED")
            held, before = terminal.screen(), telemetry.summary(process.name)["events_complete"]
            process.wait_until(lambda: telemetry.summary(process.name)["events_complete"]
                               >= before + 4 * RATE * INTERVAL_S, "work for four looks")
            check_equal(terminal.screen(), held, "the screen while it is paused")
            terminal.keys("p")
            terminal.wait_until(lambda: terminal.screen() != held, "on after the pause")
        process.drain()


def test_resize():
    with evbtest.Workspace() as work:
        _, process = running(work)
        with Terminal(work, process.name) as terminal:
            wait_for_rates(terminal)
            for columns, rows in (*SIZES, (200, 60), (20, 5), (80, 24)):
                terminal.resize(columns, rows)
                terminal.wait_until(
                    lambda rows=rows: "q:quit" in terminal.screen().rstrip("\n").split("\n")[-1]
                    and len(terminal.screen().rstrip("\n").split("\n")) == rows,
                    f"filled at {columns}x{rows}")
                first = terminal.screen().split("\n")[0]
                check(first.startswith(" evb top"), f"title at {columns}x{rows}: {first!r}")
            wait_for_rates(terminal)
        process.drain()


def test_trouble_is_named():
    """The source that is silent stands first, with its mark."""
    with evbtest.Workspace() as work:
        configuration = appliance.generated(
            work, sources=8, count=0, writer=None, events={"deadline": "20ms"},
            generator={"rate": 300, "faults": {"silent_source": 0x1006}})
        process = work.run(configuration)
        with Terminal(work, process.name) as terminal:
            terminal.wait_for(r"^! 0x1006 +0 ")
            terminal.wait_for(r"!incomplete/s [1-9]")
            lines = terminal.screen().split("\n")
            sources = [line for line in lines if re.match(r"..0x", line)]
            check("0x1006" in sources[0], f"not the first: {sources}")
            check("sources" in lines[-2] + lines[-1], f"not in the last line: {lines}")
        check_equal(process.stop(), 0, "status of the appliance")


# --- several, dead, none -----------------------------------------------------------------------


def test_several_nodes():
    with evbtest.Workspace() as work:
        processes = [running(work)[1] for _ in range(2)]
        names = [process.name for process in processes]
        with Terminal(work, *names, "evbnobody") as terminal:
            for number, name in enumerate((*names, "evbnobody"), 1):
                terminal.wait_for(rf"evb top  {name}  {number}/3")
                terminal.keys("Tab")
            terminal.wait_for(rf"evb top  {names[0]}  1/3")
            terminal.wait_for(rf"^>  ?{names[0]} +running +[1-9]")
            terminal.wait_for(r"evbnobody +DOWN")
        with Terminal(work, columns=120, rows=40) as terminal:
            for name in names:
                terminal.wait_for(rf"^.. ?{name} +running")
        for process in processes:
            process.drain()


def test_death_and_return():
    with evbtest.Workspace() as work:
        configuration, process = running(work)
        with Terminal(work, process.name) as terminal:
            wait_for_rates(terminal)
            process.kill()
            terminal.wait_for(rf"down since \d\d:\d\d:\d\d: .*{process.name} crashed or was killed")
            terminal.wait_for(r"DIED")
            terminal.wait_for(r"^events ")  # what was last known stays
            again = work.run(configuration)
            terminal.wait_for(r"running 00:00:")
            wait_for_rates(terminal)
            screen = terminal.screen()
            check("down since" not in screen, f"still down:\n{screen}")
            check(not re.search(r" -[0-9]", screen), f"a negative rate:\n{screen}")
            again.drain()


def test_nobody():
    with evbtest.Workspace() as work:
        with Terminal(work, "evbnobody") as terminal:
            terminal.wait_for(r"no appliance evbnobody is running")
        with Terminal(work, environment={"RUNTIME_DIRECTORY": work.directory}) as terminal:
            terminal.wait_for(r"no appliance is running here; waiting for one")


# --- the terminal ------------------------------------------------------------------------------


def check_sane(terminal):
    terminal.wait_for(r"^ended with 0$")
    terminal.wait_until(lambda: terminal.has("after"), "through with stty")
    check_equal(terminal.file("after"), terminal.file("before"), "settings of the terminal")
    check_equal((terminal.state("alternate_on"), terminal.state("cursor_flag")), ("0", "1"),
                "alternate screen, cursor")
    check("evb top" not in terminal.screen(), f"rests on the screen:\n{terminal.screen()}")


def test_quit_leaves_the_terminal_sane():
    with evbtest.Workspace() as work:
        _, process = running(work)
        for key in ("q", "C-c"):
            with Terminal(work, process.name) as terminal:
                wait_for_rates(terminal)
                check_equal(terminal.state("alternate_on"), "1", "alternate screen")
                terminal.keys(key)
                check_sane(terminal)
        process.drain()


def test_terminals_of_old():
    """No colours, no Unicode, and the same is told."""
    with evbtest.Workspace() as work:
        _, process = running(work)
        for environment, arguments in (({"TERM": "vt100", "LC_ALL": "C"}, ()),
                                       ({"NO_COLOR": "1"}, ("--ascii",))):
            with Terminal(work, *arguments, process.name, environment=environment) as terminal:
                wait_for_rates(terminal)
                screen = terminal.screen("-e")
                check(screen.isascii(), f"more than ASCII on {environment}:\n{screen}")
                check(not re.search(r"\x1b\[[0-9;]*3[0-7]m", screen), f"colours:\n{screen!r}")
                terminal.wait_for(r"^slots +[#!.]+ +\d+ of \d+ free")
        with Terminal(work, process.name) as terminal:
            wait_for_rates(terminal)
            check(re.search(r"\x1b\[[0-9;]*3[0-7]m", terminal.screen("-e")), "no colours at all")
        process.drain()


def test_what_is_no_terminal():
    with evbtest.Workspace() as work:
        process = work.evb("top")
        check_equal((process.status, process.errors()),
                    (1, "evb top: needs a terminal; for scripts there is evb stat"), "refusal")
        with Terminal(work, environment={"TERM": "no-such-terminal"}) as terminal:
            terminal.wait_for(r"evb top: this terminal is not known: set TERM")
            terminal.wait_for(r"^ended with 1$")
        for arguments in (("--interval", "1ms"), ("--interval", "soon"), ("--nonsense",)):
            check_equal(work.evb("top", *arguments).status, 1, f"status with {arguments}")


if __name__ == "__main__":
    if shutil.which("tmux") is None:
        print("skip: tmux is not installed")
        raise SystemExit(evbtest.EXIT_SKIP)
    evbtest.main()

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What the functional tests share: a small runner, a workspace that cleans up, the program under
test.

A test file is a script: functions test_* are run in their order by main(). Each prints one line.
Exit status: 0 all passed, 1 a failure, 77 all skipped.

Environment:
    EVB_BINARY         the program under test; <repository>/build/evb without it
    EVB_SHARED         folder with real data; <repository>/../shared without it
    EVB_KEEP           set: temporary folders are kept, and told
"""

import atexit
import contextlib
import ctypes
import glob
import inspect
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SHARED = os.environ.get("EVB_SHARED", os.path.join(REPOSITORY, "..", "shared"))
EXIT_SKIP = 77

# Patience for what is expected to happen at once; it only bounds how long a failure takes.
PATIENCE_S = 60.0
# Tests that have a longer form take it.
LONG = any(os.environ.get(name) for name in ("EVB_LONG_TESTS", "EVB_TEST_IMAGE"))

# The C library fills what the program under test frees, so that a later use of it shows. Meson's
# tests have that in general, but Python, browsers and dissectors become three times slower by it.
FILL_FREED = {"MALLOC_PERTURB_": "165"}

# Of DPDK's drivers those that the tests' ports have. It loads all that are installed, 190 libraries
# with what they need: 50 ms of CPU time at each start of evb. What runs from a shell (the manual's
# commands) has them all.
_DRIVERS = ("bus_pci", "bus_vdev", "mempool_ring", "net_af_packet", "net_af_xdp", "net_memif",
            "net_pcap", "net_ring")

_PR_SET_PDEATHSIG = 1
_CLONE_NEWNS = 0x20000
_MS_BIND, _MS_REC, _MS_SLAVE = 0x1000, 0x4000, 0x80000
_libc = ctypes.CDLL(None, use_errno=True)


# --- the runner --------------------------------------------------------------------------------


class Skip(Exception):
    """The machine lacks what the test needs."""


class Failure(AssertionError):
    """What the test saw is not what it expects."""


def skip(reason):
    raise Skip(reason)


def check(condition, message):
    if not condition:
        raise Failure(message)


def wait_until(predicate, what, timeout=PATIENCE_S, shown=lambda: ""):
    """Polls the predicate until it is true, and returns what it gave; shown() is added to the
    failure."""
    end = time.monotonic() + timeout
    while not (found := predicate()):
        check(time.monotonic() < end, f"not in {timeout} s: {what}\n{shown()}")
        time.sleep(0.02)
    return found


def check_equal(found, expected, what):
    if found != expected:
        raise Failure(f"{what}: found {found!r}, expected {expected!r}")


def _cpu_seconds():
    """Of this process and of the children that have ended."""
    times = os.times()
    return sum(times[:4])


def _run_one(name, function):
    start, used = time.monotonic(), _cpu_seconds()
    try:
        function()
    except Skip as reason:
        print(f"skip: {name}: {reason}", flush=True)
        return EXIT_SKIP
    except Exception as error:
        if not isinstance(error, Failure):
            traceback.print_exc()
        print(f"FAIL: {name}: {error}", flush=True)
        return 1
    print(f"ok: {name} ({time.monotonic() - start:.1f} s, {_cpu_seconds() - used:.1f} s of CPU)", flush=True)
    return 0


def _use_own_runtime_directory():
    """Appliances of other tests, which run at the same time, are not seen here, nor ours there."""
    directory = tempfile.mkdtemp(prefix="evb-runtime-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    os.environ["RUNTIME_DIRECTORY"] = directory


class _FewDrivers:
    """A folder with copies of few of DPDK's drivers, which a process can have in the place of all."""

    def __init__(self):
        self._installed = glob.glob("/usr/lib/*/dpdk/pmds-*")
        self._copies = None

    def copy(self):
        if os.geteuid() != 0 or len(self._installed) != 1:
            return
        copies = tempfile.mkdtemp(prefix="evb-drivers-")
        atexit.register(shutil.rmtree, copies, ignore_errors=True)
        os.chmod(copies, 0o755)
        for driver in _DRIVERS:
            for path in glob.glob(os.path.join(self._installed[0], f"librte_{driver}.so.*")):
                shutil.copy2(path, copies, follow_symlinks=False)
        self._copies = copies

    def take(self):
        """In a child process: it and its children see them alone, others still see all."""
        if self._copies and _libc.unshare(_CLONE_NEWNS) == 0:
            _libc.mount(b"none", b"/", None, _MS_REC | _MS_SLAVE, None)
            _libc.mount(os.fsencode(self._copies), os.fsencode(self._installed[0]), None, _MS_BIND,
                        None)


_few_drivers = _FewDrivers()


def main():
    """Runs the caller's test functions, or those named on the command line, and exits."""
    module = inspect.getmodule(inspect.stack()[1].frame)
    tests = {name: value for name, value in vars(module).items()
             if name.startswith("test_") and inspect.isfunction(value)}
    names = sys.argv[1:] or list(tests)
    unknown = [name for name in names if name not in tests]
    if unknown:
        sys.exit(f"no such test: {', '.join(unknown)}; there are: {', '.join(tests)}")
    _use_own_runtime_directory()
    _few_drivers.copy()
    # A runner that gives up on us sends SIGTERM: leave through the clean-up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    outcomes = [_run_one(name, tests[name]) for name in names]
    if all(outcome == EXIT_SKIP for outcome in outcomes):
        sys.exit(EXIT_SKIP)
    sys.exit(1 if 1 in outcomes else 0)


# --- the program under test --------------------------------------------------------------------


def binary():
    """Path of the program under test; skips where none is named and none is built."""
    path = os.environ.get("EVB_BINARY")
    if path:
        check(os.access(path, os.X_OK), f"EVB_BINARY: {path} is no program")
        return path
    path = os.path.join(REPOSITORY, "build", "evb")
    if not os.access(path, os.X_OK):
        skip(f"{path} is not built")
    return path


def program(name):
    """Path of a program that the build makes for these tests; EVB_NAME in the environment, or where
    the build leaves it."""
    path = os.environ.get(f"EVB_{name.upper()}") or os.path.join(
        os.path.dirname(binary()), "tests", "functional", name)
    if not os.access(path, os.X_OK):
        skip(f"{path} is not built")
    return path


def is_sanitized(path=None):
    """True if the program was built with a sanitizer, that is, runs several times slower."""
    with open(path or binary(), "rb") as program:
        return b"__asan_init" in program.read()


def shared_file(name):
    path = os.path.join(SHARED, name)
    if not os.path.exists(path):
        skip(f"{path} is not there")
    return path


def need_root():
    if os.geteuid() != 0:
        skip("needs root for network namespaces")


# --- the workspace -----------------------------------------------------------------------------


def hugetlbfs_mounts():
    with open("/proc/mounts", encoding="ascii", errors="replace") as mounts:
        return [line.split()[1] for line in mounts if line.split()[2] == "hugetlbfs"]


def _runtime_base():
    if os.environ.get("RUNTIME_DIRECTORY"):
        return os.environ["RUNTIME_DIRECTORY"]
    return "/var/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR") or "/tmp"


def runtime_directory():
    """Where DPDK keeps the folders of its processes."""
    return os.path.join(_runtime_base(), "dpdk")


def control_socket(name):
    """The control socket of an appliance."""
    return os.path.join(_runtime_base(), "evb", f"{name}.ctl")


def leftovers(name):
    """Files that an appliance of this name has in shared memory."""
    folders = ["/dev/shm", *hugetlbfs_mounts()]
    return [path for folder in folders
            for path in glob.glob(os.path.join(folder, f"*{glob.escape(name)}*"))]


class Fixture:
    """Context manager: what _make() makes goes with self._stack, also if _make() fails halfway."""

    def __init__(self):
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        try:
            self._make()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _make(self):
        raise NotImplementedError


class Workspace:
    """A temporary folder, names for appliances, and the end of everything started in it."""

    _numbers = itertools.count(1)

    def __init__(self):
        self._stack = contextlib.ExitStack()
        self._names = []
        self._outputs = itertools.count(1)
        self.directory = tempfile.mkdtemp(prefix="evb-test-")

    def __enter__(self):
        atexit.register(self.close)
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._stack.close()
        for name in self._names:
            for path in leftovers(name):
                if os.path.isdir(path):
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    with contextlib.suppress(OSError):
                        os.unlink(path)
            shutil.rmtree(os.path.join(runtime_directory(), f"evb-{name}"), ignore_errors=True)
            with contextlib.suppress(OSError):
                os.unlink(control_socket(name))
        if os.environ.get("EVB_KEEP"):
            print(f"kept: {self.directory}", flush=True)
        else:
            shutil.rmtree(self.directory, ignore_errors=True)
        atexit.unregister(self.close)

    def enter(self, context):
        """Enters a context that is left with the workspace, last in first out."""
        return self._stack.enter_context(context)

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def folder(self, name):
        path = self.path(name)
        os.makedirs(path, exist_ok=True)
        return path

    def name(self):
        """A new appliance name that no other process uses."""
        name = f"t{os.getpid()}-{next(self._numbers)}"
        self._names.append(name)
        return name

    def write(self, name, text):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text if isinstance(text, str) else json.dumps(text, indent=1))
        return path

    def start(self, *arguments, **options):
        return self.enter(Process(self, *arguments, **options))

    def evb(self, *arguments, **options):
        """Runs `evb` to its end."""
        return self.start(binary(), *arguments, **options).finish()

    def verify(self, path):
        """Whether `evb dump` finds a file of generated events sound, payloads included."""
        process = self.evb("dump", path, "--verify", "--payload", "generated")
        check(process.status in (0, 1) and "payloads checked" in process.output(),
              f"not verified by {process.describe()}")
        return process.status == 0

    def run(self, configuration, *arguments, **options):
        """Starts `evb run` on a configuration (dict) and waits until it is running."""
        number = next(self._outputs)
        file = self.write(f"evb{number}.json", configuration)
        summary = self.path(f"summary{number}.json")
        process = self.start(binary(), "run", file, "--summary", summary, *arguments,
                             summary=summary, name=configuration["name"], **options)
        process.wait_for_line("running")
        return process


# --- processes ---------------------------------------------------------------------------------


class Process:
    """A child process whose output is kept. It dies with the workspace, or with the test. listens: it
    takes what say() says. all_drivers: if it is evb, it sees all of DPDK's drivers that are
    installed."""

    def __init__(self, workspace, *arguments, namespace=None, summary=None, name=None,
                 environment=None, listens=False, all_drivers=False):
        self.arguments = arguments
        self.name = name
        self.summary_file = summary
        self.lines = []
        self._changed = threading.Condition()
        self._popen = subprocess.Popen(
            arguments, stdin=subprocess.PIPE if listens else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=workspace.directory,
            env={**os.environ, **(FILL_FREED if arguments[0] == binary() else {}),
                 **(environment or {})},
            preexec_fn=lambda: self._prepare(namespace, binary() in arguments and not all_drivers))
        self.pid = self._popen.pid
        self._errors = []
        self._readers = [
            threading.Thread(target=self._read, args=(stream, lines), daemon=True)
            for stream, lines in ((self._popen.stdout, self.lines),
                                  (self._popen.stderr, self._errors))]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _prepare(namespace, few_drivers):
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if namespace:
            namespace.join()
        if few_drivers:
            _few_drivers.take()

    def _read(self, stream, lines):
        for line in stream:
            with self._changed:
                lines.append(line.decode(errors="replace").rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()
        stream.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.running():
            self.kill()

    def running(self):
        return self._popen.poll() is None

    def say(self, text):
        """To its standard input."""
        self._popen.stdin.write(text.encode())
        self._popen.stdin.flush()

    def close_input(self):
        self._popen.stdin.close()

    def output(self):
        return "\n".join(self.lines)

    def errors(self):
        return "\n".join(self._errors)

    def complaints(self):
        """The lines of errors but for the one that reports how the run ended."""
        return [line for line in self._errors if "the sources ended the run: " not in line]

    def describe(self):
        shown = "\n".join(self.lines[-20:] + self._errors[:20])
        return f"`{' '.join(self.arguments)}` (status {self._popen.poll()}):\n{shown}"

    def wait_for_line(self, text, timeout=PATIENCE_S):
        """Waits for a line of the standard output that contains the text, and returns it."""
        end = time.monotonic() + timeout
        with self._changed:
            while True:
                for line in self.lines:
                    if text in line:
                        return line
                ended = not any(reader.is_alive() for reader in self._readers)
                if ended or time.monotonic() > end:
                    raise Failure(f"no line with {text!r} from {self.describe()}")
                self._changed.wait(0.2)

    def wait_until(self, predicate, what, timeout=PATIENCE_S):
        """Polls the predicate until it is true, as long as the process runs."""
        end = time.monotonic() + timeout
        while not predicate():
            check(self.running(), f"ended before {what}: {self.describe()}")
            check(time.monotonic() < end, f"not in {timeout} s: {what}: {self.describe()}")
            time.sleep(0.05)

    def suspend(self):
        """Stops it (SIGSTOP), and returns when all its threads stand still."""
        self.signal(signal.SIGSTOP)
        self.wait_until(lambda: all(state == "T" for state in self._states()), "it has stopped")

    def _states(self):
        for path in glob.glob(f"/proc/{self.pid}/task/*/stat"):
            with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
                yield file.read().rpartition(")")[2].split()[0]

    def signal(self, number):
        self._popen.send_signal(number)

    def kill_children(self):
        for path in glob.glob("/proc/[0-9]*/stat"):
            with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == self.pid:
                    os.kill(int(path.split("/")[2]), signal.SIGKILL)

    def begin_kill(self, leaves_will=True):
        """SIGKILL. Without a last will, as when its machine loses its power, whoever would send that
        is killed first."""
        if not leaves_will:
            self.kill_children()
        self.signal(signal.SIGKILL)

    def kill(self, leaves_will=True):
        self.begin_kill(leaves_will)
        return self.finish()

    def stop(self, timeout=PATIENCE_S):
        """Asks for the drain and waits for the end. Returns the exit status."""
        self.signal(signal.SIGTERM)
        return self.finish(timeout).status

    def finish(self, timeout=PATIENCE_S):
        """Waits for the end; kills and fails if that takes too long."""
        try:
            self._popen.wait(timeout)
        except subprocess.TimeoutExpired as expired:
            self._popen.kill()
            self._popen.wait()
            raise Failure(f"still running after {timeout} s: {self.describe()}") from expired
        for reader in self._readers:
            reader.join(PATIENCE_S)
        return self

    @property
    def status(self):
        """Exit status, negative for a signal."""
        return self._popen.returncode

    def summary(self):
        check(os.path.exists(self.summary_file), f"no summary written by {self.describe()}")
        with open(self.summary_file, encoding="utf-8") as file:
            return json.load(file)

    def end(self, expected_status=0, timeout=PATIENCE_S):
        """Waits for the end by itself and returns the summary."""
        self.finish(timeout)
        check_equal(self.status, expected_status, f"status of {self.describe()}")
        return self.summary()

    def drain(self, expected_status=0):
        """Stops by SIGTERM and returns the summary."""
        check_equal(self.stop(), expected_status, f"status of {self.describe()}")
        return self.summary()

    def cpu_seconds(self):
        """CPU time that it has taken until now."""
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmRSS"].split()[0]) * 1024


# --- what holds for every run ------------------------------------------------------------------


def check_identities(summary, missed=0):
    """Conservation at the end of a run: each packet, segment and event counted exactly once, in sum
    and per source; as many missed by the ports as said, none left open."""
    packets, segments = summary["packets"], summary["segments"]
    kinds = packets.keys() - {"received", "bytes", "missed", "checksums_unfinished", "dropped"}
    local = segments["local"]
    counted = {**{kind: packets[kind] for kind in kinds}, **packets["dropped"],
               "segments": segments["received"] - local - segments["bundled"]}
    check_equal(sum(counted.values()), packets["received"], f"sum of packets by kind {counted}")
    check_equal(segments["placed"] + sum(segments["dropped"].values()), segments["received"],
                f"sum of segments by fate {segments}")
    check_equal(packets["missed"], missed, "packets that the ports missed")
    events = summary["events"]
    fates = {fate: events[fate] for fate in ("complete", "incomplete", "discarded", "ends_of_run")}
    check_equal(events["open"], 0, "open events")
    check_equal(sum(fates.values()), events["opened"], f"sum of events by fate {fates}")
    sources = summary["sources"]["list"]
    for source in sources:
        # Those of this process do not come over a port.
        if source["segments"] or not local:
            check_equal(source["placed"] + source["dropped"], source["segments"],
                        f"segments of source {source['id']}")
    check_equal(sum(source["placed"] for source in sources), segments["placed"],
                "segments placed, summed over sources")
    for group in summary.get("decisions", []):
        fates = {fate: group[fate] for fate in ("accepted", "rejected", "undecided", "held")}
        check_equal(sum(fates.values()), group["published"], f"sum of decisions by fate {fates}")


def drops(summary):
    """All causes that counted, packets' and segments' together."""
    return {cause: count for kind in ("packets", "segments")
            for cause, count in summary[kind]["dropped"].items() if count}

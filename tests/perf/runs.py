# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""One measurement after the other: native tools, the program under load, repetitions, tables."""

import collections
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time

import evbtest
import machine
import telemetry

MIB = machine.MIB
UDP_HEADERS = 28  # IPv4 and UDP
RE_SIZE = 20

# What a Column is printed as: title, unit and the factor from the unit of the JSON.
UNITS = {
    "bytes/s": ("GB/s", 1e-9),
    "Mb/s": ("Mb/s", 8e-6),  # of bytes/s
    "Gb/s": ("Gb/s", 8e-9),  # of bytes/s
    "MB": ("MB", 1e-6),  # of bytes
    "packets/s": ("M/s", 1e-6),
    "events/s": ("k/s", 1e-3),
    "ns": ("ns", 1),
    "us": ("us", 1e-3),  # of ns
    "ms": ("ms", 1e-6),  # of ns
    "s": ("s", 1),
    "/s": ("/s", 1),
    "share": ("%", 100),
    "": ("", 1),
}
Column = collections.namedtuple("Column", "key title unit")


class Unavailable(Exception):
    """This machine cannot do the measurement."""


# --- loads --------------------------------------------------------------------------------------


def _padded(size, unit):
    return -(-size // unit) * unit


class Load(collections.namedtuple("Load", "mtu sources packing fragment")):
    """What sources send: fragments of so many bytes, `packing` in an MFP, in packets of `mtu`."""

    @classmethod
    def of(cls, mtu=9000, mfp=200_000, sources=40, fragment=200):
        """The load whose MFPs come to about so many bytes."""
        return cls(mtu, sources, max(1, round(mfp / fragment)), fragment)

    @property
    def payload(self):
        """Bytes of data in a full segment."""
        return self.mtu - UDP_HEADERS - RE_SIZE

    @property
    def mfp_bytes(self):
        return (20 + _padded(self.packing, 4) + _padded(2 * self.packing, 4) +
                self.packing * _padded(self.fragment, 4))

    @property
    def segments(self):
        """Of an event."""
        return self.sources * -(-self.mfp_bytes // self.payload)

    @property
    def event_bytes(self):
        return self.sources * self.mfp_bytes

    @property
    def slot_bytes(self):
        """Room for the built event: header, and each MFP padded."""
        return _padded(self.event_bytes + self.sources * 16 + 4096, 4096)

    def describe(self):
        return {"segment": self.mtu, "mfp_bytes": self.mfp_bytes, "sources": self.sources,
                "fragment_bytes": self.fragment, "packing": self.packing}


def slots_for(load, wanted_bytes=256 * MIB, least=3):
    """So many slots that together they are in no cache."""
    return max(least, min(4096, wanted_bytes // load.slot_bytes))


def variants_for(load, wanted_bytes=256 * MIB):
    """So many different MFPs a source that together they are in no cache, as far as 1024 suffice."""
    return max(1, min(1024, -(-wanted_bytes // load.event_bytes)))


def memory_of(load, slots, variants):
    """Bytes that a process with generator and builder takes, as evb itself plans them or more."""
    packets = variants * load.event_bytes + 40 * MIB
    return packets * 5 // 4 + 64 * MIB + slots * load.slot_bytes


# --- the program --------------------------------------------------------------------------------


def configuration(name, load, roles, slots, idle="poll", generator=None, port=None, **changes):
    """roles: {CPU: [roles]}. Generator `boards`, port `wire`, builder `b0`, as far as roles name
    them."""
    named = {role.split(".")[0] for listed in roles.values() for role in listed}
    builders = sorted({role.split(".")[1] for listed in roles.values() for role in listed
                       if role.startswith("builder.")})
    result = {
        "name": name,
        "ports": [{"name": "wire", "profile": "ring", "mtu": load.mtu, "address": "10.0.0.1/24",
                   **(port or {})}],
        "sources": {"ids": [f"1-{load.sources}"], "packing": load.packing},
        "events": {"deadline": "2s"},
        "lcores": [{"cpu": cpu, "roles": listed} for cpu, listed in roles.items()],
        "idle": {"policy": idle},
    }
    if builders:
        result["builders"] = [{"name": builder, "slots": slots, "slot_size": load.slot_bytes}
                              for builder in builders]
    if "source" in named:
        result["generators"] = [{
            "name": "boards", "port": "wire", "size": {"law": "fixed", "mean": load.fragment},
            "destination": {"address": "10.0.0.1"}, **(generator or {})}]
    for key, value in changes.items():
        result[key] = {**result.get(key, {}), **value} if isinstance(value, dict) else value
    return result


class Sample:
    """What an appliance has counted at one moment."""

    def __init__(self, client, config):
        self.time = time.monotonic()
        self.summary = client.query("/evb/summary")
        self.roles = {role: client.query("/evb/role/info", role)
                      for lcore in config["lcores"] for role in lcore["roles"]}
        self.lcores = [client.query("/evb/lcore/info", str(1 + index))
                       for index in range(len(config["lcores"]))]


_CYCLES = ("busy_cycles", "idle_cycles", "backpressured_cycles")


def _grown(before, after, keys):
    return sum(after[key] - before[key] for key in keys)


def _receiving_cycles(before, after, config):
    """Cycles of the roles that receive and build while they worked, the loop around them and
    housekeeping included; those of generators on the same lcores are not."""
    cycles = 0
    for index, lcore in enumerate(config["lcores"]):
        receiving = [role for role in lcore["roles"] if not role.startswith("source.")]
        if not receiving:
            continue
        inside = sum(_grown(before.roles[role], after.roles[role], _CYCLES)
                     for role in lcore["roles"])
        outside = _grown(before.lcores[index], after.lcores[index], ("busy_cycles",)) - inside
        cycles += max(0, outside)
        cycles += sum(_grown(before.roles[role], after.roles[role], ("busy_cycles",))
                      for role in receiving)
    return cycles


def rates(before, after, config):
    """What happened between two samples, a second; costs in ns a segment."""
    seconds = after.time - before.time

    def per_second(key):
        return (after.summary[key] - before.summary[key]) / seconds

    # The lcores' own sum of time is the clock that their cycles are told by.
    hertz = _grown(before.lcores[0], after.lcores[0], _CYCLES) / seconds
    placed = after.summary["segments_placed"] - before.summary["segments_placed"]
    cycles = _receiving_cycles(before, after, config)
    result = {
        "seconds": seconds,
        "built": per_second("segments_placed_bytes"),
        "segments": per_second("segments_placed"),
        "events": per_second("events_complete"),
        "sent_events": per_second("sent_events"),
    }
    if placed > 0 and cycles > 0:
        result["per_cpu"] = result["built"] * seconds * hertz / cycles
        result["ns_receiving"] = cycles / hertz / placed * 1e9
    for name, info in after.roles.items():
        busy = _grown(before.roles[name], info, ("busy_cycles",))
        key = f"ns_{name.split('.')[0]}"
        if placed > 0:
            result[key] = result.get(key, 0) + busy / hertz / placed * 1e9
    for lcore_before, lcore in zip(before.lcores, after.lcores):
        key = f"load_cpu_{lcore['cpu']}"
        result[key] = (_grown(lcore_before, lcore, ("busy_cycles",)) /
                       max(1, _grown(lcore_before, lcore, _CYCLES)))
    return result


def losses(summary):
    """Everything that a run lost, by its final account."""
    return {cause: count for cause, count in {
        **summary["packets"]["dropped"], **summary["segments"]["dropped"],
        "missed": summary["packets"]["missed"], "incomplete": summary["events"]["incomplete"],
        "discarded": summary["events"]["discarded"]}.items() if count}


class Running:
    """Context manager: an appliance under measurement."""

    def __init__(self, work, config, namespace=None):
        self._work = work
        self._config = config
        self._namespace = namespace
        self._client = None
        self.process = None

    def __enter__(self):
        self.process = self._work.run(self._config, namespace=self._namespace)
        self._client = telemetry.Telemetry(self._config["name"])
        self._client.__enter__()
        return self

    def __exit__(self, *_):
        self._client.__exit__()

    def sample(self):
        return Sample(self._client, self._config)

    def measure(self, warmup, window):
        time.sleep(warmup)
        before = self.sample()
        time.sleep(window)
        return rates(before, self.sample(), self._config)

    def query(self, command, *parameters):
        return self._client.query(command, *parameters)

    def hugepages(self):
        """Whether packets and slots lie in hugepages, all of them."""
        first = self.process.output().splitlines()[0]
        rings = [part for part in first.split(", ") if part.startswith("/")]
        mounts = tuple(f"{mount}/" for mount in evbtest.hugetlbfs_mounts())
        return "packets in hugepages" in first and all(ring.startswith(mounts) for ring in rings)

    def cpu_share(self, seconds):
        """CPU time that the process takes, as a share of one CPU."""
        before, start = self.process.cpu_seconds(), time.monotonic()
        time.sleep(seconds)
        return (self.process.cpu_seconds() - before) / (time.monotonic() - start)


# --- the run as a whole -------------------------------------------------------------------------


class Bench:
    """What all suites share: how long, how often, on which CPUs, with which tools."""

    def __init__(self, build, quick, full, repetitions, settings=None, points=None,
                 peers=None):
        self.build = os.path.abspath(build)
        self.quick = quick
        self.full = full
        self.repetitions = repetitions or (2 if quick else 5)
        self.window = 0.4 if quick else 2.0
        self.warmup = 0.2 if quick else 0.5
        self.cold_bytes = 2 * max(machine.last_level_cache(), 32 * MIB) if quick else 256 * MIB
        self.cpus = machine.cpus()
        self.settings = settings or {}  # of the sweep of `farm`
        self.points = points  # file of its results
        self.peers = peers or {}  # {name: program of another event builder}
        self.stopped = False  # by the user: no other suite is begun
        self.failures = []
        self.hugepages = set()

    @property
    def first(self):
        """The CPU of what is measured."""
        return self.cpus[0]

    @property
    def second(self):
        """The CPU of what serves the measurement; the same where there is only one."""
        return self.cpus[min(1, len(self.cpus) - 1)]

    def need_two_cpus(self):
        if len(self.cpus) < 2:
            raise Unavailable("needs two CPUs")

    def need_memory(self, wanted):
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        available = int(fields["MemAvailable"].split()[0]) * 1024
        pages = int(fields["HugePages_Free"].split()[0])
        available += pages * int(fields["Hugepagesize"].split()[0]) * 1024
        if wanted > available * 0.8:
            raise Unavailable(f"needs {wanted / 1e9:.1f} GB of memory, {available / 1e9:.1f} are "
                              "free")

    def tool_path(self, name):
        return os.path.join(self.build, "tests", "perf", name)

    def tool(self, name, *arguments):
        """Runs a native tool to its end; its result."""
        command = [self.tool_path(name), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise evbtest.Failure(f"`{' '.join(command)}`: {done.stderr.strip()}")
        return self.note_hugepages(json.loads(done.stdout.splitlines()[-1]))

    def note_hugepages(self, result):
        if "hugepages" in result:
            self.hugepages.add(result["hugepages"])
        return result

    def start_tool(self, work, name, *arguments, namespace=None):
        return work.start(self.tool_path(name), *map(str, arguments), namespace=namespace)

    @staticmethod
    def finish_tool(process):
        """The result of a tool that ends by itself."""
        process.finish()
        if process.status != 0:
            raise evbtest.Failure(process.describe())
        return json.loads(process.lines[-1])

    @contextlib.contextmanager
    def running(self, work, config, namespace=None):
        with Running(work, config, namespace) as appliance:
            self.hugepages.add(appliance.hugepages())
            yield appliance

    # Samples of telemetry, taken at both ends of the window, need the consumer's CPU for some
    # milliseconds: it leaves them out.
    def consumer(self, work, name, touch="all", wait="sleep", warmup=None):
        margin = self.window / 10
        process = self.start_tool(work, "consumer", name, "--group", "bench", "--touch", touch,
                                  "--wait", wait, "--cpu", self.second, "--warmup",
                                  self.warmup + margin if warmup is None else warmup,
                                  "--window", self.window - 3 * margin)
        process.wait_for_line("joined")
        return process

    # The bounds, each in the same run as what they bound.

    def copy_bound(self, blocks, cpus=None):
        """{block size: {order: {kernel: bytes/s}}}"""
        cpus = cpus or [self.first]
        result = self.tool("copy_bound", "--block", ",".join(map(str, blocks)), "--cpus",
                           ",".join(map(str, cpus)), "--size", self.cold_bytes, "--seconds",
                           min(0.3, self.window / 4))
        return {block["block"]: block for block in result["blocks"]}

    @staticmethod
    def best_copy(bound, order="random"):
        return max(bound[order]["memcpy"], bound[order]["rte_memcpy"])

    def ring_hop(self):
        cpus = [self.first] + ([self.second] if self.second != self.first else [])
        return self.tool("ring_hop", "--cpus", ",".join(map(str, cpus)), "--seconds",
                         min(0.3, self.window / 4))

    def rx_bound(self, profile, mtu):
        return self.tool("rx_bound", "--profile", profile, "--mtu", mtu, "--cpu", self.first,
                         "--seconds", min(0.3, self.window / 4))

    # Repetitions.

    def interleave(self, experiments):
        """experiments: {name: function}. Runs them in turn, A B C A B C ..., and returns
        ({name: [result, ...]}, {name: why there is none})."""
        found, missing = {name: [] for name in experiments}, {}
        for number in range(self.repetitions):
            for name, run in experiments.items():
                if name in missing:
                    continue
                progress(f"round {number + 1} of {self.repetitions}: {name}")
                try:
                    found[name].append(run())
                except (Unavailable, evbtest.Skip) as reason:
                    missing[name] = str(reason)
                except evbtest.Failure as failure:
                    missing[name] = "failed: " + str(failure).splitlines()[0]
                    self.failures.append(f"{name}: {failure}")
        progress("")
        return found, missing


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def figure(values, unit):
    """Median and spread of repetitions."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values),
            "values": values, "unit": {"us": "ns", "ms": "ns", "Mb/s": "bytes/s"}.get(unit, unit)}


class Target(collections.namedtuple("Target", "text key holds every", defaults=(False,))):
    """What a row is to reach. holds: of a value, whether it does; every: each repetition must,
    else their median."""

    def reached(self, figures):
        found = figures.get(self.key)
        if found is None:
            return False
        return all(map(self.holds, found["values"] if self.every else [found["median"]]))


class Table:
    """Rows of figures, for people and as JSON."""

    def __init__(self, title, columns, notes=()):
        self.title = title
        self.columns = [Column(*column) for column in columns]
        self.notes = list(notes)
        self.rows = []

    def add(self, name, results, conditions=None, missing=None, targets=()):
        """results: one {key: number} a repetition."""
        row = {"name": name, "conditions": conditions or {}, "figures": {}}
        for column in self.columns:
            values = [result[column.key] for result in results
                      if result.get(column.key) is not None]
            if values:
                row["figures"][column.key] = figure(values, column.unit)
        if missing is not None or not row["figures"]:
            row["missing"] = missing or "nothing was measured"
        elif targets:
            row["targets"] = [{"text": target.text, "reached": target.reached(row["figures"])}
                              for target in targets]
        self.rows.append(row)

    def as_json(self):
        return {"title": self.title, "notes": self.notes, "rows": self.rows}

    @staticmethod
    def _cell(found, unit):
        factor = UNITS[unit][1]

        def show(value):
            value *= factor
            return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"

        text = show(found["median"])
        if len(found["values"]) > 1:
            text += f" ({show(found['min'])}..{show(found['max'])})"
        return text

    @staticmethod
    def _verdict(row):
        """The targets of a row: all reached, or which are not."""
        targets = row.get("targets", ())
        missed = [target["text"] for target in targets if not target["reached"]]
        if missed:
            return "MISSED: " + "; ".join(missed)
        return "reached: " + "; ".join(target["text"] for target in targets) if targets else ""

    def print(self, out):
        heads = [""] + [f"{column.title} {UNITS[column.unit][0]}".strip()
                        for column in self.columns]
        judged = any("targets" in row for row in self.rows)
        lines = []
        for row in self.rows:
            cells = [self._cell(row["figures"][column.key], column.unit)
                     if column.key in row["figures"] else "-" for column in self.columns]
            lines.append([row["name"], *cells])
        widths = [max(map(len, column)) for column in zip(heads, *lines)]
        print(f"\n{self.title}", file=out)
        verdicts = ["target" if judged else "", *map(self._verdict, self.rows)]
        for line, verdict in zip([heads, *lines], verdicts):
            cells = [line[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
            print("  ".join([*cells, verdict]).rstrip(), file=out)
        for row in self.rows:
            if "missing" in row:
                print(f"not measured: {row['name']}: {row['missing']}", file=out)
        for note in self.notes:
            print(f"note: {note}", file=out)
        out.flush()

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Data that come in spills, through links that carry the mean and 20 %.

A process fills a producer ring as an accelerator's spills do; its readout node sends to a builder
at the rate that grants allow. What the ring holds, and when it is empty again, is compared with
what `evb check` says of the configuration.
"""

import collections
import re
import time

import cluster
import evbtest
import telemetry
from bottleneck import ahead_of_others
from runs import Table, Target
from suites_cluster import need_root

MARGIN = 1.2  # rate of the links over the mean
SOURCES, PACKING, FRAGMENT = 2, 10, 2496
BLOCK = 20 + 12 + 20 + PACKING * FRAGMENT
RING = "boards"
ABOVE_NS = 0.1e9  # time from sending to release, on a machine that does other work
PROBE = 1e9  # bit/s: links whose rate `evb check` is asked for first

# bytes, seconds, seconds; the ring's size
Spill = collections.namedtuple("Spill", "size duration period ring count")
FULL = Spill(250e6, 2.4, 15.0, 256 << 20, 3)
QUARTER = Spill(62.5e6, 0.6, 3.75, 64 << 20, 4)

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def _events(spill):
    return round(spill.size / BLOCK / SOURCES)


def _configuration(name, spill, link):
    def port(number):
        return {"name": "wire", "profile": "af_packet", "device": "eth1", "mtu": 9000,
                "address": f"10.79.0.{number}/24"}

    return {
        "name": name,
        "sources": {"ids": [f"1-{SOURCES}"], "packing": PACKING},
        "events": {"deadline": "2s", "drain_timeout": "5s"},
        "memory": {"kind": "shm"},
        "event_manager": {"heartbeat_timeout": "5s"},
        "nodes": [
            {"name": "m", "manager": True, "ports": [{**port(1), "link_rate": round(link)}],
             "builders": [{"name": "b", "slots": 64, "slot_size": "64KiB"}]},
            {"name": "r", "ports": [port(2)], "generators": [{
                "name": RING, "port": "wire", "ids": [f"1-{SOURCES}"], "kind": "producer",
                "producer": {"size": spill.ring, "max_block": "32KiB"},
                "spill": {"size": _events(spill) * SOURCES * BLOCK, "events": _events(spill),
                          "duration": f"{spill.duration}s", "period": f"{spill.period}s"}}]},
        ]}


def _foretold(work, configuration):
    """What `evb check` says of the spill: bytes, seconds, bytes/s."""
    process = work.evb("check", work.write("check.json", configuration), "--node", "r")
    evbtest.check(process.status == 0, process.describe())
    text = process.output()
    highest, unit = re.search(r"it fills up to ([\d.]+) (\w+)", text).groups()
    return {"highest": float(highest) * UNITS[unit],
            "empty": float(re.search(r"is gone ([\d.]+) s after", text).group(1)),
            "rate": float(re.search(r"the links carry ([\d.]+) MB/s", text).group(1)) * 1e6}


def _link_for(work, spill):
    """The link_rate at which the links carry the mean and the margin. The rate of data is
    proportional to it."""
    probe = _foretold(work, _configuration(work.name(), spill, PROBE))
    return PROBE * MARGIN * spill.size / spill.period / probe["rate"]


def _watch(client, tool):
    """[(time, bytes in the ring)] until the tool has ended and the ring is empty; the highest."""
    seen, highest = [], 0
    while True:
        info = client.query("/evb/readout/info", RING)
        seen.append((time.monotonic(), info["ring_used_bytes"]))
        highest = info["ring_highest_bytes"]
        if not tool.running() and seen[-1][1] == 0:
            return seen, highest
        time.sleep(0.01)


def _until_empty(seen, begin, end):
    """Seconds from the beginning of a spill to the first moment behind its end without data."""
    return next(moment for moment, used in seen if moment > end and used == 0) - begin


def _run(bench, spill):
    need_root()
    with ahead_of_others(), evbtest.Workspace() as work:
        configuration = _configuration(work.name(), spill, _link_for(work, spill))
        foretold = _foretold(work, configuration)
        with cluster.System(work, configuration) as system:
            system.start()
            with telemetry.Telemetry(f"{system.name}-r") as client:
                tool = bench.start_tool(
                    work, "spiller", "--appliance", f"{system.name}-r", "--ring", RING,
                    "--sources", SOURCES, "--packing", PACKING, "--fragment", FRAGMENT,
                    "--events", _events(spill), "--duration", spill.duration,
                    "--period", spill.period, "--spills", spill.count)
                seen, highest = _watch(client, tool)
            sent = bench.finish_tool(tool)
            summaries = system.end()
    built = summaries["m"]["events"]["complete"]
    empty = [_until_empty(seen, begin, end)
             for begin, end in zip(sent["begins"], sent["ends"])]
    late = max(end - begin - spill.duration for begin, end in zip(sent["begins"], sent["ends"]))
    return {"foretold": foretold["highest"], "highest": highest,
            "share": highest / foretold["highest"],
            "above": max(0, highest - foretold["highest"]) / foretold["rate"] * 1e9,
            "foretold_empty": foretold["empty"] * 1e9,
            "empty": max(empty) * 1e9, "rate": foretold["rate"], "full": sent["full"],
            "events": sent["blocks"] / SOURCES, "late": late * 1e9,
            "lost": sent["blocks"] / SOURCES - built}


def run_spill(bench):
    """Sub-suite `spill`."""
    cases = {"a quarter of it": QUARTER}
    if bench.quick:
        cases = {"a quarter of it": QUARTER._replace(count=2)}
    if bench.full:
        cases = {"250 MB in 2.4 s, each 15 s": FULL}
    found, missing = bench.interleave({name: lambda spill=spill: _run(bench, spill)
                                       for name, spill in cases.items()})
    table = Table("spill: 250 MB in 2.4 s, each 15 s, through the mean and 20 %", [
        ("foretold", "fill foretold", "MB"), ("highest", "highest", "MB"),
        ("share", "of foretold", "share"), ("above", "above", "ms"),
        ("foretold_empty", "empty foretold", "ms"),
        ("empty", "empty", "ms"), ("events", "events", ""), ("lost", "lost", ""),
        ("full", "ring full", ""), ("late", "late", "ms")], [
            "foretold: by evb check; the fill is an upper bound, with what a ring gives back later",
            "empty: after the beginning of a spill, of several the longest",
            "above: the fill over what was foretold, as time at the rate of the links: what is "
            "sent stays in the ring until its release",
            "late: the producer at the end of a spill; full: times that it found no room",
            "a quarter: of size, duration, period and ring; --full runs the spill in full size"])
    for name, spill in cases.items():
        table.add(name, found[name], {"size": spill.size, "duration": spill.duration,
                                      "period": spill.period, "spills": spill.count},
                  missing.get(name),
                  [Target("nothing lost", "lost", lambda lost: lost == 0, True),
                   Target("less than 0.1 s above", "above", lambda above: above < ABOVE_NS, True),
                   Target("the ring is never full", "full", lambda full: full == 0, True)])
    return [table]

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Systems of several nodes behind narrow links: many that send to one.

Nodes are processes in network namespaces, all on this machine: rates are those of the narrow links,
chosen far below what the machine can do.
"""

import contextlib
import os
import statistics
import time

import bottleneck
import evbtest
from bottleneck import Farm, Layout, ahead_of_others
from runs import Table, Target, Unavailable

# The prototype of 2009: retries a second of packets that a receiver had no room for, with its rules
# of scheduling and with them broken.
RETRIES_2009 = {"unshaped": 110_505.0, "shaped": 324.0}
# A builder without credits, measured elsewhere; Gb/s.
CREDITLESS = {"at its limit": 25.0, "at twice its limit": 2.9}

OFFERED = (0.5, 0.8, 1, 1.25, 1.5, 2, 3)
UTILISATION = 0.97  # share of the links that grants fill
GOODPUT = 0.95  # of the bottleneck, that complete events are to fill
FLAT = 0.95  # what is built at one load, of what is at another, both beyond what the link takes

NOTHING_LOST = Target("nothing lost", "lost", lambda lost: lost == 0, True)


def need_root():
    if os.geteuid() != 0:
        raise Unavailable("needs root for network namespaces")


@contextlib.contextmanager
def running(layout):
    need_root()
    with ahead_of_others(), evbtest.Workspace() as work, Farm(work, layout) as farm:
        farm.start()
        farm.work = work
        yield farm


def consumer_program(bench):
    return os.path.join(bench.build, "tests", "functional", "slow_consumer")


def shaped(mode="push", shaping="linear-shift", **more):
    return {"event_manager": {"mode": mode, "shaping": shaping, "target_utilisation": UTILISATION,
                              "parallel_sends": 8, "heartbeat": "100ms",
                              "heartbeat_timeout": "5s", **more}}


# --- incast -------------------------------------------------------------------------------------

INCAST = {
    "none": Layout(changes=shaped(shaping="none")),
    "linear shift, push": Layout(changes=shaped()),
    "linear shift, pull": Layout(changes=shaped("pull")),
    "linear shift, push, MTU 9000": Layout(mtu=9000, queue=250_000, changes=shaped()),
    "linear shift, push, 3 builders": Layout(builders=3, changes=shaped()),
}

REFERENCE_TARGETS = [Target("packets are lost", "lost", lambda lost: lost > 0, True)]
SHAPED_TARGETS = [
    NOTHING_LOST, Target("none incomplete", "incomplete", lambda rate: rate == 0, True),
    Target(f"goodput >= {GOODPUT:.0%}", "wire_share", lambda share: share >= GOODPUT)]


def _steady(bench, layout, farm, seconds):
    """Rates of the run once it goes on evenly."""
    farm.wait_for_events(5)
    time.sleep(bench.warmup)
    before = farm.sample()
    time.sleep(seconds)
    return bottleneck.rates(before, farm.sample(), layout)


def run_layout(bench, layout, windows=2):
    """What a layout does in a run of its own."""
    with running(layout) as farm:
        begin = farm.sending()
        result = _steady(bench, layout, farm, windows * bench.window)
        result["send_rate"] = bottleneck.send_rate(begin, farm.sending(), layout)
        # From the first packet of the run on.
        result["lost"] = sum(farm.link(node)["drops"] for node in farm.builders)
        farm.stop()
    return result


def _incast(bench):
    rows = dict(list(INCAST.items())[:2]) if bench.quick else INCAST
    # So long that one event more or less is little.
    found, missing = bench.interleave({name: lambda layout=layout: run_layout(bench, layout, 5)
                                       for name, layout in rows.items()})
    layout = INCAST["none"]
    table = Table(
        f"incast: {layout.readouts} sources to a builder behind {layout.link / 1e6:.0f} Mb/s and "
        f"a queue of {layout.queue // 1000} kB, events of {layout.event.payload // 1000} kB", [
            ("complete", "complete", "/s"), ("incomplete", "incomplete", "/s"),
            ("dropped", "lost packets", "/s"), ("lost", "in the whole run", ""),
            ("wire_share", "goodput", "share"), ("goodput_share", "without headers", "share"),
            ("control_share", "control", "share")], [
            "goodput: bytes of complete events on the wire, as a share of the bottleneck, which "
            "counts as Ethernet does: headers, preamble, FCS and gap. Packets of 1500 bytes carry "
            "94.4 % of payload, of 9000 bytes 99.0 %",
            f"grants fill {UTILISATION:.0%} of the link, with what control messages take",
            "a queue takes three packets of each node: with packets of 9000 bytes it has 250 kB",
            "lost packets are those that the bottleneck's queue had no room for"])
    for name, layout in rows.items():
        table.add(name, found[name], {"mtu": layout.mtu, "queue": layout.queue,
                                      "builders": layout.builders,
                                      "link_bits_per_second": layout.link}, missing.get(name),
                  REFERENCE_TARGETS if name == "none" else SHAPED_TARGETS)
    table.notes += factor_notes(found)
    return table


def factor_notes(found):
    """What is lost without shaping, beside what is lost with it."""
    none, with_it = found.get("none", []), found.get("linear shift, push", [])
    if not none or not with_it:
        return []
    lost = sum(one["dropped"] * one["seconds"] for one in with_it)
    seconds = sum(one["seconds"] for one in with_it)
    without = sorted(one["dropped"] for one in none)[len(none) // 2]
    factor = without * seconds / max(lost, 1)
    ratio = RETRIES_2009["unshaped"] / RETRIES_2009["shaped"]
    return [
        f"without shaping {without:.0f} packets a second are lost, with it {lost:.0f} in "
        f"{seconds:.0f} s: a factor of {'more than ' if lost == 0 else ''}{factor:.0f}",
        f"the 2009 prototype had {RETRIES_2009['unshaped']:.0f} retries a second unshaped and "
        f"{RETRIES_2009['shaped']:.0f} shaped, a factor of {ratio:.0f}; retries are not losses, so "
        "only the order of magnitude compares"]


# Events that fit into the bottleneck's queue: without pacing of sends they survive alone.
CURVE = {
    "linear shift, push": Layout(packing=25, changes=shaped()),
    "linear shift, pull": Layout(packing=100, changes=shaped("pull")),
    "none, the link's rate is known": Layout(packing=25, changes=shaped(shaping="none")),
    "none, it is not known": Layout(packing=25, told=False, changes=shaped(shaping="none")),
}


def _at_load(bench, layout, share):
    layout = Layout(**{**layout.__dict__, "rate": share * layout.capacity})
    return run_layout(bench, layout)


def flatness(rounds):
    """Of the medians of loads of 1 and more: the lowest over the highest. rounds: [{load: share}]"""
    past = [statistics.median(shares[load] for shares in rounds)
            for load in rounds[0] if load >= 1]
    return min(past) / max(past)


def _offered(bench):
    loads = (0.5, 1, 2) if bench.quick else OFFERED
    found, missing = bench.interleave({
        (name, load): lambda layout=layout, load=load: _at_load(bench, layout, load)
        for name, layout in CURVE.items() for load in loads})
    table = Table(
        "incast: goodput on the wire, in shares of the bottleneck, against the load",
        [*((str(load), f"{load:g} x", "share") for load in loads),
         ("flat", "lowest of highest median from 1 x on", "share"), ("lost", "lost packets", "")], [
            "the load is what the sources have, in units of what the bottleneck can carry; what "
            "cannot be granted waits in the sources",
            "link's rate not known: only credits hold grants back, 28 events of "
            f"{CURVE['none, it is not known'].event.payload // 1000} kB",
            f"a builder without credits, measured elsewhere, fell from {CREDITLESS['at its limit']}"
            f" to {CREDITLESS['at twice its limit']} Gb/s at twice its load"])
    for name, layout in CURVE.items():
        complete = min(len(found[(name, load)]) for load in loads)
        rounds = [{load: found[(name, load)][number] for load in loads}
                  for number in range(complete)]
        shares = [{load: one["wire_share"] for load, one in at.items()} for at in rounds]
        rows = [{**{str(load): share for load, share in one.items()}, "flat": flatness(shares),
                 "lost": sum(result["lost"] for result in at.values())}
                for one, at in zip(shares, rounds)]
        reasons = [missing[(name, load)] for load in loads if (name, load) in missing]
        table.add(name, rows,
                  {"event_bytes": layout.event.payload, "link_rate_told": layout.told},
                  "; ".join(reasons) or None,
                  [] if name.startswith("none") else
                  [NOTHING_LOST, Target(f"flat within {1 - FLAT:.0%}", "flat",
                                        lambda share: share >= FLAT)])
    return table


def run_incast(bench):
    """Sub-suite `incast`."""
    return [_incast(bench), _offered(bench)]

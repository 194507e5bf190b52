#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What the benchmarks compute from what they measure; and, given `smoke`, that they run."""

import io
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "functional"))

import bottleneck
import evbtest
import farm_points
import host_costs
import instructions
import machine
import peer_flesnet
import peer_lseb
import peer_spead2
import runs
import suites_cluster
import suites_curve
import suites_paths
import suites_peers
import suites_suspend
import wire_tap
from evbtest import check, check_equal


def test_load__sizes():
    load = runs.Load.of(mtu=9000, mfp=200_000, sources=40, fragment=200)
    check_equal(load.packing, 1000, "fragments in an MFP")
    check_equal(load.mfp_bytes, 20 + 1000 + 2000 + 200_000, "bytes of an MFP")
    check_equal(load.payload, 8952, "bytes of data in a segment")
    check_equal(load.segments, 40 * 23, "segments of an event")
    # Types, sizes and fragments are each padded to 4 bytes.
    check_equal(runs.Load(1500, 1, 3, 5).mfp_bytes, 20 + 4 + 8 + 3 * 8, "bytes with padding")


def test_fit__recovers_the_law():
    t0, rate = 2.5e-7, 8e9
    found = suites_curve.fit([(n, t0 + n / rate) for n in (64, 1000, 16_000, 1_000_000)])
    check(abs(found["t0"] / t0 - 1) < 1e-9, f"t0 {found['t0']}")
    check(abs(found["r"] / rate - 1) < 1e-9, f"r {found['r']}")
    check(abs(found["n_half"] - 2000) < 1e-6, f"n1/2 {found['n_half']}")
    check(found["r2"] > 1 - 1e-9, f"R2 {found['r2']}")


def test_fit__tells_what_is_no_line():
    found = suites_curve.fit([(1000, 1.0), (2000, 3.0), (3000, 1.0), (4000, 3.0)])
    check(found["r2"] < 0.9, f"R2 {found['r2']}")


def _path_with_capacity(capacity, sender):
    def measure(rate):
        sent = min(rate, sender)
        return {"sent_events": sent, "lost": int(sent > capacity)}

    return measure


def test_highest_rate__finds_the_capacity():
    best = suites_paths.highest_rate(_path_with_capacity(700, 2000), 1000, 10)
    check(690 < best["rate"] <= 700, f"rate {best['rate']}")


def test_highest_rate__lies_far_below_what_is_sent():
    best = suites_paths.highest_rate(_path_with_capacity(7, 2000), 1000, 8)
    check(6.8 < best["rate"] <= 7, f"rate {best['rate']}")


def test_highest_rate__is_bound_by_the_sender():
    best = suites_paths.highest_rate(_path_with_capacity(5000, 1000), 1000, 6)
    check(1000 <= best["rate"] <= 1000 / 0.98, f"rate {best['rate']}")


def test_highest_rate__may_not_exist():
    check_equal(suites_paths.highest_rate(_path_with_capacity(0, 2000), 1000, 6), None, "best")


class _Counted:
    """A sample of one lcore that ran for `cycles` at 1 GHz."""

    def __init__(self, seconds, placed, source, rx, builder, loop):
        self.time = seconds
        self.summary = {"segments_placed": placed, "segments_placed_bytes": placed * 1000,
                        "events_complete": placed // 10, "sent_events": placed // 10}

        def cycles(busy):
            return {"busy_cycles": busy, "idle_cycles": 0, "backpressured_cycles": 0}

        self.roles = {"source.boards": cycles(source), "rx.wire": cycles(rx),
                      "builder.b0": cycles(builder)}
        self.lcores = [{"cpu": 1, **cycles(source + rx + builder + loop)}]


def test_rates__leave_the_generator_out():
    config = {"lcores": [{"cpu": 1, "roles": ["source.boards", "rx.wire", "builder.b0"]}]}
    before = _Counted(10, 0, 0, 0, 0, 0)
    after = _Counted(12, 1_000_000, 1_000_000_000, 200_000_000, 700_000_000, 100_000_000)
    found = {key: round(value, 6) for key, value in runs.rates(before, after, config).items()}
    check_equal(found["built"], 5e8, "bytes a second")
    check_equal(found["ns_rx"], 200, "ns of rx a segment")
    check_equal(found["ns_builder"], 700, "ns of the builder a segment")
    # Half of the time was the generator's; loop and housekeeping count for those that build.
    check_equal(found["ns_receiving"], 1000, "ns of what builds a segment")
    check_equal(found["per_cpu"], 1e9, "bytes a second of a CPU that only builds")
    check_equal(found["load_cpu_1"], 1, "load")


def test_event__bytes_on_the_wire():
    event = bottleneck.Event(sources=8, packing=100, fragment=200, mtu=1500)
    check_equal(event.block, 20 + 100 + 200 + 20_000, "bytes of a block")
    check_equal(event.segments, 8 * 14, "segments: 1452 bytes of data each")
    check_equal(event.wire, 8 * (20_320 + 14 * 86), "bytes of the link")
    layout = bottleneck.Layout(builders=3, link=100e6)
    check(abs(layout.capacity - 3 * 12.5e6 / event.wire) < 1e-9, f"capacity {layout.capacity}")


def _counted(seconds, complete, drops):
    layout = bottleneck.Layout(readouts=1, packing=1, fragment=60)
    placed = complete * layout.event.payload
    return bottleneck.Sample(seconds, {"b0": {
        "events_complete": complete, "events_incomplete": 0, "segments_placed": complete,
        "segments_placed_bytes": placed, "packets_received": 2 * complete,
        "packets_received_bytes": placed + complete * (62 + 100)}},
        {"b0": {"packets": 0, "bytes": 0, "drops": drops}}, {}, {})


def test_rates__of_links():
    """A block of 88 bytes takes 174 of the link, and a control frame of 100 as many and 24."""
    layout = bottleneck.Layout(readouts=1, packing=1, fragment=60, link=8 * 298_000)
    found = bottleneck.rates(_counted(10, 0, 0), _counted(12, 2000, 10), layout)
    check_equal(layout.event.wire, 88 + 86, "bytes of the link")
    found = {key: round(value, 9) for key, value in found.items()}
    check_equal((found["complete"], found["dropped"]), (1000, 5), "events and drops a second")
    check_equal(found["wire_share"], round(174 / 298, 9), "share of the data")
    check_equal(found["data_share"], found["wire_share"], "nothing is incomplete")
    check_equal(found["goodput_share"], round(88 / 298, 9), "share of the payload")
    check_equal(found["control_share"], round(124 / 298, 9), "share of control messages")


def test_factor__of_what_is_lost():
    one = {"seconds": 5.0}
    lines = suites_cluster.factor_notes({"none": [{**one, "dropped": 200.0}] * 3,
                                    "linear shift, push": [{**one, "dropped": 0.0}] * 3})
    check("200 packets a second are lost, with it 0 in 15 s: a factor of more than 3000" in
          lines[0], lines[0])
    check("a factor of 341" in lines[1], lines[1])
    lines = suites_cluster.factor_notes({"none": [{**one, "dropped": 200.0}],
                                    "linear shift, push": [{**one, "dropped": 2.0}]})
    check("with it 10 in 5 s: a factor of 100" in lines[0], lines[0])
    check_equal(suites_cluster.factor_notes({"none": [], "linear shift, push": [one]}), [], "no factor")


def test_flatness__is_of_the_medians_past_the_limit():
    rounds = [{0.5: 0.5, 1: 0.9, 2: 0.96}, {0.5: 0.5, 1: 0.92, 2: 0.9}, {0.5: 0.1, 1: 0.1, 2: 0.98}]
    check_equal(suites_cluster.flatness(rounds), 0.9 / 0.96, "lowest over highest")


class _Looked(suites_suspend.Watcher):
    """100 grants a second, none from 1 s to 2 s, the usual rate again from 2.06 s on; a look each
    5 ms."""

    def __init__(self):
        super().__init__(None)
        for number in range(801):
            now = number * 0.005
            granted = min(now, 1) + max(now - 2.06, 0)
            self.looks.append(suites_suspend.Look(now, {"b0": 100 * granted}, 1 < now < 2))


def test_watcher__rates_and_the_way_back():
    watcher = _Looked()
    check(abs(watcher.rate("b0", 0.0025, 1) - 100) < 1e-6, "rate before")
    check_equal(watcher.rate("b0", 1.1, 1.9), 0, "rate between")
    check(abs(watcher.rate("b0", 1.5, 2.56) - 50 / 1.06) < 1e-6, "rate across")
    check_equal([round(one["b0"]) for one in watcher.bins(2, -1, 5)], [0, 0, 0, 0, 100, 100],
                "bins")
    check_equal(round(watcher.back("b0", 2, 100), 6), 0.08, "the fourth bin is the first of four")
    check(watcher.back("b0", 1, 200) > 2.9, "a rate that it never has")


def test_interleave__takes_turns_and_notes_what_is_missing():
    bench = runs.Bench(".", quick=True, full=False, repetitions=3)
    order = []

    def good(name):
        def run():
            order.append(name)
            return len(order)
        return run

    def absent():
        raise runs.Unavailable("no such device")

    found, missing = bench.interleave({"a": good("a"), "x": absent, "b": good("b")})
    check_equal(order, ["a", "b"] * 3, "order")
    check_equal(found, {"a": [1, 3, 5], "x": [], "b": [2, 4, 6]}, "results")
    check_equal(missing, {"x": "no such device"}, "missing")


def test_table__median_and_spread():
    table = runs.Table("title", [("rate", "rate", "bytes/s"), ("other", "other", "share")])
    table.add("row", [{"rate": 3e9}, {"rate": 1e9}, {"rate": 2e9}])
    table.add("none", [], missing="nothing there")
    figures = table.as_json()["rows"][0]["figures"]["rate"]
    check_equal((figures["median"], figures["min"], figures["max"]), (2e9, 1e9, 3e9), "figures")
    out = io.StringIO()
    table.print(out)
    lines = out.getvalue().splitlines()
    check_equal(lines[2].split(), ["rate", "GB/s", "other", "%"], "head")
    check_equal(lines[3].split(), ["row", "2", "(1..3)", "-"], "row")
    check("not measured: none: nothing there" in lines, "the reason is not printed")


def test_instructions__inclusive_counts():
    profile = ["fn=measured_rx", "0 100", "cfn=rx_poll", "calls=3 0", "0 5000", "",
               "fn=rx_poll", "0 5000", "", "fn=measured_rx", "+1 7"]
    check_equal(instructions.inclusive(profile, "measured_rx"), 5107, "instructions")


def test_target__of_the_median_or_of_every_repetition():
    table = runs.Table("title", [("lost", "lost", "")])
    one, all_of_them = (runs.Target(name, "lost", lambda lost: lost == 0, every)
                        for name, every in (("usually", False), ("always", True)))
    table.add("good", [{"lost": 0}] * 3, targets=[one, all_of_them])
    table.add("fair", [{"lost": 0}, {"lost": 0}, {"lost": 7}], targets=[one, all_of_them])
    table.add("absent", [], missing="no root", targets=[one])
    out = io.StringIO()
    table.print(out)
    lines = out.getvalue().splitlines()
    check(lines[2].endswith("  target"), lines[2])
    check(lines[3].endswith("  reached: usually; always"), lines[3])
    check(lines[4].endswith("  MISSED: always"), lines[4])
    check(lines[5].endswith("-"), lines[5])
    rows = table.as_json()["rows"]
    check_equal(rows[1]["targets"], [{"text": "usually", "reached": True},
                                     {"text": "always", "reached": False}], "JSON")
    check("targets" not in rows[2], "what was not measured is not judged")


# --- the farm -----------------------------------------------------------------------------------


def _bad(function, *arguments):
    """What it complains of."""
    try:
        function(*arguments)
    except ValueError as error:
        return str(error)
    raise evbtest.Failure(f"{function.__name__}{arguments} is accepted")


def test_farm__settings():
    found = farm_points.settings(["nodes=2,16", "barrier=true,false", "link=12.5", "shaping=none"])
    check_equal(found, {"nodes": [2, 16], "barrier": [True, False], "link": [12.5],
                        "shaping": ["none"]}, "settings")
    for text, part in {"nodes": "is not KEY=VALUE", "node=4": "keys: mode", "nodes=17": "from 2 to 16",
                       "credits=": "'' is not a number", "mode=static": "there are push, pull"}.items():
        check(part in _bad(farm_points.settings, [text]), text)


def test_farm__points_that_differ():
    """Parallel sends act in pull only, and there the shapings do not."""
    values = {"nodes": [8, 2], "mode": ["push", "pull"], "shaping": ["none", "linear-shift"],
              "barrier": [False, True], "parallel_sends": [1, 2]}
    names = [point.name for point in farm_points.sweep(values)]
    check_equal(names, [
        "2 nodes, push, none, 4", "2 nodes, push, linear-shift, 4",
        "2 nodes, push, linear-shift + barrier, 4", "2 nodes, pull, linear-shift, 4 / 1",
        "8 nodes, push, none, 4", "8 nodes, push, linear-shift, 4",
        "8 nodes, push, linear-shift + barrier, 4", "8 nodes, pull, linear-shift, 4 / 1",
        "8 nodes, pull, linear-shift, 4 / 2"], "points")
    values = {"nodes": [4], "mode": ["push", "pull"], "shaping": ["none", "random"], "phase_barrier": [0, 3]}
    check_equal([point.name for point in farm_points.sweep(values)],
                ["4 nodes, push, none, 4", "4 nodes, push, random, 4",
                 "4 nodes, push, random, 4, phase_barrier 3"], "points with a barrier")
    check("no point" in _bad(farm_points.chosen, True, False, {"mode": ["pull"], "barrier": [True]}),
          "an empty sweep")
    check_equal(farm_points.Point(link=50.0, seed=7).name, "4 nodes, push, linear-shift, 4, seed 7, link 50",
                "name of what is not as usual")


def test_farm__system_of_a_point():
    point = farm_points.Point(nodes=4, credits=8, shaping="timed-shift", link=25.0)
    configuration = point.configuration("farm")
    # 3 blocks of 20 + 48 + 96 + 9600 bytes, in 7 packets each.
    check_equal(point.remote.wire, 3 * (9764 + 7 * 86), "bytes of an event on its builder's link")
    check(abs(point.block_seconds - 10366 * 8 / 25e6) < 1e-12, f"{point.block_seconds}")
    check_equal(configuration["event_manager"]["send_window"], "13268us", "four blocks")
    check_equal([node["name"] for node in configuration["nodes"]], ["m", "n0", "n1", "n2", "n3"],
                "nodes")
    check_equal(json.loads(json.dumps(configuration)), configuration, "as it is read back")
    check_equal({link["rate_bits_per_second"] for link in point.fabric()["links"].values()},
                {25_000_000}, "rates of links")


def _farm_sample(seconds, complete, lost=0):
    """complete: {node: events}"""
    return {"time": seconds, "cpu": {"busy": 1.5 * seconds, "nodes": seconds, "waited": 0.6 * seconds,
                                     "cpus": 2},
            "nodes": {node: {"time": seconds, "events_complete": events, "events_incomplete": 0,
                             "packets_missed": lost, "drops": 2 * lost, "window_conflicts": 0}
                      for node, events in complete.items()}}


def _farm_record(point):
    samples = [_farm_sample(10, {"n0": 0, "n1": 0}), _farm_sample(12, {"n0": 200, "n1": 100}, 3),
               _farm_sample(14, {"n0": 400, "n1": 300}, 3)]
    return farm_points.result(point, {"cpu": "slow"}, 0.5, samples, {"overlap": 0.25})


def test_farm__figures():
    """At 100 events/s a builder of two gets 100 blocks of 10 366 bytes over its link."""
    point = farm_points.Point(nodes=2, link=10.0)
    record = _farm_record(point)
    found = record["figures"]
    share = 100 * 10_366 * 8 / 10e6
    for key, wanted in {"goodput_least": [share / 2, share], "goodput_mean": [share * 0.75, share],
                        "payload_least": [50 * 9764, 100 * 9764], "lost": [9, 0], "cpu_busy": [0.75] * 2,
                        "waited": [0.2] * 2, "overlap": [0.25]}.items():
        check(all(abs(one - other) < 1e-9 for one, other in zip(found[key]["values"], wanted)) and
              len(found[key]["values"]) == len(wanted), f"{key}: {found[key]}")
    check_equal(record["cpu_limited"], False, "nodes wait in 20 % of the time")
    rows = farm_points.rows(record)
    check_equal([sorted(row) == sorted(found) for row in rows], [True, False], "rows of a table")
    check("overlap" not in rows[1], "conflicts have one value")


def test_farm__results_are_found_again():
    with evbtest.Workspace() as work:
        path = work.path("points.json")
        point = farm_points.Point(nodes=2, link=10.0)
        check_equal(farm_points.Results(path).find(point, 1), None, "a point of no file")
        farm_points.Results(path).add(_farm_record(point))
        results = farm_points.Results(path)
        check_equal(results.find(point, 2), _farm_record(point), "a point that was measured")
        check_equal(results.find(point, 3), None, "a point that was measured for a shorter time")
        for other in ({"seed": 2}, {"queue": 50_000}, {"credits": 5}):
            check_equal(results.find(farm_points.Point(**{"nodes": 2, "link": 10.0, **other}), 2), None,
                        f"a point with {other}")
        work.write("points.json", {"format": "evb-farm", "version": 0})
        check("version 1" in _bad(farm_points.Results, path), "a file of another version")


def test_farm__remaining_time():
    check_equal(farm_points.remaining([], [2]), None, "nothing is known")
    # A point of 8 nodes takes twice as long as one without, and of 16 three times.
    check_equal(farm_points.remaining([(8, 20), (8, 20)], [8, 16]), 50, "seconds")


def _tapped(node_packets):
    """{node: [(ms, builder, event), ...]} as a tap has it"""
    return {node: [wire_tap.Packet(ms / 1000, builder, event) for ms, builder, event in packets]
            for node, packets in node_packets.items()}


def test_tap__several_nodes_at_one_builder():
    packets = _tapped({"a": [(0.2, "x", 1), (2.2, "x", 1), (4.2, "x", 1), (4.7, "y", 2)],
                       "b": [(2.2, "x", 1), (4.6, "x", 1), (8.2, "y", 2)]})
    # x in 0, 2, 4 and y in 4, 8; both nodes send to x in 2 and 4.
    check_equal(wire_tap.shared_milliseconds(packets), 2 / 5, "shared milliseconds")
    # a sends to x from 0.2 to 4.2, b from 2.2 to 4.6.
    check_equal(round(wire_tap.overlap(packets), 9), round(2 / 4.4, 9), "overlap")
    check_equal((wire_tap.overlap({}), wire_tap.shared_milliseconds({})), (0, 0), "nothing is sent")


def test_tap__one_after_the_other_is_no_conflict():
    packets = _tapped({"a": [(0.1, "x", 1), (0.5, "x", 1), (20.1, "x", 1), (20.5, "x", 1)],
                       "b": [(0.6, "x", 1), (1.6, "x", 1)]})
    check_equal(wire_tap.overlap(packets), 0, "b sends in a pause of a")
    check_equal(wire_tap.shared_milliseconds(packets), 1 / 3, "in ms 0 both send")


# --- other event builders ------------------------------------------------------------------------

LSEB_PRINTED = """\
[2026-01-01 12:00:01] [info] Generator - Capacity of 24600 events
[2026-01-01 12:00:05] [info] Readout Unit: 0.8 Gb/s - 68.05 %
[2026-01-01 12:00:05] [info] Builder Unit: 0.5 MHz - 82.4381 %
[2026-01-01 12:00:10] [info] Builder Unit: 4.5 MHz - 57.5469 %
[2026-01-01 12:00:10] [info] Readout Unit: 8 Gb/s - 59.3649 %
[2026-01-01 12:00:15] [info] Readout Unit: 1.6e+01 Gb/s - 59.3649 %
"""


def test_lseb__rates_that_it_prints():
    sent, built = peer_lseb.reports(LSEB_PRINTED)
    check_equal((sent, built), ([1e8, 1e9, 2e9], [5e5, 4.5e6]), "bytes and fragments per second")
    check_equal(peer_lseb.reports("[info] Node name: a\n"), ([], []), "nothing yet")
    check_equal(peer_lseb.result([(sent, built), ([0, 5e8], [0, 1.5e6])]),
                {"built": 1e9, "fragments": 3e6}, "means of two nodes without the first report")


def test_flesnet__rate_of_two_runs():
    # 1000 timeslices of 4 x 100 x 1000 bytes in 2 s more, with 3 s more of CPU
    found = peer_flesnet.rate(1007, [(1000, 1.5, 2.0), (2000, 3.5, 5.0)])
    check_equal(found["built"], 2e8, "bytes per second")
    check_equal(found["fragments"], 2e5, "microslices per second")
    check_equal(found["cpu_gb"], 7.5, "CPU seconds per GB")
    check_equal([peer_flesnet.more_of(1000, *times) for times in ((0, 4), (3.9, 4), (2, 10))],
                [20_000, 2000, 6000], "timeslices of the next run")


def test_spead2__a_run():
    check_equal(peer_spead2.seconds_sent("Sent 20144000 bytes in 1.25e-01 seconds, 12.9 Gb/s\n"), 0.125, "seconds")
    check_equal([peer_spead2.heaps_received(text) for text in ("Received 990 heaps\n", "")], [990, 0], "heaps")
    found = peer_spead2.result(1000, 990, 2.0)
    check_equal(found, {"built": 990 * 20_000 / 2, "sent_events": 500, "complete": 0.99, "lost": 0}, "enough")
    check_equal(peer_spead2.result(1000, 989, 2.0)["lost"], 11, "lost")


def test_peers__programs():
    check_equal(suites_peers.programs([f"lseb={sys.executable}"]), {"lseb": sys.executable}, "program")
    for setting, part in {"lseb": "NAME=PATH", "other=/bin/sh": "one of flesnet, lseb, spead2", "lseb=/": "is no program",
                          "lseb=": "is no program"}.items():
        check(part in _bad(suites_peers.programs, [setting]), setting)


def test_peers__ratio_within_a_round():
    rows = suites_peers.beside([{"built": 6.0}, {"built": 8.0}, {"built": 1.0}],
                               [{"built": 2.0}, {"built": 4.0}])
    check_equal([row["times"] for row in rows], [3, 2, None], "times the other")


def _measured(columns, rows):
    """A table with these rows: (name, conditions, {key: value})."""
    table = runs.Table(columns[0], [(key, key, "ns") for key in columns[1]])
    for name, conditions, values in rows:
        table.add(name, [values], conditions)
    return table.as_json()


def test_host_costs__are_those_of_the_mtu():
    def row(mtu, layout, consumer, values):
        return ("", {"segment": mtu, "layout": layout, "consumer": consumer}, values)

    costs = {"ns_rx": 20.4, "ns_builder": 500.2, "ns_source": 61.4}
    wrong = dict.fromkeys(costs, 1)
    report = {"suites": {
        "build": [_measured(("build: events in memory", ["ns_rx"]), []),
                  _measured(("build: what a segment costs", list(costs)), [
                      row(9000, "spread", "no process", wrong), row(9000, "fused", "all", wrong),
                      row(1500, "fused", "no process", wrong),
                      row(9000, "fused", "no process", costs),
                      row(9000, "fused", "no process", wrong)])],
        "sched": [_measured(("sched: control messages, both sides", ["small"]), [
            ("with a key", {}, {"small": 900}), ("without a key", {}, {"small": 301})])]}}
    check_equal(host_costs.costs(report, 9000),
                {"receive_packet": "521ns", "send_packet": "61ns", "control_message": "150ns"},
                "costs")
    try:
        host_costs.costs(report, 4096)
    except ValueError as error:
        check("build has not measured ns_rx" in str(error), error)
    else:
        check(False, "costs of what was not measured")


# --- only when asked for: runs the program -------------------------------------------------------


def smoke():
    """A short run of some sub-suites ends well and leaves a sound report; no figure is judged."""
    build = os.path.dirname(evbtest.binary())
    with evbtest.Workspace() as work:
        report_file, costs_file = work.path("report.json"), work.path("costs.json")
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "bench.py"), "wire", "build", "sched", "idle",
             "--quick", "--repetitions", "1", "--build", build, "--json", report_file,
             "--host-costs", costs_file],
            capture_output=True, text=True, check=False)
        check_equal(done.returncode, 0, f"status of bench.py:\n{done.stdout}\n{done.stderr}")
        with open(report_file, encoding="utf-8") as file:
            report = json.load(file)
        with open(costs_file, encoding="utf-8") as file:
            costs = file.read()
        for key in ("receive_packet", "send_packet", "control_message"):
            check(json.loads(costs)[key] not in ("0ns", None), f"{key} of {costs}")
        system = os.path.join(evbtest.REPOSITORY, "configs", "cluster-8x4.json")
        done = work.evb("sim", system, "--set", "fabric.traffic.kind=system", "--set",
                        f"fabric.host_costs={costs}")
        check_equal(done.status, 0, done.describe())
    check_equal(list(report["suites"]), ["build", "sched", "wire", "idle"], "sub-suites")
    for key in ("cpu", "kernel", "compiler", "dpdk", "hugepages"):
        check(report["machine"].get(key), f"the report does not tell the {key}")
    for tables in report["suites"].values():
        for row in (row for table in tables for row in table["rows"]):
            check(row["figures"] or row["missing"], f"an empty row {row['name']}")
            for figure in row["figures"].values():
                check(figure["min"] <= figure["median"] <= figure["max"],
                      f"{row['name']}: {figure}")
    built = report["suites"]["build"][0]["rows"]
    check(any(row["figures"] for row in built), "nothing was built")


def smoke_farm():
    """Two nodes for a short time: all is built, and a second run finds it in the file."""
    evbtest.need_root()
    with evbtest.Workspace() as work:
        command = [sys.executable, os.path.join(HERE, "bench.py"), "farm", "--quick", "--set", "mode=push",
                   "--build", os.path.dirname(evbtest.binary()), "--points", work.path("points.json")]
        outputs = []
        for _ in range(2):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            check_equal(done.returncode, 0, f"status of bench.py:\n{done.stdout}\n{done.stderr}")
            outputs.append(done.stdout)
        with open(work.path("points.json"), encoding="utf-8") as file:
            [record] = json.load(file)["points"]
    check("1 of 1 points are in" in done.stderr, done.stderr)
    row = "2 nodes, push, linear-shift, 2 "
    lines = [next(line for line in text.splitlines() if line.startswith(row)) for text in outputs]
    check_equal(lines[0], lines[1], "the row of the second run")
    check(record["figures"]["goodput_least"]["min"] > 0, f"a node builds nothing: {record['figures']}")


def _wrong_events(faults):
    """The share of wrong events that a checking consumer finds."""
    load = runs.Load(1500, 2, 10, 200)
    with evbtest.Workspace() as work:
        config = runs.configuration(
            work.name(), load, {machine.cpus()[0]: ["source.boards", "rx.wire", "builder.b0"]}, 64,
            generator={"events": 2000, "rate": 5000, "faults": faults}, idle="adaptive")
        process = work.run(config)
        consumer = work.start(
            os.path.join(os.path.dirname(evbtest.binary()), "tests", "perf", "consumer"),
            config["name"], "--touch", "check")
        consumer.wait_for_line("joined")
        process.end()
        found = runs.Bench.finish_tool(consumer)
    check(found["events"] > 0, "no event was seen")
    return found["wrong"] / found["events"]


def smoke_consumer():
    """A consumer that checks finds what was changed, and nothing else."""
    check_equal(_wrong_events({}), 0, "wrong events without a fault")
    # Each event has 4 segments.
    share = _wrong_events({"corrupt": 0.1})
    check(0.1 < share < 0.6, f"{share:.0%} of the events are wrong, of 34 % that were changed")


if __name__ == "__main__":
    if sys.argv[1:] == ["smoke"]:
        test_bench__runs, test_farm__runs_and_resumes = smoke, smoke_farm
        test_consumer__checks_each_byte = smoke_consumer
        sys.argv[1:] = ["test_bench__runs", "test_farm__runs_and_resumes",
                        "test_consumer__checks_each_byte"]
    evbtest.main()

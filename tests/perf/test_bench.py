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
import instructions
import runs
import suites_cluster
import suites_curve
import suites_paths
import suites_suspend
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


# --- only when asked for: runs the program -------------------------------------------------------


def smoke():
    """A short run of some sub-suites ends well and leaves a sound report; no figure is judged."""
    build = os.path.dirname(evbtest.binary())
    with evbtest.Workspace() as work:
        report_file = work.path("report.json")
        done = subprocess.run(
            [sys.executable, os.path.join(HERE, "bench.py"), "wire", "build", "idle", "--quick",
             "--repetitions", "1", "--build", build, "--json", report_file],
            capture_output=True, text=True, check=False)
        check_equal(done.returncode, 0, f"status of bench.py:\n{done.stdout}\n{done.stderr}")
        with open(report_file, encoding="utf-8") as file:
            report = json.load(file)
    check_equal(list(report["suites"]), ["build", "wire", "idle"], "sub-suites")
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


if __name__ == "__main__":
    if sys.argv[1:] == ["smoke"]:
        test_bench__runs = smoke
        sys.argv[1:] = ["test_bench__runs"]
    evbtest.main()

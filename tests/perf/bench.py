#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The benchmarks: ./dev bench [SUBSUITE...] [--json FILE] [--quick | --full].

Prints tables, each figure as the median of repetitions that were run in turn with those beside it,
(lowest..highest), and its bound measured in the same rounds. docs/performance.md tells what the
figures mean. Measure on a machine that does nothing else.
"""

import argparse
import json
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "functional"))

import evbtest
import farm_points
import host_costs
import machine
import runs
import suites_boards
import suites_bounds
import suites_build
import suites_cluster
import suites_control
import suites_convert
import suites_curve
import suites_decisions
import suites_farm
import suites_filter
import suites_harm
import suites_manager
import suites_paths
import suites_peers
import suites_producer
import suites_python
import suites_roce
import suites_sched
import suites_sim
import suites_spill
import suites_studies
import suites_suspend
import suites_time
import suites_two

SUITES = {
    "copy": (suites_bounds.run_copy, "the bounds: memory copies, ring hops, drivers alone"),
    "build": (suites_build.run_build, "sources, rx, builder and event ring in one process"),
    "memif": (suites_paths.run_memif, "a process that sends, one that builds"),
    "kernel": (suites_paths.run_kernel, "a kernel host sends over veth (root)"),
    "latency": (suites_time.run_latency, "first segment, complete, seen, at shares of the rate"),
    "lossfree": (suites_paths.run_lossfree, "the highest rate without one loss"),
    "scale": (suites_build.run_scale, "cost against sources, slots, builders, disorder"),
    "roce": (suites_roce.run_roce, "requester, ring port, responder, events"),
    "sched": (suites_sched.run_sched, "decisions of the event manager"),
    "sim": (suites_sim.run_sim, "simulated packets and events"),
    "studies": (suites_studies.run_studies, "simulated: the event manager's port in large systems"),
    "nodes": (suites_sched.run_nodes, "the logic of systems of up to 1024 nodes, 100 000 events"),
    "manager": (suites_manager.run_manager, "events per second through one event manager"),
    "harm": (suites_harm.run_harm, "events that one forged source costs (root)"),
    "incast": (suites_cluster.run_incast, "many nodes send to one behind a narrow link (root)"),
    "suspend": (suites_suspend.run_suspend, "builders that pause, stop or are slow (root)"),
    "two": (suites_two.run_two, "two folded nodes that send to each other (root for veth)"),
    "peers": (suites_peers.run_peers, "evb beside another event builder (--peer; root for veth)"),
    "control": (suites_control.run_control, "grant and credit latency, suspended builders (root)"),
    "boards": (suites_boards.run_boards, "segments of boards into the store of a readout"),
    "producer": (suites_producer.run_producer, "blocks through a producer ring"),
    "farm": (suites_farm.run_farm, "2 to 16 nodes: credits, parallel sends, mode, shaping (root)"),
    "spill": (suites_spill.run_spill, "bursts through links that carry the mean and 20 % (root)"),
    "filter": (suites_filter.run_filter, "events per core through the example of a filter"),
    "python": (suites_python.run_python, "bytes of events that Python reads through numpy"),
    "convert": (suites_convert.run_convert, "files of built events to HDF5 and back"),
    "decisions": (suites_decisions.run_decisions, "decisions of consumers in the order of events"),
    "wire": (suites_bounds.run_wire, "parsing and checksums"),
    "idle": (suites_time.run_idle, "CPU time without traffic, and what sleeping costs"),
    "curve": (suites_curve.run_curve, "throughput and load against message size, as in 1998"),
}
HUGEPAGES = 2 << 30  # bytes: what all but the largest cases take
HUGEPAGES_QUICK = 512 << 20
HUGEPAGES_LARGE = 8 << 30  # with 4096 sources of 200 kB in several slots


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="./dev bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__.split("\n", 1)[1].strip(),
        epilog="sub-suites:\n" + "\n".join(f"  {name:10}{text}"
                                           for name, (_, text) in SUITES.items()))
    parser.add_argument("suites", nargs="*", metavar="SUBSUITE", help="which; all without any")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON, too")
    parser.add_argument("--host-costs", metavar="FILE",
                        help="`build` and `sched`: write what they find as the object "
                        "fabric.host_costs of a simulation")
    parser.add_argument("--mtu", type=int, default=host_costs.MTU, choices=host_costs.MTUS,
                        help=f"size of the packets of --host-costs ({host_costs.MTU})")
    parser.add_argument("--quick", action="store_true",
                        help="few cases, short runs: shows that it works, not how fast")
    parser.add_argument("--full", action="store_true",
                        help="every case of `build`, hours, and of `farm`; `spill` in full size")
    parser.add_argument("--set", metavar="KEY=VALUE,...", action="append", default=[],
                        help="`farm`: what it sweeps over, such as nodes=2,4 or shaping=none")
    parser.add_argument("--points", metavar="FILE",
                        help="`farm`: its results; points that are in this file are not measured again")
    parser.add_argument("--peer", metavar="NAME=PATH", action="append", default=[],
                        help="`peers`: the built program of another event builder; NAME: "
                        f"{', '.join(suites_peers.PEERS)}")
    parser.add_argument("--repetitions", type=int, metavar="N", help="of each figure (5, quick 2)")
    parser.add_argument("--build", default=os.path.join(evbtest.REPOSITORY, "build-bench"),
                        help="the build folder (build-bench)")
    options = parser.parse_args()
    unknown = [name for name in options.suites if name not in SUITES]
    if unknown:
        parser.error(f"no such sub-suite: {', '.join(unknown)}; there are {', '.join(SUITES)}")
    if options.host_costs and options.suites and not {*host_costs.SUITES} <= {*options.suites}:
        parser.error(f"--host-costs: it takes the sub-suites {' and '.join(host_costs.SUITES)}")
    if options.repetitions is not None and options.repetitions < 1:
        parser.error("--repetitions: at least 1")
    try:
        options.set = farm_points.settings(options.set)
        farm_points.chosen(options.quick, options.full, options.set)
        farm_points.Results(options.points)
        options.peer = suites_peers.programs(options.peer)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if not os.access(os.path.join(options.build, "tests", "perf", "copy_bound"), os.X_OK):
        parser.error(f"{options.build} is not built with its tests")
    return options


def hugepages_for(options, names):
    if names == ["farm"]:
        return 0
    if options.quick:
        return HUGEPAGES_QUICK
    return HUGEPAGES_LARGE if options.full or "scale" in names else HUGEPAGES


def print_machine(description, pages):
    print(f"{description['cpu']}, {description['cpus']} CPUs used"
          f"{', virtual' if description['virtual'] else ''}, "
          f"last level cache {description['last_level_cache_bytes'] // runs.MIB} MiB, "
          f"memory {description['memory_bytes'] / 2**30:.0f} GiB")
    print(f"Linux {description['kernel']}, {description['compiler']} -O"
          f"{description['optimization']}{' -flto' if description['link_time_optimization'] else ''}, "
          f"DPDK {description['dpdk']}, evb {description['commit']}")
    if pages.note:
        print(f"note: {pages.note}")
    if description["sanitizers"] != "none":
        print(f"note: built with {description['sanitizers']} sanitizers: figures mean nothing")
    if description["load_before"] > 0.5:
        print(f"note: others are at work here (load {description['load_before']:.1f}): figures "
              "mean little")


def hugepages_used(bench):
    return {frozenset(): "not known", frozenset({True}): "yes", frozenset({False}): "no"}.get(
        frozenset(bench.hugepages), "not by all")


def write_host_costs(options, report):
    """Returns why it cannot, or None."""
    try:
        text = json.dumps(host_costs.costs(report, options.mtu), indent=4)
        with open(options.host_costs, "w", encoding="utf-8") as file:
            print(text, file=file)
    except (OSError, ValueError) as error:
        return f"--host-costs: {error}"
    print(f"host costs of packets of {options.mtu} B: {options.host_costs}")
    return None


def main():
    options = parse_arguments()
    # Whoever stops it wants everything as it was.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    os.environ["EVB_BINARY"] = os.path.join(os.path.abspath(options.build), "evb")
    names = [name for name in SUITES if not options.suites or name in options.suites]
    bench = runs.Bench(options.build, options.quick, options.full, options.repetitions,
                       options.set, options.points, options.peer)
    description = machine.describe(options.build)
    report = {"machine": description, "quick": options.quick, "repetitions": bench.repetitions,
              "window_seconds": bench.window, "suites": {}}
    with machine.Hugepages(hugepages_for(options, names)) as pages:
        description["hugepages_added_bytes"] = pages.added_bytes()
        print_machine(description, pages)
        for name in names:
            tables = SUITES[name][0](bench)
            for table in tables:
                table.print(sys.stdout)
            report["suites"][name] = [table.as_json() for table in tables]
            if bench.stopped:
                break
    description["hugepages"] = hugepages_used(bench)
    report["failures"] = bench.failures
    print(f"\nhugepages used: {description['hugepages']}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
            file.write("\n")
    if options.host_costs and not bench.stopped:
        bench.failures.extend(filter(None, [write_host_costs(options, report)]))
    for failure in bench.failures:
        print(f"FAILED: {failure}", file=sys.stderr)
    if bench.stopped:
        return 130
    return 1 if bench.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("stopped")

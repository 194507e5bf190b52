#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Completion times of flows and packet hops per CPU second, beside those of htsim.

    htsim.py --sources FOLDER [--build FOLDER] [--quick] [--json FILE]

FOLDER has the sources of https://github.com/Broadcom/csg-htsim, built by `make` in sim and in
sim/datacenter. Both programs read the same files of flows of 2 MB and simulate the same network;
tests/perf/sim_flows.c lists the parameters, docs/simulation/another-simulator.md says what was
found. Where there are several paths, each program draws them at random, so that times are means
of several runs, with their standard errors; where there is one path, times are compared flow by
flow.

Exit status: 1 if completion times differ by more than 2 % and two standard errors, else 0.
"""

import argparse
import collections
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPOSITORY, "tests", "functional"))

import machine  # pylint: disable=wrong-import-position

SIZE = 2_000_000  # bytes of a flow
NEAR = 0.02  # how far times may differ
ENOUGH_HOPS = 100_000  # for a speed: htsim needs longer to build the network than for fewer
OPTIONS = ("-linkspeed 100000 -mtu 4096 -q 100000 -strat ecmp_host -paths 16 -queue_type lossless_input "
           "-pfc_thresholds 12 15 -end 1000000").split()


def incast(senders, step):
    return [(1 + step * i, 0) for i in range(senders)]


def permutation(hosts):
    """Without fixed points (Sattolo 1986)."""
    draw, to = random.Random(1), list(range(hosts))
    for i in range(hosts - 1, 0, -1):
        j = draw.randrange(i)
        to[i], to[j] = to[j], to[i]
    return list(enumerate(to))


Case = collections.namedtuple("Case", "name arity flows runs is_one_path")  # arity: of switches
CASES = (Case("incast 7 to 1 in a leaf", 16, incast(7, 1), 2, True),
         Case("incast 8 to 1", 8, incast(8, 16), 60, False),
         Case("incast 32 to 1", 8, incast(32, 4), 40, False),
         Case("incast 128 to 1", 12, incast(128, 3), 8, False),
         Case("permutation of 128", 8, permutation(128), 80, False))


def write(path, arity, flows, size):
    with open(path, "w", encoding="utf-8") as file:
        print("Nodes", arity**3 // 4, file=file)
        print("Connections", len(flows), file=file)
        for number, (source, destination) in enumerate(flows):
            print(f"{source}->{destination} id {number + 1} start 0 size {size}", file=file)


def ours(program, path, arity, flows, seed):
    """(completion times in us, packet hops, CPU seconds)"""
    result = json.loads(subprocess.run(
        [program, "--arity", str(arity), "--seed", str(seed), path],
        check=True, capture_output=True, text=True).stdout)
    assert len(result["ends_us"]) == len(flows)
    return result["ends_us"], result["hops"], result["cpu_s"]


def theirs(program, path, arity, flows, seed, folder):
    """(completion times in us, CPU seconds)"""
    output = os.path.join(folder, "htsim.txt")
    with open(output, "w", encoding="utf-8") as out:
        process = subprocess.Popen(
            [program, "-tm", path, "-nodes", str(arity**3 // 4), *OPTIONS, "-seed", str(seed)],
            stdout=out, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{program} ended with status {status}")
    ends = {}
    with open(output, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if words[:1] == ["Flow"] and "finished" in words:
                ends[words[1]] = float(words[words.index("at") + 1])
    if len(ends) != len(flows):
        sys.exit(f"{program}: {len(ends)} of {len(flows)} flows are complete")
    return [ends[f"Roce_{source}_{to}"] for source, to in flows], usage.ru_utime + usage.ru_stime


def error_of(values):
    """The standard error of the mean."""
    return statistics.stdev(values) / len(values)**0.5


def summary(runs):
    """Of lists of completion times."""
    means, last = [statistics.mean(run) for run in runs], [max(run) for run in runs]
    return {"mean_us": statistics.mean(means), "mean_error_us": error_of(means),
            "last_us": statistics.mean(last), "last_error_us": error_of(last)}


def differences(mine, others):
    """What is compared: the difference as a share, and its standard error."""
    return {name: {"share": mine[f"{name}_us"] / others[f"{name}_us"] - 1,
                   "error": (mine[f"{name}_error_us"]**2 + others[f"{name}_error_us"]**2)**0.5
                            / others[f"{name}_us"]} for name in ("mean", "last")}


def compare(case, options, folder):
    path, small = os.path.join(folder, "flows.tm"), os.path.join(folder, "small.tm")
    write(path, case.arity, case.flows, SIZE)
    write(small, case.arity, case.flows, 1)  # what building the network takes
    mine, others = [], []
    cpus, other_cpus, building = [], [], []  # CPU seconds
    for seed in range(1, (2 if options.quick else case.runs) + 1):
        ends, hops, cpu = ours(options.flows, path, case.arity, case.flows, seed)
        mine.append(ends)
        cpus.append(cpu)
        ends, cpu = theirs(options.program, path, case.arity, case.flows, seed, folder)
        others.append(ends)
        other_cpus.append(cpu)
        if hops > ENOUGH_HOPS:
            building.append(theirs(options.program, small, case.arity, case.flows, seed,
                                   folder)[1])
    result = {"name": case.name, "flows": len(case.flows), "runs": len(mine), "hops": hops,
              "ours": summary(mine), "theirs": summary(others)}
    result["differences"] = differences(result["ours"], result["theirs"])
    if case.is_one_path:
        result["differences"]["flows"] = {"error": 0, "share": max(
            abs(one / other - 1) for run, other_run in zip(mine, others)
            for one, other in zip(run, other_run))}
    if building:  # the runs that other processes disturbed least
        result["hops_per_cpu_s"] = hops / min(cpus)
        result["their_hops_per_cpu_s"] = hops / (min(other_cpus) - min(building))
    return result


def show(result):
    texts = []
    for name in ("mean", "last"):
        mine, others = ([one[f"{name}_us"], one[f"{name}_error_us"]]
                        for one in (result["ours"], result["theirs"]))
        texts.append(f"{name} {mine[0]:.1f} +- {mine[1]:.1f}, {others[0]:.1f} +- {others[1]:.1f} us "
                     f"({result['differences'][name]['share']:+.2%})")
    if "flows" in result["differences"]:
        texts.append(f"each flow within {result['differences']['flows']['share']:.4%}")
    if "hops_per_cpu_s" in result:
        mine, others = result["hops_per_cpu_s"], result["their_hops_per_cpu_s"]
        texts.append(f"{mine / 1e6:.2f}, {others / 1e6:.2f} million packet hops per CPU second "
                     f"({mine / others:.1f} times)")
    print(f"{result['name']}: {'; '.join(texts)}", flush=True)


def total(results):
    """Packet hops per CPU second of both programs over all cases that have them."""
    timed = [result for result in results if "hops_per_cpu_s" in result]
    hops = sum(result["hops"] for result in timed)
    return {name: hops / sum(result["hops"] / result[name] for result in timed)
            for name in ("hops_per_cpu_s", "their_hops_per_cpu_s")}


def is_near(result):
    return all(abs(one["share"]) <= NEAR + 2 * one["error"]
               for one in result["differences"].values())


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description=__doc__)
    parser.add_argument("--sources", required=True, metavar="FOLDER", help="of csg-htsim, built")
    parser.add_argument("--build", default=os.path.join(REPOSITORY, "build"), metavar="FOLDER")
    parser.add_argument("--quick", action="store_true", help="two runs per case")
    parser.add_argument("--json", metavar="FILE", help="write the results")
    options = parser.parse_args()
    options.program = os.path.join(os.path.abspath(options.sources), "sim", "datacenter",
                                   "htsim_roce")
    options.flows = os.path.join(options.build, "tests", "perf", "sim_flows")
    for program in (options.program, options.flows):
        if not os.access(program, os.X_OK):
            parser.error(f"there is no {program}")
    description = machine.describe(options.build)
    print("first figure: evb, second: htsim")
    begun, results = time.time(), []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            results.append(compare(case, options, folder))
            show(results[-1])
    overall = total(results)
    mine, others = overall.values()
    print(f"all: {mine / 1e6:.2f}, {others / 1e6:.2f} million packet hops per CPU second "
          f"({mine / others:.1f} times)")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": description, "seconds": time.time() - begun,
                       "cases": results, "all": overall}, file, indent=1)
            file.write("\n")
    return 0 if all(map(is_near, results)) else 1


if __name__ == "__main__":
    sys.exit(main())

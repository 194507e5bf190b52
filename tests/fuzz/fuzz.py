#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Fuzzes the targets of a build folder, one after the other, and keeps count:

    fuzz.py BUILD [TARGET...] [SECONDS] [--goal N]

Each target gets SECONDS (30); with --goal all get them in turn until N inputs (1e9) have been tried
over all targets, those of earlier runs included. What a run finds new stays in BUILD/corpus, the
counts in BUILD/fuzzed.json; the seeds in the tree are only read. At the end a table tells, by
target, inputs in all runs together, the rate, and the coverage that libFuzzer reports of the last
one: edges, features (edges with their counts), inputs in the corpus. `./dev fuzz` calls this program.

Exit status 1: an input was found that a target fails on; it lies in BUILD.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
EXECUTED = re.compile(r"stat::number_of_executed_units: +(\d+)")
# As in "#4194304 pulse  cov: 91 ft: 210 corp: 39/1034b lim: 4096 exec/s: 1398101 rss: 70Mb".
COVERAGE = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)/")
FINDING = re.compile(r"Test unit written to (\S+)")


class State:
    """What all runs together did: {target: {inputs, seconds, edges, features, corpus, findings}}."""

    def __init__(self, path):
        self._path = path
        self.targets = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.targets = json.load(file)

    def total(self):
        return sum(target["inputs"] for target in self.targets.values())

    def add(self, name, seconds, output):
        """Takes what libFuzzer printed. Returns the files of new findings."""
        target = self.targets.setdefault(name, {"inputs": 0, "seconds": 0, "findings": 0})
        executed, coverage = EXECUTED.findall(output), COVERAGE.findall(output)
        target["inputs"] += sum(map(int, executed))
        target["seconds"] += seconds
        if coverage:
            target["edges"], target["features"], target["corpus"] = map(int, coverage[-1])
        found = FINDING.findall(output)
        target["findings"] += len(found)
        with open(f"{self._path}.new", "w", encoding="utf-8") as file:
            json.dump(self.targets, file, indent=1)
        os.replace(f"{self._path}.new", self._path)
        return found

    def table(self):
        lines = [f"{'target':12} {'inputs':>13} {'per second':>10} {'edges':>6} {'features':>8} "
                 f"{'corpus':>6} {'findings':>8}"]
        for name, target in sorted(self.targets.items()):
            rate = target["inputs"] / max(target["seconds"], 1)
            lines.append(f"{name:12} {target['inputs']:13} {rate:10.0f} {target.get('edges', 0):6} "
                         f"{target.get('features', 0):8} {target.get('corpus', 0):6} "
                         f"{target['findings']:8}")
        lines.append(f"{'all':12} {self.total():13}")
        return "\n".join(lines)


def fuzz(build, name, seconds, state):
    """Runs one target, its output shown. Returns the files of findings."""
    corpora = [os.path.join(build, "corpus", name)]
    os.makedirs(corpora[0], exist_ok=True)
    if os.path.isdir(os.path.join(CORPUS, name)):
        corpora.append(os.path.join(CORPUS, name))
    command = [os.path.join(build, "tests", "fuzz", f"fuzz_{name}"), f"-max_total_time={seconds}",
               f"-artifact_prefix={build}/", "-print_final_stats=1", *corpora]
    lines = []
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stderr:
            lines.append(line)
            # New inputs come too often to be read.
            if not re.match(r"#\d+\s+(NEW|REDUCE|pulse|RELOAD)", line):
                print(line, end="", flush=True)
    found = state.add(name, seconds, "".join(lines))
    if process.returncode != 0 and not found:
        sys.exit(f"fuzz: {name} has ended with status {process.returncode}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("what", nargs="*", metavar="TARGET|SECONDS")
    parser.add_argument("--goal", type=float, default=0, metavar="N")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    targets = sorted(os.path.basename(path)[len("fuzz_"):]
                     for path in glob.glob(os.path.join(build, "tests", "fuzz", "fuzz_*"))
                     if os.path.isfile(path) and os.access(path, os.X_OK))
    seconds = [int(word) for word in options.what if word.isdigit()] or [30]
    chosen = [word for word in options.what if not word.isdigit()] or targets
    unknown = sorted(set(chosen) - set(targets))
    if unknown:
        sys.exit(f"fuzz: no target {unknown[0]}; there are {', '.join(targets)}")
    state = State(os.path.join(build, "fuzzed.json"))
    found = []
    while not found:
        for name in chosen:
            print(f"fuzz: {name} for {seconds[0]} s", flush=True)
            found += fuzz(build, name, seconds[0], state)
        if state.total() >= options.goal:
            break
    print(state.table())
    for path in found:
        print(f"fuzz: found {path}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

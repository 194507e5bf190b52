#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Fuzzes the targets of two build folders, one after the other, and keeps count:

    fuzz.py BUILD MUTATE [TARGET...] [SECONDS] [--goal N]

A turn of a target takes SECONDS (40). For a quarter of it libFuzzer (BUILD) looks for inputs that
reach more code, and keeps them in BUILD/corpus: the guided inputs. Then its replay program (MUTATE)
tries mutations of these inputs and of the seeds in the tree, without the cost of the guidance.

Each target gets a turn. With --goal they get turns until N inputs (1e9) have been tried over all
targets, those of earlier runs included, and N/1000 of each; a target that has N/6 gets no more.

BUILD/fuzzed.json keeps the counts of all runs, and the seeds of the mutations go on from there. At
the end a table shows, by target, the inputs of all runs and their rates, and what libFuzzer reports
of the last one: edges, features (edges with their counts), inputs in the corpus. `./dev fuzz` calls
this program.

Exit status 1: an input was found that a target fails on; it lies in BUILD.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import time

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
GUIDED = re.compile(r"stat::number_of_executed_units: +(\d+)")
MUTATED = re.compile(r"^inputs: (\d+)", re.M)
# As in "#4194304 pulse  cov: 91 ft: 210 corp: 39/1034b lim: 4096 exec/s: 1398101 rss: 70Mb".
COVERAGE = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)/")
FINDING = re.compile(r"Test unit written to (\S+)")
# New inputs of libFuzzer come too often to be read.
QUIET = re.compile(r"#\d+\s+(NEW|REDUCE|pulse|RELOAD)")
# Where memory was allocated, and what was freed long ago, costs most of the time of small targets.
# A finding can be repeated without these options.
ENVIRONMENT = {"ASAN_OPTIONS": "quarantine_size_mb=16:malloc_context_size=1",
               "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
# The default schedule, by rare features, takes 20 times as long for targets with 10 000 features,
# and finds less in the same time.
SCHEDULE = "-entropic=0"
ZERO = {"guided": 0, "guided_seconds": 0, "mutated": 0, "mutated_seconds": 0, "seeds": 0,
        "findings": 0, "edges": 0, "features": 0, "corpus": 0}


class State:
    """What all runs together did: {target: ZERO}."""

    def __init__(self, path):
        self._path = path
        self.targets = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.targets = json.load(file)

    def of(self, name):
        return self.targets.setdefault(name, dict(ZERO))

    def inputs(self, name):
        return self.of(name)["guided"] + self.of(name)["mutated"]

    def total(self):
        return sum(map(self.inputs, list(self.targets)))

    def add(self, name, kind, seconds, output):
        """Takes what a run printed. Returns the files of new findings."""
        target = self.of(name)
        target[kind] += sum(map(int, (GUIDED if kind == "guided" else MUTATED).findall(output)))
        target[f"{kind}_seconds"] += seconds
        target["seeds"] += kind == "mutated"
        coverage = COVERAGE.findall(output)
        if coverage:
            target["edges"], target["features"], target["corpus"] = map(int, coverage[-1])
        found = FINDING.findall(output)
        target["findings"] += len(found)
        with open(f"{self._path}.new", "w", encoding="utf-8") as file:
            json.dump(self.targets, file, indent=1)
        os.replace(f"{self._path}.new", self._path)
        return found

    def table(self):
        lines = [f"{'target':12} {'guided':>11} {'per second':>10} {'mutated':>12} "
                 f"{'per second':>10} {'edges':>6} {'features':>8} {'corpus':>6} {'findings':>8}"]
        for name, target in sorted(self.targets.items()):
            rates = [target[kind] / max(target[f"{kind}_seconds"], 1)
                     for kind in ("guided", "mutated")]
            lines.append(f"{name:12} {target['guided']:11} {rates[0]:10.0f} "
                         f"{target['mutated']:12} {rates[1]:10.0f} {target['edges']:6} "
                         f"{target['features']:8} {target['corpus']:6} {target['findings']:8}")
        guided, mutated = [sum(target[kind] for target in self.targets.values())
                           for kind in ("guided", "mutated")]
        lines.append(f"{'all':12} {guided:11} {'':10} {mutated:12} {'':10} "
                     f"{sum(target['edges'] for target in self.targets.values()):6}")
        lines.append(f"{guided + mutated} inputs")
        return "\n".join(lines)


def run(state, name, kind, command):
    """Runs one program, its output shown. Returns the files of findings."""
    lines = []
    begin = time.monotonic()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, errors="replace",
                          env={**ENVIRONMENT, **os.environ}) as process:
        for line in process.stderr:
            lines.append(line)
            if not QUIET.match(line):
                print(line, end="", flush=True)
    found = state.add(name, kind, round(time.monotonic() - begin), "".join(lines))
    if process.returncode != 0 and not found:
        sys.exit(f"fuzz: {name} has ended with status {process.returncode}: {' '.join(command)}")
    return found


def turn(options, name, seconds, state):
    """Guided inputs, then mutated ones. Returns the files of findings."""
    corpora = [os.path.join(options.build, "corpus", name)]
    os.makedirs(corpora[0], exist_ok=True)
    if os.path.isdir(os.path.join(CORPUS, name)):
        corpora.append(os.path.join(CORPUS, name))
    guided = max(seconds // 4, 1)
    print(f"fuzz: {name} for {seconds} s", flush=True)
    found = run(state, name, "guided",
                [os.path.join(options.build, "tests", "fuzz", f"fuzz_{name}"),
                 f"-max_total_time={guided}", f"-artifact_prefix={options.build}/{name}-",
                 "-print_final_stats=1", "-print_funcs=0", SCHEDULE, *corpora])
    if found:
        return found
    return run(state, name, "mutated",
               [os.path.join(options.mutate, "tests", "fuzz", f"replay_{name}"), "--for",
                str(seconds - guided), str(state.of(name)["seeds"]),
                f"{options.build}/{name}-", *corpora])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("mutate", type=os.path.abspath)
    parser.add_argument("what", nargs="*", metavar="TARGET|SECONDS")
    parser.add_argument("--goal", type=float, default=0, metavar="N")
    options = parser.parse_args()
    targets = sorted(os.path.basename(path)[len("fuzz_"):]
                     for path in glob.glob(os.path.join(options.build, "tests", "fuzz", "fuzz_*"))
                     if os.path.isfile(path) and os.access(path, os.X_OK))
    seconds = [int(word) for word in options.what if word.isdigit()] or [40]
    chosen = [word for word in options.what if not word.isdigit()] or targets
    unknown = sorted(set(chosen) - set(targets))
    if unknown:
        sys.exit(f"fuzz: no target {unknown[0]}; there are {', '.join(targets)}")
    state = State(os.path.join(options.build, "fuzzed.json"))
    found, due = [], chosen
    while due and not found:
        for name in due:
            found += [f"{path}; to repeat it: {options.build}/tests/fuzz/fuzz_{name} {path}"
                      for path in turn(options, name, seconds[0], state)]
        short = [name for name in chosen if state.inputs(name) < options.goal / 1000]
        wanted = [name for name in chosen if state.inputs(name) < options.goal / 6]
        due = wanted if state.total() < options.goal else short
    print(state.table())
    for finding in found:
        print(f"fuzz: found {finding}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

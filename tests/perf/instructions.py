#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The guard against slow-downs: instructions of fixed workloads, counted, not timed.

    instructions.py [--build FOLDER] [--update]

Runs tests/perf/workload under callgrind and compares the instructions a unit (a segment for the
roles rx and builder, a fragment for validation) with those in instructions.json. More than the
tolerance above is a failure; more than it below too, so that an improvement is kept: --update
writes the file anew. Counts hold for one compiler, DPDK and optimization, which stand in the file;
for others, and without valgrind, the test is skipped.

Exit status: 0 as expected, 1 not, 77 skipped.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = os.path.join(HERE, "instructions.json")
WORKLOADS = ("whole_blocks", "in_order", "shuffled", "many_sources", "validation")
TOLERANCE = 0.05
EXIT_SKIP = 77


def inclusive(callgrind_lines, function):
    """Instructions of a function with all that it calls: its lines, and those behind `calls=`."""
    total, inside = 0, False
    for line in callgrind_lines:
        if line.startswith("fn="):
            inside = line == f"fn={function}"
        elif inside and re.match(r"[0-9+*-]", line):
            total += int(line.split()[1])
    return total


def count(program, workload, folder):
    """{measured function: instructions a unit} of a workload."""
    out = os.path.join(folder, f"{workload}.out")
    result = subprocess.run(
        # Beside other work EAL's threads take turns sooner with a fair lock.
        ["valgrind", "--fair-sched=try", "--tool=callgrind", f"--callgrind-out-file={out}",
         "--collect-atstart=no", "--toggle-collect=measured_*", "--compress-strings=no",
         "--compress-pos=no", "--quiet", program, workload],
        capture_output=True, text=True, check=False, env={**os.environ, "TMPDIR": folder})
    if result.returncode != 0:
        sys.exit(f"workload {workload} ended with status {result.returncode}:\n{result.stderr}")
    units = json.loads(result.stdout.splitlines()[-1])
    with open(out, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    counts = {}
    for function, n_units in units.items():
        instructions = inclusive(lines, function)
        if instructions == 0 or n_units == 0:
            sys.exit(f"workload {workload}: nothing was counted in {function}")
        counts[function.removeprefix("measured_")] = round(instructions / n_units, 2)
    return counts


def skip(reason):
    print(f"skip: {reason}")
    sys.exit(EXIT_SKIP)


def compare(expected, found):
    """Prints one line a count; true if all are within the tolerance."""
    tolerance, good = expected["tolerance"], True
    for workload in WORKLOADS:
        for name, value in found[workload].items():
            before = expected["counts"].get(workload, {}).get(name)
            if before is None:
                verdict = "not in the file"
            else:
                change = value / before - 1
                verdict = f"{change:+.1%}"
                if abs(change) > tolerance:
                    verdict += f", more than {tolerance:.0%}"
            wrong = "," in verdict or before is None
            good = good and not wrong
            print(f"{'FAIL' if wrong else 'ok'}: {workload} {name}: {value} instructions a unit, "
                  f"{before} expected: {verdict}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"),
                        help="the build folder (build)")
    parser.add_argument("--update", action="store_true", help="write instructions.json anew")
    options = parser.parse_args()
    perf = os.path.join(options.build, "tests", "perf")
    if shutil.which("valgrind") is None:
        skip("there is no valgrind")
    with open(os.path.join(perf, "toolchain.json"), encoding="utf-8") as file:
        toolchain = json.load(file)
    expected = None
    if not options.update:
        with open(EXPECTED, encoding="utf-8") as file:
            expected = json.load(file)
        if toolchain != expected["toolchain"]:
            skip(f"instructions are counted for {expected['toolchain']}, this is {toolchain}")
    with tempfile.TemporaryDirectory(prefix="evb-instructions-") as folder:
        found = {workload: count(os.path.join(perf, "workload"), workload, folder)
                 for workload in WORKLOADS}
    if options.update:
        with open(EXPECTED, "w", encoding="utf-8") as file:
            json.dump({"toolchain": toolchain, "tolerance": TOLERANCE, "counts": found}, file,
                      indent=4)
            file.write("\n")
        print(json.dumps(found, indent=4))
        return
    if not compare(expected, found):
        sys.exit("instruction counts changed: find out why, or, if it is meant so, run "
                 "tests/perf/instructions.py --update and say why in the commit")


if __name__ == "__main__":
    main()

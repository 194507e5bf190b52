#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Simulates systems that were measured, and compares.

    sim_real.py --build FOLDER

sim_real.json has what `./dev bench incast` measured, rates per second, for two sizes of the burst
that a narrow link may send; docs/simulation/system.md says how. `./dev bench sim` measures again.

Exit status: 1 if the simulation differs by more than LIMITS, else 0.
"""

import argparse
import json
import os
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(os.path.dirname(FOLDER), "functional")]

import suites_cluster  # pylint: disable=wrong-import-position
import suites_sim_system  # pylint: disable=wrong-import-position

LIMITS = {"complete": suites_sim_system.NEAR, "dropped": 0.10, "control_share": 0.05}


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description=__doc__)
    parser.add_argument("--build", required=True, metavar="FOLDER")
    build = parser.parse_args().build

    def tool(name, *arguments):
        command = [os.path.join(build, "tests", "perf", name), *map(str, arguments)]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)

    with open(os.path.join(FOLDER, "sim_real.json"), encoding="utf-8") as file:
        kept = json.load(file)
    is_near = True
    for row in kept["rows"]:
        simulated = suites_sim_system.simulate(tool, suites_cluster.INCAST[row["layout"]],
                                               kept["send_rate"], row["burst"])
        for key, limit in LIMITS.items():
            near = abs(simulated[key] - row[key]) <= limit * row[key]
            is_near = is_near and near
            print(f"{row['layout']}, bursts of {row['burst']} bytes: {key} {row[key]:.5g}, "
                  f"simulated {simulated[key]:.5g}{'' if near else f': not within {limit:.0%}'}")
    return 0 if is_near else 1


if __name__ == "__main__":
    sys.exit(main())

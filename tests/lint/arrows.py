#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the arrows between the rooms of lib/ from their #includes: arrows.py [--print]

A room is a folder of lib/; app/ is one, too. Each may include what stands below it in LAYERS, and
nothing beside or above: an arrow that points up or sideways fails, so no circle can arise. The
picture in docs/architecture.md is what --print prints; a picture that differs fails, too.
"""

import collections
import os
import re
import sys

# From the top to the bottom. A room that is new gets its place here.
LAYERS = [
    ["app"],
    ["top", "web", "host"],
    ["openmetrics"],
    ["telemetry"],
    ["appliance", "sender", "simulation"],
    ["sim_system", "fabric_files", "plan"],
    ["config"],
    ["node"],
    ["rdma"],
    ["rx", "tx", "builder", "convert"],
    ["port", "inspect", "decision", "sim_traffic"],
    ["cluster", "record", "readout", "sim"],
    ["control", "pacing", "store", "election"],
    ["producer", "pipeline", "block", "system"],
    ["packet", "roce", "sched", "source", "evring", "client",
     "diagnosis"],
    ["base", "dpdk", "sysfs", "version", "wire"],
]

# config.h is for those who turn a configuration into parameters; all others get the parameters.
CONFIG_READERS = {"app", "appliance", "config", "plan", "sender", "sim_system"}

PAGE = "docs/architecture.md"
BEGIN, END = "```rooms\n", "```\n"

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def sources():
    for top in ("lib", "app"):
        for folder, _, names in os.walk(top):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.join(folder, name)


def room_of(path):
    parts = path.split("/")
    return "app" if parts[0] == "app" else parts[1]


def arrows():
    """The includes between rooms: {room: {room below: [(file, header)]}}."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in sources():
        with open(path, encoding="utf-8") as file:
            for header in INCLUDE.findall(file.read()):
                target = os.path.join("lib", header)
                if os.path.exists(target) and room_of(target) != room_of(path):
                    found[room_of(path)][room_of(target)].append((path, header))
    return found


def picture(found):
    lines = []
    for number, rooms in enumerate(LAYERS):
        for room in rooms:
            below = [name for layer in LAYERS for name in layer if name in found.get(room, {})]
            lines.append(f"{len(LAYERS) - number:2}  {room:<10} {'-> ' if below else ''}"
                         f"{' '.join(below)}".rstrip())
    return "\n".join(lines) + "\n"


def wrong(found):
    level = {room: -number for number, rooms in enumerate(LAYERS) for room in rooms}
    for room in sorted({room_of(path) for path in sources()} - set(level)):
        yield f"lib/{room}: has no place in LAYERS of tests/lint/arrows.py"
    for room, targets in found.items():
        for target, places in targets.items():
            if level.get(room, 0) <= level.get(target, 0):
                for path, header in places:
                    yield f"{path}: includes {header}, which is not below {room} in the layers"
    for room, targets in found.items():
        for path, header in targets["config"] if "config" in targets else []:
            if header == "config/config.h" and room not in CONFIG_READERS:
                yield f"{path}: includes config/config.h; it gets a struct of parameters instead"


def main():
    found = arrows()
    if sys.argv[1:] == ["--print"]:
        print(picture(found), end="")
        return 0
    problems = list(wrong(found))
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    if BEGIN + picture(found) + END not in page:
        problems.append(f"{PAGE}: its picture of the rooms is not what arrows.py --print prints")
    print("".join(problem + "\n" for problem in problems), end="")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

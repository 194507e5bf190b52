#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Writes the driver profiles of pmd-config/ as C source, so that the program needs no files.

usage: embed_profiles.py OUTPUT PROFILE.json...
"""
import json
import pathlib
import sys


def main():
    output, profiles = sys.argv[1], sys.argv[2:]
    lines = [
        "// Made by embed_profiles.py from pmd-config/.",
        '#include "port/profile.h"',
        "const struct profile_text profile_texts[] = {",
    ]
    for path in map(pathlib.Path, sorted(profiles)):
        text = json.dumps(json.loads(path.read_text()))
        lines.append(f"\t{{ {json.dumps(path.stem)}, {json.dumps(text)} }},")
    lines += ["\t{ 0, 0 },", "};", ""]
    pathlib.Path(output).write_text("\n".join(lines))


main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Finds what lib/ declares and the program does not use: unused.py

A function, variable or macro that a header of lib/ declares must be used by lib/ or app/ beside its
declaration and definition. What only tests use is dead code with a test: both go, or what tests
need moves into tests/. The headers of public libraries are exempt: programs of others use them.
"""

import collections
import os
import re
import sys

PUBLIC = {"lib/evring/evb_mep.h", "lib/evring/evb_reader.h", "lib/evring/evb_results.h",
          "lib/producer/evb_producer.h", "lib/sender/evb_sender.h"}

COMMENTS_AND_STRINGS = re.compile(r"//.*|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")
# Declarations begin in the first column; so do definitions, while uses are indented.
FUNCTION = re.compile(r"^(?!typedef|#)\w[\w\s*]*?\b([A-Za-z_]\w*)\(")
VARIABLE = re.compile(r"^extern [\w\s*]*?\b([A-Za-z_]\w*)(?:\[[^\]]*\])*;")
MACRO = re.compile(r"^#define ([A-Za-z_]\w*)")


def c_files(*tops):
    for top in tops:
        for folder, _, names in os.walk(top):
            for name in names:
                if name.endswith((".c", ".h", ".def", ".py")):
                    yield os.path.join(folder, name)


def code_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return COMMENTS_AND_STRINGS.sub("", text) if not path.endswith(".py") else text


def declared(path, code):
    """Yields (name, line number) of what a header declares."""
    for number, line in enumerate(code.splitlines(), 1):
        for kind in (FUNCTION, VARIABLE, MACRO):
            match = kind.match(line)
            if match and match.group(1) != "__attribute__":
                yield match.group(1), number


def introduced(line):
    """The name that a line in the first column declares or defines, which is no use of it."""
    for kind in (FUNCTION, MACRO):
        match = kind.match(line)
        if match:
            return match.group(1)
    match = re.match(r"^(?:extern )?(?:const )?[\w\s*]*?\b([A-Za-z_]\w*)(?:\[[^\]]*\])*(?: =|;)", line)
    return match.group(1) if match else None


def main():
    uses = collections.Counter()
    names = {}
    for path in c_files("lib", "app"):
        code = code_of(path)
        for line in code.splitlines():
            found = IDENTIFIER.findall(line)
            own = introduced(line) if line[:1].strip() else None
            if own in found:
                found.remove(own)
            uses.update(found)
        if path.endswith(".h") and path.startswith("lib/") and path not in PUBLIC:
            names.update({name: (path, number) for name, number in declared(path, code)})
    tested = set()
    for path in c_files("tests", "docs"):
        tested.update(IDENTIFIER.findall(code_of(path)))
    dead = sorted((place, name) for name, place in names.items() if uses[name] == 0)
    for (path, number), name in dead:
        print(f"{path}:{number}: {name}: {'only tests use it' if name in tested else 'unused'}")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the rules of the source tree that no common tool knows: source_rules.py FILE..."""

import collections
import os
import re
import sys

LONGEST_FUNCTION = 60  # lines between its braces
LONGEST_FILE = 700  # lines: what can be read in one sitting; tables made by a program may be longer

SOURCE = r"(\.([ch]|py|sh)|(^|/)(meson\.build|meson_options\.txt|Dockerfile)|^dev|^\.ci/run)$"
C_SOURCE = r"\.[ch]$"
LIBRARY = r"^lib/.*\.[ch]$"
# What holds no DPDK: it is used and tested without an EAL, by consumers too.
PURE = r"^lib/(base|client|config|control|evring|inspect|pacing|producer|readout|record(?!/(?:results|writer)_role)|roce|sched|sender|sim|source|sysfs|wire)/.*\.[ch]$"

Rule = collections.namedtuple("Rule", "paths pattern text why")

# text: what of a line the pattern is held against; code is the line without strings and comments.
RULES = [
    Rule(C_SOURCE, r"/\*", "code", "a block comment; comments are //"),
    Rule(C_SOURCE, r"\brte_(exit|panic)\b", "code", "errors are returned, the program decides"),
    # A cast that touches memory, a flag of a signal handler and assembly may be volatile.
    Rule(C_SOURCE, r"(?<!\()(?<!asm__ )(?<!asm )\bvolatile\b(?! sig_atomic_t)", "code",
         "threads share C11 atomics"),
    Rule(LIBRARY, r"\b(v?printf|puts|putchar|perror)\s*\(|\b(stdout|stderr)\b", "code",
         "a library does not print"),
    # The child that sends the last will is no program.
    Rule(r"^lib/(?!port/last_will\.c).*\.[ch]$", r"\b(_?exit|abort)\s*\(", "code",
         "a library does not end the program"),
    Rule(PURE, r"#\s*include\s*[<\"]rte_", "line", "this part holds no DPDK"),
    Rule(SOURCE, r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", "line", "do it or delete it"),
]

STRINGS_AND_COMMENTS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|//.*")


def long_functions(lines):
    """Yields (line number, why) of each function that is too long to be seen at once."""
    begin = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            begin = number
        elif line == "}" and begin:
            if number - begin - 1 > LONGEST_FUNCTION:
                yield begin, f"a function of {number - begin - 1} lines; {LONGEST_FUNCTION} at most"
            begin = None


def violations(path, lines):
    """Yields (line number, why) of each rule that a file breaks."""
    if re.search(SOURCE, path):
        if not any("SPDX-License-Identifier: BSD-3-Clause" in line for line in lines[:3]):
            yield 1, "no SPDX-License-Identifier: BSD-3-Clause in the first three lines"
        if len(lines) > LONGEST_FILE and "# --- tables" not in lines:
            yield len(lines), f"more than {LONGEST_FILE} lines; one idea a file"
    if re.search(r"^(lib|app)/.*\.c$", path):
        yield from long_functions(lines)
    rules = [rule for rule in RULES if re.search(rule.paths, path)]
    for number, line in enumerate(lines, 1):
        texts = {"line": line, "code": STRINGS_AND_COMMENTS.sub("", line)}
        for rule in rules:
            if re.search(rule.pattern, texts[rule.text]):
                yield number, f"{line.strip()}: {rule.why}"


def main():
    broken = False
    for path in sys.argv[1:]:
        if not re.search(SOURCE, path) or os.path.islink(path):
            continue
        with open(path, encoding="utf-8") as file:
            for number, why in violations(path, file.read().splitlines()):
                broken = True
                print(f"{path}:{number}: {why}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

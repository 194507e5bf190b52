#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each line that docs/errors.md and tests/functional/plain_errors.txt tell of is one that the program
can say: errors_md.py ROOT.

A line is taken apart at what differs ("...") and at names in capitals; each piece has to stand in a
string of the sources, with nothing but a conversion in the place of what differs.
"""

import glob
import os
import re
import sys

VARIABLE = re.compile(r"\.\.\.|CAP_|NAME|/dev/[a-z/]+|/dpdk|[()\[\]]|: |;")
SHORTEST = 6  # characters of a piece that says something

LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# What the compiler makes one string of; a macro between literals stands for something else.
JOINED = re.compile(
    r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:[A-Z][A-Z_0-9]+\s*|f)?"(?:[^"\\\n]|\\.)*")*')
COMMENT = re.compile(r"^\s*(//|# ).*$", re.MULTILINE)


def strings(root):
    """All strings of the sources, one a line; where a letter may end a plural, with it."""
    texts = []
    for pattern in ("lib/**/*.[ch]", "app/**/*.[ch]", "app/**/*.py"):
        pattern = os.path.join(root, pattern)
        for path in glob.glob(pattern, recursive=True):
            with open(path, encoding="utf-8") as file:
                source = COMMENT.sub("", file.read())
            texts += ["".join(LITERAL.findall(run)) for run in JOINED.findall(source)]
    text = "\n".join(texts).replace('\\"', '"').replace("%%", "%")
    return text + "\n" + re.sub(r"(?<=[a-z])%s", "s", text)


def plain_lines(path):
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.startswith("#"):
                yield number, line.rstrip("\n")


def lines(path):
    """(number, text) of what stands in the first column of the tables."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            row = re.match(r"\| (`.*?`) \|", line)
            if row:
                for text in re.findall(r"`([^`]+)`", row.group(1)):
                    yield number, text


def main():
    root = sys.argv[1]
    known = strings(root)
    manual = os.path.join(root, "docs", "errors.md")
    plain = os.path.join(root, "tests", "functional", "plain_errors.txt")
    checked, wrong = 0, []
    for path, number, text in (*((manual, *line) for line in lines(manual)),
                               *((plain, *line) for line in plain_lines(plain))):
        for piece in VARIABLE.split(text):
            piece = piece.strip(" ,'\"")
            if len(piece) < SHORTEST:
                continue
            checked += 1
            if piece not in known:
                wrong.append(f"{path}:{number}: nothing says {piece!r}")
    print("\n".join(wrong))
    print(f"{checked} pieces of messages, {len(wrong)} unknown")
    return 1 if wrong or checked < 100 else 0


if __name__ == "__main__":
    sys.exit(main())

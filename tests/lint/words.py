#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the words of comments and of the manual: words.py FILE...

The manual and the code use the field's terms, so that an engineer understands them on first
reading, whatever their first language. This table holds the words that have proved hard to read,
each with what to write instead. It covers the comments of lib/ and app/ and the text of the
manual; code in the manual (blocks, and what stands in backquotes) is left out.
"""

import re
import sys

C_SOURCE = re.compile(r"^(lib|app)/.*\.[ch]$")
MANUAL = re.compile(r"^((docs/.*|README|CONTRIBUTING)\.md)$")

THINGS = (
    "block builder burst byte connection core CPU credit event file fragment frame grant group"
    " lcore line link loop message MFP node packet peer poll port queue record role run second"
    " segment sender sent slot source table thread"
).split()
COUNTED = (
    r"(?:[0-9]+|one|two|once|twice|(?:[kMGT]?i?[bB])|(?:kB|Gb|Mb)"
    r"|(?:bits|blocks|bytes|credits|cycles|entries|events|fragments|frames|grants|instructions"
    r"|lines|links|messages|MFPs|packets|polls|records|requests|rings|segments|slots|threads"
    r"|times))"
)

# pattern: what to write instead
WORDS = {
    rf"{COUNTED} an? (?:{'|'.join(THINGS)})\b": "per ..., or a unit such as bytes/s",
    r"mend(?:s|ed|ing)?": "fix, remedy",
    r"told": "sent, reported, or who reports what",
    r"heard": "received",
    r"kept": "retained, stored",
    r"(?<!same )(?<!this )(?<!that )(?<!any )(?<!no )(?<!either )(?<!other )(?<!by the )(?<!one-)"
    r"(?<!two-)ways?(?! around)": "path, address handle, method",
    r"lanes?": "flow",
    r"(?<!in )doubts?": "in doubt, or what is not known",
    r"suspects?": "in doubt, suspected by whom",
    r"is there": "is present, is available",
    r"what was": "name the thing",
    r"as far": "say it plainly",
    r"mails?": "mailbox, transport",
    r"islands?": "out-of-order ranges",
    r"carver": "arena",
    r"answer(?:s|ed|ing)?": "response, reply, respond",
    r"anew": "again, from 0, restarts",
    r"whoever": "name who: a host, a process, a reader",
    r"in vain": "without success, or what follows",
    r"hence": "so, which",
    r"for ever": "without limit, without end",
    r"of late(?! events)": "recently",
}
# What stands in code, too.
NAMES = {
    r"\w*roce_way\w*": "address handle",
    r"struct work\b": "work request",
    r"\w*carver\w*": "arena",
    r"\w*islands?\w*": "out-of-order ranges",
}

WORD_RULES = [(re.compile(rf"\b(?:{p})\b", re.IGNORECASE), w) for p, w in WORDS.items()]
NAME_RULES = [(re.compile(rf"\b{p}"), w) for p, w in NAMES.items()]

STRINGS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")


def comments(lines):
    """Yields (line number, text): each block of // comments as one text, for a phrase may wrap."""
    first, words = 0, []
    for number, line in enumerate([*lines, ""], 1):
        code, _, comment = STRINGS.sub('""', line).partition("//")
        if comment and words and not code.strip():
            words.append(comment.strip())
            continue
        if words:
            yield first, " ".join(words)
        first, words = number, [comment.strip()] if comment else []


def paragraphs(lines):
    """Yields (line number, text): each paragraph of a page, without its code."""
    first, words, code = 0, [], False
    for number, line in enumerate([*lines, ""], 1):
        fence = line.lstrip().startswith("```")
        code ^= fence
        if code or fence or not line.strip() or line.startswith("    "):
            if words:
                yield first, " ".join(words)
            words = []
            continue
        first = first if words else number
        words.append(line.strip())


def found(path, lines):
    """Yields (line number, what was found, what to write instead)."""
    in_c = C_SOURCE.search(path)
    for number, text in comments(lines) if in_c else paragraphs(lines):
        text = re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)
        for rule, instead in WORD_RULES:
            for match in rule.finditer(text):
                yield number, match.group(0), instead
    if in_c:
        for number, line in enumerate(lines, 1):
            for rule, instead in NAME_RULES:
                for match in rule.finditer(line.partition("//")[0]):
                    yield number, match.group(0), instead


def main():
    broken = False
    for path in sys.argv[1:]:
        if not C_SOURCE.search(path) and not MANUAL.search(path):
            continue
        with open(path, encoding="utf-8") as file:
            for number, text, instead in found(path, file.read().splitlines()):
                broken = True
                print(f"{path}:{number}: \"{text}\": write {instead}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

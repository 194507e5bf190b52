#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sums up test runs: report.py TESTLOG.json...

Each log is what `meson test --logbase` leaves, one JSON object a line. A cmocka program and a
script of tests/functional count as their cases, any other test as one. The last line is
"N passed, N failed, N skipped"; the exit status is 1 if anything failed or nothing ran. Why a test
skips, it says in a line "skip: reason".
"""

import json
import os
import re
import sys

CMOCKA_CASE = re.compile(r"^\[ +(RUN|OK|SKIPPED|FAILED|ERROR) +\] (\w+)$", re.MULTILINE)
# As the runner in tests/functional/evbtest.py prints them.
SCRIPT_CASE = re.compile(r"^(ok|skip|FAIL): (test_\w+)(?:: (.*))?", re.MULTILINE)
SKIP_REASON = re.compile(r"^skip: (.+)$", re.MULTILINE)


def skip_reason(text):
    reasons = SKIP_REASON.findall(text)
    return reasons[-1] if reasons else "no reason given"


def cmocka_cases(output):
    """Yields (name, result, reason) of each case that a cmocka program ended."""
    begin = 0
    for case in CMOCKA_CASE.finditer(output):
        status, name = case.groups()
        if status == "RUN":
            begin = case.end()
        elif status == "OK":
            yield name, "passed", ""
        elif status == "SKIPPED":
            yield name, "skipped", skip_reason(output[begin : case.start()])
        else:
            yield name, "failed", ""


def script_cases(output):
    """Yields (name, result, reason) of each test that a script of tests/functional ended."""
    words = {"ok": "passed", "skip": "skipped", "FAIL": "failed"}
    for status, name, reason in SCRIPT_CASE.findall(output):
        yield name, words[status], reason


def test_results(test):
    """Yields (case, result, reason) of one test of the log; case is "" for the test as a whole."""
    output = test.get("stdout", "")
    cases = [*cmocka_cases(output), *script_cases(output)]
    yield from cases
    if test["result"] not in ("OK", "SKIP"):
        if all(result != "failed" for _, result, _ in cases):
            last = f" after {cases[-1][0]}" if cases else ""
            yield "", "failed", f"{test['result']}{last}, status {test['returncode']}"
    elif not cases:
        if test["result"] == "SKIP":
            yield "", "skipped", skip_reason(output)
        else:
            yield "", "passed", ""


def results(log_path):
    """Yields (name, result, reason) of everything in a log, under the label that is its name, to which
    meson adds that of a wrapper: unit-behind.sh.json."""
    label = re.split("[-.]", os.path.basename(log_path))[0]
    with open(log_path, encoding="utf-8") as log:
        for line in log:
            test = json.loads(line)
            name = f"{label}: {test['name'].split(' / ')[-1]}"
            for case, result, reason in test_results(test):
                yield f"{name}: {case}" if case else name, result, reason


def main():
    found = {"passed": [], "failed": [], "skipped": []}
    for log_path in sys.argv[1:]:
        # meson leaves no log where a selection holds no test.
        if os.path.exists(log_path):
            for name, result, reason in results(log_path):
                found[result].append(f"{name}: {reason}" if reason else name)
    for result in ("skipped", "failed"):
        for line in found[result]:
            print(f"{result}: {line}")
    print(", ".join(f"{len(found[result])} {result}" for result in found))
    return 1 if found["failed"] or not found["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())

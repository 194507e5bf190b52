# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""How evb-ejfat reports: one line, on standard output or standard error."""

import sys


class Refusal(Exception):
    """Ends the program. Its text is one line: what, where, and the remedy."""


def say(text):
    print(text, flush=True)


def complain(text):
    print(f"evb-ejfat: {text}", file=sys.stderr, flush=True)

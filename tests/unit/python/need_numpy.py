# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Events in Python are arrays of numpy: without it their tests are skips."""

import importlib.util
import sys


def or_skip():
    if not importlib.util.find_spec("numpy"):
        print("skip: numpy is not installed")
        sys.exit(77)

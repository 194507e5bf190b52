# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""make_control.py DISSECTOR OUTPUT COMPILER...: writes the dissector of the control protocol with the
layout of its records, which the compiler's preprocessor makes, in the place of its line TABLE."""

import subprocess
import sys

TABLE = "--@TABLE@\n"


def main(dissector, output, *compiler):
    calls = subprocess.run([*compiler, "-E", "-P"], check=True, stdout=subprocess.PIPE,
                           universal_newlines=True).stdout
    with open(dissector, encoding="utf-8") as file:
        text = file.read()
    if text.count(TABLE) != 1:
        sys.exit(f"{dissector}: the line {TABLE.strip()} must be there once")
    with open(output, "w", encoding="utf-8") as file:
        file.write(text.replace(TABLE, calls))


main(*sys.argv[1:])

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The versions in docs/compatibility.md are those of the sources: compatibility_md.py ROOT."""

import os
import re
import sys

# (first column of the row, file that has its version, that version there, what the row says of it)
VERSIONS = (
    ("[event ring]", "lib/evring/evring_layout.h", r"EVRING_LAYOUT_VERSION (\d+)u", "layout: {}"),
    ("[event ring]", "lib/evring/evring_layout.h", r"EVRING_LAYOUT_VERSION (\d+)u", "this library reads {}"),
    ("[event ring]", "lib/evring/meson.build", r"soversion: '(\d+)'", "libevb-reader.so.{}"),
    ("[producer ring]", "lib/producer/producer_layout.h", r"PRODUCER_LAYOUT_VERSION (\d+)u", "layout: {}"),
    ("[producer ring]", "lib/producer/producer_layout.h", r"PRODUCER_LAYOUT_VERSION (\d+)u",
     "this library has {}"),
    ("[producer ring]", "lib/producer/meson.build", r"soversion: '(\d+)'", "libevb-producer.so.{}"),
    ("[control protocol]", "lib/wire/ctrl.h", r"CTRL_VERSION +(\d+)", "| {}, in each frame |"),
    ("[decisions]", "lib/evring/evb_results.h", r"at \+ 8, 4\) != (\d+)", "| {}, in the header"),
)


def main():
    root = sys.argv[1]

    def text_of(path):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read()

    rows = text_of("docs/compatibility.md").splitlines()
    wrong = []
    for begin, path, pattern, said in VERSIONS:
        version = re.search(pattern, text_of(path))[1]
        row = next(row for row in rows if row.startswith(f"| {begin}"))
        if said.format(version) not in row:
            wrong.append(f"docs/compatibility.md: the row of {begin} lacks {said.format(version)!r}")
    print("\n".join(wrong) or f"{len(VERSIONS)} versions")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

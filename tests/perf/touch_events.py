# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Reads every byte of the events of a ring through numpy views: touch_events.py DIRECTORY BY

BY is `event` (one view on all bytes), `source` or `fragment`. Prints, as JSON, the bytes, the time
from the first event to the last one, and the CPU time.
"""

import json
import sys
import time

import numpy

import evb


def by_event(event):
    return numpy.maximum.reduce(numpy.frombuffer(event.data, "u1"))


def by_source(event):
    return max([numpy.maximum.reduce(source.payload) for source in event.mep])


def by_fragment(event):
    return max([numpy.maximum.reduce(fragment.data)
                for source in event.mep for fragment in source])


def main():
    directory, by = sys.argv[1:]
    touch = {"event": by_event, "source": by_source, "fragment": by_fragment}[by]
    found = {"bytes": 0, "events": 0}
    with evb.Reader("feeder", "filter", directory=directory) as reader:
        begin, used = None, None
        for event in reader:
            if begin is None:  # what comes before is the start
                begin, used = time.monotonic(), time.thread_time()
                continue
            touch(event)
            found["bytes"] += event.length
            found["events"] += 1
        found.update(seconds=time.monotonic() - begin, cpu_seconds=time.thread_time() - used)
    print(json.dumps(found))


if __name__ == "__main__":
    main()

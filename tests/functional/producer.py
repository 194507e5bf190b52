# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Gives the MFPs of a file to a producer ring, from where an earlier process was killed:
producer.py NAME RING FILE.mfp [finish]

It prints a line per block. Without "finish" it stays when all are committed.
"""

import signal
import sys

import evb


def main():
    name, ring, path, *finish = sys.argv[1:]
    with evb.Producer(name, ring) as producer:
        for mfp in evb.open_file(path):
            last = producer.last(mfp.id)
            if last is not None and mfp.event_id <= last:
                continue
            producer.put(mfp.id, mfp.event_id, mfp.data)
            print("block", mfp.id, mfp.event_id, flush=True)
        if not finish:
            print("block", flush=True)
            signal.pause()
        producer.finish()


if __name__ == "__main__":
    main()

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Draws the distribution of event sizes of a running evb: monitor.py [--out FILE.png] NAME

Without --out it opens a window. It is a spy, which never holds the builders back, and draws the
events that it can read in time; as a member of a --group it gets them all.
"""

import argparse
import signal
import sys
import time

import matplotlib
import numpy as np

import evb

BINS = np.logspace(1, 8, 141)  # bytes: 20 per decade
SHOWN = 10  # bins on both sides of the smallest and the largest event


class Sizes:
    """A histogram of the sizes of events."""

    def __init__(self):
        self.counts = np.zeros(len(BINS) - 1, np.int64)
        self.events = self.incomplete = self.bytes = 0
        self.smallest, self.largest = np.inf, 0

    def fill(self, event):
        """The payload of all sources, for each of the events that were built together."""
        try:
            sizes = event.mep.sizes.sum(axis=0)
        except ValueError:
            if event.intact:
                raise
        if not event.intact:  # the builder has written another event there meanwhile
            return
        self.counts += np.histogram(sizes, BINS)[0]
        self.events += len(sizes)
        self.incomplete += event.incomplete * len(sizes)
        self.bytes += int(sizes.sum())
        self.smallest, self.largest = min(self.smallest, sizes.min()), max(self.largest, sizes.max())

    def __str__(self):
        if self.events == 0:
            return "no events"
        return (f"{self.events} events, {self.incomplete} incomplete; {self.smallest} to "
                f"{self.largest} bytes, {self.bytes / self.events:.0f} on average")


class Picture:
    """The histogram, in a window or a file."""

    def __init__(self, name, path):
        if path:
            matplotlib.use("Agg")
        from matplotlib import pyplot
        self._pyplot, self._path = pyplot, path
        self._figure, self._axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
        self._name = name

    def draw(self, sizes):
        axes = self._axes
        axes.clear()
        axes.stairs(sizes.counts, BINS, fill=True)
        axes.set(xscale="log", xlabel="event size / bytes", ylabel="events", title=f"{self._name}: {sizes}")
        filled = np.flatnonzero(sizes.counts)
        if len(filled):
            axes.set_xlim(BINS[max(0, filled[0] - SHOWN)], BINS[min(len(BINS) - 1, filled[-1] + SHOWN)])
        if self._path:
            self._figure.savefig(self._path)
        else:
            self._pyplot.pause(0.01)


def watch(reader, picture, sizes, every):
    """Until the end of the run. Draws every so many seconds, and at the end."""
    drawn = time.monotonic()
    try:
        while True:
            event = reader.next(timeout=every)
            if event is not None:
                with event:
                    sizes.fill(event)
            if time.monotonic() - drawn > every:
                picture.draw(sizes)
                drawn = time.monotonic()
    except (evb.EndOfRun, KeyboardInterrupt):
        picture.draw(sizes)


def main():
    parser = argparse.ArgumentParser(description="Draws the distribution of event sizes.")
    parser.add_argument("name", help="of the appliance")
    parser.add_argument("--group", help="to join; without it the monitor is a spy")
    parser.add_argument("--out", metavar="FILE.png", help="draw to a file instead of a window")
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS", help="between two drawings")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    sizes = Sizes()
    try:
        with evb.Reader(options.name, options.group or "main", spy=not options.group) as reader:
            watch(reader, Picture(options.name, options.out), sizes, options.every)
    except evb.ReaderError as error:
        sys.exit(f"monitor.py: {error.strerror}")
    print(sizes)


if __name__ == "__main__":
    main()

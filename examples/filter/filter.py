#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The same filter as filter.c, in Python with numpy: filter.py [--group GROUP] [--print] NAME

magnet.h, hits.h and tracking.h describe the model, the payload and the method; the numbers here are
theirs.
"""

import argparse
import errno
import struct
import sys
import time

import numpy as np

import evb

# magnet.c
SEGMENT_Z = 800.0
STATION_Z = np.array([7900.0, 8600.0, 9300.0])
CENTRE_Z = 5077.01
COEFFICIENTS = np.array([
    [1169.2, 932.94, -4935.4, 3909.4, -23594, -4298.8, 1.5551e+06],
    [1213.3, 875.15, -5186.7, 3252, -23128, -2895.6, 1.5508e+06],
    [1239.5, 826.51, -5244.7, 2865.9, -21096, -1798.1, 1.543e+06],
])

# hits.h
SEGMENTS_SOURCE, HITS_SOURCE = 0x1001, 0x3801
SEGMENTS_TYPE, HITS_TYPE = 120, 121
PAYLOAD_VERSION = 1
MAX_SEGMENTS, MAX_HITS = 256, 1024

# tracking.h
ESTIMATE_SIGMAS, RESOLUTION = 3.0, 0.15
WINDOW_X, WINDOW_X_P = 2.0, 600000.0
WINDOW_Y, WINDOW_Y_P = 2.0, 600000.0
LINE_HIGH_PT, LINE_PAIR, LINE_DAMAGED = 0, 1, 2
HIGH_PT, PAIR_PT = 4000.0, 2000.0


class Damaged(Exception):
    """A source is missing or malformed."""


def records(fragment, kind, width, most):
    """The records of a fragment: an array of `width` columns, read in the slot."""
    if fragment.type != kind or len(fragment.data) < 4:
        raise Damaged
    version, n = struct.unpack_from("<HH", fragment.data)
    if version != PAYLOAD_VERSION or len(fragment.data) != 4 + 4 * width * n:
        raise Damaged
    found = np.frombuffer(fragment.data, "<f4", offset=4).reshape(n, width)
    return found[:most].astype(np.float64)


def read_hits(fragment):
    """The hits of a station whose coordinates are numbers."""
    found = records(fragment, HITS_TYPE, 2, None)
    return found[np.isfinite(found).all(axis=1)][:MAX_HITS]


def extrapolate(segments):
    """Per segment and station: x and y of a straight line, and the displacement for q/p = 1."""
    x, y, tx, ty = segments[:, :4].T
    length = STATION_Z - SEGMENT_Z
    tx2, ty2 = tx * tx, ty * ty
    terms = np.stack([np.ones_like(tx), tx2, tx2 * tx2, ty2, ty2 * ty2, tx2 * ty2,
                      tx2 * ty2 * ty2])
    return (x[:, None] + tx[:, None] * length, y[:, None] + ty[:, None] * length,
            (COEFFICIENTS @ terms).T * (STATION_Z - CENTRE_Z))


def nearest(hits, x, y, q_over_p):
    """Per candidate the hit nearest in x within the windows: its x (nan: none), and the distance."""
    window_x = WINDOW_X + WINDOW_X_P * np.abs(q_over_p)
    window_y = WINDOW_Y + WINDOW_Y_P * np.abs(q_over_p)
    if len(hits) == 0:
        return np.full(len(x), np.nan), window_x
    away = np.abs(hits[:, 0] - x[:, None])
    near = (np.abs(hits[:, 1] - y[:, None]) < window_y[:, None]) & (away < window_x[:, None])
    away[~near] = np.inf
    best = np.argmin(away, axis=1)
    distance = away[np.arange(len(x)), best]
    return np.where(np.isfinite(distance), hits[best, 0], np.nan), distance


def find_tracks(segments, stations):
    """Returns three arrays: number of the segment, q/p, pT."""
    line_x, line_y, displacement = extrapolate(segments)
    estimate = segments[:, 4]
    # All pairs of a segment and a hit of station 1 in its window.
    shift = displacement[:, 0] * estimate
    window_x = WINDOW_X + WINDOW_X_P * np.abs(estimate) + \
        ESTIMATE_SIGMAS * RESOLUTION * np.abs(shift)
    window_y = WINDOW_Y + WINDOW_Y_P * np.abs(estimate)
    hits = stations[0]
    segment, hit = np.nonzero(
        (np.abs(hits[:, 0] - (line_x[:, 0] + shift)[:, None]) < window_x[:, None]) &
        (np.abs(hits[:, 1] - line_y[:, 0, None]) < window_y[:, None]))
    first = (hits[hit, 0] - line_x[segment, 0]) / displacement[segment, 0]
    window = WINDOW_X + WINDOW_X_P * np.abs(first)
    chi2, total = np.zeros(len(first)), first.copy()
    for s in (1, 2):
        x = line_x[segment, s] + displacement[segment, s] * first
        found, distance = nearest(stations[s], x, line_y[segment, s], first)
        chi2 += (distance / window) ** 2
        total += (found - line_x[segment, s]) / displacement[segment, s]
    chi2[~np.isfinite(total)] = np.inf
    # The best of each segment, the first one if two are equal.
    order = np.lexsort((hit, chi2, segment))
    order = order[np.isfinite(chi2[order])]
    _, at = np.unique(segment[order], return_index=True)
    best = order[at]
    q_over_p = total[best] / len(STATION_Z)
    t2 = segments[segment[best], 2] ** 2 + segments[segment[best], 3] ** 2
    return segment[best], q_over_p, np.sqrt(t2 / (1 + t2)) / np.abs(q_over_p)


def lines_of_tracks(q_over_p, pt):
    high = bool(np.any(pt > HIGH_PT))
    pair = bool(np.any((pt > PAIR_PT) & (q_over_p > 0)) and
                np.any((pt > PAIR_PT) & (q_over_p < 0)))
    return high << LINE_HIGH_PT | pair << LINE_PAIR


class Filter:
    def __init__(self, prints):
        self.prints = prints
        self.built = self.accepted = self.events = self.tracks = 0
        self.cpu_seconds = 0.0

    def lines_of(self, built):
        """The lines of a built event: those of any of the events in it."""
        lines = 0
        try:
            mep = built.mep
            sources = [mep.find(SEGMENTS_SOURCE)]
            sources += [mep.find(HITS_SOURCE + s) for s in range(len(STATION_Z))]
            if any(source.missing or source.opaque for source in sources):
                raise Damaged
            for i, fragments in enumerate(zip(*sources)):
                lines |= self.lines_of_one(mep.event_id + i, fragments)
        except (Damaged, KeyError, ValueError):
            lines |= 1 << LINE_DAMAGED
        return lines

    def lines_of_one(self, event_id, fragments):
        segments = records(fragments[0], SEGMENTS_TYPE, 5, MAX_SEGMENTS)
        stations = [read_hits(fragment) for fragment in fragments[1:]]
        numbers, q_over_p, pt = find_tracks(segments, stations)
        lines = lines_of_tracks(q_over_p, pt)
        self.events += 1
        self.tracks += len(numbers)
        if self.prints:
            print(event_id, f"{lines:x}", len(numbers),
                  *(f"{n}:{q:.9e}" for n, q in zip(numbers, q_over_p)))
        return lines

    def run(self, reader):
        decides = True
        for built in reader:
            begin = time.thread_time()
            lines = self.lines_of(built)
            self.cpu_seconds += time.thread_time() - begin
            self.built += 1
            self.accepted += lines != 0
            try:
                if decides:
                    built.decide(lines != 0, lines=lines)
            except evb.ReaderError as error:
                if error.errno != errno.EPERM:
                    raise
                print(f"filter.py: {error.strerror}; it only counts", file=sys.stderr)
                decides = False


def main():
    parser = argparse.ArgumentParser(description="Decides about the events of the magnet model.")
    parser.add_argument("name")
    parser.add_argument("--group", default="filter")
    parser.add_argument("--directory")
    parser.add_argument("--print", action="store_true", help="one line per event, as filter.c")
    options = parser.parse_args()
    work = Filter(options.print)
    try:
        with evb.Reader(options.name, options.group, directory=options.directory) as reader:
            work.run(reader)
    except KeyboardInterrupt:
        pass
    except evb.ReaderError as error:
        sys.exit(f"filter.py: {error.strerror}")
    print(f"{work.built} built events, {work.accepted} accepted", file=sys.stderr)
    if work.events:
        print(f"{work.events} events with {work.tracks / work.events:.1f} tracks on average, "
              f"{work.events / work.cpu_seconds:.0f} events per second of CPU time",
              file=sys.stderr)


if __name__ == "__main__":
    main()

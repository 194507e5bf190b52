# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Endpoint for DPDK's dpdk-telemetry-exporter.py (usertools of DPDK 23.11 and later): all metrics
of a running evb, as docs/metrics.md lists them, with `dpdk_` before each name.

    dpdk-telemetry-exporter.py -s /run/dpdk/evb-NAME/dpdk_telemetry.v2 -e evb

The exporter looks for endpoints in /usr/share/dpdk/telemetry-endpoints and
/usr/local/share/dpdk/telemetry-endpoints, or where -p says. It calls info() for the names and
metrics() for the values.
"""

import json
import os

# The build makes this file from evb's own tables (app/metrics_dump/metrics_dump.c).
TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "evb", "metrics.json")
PREFIX = "evb_"  # of names; the exporter puts it there itself

FIRST_BOUND_LOG2, LAST_BOUND_LOG2 = 10, 36  # of histograms: 1 us to 69 s
INFO_HELP = "texts and numbers that tell which one it is"


def _rows(place, metric):
    """[(place, key, name, type, scale, labels or words, description)]"""
    def row(key, name, kind, more):
        return (place, key, name.removeprefix(PREFIX), kind, metric["scale"], more, metric["help"])
    key, name, kind = metric["key"], metric["name"], metric["type"]
    if kind == "counter":
        name += "_total"
    if kind is None or metric["hidden"]:
        return []
    if metric["causes"]:
        return [row(f"{key}_{cause}", name, kind, {"cause": cause}) for cause in metric["causes"]]
    if metric["words"]:
        return [row(key, name, "state", metric["words"])]
    if kind == "histogram":
        return [row(f"{key}_ns", name, kind, {}),
                row(f"{key}_ns", metric["maximum"], "maximum", {})]
    return [row(key, name, kind, {})]


def _read_tables():
    """{place: (key that names a thing, keys that are labels, keys of the info)}, where the appliance
    itself is no thing; {place of the appliance itself: its prefix}; and all rows."""
    groups, wholes, rows = {}, {}, []
    with open(TABLES, encoding="utf-8") as file:
        places = [place for place in json.load(file) if not place["hidden"]]
    for place in places:
        first, *others = place["metrics"]
        if place["whole"]:
            wholes[place["name"]] = f"{place['prefix']}_".removeprefix(PREFIX)
            others = place["metrics"]
        groups[place["name"]] = (first["key"], [m["key"] for m in others if m["label"]],
                                 [m["key"] for m in others if m["info"]])
        for metric in place["metrics"]:
            rows += _rows(place["name"], metric)
    return groups, wholes, rows


GROUPS, WHOLES, METRICS = _read_tables()


def info():
    """{name: (description, type)}. Parts of histograms are untyped: the exporter has no type for
    them that fits."""
    table = {}
    for place, (_, _, keys) in GROUPS.items():
        if keys:
            table[_info_name(place)] = (INFO_HELP, "gauge")
    for _, _, name, kind, _, _, description in METRICS:
        if kind == "histogram":
            for part in ("bucket", "count", "sum"):
                table[f"{name}_{part}"] = (description, "untyped")
        else:
            table[name] = (description, "counter" if kind == "counter" else "gauge")
    return table


def metrics(sock):
    """[(name, value, labels)] of all things, metric by metric."""
    things = {place: _things(sock, place) for place in GROUPS if "/" not in place}
    for place in GROUPS:
        if "/" in place:
            group, nested = place.split("/")
            things[place] = list(_nested_things(things[group], place, nested))
    values = []
    for place, (_, _, keys) in GROUPS.items():
        if keys:
            values += [(_info_name(place), 1, labels | _labels(thing, keys))
                       for labels, thing in things[place]]
    for place, key, name, kind, scale, more, _ in METRICS:
        for labels, thing in things[place]:
            if key in thing:
                values += _values(name, kind, scale, labels, more, thing[key])
    return values


def _info_name(place):
    return f"{WHOLES.get(place, place.replace('/', '_') + '_')}info"


def _text(value):
    """As a label. The exporter spoils quotes."""
    if isinstance(value, list):
        value = ",".join(map(str, value))
    return str(value).replace('"', "'")


def _labels(thing, keys):
    return {key: _text(thing[key]) for key in keys if key in thing}


def _things(sock, place):
    """[(labels, keys)] of a group, or of the appliance itself."""
    if place in WHOLES:
        answer = sock.cmd(f"/evb/{place}")
        return [({}, answer)] if answer else []
    name, labels, _ = GROUPS[place]
    things, offset, count = [], 0, 1
    while offset < count:
        answer = sock.cmd(f"/evb/{place}/all", offset) or {}
        count = answer.get("count", 0)
        page = [thing for thing in answer.values() if isinstance(thing, dict)]
        things += [({place: _text(thing[name])} | _labels(thing, labels), thing) for thing in page]
        offset += max(1, len(page))
    return things


def _nested_things(outer, place, nested):
    name, labels, _ = GROUPS[place]
    for outer_labels, thing in outer:
        for key, inner in thing.items():
            if isinstance(inner, dict) and key.rpartition("_")[0] == nested:
                yield outer_labels | {nested: _text(inner[name])} | _labels(inner, labels), inner


def _values(name, kind, scale, labels, more, value):
    if kind == "state":
        return [(name, int(value == word), labels | {f"evb_{name}": word}) for word in more]
    if kind == "maximum":
        return [(name, value["max"] * scale, labels)]
    if kind != "histogram":
        return [(name, value * scale, labels | more)]
    bounds = [(2 ** i, value[f"le_{2 ** i}"])
              for i in range(FIRST_BOUND_LOG2, LAST_BOUND_LOG2 + 1) if f"le_{2 ** i}" in value]
    return [*((f"{name}_bucket", count, labels | {"le": f"{bound * scale:.15g}"})
              for bound, count in bounds),
            (f"{name}_bucket", value["inf"], labels | {"le": "+Inf"}),
            (f"{name}_count", value["count"], labels),
            (f"{name}_sum", value["sum"] * scale, labels)]

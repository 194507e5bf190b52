# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A strict reader of OpenMetrics 1.0 text, as far as evb uses it: no exemplars, no timestamps. What
the specification forbids is a Failure."""

import math
import re

from evbtest import check, check_equal

SUFFIXES = {"counter": ["_total"], "gauge": [""], "info": ["_info"], "stateset": [""],
            "histogram": ["_bucket", "_count", "_sum"]}
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(\{{.*\}})? ([^ ]+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]Inf")


class Family:
    def __init__(self, name):
        self.name = name
        self.meta = {}
        self.samples = []  # (name, {label: value}, number)

    def suffix(self, sample_name):
        """What a sample's name has behind the family's, None if it is no sample of it."""
        suffixes = SUFFIXES[self.meta.get("TYPE", "gauge")]
        rest = sample_name.removeprefix(self.name)
        return rest if sample_name.startswith(self.name) and rest in suffixes else None


def parse(text):
    """{name: Family}, all of them checked."""
    check(text.endswith("# EOF\n"), f"ends in {text[-40:]!r}")
    lines = text[:-len("# EOF\n")].splitlines()
    check("# EOF" not in lines, "more than one # EOF")
    families, family = {}, None
    for line in lines:
        if line.startswith("# "):
            _, word, name, *rest = line.split(" ", 3)
            check(word in ("TYPE", "UNIT", "HELP") and re.fullmatch(NAME, name), line)
            if family is None or family.name != name:
                check(name not in families, f"{name} is not in one piece: {line}")
                family = families[name] = Family(name)
            check(word not in family.meta and not family.samples, f"out of place: {line}")
            family.meta[word] = rest[0] if rest else ""
        else:
            check(family is not None, f"a sample without family: {line}")
            _add_sample(family, line)
    for one in families.values():
        _check_family(one)
    return families


def _labels(text, line):
    labels, at = {}, 0
    while at < len(text):
        match = LABEL.match(text, at)
        check(match, f"labels of {line}")
        check(match[1] not in labels, f"a label twice: {line}")
        check(match[3] == "," or match.end() == len(text), f"labels of {line}")
        labels[match[1]] = re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), match[2])
        at = match.end()
    check(not text.endswith(","), f"labels of {line}")
    return labels


def _add_sample(family, line):
    match = SAMPLE.fullmatch(line)
    check(match and NUMBER.fullmatch(match[3]), f"no sample: {line}")
    check(family.suffix(match[1]) is not None, f"no sample of {family.name}: {line}")
    labels = _labels((match[2] or "{}")[1:-1], line)
    family.samples.append((match[1], labels, float(match[3])))


def _check_family(family):
    name, kind = family.name, family.meta.get("TYPE")
    check(kind in SUFFIXES, f"type {kind} of {name}")
    check(family.meta.get("HELP"), f"no help for {name}")
    unit = family.meta.get("UNIT")
    check(unit is None or (unit and name.endswith(f"_{unit}")), f"unit {unit} of {name}")
    check(not name.endswith(("_total", "_count", "_sum", "_bucket", "_info", "_created")), name)
    keys = [(sample, tuple(sorted(labels.items()))) for sample, labels, _ in family.samples]
    check_equal(len(set(keys)), len(keys), f"different samples of {name}")
    for sample, labels, value in family.samples:
        check(kind != "counter" or (value >= 0 and math.isfinite(value)), f"{sample}: {value}")
        check(kind != "info" or value == 1, f"{sample}: {value}")
        if kind == "stateset":
            check(name in labels and value in (0, 1), f"{sample} {labels}: {value}")
    if kind == "histogram":
        _check_histograms(family)


def _check_histograms(family):
    sets = {}
    for sample, labels, value in family.samples:
        key = tuple(sorted((k, v) for k, v in labels.items() if k != "le"))
        check(("le" in labels) == sample.endswith("_bucket"), f"le of {sample}")
        sets.setdefault(key, []).append((sample.removeprefix(family.name), labels.get("le"), value))
    for key, samples in sets.items():
        bounds = [float(le.replace("Inf", "inf")) for part, le, _ in samples if part == "_bucket"]
        counts = [value for part, _, value in samples if part == "_bucket"]
        what = f"{family.name} {key}"
        check_equal(bounds, sorted(set(bounds)), f"bounds of {what}")
        check_equal(counts, sorted(counts), f"buckets of {what}")
        check(bounds and bounds[-1] == math.inf, f"no +Inf in {what}")
        check_equal([value for part, _, value in samples if part == "_count"], counts[-1:],
                    f"count of {what}")
        check_equal(sum(part == "_sum" for part, _, _ in samples), 1, f"sums of {what}")


def value(families, name, **labels):
    """The one sample of a family that has these labels."""
    found = [number for _, has, number in families[name].samples
             if all(has.get(key) == wanted for key, wanted in labels.items())]
    check_equal(len(found), 1, f"samples of {name} {labels}")
    return found[0]

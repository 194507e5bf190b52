# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Judges event files against what was sent, MFP by MFP and byte by byte."""

import glob
import os

import evb_decode
from evbtest import Failure, check, check_equal

MISSING_TYPE = 92
MALFORMED_TYPE = 95

# In the place of an MFP: the source's block came whole and was no MFP.
MALFORMED = object()


def event_counts(summary):
    return summary["events"]["complete"], summary["events"]["incomplete"]


def files(directory, kind="mep"):
    """The finished files of a folder in the order of their names; none may be unfinished."""
    unfinished = [name for name in os.listdir(directory) if name.startswith(".")]
    check_equal(unfinished, [], f"unfinished files in {directory}")
    return sorted(glob.glob(os.path.join(directory, f"*.{kind}")))


def remove_files(directory):
    for path in files(directory):
        os.unlink(path)


def read_meps(path):
    """(event id, {source: MFP}) of each MEP of a file."""
    data = evb_decode.read(path)
    try:
        for mep in evb_decode.meps(data):
            yield mep.event_id, {mfp.source_id: data[mfp.offset:mfp.offset + mfp.size]
                                 for mfp in mep.mfps}
    except evb_decode.FormatError as error:
        raise Failure(f"{path}: {error}") from error


def read_directory(directory):
    """{event id: {source: MFP}} of all .mep files; no event may be there twice."""
    found = {}
    for path in files(directory):
        for event, blocks in read_meps(path):
            check(event not in found, f"event {event} was written twice")
            found[event] = blocks
    return found


def is_error_mfp(block, kind):
    """True for an MFP of empty fragments, all of this type."""
    mfp = evb_decode.Mfp(block, 0, len(block))
    return not mfp.opaque and not any(mfp.sizes) and set(mfp.types) == {kind}


def _verdict(found, wanted):
    """What is wrong with an MFP; None if it is as it should be."""
    if wanted is MALFORMED:
        return None if is_error_mfp(found, MALFORMED_TYPE) else "is not marked as malformed"
    if wanted is None:
        return None if is_error_mfp(found, MISSING_TYPE) else "is not marked as missing"
    if found == wanted:
        return None
    if is_error_mfp(found, MISSING_TYPE):
        return "is marked as missing"
    return f"differs from byte {len(os.path.commonprefix([found, wanted]))} on"


def check_events(found, expected):
    """expected: {event id: {source: MFP, None if missing, or MALFORMED}}"""
    lost, foreign = expected.keys() - found.keys(), found.keys() - expected.keys()
    check(not lost, f"{len(lost)} events are not there, the first is {min(lost, default=None)}")
    check(not foreign, f"{len(foreign)} events were never sent: {min(foreign, default=None)}")
    for event, blocks in expected.items():
        check_equal(found[event].keys(), blocks.keys(), f"sources of event {event}")
        for source, wanted in blocks.items():
            verdict = _verdict(found[event][source], wanted)
            check(verdict is None, f"event {event}, source {source:#x}: MFP {verdict}")


def check_files(directory, expected):
    check_events(read_directory(directory), expected)

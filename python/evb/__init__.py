# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""evb for Python: events of a running event builder, its telemetry, and its files.

    import evb

    with evb.Reader("demo", group="filter") as reader:
        for event in reader:              # until the run is over; each event is released after its turn
            for source in event.mep:
                for fragment in source:
                    use(source.id, fragment.event_id, fragment.type, fragment.data)

Nothing is copied: types, sizes and data are read-only numpy arrays on the slot of the event ring or
on the mapped file. `fragment.data.view("<f4")` reads numbers of another type, also without a copy.

| name         | what it is                                    | what it needs                |
|--------------|-----------------------------------------------|------------------------------|
| `Reader`     | built events of a running evb                 | libevb-reader, python3-numpy |
| `Producer`   | gives data of readout boards to a running evb | libevb-producer              |
| `Telemetry`  | counters of a running evb                     | -                            |
| `open_file`  | .mep, .mfp and .mdf files                     | python3-numpy                |
| `Mep`        | a built event in any memory                   | python3-numpy                |

A module is loaded when one of its names is first used, so that each part works without the libraries
of the others. docs/python.md is the manual.
"""

import importlib

_MODULES = {
    "events": ("Fragment", "Mep", "Odin", "Result", "Results", "Source"),
    "files": ("Bank", "EventFile", "Record", "open_file"),
    "producer": ("Counters", "Info", "Producer", "ProducerError"),
    "reader": ("Decision", "EndOfRun", "Event", "Reader", "ReaderError"),
    "telemetry": ("Telemetry", "TelemetryError", "running"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_MODULE_OF)
__version__ = "0.1.0"


def __getattr__(name):
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'evb' has no attribute {name!r}")
    return getattr(importlib.import_module(f"evb.{_MODULE_OF[name]}"), name)


def __dir__():
    return [*globals(), *__all__]

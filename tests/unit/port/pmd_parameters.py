#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Checks the driver profiles against the drivers that are installed, and the manual against them:
pmd_parameters.py docs/ports.md PROFILE...

Each driver's shared object tells its name and its parameters (PMD_INFO_STRING, what dpdk-pmdinfo.py
reads), and holds the parameters' names as strings. A device argument of a profile that a driver
does not have is an error, and so is one without a reason, or a profile without its documents.

Exit status: 0 all are right, 1 one is not, 77 no drivers are installed here.
"""
import glob
import json
import os
import re
import sys

EXIT_SKIP = 77
DRIVERS = "/usr/lib/*/dpdk/pmds-*/librte_net_*.so"
INFO = re.compile(rb"PMD_INFO_STRING= (\{.*?\})\0")
NEEDED = ("driver", "summary", "documents", "tried", "why")


class Driver:
    """A driver as its shared object describes it."""

    def __init__(self, info, strings):
        self.name = info["name"]
        self.is_pci = bool(info.get("pci_ids"))
        self._listed = info.get("params")
        self._strings = strings

    def has(self, parameter):
        # Linkers let a string end in another: where the driver lists its parameters, that will do.
        if self._listed is not None:
            return f"{parameter}=" in self._listed and f"{parameter}\0".encode() in self._strings
        return f"\0{parameter}\0".encode() in self._strings


def read_drivers():
    drivers = {}
    for path in {os.path.realpath(found) for found in glob.glob(DRIVERS)}:
        with open(path, "rb") as file:
            strings = file.read()
        for info in INFO.findall(strings):
            driver = Driver(json.loads(info), strings)
            drivers[driver.name] = driver
    return drivers


def parameters_of(profile):
    named = [profile[key] for key in ("device_argument", "queues_argument") if profile.get(key)]
    return [*named, *profile.get("arguments", {}), *profile.get("jumbo_arguments", {})]


def faults(profile, drivers):
    """Yields what is wrong with a profile."""
    for key in NEEDED:
        if not profile.get(key):
            yield f"has no {key}"
    driver = drivers.get(profile.get("driver"))
    if driver is None:
        yield f"there is no driver {profile.get('driver')}"
        return
    for parameter in parameters_of(profile):
        if not driver.has(parameter):
            yield f"{driver.name} has no parameter {parameter}"
    for part in ("arguments", "jumbo_arguments"):
        for argument in profile.get(part, {}):
            if argument not in profile.get("why", {}):
                yield f"no reason is given for {argument}"
    if driver.is_pci != (profile.get("bus") == "pci"):
        yield f"{driver.name} is {'' if driver.is_pci else 'not '}of PCI devices"


def gaps(name, profile, manual):
    """Yields what the manual's table does not say of a profile."""
    row = re.search(rf"^\| `{name}` \|.*$", manual, re.MULTILINE)
    if row is None:
        yield "is not in the manual"
        return
    for said in (str(profile.get("maximum_mtu", 1500)),
                 *(name.removeprefix("CAP_") for name in profile.get("capabilities", []))):
        if not re.search(rf"\b{said}\b", row.group()):
            yield f"the manual's row lacks {said}"


def main():
    drivers = read_drivers()
    if not drivers:
        print("skip: no DPDK drivers are installed here")
        return EXIT_SKIP
    broken = False
    with open(sys.argv[1], encoding="utf-8") as file:
        manual = file.read()
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            profile = json.load(file)
        name = os.path.splitext(os.path.basename(path))[0]
        for fault in (*faults(profile, drivers), *gaps(name, profile, manual)):
            broken = True
            print(f"{path}: {fault}")
        # The check itself: what no driver has is found.
        invented = {**profile, "arguments": {**profile.get("arguments", {}), "invented": "1"}}
        if not any("no parameter invented" in fault for fault in faults(invented, drivers)):
            broken = True
            print(f"{path}: an invented argument is not noticed")
    return 1 if broken or len(sys.argv) < 3 else 0


if __name__ == "__main__":
    sys.exit(main())

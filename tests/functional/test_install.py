# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`meson install` puts everything where programs look for it, and `ninja uninstall` leaves nothing."""

import collections
import fnmatch
import glob
import json
import os
import re
import shutil
import subprocess

import evbtest
from evbtest import check, check_equal

BUILD = os.path.dirname(evbtest.binary())
AFTER = os.path.join(evbtest.REPOSITORY, "packaging", "after_install.sh")


def command(*arguments, **environment):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})
    check_equal(done.returncode, 0, f"{' '.join(arguments)}:\n{done.stdout}{done.stderr}")
    return done.stdout


def option(name):
    """An option of the build, as `prefix`."""
    listed = command("meson", "introspect", "--buildoptions", BUILD)
    return next(one["value"] for one in json.loads(listed) if one["name"] == name)


def files_under(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder)
                  for at, _, names in os.walk(folder) for name in names)


def has(installed, ending, count=1):
    found = [path for path in installed if path.endswith(ending)]
    check(len(found) >= count, f"{ending} is not installed {count} times: {found}")


def shipped(*pattern):
    found = glob.glob(os.path.join(evbtest.REPOSITORY, *pattern))
    check(found, f"nothing matches {pattern}")
    return [os.path.basename(path) for path in found]


def check_files(installed):
    has(installed, "bin/evb")
    for library, soname in (("reader", 1), ("sender", 0), ("producer", 0)):
        has(installed, f"libevb-{library}.so.{soname}")
        has(installed, f"evb-{library}.pc")
        has(installed, f"include/evb_{library}.h")
    for page in shipped("docs", "man", "*.[13]"):
        has(installed, f"/man{page[-1]}/{page}")
    for dissector in ["evb_control.lua"] + shipped("wireshark", "*.lua"):
        has(installed, f"wireshark/plugins/{dissector}")
    for name in shipped("configs", "*.json"):
        has(installed, f"share/evb/configs/{name}")
    for name in shipped("configs", "sim", "*.json"):
        has(installed, f"share/evb/configs/sim/{name}")
    for unit in shipped("packaging", "*.service.in"):
        has(installed, f"lib/systemd/system/{unit.removesuffix('.in')}")
    has(installed, "bash-completion/completions/evb")
    has(installed, "/_evb")
    has(installed, "share/evb/prometheus/evb-alerts.yml")
    has(installed, "share/evb/grafana/evb-dashboard.json")
    for name in shipped("docs", "examples", "*.c"):
        has(installed, f"doc/evb/examples/{name}")
    for name in shipped("examples", "filter", "*.c"):
        has(installed, f"doc/evb/examples/filter/{name}")


def check_library(work, folder, library):
    """A user's program is built by what pkg-config says of the installed files."""
    metadata = glob.glob(os.path.join(folder, "**", f"*evb-{library}.pc"), recursive=True)
    prefix = os.path.normpath(folder + option("prefix"))
    flags = command("pkg-config", "--define-variable", f"prefix={prefix}", "--cflags", "--libs",
                    metadata[0]).split()
    example = {"reader": "consumer"}.get(library, library)
    command("cc", os.path.join(prefix, "share", "doc", "evb", "examples", f"{example}.c"),
            *flags, "-o", work.path(example))


def patterns_of_packages():
    """[(package, pattern)]: what the Debian packages take of the installed files."""
    found = []
    for path in glob.glob(os.path.join(evbtest.REPOSITORY, "debian", "*.install")):
        package = os.path.basename(path).removesuffix(".install")
        with open(path, encoding="ascii") as file:
            found += [(package, line.split()[0]) for line in file]
    return found


def check_packages(installed):
    """Each installed file is in one Debian package."""
    prefix = option("prefix").strip("/") + "/"
    patterns, packages = patterns_of_packages(), collections.Counter()
    for path in installed:
        # python3.11 is below /usr/local, python3 below /usr
        path = "usr/" + re.sub(r"python3\.\d+", "python3", path.removeprefix(prefix))
        begins = [path[:match.start()] for match in re.finditer("/|$", path)]
        takers = {package for package, pattern in patterns if fnmatch.filter(begins, pattern)}
        check_equal(len(takers), 1, f"packages in debian/*.install that take {path}: {takers}")
        packages += collections.Counter(takers)
    check_equal(set(packages), {package for package, _ in patterns}, "packages that take a file")


def test_install_and_uninstall():
    log = os.path.join(BUILD, "meson-logs", "install-log.txt")
    with evbtest.Workspace() as work:
        folder = work.path("root")
        kept = work.path("install-log.txt")  # of an installation that the developer has made
        if os.path.exists(log):
            shutil.copy2(log, kept)
        try:
            said = command("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", folder)
            check("Run ldconfig" not in said, "a package is told to run ldconfig")
            check_files(files_under(folder))
            check_packages(files_under(folder))
            for library in ("reader", "sender", "producer"):
                check_library(work, folder, library)
            command("ninja", "-C", BUILD, "uninstall")
            left = files_under(folder) if os.path.exists(folder) else []
            check_equal(left, [], "files after ninja uninstall")
        finally:
            if os.path.exists(kept):
                shutil.copy2(kept, log)


def test_what_is_left_to_do_is_said():
    said = command(AFTER, "/usr/local/lib", "/usr/local/lib/wireshark/plugins", DESTDIR="")
    check("ldconfig" in said and "/usr/local/lib" in said, said)
    check("ln -s /usr/local/lib/wireshark/plugins/*.lua" in said, said)
    said = command(AFTER, "/usr/lib", "/usr/lib/wireshark/plugins", DESTDIR="")
    check("Wireshark" not in said, said)


if __name__ == "__main__":
    evbtest.main()

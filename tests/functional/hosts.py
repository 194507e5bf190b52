# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Hosts on which something is wrong: in namespaces of a test's own, or for a user with few rights;
and what is expected of evb there: one line, which docs/errors.md has."""

import functools
import os
import re

import appliance
import evbtest
from evbtest import check, check_equal

# As in a login: the folder of sockets is what the user and the machine make it.
_OWN_FOLDER = ("env", "-u", "RUNTIME_DIRECTORY")
NOBODY = (*_OWN_FOLDER, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
_VARIABLE = r"\.\.\.|\bNAME\b"


def quiet(work, **changes):
    """A configuration in ordinary memory that no machine is too small for."""
    return appliance.generated(work, sources=2, count=5, writer=None,
                               **appliance.merged({"memory": {"kind": "shm"}}, changes))


def on_port(work, profile, device, **port):
    """The same, with a builder only, that receives on a port."""
    configuration = quiet(work)
    del configuration["generators"]
    configuration["ports"] = [{"name": "wire", "profile": profile, "device": device, **port}]
    return configuration


class Host:
    """Runs evb in the namespaces of a test: network, mounts, or none; with the drivers of this machine."""

    def __init__(self, work, namespace=None, prefix=()):
        self._work = work
        self._namespace = namespace
        self._prefix = prefix

    def start(self, *arguments, **options):
        return self._work.start(*self._prefix, evbtest.binary(), *arguments,
                                namespace=self._namespace, all_drivers=True, **options)

    def evb(self, *arguments):
        return self.start(*arguments).finish()

    def file(self, configuration):
        return self._work.write(f"{configuration['name']}.json", configuration)


def private_mounts(work):
    """The beginning of a command that runs it where no other run has left anything, with a
    /dev/shm, a /run and no interrupts of its own. What is mounted there is seen nowhere else."""
    evbtest.need_root()
    script = ("set -e; mount -t tmpfs tmpfs /dev/shm; mount -t tmpfs -o mode=0755 tmpfs /run;"
              " mount -t tmpfs tmpfs /proc/irq;"
              " while read -r _ at type _; do"
              "   [ $type != hugetlbfs ] || umount $at;"
              " done < /proc/self/mounts;"
              " echo ready; exec sleep infinity")
    holder = work.start("unshare", "--mount", "--propagation", "private", "sh", "-c", script)
    try:
        holder.wait_for_line("ready")
    except evbtest.Failure as failure:
        evbtest.skip(f"no private mounts here: {failure}")
    return (*_OWN_FOLDER, "nsenter", f"--mount=/proc/{holder.pid}/ns/mnt")


def findings(process, verdict):
    """Lines of the table of a check that have this verdict."""
    return [line for line in process.lines if re.match(rf"{verdict}  ", line)]


@functools.cache
def _documented_lines():
    """Patterns of the lines in the tables of docs/errors.md, and of those that need no remedy."""
    with open(os.path.join(evbtest.REPOSITORY, "docs", "errors.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| (`.*?`) \|", file.read(), re.MULTILINE)
    lines = [line for row in rows for line in re.findall(r"`([^`]+)`", row)]
    check(len(lines) > 100, f"docs/errors.md has {len(lines)} lines only")
    path = os.path.join(os.path.dirname(__file__), "plain_errors.txt")
    with open(path, encoding="utf-8") as file:
        lines += [line for line in file.read().splitlines() if not line.startswith("#")]
    return [re.compile(".*?".join(map(re.escape, re.split(_VARIABLE, line)))) for line in lines]


def check_documented(line):
    """A line that evb says is in docs/errors.md, beside what to do, or states it."""
    check(any(pattern.search(line) for pattern in _documented_lines()),
          f"neither docs/errors.md nor plain_errors.txt has: {line}")


def refused(host, configuration, *words):
    """`evb run` ends with one line that has these words, and `evb host check` has a line as well
    that does; the words are of the cause and of what to do."""
    file = host.file(configuration)
    run = host.evb("run", file)
    check_equal(run.status, 1, f"status of {run.describe()}")
    errors = run.errors().splitlines()
    check_equal(len(errors), 1, f"lines of errors of {run.describe()}")
    check_documented(errors[0])
    for word in words:
        check(word in errors[0], f"no {word!r} in the error of {run.describe()}")
    told = host.evb("host", "check", file)
    check_equal(told.status, 1, f"status of {told.describe()}")
    failures = findings(told, "fail")
    check(any(all(word in line for word in words) for line in failures),
          f"no failure with {words} in {told.describe()}")
    return failures


def refused_configuration(host, configuration, *words):
    """The same where the configuration alone tells."""
    file = host.file(configuration)
    for arguments in (("run", file), ("host", "check", file)):
        process = host.evb(*arguments)
        check_equal(process.status, 1, f"status of {process.describe()}")
        errors = process.errors().splitlines()
        check_equal(len(errors), 1, f"lines of errors of {process.describe()}")
        check_documented(errors[0])
        for word in (file, *words):
            check(word in errors[0], f"no {word!r} in the error of {process.describe()}")

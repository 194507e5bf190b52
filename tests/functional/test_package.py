# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The Debian packages on a clean machine: a chroot of the release of this one, made by mmdebstrap and
booted by systemd-nspawn. evb is installed, runs, serves consumers, is a service, is upgraded, and
leaves nothing when it is purged. Takes minutes and the Debian archive: ./dev package --try runs it."""

import atexit
import functools
import glob
import os
import re
import shutil
import subprocess
import tempfile

import evbtest
from evbtest import check, check_equal

PACKAGES = os.path.join(evbtest.REPOSITORY, "build-package")
# What is installed beforehand: systemd as PID 1, and what consumers are built with.
INCLUDED = "systemd,systemd-sysv,dbus,gcc,libc6-dev,man-db,pkgconf,procps"
# What programs write while the machine runs, and the records of dpkg and apt.
NOT_COMPARED = re.compile(r"/(dev|proc|run|sys|tmp)/|/var/(cache|log|tmp)/|/var/lib/(apt|dpkg|systemd)/|"
                          r"/root/|/etc/(machine-id|resolv\.conf|ld\.so\.cache)$")
PATIENCE_S = 300  # for apt


def host(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    check_equal(done.returncode, 0, f"{' '.join(arguments)}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def codename():
    with open("/etc/os-release", encoding="ascii") as file:
        return re.search(r"^VERSION_CODENAME=(\w+)", file.read(), re.M)[1]


class Machine:
    """A booted Debian without evb. Its /packages has the packages, and /newer the same of a higher
    version."""

    def __init__(self, folder):
        self.folder = folder
        self.root = os.path.join(folder, "root")
        present, newer = (os.path.join(folder, name) for name in ("packages", "newer"))
        os.mkdir(present)
        os.mkdir(newer)
        for path in packages():
            shutil.copy(path, present)
            make_newer(path, newer)
        host("mmdebstrap", "--variant=minbase", f"--include={INCLUDED}", codename(), self.root)
        with open(os.path.join(folder, "console"), "wb") as console:
            self._nspawn = subprocess.Popen(
                ["systemd-nspawn", "--directory", self.root, f"--machine=evb-{os.getpid()}", "--boot",
                 "--quiet", "--register=no", "--keep-unit", "--capability=all", "--resolv-conf=copy-host",
                 f"--bind-ro={present}:/packages", f"--bind-ro={newer}:/newer", "--console=pipe"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)
        self.init = None
        evbtest.wait_until(self._find_init, "the machine has an init", shown=self.console)
        evbtest.wait_until(lambda: self.status("systemctl", "is-system-running") in (0, 1) and
                           self.says("systemctl", "is-system-running") in ("running", "degraded"),
                           "the machine has booted", timeout=60, shown=self.console)
        self.run("apt-get", "update")
        self.before = self.files()

    def console(self):
        with open(os.path.join(self.folder, "console"), encoding="utf-8", errors="replace") as file:
            return file.read()[-3000:]

    def _find_init(self):
        check(self._nspawn.poll() is None, f"systemd-nspawn ended: {self.console()}")
        pid = self._nspawn.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
        if children:
            with open(f"/proc/{children[0]}/comm", encoding="ascii") as file:
                if file.read().strip() == "systemd":
                    self.init = children[0]
        return self.init is not None

    def close(self):
        if self._nspawn.poll() is None:
            self._nspawn.terminate()  # the machine powers off
            try:
                self._nspawn.wait(60)
            except subprocess.TimeoutExpired:
                self._nspawn.kill()
                self._nspawn.wait()

    def _inside(self, arguments):
        return subprocess.run(
            ["nsenter", "--target", self.init, "--mount", "--uts", "--ipc", "--pid", "--root", "--wdns=/root",
             "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
             *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=PATIENCE_S)

    def status(self, *arguments):
        return self._inside(arguments).returncode

    def says(self, *arguments):
        return self._inside(arguments).stdout.strip()

    def run(self, *arguments):
        """Runs a command in the machine, which must succeed. Returns what it writes."""
        done = self._inside(arguments)
        check_equal(done.returncode, 0,
                    f"{' '.join(arguments)}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout + done.stderr

    def shell(self, script):
        return self.run("sh", "-ec", script)

    def files(self):
        found = set()
        for at, folders, names in os.walk(self.root):
            inside = at.removeprefix(self.root) + "/"
            found |= {inside + name for name in folders + names}
        return {path for path in found if not NOT_COMPARED.match(path)}

    def main_pid(self, unit):
        return self.says("systemctl", "show", "--property=MainPID", "--value", unit)

    def install(self, folder):
        self.shell(f"apt-get install -y {folder}/*.deb")


def packages():
    return [path for path in glob.glob(os.path.join(PACKAGES, "*.deb")) if "-dbgsym_" not in path]


def make_newer(path, folder):
    """The same package of a higher version."""
    tree = os.path.join(folder, "tree")
    host("dpkg-deb", "--raw-extract", path, tree)
    control = os.path.join(tree, "DEBIAN", "control")
    with open(control, encoding="utf-8") as file:
        text = file.read()
    version = re.search(r"^Version: (.*)$", text, re.M)[1]
    with open(control, "w", encoding="utf-8") as file:
        file.write(text.replace(version, version + "+newer"))
    host("dpkg-deb", "--root-owner-group", "--build", tree,
         os.path.join(folder, os.path.basename(path)))
    shutil.rmtree(tree)


@functools.cache
def machine():
    """With evb installed; the same one for all tests."""
    folder = tempfile.mkdtemp(prefix="evb-package-", dir="/var/tmp")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = Machine(folder)
    atexit.register(made.close)
    made.install("/packages")
    # The hugepages are those of this machine.
    made.shell("echo 'EVB_OPTIONS=--set memory.kind=shm' >/etc/evb/demo.env")
    return made


def installed():
    if os.environ.get("EVB_TEST_PACKAGES") != "1":
        evbtest.skip("takes minutes; ./dev package --try runs it")
    evbtest.need_root()
    for tool in ("mmdebstrap", "nsenter", "systemd-nspawn"):
        if not shutil.which(tool):
            evbtest.skip(f"needs {tool}; ./dev install package_try brings it")
    if not packages():
        evbtest.skip(f"{PACKAGES} has no packages; ./dev package makes them")
    return machine()


def test_program():
    made = installed()
    check(re.match(r"evb [\d.]+ \(.+\), DPDK [\d.]+, with XDP$", made.says("evb", "--version")),
          made.says("evb", "--version"))
    made.shell("evb run /etc/evb/demo.json --duration 1 --summary /root/summary.json")
    made.shell("man -w evb 3 evb-reader 3 evb_producer")
    made.shell("test -e /usr/share/bash-completion/completions/evb")
    made.shell("ls /usr/lib/*/wireshark/plugins/evb_control.lua")
    made.shell("evb-ejfat --help")


def with_demo(made, command):
    """Runs a command while the demo runs."""
    return made.shell(f"""
        evb run /etc/evb/demo.json >/root/log 2>&1 &
        trap "kill $!; wait" EXIT
        until evb stat --name demo /evb/summary >/root/stat 2>&1; do kill -0 $!; sleep 0.1; done
        {command}""")


def test_library():
    made = installed()
    made.shell("cc /usr/share/doc/evb/examples/consumer.c $(pkgconf --cflags --libs evb-reader) -o consumer")
    made.shell("cc /usr/share/doc/evb/examples/producer.c $(pkgconf --cflags --libs libevb-producer)"
               " -o producer")
    made.shell("cc /usr/share/doc/evb/examples/sender.c $(pkgconf --cflags --libs libevb-sender) -o sender")
    check("libevb-reader.so.1 => /lib" in made.says("ldd", "consumer"), made.says("ldd", "consumer"))


def test_python():
    made = installed()
    said = with_demo(made, """python3 -c '
import evb
with evb.Reader("demo") as reader:
    for event in reader:
        print(sum(1 for source in event.mep for fragment in source), "fragments")
        break
with evb.Telemetry("demo") as telemetry:
    assert telemetry.summary()["events_complete"] > 0
'""")
    check("800 fragments" in said, said)


def test_convert():
    """What the packages depend on is enough for HDF5."""
    made = installed()
    shutil.copy(os.path.join(evbtest.REPOSITORY, "examples", "captures", "segments.pcapng"),
                os.path.join(made.root, "root"))
    made.shell("""evb replay --quiet --strict --out events segments.pcapng
        evb convert --compression deflate events/*.mep events.h5
        evb convert events.h5 events.mep
        cmp events/*.mep events.mep
        rm -r segments.pcapng events events.h5 events.mep""")


def test_service():
    """Started and enabled only when the operator does so. It is drained when it is stopped."""
    made = installed()
    check_equal(made.says("systemctl", "is-enabled", "evb@demo"), "disabled", "evb@demo")
    check_equal(made.says("systemctl", "list-units", "--plain", "--no-legend", "evb*"), "", "units")
    made.run("systemctl", "start", "evb@demo")
    check_equal(made.says("systemctl", "is-active", "evb@demo", "evb-host@demo"), "active\nactive", "state")
    evbtest.wait_until(lambda: "events/s" in made.says("systemctl", "show", "-P", "StatusText", "evb@demo"),
                       "its status has the rate")
    check("evb_build_info" in made.run("evb", "stat", "--openmetrics", "--name", "demo"), "metrics")
    made.run("systemctl", "stop", "evb@demo")
    check_equal(made.says("systemctl", "show", "-P", "Result", "evb@demo"), "success", "result")
    log = made.run("journalctl", "--no-pager", "--unit", "evb@demo")
    check(re.search(r"\d+ complete", log), f"no account in the log: {log[-2000:]}")


def test_upgrade():
    """A running service goes on with the program that it has, until its operator restarts it. A changed
    configuration stays as it is."""
    made = installed()
    made.shell("sed -i 's/\"packing\": 100/\"packing\": 50/' /etc/evb/demo.json")
    made.run("systemctl", "enable", "--now", "evb@demo")
    before = made.main_pid("evb@demo")
    made.install("/newer")
    check(made.says("dpkg-query", "-W", "-f", "${Version}", "evb").endswith("+newer"), "not upgraded")
    check_equal(made.main_pid("evb@demo"), before, "process of the service")
    made.run("systemctl", "restart", "evb@demo")
    made.shell("grep -q '\"packing\": 50' /etc/evb/demo.json")


def test_purge():
    """Services are stopped, and nothing is left."""
    made = installed()
    made.run("systemctl", "enable", "--now", "evb@demo")
    made.shell("apt-get remove -y '*evb*'")
    check_equal(made.says("pgrep", "-x", "evb"), "", "processes after the removal")
    made.shell("test -e /etc/evb/demo.json")
    # Also what was recommended only.
    made.shell("apt-get purge -y --autoremove -o APT::AutoRemove::RecommendsImportant=false"
               " -o APT::AutoRemove::SuggestsImportant=false '*evb*'")
    made.shell("rm /etc/evb/demo.env && rmdir /etc/evb")  # the operator's
    check_equal(sorted(made.files() - made.before)[:20], [], "files after the purge")
    check_equal(sorted(made.before - made.files())[:20], [], "files that are missing after the purge")
    check_equal(made.says("find", "/run", "/dev/shm", "/dev/hugepages", "-name", "*evb*"), "", "in memory")
    check_equal(made.says("systemctl", "list-units", "--all", "--plain", "--no-legend", "evb*"), "", "units")


if __name__ == "__main__":
    evbtest.main()

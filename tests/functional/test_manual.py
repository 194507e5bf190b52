# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The manual's commands do what the manual says: what is fenced as ```console is typed, page by page,
into one shell in namespaces of its own, and what it prints is compared with what the page shows.

In such a block a line that begins with "$ " is typed, with those behind it as long as they end with
a backslash or belong to a here-document. The lines below are its output. "..." as a line stands for
any lines, or none. Numbers and their units are not compared, nor are the kind of memory, what is
said about hugepages, and which roles are on which CPU: they are the machine's.

Also: each link of the manual leads somewhere, and its pictures are those of their texts."""

import glob
import os
import re
import shlex
import subprocess
import sys
import urllib.parse

import evbtest
from evbtest import check, check_equal

ROOT = evbtest.REPOSITORY
TYPED_LIMIT_S = 150


# --- pages -------------------------------------------------------------------------------------


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def console_blocks(page):
    return re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def steps_of(block):
    """(command, [expected lines]) of a block."""
    steps, lines = [], block.splitlines()
    while lines:
        first = lines.pop(0)
        check(first.startswith("$ "), f"a block begins with output: {first}")
        command = [first[2:]]
        here = re.search(r"<<'?(\w+)'?", first)
        while lines and (here or command[-1].endswith("\\")):
            command.append(lines.pop(0))
            if here and command[-1] == here[1]:
                here = None
        expected = []
        while lines and not lines[0].startswith("$ "):
            expected.append(lines.pop(0))
        steps.append(("\n".join(command), expected))
    return steps


# --- the shell ---------------------------------------------------------------------------------


SANDBOX = r"""
set -e
umount --all --types hugetlbfs
mount -t tmpfs tmpfs /run
mount -t tmpfs -o size=2g tmpfs /dev/shm
mkdir -p /run/netns
ip link set lo up
set +e
"""


def folder(work):
    """Looks like the repository after a build, and may be written to."""
    path = work.folder("repository")
    for name in ("configs", "docs", "examples", "lib", "pmd-config", "tests"):
        os.symlink(os.path.join(ROOT, name), os.path.join(path, name))
    os.makedirs(os.path.join(path, "build", "lib", "evring"))
    os.symlink(evbtest.binary(), os.path.join(path, "build", "evb"))
    os.symlink(os.environ.get("EVB_EXAMPLE_CONSUMER")
               or os.path.join(ROOT, "build", "lib", "evring", "consumer"),
               os.path.join(path, "build", "lib", "evring", "consumer"))
    build = os.path.dirname(evbtest.binary())
    os.symlink(os.path.join(build, "examples"), os.path.join(path, "build", "examples"))
    library = "libevb-reader.so.1"
    os.symlink(os.path.join(build, "lib", "evring", library),
               os.path.join(path, "build", "lib", "evring", library))
    # It has been built already; and 10 s are for people.
    dev = os.path.join(path, "dev")
    with open(dev, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nshift\n"
                   'exec build/evb run configs/demo.json --duration 1 "$@"\n')
    os.chmod(dev, 0o755)
    return path


def type_all(work, commands):
    """Types the commands into one shell; the lines that each printed."""
    script = [SANDBOX]
    for number, command in enumerate(commands):
        script.append(f"printf '\\001%d\\n' {number}\n{{ {command}\n}} </dev/null 2>&1\n")
    path = work.write("typed.sh", "".join(script))
    with subprocess.Popen(
            ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc",
             "bash", path], cwd=folder(work), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL) as process:
        try:
            output = process.communicate(timeout=TYPED_LIMIT_S)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            process.kill()
            output = process.communicate()[0].decode(errors="replace")
            raise evbtest.Failure(f"still running after {TYPED_LIMIT_S} s:\n{output}") from None
    found = dict.fromkeys(range(len(commands)), [])
    for part in output.split("\001")[1:]:
        number, _, said = part.partition("\n")
        found[int(number)] = said.splitlines()
    check(output.startswith("\001"), f"the sandbox could not be made: {output}")
    return [found[number] for number in range(len(commands))]


# --- what is compared --------------------------------------------------------------------------


def plain(line):
    """A line without what differs from machine to machine and from run to run."""
    line = re.sub(r"in (hugepages|ordinary memory)", "in memory", line)
    line = re.sub(r"/dev/(shm|hugepages)/", "/dev/MEMORY/", line)
    line = re.sub(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{16}\b", "#", line)
    line = re.sub(r"\d+(\.\d+)*", "#", line)
    line = re.sub(r"# ?(ns|us|ms|s|[kMG]?B|[KMG]iB|[kMG]?B/s|[kMG]?b/s|[kMG]?events/s)(?=\W|$)", "# U",
                  line)
    return " ".join(line.split())


def is_of_the_machine(line):
    """Hugepages, and which roles share a CPU."""
    return (line.startswith("evb: ") and "hugepages" in line) or re.match(r" *CPU \d+:? ", line)


def matches(found, expected):
    """Whether the lines are those expected, of which "..." is any."""
    if not expected:
        return not found
    if expected[0] == "...":
        return any(matches(found[skipped:], expected[1:]) for skipped in range(len(found) + 1))
    return bool(found) and plain(found[0]) == plain(expected[0]) and matches(found[1:], expected[1:])


def check_page(name):
    evbtest.need_root()
    steps = [step for block in console_blocks(read(name)) for step in steps_of(block)]
    check(steps, f"{name} has no commands")
    with evbtest.Workspace() as work:
        said = type_all(work, [command for command, _ in steps])
        for (command, expected), lines in zip(steps, said):
            found = [line for line in lines if line.strip() and not is_of_the_machine(line)]
            wanted = [line for line in expected if line.strip() and not is_of_the_machine(line)]
            if not matches(found, wanted):
                found, wanted = "\n".join(found), "\n".join(wanted)
                raise evbtest.Failure(f"{name}: $ {command}\n{found}\n--- and the page has:\n{wanted}")
    print(f"{name}: {len(steps)} commands")


# --- the tests ---------------------------------------------------------------------------------


def test_readme():
    check_page("README.md")


def test_quick_start():
    check_page("docs/quick-start.md")


def test_first_network():
    check_page("docs/first-network.md")


def test_replaying():
    check_page("docs/replaying.md")


def test_filter():
    check_page("docs/filter.md")


def test_roce():
    check_page("docs/roce.md")


def test_simulation():
    check_page("docs/simulation.md")


def test_sizing():
    check_page("docs/sizing.md")


def test_newcomers_path():
    """What the tests above type is, in this order, what a newcomer does with the README alone: the
    demo, two nodes of one's own over a network, telemetry, a replay of what was captured there."""
    readme = read("README.md")
    check("](docs/quick-start.md)" in readme and "./dev demo" in readme, "README.md leads nowhere")
    commands = [command for block in console_blocks(read("docs/quick-start.md"))
                for command, _ in steps_of(block)]
    path = ("./dev demo", "ip link add eth0 netns evb-boards type veth", "cat > two.json",
            "build/evb run two.json --node builder", "build/evb run two.json --node boards",
            "build/evb stat --name two-builder", "record --pcap capture.pcapng",
            "build/evb replay capture.pcapng", "build/evb dump --verify --quiet replayed/")
    at = 0
    for wanted in path:
        while at < len(commands) and wanted not in commands[at]:
            at += 1
        check(at < len(commands), f"docs/quick-start.md: no {wanted!r} in its place")
    # What the sandbox has in the place of ./dev is what that runs.
    check("build/evb run configs/demo.json --duration 10" in read("dev"), "./dev demo runs another")


def test_comparison_can_fail():
    """The judge tells what is another line from what is another number."""
    for found, expected, same in (
            ("events 12 complete, 0 lost", "events 7 complete, 3 lost", True),
            ("57 events/s, 17.8 kB/s built", "1.2 kevents/s, 3 MB/s built", True),
            ("events 12 complete", "events 12 incomplete", False),
            ("a: unknown key", "a: unknown kee", False)):
        check_equal(matches([found], [expected]), same, f"{found!r} as {expected!r}")
    check(matches(["a", "b", "c"], ["a", "..."]), "... at the end")
    check(matches(["a", "b", "c"], ["...", "c"]), "... at the beginning")
    check(not matches(["a", "b"], ["...", "c"]), "... is not everything")
    check(not matches(["a", "b"], ["a"]), "a line too many")
    steps = steps_of("$ cat <<END\n$ not typed\nEND\n$ ls \\\n    x\ny\n")
    check_equal(steps, [("cat <<END\n$ not typed\nEND", []), ("ls \\\n    x", ["y"])], "steps")


def anchors(path):
    """Of a page's headings, as GitHub makes them."""
    for heading in re.findall(r"^#+ (.*)$", read(path), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def test_links():
    """Of the manual and the README: files are there, and headings."""
    pages = ["README.md", *(os.path.relpath(path, ROOT)
                            for path in glob.glob(os.path.join(ROOT, "docs", "**", "*.md"),
                                              recursive=True)),
             "CONTRIBUTING.md", "CHANGELOG.md"]
    broken = []
    for page in pages:
        text = re.sub(r"^```.*?^```$", "", read(page), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" in target:
                continue
            path, _, heading = urllib.parse.unquote(target).partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(os.path.join(ROOT, path)):
                broken.append(f"{page}: {target}: no such file")
            elif heading and heading not in anchors(path):
                broken.append(f"{page}: {target}: no such heading")
    check(not broken, "\n".join(broken))
    # The pages of a folder are listed by the page with its name, if there is one.
    unlisted = []
    for page in set(pages):
        folder = f"{os.path.dirname(page)}.md"
        index = folder if folder in pages else "docs/README.md"
        if page.startswith("docs/") and page != index and \
                f"({os.path.relpath(page, os.path.dirname(index))}" not in read(index):
            unlisted.append(f"{page} in {index}")
    check(not unlisted, f"not listed: {unlisted}")


def test_pictures():
    script = os.path.join(ROOT, "docs", "pictures", "make.py")
    result = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True,
                            check=False)
    check_equal(result.returncode, 0, result.stdout + result.stderr)
    packets, page = read("docs/pictures/packets.stages"), read("docs/packets.md")
    for cause in re.findall(r"-> !?(\w+)", packets):
        check(cause in page or re.sub(r"^\w+_drop_", "", cause) in page,
              f"docs/packets.md does not name {cause}")


def test_manual_pages():
    """Each command of the program and each of its options is on the manual page."""
    with evbtest.Workspace() as work:
        page = read("docs/man/evb.1").replace(r"\-", "-")
        listed = re.findall(r"^  (\w+) ", work.evb("--help").output(), re.MULTILINE)
        check(listed, "no commands")
        for command in listed:
            check(f".Ss {command}\n" in page, f"docs/man/evb.1 has no section {command}")
            section = page.split(f".Ss {command}\n")[1].split("\n.Ss ")[0]
            helped = work.evb(command, "--help").output()
            check_equal(work.evb("help", command).output(), helped, f"evb help {command}")
            for option in re.findall(r"^ +(?:-\w, +)?--([\w-]+)", helped, re.MULTILINE):
                check(option in ("help", "usage") or f"Fl -{option}" in section,
                      f"docs/man/evb.1: {command} has no --{option}")


def update(names):
    """Writes what the commands print into the pages, for a person to look at and shorten."""
    for name in names:
        page = read(name)
        blocks = [steps_of(block) for block in console_blocks(page)]
        with evbtest.Workspace() as work:
            said = type_all(work, [command for block in blocks for command, _ in block])
        for old, block in zip(console_blocks(page), blocks):
            new = "".join(f"$ {command}\n" + "".join(f"{line}\n" for line in said.pop(0))
                          for command, _ in block)
            page = page.replace(f"```console\n{old}```", f"```console\n{new}```", 1)
        with open(os.path.join(ROOT, name) + ".new", "w", encoding="utf-8") as file:
            file.write(page)
        print(f"wrote {shlex.quote(name)}.new")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--update"]:
        update(sys.argv[2:])
    else:
        evbtest.main()

# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Completion in the shells: what bash offers for words of a command line, and that zsh takes its file."""

import os
import shutil
import socket
import subprocess
import sys

import evbtest
from evbtest import check, check_equal

PACKAGING = os.path.join(evbtest.REPOSITORY, "packaging")
CONFIGS = os.path.join(evbtest.REPOSITORY, "configs")


def made(work, shell):
    path = work.path(f"completion.{shell}")
    subprocess.run([sys.executable, os.path.join(PACKAGING, "make_completion.py"), shell,
                    os.path.join(PACKAGING, f"completion.{shell}.in"), path, evbtest.binary()], check=True)
    return path


def offered(work, script, *words):
    """What bash's completion function offers for the last of the words, as bash calls it."""
    line = " ".join(f"'{word}'" for word in ("evb", *words))
    text = (f". {script}; evb() {{ {evbtest.binary()} \"$@\"; }}; COMP_WORDS=({line}); "
            f"COMP_CWORD={len(words)}; _evb; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = subprocess.run(["bash", "--norc", "-eu", "-c", text], capture_output=True, text=True, check=False,
                          cwd=work.directory, env={**os.environ, "RUNTIME_DIRECTORY": work.directory})
    check_equal((done.returncode, done.stderr), (0, ""), f"completion of {words}")
    return done.stdout.split()


def listed_options(command):
    """The long options that the command's help has."""
    text = subprocess.run([evbtest.binary(), command, "--help"], capture_output=True, text=True,
                          check=True).stdout
    names = {word.rstrip(",").split("=")[0] for line in text.splitlines()
             if line.startswith("  ") and line.lstrip().startswith("-")
             for word in line[:29].split() if word.startswith("--")}
    return names - {"--help", "--usage"}


def test_commands_and_options():
    with evbtest.Workspace() as work:
        script = made(work, "bash")
        check_equal(offered(work, script, "re"), ["replay", "record"], "commands")
        check_equal(offered(work, script, "completio"), [], "a hidden command")
        for command in offered(work, script, ""):
            if command.startswith("-") or command == "help":
                continue
            missing = listed_options(command) - set(offered(work, script, command, "--"))
            check_equal(missing, set(), f"options of evb {command} that are not offered")
        check_equal(offered(work, script, "record", "--pc"), ["--pcap"], "of another table")
        check_equal(offered(work, script, "host", "pre"), ["prepare"], "verbs")
        check_equal(offered(work, script, "run", "--log", ""), ["text", "json"], "values")
        check_equal(offered(work, script, "run", "--log", "=", "j"), ["json"], "values after =")


def test_names():
    with evbtest.Workspace() as work:
        script = made(work, "bash")
        shutil.copy(os.path.join(CONFIGS, "farm.json"), work.path("farm.json"))
        work.write("notes.txt", "")
        check_equal(offered(work, script, "run", "fa"), ["farm.json"], "configurations")
        check_equal(offered(work, script, "check", "notes"), [], "what is no configuration")
        check_equal(offered(work, script, "dump", "not"), ["notes.txt"], "files")
        check_equal(offered(work, script, "run", "farm.json", "--node", "mana"), ["manager"], "nodes")
        check_equal(offered(work, script, "run", "none.json", "--node", ""), [], "nodes of no file")
        work.folder("dpdk")
        os.mkdir(work.path("dpdk", "site"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(work.path("dpdk", "site", "dpdk_telemetry.v2"))
            check_equal(offered(work, script, "top", ""), ["site"], "appliances")
            check_equal(offered(work, script, "stat", "--name", "s"), ["site"], "appliances")


def test_zsh():
    if not shutil.which("zsh"):
        evbtest.skip("there is no zsh")
    with evbtest.Workspace() as work:
        script = made(work, "zsh")
        os.rename(script, work.path("_evb"))
        # The function is loaded as compinit finds it, and names the command that it is for.
        text = (f"fpath=({work.directory} $fpath); autoload -U compinit; compinit -D -u; "
                "print $_comps[evb]; autoload +X _evb; functions _evb")
        done = subprocess.run(["zsh", "-f", "-c", text], capture_output=True, text=True, check=False)
        check_equal((done.returncode, done.stderr), (0, ""), "zsh")
        check(done.stdout.startswith("_evb\n"), done.stdout)
        for part in ("--duration=[stop after this time]:TIME", "prepare restore", "_evb_nodes"):
            check(part in done.stdout, f"{part} is not in {done.stdout}")


if __name__ == "__main__":
    evbtest.main()

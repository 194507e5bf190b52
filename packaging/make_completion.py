#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""make_completion.py bash|zsh TEMPLATE OUTPUT EVB: fills the template with the tables of the commands
that `evb completion` prints."""

import re
import subprocess
import sys

# What a value or an argument of this name is. An option of the name on the left goes first.
KINDS = {
    "node": "nodes", "name": "appliances", "ring": "appliances", "log": "text,json",
    "CAPTURE": "files", "CONFIG": "configuration", "DIR": "directories", "DIRECTORY": "directories",
    "FILE": "files", "FILE.mfp": "files", "NODE": "nodes", "SOCKET": "files",
}
ZSH = {"appliances": "_evb_appliances", "configuration": "_files -g '*.json'", "directories": "_files -/",
       "files": "_files", "nodes": "_evb_nodes", "": " "}


class Command:
    def __init__(self, help_text):
        self.help = help_text
        self.options = {}  # name: (value, kind, help)
        self.arguments = []  # kinds
        self.verbs = []
        self.verb_first = False

    def add_arguments(self, text):
        """As in "check [CONFIG] restore": what is in capitals is a kind, the rest is typed so."""
        if text.startswith("--"):
            return
        self.verb_first = text[0].islower()
        for word in re.findall(r"(?<!-)\b[A-Za-z]+\b(?!-)", re.sub(r"--\w+ \w+|/COMMAND\S*", "", text)):
            kind = KINDS.get(word, "appliances" if word == "NAME" else "")
            if word.islower() and word not in self.verbs:
                self.verbs.append(word)
            elif kind and kind not in self.arguments:
                self.arguments.append(kind)

    def add_option(self, name, value, help_text):
        kind = KINDS.get(name.lstrip("-")) or KINDS.get(value, "")
        if re.fullmatch(r"[a-z]+(\|[a-z]+)+", value):
            kind = value.replace("|", ",")
        self.options.setdefault(name, (value, kind, help_text))


def read_tables(text):
    """{name: Command}"""
    commands = {}
    for line in text.splitlines():
        name, what, *fields = line.split("\t")
        if what == "command":
            commands[name] = Command(fields[0])
        elif what == "arguments":
            commands[name].add_arguments(fields[0])
        else:
            commands[name].add_option(*fields)
    for command in commands.values():
        share_kinds(command)
    return commands


def share_kinds(command):
    """A letter stands for the same as the option of the same value and help."""
    kinds = {(value, text): kind for name, (value, kind, text) in command.options.items()
             if name.startswith("--")}
    command.options = {name: (value, kinds.get((value, text), kind), text)
                       for name, (value, kind, text) in command.options.items()}


def bash(commands):
    lines = []
    for name, command in commands.items():
        kinds = [f"{option}={kind or 'none'}" for option, (value, kind, _) in command.options.items()
                 if value]
        lines += [f"    {name})",
                  f"        options='{' '.join(command.options)}'",
                  f"        kinds='{' '.join(kinds)}'",
                  f"        arguments='{' '.join(command.arguments)}'",
                  f"        verbs='{' '.join(command.verbs)}'",
                  "        ;;"]
    return {"NAMES": " ".join(commands), "COMMANDS": "\n".join(lines)}


def zsh_quoted(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh_action(kind):
    return f"({kind.replace(',', ' ')})" if "," in kind else ZSH[kind].replace("'", "'\\''")


def zsh_arguments(command):
    """Places with what stands there. The verbs come first where a command begins with one."""
    verbs = [f"({' '.join(command.verbs)})"] if command.verbs else []
    kinds = [zsh_action(kind) for kind in command.arguments[:1]]
    actions = verbs + kinds if command.verb_first else kinds + verbs
    return list(zip(["1", "*"] if len(actions) == 2 else ["*"], actions))


def zsh(commands):
    names = [f"        '{name}:{zsh_quoted(command.help)}'" for name, command in commands.items()]
    lines = []
    for name, command in commands.items():
        lines += [f"        {name})", "            _arguments \\"]
        for option, (value, kind, text) in command.options.items():
            form = option + ("=" if value and option.startswith("--") else "+" if value else "")
            action = f":{zsh_quoted(value)}:{zsh_action(kind)}" if value else ""
            lines.append(f"                '{form}[{zsh_quoted(text)}]{action}' \\")
        lines += [f"                '{place}:argument:{action}' \\" for place, action in zsh_arguments(command)]
        lines += ["                '--help[explain the command]'", "            ;;"]
    return {"NAMES": "\n".join(names), "COMMANDS": "\n".join(lines)}


def main(shell, template, output, evb):
    tables = subprocess.run([evb, "completion"], check=True, capture_output=True, text=True).stdout
    with open(template, encoding="utf-8") as file:
        text = file.read()
    for mark, filling in {"bash": bash, "zsh": zsh}[shell](read_tables(tables)).items():
        text = text.replace(f"@{mark}@", filling)
    with open(output, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Makes the manual's pictures, X.svg, from the texts beside this script: X.dot with graphviz, X.screen,
X.sequence and X.stages without it. The first lines of each text explain its form.

    make.py           makes the pictures that are not up to date
    make.py --check   lists them, exit status 1

An SVG contains the SHA-256 of its text, so the check needs no graphviz."""

import glob
import hashlib
import html
import itertools
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
FONT = "DejaVu Sans, Verdana, sans-serif"
INK, LINE, DATA, LOSS, GOOD = "#22303c", "#5a6b7b", "#2d6aa3", "#b03a2e", "#35692f"
FILLS = ("#fbf4e0", "#f3e6f0", "#eaf1f8", "#eaf5e7")
STROKES = ("#a98d3f", "#8c5f83", "#4a6a8a", "#5f8a59")


class Canvas:
    """Shapes and text in one SVG; colours that can be read on white."""

    def __init__(self):
        self._parts = []

    def box(self, x, y, width, height, fill, stroke, radius=6):
        self._parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}" '
                           f'fill="{fill}" stroke="{stroke}" stroke-width="1.2"/>')

    def text(self, x, y, text, size=11, anchor="middle", colour=INK, bold=False, halo=False):
        style = ' font-weight="bold"' if bold else ""
        if halo:
            style += ' stroke="white" stroke-width="4" paint-order="stroke"'
        self._parts.append(f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" '
                           f'fill="{colour}"{style}>{html.escape(text)}</text>')

    def line(self, x1, y1, x2, y2, colour=LINE, width=1.2, dashes=None):
        style = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" '
                           f'stroke-width="{width}"{style}/>')

    def arrow(self, x1, y1, x2, y2, colour=LINE, width=1.2):
        """Level or upright."""
        self.line(x1, y1, x2, y2, colour, width)
        if y1 == y2:
            back = -8 if x2 > x1 else 8
            points = f"{x2},{y2} {x2 + back},{y2 - 4} {x2 + back},{y2 + 4}"
        else:
            points = f"{x2},{y2} {x2 - 4},{y2 - 8} {x2 + 4},{y2 - 8}"
        self._parts.append(f'<polygon points="{points}" fill="{colour}"/>')

    def svg(self, width, height):
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                f'viewBox="0 0 {width} {height}" font-family="{FONT}">\n'
                f'<rect width="{width}" height="{height}" fill="white"/>\n'
                + "\n".join(self._parts) + "\n</svg>\n")


def lines_of(text):
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


# --- sequences ---------------------------------------------------------------------------------


def sequence(text):
    gap, row, top = 235, 30, 62
    columns, steps = {}, []
    for line in lines_of(text):
        message = re.fullmatch(r"(\w+) (->|=>) (\w+): (.*)", line)
        named = re.fullmatch(r"(\w+): (.*)", line)
        if line.startswith("== "):
            steps.append(("part", line[3:]))
        elif message:
            steps.append(("message", *message.groups()))
        elif named and not steps:
            columns[named[1]] = named[2]
        else:
            steps.append(("note", named[1], named[2]))
    places = {name: 105 + gap * index for index, name in enumerate(columns)}
    width, height = 210 + gap * (len(columns) - 1), top + row * len(steps) + 24
    canvas = Canvas()
    for name, place in places.items():
        canvas.line(place, 46, place, height - 12, "#b8c2cc")
    for index, (name, title) in enumerate(columns.items()):
        canvas.box(places[name] - 75, 14, 150, 32, FILLS[index % 4], STROKES[index % 4])
        canvas.text(places[name], 34, title, 12, bold=True)
    for number, (kind, *step) in enumerate(steps):
        y = top + row * number + 18
        if kind == "part":
            canvas.line(20, y - 4, width - 20, y - 4, "#b8c2cc", dashes="4 4")
            canvas.text(width - 22, y - 8, step[0], 10.5, "end", LINE, halo=True)
        elif kind == "note":
            index = list(columns).index(step[0])
            half = 3.2 * len(step[1]) + 12
            canvas.box(places[step[0]] - half, y - 17, 2 * half, 22, FILLS[index % 4],
                       STROKES[index % 4], 11)
            canvas.text(places[step[0]], y - 2, step[1], 10)
        else:
            sender, form, receiver, said = step
            colour, thick = (DATA, 2.6) if form == "=>" else (LINE, 1.2)
            canvas.arrow(places[sender], y, places[receiver], y, colour, thick)
            canvas.text((places[sender] + places[receiver]) / 2, y - 5, said, 10.5,
                        colour=colour if form == "=>" else INK, halo=True)
    return canvas.svg(width, height)


# --- stages ------------------------------------------------------------------------------------


def stages(text):
    left, width, exits, counters, row = 20, 300, 350, 600, 21
    found = []
    for line in lines_of(text):
        if line.startswith("["):
            name, said = re.fullmatch(r"\[(.*?)\] (.*)", line).groups()
            found.append({"name": name, "said": said, "exits": [], "on": ""})
        elif line.startswith("= "):
            found[-1]["on"] = line[2:]
        else:
            found[-1]["exits"].append(re.fullmatch(r"\s+(.*) -> (.*)", line).groups())
    canvas, y, middle = Canvas(), 34, left + width / 2
    canvas.text(middle, 20, "the wire", 11, colour=LINE)
    for number, stage in enumerate(found):
        canvas.arrow(middle, y - 8, middle, y + 14)
        y += 14
        height = max(44, row * len(stage["exits"]) + 14)
        shade = 0 if stage["name"] == "PORT" else 2 if stage["name"].startswith("RX") else 3
        shade = 1 if stage["name"] == "LINK" else shade
        canvas.box(left, y, width, height, FILLS[shade], STROKES[shade])
        canvas.text(left + 14, y + height / 2 - 4, stage["name"], 11.5, "start", bold=True)
        canvas.text(left + 14, y + height / 2 + 12, stage["said"], 10, "start")
        for index, (what, counter) in enumerate(stage["exits"]):
            exit_y = y + (height - row * len(stage["exits"])) / 2 + row * index + 14
            colour = LOSS if counter.startswith("!") else GOOD
            canvas.text(exits - 2, exit_y, what, 10, "start")
            canvas.line(left + width, exit_y - 4, exits - 8, exit_y - 4, colour)
            canvas.line(exits + 6.1 * len(what), exit_y - 4, counters - 14, exit_y - 4, "#d5dbe1",
                        dashes="1 3")
            canvas.arrow(counters - 20, exit_y - 4, counters - 6, exit_y - 4, colour)
            canvas.text(counters, exit_y, counter.lstrip("!"), 10, "start", colour, bold=True)
        y += height + 8
        if stage["on"]:
            canvas.text(middle + 12, y + 9, stage["on"], 10, "start", GOOD, bold=True)
            y += 8 if number + 1 < len(found) else 20
    canvas.arrow(middle, y - 8, middle, y + 14)
    canvas.text(middle, y + 30, "published: bytes_built", 10.5, colour=GOOD, bold=True)
    canvas.text(counters, y + 30, "red: a loss, said by the account and by --strict", 9.5, "start", LOSS)
    return canvas.svg(860, y + 46)


# --- screens of a terminal ---------------------------------------------------------------------

CELL, RISE = 8.4, 18.0  # width and height of a cell
SCREEN_COLOURS = {30: "#5c6773", 31: "#ff6b5e", 32: "#7ec77b", 33: "#e5c07b", 36: "#5fb8c9"}
PAPER, PRINT, FAINT, BRIGHT = "#1b222a", "#cfd8e0", "#8492a0", "#ffffff"
# Of a block: its left, top, width and height in eighths of the cell, and how much of it is filled.
BLOCKS = {**{chr(0x2580 + n): (0, 8 - n, 8, n, 1) for n in range(1, 9)},
          **{chr(0x2590 - n): (0, 0, n, 8, 1) for n in range(1, 8)},
          "\u2591": (0, 0, 8, 8, 0.25), "\u2592": (0, 0, 8, 8, 0.5), "\u2593": (0, 0, 8, 8, 0.75)}


def styled(line):
    """The characters of a line with their attributes, as (character, frozenset of numbers)."""
    now = frozenset()
    for part in re.split(r"(␛\[[0-9;]*m)", line):
        if not part.startswith("␛"):
            yield from ((character, now) for character in part)
            continue
        for code in map(int, re.findall(r"\d+", part) or "0"):
            if code == 0:
                now = frozenset()
            elif 30 <= code <= 39:
                now = now - SCREEN_COLOURS.keys() | {code}
            else:
                now |= {code}


def colours(style):
    """Of the text and of what is behind it."""
    [colour] = [SCREEN_COLOURS[code] for code in style & SCREEN_COLOURS.keys()] or [
        FAINT if 2 in style else BRIGHT if 1 in style else PRINT]
    return (PAPER, PRINT) if 7 in style else (colour, None)


def row_of(cells, y):
    """The shapes of a row: what is behind, blocks, lines and words."""
    made, at = [], 0
    for style, run in itertools.groupby(cells, lambda cell: cell[1]):
        text = "".join(character for character, _ in run)
        ink, behind = colours(style)
        if behind:
            made.append(f'<rect x="{at * CELL:.1f}" y="{y}" width="{len(text) * CELL:.1f}" height="{RISE}" '
                        f'fill="{behind}"/>')
        if 4 in style:
            made.append(f'<rect x="{at * CELL:.1f}" y="{y + RISE - 2}" width="{len(text) * CELL:.1f}" '
                        f'height="1" fill="{FAINT}"/>')
        for index, character in enumerate(text):
            if character in BLOCKS:
                left, top, width, height, share = BLOCKS[character]
                made.append(f'<rect x="{(at + index + left / 8) * CELL:.1f}" y="{y + top / 8 * RISE:.1f}" '
                            f'width="{width / 8 * CELL:.1f}" height="{height / 8 * RISE:.1f}" fill="{ink}"'
                            + (f' opacity="{share}"' if share < 1 else "") + "/>")
        for word in re.finditer(r"[^\s\u2581-\u2593]+(?: [^\s\u2581-\u2593]+)*", text):
            bold = ' font-weight="bold"' if 1 in style else ""
            made.append(f'<text x="{(at + word.start()) * CELL:.1f}" y="{y + 13.5}" fill="{ink}"{bold} '
                        f'textLength="{len(word[0]) * CELL:.1f}" lengthAdjust="spacingAndGlyphs">'
                        f'{html.escape(word[0])}</text>')
        at += len(text)
    return made


def screen(text):
    """What tmux captures of a terminal, with the numbers of attributes and colours of ECMA-48."""
    rows = [list(styled(line)) for line in text.split("\n")[1:-1]]
    columns = max(map(len, rows))
    for row in rows:  # blanks at the end are not captured, also in a bar
        row += [(" ", row[-1][1])] * (columns - len(row)) if row and 7 in row[-1][1] else []
    width, height = columns * CELL, len(rows) * RISE
    shapes = [shape for number, row in enumerate(rows) for shape in row_of(row, number * RISE)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 20:.0f}" height="{height + 20:.0f}" '
            f'viewBox="-10 -10 {width + 20:.0f} {height + 20:.0f}" '
            f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">\n'
            f'<rect x="-10" y="-10" width="{width + 20:.0f}" height="{height + 20:.0f}" rx="6" fill="{PAPER}"/>\n'
            + "\n".join(shapes) + "\n</svg>\n")


# --- all of them -------------------------------------------------------------------------------


def dot(text):
    made = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=True)
    # Which graphviz it was makes no difference.
    return re.sub(r"<\?xml.*?<svg", "<svg", made.stdout, count=1, flags=re.DOTALL)


MAKERS = {".dot": dot, ".screen": screen, ".sequence": sequence, ".stages": stages}


def mark(text):
    return f"<!-- made by make.py of a text with SHA-256 {hashlib.sha256(text.encode()).hexdigest()} -->\n"


def main():
    status = 0
    for path in sorted(glob.glob(os.path.join(HERE, "*.*"))):
        stem, suffix = os.path.splitext(path)
        if suffix not in MAKERS:
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        there = ""
        if os.path.exists(stem + ".svg"):
            with open(stem + ".svg", encoding="utf-8") as file:
                there = file.read()
        fresh = there.startswith(mark(text))
        # What is made here is cheap to make again, and then also tells a change of this script.
        made = there if suffix == ".dot" and fresh else None
        if "--check" in sys.argv:
            if suffix != ".dot":
                fresh = there == mark(text) + MAKERS[suffix](text)
            if not fresh:
                print(f"{os.path.basename(stem)}.svg is not that of its text: ./dev docs")
                status = 1
            continue
        made = made or mark(text) + MAKERS[suffix](text)
        if made != there:
            with open(stem + ".svg", "w", encoding="utf-8") as file:
                file.write(made)
            print(f"made docs/pictures/{os.path.basename(stem)}.svg")
    return status


if __name__ == "__main__":
    sys.exit(main())

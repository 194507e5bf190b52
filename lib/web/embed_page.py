#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Puts styles and scripts into the HTML of a page and writes that as C source, with the policy that
lets exactly these scripts and styles run: as a meta element in the place of <!--POLICY-->, or else,
for a page that a server sends, as a string of its own.

usage: embed_page.py OUTPUT.c HEADER.h NAME PAGE.html STYLE.css... SCRIPT.js...
"""
import base64
import hashlib
import pathlib
import sys

BYTES_A_LINE = 64
META = "<!--POLICY-->"


def source(text):
    """'sha256-...' of an inline element's text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def escaped(data):
    """Bytes as a C string; \\ooo, as \\x would swallow the digits that follow."""
    def one(byte):
        character = chr(byte)
        if character in '"\\?':
            return "\\" + character
        return character if 32 <= byte < 127 else f"\\{byte:03o}"
    return "".join(one(byte) for byte in data)


def main():
    output, header, name, *files = sys.argv[1:]

    def texts(suffix):
        return "".join(pathlib.Path(file).read_text("utf-8") for file in files
                       if file.endswith(suffix))
    html, style, script = texts(".html"), texts(".css"), texts(".js")
    policy = ["default-src 'none'", f"script-src {source(script)}", f"style-src {source(style)}",
              "img-src data:", "base-uri 'none'", "form-action 'none'"]
    has_meta = META in html
    meta = f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(policy)}">'
    html = html.replace("/*STYLE*/", style).replace("/*SCRIPT*/", script).replace(META, meta)
    data = html.encode()
    lines = ["// Made by embed_page.py.", f'#include "{header}"', "", f"const char {name}[] ="]
    lines += [f'\t"{escaped(data[at:at + BYTES_A_LINE])}"'
              for at in range(0, len(data), BYTES_A_LINE)]
    lines += ["\t;", "", f"const size_t {name}_size = sizeof({name}) - 1;", ""]
    if not has_meta:
        policy += ["connect-src 'self'", "frame-ancestors 'none'"]
        lines += [f'const char {name}_policy[] = "{"; ".join(policy)}";', ""]
    pathlib.Path(output).write_text("\n".join(lines))


main()

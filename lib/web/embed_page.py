#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Puts the page's style and script into its HTML and writes that as C source, with the policy that
lets exactly this script and this style run.

usage: embed_page.py OUTPUT.c PAGE.html STYLE.css SCRIPT.js...
"""
import base64
import hashlib
import pathlib
import sys

BYTES_A_LINE = 64


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
    output, page, style, *scripts = map(pathlib.Path, sys.argv[1:])
    style = style.read_text("utf-8")
    script = "".join(path.read_text("utf-8") for path in scripts)
    html = page.read_text("utf-8").replace("/*STYLE*/", style).replace("/*SCRIPT*/", script)
    policy = "; ".join((
        "default-src 'none'", f"script-src {source(script)}", f"style-src {source(style)}",
        "connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'",
        "frame-ancestors 'none'"))
    data = html.encode()
    lines = ["// Made by embed_page.py from lib/web/page/.", '#include "web/page.h"', "",
             "const char web_page[] ="]
    lines += [f'\t"{escaped(data[at:at + BYTES_A_LINE])}"'
              for at in range(0, len(data), BYTES_A_LINE)]
    lines += ["\t;", "", "const size_t web_page_size = sizeof(web_page) - 1;", "",
              f'const char web_page_policy[] = "{policy}";', ""]
    output.write_text("\n".join(lines))


main()

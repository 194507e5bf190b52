# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Pages as a browser shows them."""

import os
import re
import shutil
import subprocess
import time

import evbtest
from evbtest import check, check_equal

ATTEMPTS = 3  # Chromium has hung on a busy machine; why is not known


class Browser:
    """Headless Chromium. Its clock runs ahead while nothing is under way, so that the page takes
    many looks within a moment. size: of its window, in pixels."""

    def __init__(self, work, size=(1500, 1600)):
        self._program = shutil.which("chromium")
        if not self._program:
            evbtest.skip("chromium is not installed")
        self._work = work
        self._size = size

    def _run(self, *arguments):
        for attempt in range(ATTEMPTS):
            profile = self._work.folder(f"chromium-{attempt}")
            try:
                result = subprocess.run(
                    [self._program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                     "--no-first-run", "--disable-background-networking",
                     "--disable-component-update", "--disable-sync", "--hide-scrollbars",
                     f"--user-data-dir={profile}", f"--window-size={self._size[0]},{self._size[1]}",
                     "--virtual-time-budget=3500", *arguments],
                    capture_output=True, text=True, timeout=evbtest.PATIENCE_S, check=False,
                    env={**os.environ, "HOME": self._work.directory})
            except subprocess.TimeoutExpired:
                continue
            check_equal(result.returncode, 0, f"status of chromium: {result.stderr[-2000:]}")
            return result.stdout
        raise evbtest.Failure(f"chromium did not end within {evbtest.PATIENCE_S} s, "
                              f"{ATTEMPTS} times")

    def document(self, url):
        return self._run("--dump-dom", url)

    def showing(self, words, url, name=None):
        """The document as soon as all words can be read in it; with a name, a screenshot is taken. A
        busy machine may leave an appliance without an answer in time, which a page says for a
        moment."""
        def missing(text):
            return [one for one in words if one not in text]

        end = time.monotonic() + evbtest.PATIENCE_S
        while True:
            document = self.pictured(url, name) if name else self.document(url)
            text = text_of(document)
            if not missing(text):
                return document
            check(time.monotonic() < end, f"not on the page: {missing(text)}: {text}")

    def pictured(self, url, name):
        """The document, of which a screenshot was taken."""
        folder = os.environ.get("EVB_SCREENSHOTS") or self._work.directory
        path = os.path.join(folder, name)
        document = self._run("--dump-dom", f"--screenshot={path}", url)
        with open(path, "rb") as file:
            data = file.read()
        check(data.startswith(b"\x89PNG") and len(data) > 20000, f"{len(data)} bytes of {name}")
        return document


def text_of(document):
    """What can be read in the body."""
    body = re.sub(r"<(script|style|noscript)\b.*?</\1>", " ", document.split("<body")[1],
                  flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())

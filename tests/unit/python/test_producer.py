#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""evb.Producer, the example program, and `evb take`: test_producer.py EVB EXAMPLE

What Python and the example put into a ring is what `evb take` writes to a file, byte for byte.
"""

import atexit
import errno
import os
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../../python")]

import evb

EVB, EXAMPLE = sys.argv[1:3]
SOURCES = (1, 2, 0x1000)


def make_mfp(dice, source, event_id):
    payload = dice.randbytes(4 * dice.randrange(1, 400))
    return struct.pack("<HHIQHBB", 0x40CE, 1, 28 + len(payload), event_id, source, 2, 1) + \
        struct.pack("<BxxxHxx", 15, len(payload)) + payload


class Take:
    """`evb take` of a ring in a directory of its own."""

    def __init__(self, folder, *options):
        self.folder = folder
        sources = [f"--source={source}" for source in SOURCES]
        self.process = subprocess.Popen(
            [EVB, "take", "--name", "try", "--ring-directory", folder, "--out", self.out,
             "--size", "64KiB", "--max-block", "8KiB", *sources, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        atexit.register(self.stop)
        self.process.stdout.readline()  # the ring is made

    def stop(self):
        """After a check that failed: it removes its ring."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()

    @property
    def out(self):
        return os.path.join(self.folder, "taken.mfp")

    def end(self):
        """Waits for the end. Returns status, output and the bytes taken."""
        output, errors = self.process.communicate(timeout=60)
        with open(self.out, "rb") as file:
            return self.process.returncode, output + errors, file.read()


def fails(code, function, *arguments):
    try:
        function(*arguments)
    except evb.ProducerError as error:
        assert error.errno == code, error
    else:
        raise AssertionError(f"no error {code}")


def test_python(folder):
    dice = random.Random(1)
    take = Take(folder, "--packing", "1")
    sent = b""
    fails(errno.ENOENT, evb.Producer, "try", "other", False, folder)
    with evb.Producer("try", "input", checked=True, directory=folder) as producer:
        assert producer.info == (65536, 8192, 1, SOURCES, True), producer.info
        fails(errno.EBUSY, evb.Producer, "try", "input", False, folder)
        for event_id in range(300):
            for source in SOURCES:
                mfp = make_mfp(dice, source, event_id)
                assert producer.put(source, event_id, mfp)
                sent += mfp
        mfp = make_mfp(dice, 1, 300)
        assert producer.wait(8192, 10)
        producer.reserve(1, 8192)[:len(mfp)] = mfp
        fails(errno.EBADMSG, producer.commit, 301, len(mfp))
        producer.commit(300, len(mfp))
        assert producer.last(1) == 300 and producer.last(2) == 299
        assert producer.counters.blocks == 901
        descriptor = producer.event_fd(8192)
        assert select.select([descriptor], [], [], 10)[0]
        assert producer.level in (0, 0.25, 0.5, 0.75, 0.875)
        producer.finish()
    status, output, taken = take.end()
    assert (status, taken) == (0, sent + mfp), output
    assert "took 901 blocks" in output and " 0 malformed" in output, output


def test_malformed_blocks_are_told(folder):
    take = Take(folder, "--count", "2")
    with evb.Producer("try", "input", directory=folder) as producer:
        producer.put(1, 7, make_mfp(random.Random(2), 2, 7))
        producer.put(1, 8, b"no MFP")
    status, output, _ = take.end()
    assert status == 2 and "2 malformed" in output, output
    assert "source 1, event 7" in output and "of another source" in output, output
    assert "event 8, 6 bytes: truncated" in output, output


def test_example_goes_on_where_it_was_killed(folder):
    """The example is killed several times; the file arrives whole."""
    dice = random.Random(3)
    played = os.path.join(folder, "played.mfp")
    with open(played, "wb") as file:
        for event_id in range(6000):
            for source in SOURCES:
                file.write(make_mfp(dice, source, event_id))
    name = f"try-{os.getpid()}"
    # The example searches for its ring in hugetlbfs mounts and /dev/shm only.
    take = Take(folder, "--name", name, "--ring-directory", "/dev/shm", "--size", "2MiB")
    for _ in range(5):
        # Nothing is taken meanwhile, so that no example comes to the end of the file.
        take.process.send_signal(signal.SIGSTOP)
        example = subprocess.Popen([EXAMPLE, name, "input", played])
        try:
            example.wait(dice.uniform(0.005, 0.02))
        except subprocess.TimeoutExpired:
            example.kill()
            example.wait()
        take.process.send_signal(signal.SIGCONT)
    subprocess.run([EXAMPLE, name, "input", played], check=True, timeout=60)
    status, output, taken = take.end()
    assert status == 0, output
    with open(played, "rb") as file:
        assert taken == file.read(), output


def main():
    for test in (test_python, test_malformed_blocks_are_told,
                 test_example_goes_on_where_it_was_killed):
        with tempfile.TemporaryDirectory(prefix="evb-producer-") as folder:
            test(folder)


if __name__ == "__main__":
    main()

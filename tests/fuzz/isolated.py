"""Searches in a process of their own: one that dies, or stops, is a finding, and the next goes on.

The process says which case it is about to run, in memory shared with the one that watches it.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import numpy_memory
import running

HERE = Path(__file__).parent
LONGEST = 60.0  # seconds that a case may take; of a device it may be the first, which compiles


class _Told(running.Findings):
    """Findings sent line by line to the process that watches."""

    def take(self, result):
        super().take(result)
        _tell({"difference": asdict(result)})


def _tell(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def work(progress, search):
    """In the process: ``search(findings)``; each case is announced in the file `progress`."""
    with open(progress, "r+b") as file:
        memory = mmap.mmap(file.fileno(), 8)
    faulthandler.enable()
    running.begins = lambda number: struct.pack_into("<q", memory, 0, number)
    findings = _Told()
    search(findings)
    drawn = [[list(d), n] for d, n in findings.drawn.items()]
    _tell({"counts": findings.counts, "drawn": drawn})


def search(arguments, shown, cases, first, seconds):
    """Findings of processes started one after the other, a new one where one died.

    `arguments`: of the command; ``shown(number)``: the name and the source of a case.
    """
    findings, at = running.Findings(), first
    numpy_memory.library()  # compiled here, for all of them
    end = time.monotonic() + seconds
    while at - first < cases and (left := end - time.monotonic()) > 0:
        count = cases - (at - first)
        asked = ["--first", at] + (["--cases", count] if count < float("inf") else [])
        asked += ["--minutes", left / 60] if left < float("inf") else []
        reached, said = _watched([str(a) for a in (*arguments, *asked)], findings)
        if not said:
            break
        name, source = shown(reached)
        findings.counts[name] += 1
        findings.counts["(others before one that died)"] += reached - at
        findings.take(running.Difference(reached, name, source, len(source), said))
        at = reached + 1
    return findings


def _watched(arguments, findings):
    """Run one process: the number of its last case, and how it died; nothing if it did not."""
    with tempfile.TemporaryDirectory() as folder:
        progress, words = Path(folder, "progress"), Path(folder, "words")
        progress.write_bytes(struct.pack("<q", -1))
        command = [sys.executable, str(HERE), *arguments, "--progress", str(progress)]
        with open(words, "wb") as errors, open(Path(folder, "told"), "w+b") as output:
            process = subprocess.Popen(command, stdout=output, stderr=errors)
            status = _ended(process, progress)
            output.seek(0)
            for line in output.read().splitlines():
                _heard(json.loads(line), findings)
        reached = struct.unpack("<q", progress.read_bytes())[0]
        if status == 0:
            return reached, ""
        text = words.read_text(errors="replace")
        if reached < 0 or (isinstance(status, int) and status > 0):  # an error of the search itself
            raise RuntimeError(f"{' '.join(command)} ended with {status}: {text[-2000:]}")
        return reached, f"{_name(status)} {_where(text)}"


def _ended(process, progress):
    """The status of a process; ``"stopped"`` if one case takes too long, and it is killed."""
    begun = seen = progress.read_bytes()
    since = time.monotonic()
    while True:
        try:
            return process.wait(0.5)
        except subprocess.TimeoutExpired:
            now = progress.read_bytes()
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > LONGEST * (10 if seen == begun else 1):  # imports
                process.send_signal(signal.SIGABRT)  # faulthandler says where it was
                process.wait()
                return "stopped"


def _name(status):
    return status if isinstance(status, str) else f"died of {signal.Signals(-status).name}:"


def _where(text):
    """The innermost lines of the package in what faulthandler wrote."""
    named = [f"{path}:{line}" for path, line in re.findall(r'File "(.+)", line (\d+)', text)]
    package = "tensorlayout" + os.sep
    ours = [line.rpartition(package)[2] for line in named if package in line]
    return " < ".join(ours[:3] or named[:4]) or text[-300:]


def _heard(message, findings):
    if "difference" in message:
        findings.take(running.Difference(**message["difference"]))
        return
    findings.counts.update(message["counts"])
    findings.drawn.update({tuple(d): n for d, n in message["drawn"]})

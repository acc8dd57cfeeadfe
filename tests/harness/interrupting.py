"""KeyboardInterrupt before each instruction of the package in turn."""

import sys
from itertools import count
from pathlib import Path

import tensorlayout

PACKAGE = str(Path(tensorlayout.__file__).parent)


def interrupted(work, number):
    """Call `work`, interrupted before the instruction of this number; whether it came to that.

    Instructions of the package are counted, in this thread, from 1 on.
    """
    executed = 0

    def instruction(frame, event, _):
        nonlocal executed
        if event == "opcode":
            executed += 1
            if executed == number:
                raise KeyboardInterrupt
        return instruction

    def call(frame, *_):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return instruction

    before = sys.gettrace(), sys.unraisablehook
    sys.unraisablehook = lambda _: None  # an interrupt inside a callback of a weak reference
    sys._getframe().f_trace_opcodes = True  # Python 3.12 asks for one before `settrace`
    sys.settrace(call)
    try:
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before[0])
        sys.unraisablehook = before[1]
    return executed >= number


def at_each_instruction(work, first=1, step=1):
    """Interrupt calls of `work` at one instruction after the other, until one goes through.

    Gives the number after each call that was interrupted, so that its traces can be looked for.
    """
    interrupted(work, 0)  # Python 3.13 counts nothing the first time
    for number in count(first, step):
        if not interrupted(work, number):
            return
        yield number

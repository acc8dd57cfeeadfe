"""Record of what the simulator's threads enqueue inside a block, and on which streams."""

from contextlib import contextmanager
from typing import NamedTuple
from unittest import mock

from tensorlayout.cuda.engine.driver import Stream
from tensorlayout.cuda.engine.simulator import SimulatedLauncher, SimulatorDriver


class Enqueued(NamedTuple):
    """A piece of work on a stream.

    `what`: the symbol of a kernel, the name of the driver's method, or the name of a call of
    CuPy. `after`: for "make_stream_wait", the stream whose work so far it waits for.
    """

    stream: Stream
    what: str
    after: Stream | None = None


@contextmanager
def enqueued():
    log, names = [], ("copy_to_device", "copy_to_host", "copy_device_to_device", "synchronize")
    real = {
        name: getattr(SimulatorDriver, name)
        for name in (*names, "array_module", "make_stream_wait")
    }
    launch = SimulatedLauncher.__call__

    def note(driver, what):
        log.append(Enqueued(driver.current_stream(driver.current_device()), what))

    def noting(name):
        def call(self, *arguments):
            note(self, name)
            return real[name](self, *arguments)

        return call

    def library(self, what):
        note(self, what)
        return real["array_module"](self, what)

    def order(self, first, then):
        if first != then:
            log.append(Enqueued(then, "make_stream_wait", after=first))
        real["make_stream_wait"](self, first, then)

    def launched(self, grid, parameters):
        note(self._driver, self._kernel.symbol)
        launch(self, grid, parameters)

    methods = {name: noting(name) for name in names} | {
        "array_module": library,
        "make_stream_wait": order,
    }
    in_driver = mock.patch.multiple(SimulatorDriver, **methods)
    with in_driver, mock.patch.object(SimulatedLauncher, "__call__", launched):
        yield log

"""Record of what the simulator's threads enqueue inside a block, and on which streams."""

from contextlib import contextmanager
from typing import NamedTuple
from unittest import mock

from tensorlayout.cuda.engine.driver import Stream
from tensorlayout.cuda.engine.simulator import SimulatedLauncher, SimulatorDriver


class Enqueued(NamedTuple):
    """A piece of work on a stream.

    `what`: the symbol of a kernel, the driver's method ("to_device", "to_host", "on_device",
    "synchronize", "order"), or what a call of the library is named. `after`: for "order", the
    stream whose work so far it waits for.
    """

    stream: Stream
    what: str
    after: Stream | None = None


@contextmanager
def enqueued():
    log, names = [], ("to_device", "to_host", "on_device", "synchronize")
    real = {name: getattr(SimulatorDriver, name) for name in (*names, "library", "order")}
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
        return real["library"](self, what)

    def order(self, first, then):
        if first != then:
            log.append(Enqueued(then, "order", after=first))
        real["order"](self, first, then)

    def launched(self, grid, parameters):
        note(self._driver, self._kernel.symbol)
        launch(self, grid, parameters)

    methods = {name: noting(name) for name in names} | {"library": library, "order": order}
    in_driver = mock.patch.multiple(SimulatorDriver, **methods)
    with in_driver, mock.patch.object(SimulatedLauncher, "__call__", launched):
        yield log

"""A machine with GPUs, as strict as CUDA and as late: memory, streams, graphs, sticky errors.

Kernels are the simulator's. Work is kept until somebody waits for it, and then runs in an order
drawn at random among those that streams and events allow; a seed repeats it. Memory that was never
written, or was freed, holds patterns. `strict_cupy` gives all of it CuPy's names.

What is freed changes hands in the order of the stream that it was allocated on, as in CuPy's pool:
its bytes are overwritten just before the next work of that stream, and from then on no kernel may
touch them.
"""

import contextlib
import ctypes
import itertools
import os
import random
import threading
from bisect import bisect_right, insort
from collections import Counter, deque
from functools import partial

import numpy as np

from tensorlayout.cuda.engine import simulator

ALLOCATED, FREED = 0xCB, 0xDB  # what memory holds that nobody has written
UNIT = 512  # bytes that allocations are multiples of, and begin at, as in CuPy's pool
DEEP = 48  # pieces of work that wait at most
FIRST_HANDLE = 0x7F0000001000

# Errors that are given, by CUDA's numbers.
ERRORS = {
    1: "invalid argument",
    2: "out of memory",
    101: "invalid device ordinal",
    200: "invalid kernel image",
    201: "invalid device context",
    209: "no kernel image for the device",
    400: "invalid resource handle",
    500: "named symbol not found",
    600: "device not ready",
    217: "peer access is not supported between these two devices",
    700: "an illegal memory access was encountered",
    704: "peer access is already enabled",
    711: "peer mapping resources exhausted",
    716: "misaligned address",
    900: "operation not permitted when stream is capturing",
    901: "operation failed due to a previous error during capture",
    903: "the capture was not begun on this stream",
    904: "unjoined work in the capture",
    905: "dependency created on uncaptured work in another stream",
    906: "operation would make the legacy stream depend on a capturing blocking stream",
    907: "event was last recorded in a capturing stream",
}


class Refused(Exception):
    """A call that CUDA answers with a status; whoever called makes it an error of CuPy's."""

    def __init__(self, status):
        super().__init__(status)
        self.status = status


class Work:
    """Enqueued work and its predecessors."""

    __slots__ = ("before", "done", "run")

    def __init__(self, run, before):
        self.run, self.before, self.done = run, before, False


class Stream:
    """Stream behind a handle."""

    def __init__(self, device, blocking):
        self.device, self.blocking = device, blocking
        self.last = None  # Work
        self.chores = []  # to be done just before the next work: memory that changes hands
        self.capture = None
        self.free = {}  # blocks by size


class Event:
    def __init__(self, device, timed):
        self.device, self.timed = device, timed
        self.work = self.captured = self.time = None


class Capture:
    """Nodes that streams record from begin_capture on, each with its predecessors."""

    def __init__(self, origin, mode):
        self.origin, self.nodes, self.tails = origin, [], {}
        self.mode, self.thread = mode, threading.get_ident()
        self.freed, self.broken = [], False
        self.join(origin, frozenset())

    def join(self, stream, after):
        stream.capture = self
        self.tails[stream] = self.tails.get(stream, frozenset()) | after

    def add(self, stream, run):
        if self.broken:
            raise Refused(901)
        self.nodes.append((run, self.tails[stream]))
        self.tails[stream] = frozenset([len(self.nodes) - 1])


class Block:
    """A part of the memory of a device, as the pool gives it out."""

    __slots__ = ("nbytes", "pointer", "pooled", "size", "stream")

    def __init__(self, pointer, size, stream):
        self.pointer, self.size, self.stream = pointer, size, stream
        self.pooled = True


class Spans:
    """Memory by address: what each span of it belongs to."""

    def __init__(self):
        self.begins, self.found = [], {}

    def add(self, begin, size, what):
        insort(self.begins, begin)
        self.found[begin] = size, what

    def remove(self, begin):
        self.begins.remove(begin)
        del self.found[begin]

    def at(self, address, size=1):
        """Return the owner of the span that holds these bytes; None without one."""
        number = bisect_right(self.begins, address) - 1
        if number < 0:
            return None
        begin = self.begins[number]
        length, what = self.found[begin]
        return what if address + size <= begin + length else None


class Machine:
    """GPUs, alike; `memory`: bytes of each."""

    def __init__(self, device_count=1, seed=None, memory=4 << 30, capability=90):
        self.seed = random.randrange(1 << 32) if seed is None else seed
        self.random = random.Random(self.seed)
        # How likely a GPU is to get on with what it has, each time that it gets more.
        self.eagerness = self.random.choice([0, 0.2, 0.7])
        self.device_count, self.memory, self.capability = device_count, memory, capability
        self.simulator = simulator.open_driver()
        self.adopted = []  # (address, bytes, device)
        self.peers = set()  # (device, peer): who may access whose memory
        self.strangers = set()  # pairs of devices that cannot
        self.peers_at_most = 8  # of a device
        self.between = []  # copies between devices: (from, to, whether not through the host)
        self.lock = threading.RLock()
        self.local = threading.local()
        self.handles = itertools.count(FIRST_HANDLE, 64)
        self.legacy = [Stream(number, True) for number in range(device_count)]
        self.threads_streams = {}
        self.streams, self.events, self.functions = {}, {}, {}
        self.made = []  # every stream that has been, but the legacy ones
        self.devices, self.pinned = Spans(), Spans()
        self.arrays = {}  # memory, by its address
        self.dropped = deque()  # by finalizers, at any moment
        self.spare_pinned = {}
        self.limits = {}  # of the pool, by device
        self.modules = Counter()  # bytes of loaded modules, by device
        self.pinned_at_most = 1 << 40  # bytes of pinned memory that the host has
        self.pending = []
        self.lost = self.said = None  # the sticky error; what the simulator said

    # ---- Calls

    @property
    def device(self):
        return getattr(self.local, "device", 0)

    def set_device(self, number):
        if not 0 <= number < self.device_count:
            raise Refused(101)
        self.local.device, self.local.ready = number, True

    def enter(self):
        """The begin of every call: what was dropped meanwhile, and the sticky error."""
        while self.dropped:
            self.dropped.popleft()()
        if self.lost:
            raise Refused(self.lost)

    def stream(self, handle):
        """Return the stream behind a handle on the current device."""
        if handle in (0, 1):
            return self.legacy[self.device]
        if handle == 2:
            key = self.device, threading.get_ident()
            if key not in self.threads_streams:
                self.threads_streams[key] = self.new_stream(True)
            return self.threads_streams[key]
        return self._known(self.streams, handle)

    def event(self, handle):
        return self._known(self.events, handle)

    def _known(self, table, handle):
        if handle not in table:
            raise Refused(400)
        return table[handle]

    def new_stream(self, blocking):
        result = Stream(self.device, blocking)
        self.made.append(result)
        return result

    def new(self, table, what):
        handle = next(self.handles)
        table[handle] = what
        return handle

    # ---- Work

    def _before(self, stream):
        """The last work of all streams that the next work on this one comes after."""
        streams = [stream]
        legacy = self.legacy[stream.device]
        if stream is legacy:
            streams += self._blocking(stream.device)
        elif stream.blocking:
            streams.append(legacy)
        return [item.last for item in streams if item.last and not item.last.done]

    def _blocking(self, device):
        return [item for item in self.made if item.blocking and item.device == device]

    def check_implicit(self, stream, breaks=False):
        """The legacy stream may not meet a stream that captures, unless that blocks nobody."""
        if stream is self.legacy[stream.device]:
            for item in self._blocking(stream.device):
                if item.capture:
                    item.capture.broken |= breaks
                    raise Refused(906)

    def enqueue(self, stream, run, after=()):
        """Work on a stream, or a node of what it captures."""
        if stream.capture:
            stream.capture.add(stream, run)
            return None
        self.check_implicit(stream, breaks=True)
        chores, stream.chores = stream.chores, []

        def all_of_it():
            for item in chores:
                item()
            run()

        before = self._before(stream)
        before += [work for work in after if work and not work.done]
        work = stream.last = Work(all_of_it if chores else run, before)
        self.pending.append(work)
        while self.pending and (self.random.random() < self.eagerness or len(self.pending) > DEEP):
            self._step(self.pending)
        return work

    def _step(self, among):
        """Run one piece of work that nothing is to come before."""
        ready = [work for work in among if all(item.done for item in work.before)]
        work = self.random.choice(ready)
        self.pending.remove(work)
        run, work.run, work.before, work.done = work.run, None, (), True
        if self.lost:
            return
        try:
            run()
        except simulator.KernelError as error:
            self.said = str(error)
            self.lost = 716 if "which is no multiple of" in self.said else 700

    def wait(self, works):
        """Until these are done, and nothing more or anything more, as it happens."""
        needed, results = set(), list(works)
        while results:
            work = results.pop()
            if work and not work.done and work not in needed:
                needed.add(work)
                results += work.before
        frugal = self.random.random() < 0.5
        while not all(work.done for work in needed):
            self._step([w for w in self.pending if w in needed] if frugal else self.pending)
        if self.lost:
            raise Refused(self.lost)

    def synchronize(self, stream):
        if stream.capture:
            self.spoil(stream)
        self.check_implicit(stream, breaks=True)
        self.wait(self._before(stream))
        self._rest(stream)

    def synchronize_device(self):
        device = self.device
        here = [item for item in self.pooled() if item.device == device]
        for item in here:
            if item.capture:
                self.spoil(item)
        self.wait(self.pending)
        for item in here:
            self._rest(item)

    def is_idle(self, stream):
        return not self._before(stream)

    def _rest(self, stream):
        """Memory changes hands at once where nothing is under way."""
        if self.is_idle(stream):
            chores, stream.chores = stream.chores, []
            for item in chores:
                item()

    def spoil(self, stream):
        """Invalidate a capture that contains a forbidden call."""
        stream.capture.broken = True
        raise Refused(900)

    def library(self, stream):
        """A library's call: here it runs on the host, after what the stream holds."""
        if stream.capture:
            self.spoil(stream)
        self.check_implicit(stream, breaks=True)
        self.wait(self._before(stream))
        self._rest(stream)

    # ---- Events

    def record(self, event, stream):
        if event.device != stream.device:
            raise Refused(400)
        event.captured = event.work = None
        if stream.capture:
            event.captured = stream.capture, stream.capture.tails[stream]
            return

        def note():
            event.time = next(self.handles)

        event.work = self.enqueue(stream, note)

    def wait_event(self, stream, event):
        if event.captured:
            capture, after = event.captured
            if stream.capture not in (None, capture):
                raise Refused(905)
            capture.join(stream, after)
        elif event.work:
            if stream.capture:
                stream.capture.broken = True
                raise Refused(905)
            self.enqueue(stream, lambda: None, after=[event.work])

    # ---- Graphs

    def begin_capture(self, stream, mode):
        """Mode: 0 global, 1 of this thread, 2 relaxed."""
        if stream.capture or stream is self.legacy[stream.device]:
            raise Refused(900)
        Capture(stream, mode)

    def check_unsafe(self):
        """A call that may wait, such as cudaMalloc, breaks captures that are not relaxed."""
        for stream in self.made:
            capture = stream.capture
            if capture and capture.mode in (0, 1 if capture.thread == threading.get_ident() else 0):
                self.spoil(stream)

    def end_capture(self, stream):
        """The nodes."""
        capture = stream.capture
        if capture is None:
            raise Refused(903)
        if capture.origin is not stream:
            raise Refused(903)
        joined, results = set(), list(capture.tails[stream])
        while results:
            number = results.pop()
            if number not in joined:
                joined.add(number)
                results += capture.nodes[number][1]
        for tail in capture.tails:
            tail.capture = None
        for block in capture.freed:
            if block in block.stream.free.get(block.size, ()):
                block.stream.chores.append(
                    partial(self._retire, block.pointer, block.nbytes, block.stream.device)
                )
                self._rest(block.stream)
        if capture.broken:
            raise Refused(901)
        if len(joined) < len(capture.nodes):
            raise Refused(904)
        return capture.nodes

    def launch_graph(self, nodes, stream):
        def run():
            done, left = set(), list(range(len(nodes)))
            while left:
                ready = [number for number in left if nodes[number][1] <= done]
                number = self.random.choice(ready)
                nodes[number][0]()
                left.remove(number)
                done.add(number)

        self.enqueue(stream, run)

    # ---- Memory

    def free_bytes(self, device):
        return self.memory - self.allocated_bytes(device) - self.modules[device]

    def allocated_bytes(self, device):
        return sum(size for size, what in self.devices.found.values() if what == device)

    def load_module(self, nbytes):
        """Return the bytes that a module takes of the current device."""
        self.check_unsafe()
        size = -(-nbytes // UNIT) * UNIT
        if size > self.free_bytes(self.device):
            raise Refused(2)
        self.modules[self.device] += size
        return size

    def malloc_outside_the_pool(self, nbytes, stream):
        block = self._new_block(-(-nbytes // UNIT) * UNIT, stream)
        block.nbytes, block.pooled = nbytes, False
        self.simulator.ranges[stream.device].add_range(block.pointer, nbytes)
        return block

    def pooled_bytes(self, device):
        """Bytes of blocks that the pool could give out."""
        streams = [item for item in self.pooled() if item.device == device]
        return sum(size * len(blocks) for item in streams for size, blocks in item.free.items())

    def malloc(self, nbytes, stream):
        """A block of the pool, for the stream that is current."""
        size = -(-nbytes // UNIT) * UNIT
        fitting = [
            item for item, blocks in stream.free.items() if size <= item <= 2 * size and blocks
        ]
        if not fitting:
            block = self._new_block(size, stream)
            block.nbytes = size if stream.capture else nbytes
            self.simulator.ranges[stream.device].add_range(block.pointer, block.nbytes)
            return block
        block = stream.free[min(fitting)].pop()
        ranges = self.simulator.ranges[stream.device]
        if stream.capture and block in stream.capture.freed:  # and still there
            ranges.remove_later(block.pointer, block.nbytes)
            block.nbytes = block.size
            ranges.add_range(block.pointer, block.nbytes)
            return block
        block.nbytes = block.size if stream.capture else nbytes
        stream.chores.append(partial(ranges.add_range, block.pointer, block.nbytes))
        if not stream.capture:
            self._rest(stream)
        return block

    def _new_block(self, size, stream):
        self.check_unsafe()
        device = stream.device
        limit = self.limits.get(device) or self.memory
        if size > min(self.free_bytes(device), limit - self.allocated_bytes(device)):
            raise Refused(2)
        array = np.full(size + UNIT, ALLOCATED, np.uint8)
        pointer = -(-array.ctypes.data // UNIT) * UNIT
        self.arrays[pointer] = array
        self.devices.add(pointer, size, device)
        return Block(pointer, size, stream)

    def drop(self, block):
        """The pool has it back; safe at any moment."""
        self.dropped.append(partial(self._free, block))

    def _free(self, block):
        stream = block.stream
        if not block.pooled:  # cudaFree waits
            self.wait(self.pending)
            self._retire(block.pointer, block.nbytes, stream.device)
            self._release(block)
            return
        stream.free.setdefault(block.size, []).append(block)
        if stream.capture:
            stream.capture.freed.append(block)
            return
        stream.chores.append(partial(self._retire, block.pointer, block.nbytes, stream.device))
        self._rest(stream)

    def _retire(self, pointer, nbytes, device):
        self.simulator.ranges[device].remove_later(pointer, nbytes)
        ctypes.memset(pointer, FREED, nbytes)

    def pooled(self):
        """The streams that blocks may be free of."""
        return [*self.made, *self.legacy]

    def free_all_blocks(self):
        self.wait(self.pending)
        for stream in self.pooled():
            self._rest(stream)
            for block in itertools.chain(*stream.free.values()):
                self._release(block)
            stream.free.clear()

    def _release(self, block):
        self.devices.remove(block.pointer)
        del self.arrays[block.pointer]

    def adopt(self, pointer, nbytes, owner):
        """Memory that a library made: device memory as long as what is given back."""
        with self.lock:
            stream = self.stream_in_use()
            self.simulator.ranges[stream.device].add_range(pointer, nbytes)
            self.adopted.append((pointer, nbytes, stream.device))
        return Adopted(self, pointer, nbytes, stream, owner)

    def device_at(self, address, size=1):
        """The device with memory there; None for what is the host's, or is not all there."""
        result = self.devices.at(address, size)
        if result is None:
            for begin, nbytes, device in self.adopted:
                if begin <= address and address + size <= begin + nbytes:
                    return device
        return result

    def stream_in_use(self):
        raise NotImplementedError  # which `strict_cupy` knows

    def pin(self, size):
        """Pinned memory of the host: an array. It goes back when nobody has it."""
        spare = self.spare_pinned.get(size)
        if not spare:
            self.check_unsafe()
            sizes = [bytes for bytes, _ in self.pinned.found.values()]
            sizes += [array.size for arrays in self.spare_pinned.values() for array in arrays]
            if size > self.pinned_at_most - sum(sizes):
                raise Refused(2)
        array = spare.pop() if spare else np.full(size, ALLOCATED, np.uint8)
        self.pinned.add(array.ctypes.data, size, True)
        return array

    def unpin(self, array):
        """Its next owner gets it at once, whatever still copies from there."""
        self.pinned.remove(array.ctypes.data)
        array[:] = FREED
        self.spare_pinned.setdefault(array.size, []).append(array)

    # ---- Copies

    def can_access_peer(self, device, peer):
        if not (0 <= device < self.device_count and 0 <= peer < self.device_count):
            raise Refused(101)
        return device != peer and not {(device, peer), (peer, device)} & self.strangers

    def enable_peer_access(self, peer):
        device = self.device
        if not self.can_access_peer(device, peer):
            raise Refused(217)
        if (device, peer) in self.peers:
            raise Refused(704)
        if sum(first == device for first, _ in self.peers) == self.peers_at_most:
            raise Refused(711)
        self.peers.add((device, peer))

    def copy(self, to, source, size, kind, stream):
        """As cudaMemcpyAsync; kind: 1 to a device, 2 from one, 3 on devices, 4 by the addresses."""
        from_host, to_host = (self.device_at(item) is None for item in (source, to))
        if (from_host, to_host) != {1: (True, False), 2: (False, True), 3: (False, False)}.get(
            kind, (from_host, to_host)
        ):
            raise Refused(1)
        for address, on_host in ((to, to_host), (source, from_host)):
            if not on_host and self.device_at(address, size) is None:
                raise Refused(1)
        ends = self.device_at(source), self.device_at(to)
        if None not in ends and ends[0] != ends[1]:
            self.between.append((*ends, {ends, ends[::-1]} <= self.peers))
        host = source if from_host else to if to_host else None
        pageable = host is not None and self.pinned.at(host, size) is None
        if pageable and stream.capture:
            self.spoil(stream)
        read = partial(_host_bytes, source, size) if from_host else None
        if pageable and from_host and self.random.random() < 0.5:
            read = partial(bytes, read())

        def run():
            if not from_host:
                self.check_live(source, size)
            if not to_host:
                self.check_live(to, size)
            if from_host:
                ctypes.memmove(to, read(), size)
            elif to_host and pageable:
                _write_host(to, ctypes.string_at(source, size))
            else:
                ctypes.memmove(to, source, size)

        work = self.enqueue(stream, run)
        if pageable and to_host and self.random.random() < 0.5:
            self.wait([work])

    def check_live(self, address, size):
        if not any(item.contains(address, size) for item in self.simulator.ranges):
            msg = f"a copy of {size} bytes at {address:#x}, which are not all allocated"
            raise simulator.KernelError(msg)

    # ---- Launches

    def unload(self, functions, module):
        """Functions of a module that nobody has any more; what was launched runs to its end."""
        for handle in functions:
            del self.functions[handle]
        if module is not None:  # else it could not be loaded
            self.modules[module.device] -= module.nbytes

    def launch(self, function, grid, block, shared, stream, parameters):
        """As cuLaunchKernel."""
        if function.device != stream.device:
            raise Refused(400)
        threads = block[0] * block[1] * block[2]
        if not all(0 < n <= most for n, most in zip(grid, (2**31 - 1, 65535, 65535), strict=True)):
            raise Refused(1)
        if not 0 < threads <= function.threads or shared > 48 << 10:
            raise Refused(1)
        assert block == (function.threads, 1, 1), "the simulator has blocks of one size"
        read = bytearray(ctypes.string_at(parameters, function.parameter_bytes))

        def run():
            with self.simulator.using_device(function.device):
                function.launcher(grid, bytearray(read))

        self.enqueue(stream, run)


class Adopted:
    """Keeps what a library made, until its stream has come as far as where it was dropped."""

    def __init__(self, machine, *arguments):
        self.machine, self.arguments = machine, arguments

    def __del__(self):
        self.machine.dropped.append(partial(_disown, self.machine, *self.arguments))


def _disown(machine, pointer, nbytes, stream, owner):
    def remove(_owner=owner):
        machine.adopted.remove((pointer, nbytes, stream.device))
        machine.simulator.ranges[stream.device].remove_later(pointer, nbytes)

    stream.chores.append(remove)
    machine._rest(stream)


# ---- Memory of the host, which may be gone when a copy comes to it


def _host_bytes(address, size):
    result = np.full(size, FREED, np.uint8)
    with contextlib.suppress(OSError), open("/proc/self/mem", "rb", 0) as memory:
        os.preadv(memory.fileno(), [result], address)
    return result.tobytes()


def _write_host(address, octets):
    with contextlib.suppress(OSError), open("/proc/self/mem", "r+b", 0) as memory:
        os.pwritev(memory.fileno(), [octets], address)

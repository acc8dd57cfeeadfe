"""HLO modules as values: computations, instructions, buffers, and the cost of layout changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from tensorlayout.xla.calling import require
from tensorlayout.xla.shapes import Shape

# Instructions that change no values; a bitcast does not even move them.
_LAYOUT_ONLY_OPCODES = frozenset({"bitcast", "copy", "copy-start", "transpose"})

# Computations called by these run instruction by instruction; others, such as the body of a
# fusion, run as a part of the calling instruction.
_CONTROL_FLOW_OPCODES = frozenset({"call", "conditional", "while"})

# Results of these share memory with their operands or with the called computation.
_SHARED_MEMORY_OPCODES = _CONTROL_FLOW_OPCODES | {
    "add-dependency",
    "after-all",
    "bitcast",
    "domain",
    "get-tuple-element",
    "optimization-barrier",
    "tuple",
}

# Asynchronous operations return a tuple; this element of it is the operand itself.
_OPERAND_ELEMENT_NUMBERS = {
    "all-gather-start": 0,
    "collective-permute-start": 0,
    "copy-start": 1,
    "send": 0,
}


@dataclass(frozen=True, slots=True)
class HloInstruction:
    """One line of a computation: name, operation, operands and the shape of the result.

    - `opcode`: as in the text, such as ``get-tuple-element``.
    - `operands`: names of instructions of the same computation.
    - `calls`: names of computations.
    - `attributes`: texts after the operands by name, such as ``{"dimensions": "{1,0}"}``.
    - `parameter_number`: None if the instruction is not a parameter.

    Values of constants are not kept.

    >>> from tensorlayout import xla
    >>> text = "HloModule m f { x = f32[2,3] parameter(0) ROOT y = f32[3,2] transpose(x) }"
    >>> xla.HloInstruction("y", "transpose", xla.parse_shape("f32[3,2]"), ("x",)) == (
    ...     xla.parse_hlo(text).entry.root
    ... )
    True
    """

    name: str
    opcode: str
    shape: Shape
    operands: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)
    parameter_number: int | None = None


@dataclass(frozen=True)
class HloComputation:
    """Named sequence of instructions, in text order; `root` is the instruction of the result.

    >>> from tensorlayout import xla
    >>> module = xla.parse_hlo("HloModule m f { y = s8[] parameter(1) x = s8[] parameter(0) }")
    >>> isinstance(module.entry, xla.HloComputation), [p.name for p in module.entry.parameters]
    (True, ['x', 'y'])
    """

    name: str
    instructions: tuple[HloInstruction, ...]
    root: HloInstruction

    @cached_property
    def by_name(self) -> Mapping[str, HloInstruction]:
        """Instructions by name; operands are such names."""
        return {instruction.name: instruction for instruction in self.instructions}

    @property
    def parameters(self) -> tuple[HloInstruction, ...]:
        """Parameters in the order of their numbers."""
        numbered = [(n, i) for i in self.instructions if (n := i.parameter_number) is not None]
        return tuple(i for _, i in sorted(numbered, key=lambda pair: pair[0]))


class HloBuffer(NamedTuple):
    """Array that a module keeps in memory; its **bytes** include padding.

    `name`: the instruction, preceded by its computation unless that is the entry, and followed by
    the path of the array in a tuple, as in ``body/sorted{1}``.

    >>> from tensorlayout import xla
    >>> text = "HloModule m f { x = f32[9,1]{1,0:T(8,128)} parameter(0) }"
    >>> (x,) = xla.parse_hlo(text).buffers()
    >>> isinstance(x, xla.HloBuffer), x.name, x.bytes, x.padding_bytes
    (True, 'x', 8192, 8156)
    """

    name: str
    instruction: HloInstruction
    shape: Shape
    bytes: int
    padding_bytes: int


class HloLayoutChange(NamedTuple):
    """Instruction that only changes a layout, and the **bytes** that it moves in each run.

    `name` is as in `HloBuffer`. `source` and `result` are the shapes that are read and written;
    `bytes_read` and `bytes_written` include padding.

    >>> from tensorlayout import xla
    >>> text = '''HloModule m
    ... f { x = f32[2,3]{1,0} parameter(0)
    ...     y = f32[2,3]{0,1} copy(x) }'''
    >>> (y,) = xla.parse_hlo(text).layout_changes()
    >>> isinstance(y, xla.HloLayoutChange), y.name, y.bytes_read, y.bytes_written
    (True, 'y', 24, 24)
    """

    name: str
    instruction: HloInstruction
    source: Shape
    result: Shape
    bytes_read: int
    bytes_written: int


@dataclass(frozen=True)
class HloModule:
    """Contents of an HLO text: computations in text order, and which of them is the entry.

    - `parameter_shapes`, `result_shape`: shapes of the entry, from ``entry_computation_layout`` if
      the text has it, else from the instructions. Arrays whose layout is left open there have none.
    - `attributes`: texts of the first line, by name.

    >>> from tensorlayout import xla
    >>> module = xla.parse_hlo("HloModule m, is_scheduled=true f { x = f32[2] parameter(0) }")
    >>> isinstance(module, xla.HloModule), module.name, dict(module.attributes)
    (True, 'm', {'is_scheduled': 'true'})
    """

    name: str
    computations: tuple[HloComputation, ...]
    entry: HloComputation
    parameter_shapes: tuple[Shape, ...]
    result_shape: Shape
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)

    @cached_property
    def by_name(self) -> Mapping[str, HloComputation]:
        """Computations by name."""
        return {computation.name: computation for computation in self.computations}

    @cached_property
    def shapes(self) -> Mapping[str, Shape]:
        """Shapes of all instructions by name.

        Names in texts written by XLA are unique in a module. If several computations use a name, it
        appears as ``computation/name`` for each of them, and not alone.
        """
        # Two passes: whether a name is qualified depends on all uses, also later ones.
        times = Counter(i.name for c in self.computations for i in c.instructions)
        return {
            i.name if times[i.name] == 1 else f"{c.name}/{i.name}": i.shape
            for c in self.computations
            for i in c.instructions
        }

    def buffers(self) -> tuple[HloBuffer, ...]:
        """Return the arrays that instructions keep in memory of their own, in text order.

        Covers the entry and the computations that it runs by ``while``, ``conditional`` and
        ``call``. Values inside a fusion, a reduction or a sort have no buffers. Tuples, tuple
        elements, bitcasts, parameters of loops and branches and similar instructions share memory
        with others. XLA writes some results over an operand and reuses memory over time, so a
        program may need less than the sum of these buffers.

        Raises `ValueError` for an array of unbounded size.
        """
        result = []
        # Parameters of loops and branches are the caller's values, the results of "-done" those of
        # "-start".
        for computation, instruction in self._executed_instructions():
            is_inner_parameter = (
                instruction.parameter_number is not None and computation is not self.entry
            )
            if (
                is_inner_parameter
                or instruction.opcode in _SHARED_MEMORY_OPCODES
                or instruction.opcode.endswith("-done")
            ):
                continue
            operand_path = _operand_path_in_result(instruction)
            for path, shape in instruction.shape.leaves():
                # `operand_path` has one entry, so a prefix of one is compared: all arrays inside an
                # operand tuple are skipped. (-1,) equals no prefix.
                if shape.is_array and path[:1] != operand_path:
                    path_text = f"{{{','.join(map(str, path))}}}" if path else ""
                    size = _physical_bytes(shape, instruction)
                    padding = size - shape.byte_size
                    name = f"{self._qualified_name(computation, instruction)}{path_text}"
                    result.append(HloBuffer(name, instruction, shape, size, padding))
        return tuple(result)

    def layout_changes(self) -> tuple[HloLayoutChange, ...]:
        """Return the instructions that only change a layout, in text order, with the moved bytes.

        These are ``copy`` (also ``copy-start``), ``transpose``, ``bitcast``, and fusions of only
        these. A bitcast moves nothing, and a copy may keep the layout. Instructions inside fusions
        are not listed separately.

        Raises `ValueError` for an array of unbounded size.
        """
        changes = []
        for computation, instruction in self._executed_instructions():
            moves_elements = self._layout_change_moves_elements(instruction)
            if moves_elements is None or len(instruction.operands) != 1:
                continue
            source, result = computation.by_name[instruction.operands[0]].shape, instruction.shape
            # The result of copy-start is a tuple: destination, source, context.
            if instruction.opcode == "copy-start" and result.elements:
                result = result.elements[0]
            if not source.is_array or not result.is_array:
                continue
            # A bitcast multiplies by False: it moves 0 bytes, but unknown sizes still raise the
            # error.
            read, written = (
                _physical_bytes(shape, instruction) * moves_elements for shape in (source, result)
            )
            name = self._qualified_name(computation, instruction)
            changes.append(HloLayoutChange(name, instruction, source, result, read, written))
        return tuple(changes)

    def _layout_change_moves_elements(self, instruction: HloInstruction) -> bool | None:
        """Return whether a layout change moves elements; None for other instructions."""
        opcodes = {instruction.opcode}
        if opcodes == {"fusion"}:
            called_computations = (self.by_name[name] for name in instruction.calls)
            # Parameters of a fused computation do no work.
            opcodes = {i.opcode for c in called_computations for i in c.instructions} - {
                "parameter"
            }
        return opcodes != {"bitcast"} if opcodes and opcodes <= _LAYOUT_ONLY_OPCODES else None

    def _executed_instructions(self) -> Iterator[tuple[HloComputation, HloInstruction]]:
        """Return the instructions that run on their own, each with its computation."""
        # The computations reachable from the entry by control flow. They are only collected here;
        # the result is in text order, not in the order in which they are reached.
        reached, pending = {self.entry.name}, [self.entry]
        while pending:
            for instruction in pending.pop().instructions:
                if instruction.opcode in _CONTROL_FLOW_OPCODES:
                    new_names = [name for name in instruction.calls if name not in reached]
                    reached.update(new_names)
                    pending += [self.by_name[name] for name in new_names]
        return ((c, i) for c in self.computations if c.name in reached for i in c.instructions)

    def _qualified_name(self, computation: HloComputation, instruction: HloInstruction) -> str:
        is_inner = computation is not self.entry
        return f"{computation.name}/{instruction.name}" if is_inner else instruction.name


def _operand_path_in_result(instruction: HloInstruction) -> tuple[int, ...]:
    """Return where the result of a transfer's start aliases its operand; (-1,) if nowhere."""
    opcode, elements = instruction.opcode, instruction.shape.elements
    if opcode in _OPERAND_ELEMENT_NUMBERS:
        return (_OPERAND_ELEMENT_NUMBERS[opcode],)
    # Starts of this form, such as async-start, return the tuple of their operands first.
    if opcode.endswith("-start") and elements and elements[0].is_tuple:
        return (0,)
    return (-1,)


def _physical_bytes(shape: Shape, instruction: HloInstruction) -> int:
    is_known = not shape.is_unbounded_dynamic
    require(is_known, f"HLO: {instruction.name} has no bytes, its size is not known", shape)
    return shape.physical_byte_size

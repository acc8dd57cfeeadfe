"""Machine code run by NumPy: what warps issue, what they store, and what that allows."""

import re
import struct

import numpy as np
import pytest
from simulated import simulator

import tensorlayout as tl
from benchmarks import roofline
from benchmarks.resources import Resources
from benchmarks.roofline import Code, Issued, issuing
from benchmarks.sass import Machine, Unknown, parsed


def line(address, text):
    return f"        /*{address:04x}*/                   {text} ;"


def program(text):
    """Instructions with semicolons between, as nvdisasm prints them: labels end with a colon."""
    address, results = 0, []
    for item in filter(None, map(str.strip, re.split("[;\n]", text))):
        if item.endswith(":"):
            results.append(item)
        else:
            results.append(line(address, item))
            address += 16
    return parsed("\n".join(results))


def ran(text, parameters=b"", blocks=(0,), memory=()):
    code = program(text)
    return Machine(code, {0: parameters}, list(blocks), 7, memory).run()


STORE = "LDC.64 R2, c[0x0][0x210]; IMAD.WIDE.U32 R2, R0, 0x4, R2"
BASE = struct.pack("<Q", 4096)


def stored(text, parameters=BASE, memory=()):
    """Return the values of R4 that threads store from address 4096 on."""
    every = f"S2R R0, SR_TID.X; {STORE}; {text}; STG.E desc[UR4][R2.64], R4; EXIT"
    ((address, values),) = ran(every, parameters=parameters, memory=memory).stores
    assert address.tolist() == list(range(4096, 4096 + 4 * len(address), 4))
    return values.astype(np.int64)


THREADS = np.arange(256)


def test_warps_issue_what_their_threads_reach():
    straight = ran("S2R R0, SR_TID.X; EXIT", blocks=(0, 3))
    assert straight.issued.tolist() == [2 * 8, 2 * 8]
    # Threads below 40 skip one: of the second warp some do, and the warp issues it.
    split = ran("""
        S2R R0, SR_TID.X; ISETP.GE.U32.AND P0, PT, R0, 0x28, PT
        @!P0 BRA `(.L_x_0); NOP
        .L_x_0:; EXIT
    """)
    assert split.issued.tolist() == [4 * 8 + 7]


def test_a_loop_is_counted_as_often_as_it_runs():
    result = ran("""
        IMAD.MOV.U32 R1, RZ, RZ, RZ
        .L_x_0:; VIADD R1, R1, 0x1; ISETP.NE.AND P0, PT, R1, 0x5, PT; @P0 BRA `(.L_x_0); EXIT
    """)
    assert result.issued.tolist() == [8 * (1 + 5 * 3 + 1)]


def test_threads_meet_at_barriers():
    """Each reads what its neighbour wrote, in the other order of warps."""
    # Addresses are of 32 bits.
    result = stored("""
        IMAD.SHL.U32 R5, R0, 0x4, RZ; STS [R5+0x400], R0; BAR.SYNC.DEFER_BLOCKING 0x0
        IADD3 R5, -R5, -0x4, RZ; LDS R4, [R5+0x800]
    """)
    assert result.tolist() == THREADS[::-1].tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("IMAD R4, R0, 0x3, -R0", 2 * THREADS),
        ("IMAD.HI.U32 R4, R0, 0x80000000, RZ", THREADS // 2),
        ("LEA R4, R0, 0x7, 0x2", 4 * THREADS + 7),
        ("LEA.HI R4, R0, 0x1, RZ, 0x1f", THREADS // 2 + 1),
        ("SHF.R.U32.HI R4, RZ, 0x3, R0", THREADS // 8),
        ("SHF.L.U32 R4, R0, 0x3, RZ", THREADS * 8),
        ("LOP3.LUT R4, R0, 0xf, RZ, 0xc0, !PT", THREADS & 15),
        ("LOP3.LUT R4, R0, 0xf, RZ, 0x3c, !PT", THREADS ^ 15),
        ("PRMT R4, R0, 0x4440, RZ", THREADS),
        ("PRMT R4, RZ, 0x6540, R0", THREADS << 8),
        ("VIMNMX R4, R0, 0x64, PT", np.minimum(THREADS, 100)),
        ("VIMNMX R4, R0, 0x64, !PT", np.maximum(THREADS, 100)),
        # Of each half, as PTX defines min.s16x2 and max.u16x2. -2 and 65534 are the same bits.
        ("PRMT R5, R0, 0x1054, 0xfffe; VIMNMX.S16x2 R4, R5, 0x10000, PT",
         np.minimum(THREADS, 1) * 65536 + 65534),
        ("PRMT R5, R0, 0x1054, 0xfffe; VIMNMX.U16x2 R4, R5, 0x10000, !PT",
         np.maximum(THREADS, 1) * 65536 + 65534),
        ("MOV R5, 0x10000; VIMNMX3.U16x2 R4, R0, R5, 0x20005, !PT",
         np.maximum(THREADS, 5) + (2 << 16)),
        ("HADD2 R4, -RZ.H0_H0, 2, 1", np.full(256, 0x40003C00)),
        # A borrow goes on to the next word.
        ("IADD3 R6, P0, R0, -0x1, RZ; IADD3.X R4, RZ, RZ, RZ, P0, !PT", (THREADS >= 1) + 0),
        ("MOV R9, 0x64; IADD3 R6, P0, R0, -R9, RZ; SEL R4, RZ, 0x1, P0", (THREADS < 100) + 0),
        ("I2FP.F32.S32 R5, R0; FADD R5, R5, 0.5; F2I.S32.TRUNC R4, R5", THREADS),
        ("I2F.F64 R6, R0; DMUL R6, R6, 0.5; F2F.F32.F64 R5, R6; F2I.TRUNC R4, R5", THREADS // 2),
        ("HADD2 R4, R0, 5.9604644775390625e-08, 1.1920928955078125e-07", THREADS + 2 + (1 << 16)),
        ("MOV R5, 0x40004200; HMUL2 R4, R5.H1_H1, R0", 2 * THREADS),
        ("MOV R5, 0x40004200; HFMA2 R4, R5.H0_H0, R0, -R0", 2 * THREADS),
        ("LOP3.LUT R5, R0, 0xf, RZ, 0xc0, !PT; POPC R4, R5", np.bitwise_count(THREADS & 15)),
        ("FLO.U32 R4, R0", np.array([0xFFFFFFFF, *[n.bit_length() - 1 for n in range(1, 256)]])),
        (
            "BREV R5, R0; SHF.R.U32.HI R4, RZ, 0x18, R5",
            np.array([int(f"{n:08b}"[::-1], 2) for n in range(256)]),
        ),
        ("SGXT R4, R0, 0x4", (THREADS & 15) - 16 * (THREADS & 8 > 0) & 0xFFFFFFFF),
        ("SGXT.U32 R4, R0, 0x4", THREADS & 15),
        ("BMSK R5, 0x1, 0x3; LOP3.LUT R4, R0, R5, RZ, 0xc0, !PT", THREADS & 14),
        ("PRMT R5, R0, 0x0000, RZ; IDP.4A.U8.S8 R4, R5, 0xff02, R0", THREADS * (2 - 1 + 1)),
        # The nearest whole number, or the even one of two, as cvt.rni of PTX: 0, 0, 1, 2, 2, 2.
        ("I2FP.F32.S32 R5, R0; FMUL R5, R5, 0.5; FRND R5, R5; F2I.S32.TRUNC R4, R5",
         (THREADS + THREADS % 4 // 3) // 2),
        ("I2FP.F32.S32 R5, R0; FMUL R5, R5, 0.5; F2I.NTZ R4, R5",
         (THREADS + THREADS % 4 // 3) // 2),
        # As fma of PTX: towards -inf, inf and 0, where the last bit is 1, and limited to 0 and 1.
        ("I2FP.F32.S32 R5, R0; FFMA.RM R4, R5, 0.25, 12582912", 0x4B400000 + THREADS // 4),
        ("I2FP.F32.S32 R5, R0; FFMA.RP R4, R5, 0.25, 12582912", 0x4B400000 - -THREADS // 4),
        ("I2FP.F32.S32 R5, R0; FMUL R5, R5, -0.25; FADD.RZ R4, R5, -12582912",
         0xCB400000 + THREADS // 4),
        ("I2FP.F32.S32 R5, R0; FFMA.SAT R5, R5, 0.0078125, -0.5; FMUL R5, R5, 128; F2I R4, R5",
         np.clip(THREADS - 64, 0, 128)),
        ("I2F.F64 R6, R0; DMUL R6, R6, 0.5; FRND.F64.CEIL R6, R6; F2I.F64.TRUNC R4, R6",
         (THREADS + 1) // 2),
        # As min and max of PTX: a number is taken, not NaN.
        ("I2F.F64 R6, R0; DSETP.MAX.AND P0, P1, R6, 100, PT; SEL R4, R0, 0x64, P0",
         np.maximum(THREADS, 100)),
        ("I2F.F64 R6, R0; DSETP.MIN.AND P0, P1, R6, +QNAN, PT; SEL R4, R0, 0x64, P0;"
         " @P1 MOV R4, RZ", THREADS),
        ("HFMA2.MMA R4, -RZ, RZ, 0, 7.152557373046875e-07", np.full(256, 12)),
    ],
)  # fmt: skip
def test_instructions(text, expected):
    assert stored(text).tolist() == expected.tolist()


LANE = THREADS % 32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SHFL.BFLY PT, R4, R0, 0x1, 0x1f", THREADS ^ 1),
        ("SHFL.UP P0, R4, R0, 0x2, RZ; @!P0 MOV R4, RZ", np.where(LANE < 2, 0, THREADS - 2)),
        ("SHFL.DOWN PT, R4, R0, 0x10, 0x1f", np.where(LANE < 16, THREADS + 16, THREADS)),
        # In groups of eight lanes.
        ("SHFL.IDX PT, R4, R0, 0x3, 0x181f", THREADS // 8 * 8 + 3),
        ("ISETP.LT.U32.AND P0, PT, R0, 0x21, PT; VOTE.ANY R4, PT, P0",
         np.select([THREADS < 32, THREADS < 64], [0xFFFFFFFF, 1])),
        ("ISETP.LT.U32.AND P0, PT, R0, 0x21, PT; VOTE.ALL P1, P0; SEL R4, RZ, 0x1, P1",
         (THREADS >= 32) + 0),
        ("LOP3.LUT R5, R0, 0x3, RZ, 0xc0, !PT; MATCH.ANY R4, R5", 0x11111111 << THREADS % 4),
        ("REDUX.SUM UR6, R0; MOV R4, UR6", THREADS // 32 * 1024 + 496),
        ("REDUX.MAX.S32 UR6, -R0; MOV R4, UR6; IADD3 R4, -R4, RZ, RZ", THREADS // 32 * 32),
        # Threads whose votes a block counts.
        ("ISETP.LT.U32.AND P0, PT, R0, 0x21, PT; BAR.RED.POPC.DEFER_BLOCKING 0x0, P0;"
         " B2R.RESULT R4", np.full(256, 33)),
    ],
)  # fmt: skip
def test_instructions_of_whole_warps(text, expected):
    assert (stored(text) & 0xFFFFFFFF).tolist() == expected.tolist()


def test_lanes_that_do_not_take_part_have_no_vote():
    """The first eight lanes skip the vote, and keep their own number."""
    result = stored("""
        MOV R4, R0; LOP3.LUT R5, R0, 0x1f, RZ, 0xc0, !PT; ISETP.GE.U32.AND P0, PT, R5, 0x8, PT
        @!P0 BRA `(.L_x_0); VOTE.ANY R4, PT, PT
        .L_x_0:; NOP
    """)
    assert result.tolist() == np.where(LANE < 8, THREADS, 0xFFFFFF00).tolist()


def test_lanes_that_parted_meet_at_a_barrier():
    """Eight lanes go to code behind the end and come back; the others wait before they vote."""
    result = ran(f"""
        S2R R0, SR_TID.X; {STORE}; LOP3.LUT R5, R0, 0x1f, RZ, 0xc0, !PT
        ISETP.LT.U32.AND P0, PT, R5, 0x8, PT; BSSY B0, `(.L_x_1); @P0 BRA `(.L_x_0)
        .L_x_1:; BSYNC B0; VOTE.ANY R4, PT, PT; STG.E desc[UR4][R2.64], R4; EXIT
        .L_x_0:; NOP; BRA `(.L_x_1)
    """, parameters=BASE)  # fmt: skip
    ((_, values),) = result.stores
    assert values.tolist() == [0xFFFFFFFF] * 256
    assert result.issued.tolist() == [8 * (11 + 2 + 1)]  # the barrier twice


def test_lanes_that_leave_a_loop_are_not_waited_for():
    """Odd lanes break, and even ones go round four times, in which they alone vote."""
    result = stored("""
        MOV R6, RZ; LOP3.LUT R5, R0, 0x1, RZ, 0xc0, !PT; ISETP.NE.U32.AND P0, PT, R5, RZ, PT
        BSSY B0, `(.L_x_1)
        .L_x_0:; @P0 BREAK B0; @P0 BRA `(.L_x_2); VOTE.ANY R4, PT, PT; IADD3 R6, R6, 0x1, RZ
        ISETP.NE.U32.AND P1, PT, R6, 0x4, PT; @P1 BRA `(.L_x_0)
        .L_x_1:; BSYNC B0; BRA `(.L_x_3)
        .L_x_2:; MOV R4, R6
        .L_x_3:; NOP
    """)
    assert result.tolist() == np.where(THREADS % 2, 0, 0x55555555).tolist()


def test_atomics_change_memory():
    """All threads add to one word, and each gets its own place, as in a kernel that runs whole."""
    memory = np.zeros(8, np.uint32)
    begin = memory.ctypes.data
    code = program("""
        LDC.64 R2, c[0x0][0x210]; S2R R0, SR_TID.X; MOV R6, 0x2
        ATOMG.E.ADD.STRONG.GPU PT, R4, desc[UR4][R2.64], R6
        REDG.E.MAX.STRONG.GPU desc[UR4][R2.64+0x4], R4
        ISETP.EQ.U32.AND P0, PT, R0, 0x25, PT; MOV R8, 0x7; MOV R9, 0x5
        @P0 ATOMG.E.CAS.STRONG.GPU PT, R5, [R2+0x8], RZ, R8; @P0 STG.E desc[UR4][R2.64+0xc], R5
        @P0 ATOMG.E.CAS.STRONG.GPU PT, R5, [R2+0x8], RZ, R9; @P0 STG.E desc[UR4][R2.64+0x10], R5
        EXIT
    """)
    parameters, spans = struct.pack("<Q", begin), ((begin, memory.nbytes),)
    machine = Machine(code, {0: parameters}, [0], 1, spans, block=(64, 1, 1), keeps=True)
    result = machine.run()
    assert memory.tolist() == [128, 126, 7, 0, 7, 0, 0, 0]
    assert result.stores == []
    assert result.stored.tolist() == [1 + (begin % 32 > 12)]


def test_generic_addresses():
    """Even threads read shared memory, odd ones their own, through one instruction."""
    result = stored("""
        LDC R1, c[0x0][0x28]; IADD3 R1, R1, -0x10, RZ; IADD3 R5, R0, 0x64, RZ
        STL [R1+0x4], R5; IMAD.SHL.U32 R6, R0, 0x4, RZ; STS [R6+0x400], R0; BAR.SYNC 0x0
        S2R R7, SR_SWINHI; IADD3 R6, R6, 0x400, RZ
        LOP3.LUT R8, R0, 0x1, RZ, 0xc0, !PT; ISETP.NE.U32.AND P0, PT, R8, RZ, PT
        @P0 LDC R7, c[0x0][0x24]; @P0 IADD3 R6, R1, 0x4, RZ; LD.E R4, desc[UR4][R6.64]
    """)
    assert result.tolist() == np.where(THREADS % 2, THREADS + 100, THREADS).tolist()


def test_bulk_copies():
    """One thread copies 64 bytes, which are there for all once they ask."""
    memory = np.arange(32, dtype=np.uint32)
    begin = memory.ctypes.data
    result = stored("""
        ULDC.64 UR4, c[0x0][0x218]; ISETP.EQ.U32.AND P0, PT, R0, RZ, PT; @!P0 BRA `(.L_x_0)
        MOV R8, 0x10; R2UR UR6, R8; UIADD3.64 UR4, UR4, UR6, URZ; UMOV UR8, 0x500; UMOV UR9, 0x400
        UMOV UR10, 0x4; SYNCS.EXCH.64 URZ, [UR9], UR4; UBLKCP.S.G [UR8], [UR4], UR10
        .L_x_0:; SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR9], RZ
        LOP3.LUT R5, R0, 0xf, RZ, 0xc0, !PT; IMAD.SHL.U32 R5, R5, 0x4, RZ
        MOV R4, RZ; @P1 LDS R4, [R5+0x500]
    """, struct.pack("<2Q", 4096, begin), ((begin, memory.nbytes),))  # fmt: skip
    assert result.tolist() == (THREADS % 16 + 4).tolist()


def test_blocks_of_several_dimensions():
    """Threads of 3 x 5 x 2 blocks write their coordinates, padded warps nothing."""
    memory = np.zeros(64, np.uint32)
    begin = memory.ctypes.data
    code = program("""
        LDC.64 R2, c[0x0][0x210]; S2R R0, SR_TID.X; S2R R1, SR_TID.Y; S2R R4, SR_TID.Z
        S2R R5, SR_CTAID.Y; LDC R8, c[0x0][0x10]; IMAD R6, R4, 0x5, R1; IMAD R6, R6, 0x3, R0
        IMAD R7, R5, 0x1e, R6; IMAD.WIDE.U32 R2, R7, 0x4, R2; IMAD R8, R8, 0x64, R6
        STG.E desc[UR4][R2.64], R8; EXIT
    """)
    parameters, spans = struct.pack("<Q", begin), ((begin, memory.nbytes),)
    options = {"block": (3, 5, 2), "keeps": True}
    result = Machine(code, {0: parameters}, [0, 1], (1, 2, 1), spans, **options).run()
    assert memory[:60].tolist() == [200 + n for n in range(30)] * 2
    assert result.issued.tolist() == [13, 13]


def test_additions_in_shared_memory():
    """Each of four counters, from 7 on, by 64 threads, and one more by the threads below 40."""
    result = stored("""
        LOP3.LUT R5, R0, 0x3, RZ, 0xc0, !PT; IMAD.SHL.U32 R5, R5, 0x4, RZ; MOV R4, 0x7
        STS [R5+0x400], R4; BAR.SYNC.DEFER_BLOCKING 0x0; ATOMS.POPC.INC.32 RZ, [R5+0x400]
        ISETP.GE.U32.AND P0, PT, R0, 0x28, PT; @!P0 ATOMS.POPC.INC.32 RZ, [UR4+0x400]
        BAR.SYNC.DEFER_BLOCKING 0x0; LDS R4, [R5+0x400]
    """)
    assert result.tolist() == [111, 71, 71, 71] * 64


def test_the_code_of_one_kernel_of_several():
    first, second = line(0, "NOP"), line(0, "EXIT")
    text = "".join(
        f'\t.section\t.text.{name},"ax",@progbits\n{name}:\n{code}\n'
        for name, code in (("own", first), ("own_more", second))
    )
    for name, expected in (("own", "NOP"), ("own_more", "EXIT")):
        instructions, _ = parsed(roofline.section_of(text, name))
        assert [instruction.name for instruction in instructions] == [expected]
    with pytest.raises(Unknown, match="0 sections of code of other"):
        roofline.section_of(text, "other")


def test_loads_in_flight():
    memory = np.arange(4096, dtype=np.uint32)
    begin = memory.ctypes.data
    text = """
        S2R R0, SR_TID.X; LDC.64 R2, c[0x0][0x210]; IMAD.WIDE.U32 R2, R0, 0x10, R2
        LDG.E R4, desc[UR4][R2.64]; LDG.E R5, desc[UR4][R2.64+0x4]
        LDG.E.64 R6, desc[UR4][R2.64+0x8]; IADD3 R4, R4, R5, R7; STG.E desc[UR4][R2.64], R4; EXIT
    """
    spans = ((begin, memory.nbytes),)
    result = ran(text, parameters=struct.pack("<Q", begin), memory=spans)
    assert (result.loads, result.waits) == (3, 1)
    ((_, values),) = result.stores
    assert values.tolist() == [4 * n + 4 * n + 1 + 4 * n + 3 for n in range(256)]


def test_what_is_not_known_is_said():
    with pytest.raises(Unknown, match="HMMA"):
        ran("HMMA.16816.F32 R4, R8, R12, R4; EXIT")
    with pytest.raises(Unknown, match="outside"):
        ran("LDG.E R4, desc[UR4][R2.64]; EXIT")
    endless = Machine(program(".L_x_0:; BRA `(.L_x_0)"), {0: b""}, [0], 1, ())
    with pytest.raises(Unknown, match="no end"):
        endless.run(most=100)


def test_blocks_of_a_multiprocessor():
    for registers, shared, blocks in [(32, 0, 8), (33, 0, 6), (98, 0, 2), (32, 48 * 1024, 4)]:
        resources = Resources(registers, 0, 0, shared)
        assert Code(([], {}), {}, resources).blocks == blocks


def test_the_share_of_a_copy():
    # 8 bytes an element: 3.35e12 / 8 elements a second; 132 x 4 x 1.98e9 instructions of warps.
    instructions = 1e6 * 79.87 / 32
    assert Issued(instructions).share(8e6) == pytest.approx(1.0, abs=0.01)
    assert Issued(2 * instructions).share(8e6) == pytest.approx(0.5, abs=0.005)
    assert Issued(2 * instructions).share(8e6, roofline.H200) == pytest.approx(0.349, abs=0.005)
    assert Issued(instructions / 2).share(8e6) == 1.0


@pytest.mark.ci
@pytest.mark.skipif(not roofline.available(), reason="optional: cupy, nvidia-cuda-nvdisasm")
def test_a_compiled_kernel_is_counted():
    """Values are compared in tests/cuda/test_machine_code.py."""
    with simulator(), issuing() as result:
        x = tl.ones((70, 90), dtype="float32", device="cuda")
        tl.sum(x + x)
    assert (result.unknown, result.wrong) == ("", 0)
    assert result.stored >= 70 * 90
    assert result.instructions > 70 * 90 / 32
    assert result.in_flight >= 1


@pytest.mark.ci
@pytest.mark.skipif(not roofline.available(), reason="optional: cupy, nvidia-cuda-nvdisasm")
def test_a_launch_that_runs_whole_leaves_the_simulators_result():
    """Twenty blocks, of which eighteen stand for all; the others issue as much."""
    with simulator():
        values = np.arange(20 * 1024, dtype=np.float32)
        x = tl.asarray(values, device="cuda")
        with issuing(whole=True) as whole:
            y = x + x
        with issuing() as some:
            x + x
        assert y.to_device("cpu").__array__().tolist() == (2 * values).tolist()
        assert (whole.unknown, whole.wrong) == ("", 0)
        assert whole.stored >= values.size - 1  # 0 + 0 may change nothing
        assert whole.instructions == pytest.approx(some.instructions)
        assert whole.nbytes == some.nbytes == 8 * values.size

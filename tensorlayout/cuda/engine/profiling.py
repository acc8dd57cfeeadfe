"""NVTX ranges around the steps of calls, for profilers: ``TENSORLAYOUT_NVTX=1``, on a GPU."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tensorlayout.cuda.engine.driver import driver, import_cupy_module
from tensorlayout.plan import Plan

VARIABLE = "TENSORLAYOUT_NVTX"


def in_nvtx_range(plan: Plan, execute: Callable[..., Any]) -> Callable[..., Any]:
    """Return `execute` in a range named by `plan`; itself without ``TENSORLAYOUT_NVTX=1``.

    The variable is read when a plan is compiled, so that calls have no overhead without it.
    """
    if os.environ.get(VARIABLE, "0") in ("", "0") or driver().name == "simulator":
        return execute
    nvtx = import_cupy_module("cupy.cuda.nvtx")
    operation = getattr(plan, "operation", plan)
    spec = plan.result
    name = f"{getattr(operation, 'name', plan.kind)} {spec.dtype} {spec.layout}"

    def execute_in_range(*operands: Any) -> Any:
        nvtx.RangePush(name)
        try:
            return execute(*operands)
        finally:
            nvtx.RangePop()

    return execute_in_range

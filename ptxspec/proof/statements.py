"""The obligations of each statement by itself."""

from __future__ import annotations

from ptxspec.lang import ir
from ptxspec.proof.goals import Draft, memory_drafts, other_drafts, register_drafts
from ptxspec.proof.tree import Branch, Loop, Node, Step, Threads
from ptxspec.proof.wrap import loop_drafts, wrap_draft
from ptxspec.scalar.expr import Var


def local_drafts(nodes: tuple[Node, ...], threads: Threads, bases: dict[ir.Buffer, Var]) -> list[Draft]:
    """The obligations of each statement by itself, in program order."""
    drafts: list[Draft] = []
    for node in nodes:
        if isinstance(node, Step):
            drafts.extend(step_drafts(node, threads, bases))
        elif isinstance(node, Branch):
            drafts.extend(local_drafts(node.then, threads, bases))
            drafts.extend(local_drafts(node.orelse, threads, bases))
        elif isinstance(node, Loop):
            drafts.extend(loop_drafts(node))
            drafts.extend(local_drafts(node.body, threads, bases))
    return drafts


def step_drafts(step: Step, threads: Threads, bases: dict[ir.Buffer, Var]) -> list[Draft]:
    """The obligations of one statement."""
    drafts: list[Draft] = []
    wrap = wrap_draft(step)
    if wrap is not None:
        drafts.append(wrap)
    for access in step.memory:
        drafts.extend(memory_drafts(access, bases))
    for registers in step.registers:
        drafts.extend(register_drafts(registers, threads))
    if isinstance(step.statement, ir.Apply):
        drafts.extend(other_drafts(step.statement, step))
    return drafts

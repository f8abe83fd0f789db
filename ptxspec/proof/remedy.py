"""Ways out of a failed obligation, each of them proved before it is offered.

A remedy is a small change that a person can make: a narrower instruction, a guard, an assumption, padding, a
declared alignment, a wider integer type, a barrier. It is tried on the failed claim; only what the prover then proves
(and what can still happen at all) is shown.
"""

from __future__ import annotations

import re
from math import gcd

from ptxspec.lang import ir
from ptxspec.lang.locate import element_bytes
from ptxspec.proof import formula
from ptxspec.proof.converge import Diverges, converge_drafts, text_of
from ptxspec.proof.defined import Unwritten
from ptxspec.proof.facts import Context, Fact
from ptxspec.proof.goals import Aligned, Bound, Draft, Item, Owner, Wrap
from ptxspec.proof.intervals import gather
from ptxspec.proof.race import Clash, clashes, with_barrier
from ptxspec.proof.registers import Overlap
from ptxspec.proof.shared import NeverWritten
from ptxspec.proof.solver import Session
from ptxspec.proof.tree import Access
from ptxspec.proof.twin import sources
from ptxspec.proof.walk import Walker
from ptxspec.scalar import index as ix
from ptxspec.scalar.expr import Expr, Poly, Var, int_range, show, variables

_LAUNCH = ("param", "dim", "stride")


class Remedies:
    """Finds remedies for failed items; ``walker`` is the kernel they belong to."""

    def __init__(self, session: Session, walker: Walker, sm: str) -> None:
        self.session = session
        self.walker = walker
        self.sm = sm

    def find(self, draft: Draft, item: Item) -> tuple[str, ...]:
        """Help texts, the best first."""
        about = item.about
        if isinstance(about, Aligned) and isinstance(draft.access, Access):
            return tuple(self._aligned(draft.access, about, item))
        if isinstance(about, Bound):
            return tuple(self._bound(draft, about, item))
        if isinstance(about, Wrap):
            return tuple(self._wrap(about, item))
        if isinstance(about, Clash):
            return tuple(self._clash(about))
        if isinstance(about, Diverges):
            return (f"move it out of {text_of(about)}, so that all threads reach it",)
        if isinstance(about, Unwritten):
            return tuple(self._unwritten(about))
        if isinstance(about, NeverWritten):
            return tuple(self._never(draft, about))
        if isinstance(about, Overlap):
            return ("give the registers a layout with a place of its own for every word",)
        if isinstance(about, Owner):
            return (f"lay axis {about.axis} of the registers out so that each thread names its own",)
        return ()

    def _holds(self, claim: Expr, context: Context, *conditions: Expr) -> bool:
        """Proved with more facts, and the facts do not contradict each other."""
        for condition in conditions:
            context = context.extend(Fact("remedy", show(condition), condition, None, "guard"))
        return self.session.holds(claim, context) and self.session.reachable(context) is True

    # -- alignment --------------------------------------------------------------------------------------------

    def _aligned(self, access: Access, about: Aligned, item: Item) -> list[str]:
        found: list[str] = []
        buffer, to = access.buffer, about.to
        if about.base.terms and self.session.holds(formula.divides(to, about.byte), item.context):
            how = "the host checks it at launch" if buffer.is_param else "the compiler places it so"
            found.append(f"declare `align={to}` for {buffer.name}: then it is proved ({how})")
        missing = self._congruence(about, item)
        if missing:
            found.append(f"`{missing}` is enough (proved), and is checked at launch")
        padded = self._padding(access, about, item)
        if padded:
            found.append(padded)
        narrower = self._narrower(access, about, item)
        if narrower:
            found.append(narrower)
        return found

    def _congruence(self, about: Aligned, item: Item) -> str:
        """The weakest residues of launch values that make the address aligned."""
        needs: dict[Var, int] = {}
        for monomial, coefficient in about.byte.terms:
            modulus = about.to // gcd(about.to, coefficient)
            if modulus == 1:
                continue
            launch = [v for v in monomial if isinstance(v, Var) and v.role in _LAUNCH]
            if len(launch) != 1:
                return ""
            needs[launch[0]] = max(modulus, needs.get(launch[0], 1))
        if not needs:
            return ""
        facts = [formula.divides(m, v) for v, m in needs.items()]
        if not self._holds(item.claim, item.context, *facts):
            return ""
        return "; ".join(f"T.assume({v.name} % {m} == 0)" for v, m in needs.items())

    def _padding(self, access: Access, about: Aligned, item: Item) -> str:
        """Larger constant strides that are multiples of the vector."""
        unit = element_bytes(access.buffer.dtype)
        terms: list[tuple[tuple[Expr, ...], int]] = []
        changed: list[str] = []
        for monomial, coefficient in about.byte.terms:
            if coefficient % about.to and coefficient > about.to:
                wider = -(-coefficient // about.to) * about.to
                if coefficient % unit or wider % unit:
                    return ""
                changed.append(f"stride {coefficient // unit} to {wider // unit} elements")
                coefficient = wider
            terms.append((monomial, coefficient))
        if not changed:
            return ""
        padded = Poly(about.byte.const, tuple(terms))
        if not self.session.holds(formula.divides(about.to, ix.add(about.base, padded)), item.context):
            return ""
        return f"pad {' and '.join(changed)}: then it is proved"

    def _narrower(self, access: Access, about: Aligned, item: Item) -> str:
        """The widest legal instruction of the same kind that is aligned here."""
        apply = access.statement
        if not isinstance(apply, ir.Apply):
            return ""
        width = about.to // 2
        address = ix.add(about.base, about.byte)
        while width >= access.word_bytes:
            opcode = narrowed(apply.use.opcode, width // access.word_bytes)
            if opcode and self.session.holds(formula.divides(width, address), item.context) and self._legal(opcode):
                count = about.to // width
                return f"`{opcode}` is aligned here (proved): {count} instructions in place of one"
            width //= 2
        return ""

    def _legal(self, opcode: str) -> bool:
        from ptxspec.forms import check

        return bool(check(opcode, sm=self.sm).legal)

    # -- bounds and arithmetic --------------------------------------------------------------------------------

    def _bound(self, draft: Draft, about: Bound, item: Item) -> list[str]:
        found: list[str] = []
        if about.index.is_const and about.index.const < 0:
            found.append("negative indices do not count from the end; from there it would be index "
                         f"{show(ix.add(about.extent, about.index.const))}")
        names = set(variables(about.index)) | set(variables(about.extent))
        low, high = formula.le(0, about.index), formula.lt(about.index, about.extent)
        both = formula.conj((low, high))
        index, extent = show(about.index), show(about.extent)
        low_holds = self.session.holds(low, item.context)
        assumed = self._assumption(about, item)
        if assumed:
            found.append(f"`{assumed}` is enough (proved), and is checked at launch")
        if not any(v.role in ("word", "repeat", "group") for v in names) and about.index.terms:
            guard = high if low_holds else both
            if self._holds(item.claim, item.context, guard):
                top = ix.bounds(about.index)[1]
                if about.index.const > 0 and (top is None or top >= 1 << 31):
                    # The sum itself could wrap in the guard: the constant goes to the other side.
                    index = show(ix.sub(about.index, about.index.const))
                    extent = show(ix.sub(about.extent, about.index.const))
                text = f"{index} < {extent}" if low_holds else f"{index} >= 0 and {index} < {extent}"
                pred = f", or give `pred={text}`" if isinstance(draft.statement, ir.Apply) and low_holds else ""
                found.append(f"guard it with `if {text}:`{pred}: then it is proved")
        return found

    def _assumption(self, about: Bound, item: Item) -> str:
        """The weakest lower bound on a launch-time extent, or upper bound on a launch-time index."""
        free = [v for v in variables(about.extent) if v.role in _LAUNCH]
        top = item.context.interval(about.index)[1]
        if len(free) == 1 and ix.index(free[0]) == about.extent and top is not None \
                and self.session.holds(formula.le(0, about.index), item.context):
            needed = formula.le(top + 1, free[0])
            if self._holds(item.claim, item.context, needed):
                return f"T.assume({free[0].name} >= {top + 1})"
        inside = variables(about.index)
        if (
            inside
            and all(v.role in _LAUNCH for v in inside)
            and all(v.role in _LAUNCH for v in variables(about.extent))
        ):
            # Both ends, where neither is known: the item is about one of them, what is offered about the access.
            index, extent = show(about.index), show(about.extent)
            ends = ((formula.le(0, about.index), f"{index} >= 0"),
                    (formula.lt(about.index, about.extent), f"{index} < {extent}"))
            missing = [(claim, text) for claim, text in ends if not self.session.holds(claim, item.context)]
            if missing and self._holds(item.claim, item.context, *(claim for claim, _ in missing)):
                return f"T.assume({' and '.join(text for _, text in missing)})"
        return ""

    def _wrap(self, about: Wrap, item: Item) -> list[str]:
        from ptxspec.proof.explain import wider

        kind = wider(about.node.dtype)
        while kind is not None:
            low, high = int_range(kind)
            if self.session.holds(formula.within(about.value, low, high), item.context):
                first = about.node.args[0]
                return [
                    f"compute it wider, for example `T.{kind}({show(first)})` in place of `{show(first)}`: "
                    f"{kind} holds every value (proved)"
                ]
            kind = wider(kind)
        return []

    # -- threads and registers --------------------------------------------------------------------------------

    def _clash(self, about: Clash) -> list[str]:
        """A barrier in front of the later access, tried on the whole kernel."""
        if about.odds or (about.across and not about.cluster) or (about.one is about.two and about.pair.after is None):
            return []
        kind = "cluster" if about.across else "cta"
        later = about.two
        nodes = with_barrier(self.walker.nodes, later.statement, later.context, kind)
        everything = [o for n in nodes for o in gather(n, ())]
        both = {about.one, about.two}
        for clash, context, claim in clashes(self.walker, nodes, everything, sources(nodes)):
            # What is between blocks does not change with a barrier of one block, and is told by itself.
            if {clash.one, clash.two} == both and (about.across or not clash.across):
                if not self.session.holds(claim, context):
                    return []
        for draft in converge_drafts(self.walker, nodes):
            if draft.where == later.statement.span and draft.subject == f"{kind} barrier":
                if not all(not i.unknown and self.session.holds(i.claim, i.context) for i in draft.items):
                    return []
        what = "a barrier" if kind == "cta" else "a cluster_sync"
        line = later.statement.span.line
        return [f"{what} between them is enough (proved): `T.cuda.{kind}_sync()` before line {line}"]

    def _unwritten(self, about: Unwritten) -> list[str]:
        name = about.buffer.name
        if not about.guards:
            return [f"write {name} first, for example with mov and a constant"]
        condition = " or ".join(sorted(f"`{show(g)}`" for g in about.guards))
        return [
            f"{name} is written only where {condition}: read it there only, or give it a value before "
            f"(with preserve_dst=True that value is kept)"
        ]


    def _never(self, draft: Draft, about: NeverWritten) -> list[str]:
        """Ways to read only what was written; each makes every byte of the read one that was written before."""
        found: list[str] = []
        apply, access = draft.statement, draft.access
        if isinstance(apply, ir.Apply) and isinstance(access, Access):
            for lanes in range(about.lead // access.word_bytes, 0, -1):
                opcode = narrowed(apply.use.opcode, lanes)
                if opcode and self._legal(opcode):
                    found.append(f"`{opcode}` reads only bytes that were written before (proved)")
                    break
        if about.within is not None:
            found.append(f"fill all of {about.buffer.name} before, for example with zeros, and put "
                         f"`T.cuda.cta_sync()` behind that: then every byte it reads was written (proved)")
        return found


def narrowed(opcode: str, lanes: int) -> str:
    """``opcode`` with a vector of ``lanes``; empty when it is no vector instruction."""
    words = opcode.split(".")
    at = next((k for k, w in enumerate(words) if re.fullmatch(r"v\d+", w)), None)
    if at is None:
        return ""
    return ".".join([*words[:at], *([f"v{lanes}"] if lanes > 1 else []), *words[at + 1 :]])


def for_unknown(reason: str) -> tuple[str, ...]:
    """What would help the prover to decide."""
    if "resource limit" in reason or "gave up" in reason:
        return ("state what the address rests on with T.assume(...), or use constant strides and extents",)
    if "read from" in reason:
        return ("bound the value with T.assume(...), or keep it in a plain name instead of memory",)
    return ()

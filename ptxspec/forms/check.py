"""Judging an opcode for a target. The way for a legal opcode is a few mask operations; explanations come later.

Codes: F001 not an opcode, F002 unknown mnemonic, F003 target newer than the PTX version, F101 unknown word, F102 one
qualifier twice, F103 a qualifier is missing, F104 words of different forms, F105 not canonical, F106 not documented,
F201 a rule forbids it, F301 too new for the target, F302 other architectures only, F303 withdrawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ptxspec.diagnostics import Diagnostic, Note, Span
from ptxspec.forms import registry
from ptxspec.forms.alike import alike
from ptxspec.forms.parse import Parsed, parse, spell, words_of
from ptxspec.forms.table import FindingTable, FormTable, Table, ToleranceTable
from ptxspec.forms.target import Machine, machine, pair, text
from ptxspec.forms.verdict import FindingRef, Floor, FormVerdict, Outcome, RuleRef

FINDINGS_FILE = "specs/findings.yaml"


class Judgement:
    """One spelling on one machine: the form that comes closest, and what is wrong with it."""

    __slots__ = ("broken", "code", "form", "machine", "opcode", "parsed")

    def __init__(
        self, opcode: str, parsed: Parsed, machine: Machine, form: FormTable | None, broken: int, code: str
    ) -> None:
        self.opcode, self.parsed, self.machine = opcode, parsed, machine
        self.form, self.broken, self.code = form, broken, code

    @property
    def form_id(self) -> str:
        """The form's id or ``""``."""
        return self.form.id if self.form else ""

    def rules(self) -> tuple[RuleRef, ...]:
        """The violated rules."""
        if self.form is None or self.parsed.table is None:
            return ()
        file = self.parsed.table.file
        return tuple(
            RuleRef(r.id, r.why, Span(file, r.line)) for i, r in enumerate(self.form.rules) if self.broken >> i & 1
        )

    def floor(self) -> Floor | None:
        """The form's floor."""
        return floor_of(self.form, self.parsed.mask) if self.form else None

    def canonical(self) -> str:
        """The manual's order of these words; of those that remain, where the assembler reads over the others."""
        table = self.parsed.table
        if self.parsed.code and table is not None and table.tolerances:
            return _tolerated(table, self.opcode, self.machine, False)[2]
        return spell(self.parsed.table, self.parsed.mask) if self.form and self.parsed.table else ""

    def findings(self) -> tuple[FindingRef, ...]:
        """Findings whose condition holds and whose effect shows."""
        if self.form is None:
            table = self.parsed.table
            used = _tolerated(table, self.opcode, self.machine, False)[1] if table and table.tolerances else ()
            return tuple(FindingRef(t.id, t.manual, t.ptxas, t.advice, Span(FINDINGS_FILE, t.line)) for t in used)
        kit, mask = self.machine.toolkit, self.parsed.mask
        out = []
        for f in self.form.findings:
            concerned = (
                f.outcome != "accept" or f.admits or f.waives & self.broken or (f.floors and self.code == "F301")
            )
            if concerned and kit in f.toolkits and self.machine.sm >= f.sm and (f.when is None or f.when(mask)):
                out.append(FindingRef(f.id, f.manual, f.ptxas, f.advice, Span(FINDINGS_FILE, f.line)))
        return tuple(out)

    def diagnostic(self) -> Diagnostic:
        """Why the form is not legal."""
        problem, table = self.parsed.problem, self.parsed.table
        form, here = self.form, self.machine
        if table is None or problem is not None or form is None:
            assert table is not None or problem is not None
            said = problem if problem is not None or table is None else no_form(table, self.parsed.mask)
            assert said is not None
            if table is None or table.complete:
                return said
            text_ = f"the database does not have all forms of `{table.mnemonic}`; one that it lacks may be legal"
            return said.with_notes(Note("note", text_))
        if self.code == "F105":
            return Diagnostic(
                "F105",
                f"the words of `{self.opcode}` are not in canonical order; write `{self.canonical()}`",
                severity="error" if self.parsed.misplaced else "warning",
            )
        if self.code == "F106":
            return Diagnostic(
                "F106",
                f"the manual has no such form of `{table.mnemonic}`",
                notes=(Note("rule", f"form `{form.id}`, known to the assembler only", Span(table.file, form.line)),),
            )
        if self.code == "F003":
            return Diagnostic("F003", f"{here.name} needs PTX {text(here.since)}; the version here is {text(here.ptx)}")
        if self.code == "F201":
            rules = self.rules()
            return Diagnostic(
                "F201",
                f"`{self.opcode}`: {rules[0].why}",
                notes=tuple(Note("rule", f"{r.id}: {r.why}", r.span) for r in rules),
            )
        floor = floor_of(form, self.parsed.mask)
        cause = self.floor_notes(table, form)
        if self.code == "F302":
            return Diagnostic(
                "F302",
                f"`{self.opcode}` exists on {', '.join(floor.only)} only; the target here is {here.name}",
                notes=cause,
            )
        if self.code == "F303":
            return Diagnostic("F303", f"`{self.opcode}` was withdrawn; {floor}", notes=cause)
        return Diagnostic(
            "F301", f"`{self.opcode}` needs {floor}; here it is PTX {text(here.ptx)} and {here.name}", notes=cause
        )

    def floor_notes(self, table: Table, form: FormTable) -> tuple[Note, ...]:
        """The floors that this machine does not reach."""
        out = []
        for f in form.floors:
            if f.when is None or f.when(self.parsed.mask):
                low = f.ptx > self.machine.ptx or f.sm > self.machine.sm
                if low or (f.only and self.machine.name not in f.only) or (f.until and self.machine.ptx >= f.until):
                    out.append(
                        Note("rule", f"{f.text}: since PTX {text(f.ptx)} and sm_{f.sm}", Span(table.file, f.line))
                    )
        return tuple(out)


def floor_of(form: FormTable, mask: int) -> Floor:
    """The floor of a spelling of ``form``."""
    ptx, sm = form.floor(mask)
    if not form.special:
        return Floor(pair(ptx), sm)
    only: tuple[str, ...] = ()
    until = 0
    for f in form.floors:
        if f.when is None or f.when(mask):
            if f.only:
                only = tuple(t for t in f.only if not only or t in only)
            if f.until:
                until = min(until, f.until) if until else f.until
    return Floor(pair(ptx), sm, only, pair(until) if until else None)


def no_form(table: Table, mask: int) -> Diagnostic:
    """Words that no form has together, or a necessary word that is missing."""
    best: tuple[int, FormTable] | None = None
    for form in table.forms:
        if not mask & ~form.allowed:
            missing = sum(1 for need in form.required if not mask & need)
            if best is None or missing < best[0]:
                best = (missing, form)
    if best is not None:
        need = next(s for s in best[1].slots if s.required and not mask & s.mask)
        words = [word for bit, (_, word) in table.names.items() if bit & need.mask]
        return Diagnostic(
            "F103",
            f"`{spell(table, mask)}` lacks its {need.name}",
            notes=(Note("help", "one of: " + " ".join(f".{w}" for w in words)),),
        )
    words = [f"`.{w}`" for _, w in words_of(table, mask)]
    return Diagnostic("F104", f"no form of `{table.mnemonic}` has {', '.join(words)} together")


def _reach(form: FormTable, mask: int, here: Machine) -> str:
    """The code of the floor that is not reached, ``""`` when all are."""
    ptx, sm = form.floor(mask)
    if ptx > here.ptx or sm > here.sm:
        return "F301"
    if form.special:
        floor = floor_of(form, mask)
        if floor.only and here.name not in floor.only:
            return "F302"
        if floor.until and here.ptx >= floor.until[0] * 10 + floor.until[1]:
            return "F303"
    return ""


def _predict(form: FormTable, mask: int, broken: int, code: str, here: Machine, entry: bool) -> Outcome:
    """What the assembler does with this form, ``code`` being the floor's verdict."""
    if not here.assembles or (code and not _waived(form, mask, here)):
        return Outcome.REJECT
    admitted = form.documented
    for f in form.findings:
        if _holds(f, mask, here) and (entry or not f.context):
            if f.outcome == "reject":
                return Outcome.REJECT
            broken &= ~f.waives
            admitted = admitted or f.admits
    if broken or not admitted:
        return Outcome.REJECT
    worst = Outcome.ACCEPT
    for f in form.findings:
        if f.outcome in ("crash", "unstable") and (entry or not f.context) and _holds(f, mask, here):
            if f.outcome == "crash":
                return Outcome.CRASH
            worst = Outcome.UNSTABLE
    return worst


def _holds(finding: FindingTable, mask: int, here: Machine) -> bool:
    """Whether the finding is about this spelling and this machine."""
    if here.toolkit not in finding.toolkits or here.sm < finding.sm:
        return False
    return finding.when is None or bool(finding.when(mask))


def _waived(form: FormTable, mask: int, here: Machine) -> bool:
    """Whether every floor that is not reached is one that the assembler does not apply here."""
    waived = 0
    for f in form.findings:
        if f.floors and _holds(f, mask, here):
            waived |= f.floors
    for i, floor in enumerate(form.floors):
        if not waived >> i & 1 and (floor.when is None or floor.when(mask)):
            if floor.ptx > here.ptx or floor.sm > here.sm or (floor.only and here.name not in floor.only):
                return False
            if floor.until and here.ptx >= floor.until:
                return False
    return True


def _tolerated(
    table: Table, opcode: str, here: Machine, entry: bool
) -> tuple[Outcome, tuple[ToleranceTable, ...], str]:
    """What the assembler does with words that it reads over: the outcome of the opcode without them, the findings
    behind it, and that opcode in canonical spelling."""
    words, kept, used = registry.words_of(opcode)[1:], [table.mnemonic], []
    for word in words:
        for t in table.tolerances:
            late = word in t.later and any(
                table.tokens.get(k) and table.names[table.tokens[k][0]][0] == "type" for k in kept
            )
            here_too = here.toolkit in t.toolkits and here.sm >= t.sm
            if here_too and (late or word in t.ignores or (word in t.repeats and word in kept)):
                used.append(t)
                break
        else:
            kept.append(word)
    if not used:
        return Outcome.REJECT, (), ""
    rest = judge(".".join(kept), here, entry=entry)
    if any(t.forms and rest.form not in t.forms for t in used):
        return Outcome.REJECT, (), ""
    return rest.ptxas, tuple(dict.fromkeys(used)), rest.canonical


def judge(opcode: str, here: Machine, *, entry: bool = False) -> FormVerdict:
    """The verdict for one opcode. Never raises for any text. ``entry``: the code stands in a kernel."""
    words = opcode.split(".")
    known = here.memo[entry].get(words[0])
    if known is None:
        table = registry.find(words[0])
        if table is None:
            return _judge(opcode, here, entry)
        known = here.memo[entry][words[0]] = (alike(table).tokens, {})
    get = known[0].get
    seen = last = spelling = 0
    for word in words[1:]:
        bit, slot, same = get(word, _NOTHING)
        if bit <= last or seen & slot:
            return _judge(opcode, here, entry)
        seen |= slot
        spelling |= same
        last = bit
    # Words in order: spellings of one class have one verdict.
    verdicts = known[1]
    found = verdicts.get(spelling)
    if found is not None:
        return FormVerdict(opcode, found[0], found[1], found[2], here, entry)
    verdict = _judge(opcode, here, entry)
    if len(verdicts) >= _MOST:
        verdicts.clear()
    verdicts[spelling] = (verdict.legal, verdict.ptxas, verdict.code)
    return verdict


_NOTHING = (0, 0, 0)
_MOST = 1 << 17


def _unlisted(table: Table | None) -> Outcome:
    """What is predicted of a spelling that the database does not have."""
    return Outcome.REJECT if table is not None and table.complete else Outcome.UNKNOWN


def _judge(opcode: str, here: Machine, entry: bool) -> FormVerdict:
    """The verdict in every case."""
    parsed = parse(opcode)
    table = parsed.table
    if table is None or parsed.code:
        ptxas = _unlisted(table) if parsed.code != "F001" else Outcome.REJECT
        if table is not None and table.tolerances:
            read_over = _tolerated(table, opcode, here, entry)[0]
            ptxas = ptxas if read_over is Outcome.REJECT else read_over
        judgement = Judgement(opcode, parsed, here, None, 0, parsed.code)
        return FormVerdict(opcode, False, ptxas, parsed.code, here, entry, judgement)
    mask = parsed.mask
    best: FormVerdict | None = None
    best_rank = 99
    ptxas = Outcome.REJECT
    for form in table.forms:
        if mask & ~form.allowed or not all(mask & need for need in form.required):
            continue
        broken = form.broken(mask)
        late = _reach(form, mask, here)
        # A rule says more than a floor; a floor says more than the order.
        if not form.documented:
            code, rank = "F106", 6
        elif broken:
            code, rank = "F201", 5
        elif here.since > here.ptx:
            code, rank = "F003", 4
        elif late:
            code, rank = late, 3
        elif not parsed.in_order:
            code, rank = "F105", 2
        else:
            code, rank = "", 1
        outcome = Outcome.ACCEPT
        if not (rank <= 2 and here.assembles and not form.findings):
            outcome = _predict(form, mask, broken, late, here, entry)
        if parsed.misplaced:
            outcome = Outcome.REJECT
        if outcome or (outcome is not Outcome.REJECT and ptxas is Outcome.REJECT):
            ptxas = outcome
        if rank < best_rank:
            best_rank = rank
            judgement = Judgement(opcode, parsed, here, form, broken, code)
            best = FormVerdict(opcode, rank == 1, outcome, code, here, entry, judgement)
    if best is None:
        code = no_form(table, mask).code
        judgement = Judgement(opcode, parsed, here, None, 0, code)
        return FormVerdict(opcode, False, _unlisted(table), code, here, entry, judgement)
    best.ptxas = ptxas
    return best


def check(
    opcode: str,
    sm: str = "sm_90",
    ptx: str | tuple[int, int] | None = None,
    toolkit: str | None = None,
    *,
    entry: bool = False,
) -> FormVerdict:
    """Is ``opcode`` legal for this target? Raises :class:`~ptxspec.diagnostics.UsageError` for an unknown target only.

    ``sm``: ``sm_90``, ``sm_100a``...; ``ptx``: ``"9.0"`` (default: the newest); ``toolkit``: whose behaviour ``.ptxas``
    predicts (default: the newest); ``entry``: the instruction stands in a kernel, where code is generated for it.
    """
    return judge(opcode, machine(sm, ptx, toolkit), entry=entry)


def check_many(
    opcodes: Iterable[str], sm: str = "sm_90", ptx: str | tuple[int, int] | None = None, toolkit: str | None = None
) -> Iterator[FormVerdict]:
    """:func:`check` for many opcodes on one target."""
    here = machine(sm, ptx, toolkit)
    for opcode in opcodes:
        yield judge(opcode, here)


def judgement(opcode: str, here: Machine, entry: bool) -> Judgement:
    """What stands behind a verdict that was given without looking further."""
    return _judge(opcode, here, entry).judgement


__all__ = ["Judgement", "check", "check_many", "floor_of", "judge", "no_form", "registry"]

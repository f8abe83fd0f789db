"""Random kernels that write and read the same registers and shared bytes in some iterations of their loops only.

A writer and a reader share a loop; each has a guard on the loop's variable, the trip count, a parameter or the thread.
Their guards come in pairs that fit, and are then left so or broken: a reader in the first iteration, a writer in the
odd ones, a prefix that is too short, a loop that need not run. Further writers and readers lie before the loop, behind
it, in a loop inside it, and in the other arm of a branch.
"""

from __future__ import annotations

import random

from soundness_campaign.family import Family, Made

#: (guards of writer and reader) that fit where the writer comes first in the body; ``s`` is the first iteration.
WRITE_FIRST = (
    ("", ""), ("", "k > s"), ("", "k % 2 == 1"), ("k == s", ""), ("k < s + 1", ""), ("k == s", "k > s"),
    ("n > 1", "n > 1"), ("n > 1", "n > 2"), ("tid < 3", "tid < 2"), ("k < s + 2", "k > s"), ("m > 0", "m > 1"),
    ("k > s", "k > s"), ("k > s", "k > s + 1"), ("k >= s + 2", "k == s + 3"), ("k == m", "k == m"), ("k == m", "k > m"),
    ("k % 2 == 0", "k >= s + 1"), ("k == s + 1", "k > s"), ("k + 1 < n", "k + 1 < n"), ("m > 0 or k > s", "k > s"),
    ("k <= m", "k < m"), ("tid <= k", "tid < k"), ("k == n - 1", "k == n - 1"), ("k != s", "k > s"), ("", "k == n - 1"),
)
#: And where the reader comes first: only what earlier iterations wrote is there.
READ_FIRST = (
    ("", "k > s"), ("k == s", "k > s"), ("k == s + 1", "k > s + 1"), ("k < s + 2", "k >= s + 1"), ("", "k >= s + 2"),
    ("k % 2 == 0", "k > s + 1"), ("k + 1 < n", "k > s"), ("k == m", "k > m"), ("k % 2 == 1", "k > s + 1"),
    ("n > 1", "k > s"), ("m > 0", "k > s and m > 0"), ("tid < 3", "k > s and tid < 2"),
    ("", "k == n - 1 and n > s + 1"),
    ("k <= m", "k > m + 1"), ("m == 1 or n > 0", "k > s"), ("k > s", "k > s + 1"), ("k < n - 1", "k != s"),
)
#: Guards of the writer in a loop, and of a reader behind it.
BEHIND = (
    ("", "n > s"), ("k == s + 1", "n > s + 1"), ("k % 2 == 1", "n > s + 1"), ("k == n - 1", "n > s"),
    ("k == s", "n > s"),
    ("k > s", "n > s + 1"), ("n > 2", "n > 2"), ("tid < 3", "n > s and tid < 3"), ("k == m", "s <= m and m < n"),
    ("k >= m", "m < n and n > s"), ("", "n > s + 1"), ("k + 1 < n", "n > s + 1"),
)
ANY = ("", "k > s", "k == s", "k % 2 == 0", "k % 2 == 1", "k > s + 1", "k + 1 < n", "k == n - 1", "n > 1", "m > 0",
       "k == m", "k > m", "k < m", "tid < 3", "tid > 0", "tid < k", "n > 2 or k > s", "m == 1", "k >= n - 2")


class Late(Family):
    """One kernel; ``make`` of :mod:`families` builds it."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        r = rng
        self.threads = r.choice((4, 4, 8, 32))
        self.stages = r.choice((1, 1, 2, 3))
        self.store = r.choice(("registers", "registers", "shared", "shared", "vector"))
        self.words = r.choice((2, 4)) if self.store == "vector" else 1
        self.cross = self.store == "shared" and r.random() < 0.4  # threads read what their neighbours wrote
        self.written = 0
        self.fits = r.random() < 0.55  # pairs are left as they are
        self.unrolled = False
        self.first = 0
        self.count = "n"
        self.memory = r.random() < 0.3  # guards on what an array holds that is never written
        self.m = False

    def build(self) -> Made:
        """The kernel."""
        r = self.rng
        low = r.choice((0, 0, 0, 1, 2))
        high = low + r.choice((2, 3) if self.memory else (3, 4, 4, 5, 10))
        self.params = [f'A: T.Tensor(({self.threads}, 4), "float32", align=16)',
                       f'B: T.Tensor(({self.threads}, 4), "float32", align=16)', "n: T.int32", "m: T.int32"]
        self.launch(1, str(self.threads))
        self.emit('tid = T.cuda.thread_idx("x")')
        if self.memory:
            self.params.append('F: T.Tensor((2,), "int32")')
            self.values |= {"F[0]": range(2), "F[1]": range(2)}
        for name, least, most in (("n", low, high), ("m", 0, 1 if self.memory else 2)):
            self.emit(f"T.assume({name} >= {least})")
            self.emit(f"T.assume({name} <= {most})")
            self.values[name] = range(least, most + 1)
        if self.store == "shared":
            self.emit(f's = T.alloc_shared(({self.stages}, {self.threads}), "float32")')
        else:
            self.emit(f'q = T.alloc_local(({self.stages}, {self.words}), "float32")')
        if r.random() < 0.2 or (self.memory and r.random() < 0.3):
            self.write(1, r.choice(("", "n > 1", "m > 0", "tid < 3")), str(r.randrange(self.stages)))
        for _ in range(r.choice((1, 1, 1, 2))):
            self.loop(1, "k", r.choice(("pair", "pair", "pair", "behind", "prefix", "arms", "nest", "flag")))
        if r.random() < 0.3:
            self.sync(1)
            guards = ("F[0] > 0", "F[1] < 1", "n > 0") if self.memory else ("", "n > 1", "n > 2", "m > 0", "n > 0")
            self.read(1, r.choice(guards), str(r.randrange(self.stages)))
        return self.done()

    # -- pieces -----------------------------------------------------------------------------------------------

    def bounds(self) -> str:
        """The bounds of a loop; ``first`` and ``count`` say where it starts and stops."""
        r = self.rng
        self.first, self.unrolled, self.count = 0, False, "n"
        kind = r.choice(("n", "n", "n", "n", "from", "constant", "constant", "long", "by", "down", "thread"))
        if kind == "n":
            return "T.serial(n)"
        if kind == "from":
            self.first = r.choice((1, 2))
            return f"T.serial({self.first}, n)"
        if kind == "by":
            return f"T.serial(0, n, {r.choice((2, 3))})"
        if kind == "down":
            return r.choice(("T.serial(n - 1, -1, -1)", "T.serial(3, -1, -1)"))
        if kind == "thread" and not self.cross:
            return r.choice(("T.serial(tid, n)", "T.serial(0, tid)", "T.serial(tid, n, 2)", "T.serial(m, n)"))
        trips = r.choice((1, 2, 3, 4, 6)) if kind == "constant" else r.choice((9, 12, 70))
        self.count, self.unrolled = str(trips), kind == "constant"
        return f"T.{r.choice(('serial', 'unroll')) if self.unrolled else 'serial'}({trips})"

    def guard(self, text: str, k: str = "k") -> str:
        """A guard of the tables for this loop: ``k`` its variable, ``s`` its start, ``n`` its end, now and then."""
        r = self.rng
        if self.memory and r.random() < 0.5:
            value = f"F[{r.choice(('0', '0', '1', f'{k} % 2'))}] {r.choice(('> 0', '> 0', '< 1'))}"
            text = r.choice((value, f"{text} or {value}", f"{text} and {value}")) if text else value
        found = []
        for word in text.split(" "):
            word = {"k": k, "s": str(self.first)}.get(word, word)
            found.append(self.count if word == "n" and self.rng.random() < 0.5 else word)
        return " ".join(found)

    def pair(self, table: tuple[tuple[str, str], ...]) -> tuple[str, str]:
        """Guards of a writer and a reader: a pair that fits, or one of which a half is changed."""
        r = self.rng
        one, two = r.choice(table)
        if not self.fits and r.random() < 0.7:
            if r.random() < 0.5:
                one = r.choice(ANY)
            else:
                two = r.choice(ANY)
        return self.guard(one), self.guard(two)

    def slot(self, var: str, shift: int = 0) -> str:
        """Which stage: the same all the time, or one that goes round with a loop where that can be."""
        r = self.rng
        if self.stages > 1 and var and (self.store == "shared" or self.unrolled) and r.random() < 0.6:
            return f"({var} + {shift + self.stages}) % {self.stages}"
        return str(r.randrange(self.stages) if r.random() < 0.2 else 0)

    def sync(self, depth: int, *, inside: bool = False) -> None:
        """The barrier that reads of other threads' bytes need, nearly always; now and then under a guard that all
        threads see alike. ``inside``: of a loop over k."""
        r = self.rng
        if not self.cross or r.random() < 0.03:
            return
        guards = ["n > 1", "m > 0", *(("k > s", "k == s", "k % 2 == 0", "k + 1 < n", "m > 0") if inside else ())]
        if r.random() < 0.12:
            guard = self.guard(r.choice(guards))
            self.emit(f"if {guard}:", depth)
            self.emit("T.cuda.cta_sync()", depth + 1)
            if r.random() < 0.5:
                self.emit(f"if not ({guard}):", depth)
                self.emit("T.cuda.cta_sync()", depth + 1)
            return
        self.emit("T.cuda.cta_sync()", depth)

    def under(self, depth: int, guard: str) -> int:
        """Open a guard, sometimes as the other arm of its opposite; the depth inside."""
        if not guard:
            return depth
        if self.rng.random() < 0.15:
            self.emit(f"if not ({guard}):" if self.rng.random() < 0.5 else f"if ({guard}) == False:", depth)
            self.emit("pass", depth + 1)
            self.emit("else:", depth)
        else:
            self.emit(f"if {guard}:", depth)
        return depth + 1

    def write(self, depth: int, guard: str, slot: str) -> None:
        """Something into a stage."""
        r = self.rng
        if self.store == "shared":
            depth = self.under(depth, guard)
            self.emit(f"s[{slot}, tid] = {r.choice(('1.0', 'A[tid, 0]'))}", depth)
            return
        single = " and " not in guard and " or " not in guard
        if guard and single and r.random() < 0.25:
            kept = ", preserve_dst=True" if r.random() < 0.5 else ""
            self.move(depth, slot, f", pred={guard}{kept}")
            return
        depth = self.under(depth, guard)
        if r.random() < 0.3:
            self.move(depth, slot, "")
            return
        missing = r.randrange(self.words) if not self.fits and self.words > 1 and r.random() < 0.3 else -1
        for w in range(self.words):
            if w != missing:
                self.emit(f"q[{slot}, {w}] = {r.choice(('1.0', f'A[tid, {w}]'))}", depth)

    def move(self, depth: int, slot: str, more: str) -> None:
        """A load of all words of a stage."""
        vec = "" if self.words == 1 else f".v{self.words}"
        self.emit(f'T.cuda.tile.apply(T.ptx["ld.global{vec}.b32"], q.sub[{slot}, :], A.sub[tid, 0:{self.words}]{more})',
                  depth)

    def read(self, depth: int, guard: str, slot: str) -> None:
        """A stage into the thread's own row of the result."""
        r = self.rng
        if self.store == "shared":
            depth = self.under(depth, guard)
            who = r.choice((f"{self.threads - 1} - tid", f"(tid + 1) % {self.threads}")) if self.cross else "tid"
            self.emit(f"B[tid, 0] = s[{slot}, {who}]", depth)
            return
        vec = "" if self.words == 1 else f".v{self.words}"
        single = " and " not in guard and " or " not in guard
        pred = f", pred={guard}" if guard and single and r.random() < 0.25 else ""
        if not pred:
            depth = self.under(depth, guard)
        if pred or r.random() < 0.4:
            self.emit(f'T.cuda.tile.apply(T.ptx["st.global{vec}.b32"], B.sub[tid, 0:{self.words}], '
                      f"q.sub[{slot}, :]{pred})", depth)
        else:
            self.emit(f"B[tid, 0] = {' + '.join(f'q[{slot}, {w}]' for w in range(self.words))}", depth)

    # -- loops ------------------------------------------------------------------------------------------------

    def loop(self, depth: int, k: str, kind: str) -> None:
        """A loop with a writer and a reader."""
        bounds = self.bounds()
        if kind == "flag":
            if self.store == "shared":
                kind = "pair"
            else:
                self.emit('c = T.alloc_local((1,), "int32")' if not self.written else "c[0] = 0", depth)
                self.emit(f"c[0] = {self.rng.choice((0, 0, 0, 1))}", depth)
                self.written = 1
        if kind == "nest":
            self.nest(depth, bounds.replace("70", "7"))  # brute force has to go through all of it
            return
        self.emit(f"for {k} in {bounds}:", depth)
        getattr(self, f"_{kind}")(depth + 1)

    def _pair(self, depth: int) -> None:
        if self.rng.random() < 0.5:
            one, two = self.pair(WRITE_FIRST)
            self.write(depth, one, "0")
            self.sync(depth, inside=True)
            self.read(depth, two, self.slot("k") if self.rng.random() < 0.1 else "0")
        else:
            one, two = self.pair(READ_FIRST)
            self.read(depth, two, "0")
            self.sync(depth, inside=True)
            self.write(depth, one, "0")
        self.sync(depth, inside=True)

    def _behind(self, depth: int) -> None:
        one, two = self.pair(BEHIND)
        self.write(depth, one, "0")
        self.sync(depth - 1)
        self.read(depth - 1, two if "k" not in two.split(" ") else "n > 1", "0")

    def _prefix(self, depth: int) -> None:
        """Early iterations write the stages, later ones read them."""
        r = self.rng
        goes = self.stages > 1 and (self.store == "shared" or self.unrolled)
        slot = f"k % {self.stages}" if goes else "0"
        many = self.stages if goes else 1
        end = many + (r.choice((-1, 0, 1)) if not self.fits else 0)
        until = f"k < {self.first + end}"
        since = f"k >= {self.first + many + (r.choice((-1, -2, 0, 1)) if not self.fits else r.choice((0, 0, 1)))}"
        if r.random() < 0.4:
            self.emit(f"if {until}:", depth)
            self.write(depth + 1, "", slot)
            self.emit("else:", depth)
            self.read(depth + 1, "", slot)
            self.sync(depth, inside=True)
            return
        order = [lambda: self.write(depth, self.guard(until), slot), lambda: self.read(depth, self.guard(since), slot)]
        if r.random() < 0.5:
            order.reverse()
        order[0]()
        self.sync(depth, inside=True)
        order[1]()
        self.sync(depth, inside=True)

    def _arms(self, depth: int) -> None:
        """A branch one arm of which writes, and the other reads."""
        r = self.rng
        writes = self.guard(r.choice(("k == s", "k <= s", "k < s + 2", "k < 1")) if self.fits else r.choice(ANY[1:]))
        self.emit(f"if {writes}:", depth)
        self.write(depth + 1, "", "0")
        self.emit("else:", depth)
        self.read(depth + 1, r.choice(("", "", self.guard(r.choice(ANY)))), "0")
        self.sync(depth, inside=True)

    def _flag(self, depth: int) -> None:
        """A register remembers that something was written."""
        r = self.rng
        one, two = self.pair(READ_FIRST)
        self.read(depth, r.choice(("c[0] == 1", "c[0] > 0", two)), "0")
        inside = self.under(depth, one if self.rng.random() < 0.6 else "")
        self.write(inside, "", "0")
        if self.rng.random() < 0.9:
            self.emit("c[0] = 1", inside)

    def nest(self, depth: int, bounds: str) -> None:
        """Two loops: the inner one writes or reads, the outer one does the other."""
        r = self.rng
        inner = r.choice(("T.serial(n)", "T.serial(m)", "T.serial(2)", "T.serial(1, n)", "T.serial(i)",
                          "T.serial(i, 3)", "T.serial(m, n)", "T.unroll(2)"))
        guards = ("", "i > 0", "k > 0", "i > 0 or k > 0", "i > 0 and k > 0", "k + 1 < n", "i == 0 and k == 0", "i == 1",
                  "n > 1", "m > 0", "k == i", "k == 1", "i < 1", "i % 2 == 0")
        outer = tuple(g for g in guards if "k" not in g.split(" "))
        fit: tuple[tuple[str, str, str], ...] = (
            ("wr", "", "i > 0 or k > 0"), ("rw", "", "i > 0 or k > 0"), ("rw", "i == 0 and k == 0", "i > 0 and k > 0"),
            ("w|r", "", "m > 0 and n > m" if "m" in inner else "n > 2 and i > 1"), ("r|w", "", "i > 0"),
            ("w|r", "i == 0", "i > 0 and n > 1 and m > 0"), ("r|w", "", "k > 0 and i > 0"), ("wr", "i == 0", ""),
            ("wr", "k == 0", "k > 0"), ("w|r", "k == 0", "n > 1 and m > 1"), ("rw", "i == 0", "i > 0 and m > 0"),
        )
        form, one, two = r.choice(fit)
        if not self.fits:
            if r.random() < 0.5:
                one = r.choice(outer if form == "r|w" else guards)
            else:
                two = r.choice(outer if form == "w|r" else guards)
        self.emit(f"for i in {bounds}:", depth)
        if form == "r|w":  # the inner loop reads, then the outer one writes
            self.emit(f"for k in {inner}:", depth + 1)
            self.read(depth + 2, two, "0")
            self.sync(depth + 1)
            self.write(depth + 1, one, "0")
        elif form == "w|r":
            self.emit(f"for k in {inner}:", depth + 1)
            self.write(depth + 2, one, "0")
            self.sync(depth + 1)
            self.read(depth + 1, two, "0")
        else:
            self.emit(f"for k in {inner}:", depth + 1)
            parts = [lambda: self.write(depth + 2, one, "0"), lambda: self.read(depth + 2, two, "0")]
            for part in parts if form == "wr" else reversed(parts):
                part()
                self.sync(depth + 2, inside=True)
        self.sync(depth + 1)

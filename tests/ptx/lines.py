"""Random PTX lines: legal, nearly legal, and wrong in one way, with operands of every class."""

from __future__ import annotations

import random

CLASSES = (
    "b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f16", "f16x2", "f32", "f64",
)
TYPES = ("b8", "b16", "b32", "b64", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "f32", "f64", "b128")
MOV_TYPES = ("pred", "b16", "b32", "b64", "b128", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64")
WRONG_WORDS = (
    "f16", "f16x2", "bf16", "pred", "v3", "v16", "ci", "generic", "foo", "L2::evict_unchanged", "L1::64B", "L2::32B",
    "cluster", "acq_rel", "unified", "shared::foo", "b256", "rn", "wide", "global::cta", "L2::no_allocate", "async",
)
SPACES = (
    "", "const", "global", "local", "param", "shared", "shared::cta", "shared::cluster", "param::entry", "param::func",
)
LOAD_ORDERS = ("weak", "relaxed", "acquire", "volatile")
STORE_ORDERS = ("weak", "relaxed", "release", "volatile")
SCOPES = ("cta", "cluster", "gpu", "sys")
L1 = ("L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate")
L2 = ("L2::evict_normal", "L2::evict_first", "L2::evict_last")
PREFETCH = ("L2::64B", "L2::128B", "L2::256B")
SPECIALS = (
    "%tid.x", "%ntid.y", "%ctaid.z", "%nctaid.w", "%laneid", "%warpid", "%smid", "%nsmid", "%gridid", "%clock",
    "%clock64", "%globaltimer", "%lanemask_lt", "%tid", "%ctaid",
)
NEW_SPECIALS = ("%clusterid.x", "%cluster_ctarank", "%is_explicit_cluster", "%total_smem_size", "%clock_hi")
CONSTANTS = (
    "0", "1", "-1", "7", "255", "65536", "4294967296", "0x80000000", "-0x10", "017", "0b101", "1+2", "(3)", "~0",
    "1==1", "WARP_SZ", "2*WARP_SZ", "5U", "18446744073709551615", "1.0", "-1.0", "1e5", ".5", "0f3F800000",
    "0d3FF0000000000000", "-0f00000000",
)
SYMBOLS = ("g", "gf", "gu", "sh", "cc", "lo", "pin", "pin8", "rv", "arg", "bar", "ee", "g+4", "g[1]", "bar+4", "pin+4",
           "sh+16", "lo[2]")
ODD = ("_", "lab", "nope", "-%b32_0", "!%p0", "%b32_0+4", "%v", "%v.x", "%w", "%q", "%b32_0.b0", "%tid.q", "%p0|%p1")
BASES = ("g", "gf", "gu", "sh", "cc", "lo", "pin", "rv", "arg", "bar", "ee", "lab", "nope")
ODD_BASES = ("0", "16", "-4", "1.0", "WARP_SZ", "%laneid", "%tid", "%v", "1+2", "rin", "%clock64")
NO_ADDRESS = (
    "g", "%b64_0", "[%b64_0-4]", "[%b64_0+%b64_1]", "[%v.x]", "[]", "[_]", "{%b64_0}", "[g[1]]", "1", "[%b64_0, 4]",
)


def declarations(ptx: tuple[int, int], sm: int) -> str:
    """Registers of every class that this version has."""
    classes = [*CLASSES, *(["b128"] if ptx >= (8, 3) and sm >= 70 else [])]
    text = "".join(f".reg .{c} %{c}_<4>;" for c in classes)
    return text + ".reg .pred %p<4>;.reg .v4 .b32 %v;.reg .v2 .f32 %w;.reg .v2 .b64 %q;"


def head(ptx: tuple[int, int], sm: int) -> str:
    """Variables, and the function whose body the lines are."""
    unified = ".attribute(.unified(19,95)) " if ptx >= (8, 0) and sm >= 90 else ""
    return (
        ".global .b32 g[4];.shared .align 16 .b8 sh[64];.func bar(){ret;}.const .b32 cc;.global .f32 gf;"
        f".visible .global {unified}.b32 gu;.entry ee(){{ret;}}\n"
        ".func (.param .b32 rv) foo(.param .b32 pin, .param .b64 pin8, .reg .b32 rin)\n{\n"
        + declarations(ptx, sm) + ".local .b32 lo[4];.param .b32 arg;\n"
    )


TAIL = "lab: ret;\n}\n"


class Lines:
    """A seeded source of lines for one version and target."""

    def __init__(self, seed: int, ptx: tuple[int, int], sm: int) -> None:
        self.random = random.Random(seed)
        self.ptx, self.sm = ptx, sm
        self.classes = [*CLASSES, *(["b128"] if ptx >= (8, 3) and sm >= 70 else [])]

    def maybe(self, chance: float) -> bool:
        """True with this chance."""
        return self.random.random() < chance

    def register(self, cls: str | None = None) -> str:
        """A register, of class ``cls`` or of any."""
        pick = self.random
        if cls == "pred" or (cls is None and pick.random() < 0.05):
            return f"%p{pick.randrange(4)}"
        return f"%{cls if cls in self.classes else pick.choice(self.classes)}_{pick.randrange(4)}"

    def near(self, kind: str) -> str:
        """A register class that often fits the type ``kind``."""
        pick = self.random
        if kind not in self.classes or pick.random() < 0.1:
            return pick.choice(self.classes)
        if pick.random() < 0.5:
            return kind
        bits = kind.lstrip("bsuf")
        return pick.choice([c for c in self.classes if c.lstrip("bsuf") == bits] or [kind])

    def value(self, kind: str) -> str:
        """A value operand: mostly a fitting register, else a constant or something odd."""
        pick = self.random
        roll = pick.random()
        if roll < 0.72:
            return self.register("pred" if kind == "pred" else self.near(kind))
        if roll < 0.86:
            return pick.choice(CONSTANTS)
        if roll < 0.91:
            return pick.choice(SPECIALS if pick.random() < 0.85 else NEW_SPECIALS)
        if roll < 0.96:
            return pick.choice(SYMBOLS)
        return pick.choice(ODD)

    def element(self, kind: str, destination: bool) -> str:
        """An element of a brace group."""
        pick = self.random
        roll = pick.random()
        if roll < 0.86:
            return self.register(self.near(kind))
        if roll < 0.92:
            return "_" if destination or pick.random() < 0.3 else pick.choice(CONSTANTS)
        if roll < 0.97:
            return pick.choice(CONSTANTS)
        return pick.choice(("%tid.x", "%laneid", "%v.x", "g", "nope", "%p0", "%q.y", "bar", "%clock64"))

    def vector(self, kind: str, lanes: int, destination: bool) -> str:
        """A brace group, now and then of the wrong length; most have one class throughout."""
        count = lanes if self.maybe(0.93) else self.random.choice((1, 2, 3, 4, 8))
        if self.maybe(0.6):
            cls = self.near(kind)
            return "{" + ",".join(self.register(cls) for _ in range(count)) + "}"
        return "{" + ", ".join(self.element(kind, destination) for _ in range(count)) + "}"

    def data(self, kind: str, lanes: int, destination: bool) -> str:
        """The data operand of a load or store."""
        if lanes > 1:
            roll = self.random.random()
            if roll < 0.92:
                return self.vector(kind, lanes, destination)
            return self.random.choice(("%v", "%w", "%q")) if roll < 0.97 else self.value(kind)
        return self.vector(kind, 1, destination) if self.maybe(0.04) else self.value(kind)

    def address(self, space: str) -> str:
        """An address that often suits ``space``."""
        pick = self.random
        roll = pick.random()
        offset = pick.choice(("", "", "", "+4", "+-8", "+0x10", "+ 16", "+WARP_SZ", "+(2*4)"))
        if roll < 0.55:
            return f"[%{pick.choice(('b64', 'u64', 's64'))}_{pick.randrange(4)}{offset}]"
        if roll < 0.62 and space not in ("", "global"):
            return f"[%{pick.choice(('b32', 'u32', 's32'))}_{pick.randrange(4)}{offset}]"
        if roll < 0.80:
            home = {"shared::cta": "sh", "shared::cluster": "sh", "shared": "sh", "const": "cc", "local": "lo",
                    "global": "g", "": "g"}
            name = home.get(space) or pick.choice(("pin", "arg", "rv", "pin8"))
            return f"[{name}{offset}]"
        if roll < 0.86:
            return f"[{pick.choice(BASES)}]"
        if roll < 0.90:
            return f"[{self.register(pick.choice(('f32', 'f64', 'f16x2', 'b16', 'u8', 'pred', 'b64', 'b128')))}]"
        if roll < 0.94:
            return f"[{pick.choice(ODD_BASES)}]"
        if roll < 0.98:
            return f"[{pick.choice(('%b64_0', '%b64_1+4', 'gu', 'g', 'sh', '%u64_0'))}].unified"
        return pick.choice(NO_ADDRESS)

    def guard(self) -> str:
        """A guard, usually none."""
        roll = self.random.random()
        if roll < 0.86:
            return ""
        if roll < 0.98:
            return self.random.choice(("@%p0 ", "@!%p1 ", "@ %p2 ", "@%p3\t"))
        return self.random.choice(("@%b32_0 ", "@nope ", "@%f32_1 ", "@!rin "))

    def memory_words(self, op: str) -> tuple[list[str], str, str, int, bool]:
        """Words of a load or store in the manual's order, then space, type, lanes and whether a policy is named."""
        pick, words = self.random, list[str]()
        if self.maybe(0.03):
            words.append("mmio")
        strong = self.maybe(0.30)
        if strong:
            order = pick.choice(LOAD_ORDERS if op == "ld" else STORE_ORDERS)
            words.append(order)
            if order in ("relaxed", "acquire", "release") != self.maybe(0.05):
                words.append(pick.choice(SCOPES))
        elif self.maybe(0.02):
            words.append(pick.choice(SCOPES))
        space = pick.choice(SPACES) if self.maybe(0.5) else pick.choice(("", "global", "global", "shared"))
        if space:
            words.append(space)
        if self.maybe(0.12 if not strong else 0.03):
            words.append(pick.choice(("ca", "cg", "cs", "lu", "cv") if op == "ld" else ("wb", "cg", "cs", "wt")))
        if op == "ld" and space == "global" and self.maybe(0.15):
            words.append("nc")
        if self.maybe(0.12):
            words.append(pick.choice(L1))
        if self.maybe(0.06):
            words.append(pick.choice(L2))
        hint = self.maybe(0.10)
        if hint:
            words.append("L2::cache_hint")
        if op == "ld" and self.maybe(0.08):
            words.append(pick.choice(PREFETCH))
        lanes = 1
        if self.maybe(0.45):
            lanes = pick.choice((2, 2, 4, 4, 8))
            words.append(f"v{lanes}")
        kind = pick.choice(TYPES)
        if lanes > 1 and self.maybe(0.7):
            kind = pick.choice(TYPES[:-1])
        words.append(kind)
        if op == "ld" and self.maybe(0.02):
            words.append("proxy::readonly")
        return words, space, kind, lanes, hint

    def disturb(self, words: list[str]) -> list[str]:
        """The words, now and then shuffled, repeated, with one missing or one wrong."""
        pick, roll = self.random, self.random.random()
        out = list(words)
        if roll < 0.05:
            pick.shuffle(out)
        elif roll < 0.07 and out:
            out.insert(pick.randrange(len(out) + 1), pick.choice(out))
        elif roll < 0.09 and out:
            del out[pick.randrange(len(out))]
        elif roll < 0.12:
            out.insert(pick.randrange(len(out) + 1), pick.choice(WRONG_WORDS))
        elif roll < 0.14 and out:
            out[pick.randrange(len(out))] = pick.choice(WRONG_WORDS)
        return out

    def memory(self) -> str:
        """A ``ld``, ``st`` or ``ldu`` line."""
        pick = self.random
        op = pick.choice(("ld", "ld", "ld", "st", "st", "ldu"))
        if op == "ldu":
            space = pick.choice(("", "global", "global", "shared")) if self.maybe(0.9) else "const"
            lanes = pick.choice((1, 1, 2, 4, 8)) if self.maybe(0.9) else 1
            kind, hint = pick.choice(TYPES), False
            words = [w for w in (space, f"v{lanes}" if lanes > 1 else "", kind) if w]
        else:
            words, space, kind, lanes, hint = self.memory_words(op)
        opcode = ".".join([op, *self.disturb(words)])
        data, address = self.data(kind, lanes, op != "st"), self.address(space)
        operands = [address, data] if op == "st" else [data, address]
        if hint != self.maybe(0.04):
            operands.append(self.value("b64") if self.maybe(0.3) else self.register(pick.choice(("b64", "u64", "s64"))))
        if self.maybe(0.01):
            pick.shuffle(operands)
        if self.maybe(0.01):
            operands = operands[: pick.randrange(len(operands) + 1)]
        return f"{self.guard()}{opcode} {', '.join(operands)};"

    def mov(self) -> str:
        """A ``mov`` line: copy, pack, unpack, vectors."""
        pick = self.random
        kind = pick.choice(MOV_TYPES)
        words, roll = [kind], self.random.random()
        if roll < 0.5:
            target, source = self.value(kind) if self.maybe(0.08) else self.register(self.near(kind)), self.value(kind)
            if kind == "pred" and self.maybe(0.9):
                target = self.register("pred")
        elif roll < 0.85:
            kind = pick.choice(("b16", "b32", "b64", "b128")) if self.maybe(0.93) else kind
            words = [kind]
            lanes = pick.choice((2, 2, 2, 4, 4, 1, 3, 8)) if self.maybe(0.3) else pick.choice((2, 4))
            bits = int(kind.lstrip("bsufpred") or 1) // lanes
            part = f"b{bits}" if self.maybe(0.95) and bits in (8, 16, 32, 64) else pick.choice(self.classes)
            group = pick.random() < 0.5
            vector = self.vector(part, lanes, group) if self.maybe(0.95) else pick.choice(("%v", "%w", "%q"))
            scalar = self.value(kind) if not group else (self.register(self.near(kind)))
            target, source = (vector, self.value(kind)) if group else (scalar if self.maybe(0.1) else
                                                                      self.register(self.near(kind)), vector)
        else:
            lanes = pick.choice((2, 2, 4, 4, 8))
            words = [f"v{lanes}", kind]
            whole = ("%v", "%w", "%q", "%tid", "1")
            target = self.vector(kind, lanes, True) if self.maybe(0.9) else pick.choice(whole[:3])
            source = self.vector(kind, lanes, False) if self.maybe(0.8) else pick.choice(whole)
        operands = [target, source]
        if self.maybe(0.01):
            operands.append(self.value(kind))
        return f"{self.guard()}{'.'.join(['mov', *self.disturb(words)])} {', '.join(operands)};"

    def line(self) -> str:
        """Any line."""
        return self.mov() if self.maybe(0.3) else self.memory()

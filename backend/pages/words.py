"""Sentences of the instruction pages: what slots, goals, kinds and register rules mean."""

from __future__ import annotations

#: leaving the slot out means the first of its words
FIRST = "first"
#: slot -> (what a word of it says, what leaving it out says when the database names no word for that)
SLOTS: dict[str, tuple[str, str]] = {
    "type": ("type of the value: its bits and how they are read", ""),
    "dtype": ("type of the result", ""),
    "atype": ("type of the source", ""),
    "mmio": ("memory-mapped device register: the access is done once and whole", "ordinary memory"),
    "sem": ("memory order", "no order"),
    "scope": ("threads with which the order holds", "no scope"),
    "space": ("state space of the address", ""),
    "cop": ("cache operator", FIRST),
    "nc": ("non-coherent path, for data that nobody writes during the kernel", "coherent"),
    "proxy": ("proxy through which memory is accessed", "generic proxy"),
    "evict_l1": ("eviction priority in L1, a hint", "`.L1::evict_normal`"),
    "evict_l2": ("eviction priority in L2, a hint", "`.L2::evict_normal`"),
    "hint": ("a cache policy follows as last operand", "no policy operand"),
    "prefetch": ("bytes to bring into L2 beside those read, a hint", "no prefetch"),
    "vec": ("lanes moved by one instruction", ""),
    "op": ("operation", ""),
    "noftz": ("subnormal halves are kept", "as the type has it"),
    "round": ("rounding", "the instruction's default"),
    "ftz": ("subnormal inputs and results of f32 become zero", "subnormals are kept"),
    "sat": ("the result is clamped to the range of its type, for floats to 0 to 1", "no clamping"),
    "relu": ("a negative result becomes zero", "negative results stay"),
    "nan": ("a NaN input gives NaN", "a NaN input gives the other input"),
    "cmp": ("comparison", ""),
    "bool": ("the result is combined with a further predicate", "the comparison alone"),
    "mode": ("which of the instruction's variants", ""),
    "uni": ("all active threads of the warp go the same way", "threads may part"),
    "aligned": ("all threads of the warp execute the same instruction", "threads may arrive one by one"),
    "cta": ("the threads of the block", "the same"),
    "warp": ("the threads of the warp that the mask names", ""),
    "cluster": ("the threads of the cluster", ""),
    "to": ("from a generic address to one of the space", ""),
    "size": ("width of the address", ""),
    "first": ("priority of the first part", ""),
    "second": ("priority of the rest", "`.L2::evict_unchanged`"),
    "cache": ("the cache concerned", ""),
}
RULES: dict[str, str] = {
    "wide": "the type's width or more",
    "exact": "the type's width",
    "pack": "any class of its width",
    "count": "an integer of the type's width",
}
ROLES = {"in": "read", "out": "written", "inout": "read and written"}
KINDS: dict[str, str] = {
    "register": "register",
    "immediate": "constant",
    "address": "address in brackets",
    "symbol": "name of a variable",
    "function": "name of a function",
    "special": "special register",
    "label": "label",
    "vector": "brace group",
    "predicate": "predicate constant",
}
#: what is proved -> sentence with {at}, {to}, {bytes}, {space}
GOALS: dict[str, str] = {
    "aligned": "the address in `{at}` is a multiple of {to}",
    "in-bounds": "the {bytes} at `{at}` lie in the array, index by index",
    "in-space": "the storage behind `{at}` lies in {space} memory",
    "race-free": "no other thread touches the {bytes} at `{at}` without a barrier between",
    "owned": "`{at}` belongs to the issuing thread",
    "disjoint": "`{at}` names no register twice",
    "consecutive": "the words of `{at}` follow each other",
    "defined": "`{at}` was written before",
    "convergent": "every thread of the group arrives here",
    "fits": "`{at}` fits in {to} bits",
    "nonzero": "`{at}` is not zero",
}
#: what is proved -> code of the obligation
CODES: dict[str, str] = {
    "aligned": "P101", "consecutive": "P102", "in-bounds": "P103", "in-space": "P104", "owned": "P105",
    "disjoint": "P106", "race-free": "P107", "defined": "P108", "nonzero": "P109", "no-wrap": "P109",
    "convergent": "P110", "fits": "P111",
}
#: step -> sentence over its arguments, in the order of the specs; arguments that are missing leave it as it is
STEPS: dict[str, str] = {
    "read": "read {bytes} at `{at}`, little-endian, as `{into}`",
    "write": "write `{value}` to the {bytes} at `{at}`, little-endian",
    "combine": "atomically replace each element at `{at}` by `{op}` of it and `{value}`",
    "exchange where equal": "atomically replace the element at `{at}` by `{value}` where it equals `{compare}`",
    "split": "cut `{value}` into {count} equal lanes `{into}`, lane 0 lowest",
    "join": "put the lanes of `{value}` together as `{into}`, lane 0 lowest",
    "extend": "widen `{value}` from `{from}` to the width of the register `{into}`",
    "copy": "`{into}` becomes `{value}`",
    "address": "`{into}` becomes the address of `{symbol}`",
    "special": "`{into}` becomes the value of the special register `{name}`",
    "compute": "`{into}` becomes `{op}` of {args} in `{type}`",
    "convert": "`{into}` becomes `{value}`, converted from `{from}` to `{to}`",
    "cvta from": "`{into}` becomes the generic address of what `{value}` addresses in the space",
    "cvta to": "`{into}` becomes the address in the space of what the generic address `{value}` addresses",
    "barrier": "wait until all threads of the {scope} have arrived",
    "barrier some": "wait until `{count}` threads of the {scope} have arrived",
    "barrier arrive": "arrive at the barrier of the {scope}, without waiting",
    "barrier wait": "wait until all threads of the {scope} have arrived at its barrier",
    "branch": "go on at `{target}`",
    "return": "return from the function",
    "exit": "the thread ends",
    "exchange": "each lane takes `{value}` of another lane as `{into}`",
    "policy": "`{into}` becomes a cache policy",
    "hint": "nothing architectural",
    "fence": "memory accesses are ordered",
    "defer": "what was asked for completes later",
    "pad": "the rest is filled with zeros",
}
FORM_CODES: dict[str, str] = {
    "F101": "a word that the mnemonic does not have",
    "F102": "one qualifier twice",
    "F103": "a word that must be written is missing",
    "F104": "words of different forms",
    "F105": "words out of canonical order",
    "F106": "a form that only the assembler knows",
    "F201": "a rule forbids the combination",
    "F301": "target or PTX version too old",
    "F302": "other architectures only",
    "F303": "withdrawn",
    "F402": "operands that no form takes",
}

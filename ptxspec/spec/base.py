"""The base of every spec model: frozen, closed (unknown keys are errors), no coercion between types."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$")]
Token = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]+(::[A-Za-z0-9_]+)*$")]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,2}\.[0-9]$")]
TargetName = Annotated[str, StringConstraints(pattern=r"^sm_[0-9]{2,3}[af]?$")]
Sentence = Annotated[str, StringConstraints(min_length=8, max_length=400)]


class SpecModel(BaseModel):
    """Frozen and closed; lists become tuples."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, str_strip_whitespace=False)

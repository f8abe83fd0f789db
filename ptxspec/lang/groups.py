"""Group axes of the cooperative scopes, taken from the launch."""

from __future__ import annotations

from ptxspec.diagnostics import Span
from ptxspec.lang.errors import nearest, refuse, said
from ptxspec.lang.trace import Tracer
from ptxspec.lang.uniform import UNITS, varying
from ptxspec.scalar.expr import show

WARP = 32
WARPGROUP = 4   # warps


def group_of(tracer: Tracer, scope: object, span: Span) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names and extents of the group axes of ``scope`` (K180), whole warps (K175) and whole groups active (K184)."""
    if not isinstance(scope, str) or scope not in UNITS:
        refuse("K180", f"{said(scope)} is not an execution scope", span, help=nearest(str(scope), list(UNITS)))
    launch = tracer.require_launch("apply")
    if scope == "thread":
        return (), ()
    threads = tracer.threads
    unit = WARP * WARPGROUP if scope == "warpgroup" else WARP
    if threads % unit:
        refuse("K175", f"scope=\"{scope}\" needs whole groups of {unit} threads, but a block has {threads}", span,
               help=f"launch a multiple of {unit} threads")
    guard = varying(tracer.guards, scope, tracer.linear_thread())
    if guard is not None:
        refuse("K184", f"scope=\"{scope}\" needs all its threads, but `{show(guard)}` may differ among them", span,
               help="move the call out of the branch, or use scope=\"thread\"")
    if scope == "warp":
        return ("laneid",), (WARP,)
    if scope == "warpgroup":
        return ("wid_in_wg", "laneid"), (WARPGROUP, WARP)
    inner = (("warpid", "laneid"), (threads // WARP, WARP))
    if scope == "cta":
        return inner
    if launch.cluster == (1, 1, 1):
        refuse("K180", "scope=\"cluster\" needs a cluster launch", span,
               help="give T.cuda.LaunchConfig(cluster=...)")
    sizes = list(zip(("cbz", "cby", "cbx"), reversed(launch.cluster)))
    while len(sizes) > 1 and sizes[0][1] == 1:
        sizes.pop(0)
    return (*(n for n, _ in sizes), *inner[0]), (*(e for _, e in sizes), *inner[1])

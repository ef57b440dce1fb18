"""Commands of the attack lab: what an adversary gets from a naive system, and from discreet."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import Picture
from discreet.cli.places import picture
from discreet.privacy.guarantee import ApproxDP
from discreet.terminal import shown, waiting

app = typer.Typer(help="Attack made-up secrets behind a naive system and behind discreet.", no_args_is_help=True)


@app.command("reconstruct")
def reconstruct(
    rows: Annotated[int, typer.Option(help="people, with one secret bit each")] = 1000,
    queries: Annotated[int, typer.Option(help="counts that are asked")] = 4000,
    noise: Annotated[float, typer.Option(help="what the naive system adds at most")] = 5.0,
    epsilon: Annotated[str, typer.Option(help="discreet's budget for all answers")] = "1",
    delta: Annotated[str, typer.Option(help="with its delta")] = "1e-6",
    seed: Annotated[int, typer.Option(help="of the made-up secrets")] = 0,
    plot: Picture = None,
) -> None:
    """Rebuild secret bits from many noisy counts."""
    from discreet.attacks.lab import compare_reconstruction

    picture(plot)
    with waiting("attacking ..."):
        found = compare_reconstruction(rows, queries, noise=noise, budget=ApproxDP(epsilon, delta), seed=seed)
    shown(str(found))
    if plot is not None:
        found.plot().save(str(plot))
        typer.echo(f"wrote {plot}")


@app.command("trace")
def trace(
    users: Annotated[int, typer.Option(help="who hold marked copies")] = 100,
    pirates: Annotated[int, typer.Option(help="who mix theirs")] = 10,
    strategy: Annotated[
        str, typer.Option(help="interleaving, majority, minority, ones, zeros or coin")
    ] = "interleaving",
    epsilon: Annotated[str, typer.Option(help="discreet's budget for all columns")] = "1",
    delta: Annotated[str, typer.Option(help="with its delta")] = "1e-6",
    seed: Annotated[int, typer.Option(help="of the code and the pirates")] = 0,
    plot: Picture = None,
) -> None:
    """Name those who mixed their marked copies."""
    from discreet.attacks.tracing_lab import compare_tracing

    picture(plot)
    with waiting("tracing ..."):
        found = compare_tracing(users, pirates, strategy=strategy, budget=ApproxDP(epsilon, delta), seed=seed)  # type: ignore[arg-type]
    shown(str(found))
    if plot is not None:
        found.plot().save(str(plot))
        typer.echo(f"wrote {plot}")

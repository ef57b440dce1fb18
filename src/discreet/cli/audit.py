"""The command that audits: every public mechanism, or one of your own."""

from __future__ import annotations

import signal
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import Json
from discreet.cli.places import picture as drawable
from discreet.cli.places import to_write
from discreet.errors import DiscreetError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.curator.audits.finding import Finding

QUICK = 0.05  # of the releases
FALSE, REFUSED = 1, 2  # exit codes


def audit(
    mechanism: Annotated[str | None, typer.Argument(help="module:name of your own; none: the public ones")] = None,
    whole: Annotated[bool, typer.Option("--all", help="at full counts, up to 20 minutes on two cores")] = False,  # noqa: FBT002 - a flag
    only: Annotated[str | None, typer.Option(help="one name or one room, such as Laplace or local")] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, help="releases of either side, instead of the register's")
    ] = None,
    inputs: Annotated[str | None, typer.Option(help="your own: two neighbouring inputs, such as 0,1")] = None,
    epsilon: Annotated[str | None, typer.Option(help="your own: the claim, instead of what its privacy() says")] = None,
    delta: Annotated[str | None, typer.Option(help="your own: the delta of the claim, at which it is audited")] = None,
    as_json: Json = False,  # noqa: FBT002 - a flag
    as_markdown: Annotated[bool, typer.Option("--markdown", help="print a Markdown table")] = False,  # noqa: FBT002 - a flag
    csv: Annotated[Path | None, typer.Option(help="write a CSV file")] = None,
    picture: Annotated[
        Path | None, typer.Option("--plot", "--picture", help="write a picture: .svg, .png, .pdf or .html")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="processes")] = 2,
    seed: Annotated[int | None, typer.Option(help="the same findings again; none: the system's noise")] = None,
) -> None:
    """Audit claims by attacking them: a lower bound on the privacy loss, and whether a broken twin is caught.

    Without --all a twentieth of the releases are drawn, in a minute or so, and twins are tried only where releases are
    drawn at once.  Exit code 0: no claim was refuted; 1: a claim is false; 2: refused or failed, and nothing was
    audited.
    """
    from discreet.curator.audits.table import as_csv, markdown, summary, text
    from discreet.curator.audits.table import as_json as json_text

    try:
        to_write(csv)
        drawable(picture)
        found = _public(only, whole, samples, workers, seed) if mechanism is None else [
            _own(mechanism, inputs, samples, epsilon, delta, seed)
        ]  # fmt: skip
    except DiscreetError as error:
        typer.echo(f"discreet: {error}", err=True)
        raise typer.Exit(REFUSED) from None
    except Exception as error:  # of the mechanism itself, on both inputs
        typer.echo(f"discreet: nothing was audited: {type(error).__name__}: {error}", err=True)
        raise typer.Exit(REFUSED) from error
    typer.echo(json_text(found) if as_json else markdown(found) if as_markdown else text(found))
    if csv is not None:
        csv.write_text(as_csv(found), encoding="utf-8")
    if picture is not None:
        from discreet.curator.audits.picture import save

        save(found, picture)
    if any(one.violated for one in found):
        for one in found:
            for said in one.violations:
                typer.echo(f"discreet: {one.room}.{one.name}: {said}", err=True)
        typer.echo(f"discreet: a claim is false: {summary(found)}", err=True)
        raise typer.Exit(FALSE)


def _public(only: str | None, whole: bool, samples: int | None, workers: int, seed: int | None) -> list[Finding]:  # noqa: FBT001 - what was typed
    from discreet.curator.audits.register import SUBJECTS, named
    from discreet.curator.audits.run import audit_all

    subjects = list(SUBJECTS) if only is None else named(only)
    if not subjects:
        raise ParameterError(f"nothing public is called {only!r}; say a name such as Laplace or a room such as local")
    absent = sorted({subject.known_as for subject in subjects if not subject.here})
    if absent:
        typer.echo(f"discreet: left out, as PyTorch is not installed: {', '.join(absent)}", err=True)
    subjects = [subject for subject in subjects if subject.here]
    scale = 1.0 if whole else QUICK
    with _stoppable(), _progress(len(subjects)) as done:
        return audit_all(subjects, scale=scale, samples=samples, workers=workers, seed=seed, done=done)


def _own(
    name: str, inputs: str | None, samples: int | None, epsilon: str | None, delta: str | None, seed: int | None
) -> Finding:
    from discreet.curator.audits.own import audit_own, read_inputs
    from discreet.hazmat.entropy import SeededRandom
    from discreet.privacy.guarantee import ApproxDP
    from discreet.privacy.number import exact

    return audit_own(
        name,
        inputs=None if inputs is None else read_inputs(inputs),
        samples=200_000 if samples is None else samples,
        delta=None if delta is None else float(exact(delta)),
        claim=None if epsilon is None else ApproxDP(epsilon, delta or 0),
        rng=None if seed is None else SeededRandom(seed),
    )


@contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C ends the processes too: their pool would wait until everything it was given is audited."""
    from multiprocessing import active_children

    def stop(*_: object) -> None:
        for child in active_children():
            child.terminate()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _progress(total: int) -> AbstractContextManager[Callable[[Finding], None]]:
    """A bar on standard error, where somebody watches."""
    from rich.console import Console

    console = Console(stderr=True)
    return _Bar(total, console) if console.is_terminal else nullcontext(lambda _: None)


class _Bar(AbstractContextManager["Callable[[Finding], None]"]):
    """One step a finding, with the name of the last."""

    def __init__(self, total: int, console: Any) -> None:  # noqa: ANN401 - a console of rich
        from rich.progress import Progress

        self.bar = Progress(console=console)
        self.task = self.bar.add_task("auditing", total=total)

    def __enter__(self) -> Callable[[Finding], None]:
        self.bar.start()
        return lambda one: self.bar.update(self.task, advance=1, description=one.name)

    def __exit__(self, *error: object) -> None:
        self.bar.stop()

"""Arguments and options that several commands take, each declared once. Those of a run that is to begin are in
``startoptions``."""

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Answer as JSON.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="The run's number, as ls shows it.")]

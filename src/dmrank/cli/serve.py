"""`dmrank serve`: a model over HTTP, and a page for people who choose."""

from __future__ import annotations

import tempfile
import threading
import time
import webbrowser
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from dmrank.cli.commands import examples
from dmrank.support.errors import ConfigError
from dmrank.support.progress import say

#: What `--ratings` says to keep none.
_NONE = "none"
#: Seconds that a page waits for the service before it is opened.
_PATIENCE = 30


@examples(
    "dmrank serve hotels.dmrank --open",
    "dmrank serve hotels.dmrank --host 0.0.0.0 --keys serve.toml --ratings postgresql://db/hotels",
)
def serve(
    model: Annotated[Path | None, typer.Argument(help="Model file.", metavar="MODEL")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Synthetic hotels, for which a model is fitted first.")
    ] = False,
    host: Annotated[str, typer.Option(help="Where to listen; others need keys.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.", min=1, max=65535)] = 8088,
    workers: Annotated[
        int | None, typer.Option(help="Processes; default: one for every core.", min=1)
    ] = None,
    keys: Annotated[
        Path | None, typer.Option(help="File of keys, which `dmrank keys new` makes.")
    ] = None,
    ratings: Annotated[
        str | None,
        typer.Option(
            help="Where ratings are kept: a file, postgresql://…, or none. "
            "Default: MODEL with the ending .ratings.sqlite.",
            metavar="FILE|URL",
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log every request, not only failures.")
    ] = False,
    reuse_port: Annotated[
        bool,
        typer.Option("--reuse-port", help="Share the port, for a restart without a pause."),
    ] = False,
) -> None:
    """Serve a model and a page; another file that is renamed over MODEL is taken over."""
    from dmrank.compiled.ranges import count_threads
    from dmrank.service.settings import Settings, check_address, is_loopback
    from dmrank.support.extras import require

    require("granian", "dmrank serve")
    if (model is None) != demo:
        raise ConfigError("give a model file, or --demo for synthetic hotels")
    check_address(host, keys)
    with tempfile.TemporaryDirectory() if demo else nullcontext("") as folder:
        file = model if model is not None else _fit_demo(Path(folder))
        from dmrank.service.server import serve as run

        settings = Settings(
            folder="",
            host=host,
            port=port,
            workers=workers or count_threads(None),
            keys=None if keys is None else _checked_keys(keys),
            ratings=_store(ratings, file),
            log_requests=log_requests,
        )
        shown = f"http://{'localhost' if is_loopback(host) else host}:{port}"
        say(f"serving {file.name} at {shown} (documentation at {shown}/docs, Ctrl-C ends it)")
        if open_:
            threading.Thread(target=_open_page, args=(host, port, shown), daemon=True).start()
        run(file, settings, reuse_port=reuse_port)


def _fit_demo(folder: Path) -> Path:
    from dmrank.data.synthetic import make_hotels
    from dmrank.models import Hurdle

    say("learning from the ratings of synthetic hotels …")
    split = make_hotels(seed=0).ratings.split(seed=0)
    return (
        Hurdle(seed=0).fit(split.train, validation=split.validation).save(folder / "hotels.dmrank")
    )


def _checked_keys(path: Path) -> str:
    from dmrank.service.keys import Keys

    Keys.read(path)
    return str(path.resolve())


def _store(given: str | None, model: Path) -> str | None:
    from dmrank.service.store.opening import is_file, open_store

    if given == _NONE:
        return None
    address = str(model.with_suffix(".ratings.sqlite")) if given is None else given
    open_store(address)
    return str(Path(address).resolve()) if is_file(address) else address


def _open_page(host: str, port: int, shown: str) -> None:
    import socket

    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            webbrowser.open(shown)
            return

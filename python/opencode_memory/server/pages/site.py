"""The app of the pages: routes, sign-in, forms and errors."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

import opencode_memory
from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError, OpencodeMemoryError
from opencode_memory.server.guards.owner_token import OwnerToken, refuse_without_token
from opencode_memory.server.pages import ROOT, browse, change, overview, plots
from opencode_memory.server.pages.access import SESSION_SECONDS, Access, Visit
from opencode_memory.server.pages.asked import Asked, Page, Redirect
from opencode_memory.server.pages.render import HEADERS, STATIC, render, static_file
from opencode_memory.text import clock

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from opencode_memory.server.server_state import ServerState

_THREADS: Final = 4
_MOST_FIELDS: Final = 2_000
_STATUSES: Final[tuple[tuple[type[OpencodeMemoryError], int], ...]] = (
    (NotFoundError, 404),
    (ConflictError, 409),
    (InvalidInputError, 400),
)
_UNAVAILABLE: Final = 503
_SEE_OTHER: Final = 303
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
_log: Final = logging.getLogger(__name__)

Make = Callable[[Asked], Page | Redirect]


def build_site(state: ServerState, *, token: str) -> ASGIApp:
    """Build the app, to be mounted at ``/ui``.

    Args:
        state: The state of the server.
        token: The content of the token file, with which a command asks for a link.
    """
    return _Site(state, token).app


class _Site:
    def __init__(self, state: ServerState, token: str) -> None:
        self._state = state
        self._token = OwnerToken(token)
        self._access = Access()
        self._limiter = anyio.CapacityLimiter(_THREADS)
        # Cookies are shared by all ports of a host, and another store may be served on another port.
        self._cookie = f"opencode_memory_{state.config.server.port}"
        pages: list[tuple[str, str, Make]] = [
            ("/", "GET", browse.show_newest),
            ("/search", "GET", browse.search),
            ("/timeline", "GET", plots.show_timeline),
            ("/map", "GET", plots.show_map),
            ("/memories/{id}", "GET", browse.show_memory),
            ("/memories/{id}/{action}", "POST", change.change_memory),
            ("/review", "GET", overview.show_waiting),
            ("/review/{id}/{action}", "POST", change.decide),
            ("/several", "POST", change.preview),
            ("/several/apply", "POST", change.apply),
            ("/log", "GET", overview.show_log),
            ("/log/{number}/{action}", "POST", change.turn),
            ("/sessions", "GET", overview.show_sessions),
            ("/sessions/{id}", "GET", overview.show_session),
            ("/projects", "GET", overview.show_projects),
            ("/health", "GET", overview.show_health),
        ]
        self.app = Starlette(
            routes=[
                Route("/link", self._give_link, methods=["POST"]),
                Route("/enter", self._enter),
                Route("/static/{name}", self._send_static),
                *(Route(path, self._require_session(make), methods=[method]) for path, method, make in pages),
            ],
            exception_handlers={404: self._say_not_found, 405: self._say_not_found},
        )

    async def _give_link(self, request: Request) -> Response:
        """Give a command of the same user a link that works once."""
        if not self._token.is_in(request.scope):
            return refuse_without_token()
        return JSONResponse({"path": f"{ROOT}/enter?code={self._access.new_code()}"})

    async def _enter(self, request: Request) -> Response:
        cookie = self._access.enter(request.query_params.get("code", ""))
        if cookie is None:
            return self._refuse(
                "This link was used before, or is older than two minutes.", _UNAUTHORIZED, hint="opencode-memory ui"
            )
        answer = RedirectResponse(f"{ROOT}/", status_code=_SEE_OTHER, headers=dict(HEADERS))
        answer.set_cookie(
            self._cookie, cookie, max_age=round(SESSION_SECONDS), path=ROOT, httponly=True, samesite="strict"
        )
        return answer

    async def _send_static(self, request: Request) -> Response:
        name = request.path_params["name"]
        content = static_file(name)
        if content is None:
            return self._refuse("There is no such file.", 404)
        return Response(content, media_type=STATIC[name], headers={**HEADERS, "Cache-Control": "no-cache"})

    async def _say_not_found(self, _: Request, __: Exception) -> Response:
        return self._refuse("There is no such page.", 404)

    def _require_session(self, make: Make) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            visit = self._access.find(request.cookies.get(self._cookie, ""))
            if visit is None:
                return self._refuse("This browser is not signed in.", _UNAUTHORIZED, hint="opencode-memory ui")
            form: dict[str, list[str]] = {}
            if request.method == "POST":
                try:
                    body = (await request.body()).decode()
                    form = parse_qs(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
                except ValueError:
                    return self._refuse("The form cannot be read.", 400, visit=visit)
                if not Access.is_own_form(visit, "".join(form.get("form", ()))):
                    return self._refuse(
                        "This form is from an earlier session. Go back, and load the page again.",
                        _FORBIDDEN,
                        visit=visit,
                    )
            asked = Asked(
                state=self._state,
                visit=visit,
                at=clock.now(),
                path=request.path_params,
                query=request.query_params,
                form=form,
            )
            return await anyio.to_thread.run_sync(self._answer, make, asked, request.url.path, limiter=self._limiter)

        return handle

    def _answer(self, make: Make, asked: Asked, path: str) -> Response:
        try:
            made = make(asked)
            if isinstance(made, Redirect):
                return RedirectResponse(made.path, status_code=_SEE_OTHER, headers=dict(HEADERS))
            values = {**made.values, "asked": asked, "path": path}
            return self._render(made.template, values, 200, visit=asked.visit)
        except OpencodeMemoryError as error:
            status = next((number for kind, number in _STATUSES if isinstance(error, kind)), _UNAVAILABLE)
            if status == _UNAVAILABLE:
                _log.warning("the page %s failed: %s", path, error)
            return self._refuse(str(error), status, hint=error.hint, visit=asked.visit)

    def _refuse(self, text: str, status: int, *, hint: str | None = None, visit: Visit | None = None) -> Response:
        return self._render("problem.html", {"text": text, "hint": hint, "path": ""}, status, visit=visit)

    @staticmethod
    def _render(template: str, values: dict[str, object], status: int, *, visit: Visit | None) -> Response:
        said = [] if visit is None else visit.said[:]
        if visit is not None:
            visit.said.clear()
        common = {"said": said, "form": "" if visit is None else visit.form, "version": opencode_memory.__version__}
        page = render(template, {**common, **values, "signed_in": visit is not None}, at=clock.now())
        return HTMLResponse(page, status_code=status, headers=dict(HEADERS))

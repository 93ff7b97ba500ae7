"""Models of OpenCode as a configuration names them: ``provider/model``."""

from __future__ import annotations

from typing import Any


def parse_model(written: str | None) -> dict[str, str] | None:
    """Return a model in the form of OpenCode's API; None if it is not one."""
    provider, _, name = (written or "").partition("/")
    return {"providerID": provider, "modelID": name} if provider and name else None


def has_model(providers: Any, written: str) -> bool:
    """Return whether OpenCode knows a model.

    Args:
        providers: The answer of ``GET /config/providers``.
        written: The model, as ``provider/model``.
    """
    wanted = parse_model(written)
    known = providers.get("providers") if isinstance(providers, dict) else None
    for provider in known if isinstance(known, list) else ():
        match provider:
            case {"id": str(id_), "models": dict(models)} if wanted is not None and id_ == wanted["providerID"]:
                return wanted["modelID"] in models
    return False

"""Model behind an OpenAI-compatible server: requests and answers."""

from __future__ import annotations

import pytest

from opencode_memory.learning.digest.budget import Usage
from opencode_memory.learning.digest.errors import DigestError
from opencode_memory.learning.digest.server_model import ModelAnswer, ServerModel
from support.digesting import KEY, SYSTEM, TEXT, TODAY, Scene, ask
from support.model_server import MODEL, digests, refuses, says


def test_answer_is_returned_with_its_tokens(scene: Scene) -> None:
    assert ask(scene.make(scene.serve(says("{}", tokens=44)))) == ModelAnswer(text="{}", tokens=44, requests=1)


def test_request_has_the_text_as_the_users_message_and_no_tools(scene: Scene) -> None:
    server = scene.serve(digests())
    ask(scene.make(server, key=KEY, max_answer_tokens=500))
    (request,) = server.received
    assert request.path == "/v1/chat/completions"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body["messages"] == [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TEXT}]
    assert (request.body["model"], request.body["max_tokens"], request.body["stream"]) == (MODEL, 500, False)
    assert not request.body.keys() & {"tools", "tool_choice", "functions"}
    wanted = request.body["response_format"]
    assert wanted["type"] == "json_schema"
    assert wanted["json_schema"]["strict"] is True
    assert KEY not in request.text


def test_request_without_key_has_no_authorization(scene: Scene) -> None:
    server = scene.serve(digests())
    ask(scene.make(server))
    assert "Authorization" not in server.received[0].headers


def test_tool_calls_beside_a_text_are_ignored(scene: Scene) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "id"}'}}]
    server = scene.serve(digests(tool_calls=calls))
    assert isinstance(ask(scene.make(server)), ModelAnswer)
    assert len(server.received) == 1


def test_tool_calls_without_a_text_are_an_error(scene: Scene) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]
    with pytest.raises(DigestError, match="without a text") as failure:
        ask(scene.make(scene.serve(says(None, tool_calls=calls, finish_reason="tool_calls"))))
    assert not failure.value.is_final


def test_server_without_schemas_gets_plain_json_from_then_on(scene: Scene) -> None:
    server = scene.serve(refuses(400, "This response_format type is unavailable now"), digests())
    model = scene.make(server)
    assert _count_requests(model) == 2
    assert _count_requests(model) == 1
    asked = [request.body["response_format"]["type"] for request in server.received]
    assert asked == ["json_schema", "json_object", "json_object"]


@pytest.mark.parametrize("status", [400, 422])
def test_server_without_response_formats_gets_none(status: int, scene: Scene) -> None:
    server = scene.serve(refuses(status), refuses(status), digests())
    assert _count_requests(scene.make(server)) == 3
    assert "response_format" not in server.received[-1].body


def test_newer_models_get_their_parameter_names(scene: Scene) -> None:
    server = scene.serve(
        refuses(400, "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
        refuses(400, "'temperature' does not support 0 with this model."),
        digests(),
    )
    ask(scene.make(server, max_answer_tokens=777))
    last = server.received[-1].body
    assert last["max_completion_tokens"] == 777
    assert not last.keys() & {"max_tokens", "temperature"}
    assert last["response_format"]["type"] == "json_schema"


def test_fallback_ends_when_all_dialects_are_refused(scene: Scene) -> None:
    server = scene.serve(refuses(400, "max_completion_tokens temperature response_format"))
    with pytest.raises(DigestError, match="400") as failure:
        ask(scene.make(server))
    assert failure.value.is_final
    assert len(server.received) == 5
    assert scene.ledger.days == {TODAY: Usage(calls=5, tokens=0)}


def test_failed_fallback_does_not_change_the_dialect(scene: Scene) -> None:
    server = scene.serve(refuses(400), refuses(400), refuses(400), digests())
    model = scene.make(server)
    with pytest.raises(DigestError):
        ask(model)
    ask(model)
    assert server.received[-1].body["response_format"]["type"] == "json_schema"


def _count_requests(model: ServerModel) -> int:
    answer = ask(model)
    assert isinstance(answer, ModelAnswer)
    return answer.requests

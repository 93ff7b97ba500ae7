"""Reading ``memory-config.jsonc``: its effect on settings, its notices, and its tolerance of any content."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_memory.config.load import Config, load
from opencode_memory.config.opencode_manager import Notice, log_notices
from opencode_memory.config.opencode_manager.embedding import NAMED
from opencode_memory.config.opencode_manager.file import MAX_BYTES
from opencode_memory.config.opencode_manager.keys import BY_NAME, KEYS
from opencode_memory.config.opencode_manager.read import read
from opencode_memory.config.settings import BY_KEY
from opencode_memory.embedding.factory import build_embedders

SHIPPED = """\
{
  // Embedding configuration for vector embeddings
  "embedding": {
    "provider": "local", // Provider: "local", "openai", or "voyage"
    "model": "all-MiniLM-L6-v2", "dimensions": 384, "baseUrl": "", "apiKey": ""
  },
  /* Similarity threshold */
  "dedupThreshold": 0.25,
  "dataDir": "~/.local/share/opencode/memory",
  "logging": {"enabled": false, "debug": false, "file": ""},
  "compaction": {"customPrompt": true, "maxContextTokens": 4000},
  "memoryInjection": {"enabled": true, "debug": false, "maxResults": 5, "distanceThreshold": 0.5, "maxTokens": 2000,
                      "cacheTtlMs": 30000},
  "messagesTransform": {"enabled": true, "debug": false},
  "executionModel": "",
  "auditorModel": "",
  "defaultKvTtlMs": 604800000,
  "loop": {"enabled": true, "defaultMaxIterations": 15, "cleanupWorktree": false, "defaultAudit": true, "model": "",
           "minAudits": 1, "stallTimeoutMs": 60000},
  "sandbox": {"mode": "off", "image": "ocm-sandbox:latest"},
  "tui": {"sidebar": true, "showLoops": true, "showVersion": true},
}
"""
ORIGIN = "memory-config.jsonc"
LoadFile = Callable[[Any], Config]


@pytest.fixture
def load_file(environment: dict[str, str], tmp_path: Path) -> LoadFile:
    """Function that writes the file from bytes, text or a value, and loads the configuration."""
    file = tmp_path / ".config" / "opencode" / ORIGIN
    file.parent.mkdir(parents=True)

    def write(content: Any) -> Config:
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(environment=environment)

    return write


def notice_texts(config: Config) -> list[str]:
    return [notice.text for notice in config.notices]


def test_missing_file_has_no_notices(environment: dict[str, str]) -> None:
    config = load(environment=environment)
    assert (config.memory_config, config.notices) == (None, ())


def test_shipped_file_applies_without_notices(load_file: LoadFile, tmp_path: Path) -> None:
    config = load_file(SHIPPED)
    assert config.notices == ()
    assert config.memory_config == tmp_path / ".config/opencode/memory-config.jsonc"
    assert {key for key, origin in config.origins.items() if origin == ORIGIN} == {
        "compaction.custom_prompt",
        "compaction.max_tokens",
        "injection.enabled",
        "injection.max_results",
        "injection.max_tokens",
        "kv.default_ttl_seconds",
        "loop.audits",
        "loop.enabled",
        "loop.max_iterations",
        "loop.min_audits",
        "loop.remove_worktree",
        "loop.stall_seconds",
        "sandbox.image",
        "sandbox.mode",
        "terminal.loops",
        "terminal.sidebar",
        "terminal.version",
    }
    assert (config.compaction.custom_prompt, config.injection.max_results) == (True, 5)


def test_shipped_file_has_every_key(load_file: LoadFile) -> None:
    for key in KEYS:
        assert f'"{key.name.rpartition(".")[2]}"' in SHIPPED


@pytest.mark.parametrize(
    ("content", "key", "value"),
    [
        ({"compaction": {"maxContextTokens": 900}}, "compaction.max_tokens", 900),
        ({"compaction": {"customPrompt": False}}, "compaction.custom_prompt", False),
        ({"memoryInjection": {"maxTokens": 0}}, "injection.max_tokens", 0),
        ({"memoryInjection": {"maxResults": 7.0}}, "injection.max_results", 7),
        ({"memoryInjection": {"enabled": False}}, "injection.enabled", False),
        ({"messagesTransform": {"enabled": False}}, "injection.enabled", False),
        (
            {"memoryInjection": {"enabled": True}, "messagesTransform": {"enabled": False}},
            "injection.enabled",
            False,
        ),
        (
            {"memoryInjection": {"enabled": False}, "messagesTransform": {"enabled": True}},
            "injection.enabled",
            False,
        ),
        ({"messagesTransform": {"enabled": True}}, "injection.enabled", True),
        ({"auditorModel": "anthropic/claude"}, "opencode.auditor_model", "anthropic/claude"),
        ({"defaultKvTtlMs": 1}, "kv.default_ttl_seconds", 1),
        ({"defaultKvTtlMs": 2000}, "kv.default_ttl_seconds", 2),
        ({"defaultKvTtlMs": 2001}, "kv.default_ttl_seconds", 3),
    ],
)
def test_key_sets_its_setting(load_file: LoadFile, content: Any, key: str, value: object) -> None:
    config = load_file(content)
    assert config.value(key) == value
    assert config.origins[key] == ORIGIN
    assert config.notices == ()


@pytest.mark.parametrize("content", [{"auditorModel": ""}, {"auditorModel": " "}, {"logging": {"file": "/x.log"}}, {}])
def test_empty_value_leaves_setting_unchanged(load_file: LoadFile, content: Any) -> None:
    config = load_file(content)
    assert set(config.origins.values()) == {"default"}
    assert config.notices == ()


def test_log_file_is_the_named_one_or_beside_the_store(load_file: LoadFile, tmp_path: Path) -> None:
    assert load_file({"logging": {"enabled": True, "file": "~/m.log"}}).server.log_file == tmp_path / "m.log"
    config = load_file({"logging": {"enabled": True}})
    assert config.server.log_file == config.data_dir / "server.log"
    assert config.origins["server.log_file"] == ORIGIN
    assert load_file({"logging": {"enabled": False, "file": "~/m.log"}}).server.log_file is None


def test_default_log_file_follows_data_dir(load_file: LoadFile, environment: dict[str, str]) -> None:
    environment["OPENCODE_MEMORY_DATA_DIR"] = "/elsewhere"
    assert load_file({"logging": {"enabled": True}}).server.log_file == Path("/elsewhere/server.log")


def test_other_layers_override_the_file(load_file: LoadFile, environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / ".config/opencode-memory/memory.toml"
    file.parent.mkdir(parents=True)
    file.write_text("injection.enabled = true\n", encoding="utf-8")
    environment["OPENCODE_MEMORY_INJECTION_MAX_TOKENS"] = "77"
    config = load_file({"memoryInjection": {"enabled": False, "maxTokens": 500, "maxResults": 3}})
    assert (config.injection.enabled, config.origins["injection.enabled"]) == (True, "file")
    assert (config.injection.max_tokens, config.injection.max_results) == (77, 3)


def test_valid_values_are_valid_for_their_settings() -> None:
    for key in KEYS:
        if key.setting is None:
            continue
        assert key.convert is not None
        accepted = [
            value
            for value in (0, 1, 100, 100_000, 10**13, True, "", "a/b", "/a", "off", "openai")
            if key.kind.validate(value) is not None
        ]
        assert accepted
        for value in accepted:
            settled = {other.name: other.default for other in KEYS} | {key.name: value, NAMED: frozenset({key.name})}
            if (converted := key.convert(settled, Path("/data"))) is not None:
                BY_KEY[key.setting].read(converted, {})


def test_defaults_are_valid_and_ineffective_keys_have_reasons() -> None:
    for key in KEYS:
        assert key.kind.validate(key.default) == key.default, key.name
        assert (key.setting is None) == (key.convert is None)
        assert key.meaning or key.setting, key.name


# -- keys without effect


def _file_of_server(**changes: object) -> dict[str, dict[str, object]]:
    server = {
        "provider": "openai",
        "model": "nomic-embed-text",
        "dimensions": 768,
        "baseUrl": "http://127.0.0.1:11434/v1",
        "apiKey": "sk-secret",
    }
    return {"embedding": {**server, **changes}}


def test_server_on_this_machine_is_used(load_file: LoadFile) -> None:
    config = load_file(_file_of_server())
    assert config.notices == ()
    found = config.embedding
    assert (found.provider, found.model, found.dimensions) == ("openai", "nomic-embed-text", 768)
    assert (found.base_url, found.api_key) == ("http://127.0.0.1:11434/v1", "sk-secret")
    assert "sk-secret" not in repr(config)
    embedders = build_embedders(found, {})
    assert embedders.of_memories.model_id.startswith("openai:nomic-embed-text:768@")


@pytest.mark.parametrize(
    "changes",
    [
        {"baseUrl": "https://api.openai.com/v1"},
        {"baseUrl": ""},
        {"provider": "voyage"},
        {"provider": "voyage", "baseUrl": ""},
    ],
)
def test_server_of_others_waits_for_consent(load_file: LoadFile, changes: dict[str, object]) -> None:
    config = load_file(_file_of_server(**changes))
    assert config.embedding.provider == "local"
    assert config.embedding.model == "nomic-embed-text"
    (notice,) = config.notices
    assert notice.key == "embedding.provider"
    assert "asks before it sends texts" in notice.text


@pytest.mark.parametrize("missing", ["model", "dimensions"])
def test_server_that_is_described_in_part_is_not_used(load_file: LoadFile, missing: str) -> None:
    server = _file_of_server()["embedding"]
    config = load_file({"embedding": {name: value for name, value in server.items() if name != missing}})
    assert config.embedding.provider == "local"
    assert [notice.key for notice in config.notices] == ["embedding.provider"]


def test_description_of_a_server_has_no_effect_on_the_bundled_model(load_file: LoadFile) -> None:
    config = load_file(_file_of_server(provider="local", baseUrl="https://me:sk-secret@example.org"))
    assert {notice.key for notice in config.notices} == {
        f"embedding.{name}" for name in ("model", "dimensions", "baseUrl", "apiKey")
    }
    assert (config.embedding.model, config.embedding.api_key, config.embedding.base_url) == (None, None, None)
    assert "sk-secret" not in repr(config)


@pytest.mark.parametrize("address", ["ftp://127.0.0.1", "http://example.org/v1", "https://me:sk-secret@127.0.0.1", "x"])
def test_address_that_cannot_be_used_is_noted(load_file: LoadFile, address: str) -> None:
    config = load_file(_file_of_server(baseUrl=address))
    assert [notice.key for notice in config.notices] == ["embedding.provider", "embedding.baseUrl"]
    assert config.embedding.provider == "local"
    assert "sk-secret" not in repr(config)


def test_key_that_no_header_can_carry_is_noted(load_file: LoadFile) -> None:
    config = load_file(_file_of_server(apiKey="sk secret"))
    assert [notice.key for notice in config.notices] == ["embedding.apiKey"]
    assert "secret" not in repr(config.notices)


def test_more_dimensions_than_a_vector_can_have_are_noted(load_file: LoadFile) -> None:
    config = load_file(_file_of_server(dimensions=9000))
    assert [notice.key for notice in config.notices] == ["embedding.provider", "embedding.dimensions"]


def test_ineffective_value_is_noted_with_reason(load_file: LoadFile) -> None:
    config = load_file({"embedding": {"provider": "openai"}, "dataDir": "/elsewhere"})
    assert [(notice.level, notice.key) for notice in config.notices] == [
        ("note", "embedding.provider"),
        ("note", "dataDir"),
    ]
    said = 'dataDir = "/elsewhere" has no effect: the store has its own folder, see data_dir (memory-config.jsonc)'
    assert notice_texts(config)[1] == said


def test_settings_of_loops_apply(load_file: LoadFile) -> None:
    config = load_file(
        {
            "executionModel": "a/fast",
            "auditorModel": "a/smart",
            "loop": {
                "enabled": False,
                "model": "a/loop",
                "minAudits": 2,
                "stallTimeoutMs": 90_000,
                "cleanupWorktree": False,
            },
            "sandbox": {"mode": "docker", "image": "mine:1"},
        }
    )
    assert (config.loop.execution_model, config.loop.model, config.opencode.auditor_model) == (
        "a/fast",
        "a/loop",
        "a/smart",
    )
    assert (config.loop.enabled, config.loop.min_audits, config.loop.stall_seconds) == (False, 2, 90)
    assert config.loop.remove_worktree is False
    assert (config.sandbox.mode, config.sandbox.image) == ("docker", "mine:1")


@pytest.mark.parametrize("value", ["sk-secret", 17, {"sk-secret": 1}, "sk-secret\n"])
def test_provider_api_key_is_never_shown(load_file: LoadFile, value: object) -> None:
    config = load_file({"embedding": {"apiKey": value, "baseUrl": "https://me:sk-secret@example.org"}})
    assert [notice.key for notice in config.notices] == ["embedding.apiKey", "embedding.baseUrl"]
    assert "sk-secret" not in repr(config.notices)
    assert "17" not in repr(config.notices)
    assert "sk-secret" not in repr(config)


@pytest.mark.parametrize(
    "content", [{"embedding": "sk-secret"}, {"apiKey": "sk-secret"}, {"embedding": {"key": "sk-secret"}}]
)
def test_misplaced_api_key_is_never_shown(load_file: LoadFile, content: Any) -> None:
    config = load_file(content)
    assert [notice.level for notice in config.notices] == ["error"]
    assert "sk-secret" not in repr(config)


# -- errors


@pytest.mark.parametrize(
    ("content", "key", "hint"),
    [
        ({"memoryInjection": {"maxToken": 5}}, "memoryInjection.maxToken", "did you mean 'memoryInjection.maxTokens'?"),
        ({"maxResults": 5}, "maxResults", "did you mean 'memoryInjection.maxResults'?"),
        ({"loop.enabled": False}, "loop.enabled", 'write it as "loop": {"enabled": …}'),
        ({"sandbox": {"qqqqqqq": 5}}, "sandbox.qqqqqqq", "known are: sandbox.mode, sandbox.image"),
    ],
)
def test_unknown_key_is_an_error_with_suggestion(load_file: LoadFile, content: Any, key: str, hint: str) -> None:
    config = load_file(content | {"auditorModel": "a/b"})
    assert config.notices == (Notice("error", key, f"unknown key {key!r} (memory-config.jsonc)", hint),)
    assert config.opencode.auditor_model == "a/b"


def test_schema_key_is_ignored_at_top_level(load_file: LoadFile) -> None:
    assert load_file({"$schema": "https://forge.example/schema.json"}).notices == ()
    [notice] = load_file({"loop": {"$schema": ""}}).notices
    assert notice.key == "loop.$schema"


def test_unknown_key_without_match_names_sections(load_file: LoadFile) -> None:
    (notice,) = load_file({"zzzzzzzzz": {}}).notices
    assert "compaction, embedding" in (notice.hint or "")
    assert "auditorModel" in (notice.hint or "")


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("memoryInjection.maxTokens", "2000", '"2000"; it must be a whole number from 0 to 100000'),
        ("memoryInjection.maxTokens", -1, "-1; it must be a whole number"),
        ("memoryInjection.maxTokens", 100_001, "100001; it must be"),
        ("memoryInjection.maxTokens", 0.5, "0.5; it must be"),
        ("memoryInjection.maxTokens", True, "true; it must be"),
        ("memoryInjection.maxTokens", None, "null; it must be"),
        ("memoryInjection.maxTokens", [1], "a list; it must be"),
        ("memoryInjection.maxTokens", {"a": 1}, "an object; it must be"),
        ("memoryInjection.maxResults", 0, "0; it must be"),
        ("memoryInjection.enabled", "yes", '"yes"; it must be true or false'),
        ("memoryInjection.enabled", 1, "1; it must be true or false"),
        ("defaultKvTtlMs", 0, "0; it must be"),
        ("dedupThreshold", 1.5, "1.5; it must be a number from 0 to 1"),
        ("dedupThreshold", True, "true; it must be"),
        ("auditorModel", "claude", '"claude"; it must be "provider/model"'),
        ("auditorModel", "a/b\u202ec", "\ufffd"),
        ("logging.file", "m.log", "a path that begins with / or ~/"),
        ("logging.file", "/a\x00b", "a path that begins"),
        ("sandbox.mode", "Docker", "off or docker"),
        ("executionModel", "/", '"provider/model"'),
        ("tui.sidebar", "x" * 500, "…"),
    ],
)
def test_invalid_value_is_reported_and_default_applies(load_file: LoadFile, name: str, value: Any, wanted: str) -> None:
    section, _, last = name.rpartition(".")
    config = load_file({section: {last: value}, "compaction": {"maxContextTokens": 5}} if section else {name: value})
    (notice,) = config.notices
    assert (notice.level, notice.key) == ("error", name)
    assert wanted in notice.text
    assert len(notice.text) < 250
    assert {key for key, origin in config.origins.items() if origin == ORIGIN} <= {"compaction.max_tokens"}
    assert not section or config.compaction.max_tokens == 5


def test_section_that_is_not_an_object_is_reported(load_file: LoadFile) -> None:
    config = load_file({"loop": True, "auditorModel": "a/b"})
    assert notice_texts(config) == ["loop must be an object (memory-config.jsonc)"]
    assert config.opencode.auditor_model == "a/b"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" * 5000, "0x" + "f" * 5000])
@pytest.mark.parametrize("name", ["memoryInjection.maxTokens", "dedupThreshold"])
def test_non_finite_number_is_reported(load_file: LoadFile, name: str, number: str) -> None:
    section, _, last = name.rpartition(".")
    member = f'"{last}": {number}'
    if section:
        member = f'"{section}": {{{member}}}'
    config = load_file(f'{{"auditorModel": "a/b", {member}}}')
    assert [(notice.level, notice.key) for notice in config.notices] == [("error", name)]
    assert (config.injection.max_tokens, config.opencode.auditor_model) == (2000, "a/b")


def test_duplicate_key_is_reported_and_last_value_applies(load_file: LoadFile) -> None:
    config = load_file(
        '{"auditorModel": "a/1", "memoryInjection": {"maxTokens": 5}, "auditorModel": "a/2",'
        ' "memoryInjection": {"maxResults": 1, "maxResults": 2}}'
    )
    assert [(notice.level, notice.key) for notice in config.notices] == [
        ("error", "auditorModel"),
        ("error", "memoryInjection"),
        ("error", "memoryInjection.maxResults"),
    ]
    assert (config.opencode.auditor_model, config.injection.max_results) == ("a/2", 2)
    assert config.injection.max_tokens == 2000


# -- syntax


def test_comments_and_trailing_commas_are_parsed(load_file: LoadFile) -> None:
    config = load_file("""
    // the auditor
    {
      /* "auditorModel": "never/this", */
      "auditorModel": "http://proxy//x/model", // with slashes, and a " quote
      "embedding": {"baseUrl": "http://localhost:11434/v1 /* no comment */"},
      "compaction": {"maxContextTokens": 12, /* , } */},
    }
    """)
    assert config.opencode.auditor_model == "http://proxy//x/model"
    assert config.compaction.max_tokens == 12
    assert [notice.key for notice in config.notices] == ["embedding.baseUrl"]


@pytest.mark.parametrize("encode", ["utf-8", "utf-8-sig"])
def test_byte_order_mark_is_ignored(load_file: LoadFile, encode: str) -> None:
    config = load_file('{"auditorModel": "a/ö"}\r\n'.encode(encode))
    assert (config.opencode.auditor_model, config.notices) == ("a/ö", ())


@pytest.mark.parametrize("content", [b"", b" \n\t", b"\xef\xbb\xbf\n"])
def test_empty_file_has_no_notices(load_file: LoadFile, content: bytes) -> None:
    assert load_file(content).notices == ()


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"[]", "not an object"),
        (b'"text"', "not an object"),
        (b"17", "not an object"),
        (b"null", "not an object"),
        (b"{", "line 1 Unexpected end of input"),
        (b'{\n"auditorModel": "a/b",,\n}', "line 2 Unexpected"),
        (b"// only a comment", "Unexpected end of input"),
        (b'{"auditorModel": "a/\xff"}', "not UTF-8 (byte 20)"),
        ('{"auditorModel": "a/b"}'.encode("utf-16"), "not UTF-8 (byte 0)"),
        (b"[" * 60_000, "nested too deeply"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "nested too deeply"),
        (b'{"a": \x00}', "Unexpected"),
        (b" " * (10 * 2**20), "more than 65,536 bytes"),
    ],
)
def test_unreadable_file_is_reported_and_defaults_apply(load_file: LoadFile, content: bytes, wanted: str) -> None:
    config = load_file(content)
    (notice,) = config.notices
    assert (notice.level, notice.key) == ("error", "")
    assert wanted in notice.text
    assert notice.text.isprintable()
    assert str(config.memory_config) in notice.text
    assert set(config.origins.values()) == {"default"}


def test_file_of_maximum_size_is_read(load_file: LoadFile) -> None:
    content = b'{"auditorModel": "a/b"}'
    assert load_file(content + b" " * (MAX_BYTES - len(content))).opencode.auditor_model == "a/b"
    assert load_file(content + b" " * (MAX_BYTES - len(content) + 1)).opencode.auditor_model is None


def test_fifo_is_reported_without_blocking(environment: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / ".config" / "opencode" / ORIGIN
    file.parent.mkdir(parents=True)
    os.mkfifo(file)
    assert "not a regular file" in load(environment=environment).notices[0].text
    file.unlink()
    file.mkdir()
    assert "not a regular file" in load(environment=environment).notices[0].text
    file.rmdir()
    file.symlink_to(tmp_path / "nowhere")
    assert "No such file" in load(environment=environment).notices[0].text


def test_symbolic_link_is_followed(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "dotfiles.jsonc").write_text('{"auditorModel": "a/b"}', encoding="utf-8")
    file = tmp_path / ".config" / "opencode" / ORIGIN
    file.parent.mkdir(parents=True)
    file.symlink_to(tmp_path / "dotfiles.jsonc")
    assert load(environment=environment).opencode.auditor_model == "a/b"


def test_many_unknown_keys_are_summarized(load_file: LoadFile) -> None:
    config = load_file({f"qq{number:04}": 1 for number in range(4000)})
    assert len(config.notices) == 21
    assert notice_texts(config)[-1] == "3,980 more keys are unknown (memory-config.jsonc)"


def test_unprintable_names_are_replaced(load_file: LoadFile) -> None:
    config = load_file('{"\\ud800\\u001b[31m' + "x" * 5000 + '": 1, "loop": {"\\ud800": 1}}')
    for notice in config.notices:
        notice.text.encode()
        assert (notice.text + notice.key).isprintable()
        assert len(notice.text) < 200


def test_notices_are_logged_as_warnings(load_file: LoadFile, caplog: pytest.LogCaptureFixture) -> None:
    log_notices(load_file({"lop": 1, "dataDir": "/elsewhere"}).notices)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert caplog.messages == [
        "unknown key 'lop' (memory-config.jsonc) (did you mean 'loop'?)",
        'dataDir = "/elsewhere" has no effect: the store has its own folder, see data_dir (memory-config.jsonc)',
    ]


# -- arbitrary content

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["", "a/b", "~/x", "/x"])
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
NAMES = st.sampled_from(sorted({part for name in BY_NAME for part in [name, *name.split(".")]})) | st.text()
CONFIGURATIONS = st.dictionaries(NAMES, VALUES | st.dictionaries(NAMES, VALUES))
PIECES = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", ":", ",", '"', "'", "//", "/*", "*/", "\n", "\\", "\\u", "-", "0x", "1e9", "NaN"]
    )
    | st.sampled_from(
        ["loop", '"loop"', '"embedding"', '"apiKey"', "true", "null", "Infinity", "\ufeff", "\u2028", "\0"]
    )
    | st.text(max_size=3)
)


def assert_loads(content: bytes, folder: Path) -> None:
    file = folder / ".config" / "opencode" / ORIGIN
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    config = load(environment={"HOME": str(folder)})
    for notice in config.notices:
        assert notice.text.isprintable()
        json.dumps([notice.key, notice.text, notice.hint], ensure_ascii=False).encode()
    assert read(file, environment={"HOME": str(folder)}, data_dir=folder).notices == config.notices


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@given(content=st.binary())
def test_any_bytes_load_without_error(folder: Path, content: bytes) -> None:
    assert_loads(content, folder)


@given(pieces=PIECES)
def test_any_text_loads_without_error(folder: Path, pieces: list[str]) -> None:
    assert_loads("".join(pieces).encode(errors="replace"), folder)
    assert_loads(("{" + "".join(pieces) + "}").encode(errors="replace"), folder)


@given(configuration=CONFIGURATIONS)
def test_any_values_load_without_error(folder: Path, configuration: dict[str, Any]) -> None:
    assert_loads(json.dumps(configuration).encode(), folder)

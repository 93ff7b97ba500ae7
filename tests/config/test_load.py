"""The configuration: its layers, its errors, and edits of its file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from opencode_memory.config.edit import set_value, unset_value
from opencode_memory.config.load import config_file, load
from opencode_memory.config.sections import Color
from opencode_memory.config.settings import SETTINGS
from opencode_memory.errors import ConfigError


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Environment with an empty home folder and a configuration file that does not exist yet."""
    return {"HOME": str(tmp_path / "home"), "OPENCODE_MEMORY_CONFIG": str(tmp_path / "memory.toml")}


def write_config(environment: dict[str, str], text: str) -> Path:
    file = Path(environment["OPENCODE_MEMORY_CONFIG"])
    file.write_text(text, encoding="utf-8")
    return file


def test_missing_file_gives_defaults(environment: dict[str, str]) -> None:
    config = load(environment=environment)
    assert config.data_dir == Path(environment["HOME"]) / ".local/share/opencode-memory/store"
    assert (config.recall.limit, config.project, config.color) == (10, None, Color.AUTO)
    assert set(config.origins.values()) == {"default"}


def test_blank_config_variable_means_the_default_file(environment: dict[str, str]) -> None:
    default = Path(environment["HOME"]) / ".config/opencode-memory/memory.toml"
    assert load(environment=environment | {"OPENCODE_MEMORY_CONFIG": " "}).file == default


def test_later_layers_override_earlier_ones(environment: dict[str, str]) -> None:
    write_config(environment, "project = 'file'\n[recall]\nlimit = 3\n[kv]\ndefault_ttl_seconds = 60\n")
    environment |= {"OPENCODE_MEMORY_RECALL_LIMIT": "4", "OPENCODE_MEMORY_PROJECT": "environment"}
    config = load(environment=environment, options={"project": "option", "data_dir": None})
    assert (config.kv.default_ttl_seconds, config.recall.limit, config.project) == (60, 4, "option")
    assert config.origins["kv.default_ttl_seconds"] == "file"
    assert config.origins["recall.limit"] == "OPENCODE_MEMORY_RECALL_LIMIT"
    assert config.origins["project"] == "--project"
    assert config.origins["data_dir"] == "default"


def test_every_setting_has_a_value_and_an_origin(environment: dict[str, str]) -> None:
    config = load(environment=environment)
    assert {setting.key for setting in SETTINGS} == set(config.origins)
    for setting in SETTINGS:
        config.value(setting.key)


def test_unknown_key_suggests_the_nearest(environment: dict[str, str]) -> None:
    write_config(environment, "[recall]\nlimits = 3\n")
    with pytest.raises(ConfigError, match=r"recall\.limits") as caught:
        load(environment=environment)
    assert caught.value.hint == "did you mean 'recall.limit'?"
    assert (caught.value.key, caught.value.origin) == ("recall.limits", str(config_file(environment)))


def test_error_in_the_file_names_its_path(environment: dict[str, str]) -> None:
    write_config(environment, "[brief]\nmax_tokens = 'many'\n")
    with pytest.raises(ConfigError) as caught:
        load(environment=environment)
    assert f"brief.max_tokens is 'many' ({config_file(environment)}); it must be a whole number" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("recall.limit = 0", "from 1 to 1000"),
        ("recall.limit = true", "whole number"),
        ("recall.limit = 2.5", "whole number"),
        ("recall.limit = 2.0", "whole number"),
        ("recall.limit = 'many'", "whole number"),
        ("recall = 5", "unknown configuration key"),
        ("color = 'red'", "auto, always or never"),
        ("color = [1]", "auto, always or never"),
        ("project = ''", "not empty"),
        ("data_dir = 7", "not empty"),
        ("[broken", "cannot read"),
    ],
)
def test_invalid_value_error_names_valid_values(environment: dict[str, str], text: str, expected: str) -> None:
    write_config(environment, text)
    with pytest.raises(ConfigError, match=expected):
        load(environment=environment)


def test_file_that_is_not_utf8_is_a_config_error(environment: dict[str, str]) -> None:
    Path(environment["OPENCODE_MEMORY_CONFIG"]).write_bytes(b"project = '\xff'")
    with pytest.raises(ConfigError, match="cannot read"):
        load(environment=environment)


def test_no_color_applies_unless_color_option_is_given(environment: dict[str, str]) -> None:
    environment["NO_COLOR"] = "1"
    assert load(environment=environment).color is Color.NEVER
    assert load(environment=environment, options={"color": "always"}).color is Color.ALWAYS


def test_data_dir_expands_home_and_becomes_absolute(environment: dict[str, str]) -> None:
    assert load(environment=environment, options={"data_dir": "~/x"}).data_dir == Path(environment["HOME"]) / "x"
    assert load(environment=environment, options={"data_dir": "x"}).data_dir == Path.cwd() / "x"


def test_edit_keeps_comments_order_and_mode(environment: dict[str, str]) -> None:
    file = write_config(environment, "# mine\nproject = 'a'  # why\n\n[recall] # few\nlimit = 3\n")
    file.chmod(0o640)
    set_value(file, "recall.limit", "7", environment=environment)
    set_value(file, "kv.default_ttl_seconds", "0", environment=environment)
    text = file.read_text(encoding="utf-8")
    assert "# mine\nproject = 'a'  # why\n" in text
    assert "[recall] # few\nlimit = 7\n" in text
    assert file.stat().st_mode & 0o777 == 0o640
    config = load(environment=environment)
    assert (config.recall.limit, config.kv.default_ttl_seconds, config.project) == (7, 0, "a")


def test_edit_creates_file_and_refuses_invalid_values(environment: dict[str, str]) -> None:
    file = Path(environment["OPENCODE_MEMORY_CONFIG"]).parent / "new" / "memory.toml"
    with pytest.raises(ConfigError, match="whole number"):
        set_value(file, "recall.limit", "x", environment=environment)
    with pytest.raises(ConfigError, match="unknown"):
        set_value(file, "recall.limmit", "5", environment=environment)
    assert not file.exists()
    set_value(file, "color", "never", environment=environment)
    assert file.read_text(encoding="utf-8") == 'color = "never"\n'


def test_edit_follows_symbolic_link(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("")
    file = Path(environment["OPENCODE_MEMORY_CONFIG"])
    file.symlink_to(tmp_path / "dotfiles.toml")
    set_value(file, "project", "shop", environment=environment)
    assert file.is_symlink()
    assert (tmp_path / "dotfiles.toml").read_text() == 'project = "shop"\n'


def test_edit_refuses_fifo(environment: dict[str, str], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="not a regular file"):
        set_value(pipe, "color", "never", environment=environment)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_unset_restores_default(environment: dict[str, str]) -> None:
    file = write_config(environment, "[recall]\nlimit = 3\n")
    assert unset_value(file, "recall.limit")
    assert not unset_value(file, "recall.limit")
    assert not unset_value(file, "project")
    assert load(environment=environment).recall.limit == 10


def test_edit_through_non_table_is_refused(environment: dict[str, str]) -> None:
    file = write_config(environment, "recall = 5\n")
    with pytest.raises(ConfigError, match="not a table"):
        set_value(file, "recall.limit", "5", environment=environment)
    assert not unset_value(file, "recall.limit")


def test_server_settings_have_short_variables(environment: dict[str, str]) -> None:
    names = {"HOST": "0.0.0.0", "PORT": "9911", "API_KEY": "k3y", "RATE_LIMIT": "60"}
    config = load(environment=environment | {f"OPENCODE_MEMORY_{name}": value for name, value in names.items()})
    assert (config.server.host, config.server.port, config.server.rate_limit) == ("0.0.0.0", 9911, 60)
    assert config.server.api_key == "k3y"
    assert config.origins["server.port"] == "OPENCODE_MEMORY_PORT"


def test_lists_and_flags_parse_from_file_and_text(environment: dict[str, str]) -> None:
    write_config(
        environment, "[server]\nallowed_hosts = ['a', 'b']\ncross_project = true\n[compaction]\ncustom_prompt = true\n"
    )
    config = load(environment=environment | {"OPENCODE_MEMORY_SERVER_ALLOWED_ORIGINS": "http://a, http://b"})
    assert config.server.allowed_hosts == ("a", "b")
    assert config.server.allowed_origins == ("http://a", "http://b")
    assert (config.server.cross_project, config.compaction.custom_prompt) == (True, True)
    with pytest.raises(ConfigError, match="true or false"):
        load(environment=environment | {"OPENCODE_MEMORY_COMPACTION_CUSTOM_PROMPT": "perhaps"})


def test_edited_list_is_read_back(environment: dict[str, str]) -> None:
    file = Path(environment["OPENCODE_MEMORY_CONFIG"])
    set_value(file, "server.allowed_folders", "/a,/b", environment=environment)
    set_value(file, "server.cross_project", "yes", environment=environment)
    config = load(environment=environment)
    assert (config.server.allowed_folders, config.server.cross_project) == (("/a", "/b"), True)


def test_invalid_api_key_is_refused_and_hidden(environment: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="visible ASCII") as caught:
        load(environment=environment | {"OPENCODE_MEMORY_API_KEY": "g\u00e9heim"})
    assert "heim" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["example.org", "ftp://example.org/v1", "http://", "https://:443", "http://a:port/", " http://a", "x" * 10]
)
def test_address_that_is_no_url_is_refused(environment: dict[str, str], url: str) -> None:
    with pytest.raises(ConfigError, match="digest_url"):
        load(environment=environment | {"OPENCODE_MEMORY_LEARNING_DIGEST_URL": url})


LISTS = ("learning.watch", "learning.skip_projects", "loop.copy", "sandbox.folders", "server.allowed_hosts")


@pytest.mark.parametrize("key", LISTS)
@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('["/x"]', ("/x",)),
        (' ["/x, y", "/z"] ', ("/x, y", "/z")),
        ("[]", ()),
        ("/x, /y", ("/x", "/y")),
        ("[ab].env, *.pem", ("[ab].env", "*.pem")),
        ("[::1]", ("[::1]",)),
        ("[::1]:9824, [::2]", ("[::1]:9824", "[::2]")),
    ],
)
def test_list_is_written_with_commas_or_as_json(
    environment: dict[str, str], key: str, written: str, value: tuple[str, ...]
) -> None:
    set_value(Path(environment["OPENCODE_MEMORY_CONFIG"]), key, written, environment=environment)
    assert load(environment=environment).value(key) == value
    variable = f"OPENCODE_MEMORY_{key.replace('.', '_').upper()}"
    assert load(environment=environment | {variable: written}).value(key) == value


@pytest.mark.parametrize("written", ["['/x']", '["/x"', "[/x, /y]", '["/x", 1]', '[["/x"]]', "[" * 100_000 + "]"])
def test_list_that_is_not_json_is_refused_with_both_forms(environment: dict[str, str], written: str) -> None:
    file = Path(environment["OPENCODE_MEMORY_CONFIG"])
    with pytest.raises(ConfigError) as caught:
        set_value(file, "learning.watch", written, environment=environment)
    assert 'a list of texts: "a, b" or ["a", "b"]' in str(caught.value)
    assert not file.exists()


def test_list_of_choices_may_be_json(environment: dict[str, str]) -> None:
    set_value(
        Path(environment["OPENCODE_MEMORY_CONFIG"]), "learning.languages", '["en", "de"]', environment=environment
    )
    assert load(environment=environment).value("learning.languages") == ("en", "de")

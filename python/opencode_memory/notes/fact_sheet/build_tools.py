"""Facts of projects that are built with Cargo, Go, Maven, Gradle, Mix, Bundler, Composer or .NET."""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.notes.fact_sheet.facts import Facts, ProjectFiles, to_line, to_mapping, to_name

_MODULE: Final = re.compile(r"^module\s+(\S+)", re.MULTILINE)
_GO_VERSION: Final = re.compile(r"^go\s+([\d.]+)", re.MULTILINE)
_CARGO: Final = {
    "build": "cargo build",
    "test": "cargo test",
    "lint": "cargo clippy",
    "format": "cargo fmt",
}
_GO: Final = {"build": "go build ./...", "test": "go test ./...", "lint": "go vet ./..."}
_MIX: Final = {"build": "mix compile", "test": "mix test", "format": "mix format"}


def read_cargo(files: ProjectFiles) -> Facts | None:
    """Return the facts of ``Cargo.toml``; None if there is none."""
    if not files.has("Cargo.toml"):
        return None
    manifest = files.toml("Cargo.toml")
    about = to_mapping(manifest.get("package")) or to_mapping(to_mapping(manifest.get("workspace")).get("package"))
    return Facts(
        language="Rust",
        name=to_name(about.get("name")),
        purpose=to_line(about.get("description")),
        manager="cargo",
        commands=_CARGO,
    )


def read_go(files: ProjectFiles) -> Facts | None:
    """Return the facts of ``go.mod``; None if there is none."""
    if not files.has("go.mod"):
        return None
    text = files.text("go.mod")
    module, version = _MODULE.search(text), _GO_VERSION.search(text)
    commands = _GO | ({"lint": "golangci-lint run"} if files.has(".golangci.yml", ".golangci.yaml") else {})
    return Facts(
        language=f"Go {version[1]}" if version else "Go",
        name=to_name(module[1]) if module else "",
        manager="go",
        commands=commands,
    )


def read_java(files: ProjectFiles) -> Facts | None:
    """Return the facts of a Maven or Gradle project; None if there is neither."""
    if files.has("build.gradle", "build.gradle.kts"):
        gradle = "./gradlew" if files.has("gradlew") else "gradle"
        return Facts(
            language="Java or Kotlin",
            manager="gradle",
            commands={"build": f"{gradle} build", "test": f"{gradle} test"},
        )
    if files.has("pom.xml"):
        maven = "./mvnw" if files.has("mvnw") else "mvn"
        return Facts(
            language="Java",
            manager="maven",
            commands={"build": f"{maven} package", "test": f"{maven} test"},
        )
    return None


def read_others(files: ProjectFiles) -> Facts | None:
    """Return the facts of an Elixir, Ruby or PHP project; None if there is none of them."""
    if files.has("mix.exs"):
        return Facts(language="Elixir", manager="mix", commands=_MIX)
    if files.has("Gemfile"):
        specs = {"test": "bundle exec rspec"} if files.has(".rspec") else {}
        return Facts(language="Ruby", manager="bundler", commands=specs)
    if files.has("composer.json"):
        manifest = files.json("composer.json")
        return Facts(
            language="PHP",
            name=to_name(manifest.get("name")),
            purpose=to_line(manifest.get("description")),
            manager="composer",
        )
    return None

"""Commands of a project's tools in one spelling each: build, test, lint, format and run.

Agents run the same command as ``go build ./... 2>&1 | head -30``, ``cd cli && go build ./...`` and ``go build ./... &&
echo OK``. A line is split into its commands. Pipes, redirections, echoes, environment variables and verbosity flags are
left out, and only plain commands of known tools remain.
"""

from __future__ import annotations

import re
from typing import Final

from opencode_memory.learning.extraction.commands import QUIET_FLAGS, split_commands, split_words

LONGEST: Final = 160
_MOST_READ: Final = 2000
_MOST_WORDS: Final = 9
_TOOLS: Final = {
    "go": r"build|test|vet|run|generate|mod tidy",
    "cargo": r"(?:build|test|check|clippy|fmt|run|bench|nextest run|doc|xtask)(?= -|$)",
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), r"(?:run )?[a-z][\w:-]*"),
    "deno": r"task|test|fmt|lint|check|run",
    "dotnet": r"build|test|run|format|restore",
    "swift": r"build|test|run",
    "mix": r"[a-z][\w.]*",
    "docker": r"build|compose (?:up|build|config|run)",
    "docker-compose": r"up|build|config",
    "terraform": r"validate|plan|fmt|init",
    "uv": r"sync|run|lock",
    "pip": r"install (?:-r|-e)",
    "poetry": r"install|run|build|check",
    "bundle": r"install|exec",
    "composer": r"install|test|run",
    "flutter": r"test|build|analyze|run|pub get",
    "dart": r"test|analyze|format|run",
    "ruff": r"check|format",
    "biome": r"check|lint|format|ci",
    "goreleaser": r"check|build|release",
    "helm": r"lint|template",
    "pre-commit": r"run",
    "python": r"-m [a-z]\w+|[\w./-]+\.py",
    "python3": r"-m [a-z]\w+|[\w./-]+\.py",
    "node": r"[\w./-]+\.[cm]?[jt]s",
    "rails": r"test|server|db:migrate",
    "xcodebuild": r"",
    **dict.fromkeys(("just", "task", "make", "rake", "invoke", "nox", "tox", "bazel", "gradle", "gradlew", "mvn", "mvnw"), r""),
    **dict.fromkeys(("pytest", "mypy", "pyright", "basedpyright", "black", "isort", "flake8", "pylint"), r""),
    **dict.fromkeys(("tsc", "eslint", "prettier", "jest", "vitest", "mocha", "playwright", "cypress", "stylelint", "svelte-check", "vue-tsc", "turbo", "nx", "vite"), r""),
    **dict.fromkeys(("golangci-lint", "staticcheck", "gofmt", "gofumpt", "cmake", "ctest", "ninja", "meson", "rspec", "rubocop", "phpunit", "phpstan", "shellcheck", "shfmt", "hadolint", "actionlint", "detekt", "ktlint", "swiftlint", "catkin_make", "colcon"), r""),
}  # fmt: skip
"""Tools of projects, with the subcommands that are worth knowing; an empty pattern accepts any arguments."""
_RUNNERS: Final = re.compile(
    r"(?:npx|pnpm exec|bunx|uv run|poetry run|bundle exec|pipenv run|rye run|hatch run) (?:--no-install |-y |--yes )?"
)
_TIMERS: Final = re.compile(r"(?:(?:time|nice|command|env|xvfb-run)|timeout (?:-\w+ )*\d+[smh]?) ")
_ASSIGNMENTS: Final = re.compile(r"(?:[A-Za-z_]\w*=(?:'[^']*'|\"[^\"]*\"|\S*) +)+")
_REDIRECTIONS: Final = re.compile(r"\s*(?:\d?>&\d|&>>? ?\S+|\d?>>? ?(?!&)\S+|<\s?\S+|\s&$)")
_VERBOSITY: Final = QUIET_FLAGS | frozenset(
    re.findall(
        r"\S+",
        "--color=never --tb=long --tb=line --tb=no -count=1 --no-cache --no-pager --no-progress --nocapture --show-output"
        " -rA -ra --stacktrace --info --bail --no-coverage",
    )
)
_OUTPUT: Final = re.compile(r" -o (?:/tmp|/dev|/var|~|\$)\S*")
_UNSAFE: Final = re.compile(
    r"(?<![\w./:-])(?:sudo|ssh|scp|rsync|curl|wget|eval|exec|source|rm|rmdir|dd|mkfs|shred|kill|pkill|killall|bash|sh|zsh|pwsh|powershell|chmod|chown|crontab|systemctl)(?![\w./:-])|"
    r"\bgit (?:push|reset|clean|checkout)\b|[`$<]|\\\n",
)
"""Commands that delete, fetch, run code or act on other machines; a line with one of them is not learned."""
_DESTROYS: Final = re.compile(
    r"(?:^|[\s:_-])(?:clean|clear|purge|prune|drop|destroy|delete|reset|remove|uninstall|wipe|nuke|rollback|publish|deploy|push|force|down|migrate:fresh|kill)(?:$|[\s:_-])",
    re.IGNORECASE,
)
_ONE_TEST: Final = re.compile(
    r"(?:^|\s)(?:-k|-run|--run|-t|-g|-m|--grep|--testNamePattern|--test-name-pattern|--testPathPattern|--filter|--tests|--test|-Dtest|--lib|--example|--only|-only-testing|--exact|--last-failed|--lf|--watch|-w|-c|-e|-p)(?:[=\s:]|\S*$)|::"
)
"""Options that select one test, pass code, or start a watch."""
_FILE: Final = re.compile(
    r"(?:^|[/\s=])[\w.@-]+\.(?:py|[cm]?[jt]sx?|go|rs|rb|java|kt|swift|php|css|scss|md|json|ya?ml|toml|html|txt|sql|sh|cs|cpp|c|h|ex|exs|vue|svelte)\b(?!\.)"
)
_NOT_AGAIN: Final = re.compile(
    r"\b[0-9a-f]{7,64}\b(?<!\b\d{7})|\b\d{4}-\d\d-\d\d|\b\d{6,}\b|/(?:tmp|var|home|Users|root|mnt|opt|private|Volumes)\b|~|\b[A-Za-z]:\\|'|\"|@|\*|\.\./\.\."
)
"""Values that will not occur again, absolute paths, and quotations."""
_INSTALLS: Final = re.compile(
    r"^(?:npm|pnpm|yarn|bun) (?:install|i|add|remove|uninstall|link|init|create|exec|dlx|why|ls|list|view|info|outdated|audit|config|whoami|login|version|cache)\b"
)
_PLAIN_INSTALL: Final = re.compile(
    r"^(?:(?:npm|pnpm|yarn|bun) (?:install|i)|npm ci)(?: --frozen-lockfile| --no-audit| --legacy-peer-deps)*$"
)
_EVERYTHING_TOOLS: Final = re.compile(
    r"(?:go build|golangci-lint run|staticcheck|ruff check|mypy|black|isort|eslint|pytest)\b"
)
_EVERYTHING: Final = re.compile(r" (?:\.|\./|\./\.\.\.)$")
_PACKAGES: Final = re.compile(r"\s(?!\./\.\.\.(?:\s|$)|\./cmd/|cmd/|-)[\w.-]*/")
"""A selection of packages: Go's tools are run for all of them, or for the ones of the moment."""
_SCRIPT: Final = re.compile(
    r"(?:\./)?(?:scripts?|bin|tools|hack|ci)/[\w./-]+|\./[\w.-]+\.sh|\./(?:gradlew|mvnw|configure)"
)
_LOOKS_ONLY: Final = re.compile(
    r"\s(?:--version|-V|version|--help|-h|help|list|--list|env|info|--dry-run|--collect-only|--print-config)(?:\s|$)"
)
_CONFIGS: Final = re.compile(r"(?:-f|-c|-p|--file|--config|--project|--env-file|-r|--requirements?)[= ]\S+")


def list_project_commands(command: str) -> tuple[str, ...]:
    """Return the plain commands of a project's tools in a command line, each in one spelling; empty if there are none.

    A line that deletes, fetches, runs code that it contains, or acts on other machines yields none.
    """
    line = command[:_MOST_READ]
    if "<<" in line or "||" in line or _UNSAFE.search(line):
        return ()
    found = (_normalise(part) for part in split_commands(line))
    return tuple(dict.fromkeys(plain for plain in found if plain))


def _normalise(part: str) -> str:
    text = _REDIRECTIONS.sub("", f" {' '.join(part.split())}").strip()
    for prefix in (_ASSIGNMENTS, _TIMERS, _ASSIGNMENTS):
        text = text[match.end() :] if (match := prefix.match(text)) else text
    runner = _RUNNERS.match(text)
    head, rest = (runner[0], text[runner.end() :]) if runner else ("", text)
    words = [word for word in _OUTPUT.sub("", rest).split(" ") if word not in _VERBOSITY]
    plain = " ".join(words)
    plain = _EVERYTHING.sub("", plain) if _EVERYTHING_TOOLS.match(plain) else plain
    whole = f"{head}{plain}"
    if not words or len(words) > _MOST_WORDS or len(whole) > LONGEST or not _is_tool(words[0], plain):
        return ""
    return whole if _is_repeatable(plain) else ""


def _is_tool(program: str, plain: str) -> bool:
    if _SCRIPT.fullmatch(program):
        return True
    accepted = _TOOLS.get(program)
    if accepted is None:
        return False
    arguments = plain[len(program) + 1 :]
    return not accepted or re.match(rf"(?:{accepted})(?![\w-])", arguments) is not None


def _is_repeatable(plain: str) -> bool:
    """Return whether a command will be run again in the same form."""
    program, _, arguments = plain.partition(" ")
    if program in {"go", "golangci-lint", "staticcheck"} and _PACKAGES.search(arguments):
        return False
    if _INSTALLS.match(plain):
        return _PLAIN_INSTALL.match(plain) is not None
    if _DESTROYS.search(arguments) or _NOT_AGAIN.search(plain) or _LOOKS_ONLY.search(plain):
        return False
    runs_script = program in {"python", "python3", "node", "deno", "uv"} and not arguments.startswith("-m")
    if program in {"python", "python3"} and arguments.startswith("-m "):
        arguments = arguments.removeprefix("-m ")
    checked = arguments.partition(" ")[2] if runs_script else arguments
    is_format = program in {"gofmt", "gofumpt", "shfmt", "shellcheck"}
    return (
        not _ONE_TEST.search(" " + checked)
        and not _FILE.search(_CONFIGS.sub("", checked))
        and not is_format
        and bool(split_words(plain))
    )

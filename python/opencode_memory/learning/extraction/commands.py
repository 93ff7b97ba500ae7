"""Shell commands: normalises them, and recognises trivial commands and those that revert edits."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath
from typing import Final

LONGEST_COMMAND: Final = 300
_MOST_READ: Final = 2000
_MOST_MUTES: Final = 6
_TRIVIAL: Final = frozenset(
    [
        "ls",
        "ll",
        "la",
        "cat",
        "cd",
        "pwd",
        "echo",
        "printf",
        "grep",
        "egrep",
        "rg",
        "ag",
        "find",
        "fd",
        "head",
        "tail",
        "less",
        "more",
        "wc",
        "which",
        "whereis",
        "whoami",
        "date",
        "mkdir",
        "rm",
        "rmdir",
        "cp",
        "mv",
        "touch",
        "sed",
        "awk",
        "sort",
        "uniq",
        "cut",
        "tr",
        "tee",
        "ps",
        "kill",
        "pkill",
        "killall",
        "sleep",
        "true",
        "false",
        "test",
        "stat",
        "file",
        "tree",
        "du",
        "df",
        "env",
        "export",
        "unset",
        "set",
        "source",
        "history",
        "clear",
        "man",
        "open",
        "code",
        "vim",
        "vi",
        "nano",
        "diff",
        "cmp",
        "chmod",
        "chown",
        "ln",
        "readlink",
        "realpath",
        "basename",
        "dirname",
        "xargs",
        "jq",
        "yq",
        "tar",
        "unzip",
        "zip",
        "gunzip",
        "type",
        "alias",
        "id",
        "uname",
        "hostname",
        "uptime",
        "free",
        "top",
        "htop",
        "lsof",
        "sha256sum",
        "md5sum",
        "base64",
        "seq",
        "yes",
        "timeout",
        "time",
        "watch",
        "ping",
        "dig",
        "nslookup",
        "host",
        "git",
        "hg",
        "svn",
        "opencode-memory",
        "ocm-mem",
    ]
)
_WRAPPERS: Final = frozenset(
    {"sudo", "time", "env", "nice", "command", "exec", "nohup", "timeout", "xvfb-run", "stdbuf"}
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_MUTES: Final = re.compile(
    r" ?(?:2>&1|[12]?>>? ?/dev/null|&> ?/dev/null|\| ?(?:head|tail|tee|cat|less|grep|wc)\b[^|&;]{0,200})$"
)
QUIET_FLAGS: Final = frozenset(
    re.findall(
        r"\S+", "-q -qq -v -vv -vvv -s -x --quiet --verbose --silent --color --no-color --color=always --tb=short"
    )
)
"""Options that change how much a command prints, and nothing else."""
_VOLATILE: Final = re.compile(
    r"\b[0-9a-f]{12,64}\b|\b\d{4}-\d\d-\d\d(?:[T_ ][\d:.-]+)?\b|/(?:tmp|var/folders)/\S+|\b\d{10,}\b"
)
_TAKES_BACK: Final = re.compile(
    r"\bgit\s+(?:checkout\s+(?!-b\b|-B\b)\S|restore\b(?!\s+--staged)|reset\s+--hard|stash(?!\s+(?:pop|apply|list|show))|clean\b)"
)
_LOOKS_ONLY: Final = re.compile(
    r"^(?:--version|-V|version|--help|-h|help|list|status|info|show|get|describe|logs|ps|images|search|view)$"
)
_SAY_THEIR_VERSION: Final = frozenset(
    [
        "node",
        "npm",
        "npx",
        "pnpm",
        "yarn",
        "bun",
        "deno",
        "ruby",
        "perl",
        "php",
        "java",
        "go",
        "rustc",
        "tsc",
        "pip",
        "make",
        "docker",
        "psql",
        "nginx",
    ]
)
_PROGRAM: Final = re.compile(r"[A-Za-z_.~/][\w.+@~/-]*")
_QUOTED: Final = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_PIPED: Final = re.compile(r"(?<!\|)\|(?![|&])")
_IN_SEQUENCE: Final = re.compile(r"[;\n]\s*\S")
_CUTS: Final = re.compile(r"&&|\|\||;|\||\n")


def normalise_command(command: str) -> str:
    """Return the form that two runs of the same command have in common: without redirected output and verbosity flags."""
    text = " ".join(command[:_MOST_READ].replace("\\\n", " ").split())
    for _ in range(_MOST_MUTES):
        text = _MUTES.sub("", text)
    return " ".join(word for word in text.split(" ") if word not in QUIET_FLAGS)[:LONGEST_COMMAND]


def is_trivial(command: str) -> bool:
    """Return whether a command is not worth learning: inspecting or moving files, or any git command."""
    return all(_is_trivial_part(part) for part in split_commands(command[:_MOST_READ]))


def is_volatile(command: str) -> bool:
    """Return whether a command contains values that will never occur again, or is a script rather than a command."""
    return (
        len(command) > LONGEST_COMMAND or "\n" in command.strip() or "<<" in command or bool(_VOLATILE.search(command))
    )


def reverts_edits(command: str) -> bool:
    """Return whether a command discards edits, or may discard them."""
    return bool(_TAKES_BACK.search(command[:_MOST_READ]))


def hides_exit_code(command: str) -> bool:
    """Return whether the exit code belongs to the last command of a pipe or sequence, and not to the first."""
    line = _QUOTED.sub("''", command[:_MOST_READ].strip())
    return bool(_PIPED.search(line) or _IN_SEQUENCE.search(line)) and "pipefail" not in command


def find_program(command: str) -> str:
    """Return the name of the program that a command runs, without its directory and wrappers such as ``sudo``."""
    for word in split_words(command):
        if _ASSIGNMENT.match(word) or word in _WRAPPERS or word.startswith("-") or word.isdigit():
            continue
        return PurePosixPath(word).name
    return ""


def split_commands(command: str) -> list[str]:
    """Split a line into its commands; separators inside of quotes are ignored."""
    cuts = [match.span() for match in _CUTS.finditer(_QUOTED.sub(lambda match: "q" * len(match[0]), command))]
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(command)]
    return [command[start:end].strip() for start, end in zip(starts, ends, strict=True) if command[start:end].strip()]


def _is_trivial_part(part: str) -> bool:
    name = find_program(part)
    if not name or not _PROGRAM.fullmatch(name) or name in _TRIVIAL:
        return True
    rest = split_words(part)[1:]
    return bool(rest) and (bool(_LOOKS_ONLY.match(rest[0])) or (rest == ["-v"] and name in _SAY_THEIR_VERSION))


def split_words(command: str) -> list[str]:
    """Split a command into its words as a shell does."""
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()  # An unclosed quote: the command was truncated, or uses the syntax of another shell.

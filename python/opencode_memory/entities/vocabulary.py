"""Words and endings that tell kinds of entities apart that are written the same way."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ISSUE_WORDS: Final = _words("""
    bug bugs close closed closes defect duplicate fix fixed fixes fixing gh implements issue issues merge mr pr prs pull
    ref references refs request resolve resolved resolves see story task tasks ticket tickets
""")
"""Before a number, they say that it is that of an issue."""

COUNTED: Final = _words("""
    attempt chapter day fig figure footnote line option page part phase point port rank round row section slide step try
    version week
""")
"""Before a number, they say that it counts something else."""

COLOUR_WORDS: Final = _words("""
    accent background bg border color colors colour colours css fill foreground gradient hex html outline palette rgb
    sass scss shade stroke style styles stylesheet tint
""")

JOINING: Final = _words("a as be from is of the to was with")
"""What may stand between a word and what it is about."""

NOBODY: Final = (
    _words("all channel everyone here latest next")
    # Python
    | _words("""
        abstractmethod app asynccontextmanager atomic cache cached cached_property classmethod click contextmanager
        dataclass deprecated field_validator final fixture given hookimpl lru_cache mock model_validator njit
        no_type_check overload override parametrize patch property pytest retry runtime_checkable setter singledispatch
        staticmethod total_ordering unittest validator wraps
    """)
    # Java, Kotlin, Swift
    | _words("""
        afterall aftereach autowired available bean beforeall beforeeach builder column component configuration
        controller data deletemapping discardableresult entity environment generatedvalue getmapping id inject
        jsonproperty mainactor nonnull notnull nullable objc observable parameterizedtest pathvariable postmapping
        published putmapping repository requestbody requestmapping requestparam restcontroller safevarargs service
        springbootapplication springboottest state suppresswarnings test transactional value
    """)
    # TypeScript, and comments that describe code
    | _words("""
        author body directive example hostbinding hostlistener injectable input internal link ngmodule output param pipe
        private public query readonly return returns see since template throws todo type typedef var viewchild
    """)
    # Style sheets
    | _words("""
        apply charset container extend font-face forward function import include keyframes layer media mixin namespace
        page supports tailwind use utility
    """)
    # Templates, scripts, Elixir
    | _words("doc echo else elseif endif foreach if impl moduledoc spec")
)
"""What follows an ``@`` without being a person."""

DOCUMENTS: Final = _words("adoc htm html md mdx rst txt")

SOURCES: Final = DOCUMENTS | _words("""
    astro bash bat bazel bzl c cc cfg cjs clj cljs cmake conf cpp cs csproj css csv cts cu cxx dart ejs el erl ex exs
    fish fs gemspec go gql gradle graphql groovy h handlebars hbs hcl hh hpp hrl hs hxx ini ipynb java jl js json
    json5 jsonc jsonl jsx kt kts less lock lua m mjs ml mli mm mts nim nix njk php pri prisma properties proto ps1
    psm1 py pyi pyx r rb rs sass sbt scala scss service sh sln sql styl sv svelte swift tcl tex tf tfvars toml ts tsv
    tsx vb vim vue wat xml yaml yml zig zsh
""")
"""Endings that make a file even of a name without a folder."""

WITH_FOLDER: Final = SOURCES | _words("""
    a avif bin crt d db diff dll doc docx dylib env example exe gif gz ico in inc jar jpeg jpg key log mod mov mp3 mp4
    npz onnx otf parquet patch pdf pem pl pm png pptx snap so sqlite sum svg tar template tgz tmpl ttf wasm wav webp
    woff woff2 xls xlsx xsd xsl zip
""")
"""With the endings that a bare name shares with domains and words, and those of files that users do not edit."""

NAMED_LIKE_PROJECTS: Final = _words("jl js vim")
"""Endings of files that are names of projects just as often: ``vercel/next.js``."""

FILES: Final = _words("""
    Brewfile CODEOWNERS Caddyfile Containerfile Dockerfile Fastfile GNUmakefile Gemfile Jenkinsfile Justfile LICENSE
    MANIFEST.in Makefile Pipfile Podfile Procfile Rakefile Tiltfile Vagrantfile go.mod go.sum justfile requirements.in
    .babelrc .bashrc .coveragerc .dockerignore .editorconfig .env .envrc .eslintrc .flake8 .gitattributes .gitignore
    .gitmodules .mailmap .npmignore .npmrc .nvmrc .prettierrc .profile .pylintrc .python-version .tool-versions .vimrc
    .zshrc
""")
"""Files by their whole names."""

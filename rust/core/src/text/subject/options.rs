//! Options of which a project uses one, and words for things that have one value.
//!
//! Each table is small enough to be read. Refuses names that are ordinary words in most sentences, such as "go" or
//! "make", because a sentence with such a word names no option.

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// A kind of option.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// The name of the kind.
    pub name: &'static str,
    /// The options. An entry of two words is written with a space.
    pub options: &'static [&'static str],
    /// Stems of the words that name the kind, so that they say nothing about the circumstances.
    pub words: &'static [&'static str],
    /// Whether a project has exactly one unless it names two circumstances.
    pub exclusive: bool,
}

const fn one(name: &'static str, options: &'static [&'static str], words: &'static [&'static str]) -> Family {
    Family { name, options, words, exclusive: true }
}

const fn many(name: &'static str, options: &'static [&'static str], words: &'static [&'static str]) -> Family {
    Family { name, options, words, exclusive: false }
}

/// The kinds of options.
pub(super) static FAMILIES: &[Family] = &[
    one(
        "package manager",
        &["npm", "yarn", "pnpm", "bun"],
        &["packag", "manag", "instal", "depend", "dep", "javascript", "js"],
    ),
    one(
        "Python packages",
        &["pip", "poetry", "uv", "pipenv", "conda", "pdm", "rye", "hatch"],
        &["packag", "manag", "instal", "depend", "dep", "python", "environ"],
    ),
    one(
        "JavaScript tests",
        &["jest", "vitest", "mocha", "ava", "jasmine", "karma"],
        &["test", "unit", "runner", "framework", "suit"],
    ),
    one("Python tests", &["pytest", "unittest", "nose"], &["test", "unit", "runner", "framework", "suit"]),
    one(
        "browser tests",
        &["cypress", "playwright", "selenium", "puppeteer", "webdriverio"],
        &["test", "browser", "e2e", "end-to-end", "framework"],
    ),
    // A project of two languages has one for each.
    one("Python formatter", &["black", "yapf", "autopep8"], &["format", "formatt", "code", "style", "python"]),
    one("JavaScript formatter", &["prettier", "dprint"], &["format", "formatt", "code", "style", "javascript", "js"]),
    one("JavaScript linter", &["eslint", "biome", "tslint", "oxlint"], &["lint", "linter", "code", "javascript", "js"]),
    one("Python linter", &["flake8", "pylint", "ruff"], &["lint", "linter", "code", "python"]),
    one("indentation", &["tabs", "tab", "spaces"], &["indent", "code", "file"]),
    one("quotes", &["single quotes", "double quotes"], &["quot", "string", "code"]),
    one("line endings", &["lf", "crlf"], &["line", "end", "file"]),
    one(
        "naming",
        &[
            "snake_case",
            "camelcase",
            "kebab-case",
            "pascalcase",
            "snake case",
            "camel case",
            "kebab case",
            "pascal case",
        ],
        &["name", "case"],
    ),
    one("Java build", &["maven", "gradle", "mvn", "bazel", "sbt"], &["build", "tool"]),
    one(
        "bundler",
        &["webpack", "vite", "rollup", "esbuild", "parcel", "rspack", "turbopack"],
        &["bundl", "bundler", "build", "asset"],
    ),
    one(
        "merging",
        &["squash", "rebase", "merge commits", "merge commit", "squash merge", "rebase merge", "fast-forward"],
        &["merg", "pr", "pull", "request", "branch"],
    ),
    one(
        "database",
        &[
            "postgres",
            "postgresql",
            "mysql",
            "mariadb",
            "sqlite",
            "sqlite3",
            "mongodb",
            "mongo",
            "cockroachdb",
            "dynamodb",
            "cassandra",
            "supabase",
            "planetscale",
            "firestore",
        ],
        &["databas", "db", "data", "persist", "storag"],
    ),
    one(
        "object mapper",
        &["prisma", "drizzle", "typeorm", "sequelize", "sqlalchemy", "knex", "hibernate", "jooq"],
        &["orm", "databas", "queri", "model"],
    ),
    one(
        "licence",
        &["mit", "apache", "apache-2.0", "gpl", "gplv3", "agpl", "agplv3", "bsd", "mpl", "lgpl"],
        &["licenc", "licens"],
    ),
    one(
        "CI",
        &["github actions", "gitlab ci", "circleci", "jenkins", "travis", "buildkite", "teamcity"],
        &["ci", "pipelin", "build"],
    ),
    one(
        "cloud",
        &["aws", "gcp", "azure", "heroku", "vercel", "netlify", "fly.io", "hetzner", "digitalocean", "railway"],
        &["cloud", "host", "deploy", "provid", "product"],
    ),
    one(
        "analytics",
        &["plausible", "posthog", "matomo", "umami", "google analytics", "mixpanel", "amplitude", "fathom"],
        &["analyt", "track"],
    ),
    one(
        "error tracking",
        &["sentry", "bugsnag", "rollbar", "honeybadger", "glitchtip"],
        &["error", "track", "crash", "report"],
    ),
    one(
        "issue tracker",
        &["jira", "trello", "asana", "youtrack", "github issues", "shortcut"],
        &["issu", "tracker", "ticket", "task", "track"],
    ),
    one("chat", &["slack", "discord", "mattermost", "zulip"], &["chat", "messag", "team", "announc"]),
    one(
        "styling",
        &["tailwind", "bootstrap", "css modules", "styled-components", "sass", "scss"],
        &["style", "css", "styl"],
    ),
    one("state", &["redux", "zustand", "mobx", "jotai", "recoil", "pinia", "vuex"], &["state", "manag", "store"]),
    one(
        "frontend",
        &["react", "vue", "svelte", "angular", "htmx", "solidjs", "preact"],
        &["frontend", "ui", "framework", "web"],
    ),
    one("secret store", &["vault", "doppler", "1password", "infisical", "sops"], &["secret", "credenti"]),
    one("infrastructure", &["terraform", "tofu", "opentofu", "pulumi", "cloudformation"], &["infrastructur", "infra"]),
    one("broker", &["kafka", "rabbitmq", "nats", "sqs", "pulsar"], &["broker", "queue", "messag", "event", "stream"]),
    one("task runner", &["makefile", "justfile", "taskfile"], &["task", "runner", "command", "build"]),
    one(
        "spelling",
        &["british english", "american english", "british spelling", "american spelling"],
        &["english", "spell", "doc", "document", "text"],
    ),
    one("branch", &["main", "master", "develop", "trunk", "dev"], &["branch", "default", "base", "target"]),
    one("theme", &["dark mode", "light mode", "dark theme", "light theme"], &["theme", "mode", "ui"]),
    one("API style", &["graphql", "grpc", "trpc", "soap"], &["api", "style", "protocol"]),
    many("containers", &["docker", "podman", "containerd"], &["contain", "imag", "build"]),
    many("HTTP client", &["axios", "httpx", "ky", "aiohttp"], &["http", "client", "request", "call"]),
    many("shell", &["bash", "zsh", "fish", "powershell"], &["shell", "script"]),
    many("search tool", &["grep", "ripgrep", "rg", "ag"], &["search", "find"]),
    many("cache", &["redis", "memcached", "valkey"], &["cach", "session"]),
    many("logging", &["winston", "pino", "log4j", "logback", "loguru", "structlog"], &["log", "logger"]),
    many("dates", &["moment", "dayjs", "date-fns", "luxon"], &["date", "librari"]),
    many("validation", &["zod", "yup", "joi", "pydantic", "marshmallow", "valibot"], &["valid", "schema"]),
    many(
        "language",
        &["javascript", "typescript", "python", "kotlin", "java", "rust", "golang", "ruby", "elixir"],
        &["languag", "write", "code", "script"],
    ),
];

/// Stems of words for things that have one value: one port, one deadline, one owner.
pub(super) static ATTRIBUTES: &[&str] = &[
    "address",
    "baselin",
    "board",
    "branch",
    "bucket",
    "budget",
    "cadenc",
    "channel",
    "codenam",
    "color",
    "colour",
    "concurr",
    "contact",
    "coverag",
    "cutoff",
    "deadlin",
    "directori",
    "domain",
    "due",
    "encod",
    "endpoint",
    "folder",
    "font",
    "freez",
    "host",
    "hostnam",
    "imag",
    "indent",
    "interv",
    "languag",
    "launch",
    "lead",
    "length",
    "level",
    "licenc",
    "licens",
    "limit",
    "local",
    "maintain",
    "manag",
    "max",
    "maximum",
    "min",
    "minimum",
    "model",
    "name",
    "namespac",
    "owner",
    "password",
    "path",
    "port",
    "prefix",
    "queue",
    "ratio",
    "region",
    "registri",
    "releas",
    "replica",
    "retent",
    "retri",
    "root",
    "schedul",
    "size",
    "suffix",
    "target",
    "theme",
    "threshold",
    "timeout",
    "timezon",
    "ttl",
    "url",
    "usernam",
    "version",
    "width",
    "zone",
];

/// Stems of verbs and nouns that give a thing to one person.
pub(super) static ROLES: &[&str] =
    &["own", "owner", "maintain", "lead", "respons", "charg", "contact", "manag", "on-cal", "oncal"];

/// Stems of verbs that say where a thing is.
pub(super) static PLACES: &[&str] =
    &["live", "locat", "kept", "keep", "store", "sit", "belong", "found", "go", "resid", "host"];

/// Days and months.
pub(super) static DAYS: &[&str] = &[
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "mondays",
    "tuesdays",
    "wednesdays",
    "thursdays",
    "fridays",
    "saturdays",
    "sundays",
    "january",
    "february",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "tomorrow",
    "q1",
    "q2",
    "q3",
    "q4",
];

/// Words of a statement that name neither its subject nor its value.
pub(super) static GENERIC: &[&str] = &[
    "activ",
    "actual",
    "again",
    "all",
    "alreadi",
    "alway",
    "anymor",
    "app",
    "applic",
    "around",
    "be",
    "bind",
    "bound",
    "chang",
    "choic",
    "choos",
    "chose",
    "chosen",
    "code",
    "codebas",
    "come",
    "correct",
    "current",
    "decid",
    "decis",
    "default",
    "do",
    "enough",
    "ensur",
    "entir",
    "ever",
    "everi",
    "everyth",
    "everywher",
    "exact",
    "expos",
    "fine",
    "follow",
    "forward",
    "get",
    "give",
    "go",
    "gone",
    "good",
    "happen",
    "have",
    "he",
    "here",
    "instead",
    "it",
    "just",
    "keep",
    "kind",
    "let",
    "like",
    "listen",
    "live",
    "locat",
    "longer",
    "look",
    "made",
    "mainli",
    "mean",
    "mind",
    "mode",
    "more",
    "move",
    "must",
    "need",
    "never",
    "new",
    "no",
    "not",
    "note",
    "now",
    "number",
    "off",
    "ok",
    "old",
    "on",
    "one",
    "onli",
    "onward",
    "our",
    "past",
    "pick",
    "place",
    "plan",
    "pleas",
    "prefer",
    "previous",
    "project",
    "put",
    "rather",
    "realli",
    "rememb",
    "repo",
    "repositori",
    "right",
    "rule",
    "run",
    "save",
    "say",
    "set",
    "should",
    "sinc",
    "sit",
    "stai",
    "standard",
    "start",
    "stay",
    "stick",
    "still",
    "stop",
    "store",
    "strict",
    "sure",
    "switch",
    "system",
    "take",
    "team",
    "thing",
    "time",
    "us",
    "use",
    "via",
    "want",
    "well",
    "work",
    "write",
    "written",
    "wrong",
    "yes",
];

static BY_OPTION: LazyLock<FxHashMap<&'static str, usize>> = LazyLock::new(|| {
    let listed = FAMILIES.iter().enumerate();
    listed.flat_map(|(number, family)| family.options.iter().map(move |option| (*option, number))).collect()
});

/// The number of the family of an option, which is one word or two words with a space.
pub(super) fn family_of(option: &str) -> Option<usize> {
    BY_OPTION.get(option).copied()
}

/// One spelling for options that have several.
pub(super) fn canonical(option: &str) -> &str {
    match option {
        "postgresql" => "postgres",
        "sqlite3" => "sqlite",
        "mongo" => "mongodb",
        "mvn" => "maven",
        "tab" => "tabs",
        "tofu" => "opentofu",
        "rg" => "ripgrep",
        "merge commit" => "merge commits",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_belongs_to_one_family() {
        assert_eq!(BY_OPTION.len(), FAMILIES.iter().map(|family| family.options.len()).sum::<usize>());
    }

    #[test]
    fn spellings_of_one_option_are_in_one_family() {
        for option in FAMILIES.iter().flat_map(|family| family.options) {
            assert_eq!(family_of(option), family_of(canonical(option)), "{option}");
        }
    }
}

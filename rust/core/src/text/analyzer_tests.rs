//! Tests of the analyzer: terms of documents and queries, and properties of any text.

use super::*;
use proptest::prelude::*;

fn identifiers(text: &str) -> Vec<String> {
    analyze(text).identifiers
}

fn prose(text: &str) -> Vec<String> {
    analyze(text).prose
}

/// Whether the document contains every term of the query.
fn finds(query: &str, document: &str) -> bool {
    let (query, document) = (analyze_query(query), analyze(document));
    let terms = query.prose.iter().filter(|t| document.prose.contains(t)).count()
        + query.identifiers.iter().filter(|t| document.identifiers.contains(t)).count();
    terms > 0 && query.prose.iter().all(|t| document.prose.contains(t))
}

#[test]
fn prose_is_folded_stemmed_and_has_no_stop_words() {
    assert_eq!(prose("The deployments were running in the Café, don't they?"), ["deploy", "run", "cafe"]);
    assert_eq!(prose("Never use tabs; always use spaces."), ["never", "use", "tab", "alway", "use", "space"]);
    assert!(identifiers("The deployments were running. Users' APIs, OpenCode's URLs?").len() <= 3);
    assert!(identifiers("Plain words. A sentence (with brackets) and SHOUTING, 42 and 3.14 and 10MB!").is_empty());
}

#[test]
fn identifiers_are_found_whole_and_in_parts() {
    for (text, expected) in [
        ("parseHTTPResponse", &["parsehttpresponse", "parse", "http", "response"][..]),
        ("snake_case_name", &["snake_case_name", "snakecasename", "snake", "case", "name"]),
        ("kebab-case", &["kebab-case", "kebabcase", "kebab", "case"]),
        ("src/app/main.py", &["src/app/main.py", "src", "app", "main.py", "main", "py"]),
        ("--dry-run", &["--dry-run", "dry-run", "dryrun", "dry", "run"]),
        ("-v", &["-v"]),
        ("!123", &["!123"]),
        ("#456", &["#456"]),
        ("&789", &["&789"]),
        ("@user", &["@user", "user"]),
        ("group/project!12", &["group/project!12", "!12", "group/project", "group", "project"]),
        ("E0308", &["e0308"]),
        ("ERR_CONN_RESET", &["err_conn_reset", "errconnreset", "err", "conn", "reset"]),
        ("0x80070005", &["0x80070005"]),
        ("1.2.3", &["1.2.3"]),
        ("v2.0.1", &["v2.0.1", "2.0.1"]),
        ("python3.11", &["python3.11", "python", "3.11"]),
        ("foo.bar()", &["foo.bar", "foo", "bar"]),
        ("Foo::bar", &["foo::bar", "foo", "bar"]),
        ("std::vec::Vec", &["std::vec::vec", "std", "vec"]),
        ("$HOME", &["$home", "home"]),
        (".env", &[".env", "env"]),
        ("utf8", &["utf8"]),
        ("utf-8", &["utf-8", "utf8", "utf"]),
        ("sha256sum", &["sha256sum"]),
        ("i18n", &["i18n"]),
        ("C#", &["c#"]),
        ("c++", &["c++"]),
        ("file.py:12:5", &["file.py:12:5", "file.py:12", "file.py", "file", "py"]),
        ("https://docs.rs/regex/latest", &["docs.rs/regex/latest", "docs.rs", "docs", "rs", "regex", "latest"]),
        ("../lib/x.ts", &["lib/x.ts", "lib", "x.ts", "ts"]),
        ("C:\\Users\\anna", &["c:/users/anna", "users", "anna"]),
    ] {
        assert_eq!(identifiers(text), expected, "{text}");
    }
}

#[test]
fn plain_words_find_identifiers_and_vice_versa() {
    for (query, document) in [
        ("parse response", "parseHTTPResponse"),
        ("parsing responses", "see parse_http_response()"),
        ("parseHTTPResponse", "see `parseHTTPResponse`."),
        ("http_response", "class HTTPResponse:"),
        ("parsehttpresponse", "parseHTTPResponse"),
        ("sqlite", "We use SQLite."),
        ("SQLite", "we use sqlite"),
        ("GitHub", "on github"),
        ("frontend", "the front-end"),
        ("utf8", "encoded as UTF-8"),
        ("10 MB", "limit 10MB"),
        ("10MB", "limit of 10 MB"),
        ("1000", "1,000 rows"),
        ("main", "src/app/main.py"),
        ("main.py", "src/app/main.py:12"),
        ("404", "HTTP 404 again"),
        ("HTTP 404", "returns http 404"),
        ("e0308", "error[E0308]: mismatched types"),
        ("home", "${HOME}/bin"),
        ("dry run", "pass --dry-run first"),
        ("user", "the user's choice"),
    ] {
        assert!(finds(query, document), "{query:?} should find {document:?}: {:?}", analyze_query(query));
    }
    assert!(!finds("!12", "Port 5128 is taken"));
    assert!(!finds("!12", "Step 12") || !analyze_query("!12").identifiers.is_empty());
}

#[test]
fn exact_identifier_matches_more_terms_than_its_words() {
    let query = analyze_query("parseHTTPResponse");
    let shared = |text: &str| {
        let found = identifiers(text);
        query.identifiers.iter().filter(|t| found.contains(t)).count()
    };
    assert!(shared("parseHTTPResponse") > shared("parse_http_request"));
    assert!(shared("parse_http_response") > shared("parse_response"));
    assert_eq!(shared("parse the http response"), 0);
}

#[test]
fn words_of_any_script_are_found() {
    for (query, document) in [
        ("проверка", "Проверка базы данных"),
        ("ΣΊΣΥΦΟΣ", "ο Σίσυφος"),
        ("محمد", "قال مُحَمَّد"),
        ("שלום", "שָׁלוֹם עולם"),
        ("हिन्दी", "यह हिन्दी है"),
        ("数据库", "我们使用数据库迁移"),
        ("猫", "猫が好き"),
        ("데이터베이스", "데이터베이스를 사용"),
        ("ฐานข้อมูล", "เราใช้ฐานข้อมูลนี้"),
        ("strasse", "Große Straße"),
        ("FULL", "ＦＵＬＬ width"),
        ("parseHTTP", "使用parseHTTP函数"),
    ] {
        assert!(finds(query, document), "{query:?} should find {document:?}");
    }
    assert_eq!(analyze_query("数据库").prose, ["数据", "据库"]);
    assert_eq!(analyze_query("猫").prose, ["猫"]);
}

#[test]
fn query_operators_are_treated_as_text() {
    assert_eq!(analyze_query("\"foo AND (").prose, ["foo"]);
    for text in ["*", "()", "\"", "+-&&||!(){}[]^~*?:\\", "", " \u{0}\n", "the", "...", "--", "_", "://"] {
        assert_eq!(analyze_query(text), QueryTerms::default(), "{text:?}");
    }
    let field = analyze_query("field:value");
    assert_eq!(field.prose, ["field", "valu"]);
}

#[test]
fn long_input_is_bounded_and_linear() {
    let word = "a".repeat(1 << 20);
    assert!(analyze(&word).prose[0].len() <= 128);
    for text in [
        "a/".repeat(1 << 19),
        "a:1".repeat(1 << 18),
        "aB".repeat(1 << 19),
        "_".repeat(1 << 20),
        "漢".repeat(1 << 18),
        "é_".repeat(1 << 18),
        "1,000".repeat(1 << 17),
        "x.".repeat(1 << 19),
        "'a".repeat(1 << 19),
        "://".repeat(1 << 18),
    ] {
        let found = analyze(&text);
        assert!(found.prose.iter().chain(&found.identifiers).all(|term| term.len() <= 128));
        assert!(analyze_query(&text).prose.len() <= MAX_QUERY_TERMS);
    }
}

fn any_text() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        "\\PC{0,6}",
        "[a-zA-Z]{1,12}",
        "[-_./\\\\:#!@&$~+,' \n]{1,3}",
        "[0-9]{1,4}",
        "[ßéЙщ漢あ한ก\u{301}\u{200d}]{1,3}",
        any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(fragment, 0..16).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn text_always_finds_itself(text in any_text()) {
        let (document, query) = (analyze(&text), analyze_query(&text));
        for term in &query.prose {
            prop_assert!(document.prose.contains(term), "{:?}", term);
        }
        for term in &query.identifiers {
            prop_assert!(document.identifiers.contains(term), "{:?}", term);
        }
    }

    #[test]
    fn terms_are_never_empty_nor_too_long(text in any_text()) {
        let found = analyze(&text);
        for term in found.prose.iter().chain(&found.identifiers) {
            prop_assert!(!term.is_empty() && term.len() <= 128);
        }
    }

    #[test]
    fn terms_of_one_text_do_not_depend_on_another(a in any_text(), b in any_text()) {
        let mut apart = analyze(&a);
        let second = analyze(&b);
        apart.prose.extend(second.prose);
        apart.identifiers.extend(second.identifiers);
        prop_assert_eq!(analyze(&format!("{a}\n{b}")), apart);
    }
}

/// Run with `cargo test --release -- --ignored --nocapture benchmark_analysis`.
#[test]
#[ignore = "benchmark without assertions"]
fn benchmark_analysis() {
    let plain = "The deployment pipeline needs reviewing before migrations are running against the databases because the \
        connection pool was exhausted twice last week and nobody noticed until users complained about it";
    let code = "Fixed parseHTTPResponse in src/app/main.py:120 by passing --dry-run to the worker, see !123 and E0308; the \
        flag is read from $HOME/.config/app.toml since v2.0.1 of snake_case_name";
    let wide = "Die Größe der Übertragung über das Café-Netz hängt von der Straße ab, sagt Zoë, и база данных тоже важна, \
        naïve Ansätze genügen nicht für größere Mengen";
    for (name, text) in [("plain", plain), ("code", code), ("wide", wide)] {
        let rounds = 20_000;
        let start = std::time::Instant::now();
        let mut terms = 0;
        for _ in 0..rounds {
            terms += std::hint::black_box(analyze(std::hint::black_box(text))).prose.len();
        }
        println!(
            "{name}: {} words, {:?}, {} terms",
            text.split(' ').count(),
            start.elapsed() / rounds,
            terms / rounds as usize
        );
    }
}

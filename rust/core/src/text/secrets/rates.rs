//! Counts the texts that the redaction gets wrong, of 10,000 generated ones. docs/security.md shows the table.

use super::super::redact;
use std::fmt::Write as _;

/// Texts of each form; 40 forms make 10,000.
const TEXTS: usize = 250;
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const SYMBOLS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#%*+?@^~";
const WORDS: &[&str] = &[
    "deploy", "cache", "invoice", "parser", "gateway", "session", "token", "worker", "table", "branch", "export",
    "widget", "policy", "index", "report", "schema", "client", "buffer", "router", "ledger",
];

/// A generator of numbers that gives the same ones in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % most
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| letters[self.below(letters.len())]).collect()
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len())]
    }
}

fn base64(plain: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in plain.as_bytes().chunks(3) {
        let bits = group.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            text.push(if place <= group.len() { char::from(DIGITS[bits >> (18 - 6 * place) & 63]) } else { '=' });
        }
    }
    text
}

type Form = (&'static str, fn(&mut Random) -> (String, String));

/// Forms of texts with a secret: the text and the secret.
const SECRETS: &[Form] = &[
    ("GitHub token", |r| around(r, |r| format!("{}{}", "ghp_", r.text(LETTERS, 36)))),
    ("GitHub token, escaped for Markdown", |r| {
        let tail = r.text(LETTERS, 36);
        (format!("use {}{tail} now", "ghp\\_"), tail)
    }),
    ("GitHub token with an invisible character", |r| {
        let (head, tail) = (r.text(LETTERS, 18), r.text(LETTERS, 18));
        (format!("use {}{head}\u{200b}{tail} now", "ghp_"), tail)
    }),
    ("GitHub token, broken into two lines", |r| {
        let (head, tail) = (r.text(LETTERS, 18), r.text(LETTERS, 18));
        (format!("use {}{head}\n  {tail}\n", "ghp_"), tail)
    }),
    ("GitLab token", |r| around(r, |r| format!("{}{}", "glpat-", r.text(URL, 20)))),
    ("Slack token", |r| around(r, |r| format!("{}{}-{}", "xoxb-", r.text("0123456789", 12), r.text(LETTERS, 24)))),
    ("OpenAI key", |r| around(r, |r| format!("{}{}", "sk-proj-", r.text(URL, 48)))),
    ("Anthropic key", |r| around(r, |r| format!("{}{}", "sk-ant-api03-", r.text(URL, 60)))),
    ("AWS access key", |r| around(r, |r| format!("{}{}", "AKIA", r.text(UPPER, 16)))),
    ("Google key", |r| around(r, |r| format!("{}{}", "AIza", r.text(URL, 35)))),
    ("Heroku key", |r| around(r, |r| format!("{}{}", "HRKU-", r.text(URL, 60)))),
    ("New Relic key", |r| around(r, |r| format!("{}{}", "NRAK-", r.text(UPPER, 27)))),
    ("Mailgun key", |r| around(r, |r| format!("{}{}", "key-", r.text(HEX, 32)))),
    ("Terraform Cloud token", |r| around(r, |r| format!("{}.atlasv1.{}", r.text(LETTERS, 14), r.text(LETTERS, 67)))),
    ("Docker credentials", |r| {
        let plain = format!("{}:{}", r.word(), r.text(SYMBOLS, 14));
        let secret = base64(&plain);
        (format!("{{\"auths\": {{\"ghcr.io\": {{\"auth\": \"{secret}\"}}}}}}"), secret)
    }),
    ("kubeconfig key", |r| {
        let secret = r.text(LETTERS, 200);
        (format!("    client-key-data: {secret}\n"), secret)
    }),
    (".netrc password", |r| {
        let secret = r.text(SYMBOLS, 12);
        (format!("machine {}.example.org login {} password {secret}", r.word(), r.word()), secret)
    }),
    ("mysql -p", |r| {
        let secret = r.text(LETTERS, 10);
        (format!("mysql -u {} -p{secret} {}", r.word(), r.word()), secret)
    }),
    ("password in a URL", |r| {
        let secret = r.text(LETTERS, 12);
        (format!("postgres://{}:{secret}@db.internal/{}", r.word(), r.word()), secret)
    }),
    ("\"password: …\", 16 characters with symbols", |r| assigned(r, "password: ", SYMBOLS, 16)),
    ("\"Passwort: …\", 12 characters", |r| assigned(r, "Passwort: ", SYMBOLS, 12)),
    ("\"пароль: …\", 12 characters", |r| assigned(r, "пароль: ", SYMBOLS, 12)),
    ("SECRET_KEY=, 16 characters", |r| assigned(r, "SECRET_KEY=", LETTERS, 16)),
    ("SECRET_KEY=, 32 characters", |r| assigned(r, "SECRET_KEY=", LETTERS, 32)),
    ("\"api key …\" without a sign", |r| assigned(r, "the api key ", LETTERS, 32)),
];

/// Forms of texts without a secret.
const LOOK_ALIKES: &[Form] = &[
    ("commit", |r| (format!("fixed in {}", r.text(HEX, 40)), String::new())),
    ("digest", |r| (format!("sha256:{}", r.text(HEX, 64)), String::new())),
    ("UUID", |r| {
        let parts = [8, 4, 4, 4, 12].map(|length| r.text(HEX, length));
        (format!("token: {}", parts.join("-")), String::new())
    }),
    ("identifier after \"token\"", |r| (format!("token = {}_{}_v2", r.word(), r.word()), String::new())),
    ("method after \"secret\"", |r| (format!("secret: {}.get_{}()", r.word(), r.word()), String::new())),
    ("words after \"password\"", |r| (format!("the password {} is {}", r.word(), r.word()), String::new())),
    ("words after \"api key\"", |r| {
        (format!("the api key {}-{}-{} is old", r.word(), r.word(), r.word()), String::new())
    }),
    ("path", |r| (format!("src/{}/{}_{}.rs:{}", r.word(), r.word(), r.word(), r.below(900)), String::new())),
    ("URL with a port", |r| (format!("http://{}.example.org:8080/{}@2", r.word(), r.word()), String::new())),
    ("environment variable", |r| (format!("api_key: ${{{}_KEY}}", r.word().to_uppercase()), String::new())),
    ("version", |r| (format!("{}-{}.{}.{}", r.word(), r.below(20), r.below(20), r.below(20)), String::new())),
    ("prefix alone", |r| (format!("tokens with ghp\\_ and sk-\n{} stay", r.word()), String::new())),
    ("words with hyphens", |r| (format!("task-{}-{}-{}-{}", r.word(), r.word(), r.word(), r.word()), String::new())),
    ("number after \"token\"", |r| {
        (format!("tokens: {}, token={}", r.below(100_000), r.below(100_000)), String::new())
    }),
    ("name in lower case", |r| (format!("key-{}", r.text(LOWER, 16)), String::new())),
];

fn around(r: &mut Random, secret: fn(&mut Random) -> String) -> (String, String) {
    let secret = secret(r);
    (format!("the {} uses {secret} for {}", r.word(), r.word()), secret)
}

fn assigned(r: &mut Random, name: &str, alphabet: &str, length: usize) -> (String, String) {
    let secret = r.text(alphabet, length);
    (format!("{name}{secret}\n{}", r.word()), secret)
}

/// The greatest share of missed secrets of one form, in percent, and of changed texts without a secret.
const MOST_MISSED: usize = 5;
const MOST_FALSE: usize = 1;

#[test]
fn ten_thousand_generated_texts_are_redacted_with_few_errors() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut table = String::new();
    let mut worst = (0, 0);
    assert_eq!(TEXTS * (SECRETS.len() + LOOK_ALIKES.len()), 10_000);
    for (name, make) in SECRETS {
        let missed = (0..TEXTS).filter(|_| {
            let (text, secret) = make(&mut random);
            redact(&text).text.contains(&secret)
        });
        let missed = missed.count();
        worst.0 = worst.0.max(missed);
        writeln!(table, "| {name} | {missed} of {TEXTS} missed |").expect("writing to a string works");
    }
    for (name, make) in LOOK_ALIKES {
        let wrong = (0..TEXTS).filter(|_| {
            let (text, _) = make(&mut random);
            redact(&text).text != text
        });
        let wrong = wrong.count();
        worst.1 = worst.1.max(wrong);
        writeln!(table, "| {name} | {wrong} of {TEXTS} changed |").expect("writing to a string works");
    }
    println!("{table}");
    assert!(100 * worst.0 <= MOST_MISSED * TEXTS && 100 * worst.1 <= MOST_FALSE * TEXTS, "{table}");
}

//! Table of secrets that are recognised by their own shape: prefix, alphabet and length.
//!
//! The table has one row per kind and prefix. A pattern is only tried if one of its literals occurs in the text, and a
//! single search for all literals rules out ordinary text. A pattern matches all characters that could belong to the
//! secret, so that no part of a token remains after a match. If a pattern has a group, only the group is the secret.

use super::Found;
use super::shape::{has_placeholder, is_basic_credential, is_mixed, looks_random};
use regex::Regex;
use std::sync::{LazyLock, OnceLock};

/// One kind of secret: its literals, its pattern, and a predicate that confirms a match.
struct Row {
    kind: &'static str,
    literals: &'static [&'static str],
    pattern: &'static str,
    accept: fn(&str) -> bool,
}

const fn row(
    kind: &'static str,
    literals: &'static [&'static str],
    pattern: &'static str,
    accept: fn(&str) -> bool,
) -> Row {
    Row { kind, literals, pattern, accept }
}

fn no_placeholder(value: &str) -> bool {
    !has_placeholder(value)
}

fn mixed(value: &str) -> bool {
    is_mixed(value) && !has_placeholder(value)
}

fn random(value: &str) -> bool {
    looks_random(value) && !has_placeholder(value)
}

/// A token that follows its name without any sign, so that only a clear shape counts.
fn random_with_digit(value: &str) -> bool {
    random(value) && value.bytes().filter(u8::is_ascii_digit).count() >= 2
}

/// The password `password` stands in examples only.
fn url_password(value: &str) -> bool {
    no_placeholder(value) && !value.eq_ignore_ascii_case("password")
}

// \b is the ASCII version, which is faster, and every token is ASCII. More specific rows come first, because the first
// matching row names the secret.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("aws-access-key", &["AKIA", "ASIA"], r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b", no_placeholder),
    row("aws-secret-key", &["aws", "AWS", "ecret", "ECRET"], r#"(?i:secret[_-]?access[_-]?key|aws[_-]secret[_-]?key)[\\"' ]*(?:=>|[:=])[\\"' ]*([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#, mixed),
    row("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"\bgh[pousr]_[A-Za-z0-9_]{20,}", no_placeholder),
    row("github-token", &["github_pat_"], r"\bgithub_pat_[A-Za-z0-9_]{20,}", no_placeholder),
    row("gitlab-token", &["glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-"], r"\bgl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_=-]{18,}(?:\.[A-Za-z0-9_-]+)*", mixed),
    row("slack-token", &["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"], r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}", mixed),
    row("slack-webhook", &["hooks.slack.com"], r"\bhooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_+-]{20,})", mixed),
    row("discord-webhook", &["/webhooks/"], r"\bdiscord(?:app)?\.com/api/webhooks/(\d{10,}/[A-Za-z0-9_-]{40,})", no_placeholder),
    row("anthropic-key", &["sk-ant-"], r"\bsk-ant-[A-Za-z0-9_-]{16,}", mixed),
    row("openrouter-key", &["sk-or-"], r"\bsk-or-[A-Za-z0-9_-]{16,}", mixed),
    row("openai-key", &["sk-"], r"\bsk-[A-Za-z0-9_-]{20,}", random),
    row("google-api-key", &["AIza"], r"\bAIza[A-Za-z0-9_-]{30,}", mixed),
    row("google-oauth-secret", &["GOCSPX-"], r"\bGOCSPX-[A-Za-z0-9_-]{20,}", mixed),
    row("google-oauth-token", &["ya29."], r"\bya29\.[A-Za-z0-9_.-]{20,}", mixed),
    row("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], r"\b[sr]k_(?:live|test)_[A-Za-z0-9_]{10,}", mixed),
    row("stripe-webhook-secret", &["whsec_"], r"\bwhsec_[A-Za-z0-9+/=_]{20,}", mixed),
    row("npm-token", &["npm_"], r"\bnpm_[A-Za-z0-9_]{30,}", mixed),
    row("pypi-token", &["pypi-Ag"], r"\bpypi-Ag[A-Za-z0-9_-]{16,}", no_placeholder),
    row("huggingface-token", &["hf_", "api_org_"], r"\b(?:hf|api_org)_[A-Za-z0-9_]{30,}", mixed),
    row("sendgrid-key", &["SG."], r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", no_placeholder),
    row("twilio-key", &["SK"], r"\bSK[0-9a-f]{32}\b", no_placeholder),
    row("discord-token", &["MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"], r"\b(?:M[Tjz]|N[DTjz]|O[DT])[A-Za-z0-9_-]{20,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,}", mixed),
    row("telegram-token", &[":AA"], r"\b\d{8,10}:AA[A-Za-z0-9_-]{32,}", no_placeholder),
    row("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"\bdo[opr]_v1_[A-Za-z0-9_]{32,}", no_placeholder),
    row("azure-key", &["Key=", "key="], r"\b(?i:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})", mixed),
    row("azure-signature", &["sig="], r"[?&;]sig=([A-Za-z0-9%+/]{40,}=*)", mixed),
    row("jwt", &["eyJ"], r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)+", no_placeholder),
    row("age-key", &["AGE-SECRET-KEY-"], r"\bAGE-SECRET-KEY-1[A-Z0-9]{40,}", no_placeholder),
    row("docker-token", &["dckr_pat_"], r"\bdckr_pat_[A-Za-z0-9_-]{20,}", mixed),
    row("vault-token", &["hvs.", "hvb."], r"\bhv[sb]\.[A-Za-z0-9_-]{20,}", mixed),
    row("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"\bshp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32,}", no_placeholder),
    row("linear-key", &["lin_api_"], r"\blin_api_[A-Za-z0-9_]{30,}", no_placeholder),
    row("notion-token", &["ntn_"], r"\bntn_[A-Za-z0-9_]{30,}", mixed),
    row("groq-key", &["gsk_"], r"\bgsk_[A-Za-z0-9_]{30,}", mixed),
    row("xai-key", &["xai-"], r"\bxai-[A-Za-z0-9_-]{40,}", mixed),
    row("replicate-token", &["r8_"], r"\br8_[A-Za-z0-9_]{30,}", mixed),
    row("supabase-token", &["sbp_"], r"\bsbp_[a-f0-9]{32,}", no_placeholder),
    row("atlassian-token", &["ATATT3"], r"\bATATT3[A-Za-z0-9_=-]{20,}", no_placeholder),
    row("grafana-token", &["glsa_", "glc_"], r"\b(?:glsa|glc)_[A-Za-z0-9_+/=]{30,}", mixed),
    row("databricks-token", &["dapi"], r"\bdapi[a-f0-9]{32}(?:-\d+)?\b", no_placeholder),
    row("postman-key", &["PMAK-"], r"\bPMAK-[A-Za-z0-9-]{30,}", mixed),
    row("heroku-key", &["HRKU-"], r"\bHRKU-[A-Za-z0-9_-]{30,}", mixed),
    row("new-relic-key", &["NRAK-", "NRAL-", "NRII-", "NRJS-", "NRRA-"], r"\bNR(?:AK|AL|II|JS|RA)-[A-Za-z0-9_-]{18,}", mixed),
    row("mailgun-key", &["key-"], r"\bkey-[0-9a-f]{32}\b", mixed),
    row("terraform-token", &[".atlasv1."], r"\b[A-Za-z0-9]{10,32}\.atlasv1\.[A-Za-z0-9_-]{40,}", mixed),
    row("docker-credentials", &["auth\"", "auth\\\""], r#"\\?"auth\\?"\s*:\s*\\?"([A-Za-z0-9+/]{8,}={0,2})"#, is_basic_credential),
    row("private-key", &["client-key-data"], r#"\bclient-key-data[\\"']{0,3}\s*:\s*[\\"']{0,3}([A-Za-z0-9+/]{40,}={0,2})"#, mixed),
    row("authorization", &["asic ", "ASIC "], r"\b(?i:basic)[ \t]+([A-Za-z0-9+/]{8,}={0,2})", is_basic_credential),
    row("authorization", &["earer ", "EARER "], r"\b(?i:bearer)[ \t]+([A-Za-z0-9._~+/=-]{16,})", random),
    row("authorization", &["uthorization", "UTHORIZATION"], r#"\b(?i:authorization)[\\"' ]*[:=][\\"' ]*(?i:(?:token|apikey|digest|bearer|key)[ \t]+)?([A-Za-z0-9._~+/=-]{16,})"#, random),
    row("url-password", &["://"], r#"\b[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s/:@"'<>`]*:([^\s/@"'<>`]+)@[A-Za-z0-9\[]"#, url_password),
    row("secret", &["key ", "KEY ", "Key ", "oken ", "OKEN "], r#"\b(?i:(?:api|access|secret|auth|account|personal access|bot)[ _-]?(?:key|token)) +["'`]?([A-Za-z0-9._~+/=-]{16,})"#, random_with_digit),
    row("password", &["curl "], r#"\bcurl [^\n|;]{0,200}?(?:-u|--user)[ =]["']?[^\s:"']{1,64}:([^\s"']{3,})"#, no_placeholder),
    row("password", &["mysql", "mariadb"], r#"\b(?:mysql|mariadb)[a-z-]{0,16}(?: [^\n|;&]{0,200}?)?[ \t]-p["']?([^\s"'|;&]{3,})"#, no_placeholder),
    row("password", &["machine ", "default "], r#"\b(?:machine\s+(?:\S{1,200}[.:]\S{1,200}|localhost)|default)\s+login\s+\S{1,255}\s+password\s+["']?([^\s"']{3,})"#, no_placeholder),
    row("password", &["sshpass "], r#"\bsshpass +-p *["']?([^\s"']{3,})"#, no_placeholder),
];

/// Rank of the fallback kinds, after all rows of the table.
pub(super) const LAST_RANK: usize = ROWS.len();

static ANY_LITERAL: LazyLock<Regex> = LazyLock::new(|| {
    let literals: Vec<String> =
        ROWS.iter().flat_map(|row| row.literals).map(|literal| regex::escape(literal)).collect();
    compile(&literals.join("|"))
});

// A pattern is compiled when its literals first occur. Most processes never need most of the patterns.
static PATTERNS: [OnceLock<Regex>; ROWS.len()] = [const { OnceLock::new() }; ROWS.len()];

fn pattern(rank: usize) -> &'static Regex {
    PATTERNS[rank].get_or_init(|| compile(&ROWS[rank].pattern.replace(r"\b", r"(?-u:\b)")))
}

/// Compiles a pattern of this module's tables.
#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles each of them")]
pub(super) fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

/// Whether a text contains the beginning of any kind.
pub(super) fn may_match(text: &str) -> bool {
    ANY_LITERAL.is_match(text)
}

/// Adds the secrets that are recognised by their own shape.
pub(super) fn find(text: &str, found: &mut Vec<Found>) {
    if !may_match(text) {
        return;
    }
    for (rank, row) in ROWS.iter().enumerate() {
        if !row.literals.iter().any(|literal| text.contains(literal)) {
            continue;
        }
        for captures in pattern(rank).captures_iter(text) {
            let Some(secret) = captures.get(1).or_else(|| captures.get(0)) else {
                continue;
            };
            if (row.accept)(secret.as_str()) {
                found.push(Found { range: secret.range(), kind: row.kind, rank });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!((0..ROWS.len()).all(|rank| pattern(rank).captures_len() <= 2));
        assert!(ANY_LITERAL.is_match("AKIA"));
    }
}

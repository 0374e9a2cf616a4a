//! How keys and tokens begin, and what follows.

/// A rule: what it finds, how that begins, and what must follow.
pub(super) struct Rule {
    pub(super) kind: &'static str,
    /// In it, `?` stands for any letter or digit.
    pub(super) begins: &'static str,
    /// What may stand in the rest besides letters and digits.
    pub(super) also: &'static str,
    /// How many characters the rest has at least.
    pub(super) least: usize,
    /// Whether it is one only where no word goes on.
    pub(super) word: bool,
    /// Whether the rest is hexadecimal digits.
    pub(super) hex: bool,
}

const fn rule(kind: &'static str, begins: &'static str, also: &'static str, least: usize) -> Rule {
    Rule { kind, begins, also, least, word: false, hex: false }
}

/// One that begins with so little that it must begin a word.
const fn word(kind: &'static str, begins: &'static str, also: &'static str, least: usize) -> Rule {
    Rule { kind, begins, also, least, word: true, hex: false }
}

/// A number in hexadecimal digits, which must begin a word.
const fn number(kind: &'static str, begins: &'static str, least: usize) -> Rule {
    Rule { kind, begins, also: "", least, word: true, hex: true }
}

/// By their first letters, so that few are looked at for each letter of a text. Longer beginnings come before those that they contain.
const RULES: [Rule; 69] = [
    rule("Azure signature", "&sig=", "%+/=-_", 40),
    rule("Terraform token", ".atlasv1.", "-_", 40),
    rule("Azure signature", "?sig=", "%+/=-_", 40),
    word("Google API key", "AIza", "-_", 30),
    word("AWS key id", "AKIA", "", 16),
    word("AWS key id", "ASIA", "", 16),
    rule("Atlassian token", "ATATT3", "-_=", 50),
    rule("age key", "AGE-SECRET-KEY-1", "", 50),
    rule("Google client secret", "GOCSPX-", "-_", 20),
    rule("Heroku key", "HRKU-", "-_", 36),
    rule("New Relic key", "NRAK-", "", 27),
    rule("Postman key", "PMAK-", "-", 50),
    rule("Azure client secret", "Q~", "-_.~", 31),
    number("Twilio key", "SK", 32),
    word("SendGrid key", "SG.", "-_.", 40),
    word("crates.io token", "cio", "", 32),
    rule("Docker token", "dckr_???_", "-_", 20),
    rule("Discord webhook", "discord.com/api/webhooks/", "/-_", 30),
    rule("Discord webhook", "discordapp.com/api/webhooks/", "/-_", 30),
    number("Databricks token", "dapi", 32),
    rule("DigitalOcean token", "do?_v1_", "", 40),
    rule("Figma token", "figd_", "-_", 30),
    word("Fly.io token", "fm??_", "+/=-_", 40),
    word("Groq key", "gsk_", "", 40),
    rule("GitHub token", "gh?_", "", 20),
    rule("GitHub token", "github_pat_", "_", 20),
    rule("GitLab token", "glpat-", "-_.", 20),
    rule("GitLab token", "gl??-", "-_.", 20),
    rule("GitLab token", "gl???-", "-_.", 20),
    rule("GitLab token", "glsoat-", "-_.", 20),
    rule("GitLab token", "glagent-", "-_.", 20),
    word("Grafana token", "glc_", "+/=", 32),
    word("Grafana token", "glsa_", "_", 32),
    word("Hugging Face token", "hf_", "", 30),
    rule("Slack webhook", "hooks.slack.com/services/", "/", 20),
    word("Vault token", "hv?.", "-_", 24),
    number("Mailgun key", "key-", 32),
    rule("Linear key", "lin_api_", "", 30),
    rule("Linear key", "lin_oauth_", "", 30),
    word("npm token", "npm_", "", 36),
    word("Notion token", "ntn_", "", 40),
    word("Netlify token", "nfp_", "", 36),
    rule("1Password token", "ops_eyJ", "+/=-_", 80),
    word("Perplexity key", "pplx-", "", 40),
    rule("PyPI token", "pypi-AgE", "-_", 50),
    rule("PlanetScale password", "pscale_", "-_.=", 30),
    word("Replicate token", "r8_", "", 30),
    rule("RubyGems key", "rubygems_", "", 40),
    rule("Stripe key", "rk_live_", "", 16),
    rule("Stripe key", "rk_test_", "", 16),
    rule("Anthropic key", "sk-ant-", "-_", 20),
    rule("OpenRouter key", "sk-or-", "-_", 20),
    rule("OpenAI key", "sk-proj-", "-_", 20),
    rule("OpenAI key", "sk-svcacct-", "-_", 20),
    rule("OpenAI key", "sk-admin-", "-_", 20),
    word("model provider's key", "sk-", "-_", 20),
    rule("Shopify token", "shp??_", "", 32),
    word("Notion token", "secret_", "", 40),
    rule("Supabase key", "sb_secret_", "-_", 20),
    rule("Supabase key", "sbp_", "", 40),
    rule("Square token", "sq0???-", "-_", 20),
    rule("Stripe key", "sk_live_", "", 16),
    rule("Stripe key", "sk_test_", "", 16),
    word("Vercel token", "vc?_", "", 20),
    rule("Stripe secret", "whsec_", "+/=", 24),
    word("xAI key", "xai-", "", 60),
    rule("Slack token", "xox?-", "-", 10),
    rule("Slack token", "xapp-", "-", 20),
    word("Google token", "ya29.", "-_.", 20),
];

/// Names whose values are secrets, without the `_` or `-` that may stand in them.
pub(super) const NAMES: [&str; 13] = [
    "apikey",
    "accesskey",
    "secretkey",
    "accountkey",
    "accesstoken",
    "authtoken",
    "refreshtoken",
    "sessiontoken",
    "clientsecret",
    "password",
    "passwd",
    "passphrase",
    "pwd",
];

/// With what the other forms begin: private keys, Mailchimp's keys, tokens of JSON, Telegram and Discord, headers, URLs, and what is personal.
const OTHERS: &[u8] = b"-e:MNObB@+0123456789";

/// For each byte, where the rules are that begin with it, and behind the last of them.
const PLACES: [(usize, usize); 256] = places();

const fn places() -> [(usize, usize); 256] {
    let mut places = [(0, 0); 256];
    let mut at = 0;
    while at < RULES.len() {
        let first = RULES[at].begins.as_bytes()[0] as usize;
        let (start, end) = places[first];
        assert!(end == 0 || end == at, "rules are in the order of their first letters");
        places[first] = (if end == 0 { at } else { start }, at + 1);
        at += 1;
    }
    places
}

/// The rules that begin with this byte.
pub(super) fn beginning_with(byte: u8) -> &'static [Rule] {
    static RULES: [Rule; self::RULES.len()] = self::RULES;
    let (start, end) = PLACES[usize::from(byte)];
    &RULES[start..end]
}

const MAY_BEGIN: [bool; 256] = may_begin_with();

/// Whether something that is looked for can begin with this byte, or be recognised at it.
pub(super) fn may_begin(byte: u8) -> bool {
    MAY_BEGIN[usize::from(byte)]
}

const fn may_begin_with() -> [bool; 256] {
    let mut table = [false; 256];
    let mut at = 0;
    while at < table.len() {
        table[at] = PLACES[at].1 > 0;
        at += 1;
    }
    at = 0;
    while at < NAMES.len() {
        let first = NAMES[at].as_bytes()[0];
        table[first as usize] = true;
        table[first.to_ascii_uppercase() as usize] = true;
        at += 1;
    }
    at = 0;
    while at < OTHERS.len() {
        table[OTHERS[at] as usize] = true;
        at += 1;
    }
    table
}

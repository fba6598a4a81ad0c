//! What is hidden and what is not.

use super::*;

#[test]
fn values_are_hidden_by_their_keys() {
    let redaction = Redaction::new();
    for (json, want) in [
        (r#"{"password": "x", "user": "ada"}"#, r#"{"password":"[redacted]","user":"ada"}"#),
        (
            r#"{"API-Key":"x","apiKey":"x","X_API_KEY":"x"}"#,
            r#"{"API-Key":"[redacted]","apiKey":"[redacted]","X_API_KEY":"[redacted]"}"#,
        ),
        (
            r#"{"access_token":"x","tokenValue":7,"githubtoken":"x"}"#,
            r#"{"access_token":"[redacted]","tokenValue":"[redacted]","githubtoken":"[redacted]"}"#,
        ),
        (
            r#"{"max_tokens":5,"tokenizer":"a","secretary":"b"}"#,
            r#"{"max_tokens":5,"tokenizer":"a","secretary":"b"}"#,
        ),
        (
            r#"{"secret":{"a":["]",1]},"b":[{"token":[1]}]}"#,
            r#"{"secret":"[redacted]","b":[{"token":"[redacted]"}]}"#,
        ),
        (r#"{"token":null,"secret":true}"#, r#"{"token":null,"secret":true}"#),
        (r#"{"pass\u0077ord":"x"}"#, r#"{"pass\u0077ord":"[redacted]"}"#),
        (
            r#"["run","--token","x","--token=y","z","--verbose","v"]"#,
            r#"["run","--token","[redacted]","--token=[redacted]","z","--verbose","v"]"#,
        ),
        (
            r#"{"text":"{\"api_key\": \"abc\", \"n\": 1}"}"#,
            r#"{"text":"{\"api_key\": \"[redacted]\", \"n\": 1}"}"#,
        ),
        (r#"{"n": 9007199254740993, "e": [1e400, -0.0]}"#, r#"{"n":9007199254740993,"e":[1e400,-0.0]}"#),
        (r#""a \"quoted\" \\ \ud83d\ude00 text""#, r#""a \"quoted\" \\ \ud83d\ude00 text""#),
        ("[]", "[]"),
        ("5", "5"),
    ] {
        assert_eq!(redaction.json(json), want, "{json}");
        assert_eq!(redaction.json(want), want, "once more: {want}");
    }
}

#[test]
fn values_are_hidden_in_texts() {
    let redaction = Redaction::new();
    for (text, want) in [
        ("password=hunter2 ok", "password=[redacted] ok"),
        ("password: hunter2, user: ada", "password: [redacted], user: ada"),
        ("?page=1&api_key=abc&x=2", "?page=1&api_key=[redacted]&x=2"),
        (r#"sent {"client_secret": "a\"b", "id": 1}"#, r#"sent {"client_secret": "[redacted]", "id": 1}"#),
        (
            r#"sent {\"client_secret\": \"ab\", \"id\": 1}"#,
            r#"sent {\"client_secret\": \"[redacted]\", \"id\": 1}"#,
        ),
        (r#"{"secret": {"a": "}"}, "b": 1}"#, r#"{"secret": [redacted], "b": 1}"#),
        ("Authorization: Custom a b\nHost: x", "Authorization: [redacted]\nHost: x"),
        ("token: Bearer abc def", "token: [redacted] def"),
        ("with Bearer abc.def", "with [redacted]"),
        ("Cookie: a=1; b=2", "Cookie: [redacted]"),
        ("run --token abc --name x", "run --token [redacted] --name x"),
        ("run --token=abc --name x", "run --token=[redacted] --name x"),
        ("run --token --name x", "run --token --name x"),
        ("at https://ada:p%40ss@host/x?y", "at https://ada:[redacted]@host/x?y"),
        ("at https://host:80/a@b", "at https://host:80/a@b"),
        ("key ghp_abcDEF123, sk-ant-api03-x_y", "key [redacted], [redacted]"),
        ("eyJhbGciOi.eyJzdWIi.abc-_x", "[redacted]"),
        ("token::Kind and token://x and max_tokens: 5", "token::Kind and token://x and max_tokens: 5"),
        ("password = null", "password = null"),
        ("API_KEY=a\nOTHER=b", "API_KEY=[redacted]\nOTHER=b"),
        ("no secrets here", "no secrets here"),
        ("пароль=x token=й!", "пароль=x token=[redacted]"),
        ("token=", "token="),
        ("token='", "token='"),
    ] {
        assert_eq!(redaction.text(text), want, "{text}");
        assert_eq!(redaction.text(want), want, "once more: {want}");
    }
}

#[test]
fn globs_are_found_where_words_begin() {
    for (glob, text, want) in [
        ("sk-*", "risk-free sk-1 (sk-2) \"sk-3\"", "risk-free [redacted] ([redacted]) \"[redacted]\""),
        ("*-secret", "my-secret x-secret-y", "[redacted] [redacted]-y"),
        ("a*b*c", "axxbyycz abac ab", "[redacted]z [redacted] ab"),
        ("id-????", "id-1234 id-12 id-12345", "[redacted] id-12 [redacted]5"),
        ("key *", "the key abc is", "the [redacted] is"),
        ("a *b", "a a xb", "a [redacted]"),
        ("*", "a b", "[redacted] [redacted]"),
        ("ü*", "für über", "für [redacted]"),
        ("", "a", "a"),
    ] {
        assert_eq!(Redaction::none().with_glob(glob).text(text), want, "{glob} in {text}");
    }
}

#[cfg(feature = "patterns")]
#[test]
fn regular_expressions_hide_what_they_match() {
    let redaction = Redaction::none().with_regex(r"\b\d{4}-\d{4}\b").expect("a pattern");
    assert_eq!(redaction.text("card 1234-5678, 12345-6789"), "card [redacted], 12345-6789");
    assert_eq!(redaction.json(r#"{"a":"\u0031234-5678"}"#), r#"{"a":"[redacted]"}"#);
    let error = Redaction::none().with_regex("(").expect_err("no pattern");
    assert!(error.starts_with("(: "), "{error}");
}

#[test]
fn known_values_are_hidden_wherever_they_are() {
    let rules = Redaction::none();
    let values = ["s3cr3t".to_owned(), "12".to_owned(), "123456".to_owned()];
    let pass = Pass { rules: &rules, values: &values };
    assert_eq!(pass.text("a s3cr3t 12 s3cr3ts"), "a [redacted] 12 [redacted]s");
    assert_eq!(pass.text("12"), "[redacted]");
    let json = r#"{"s3cr3t":"x s3\u0063r3t","n":123456,"m":1234567}"#;
    let want = r#"{"[redacted]":"x [redacted]","n":"[redacted]","m":1234567}"#;
    assert_eq!(pass.json(json, usize::MAX), (want.to_owned(), true));
}

#[test]
fn what_is_cut_off_is_read_as_far_as_it_goes() {
    let rules = Redaction::new();
    let pass = Pass { rules: &rules, values: &[] };
    let json = r#"{"text":"a\n\u00e9\ud83d\ude00b","token":{"a":["q"]},"n":[1,2.5,"z"],"password":"abc"}"#;
    for cut in (0..json.len()).filter(|cut| json.is_char_boundary(*cut)) {
        let (out, is_whole) = pass.json(&json[..cut], usize::MAX);
        assert!(!is_whole || cut == 0, "{out}");
        assert!(!out.contains("abc") && !out.contains('q'), "{out}");
    }
    let (out, is_whole) = pass.json(json, 10);
    assert!(!is_whole && out.len() < 80, "{out}");
    // A pattern that begins in what is shown hides all of it, however long.
    let long = format!(r#"{{"a":"ghp_{}"}}"#, "x".repeat(50_000));
    assert_eq!(pass.json(&long, 20), (r#"{"a":"[redacted]"}"#.to_owned(), true));
}

#[test]
fn hostile_texts_take_linear_time() {
    let redaction = Redaction::new().with_glob("a*b*c").with_glob("*x*y");
    let texts = ["a", "a.", "a b", "token=", "--token ", ":", "\"", "\\", "eyJ.", "Bearer ", "://a:b@", "é"];
    let begun = std::time::Instant::now();
    for text in texts {
        let text = text.repeat(25_000);
        let hidden = redaction.text(&text);
        assert!(redaction.json(&serde_json::to_string(&*text).expect("JSON")).len() >= hidden.len().min(2));
    }
    // Quadratic would be minutes.
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

//! What the user is shown.

use super::*;
use crate::host::config::ServerEntry;
use crate::protocol::{
    CreateMessageResult, ElicitFormParams, ElicitUrlParams, ImageContent, PrimitiveSchema, RequestedSchema,
    Role, SamplingContent, SamplingMessage,
};

fn shown(subject: &Subject<'_>) -> Question {
    Question::of(subject, None, "a test")
}

#[test]
fn a_call_is_shown_with_all_that_matters() {
    let mut tool = tool("send", "Sends a mail.\nWith the arguments\n| {}").with_title("Mail");
    tool.annotations = Some(ToolAnnotations::default().with_destructive(false).with_open_world(true));
    let arguments = Json::parse(r#"{"to":"a@b.example","copies":18446744073709551616}"#).expect("JSON");
    let question = shown(&Subject::call("mail", "{}", &tool, &arguments));
    assert_eq!(
        question.to_string(),
        "Call send of server mail\n\
         | Mail\n\
         | Sends a mail.\n\
         | With the arguments\n\
         | | {}\n\
         Its server claims, unchecked: it does not say that it only reads; it says that it destroys nothing; \
         it says that it reaches the world outside.\n\
         With the arguments\n\
         | {\n\
         |   \"to\": \"a@b.example\",\n\
         |   \"copies\": 18446744073709551616\n\
         | }\n\
         Asked because: a test"
    );
    assert_eq!(question.arguments, Some(arguments));
}

#[test]
fn nothing_in_it_commands_a_terminal_or_turns_text_around() {
    let evil = "\u{1b}[2J\r\u{202e}\u{9b}\u{200b}\u{e0041}";
    let tool = tool(&format!("n\n{evil}"), evil).with_title(evil);
    let arguments = Json::new(&serde_json::json!({evil: evil})).expect("JSON");
    let params = CreateMessageParams::new(1).with_system_prompt(evil).with_user(evil).with_assistant(evil);
    let result = CreateMessageResult::text(evil, evil);
    let form = ElicitFormParams::new(evil, RequestedSchema::new().required(evil, PrimitiveSchema::text()));
    let url = ElicitUrlParams::new(evil, format!("https://a.example/{evil}"));
    let entry = ServerEntry::command(evil, evil, [evil]).with_env(evil, format!("${{env:{evil}}}"));
    let canonical = entry.canonical();
    let before =
        super::super::grants::Before { configured: "{}".to_owned(), bound_to: format!("[\"{evil}\"]") };
    for subject in [
        Subject::call(evil, "{}", &tool, &arguments),
        Subject::sample(evil, "{}", &params),
        Subject::sample_answer(evil, "{}", &result),
        Subject::elicit(evil, "{}", &form),
        Subject::elicit_url(evil, "{}", &url),
        Subject::start(&entry, &canonical),
    ] {
        let question = Question::of(&subject, Some(&before), evil);
        for text in [question.to_string(), format!("{question:#}")] {
            assert!(
                !text.contains(['\u{1b}', '\r', '\u{202e}', '\u{9b}', '\u{200b}', '\u{e0041}']),
                "{text:?}"
            );
            assert!(text.contains("\\u{202e}"), "{text}");
        }
    }
}

#[test]
fn a_start_is_shown_as_it_is_written_without_its_secrets() {
    let mut entry = ServerEntry::command("notes", "npx", ["-y", "a b"])
        .with_env("TOKEN", "s3cr3t")
        .with_env("KEY", "${env:NOTES_KEY}");
    entry.source = Some("/home/me/.mcp.json".into());
    let canonical = entry.canonical();
    let question = shown(&Subject::start(&entry, &canonical));
    assert_eq!(question.summary, "Start server notes: npx -y \"a b\"");
    let text = question.to_string();
    assert!(text.contains("/home/me/.mcp.json") && text.contains("env.KEY takes NOTES_KEY"), "{text}");
    assert!(text.contains("\"TOKEN\": \"sha256:") && !text.contains("s3cr3t"), "{text}");
    let entry =
        ServerEntry::url("s", "https://a.example/mcp").with_header("Authorization", "Bearer ${env:KEY}");
    let canonical = entry.canonical();
    let text = shown(&Subject::start(&entry, &canonical)).to_string();
    assert!(text.starts_with("Start server s: https://a.example/mcp\n"), "{text}");
    assert!(text.contains("headers.Authorization takes KEY"), "{text}");
}

#[test]
fn what_a_server_asks_is_shown_in_words() {
    let image = SamplingContent::Image(ImageContent::new("AAAA", "image/png"));
    let params = CreateMessageParams::new(100)
        .with_system_prompt("Be brief.")
        .with_user("Why?")
        .with_message(SamplingMessage::new(Role::User, vec![image]));
    let text = shown(&Subject::sample("s", "{}", &params)).to_string();
    let wanted = "Let server s ask the language model\n\
                  | system: Be brief.\n\
                  | user: Why?\n\
                  | user: [a picture, image/png, 4 characters of base64]\n\
                  | (at most 100 tokens)\n";
    assert!(text.starts_with(wanted), "{text}");
    let form = RequestedSchema::new()
        .required("name", PrimitiveSchema::text())
        .optional("age", PrimitiveSchema::integer());
    let text = shown(&Subject::elicit("s", "{}", &ElicitFormParams::new("Who?", form))).to_string();
    assert!(text.contains("| Who?\n| (it asks for: name (required), age)\n"), "{text}");
}

#[test]
fn of_long_texts_the_beginning_is_shown_and_how_long_they_are() {
    let long = tool("t", &"long ".repeat(10_000));
    let arguments = Json::empty_object();
    let question = shown(&Subject::call("s", "{}", &long, &arguments));
    let text = question.to_string();
    assert!(text.contains("… (4000 of 50000 characters)") && text.len() < 5_000, "{text}");
    assert!(format!("{question:#}").len() > 50_000);
    assert_eq!(question.description.map(|text| text.len()), Some(50_000));
}

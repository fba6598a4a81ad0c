//! Tools and a prompt that ask the client: its user, its model, its folders. They are written as if the answer came at once; a
//! client of 2026-07-28 is answered with the question, and calls again.

use tinymcp::context::{Ability, Question};
use tinymcp::json::Json;
use tinymcp::protocol::{
    CreateMessageParams, ElicitParams, ElicitResult, PrimitiveSchema, RequestedSchema, Root,
};
use tinymcp::{Context, FnPrompt, FnTool, ToolError, prompt, tool};

pub(crate) fn tools() -> Vec<FnTool> {
    let mut tools = of_every_revision();
    tools.extend(in_rounds());
    tools
}

fn of_every_revision() -> Vec<FnTool> {
    let sampling = tool! {
        /// Ask the client's model
        fn test_sampling(prompt: String, cx: &Context) -> Result<String, ToolError> {
            let answer = cx.sample("prompt", CreateMessageParams::new(100).with_user(prompt))?;
            Ok(format!("LLM response: {}", answer.text_content()))
        }
    };
    let elicitation = tool! {
        /// Ask the user who they are
        fn test_elicitation(message: String, cx: &Context) -> Result<String, ToolError> {
            let text = |what| PrimitiveSchema::text().with_description(what);
            let fields = RequestedSchema::new()
                .required("username", text("User's response"))
                .required("email", text("User's email address"));
            Ok(format!("User response: {}", told(&cx.elicit("user", ElicitParams::form(message, fields))?)))
        }
    };
    let defaults = tool! {
        /// Ask with a form that has a default for each kind of field
        fn test_elicitation_sep1034_defaults(cx: &Context) -> Result<String, ToolError> {
            let status = PrimitiveSchema::choice(["active", "inactive", "pending"]).with_default("active");
            let fields = RequestedSchema::new()
                .optional("name", PrimitiveSchema::text().with_default("John Doe"))
                .optional("age", PrimitiveSchema::integer().with_default(30))
                .optional("score", PrimitiveSchema::number().with_default(95.5))
                .optional("status", status)
                .optional("verified", PrimitiveSchema::boolean().with_default(true));
            completed("Please review the defaults", fields, cx)
        }
    };
    let enums = tool! {
        /// Ask with a form that has each kind of choice
        fn test_elicitation_sep1330_enums(cx: &Context) -> Result<String, ToolError> {
            let options = ["option1", "option2", "option3"];
            let titled = [("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")];
            // The way it was written before 2025-11-25.
            let mut legacy = PrimitiveSchema::choice(["opt1", "opt2", "opt3"]);
            legacy.enum_names = Some(["Option One", "Option Two", "Option Three"].map(str::to_owned).into());
            let fields = RequestedSchema::new()
                .optional("untitledSingle", PrimitiveSchema::choice(options))
                .optional("titledSingle", PrimitiveSchema::titled_choice(titled))
                .optional("legacyEnum", legacy)
                .optional("untitledMulti", PrimitiveSchema::choices(options))
                .optional("titledMulti", PrimitiveSchema::titled_choices(titled));
            completed("Please choose", fields, cx)
        }
    };
    let needs_sampling = tool! {
        /// Ask the client's model, whether it has one or not
        fn test_missing_capability(cx: &Context) -> Result<String, ToolError> {
            Ok(cx.sample("anything", CreateMessageParams::new(10).with_user("Say something."))?.text_content())
        }
    };
    let streaming = tool! {
        /// Ask the user to go on
        fn test_streaming_elicitation(cx: &Context) -> Result<String, ToolError> {
            cx.progress(0.0, 1.0, "asking");
            completed("Go on?", RequestedSchema::new(), cx)
        }
    };
    vec![sampling, elicitation, defaults, enums, needs_sampling, streaming]
}

/// What the suite calls by the names of multi round-trip requests.
fn in_rounds() -> Vec<FnTool> {
    let elicitation = tool! {
        /// Ask the user for their name
        fn test_input_required_result_elicitation(cx: &Context) -> Result<String, ToolError> {
            Ok(format!("Hello, {}!", name(cx)?))
        }
    };
    let sampling = tool! {
        /// Ask the client's model about France
        fn test_input_required_result_sampling(cx: &Context) -> Result<String, ToolError> {
            let question = CreateMessageParams::new(100).with_user("What is the capital of France?");
            Ok(cx.sample("capital_question", question)?.text_content())
        }
    };
    let roots = tool! {
        /// Ask the client for its folders
        fn test_input_required_result_list_roots(cx: &Context) -> Result<String, ToolError> {
            Ok(format!("Roots: {}", listed(&cx.ask(Question::roots("client_roots"))?)))
        }
    };
    let state = tool! {
        /// Ask the user to confirm, and remember something meanwhile
        fn test_input_required_result_request_state(cx: &Context) -> Result<String, ToolError> {
            let kept: String = cx.step("kept", || Ok::<_, ToolError>("state-ok".to_owned()))?;
            confirmed(cx)?;
            Ok(kept)
        }
    };
    let several = tool! {
        /// Ask the user, the model and for the folders at once
        fn test_input_required_result_multiple_inputs(cx: &Context) -> Result<String, ToolError> {
            let greeting = CreateMessageParams::new(50).with_user("Generate a greeting");
            let (user, greeting, roots) = cx.ask((
                Question::elicit("user_name", ElicitParams::form("What is your name?", text_field("name"))),
                Question::sample("greeting", greeting),
                Question::roots("client_roots"),
            ))?;
            Ok(format!("{} {}; {}", greeting.text_content(), told(&user), listed(&roots)))
        }
    };
    let rounds = tool! {
        /// Ask the user twice
        fn test_input_required_result_multi_round(cx: &Context) -> Result<String, ToolError> {
            let name = cx.elicit("step1", ElicitParams::form("Step 1: What is your name?", text_field("name")))?;
            let question = ElicitParams::form("Step 2: What is your favorite color?", text_field("color"));
            let color = cx.elicit("step2", question)?;
            Ok(format!("{}; {}", told(&name), told(&color)))
        }
    };
    let tampered = tool! {
        /// Ask the user to confirm
        fn test_input_required_result_tampered_state(cx: &Context) -> Result<String, ToolError> { confirmed(cx) }
    };
    let capabilities = tool! {
        /// Ask for what the client can do
        fn test_input_required_result_capabilities(cx: &Context) -> Result<String, ToolError> {
            if cx.supports(Ability::Form) {
                return Ok(format!("Hello, {}!", name(cx)?));
            }
            let greeting = CreateMessageParams::new(50).with_user("Generate a greeting");
            Ok(cx.sample("greeting", greeting)?.text_content())
        }
    };
    vec![elicitation, sampling, roots, state, several, rounds, tampered, capabilities]
}

/// Prompts may ask as well.
pub(crate) fn asking_prompt() -> FnPrompt {
    prompt! {
        /// Ask the user what it is about
        fn test_input_required_result_prompt(cx: &Context) -> Result<String, ToolError> {
            let question = ElicitParams::form("What context should the prompt use?", text_field("context"));
            Ok(format!("Context: {}", told(&cx.elicit("user_context", question)?)))
        }
    }
}

/// The name of the user, or of nobody.
pub(crate) fn name(cx: &Context) -> Result<String, ToolError> {
    let answer = cx.elicit("user_name", ElicitParams::form("What is your name?", text_field("name")))?;
    Ok(answer.content.and_then(|content| content.get("name")).unwrap_or_else(|| "whoever you are".to_owned()))
}

fn confirmed(cx: &Context) -> Result<String, ToolError> {
    let fields = RequestedSchema::new().required("ok", PrimitiveSchema::boolean());
    Ok(told(&cx.elicit("confirm", ElicitParams::form("Please confirm", fields))?))
}

fn completed(message: &str, fields: RequestedSchema, cx: &Context) -> Result<String, ToolError> {
    let answer = cx.elicit("form", ElicitParams::form(message, fields))?;
    Ok(format!("Elicitation completed: {}", told(&answer)))
}

fn text_field(name: &str) -> RequestedSchema {
    RequestedSchema::new().required(name, PrimitiveSchema::text())
}

/// What the user did and wrote.
fn told(answer: &ElicitResult) -> String {
    format!("action={}, content={}", answer.action, Json::from(answer.content.clone().unwrap_or_default()))
}

fn listed(roots: &[Root]) -> String {
    roots.iter().map(|root| &*root.uri).collect::<Vec<_>>().join(", ")
}

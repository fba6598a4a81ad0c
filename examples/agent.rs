//! An agent that uses tools without knowing where they run: `word_count` is a function of this program, the others
//! belong to the notes server, which is a child process. It speaks the message format of OpenAI's Chat Completions, with a script that
//! stands in for the model: that forgets an argument, reads what was wrong, and calls again.
//!
//! ```text
//! $ cargo run --example agent
//! tools: create_note, search_notes, word_count
//! 1. word_count {"text":"milk, bread and tea"}
//!    4
//! 2. create_note {"title":"Shopping list"}
//!    error: bad arguments for tool create_note: content: missing
//! 3. create_note {"content":"milk, bread and tea","title":"Shopping list"}
//!    Note saved to /tmp/tinymcp-agent-4711/Shopping list.md
//! 4. search_notes {"query":"BREAD"}
//!    - **Shopping list**: ...Shopping list milk, bread and tea...
//! The list has 4 words and is saved.
//! ```
//!
//! With the feature `host` the notes server runs under a host, which decides what may be called. With `http-client` (or `tls`) a real model
//! can take the place of the script: `agent --endpoint https://api.example.com/v1 --model NAME [TASK]`, with the key in the variable `API_KEY`.

#![allow(clippy::print_stdout, reason = "it is a client: its stdout is not the protocol")]

use std::error::Error;
use std::path::Path;

use serde_json::{Value, json};
use tinymcp::functions::{Format, Functions};
use tinymcp::json::Json;
use tinymcp::{Context, ToolRegistry, tool};

#[path = "notes_server.rs"]
mod notes_server;

/// What stands for "as long as it takes".
const MAX_TURNS: usize = 20;

/// What is done with the tools.
type Run<'a> = dyn FnMut(&ToolRegistry) -> Result<(), Box<dyn Error>> + 'a;

/// Says what comes next in a conversation: a message of the assistant.
trait Model {
    fn next(&mut self, messages: &[Json], tools: &Json) -> Result<Json, Box<dyn Error>>;
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "serve") {
        return notes_server::main();
    }
    let (mut model, task) = model(&args)?;
    let notes = std::env::temp_dir().join(format!("tinymcp-agent-{}", std::process::id()));
    std::fs::create_dir(&notes)?;
    let outcome = with_tools(&notes, &mut |tools| converse(tools, &mut *model, &task));
    std::fs::remove_dir_all(&notes)?;
    outcome
}

/// The model that the arguments name; the script without any.
fn model(args: &[String]) -> Result<(Box<dyn Model>, String), Box<dyn Error>> {
    if args.is_empty() {
        let task = "Save a shopping list of milk, bread and tea, and tell how many words it has.";
        return Ok((Box::new(Script { step: 0 }), task.to_owned()));
    }
    #[cfg(feature = "http-client")]
    return endpoint::model(args);
    #[cfg(not(feature = "http-client"))]
    Err("a real model needs the feature http-client".into())
}

/// Gathers local and remote tools in one registry.
fn with_tools(notes: &Path, run: &mut Run<'_>) -> Result<(), Box<dyn Error>> {
    let word_count = tool! {
        /// Count the words of a text
        fn word_count(text: String) -> usize { text.split_whitespace().count() }
    };
    #[cfg(feature = "host")]
    {
        use tinymcp::host::Host;
        use tinymcp::host::config::ServerEntry;
        use tinymcp::host::consent::Rules;

        let program = std::env::current_exe()?;
        let entry = ServerEntry::command("notes", program.to_string_lossy(), ["serve"]);
        let entry = entry.with_env("NOTES_DIR", notes.to_string_lossy());
        let host = Host::builder().policy(Rules::new().allow("notes", "*")).server(entry).start()?;
        host.wait_ready(std::time::Duration::from_secs(30));
        host.tools().register(word_count)?;
        run(host.tools())
    }
    #[cfg(not(feature = "host"))]
    {
        use tinymcp::Client;
        use tinymcp::transport::ChildProcess;

        let server = ChildProcess::new(std::env::current_exe()?).arg("serve").env("NOTES_DIR", notes);
        let client = Client::builder().open(server)?;
        let tools = ToolRegistry::new().with(word_count)?;
        for tool in client.discover_tools()? {
            tools.register(tool)?;
        }
        run(&tools)?;
        client.close()?;
        Ok(())
    }
}

/// The agent: all it knows is the registry and the model.
fn converse(tools: &ToolRegistry, model: &mut dyn Model, task: &str) -> Result<(), Box<dyn Error>> {
    let functions = Functions::of(tools, Format::OpenAi);
    let mut names: Vec<String> = tools.names().iter().map(|name| short(name).to_owned()).collect();
    names.sort();
    println!("tools: {}", names.join(", "));
    let mut messages = vec![Json::from(json!({"role": "user", "content": task}))];
    let mut count = 0;
    for _ in 0..MAX_TURNS {
        let message = model.next(&messages, &functions.tools())?;
        let calls = functions.calls(&message)?;
        messages.push(message.clone());
        if calls.is_empty() {
            println!("{}", message.to_value()["content"].as_str().unwrap_or_default());
            return Ok(());
        }
        // Every call has its answer, whatever came of it.
        let answers = functions.dispatch(&message, tools, &Context::detached())?;
        for (call, answer) in calls.iter().zip(&answers) {
            count += 1;
            let arguments = call.arguments.as_ref().map_or("?", |arguments| arguments.as_str());
            println!("{count}. {} {arguments}", short(&call.function));
            println!("   {}", answer.to_value()["content"].as_str().unwrap_or_default());
        }
        messages.extend(answers);
    }
    Err(format!("the model did not come to an end within {MAX_TURNS} turns").into())
}

/// The name without that of its server.
fn short(name: &str) -> &str {
    name.rsplit("__").next().unwrap_or(name)
}

/// Follows a plan, and reads what comes back as far as it must.
struct Script {
    step: usize,
}

impl Model for Script {
    fn next(&mut self, messages: &[Json], tools: &Json) -> Result<Json, Box<dyn Error>> {
        let last = messages.last().map(Json::to_value).unwrap_or_default();
        let said = last["content"].as_str().unwrap_or_default();
        let mut note = json!({"title": "Shopping list"});
        let (name, arguments) = match self.step {
            0 => ("word_count", json!({"text": "milk, bread and tea"})),
            1 => ("create_note", note),
            2 if said.contains("content: missing") => {
                note["content"] = "milk, bread and tea".into();
                ("create_note", note)
            }
            2 | 3 => ("search_notes", json!({"query": "BREAD"})),
            _ => {
                let done = json!({"role": "assistant", "content": "The list has 4 words and is saved."});
                return Ok(done.into());
            }
        };
        self.step += 1;
        let tools = tools.to_value();
        let names =
            tools.as_array().into_iter().flatten().filter_map(|tool| tool["function"]["name"].as_str());
        let name =
            names.into_iter().find(|known| short(known) == name).ok_or(format!("there is no {name}"))?;
        let function = json!({"name": name, "arguments": arguments.to_string()});
        let call = json!({"id": format!("call_{}", self.step), "type": "function", "function": function});
        Ok(json!({"role": "assistant", "content": Value::Null, "tool_calls": [call]}).into())
    }
}

/// Any endpoint that speaks Chat Completions.
#[cfg(feature = "http-client")]
mod endpoint {
    use std::error::Error;
    use std::time::Duration;

    use serde_json::json;
    use tinymcp::json::Json;

    use super::Model;

    struct Endpoint {
        agent: ureq::Agent,
        url: String,
        model: String,
        key: Option<String>,
    }

    /// `--endpoint URL --model NAME [TASK]`.
    pub(super) fn model(args: &[String]) -> Result<(Box<dyn Model>, String), Box<dyn Error>> {
        let usage = "usage: agent [--endpoint URL --model NAME [TASK]]";
        let (mut url, mut model, mut task) = (None, None, None);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--endpoint" => url = args.next(),
                "--model" => model = args.next(),
                other if !other.starts_with('-') => task = Some(other.to_owned()),
                _ => return Err(usage.into()),
            }
        }
        let (Some(url), Some(model)) = (url, model) else { return Err(usage.into()) };
        let config = ureq::Agent::config_builder().timeout_global(Some(Duration::from_secs(120)));
        let agent = config.http_status_as_error(false).build().into();
        let url = format!("{}/chat/completions", url.trim_end_matches('/'));
        let key = std::env::var("API_KEY").ok();
        let task = task.unwrap_or_else(|| "Save a short note about what you can do.".to_owned());
        Ok((Box::new(Endpoint { agent, url, model: model.clone(), key }), task))
    }

    impl Model for Endpoint {
        fn next(&mut self, messages: &[Json], tools: &Json) -> Result<Json, Box<dyn Error>> {
            let request = json!({"model": self.model, "messages": messages, "tools": tools});
            let mut post = self.agent.post(&self.url).header("Content-Type", "application/json");
            if let Some(key) = &self.key {
                post = post.header("Authorization", format!("Bearer {key}"));
            }
            let mut response = post.send(request.to_string())?;
            let status = response.status();
            let text = response.body_mut().read_to_string()?;
            if !status.is_success() {
                return Err(format!("the model's endpoint answered {status}: {text:.500}").into());
            }
            let answer = Json::parse(&text)?.to_value();
            let message = answer.pointer("/choices/0/message").ok_or("the answer has no message")?;
            Ok(message.into())
        }
    }
}

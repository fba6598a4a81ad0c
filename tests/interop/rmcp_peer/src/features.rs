//! A server with everything beside plain tools: the same as features_v2.py. It speaks both eras.

#![allow(deprecated, reason = "much of what Legacy has is deprecated")]

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use rmcp::model::*;
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::from;

/// One server for all clients, or a copy for each: they share everything.
#[derive(Clone, Default)]
pub(crate) struct Features(Arc<Shared>);

#[derive(Default)]
struct Shared {
    is_grown: AtomicBool,
    /// Of Modern clients.
    listening: Mutex<Vec<SubscriptionSink>>,
    /// By Legacy clients.
    watched: Mutex<HashSet<String>>,
    least: Mutex<Option<LoggingLevel>>,
}

type Cx = RequestContext<RoleServer>;
type Outcome<T> = Result<T, ErrorData>;

/// What is to be answered before a request can be, or why it cannot.
enum Unanswered {
    Input(InputRequiredResult),
    Error(ErrorData),
}

fn is_modern(cx: &Cx) -> bool {
    cx.protocol_version().is_some_and(|version| version.as_str() == "2026-07-28")
}

/// The answers to questions: those that a Modern client has sent, else it is to send them; a Legacy client is asked here.
async fn ask(
    cx: &Cx,
    answers: &Option<InputResponses>,
    questions: Value,
    state: Option<&str>,
) -> Result<Value, Unanswered> {
    let questions = questions.as_object().unwrap();
    if is_modern(cx) {
        let answers = json!(answers);
        if questions.keys().all(|name| answers.get(name).is_some()) {
            return Ok(answers);
        }
        let input =
            json!({ "resultType": "input_required", "inputRequests": questions, "requestState": state });
        return Err(Unanswered::Input(from(input)));
    }
    let mut answers = json!({});
    for (name, question) in questions {
        let answer = cx.peer.send_request(from(question.clone())).await;
        let failed = |e| Unanswered::Error(ErrorData::internal_error(format!("{name}: {e}"), None));
        answers[name] = json!(answer.map_err(failed)?);
    }
    Ok(answers)
}

fn form(message: &str, fields: Value, required: &[&str]) -> Value {
    let schema = json!({ "type": "object", "properties": fields, "required": required });
    let params = json!({ "mode": "form", "message": message, "requestedSchema": schema });
    json!({ "method": "elicitation/create", "params": params })
}

fn who() -> Value {
    let age = json!({ "type": "integer", "default": 30 });
    form("Who are you?", json!({ "name": { "type": "string", "minLength": 2 }, "age": age }), &["name"])
}

impl Features {
    async fn tool(&self, request: CallToolRequestParams, cx: &Cx) -> Result<String, Unanswered> {
        let arguments = json!(request.arguments);
        let (answers, state) = (&request.input_responses, &request.request_state);
        let said = match &*request.name {
            "interview" => {
                // One question depends on the answer to another: what was answered before comes back in the state.
                let first: Value = match state {
                    Some(state) => serde_json::from_str(state).unwrap(),
                    None => {
                        let prompt =
                            json!({ "role": "user", "content": { "type": "text", "text": "Tell a story" } });
                        let story =
                            json!({ "messages": [prompt], "maxTokens": 50, "systemPrompt": "Be short." });
                        let questions = json!({
                            "who": who(),
                            "story": { "method": "sampling/createMessage", "params": story },
                            "where": { "method": "roots/list" },
                        });
                        ask(cx, answers, questions, None).await?
                    }
                };
                let person = &first["who"]["content"];
                let name = person["name"].as_str().unwrap_or_default();
                let sure =
                    form(&format!("Really, {name}?"), json!({ "sure": { "type": "boolean" } }), &["sure"]);
                let answers = if state.is_some() { answers } else { &None };
                let sure = ask(cx, answers, json!({ "sure": sure }), Some(&first.to_string())).await?;
                let told = match &first["story"]["content"] {
                    Value::Array(parts) => parts[0]["text"].clone(),
                    one => one["text"].clone(),
                };
                let (topic, told) = (arguments["topic"].as_str().unwrap(), told.as_str().unwrap().to_owned());
                let place = first["where"]["roots"][0]["uri"].as_str().unwrap();
                let sure = &sure["sure"]["content"]["sure"];
                format!("{topic}: {name} {} {told} {place} {sure}", person["age"])
            }
            "optional" => {
                let answers = ask(cx, answers, json!({ "who": who() }), None).await?;
                answers["who"]["action"].as_str().unwrap().to_owned()
            }
            "visit" => {
                let page = json!({ "mode": "url", "message": "Log in", "url": "https://example.com/login", "elicitationId": "login-1" });
                let login = json!({ "login": { "method": "elicitation/create", "params": page } });
                let answers = ask(cx, answers, login, Some("half way")).await?;
                format!("{} half way", answers["login"]["action"].as_str().unwrap())
            }
            "talk" => {
                for level in [LoggingLevel::Debug, LoggingLevel::Warning, LoggingLevel::Error] {
                    self.log(level, cx).await;
                }
                "said".to_owned()
            }
            "grow" => {
                self.0.is_grown.store(true, SeqCst);
                let _ = cx.peer.notify_tool_list_changed().await;
                let _ = cx.peer.notify_prompt_list_changed().await;
                let _ = cx.peer.notify_resource_list_changed().await;
                for sink in self.listening() {
                    let _ = sink.notify_tool_list_changed().await;
                    let _ = sink.notify_prompt_list_changed().await;
                    let _ = sink.notify_resource_list_changed().await;
                }
                "grown".to_owned()
            }
            "touch" => {
                let params: ResourceUpdatedNotificationParam = from(arguments.clone());
                let is_watched = self.0.watched.lock().unwrap().contains(&params.uri);
                if is_watched {
                    let _ = cx.peer.notify_resource_updated(params.clone()).await;
                }
                for sink in self.listening() {
                    let _ = sink.notify_resource_updated(params.uri.clone()).await;
                }
                "touched".to_owned()
            }
            "wait" => {
                cx.ct.cancelled().await;
                let sign = PathBuf::from(std::env::var_os("HOME").unwrap()).join("cancelled");
                std::fs::write(sign, "cancelled").unwrap();
                "cancelled".to_owned()
            }
            other => {
                return Err(Unanswered::Error(ErrorData::invalid_params(
                    format!("unknown tool: {other}"),
                    None,
                )));
            }
        };
        Ok(said)
    }

    fn listening(&self) -> Vec<SubscriptionSink> {
        self.0.listening.lock().unwrap().clone()
    }

    /// A Modern request says which messages it wants, a Legacy client once for all.
    async fn log(&self, level: LoggingLevel, cx: &Cx) {
        let least = if is_modern(cx) { cx.meta.log_level() } else { *self.0.least.lock().unwrap() };
        let order = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
        let place = |level: LoggingLevel| order.iter().position(|name| json!(level) == *name);
        if least.is_some_and(|least| place(level) >= place(least)) {
            let params = json!({ "level": level, "logger": "talk", "data": { "said": level } });
            let _ = cx.peer.notify_logging_message(from(params)).await;
        }
    }

    /// Whatever has grown, too.
    fn all<const N: usize>(&self, here: [Value; N], extra: Value) -> Vec<Value> {
        here.into_iter().chain(self.0.is_grown.load(SeqCst).then_some(extra)).collect()
    }
}

impl ServerHandler for Features {
    fn get_info(&self) -> ServerConfig {
        let changing = json!({ "listChanged": true });
        let capabilities = json!({
            "tools": changing, "prompts": changing, "resources": { "listChanged": true, "subscribe": true },
            "logging": {}, "completions": {},
        });
        let info = from(json!({ "name": "features", "version": "1.0.0" }));
        ServerConfig::new(from(capabilities)).with_server_info(info).with_instructions("Try everything.")
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: Cx) -> Outcome<ListToolsResult> {
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
        let names = ["interview", "optional", "visit", "talk", "grow", "touch", "wait"];
        Ok(from(json!({ "tools": self.all(names.map(tool), tool("extra")) })))
    }

    async fn call_tool(&self, request: CallToolRequestParams, cx: Cx) -> Outcome<CallToolResponse> {
        match self.tool(request, &cx).await {
            Ok(text) => Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()),
            Err(Unanswered::Input(input)) => Ok(CallToolResponse::InputRequired(input)),
            Err(Unanswered::Error(error)) => Err(error),
        }
    }

    async fn list_resources(&self, _: Option<PaginatedRequestParams>, _: Cx) -> Outcome<ListResourcesResult> {
        let readme = json!({
            "uri": "notes:///readme", "name": "readme", "title": "Read me", "mimeType": "text/markdown", "_meta": { "kept": 1 },
        });
        let bytes = json!({ "uri": "notes:///bytes", "name": "bytes" });
        let extra = json!({ "uri": "notes:///extra", "name": "extra" });
        Ok(from(json!({ "resources": self.all([readme, bytes], extra) })))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Cx,
    ) -> Outcome<ListResourceTemplatesResult> {
        Ok(from(json!({ "resourceTemplates": [{ "uriTemplate": "notes:///{name}", "name": "note" }] })))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        cx: Cx,
    ) -> Outcome<ReadResourceResponse> {
        let uri = &request.uri;
        let Some(name) = uri.strip_prefix("notes:///") else {
            return Err(ErrorData::resource_not_found("resource not found", Some(json!({ "uri": uri }))));
        };
        let contents = match name {
            "readme" => json!({ "uri": uri, "text": "read me" }),
            // 0 to 255.
            "bytes" => json!({ "uri": uri, "blob": BYTES }),
            "gr%C3%BC%C3%9Fe" => json!({ "uri": uri, "text": "about grüße" }),
            "guarded" => {
                let word = form("The word?", json!({ "word": { "type": "string" } }), &["word"]);
                match ask(&cx, &request.input_responses, json!({ "word": word }), None).await {
                    Ok(answers) => {
                        let word = answers["word"]["content"]["word"].as_str().unwrap().to_owned();
                        json!({ "uri": uri, "text": format!("the word is {word}") })
                    }
                    Err(Unanswered::Input(input)) => return Ok(ReadResourceResponse::InputRequired(input)),
                    Err(Unanswered::Error(error)) => return Err(error),
                }
            }
            other => json!({ "uri": uri, "text": format!("about {other}") }),
        };
        let result = json!({ "contents": [contents], "ttlMs": 60_000, "cacheScope": "private" });
        Ok(ReadResourceResponse::Complete(from(result)))
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: Cx) -> Outcome<ListPromptsResult> {
        let arguments =
            json!([{ "name": "topic", "required": true }, { "name": "depth", "required": false }]);
        let explain = json!({ "name": "explain", "title": "Explain", "arguments": arguments });
        Ok(from(
            json!({ "prompts": self.all([explain, json!({ "name": "guided" })], json!({ "name": "extra" })) }),
        ))
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, cx: Cx) -> Outcome<GetPromptResponse> {
        let arguments = json!(request.arguments);
        let text = match &*request.name {
            "explain" => {
                let argument = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
                format!("Explain {}, {}", argument("topic"), argument("depth"))
            }
            "guided" => {
                let topic = form("The topic?", json!({ "topic": { "type": "string" } }), &["topic"]);
                match ask(&cx, &request.input_responses, json!({ "topic": topic }), None).await {
                    Ok(answers) => {
                        format!("Explain {}", answers["topic"]["content"]["topic"].as_str().unwrap())
                    }
                    Err(Unanswered::Input(input)) => return Ok(GetPromptResponse::InputRequired(input)),
                    Err(Unanswered::Error(error)) => return Err(error),
                }
            }
            other => return Err(ErrorData::invalid_params(format!("unknown prompt: {other}"), None)),
        };
        let message = json!({ "role": "user", "content": { "type": "text", "text": text } });
        Ok(GetPromptResponse::Complete(from(json!({ "messages": [message] }))))
    }

    async fn complete(&self, request: CompleteRequestParams, _: Cx) -> Outcome<CompleteResult> {
        let known = json!(request.context)["arguments"]["topic"].as_str().map(str::to_owned);
        let values = match (json!(request.r#ref)["type"] == "ref/prompt", known) {
            (true, Some(topic)) => vec![topic],
            (true, None) => ["tides", "time", "moon"].map(str::to_owned).into(),
            (false, _) => ["readme", "rivers"].map(str::to_owned).into(),
        };
        let found: Vec<_> =
            values.into_iter().filter(|value| value.starts_with(&request.argument.value)).collect();
        Ok(from(json!({ "completion": { "values": found, "total": found.len(), "hasMore": false } })))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Cx) -> Outcome<()> {
        *self.0.least.lock().unwrap() = Some(request.level);
        Ok(())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: Cx) -> Outcome<()> {
        self.0.watched.lock().unwrap().insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Cx) -> Outcome<()> {
        self.0.watched.lock().unwrap().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Outcome<()> {
        self.0.listening.lock().unwrap().push(context.sink().clone());
        context.cancelled().await;
        Ok(())
    }
}

const BYTES: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+P0BBQkNERUZHSElKS0xNTk9QUVJTVFVWV1hZWltcXV5fYGFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6e3x9fn+AgYKDhIWGh4iJiouMjY6PkJGSk5SVlpeYmZqbnJ2en6ChoqOkpaanqKmqq6ytrq+wsbKztLW2t7i5uru8vb6/wMHCw8TFxsfIycrLzM3Oz9DR0tPU1dbX2Nna29zd3t/g4eLj5OXm5+jp6uvs7e7v8PHy8/T19vf4+fr7/P3+/w==";

//! A tour of the everything server: the same as tour.py.

#![allow(deprecated, reason = "much of what Legacy has is deprecated")]

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomNotification, ElicitRequestParams,
    ElicitResult, ErrorData, ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam,
    ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService, ServiceError};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};

use crate::from;

#[derive(Clone)]
pub(crate) struct Guest(Arc<Mutex<Value>>);

impl Default for Guest {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(
            json!({ "asked": [], "logged": [], "told": [], "answers": [], "progress": [] }),
        )))
    }
}

impl Guest {
    fn add(&self, list: &str, item: Value) {
        self.0.lock().unwrap()[list].as_array_mut().unwrap().push(item);
    }

    fn set(&self, name: &str, value: impl serde::Serialize) {
        self.0.lock().unwrap()[name] = json!(value);
    }

    fn take(&self, name: &str) -> Value {
        self.0.lock().unwrap()[name].take()
    }

    async fn until(&self, is_so: impl Fn(&Value) -> bool) -> Result<(), Box<dyn Error>> {
        let wait = async {
            while !is_so(&self.0.lock().unwrap()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        Ok(tokio::time::timeout(Duration::from_secs(20), wait).await?)
    }
}

impl ClientHandler for Guest {
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let mut asked = json!(request);
        if asked["elicitationId"] == "" {
            asked.as_object_mut().unwrap().remove("elicitationId"); // this SDK's way of saying that there is none
        }
        self.add("asked", asked.clone());
        if asked["mode"] == "url" {
            return Ok(from(json!({ "action": "accept" })));
        }
        if self.take("declines") == true {
            return Ok(from(json!({ "action": "decline" })));
        }
        let fields = asked["requestedSchema"]["properties"].as_object().unwrap();
        let mut content = json!({});
        for (name, field) in fields {
            match field.get("default") {
                Some(default) => content[name] = default.clone(),
                None if name == "name" => content[name] = "Ada".into(),
                None => {}
            }
        }
        Ok(from(json!({ "action": "accept", "content": content })))
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let mut asked = json!(request);
        // A list of one is the same as that one.
        if let Some(content) = asked["messages"][0]["content"].get_mut(0).map(Value::take) {
            asked["messages"][0]["content"] = content;
        }
        self.add("asked", asked);
        let content = json!({ "type": "text", "text": "oolong, of course" });
        Ok(from(json!({ "role": "assistant", "model": "model-1", "content": content })))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Ok(from(json!({ "roots": [{ "uri": "file:///srv/one", "name": "One" }] })))
    }

    async fn on_progress(&self, report: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.add("progress", json!([report.progress, report.total, report.message]));
    }

    async fn on_logging_message(
        &self,
        message: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.add("logged", json!([message.level, message.logger, message.data]));
    }

    async fn on_resource_updated(
        &self,
        _: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.add("told", "resources/updated".into());
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.add("told", "resources/list_changed".into());
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.add("told", "tools/list_changed".into());
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.add("told", "prompts/list_changed".into());
    }

    async fn on_custom_notification(&self, other: CustomNotification, _: NotificationContext<RoleClient>) {
        self.add("told", other.method.into());
    }

    fn get_info(&self) -> ClientConfig {
        let capabilities = json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": {} });
        ClientConfig::new(from(capabilities), from(json!({ "name": "tour", "version": "1.0.0" })))
    }
}

type Client = RunningService<RoleClient, Guest>;

async fn call(client: &Client, name: &str, arguments: Value) -> Result<Value, ServiceError> {
    let mut params = json!({ "name": name, "arguments": arguments });
    if is_modern(client) {
        // A Modern client asks for log messages with each request.
        params["_meta"] = json!({ "io.modelcontextprotocol/logLevel": "info" });
    }
    Ok(json!(client.call_tool(from(params)).await?))
}

async fn texts(client: &Client, calls: &[(&str, Value)]) -> Result<(), ServiceError> {
    for (name, arguments) in calls {
        let result = call(client, name, arguments.clone()).await?;
        let parts = result["content"].as_array().unwrap().iter();
        let text: String = parts.filter_map(|part| part["text"].as_str()).collect();
        client.service().add("answers", json!([name, result["isError"] == true, text]));
    }
    Ok(())
}

pub(crate) fn refusal<T>(result: Result<T, ServiceError>) -> Value {
    match result {
        Err(ServiceError::McpError(error)) => json!([error.code.0, error.message, error.data]),
        Err(error) => json!(error.to_string()),
        Ok(_) => Value::Null,
    }
}

fn version(client: &Client) -> String {
    client.peer_info().map(|info| info.protocol_version.to_string()).unwrap_or_default()
}

fn is_modern(client: &Client) -> bool {
    version(client) == "2026-07-28"
}

pub(crate) async fn take(client: Client) -> Result<Value, Box<dyn Error>> {
    let guest = client.service().clone();
    guest.set("version", version(&client));
    if !is_modern(&client) {
        client.set_level(from(json!({ "level": "info" }))).await?;
    }
    what_it_has(&client, &guest).await?;
    let none = || json!({});
    let asking = [("choose", none()), ("pay", none()), ("advise", json!({ "mood": "tired" }))];
    texts(&client, &asking).await?;
    texts(&client, &[("locate", none()), ("cater", none())]).await?;
    guest.set("declines", true);
    texts(&client, &[("choose", none())]).await?;

    // Those of all calls before belong to others.
    guest.set("progress", json!([]));
    call(&client, "brew", json!({ "steps": 4 })).await?;
    changes(&client, &guest).await?;
    let tools = client.list_all_tools().await?;
    guest.set("tools_then", tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>());
    let gift = call(&client, "order", json!({ "tea": "green", "grams": 5, "gift": true })).await?;
    guest.set("structured", &gift["structuredContent"]);
    texts(&client, &[("order", json!({ "tea": "green", "grams": 5000 }))]).await?;
    guest.until(|seen| seen["logged"].as_array().unwrap().len() == 2).await?;
    client.cancel().await?;
    Ok(guest.0.lock().unwrap().take())
}

async fn what_it_has(client: &Client, guest: &Guest) -> Result<(), Box<dyn Error>> {
    let tools = client.list_all_tools().await?;
    guest.set("tools", tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>());
    let resources = client.list_all_resources().await?;
    guest.set("resources", resources.iter().map(|resource| &*resource.uri).collect::<Vec<_>>());
    guest.set("templates", client.list_all_resource_templates().await?);
    guest.set("prompts", client.list_all_prompts().await?);
    let mut read = Vec::new();
    for uri in ["tea://about", "tea://logo", "tea://leaf/green"] {
        read.push(client.read_resource(from(json!({ "uri": uri }))).await?);
    }
    guest.set("read", read);
    guest.set("missing", refusal(client.read_resource(from(json!({ "uri": "tea://leaf/coffee" }))).await));
    guest.set("menu", call(client, "menu", json!({})).await?);
    let arguments = json!({ "tea": "black", "dish": "cake" });
    let pairing = client.get_prompt(from(json!({ "name": "pairing", "arguments": arguments }))).await?;
    guest.set("pairing", pairing.messages);
    let bad = client.get_prompt(from(json!({ "name": "pairing", "arguments": {} }))).await;
    guest.set("bad_prompt", refusal(bad));
    guest.set("invitation", client.get_prompt(from(json!({ "name": "invitation" }))).await?.messages);
    let mut completed = Vec::new();
    let pairing = json!({ "type": "ref/prompt", "name": "pairing" });
    let leaf = json!({ "type": "ref/resource", "uri": "tea://leaf/{name}" });
    let known = json!({ "arguments": { "tea": "black" } });
    for (place, name, value, context) in [
        (&pairing, "dish", "", Some(known)),
        (&pairing, "dish", "c", None),
        (&pairing, "tea", "g", None),
        (&leaf, "name", "o", None),
    ] {
        let argument = json!({ "name": name, "value": value });
        let mut params = json!({ "ref": place, "argument": argument });
        if let Some(context) = context {
            params["context"] = context;
        }
        completed.push(client.complete(from(params)).await?.completion.values);
    }
    guest.set("completed", completed);
    Ok(())
}

async fn changes(client: &Client, guest: &Guest) -> Result<(), Box<dyn Error>> {
    let change = [("open_season", json!({ "name": "spring" })), ("order", json!({ "tea": "black" }))];
    if is_modern(client) {
        let wanted = json!({
            "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
            "resourceSubscriptions": ["tea://stock"],
        });
        let mut subscription = client.listen(from(wanted)).await?;
        guest.set("honoured", subscription.acknowledged());
        texts(client, &change).await?;
        let mut told = Vec::new();
        while told.len() < 4 {
            let next = tokio::time::timeout(Duration::from_secs(20), subscription.next()).await??;
            told.push(json!(next.ok_or("the subscription has ended")?)["method"].clone());
        }
        told.sort_by_key(Value::to_string);
        let lists =
            ["prompts/list_changed", "resources/list_changed", "resources/updated", "tools/list_changed"];
        if told != lists.map(|name| json!(format!("notifications/{name}"))) {
            return Err(format!("told of {told:?}").into());
        }
        subscription.cancel().await?;
    } else {
        client.subscribe(from(json!({ "uri": "tea://stock" }))).await?;
        // Over HTTP it comes on another stream than the answer of the call, and perhaps later.
        let completed = json!("notifications/elicitation/complete");
        guest.until(|seen| seen["told"].as_array().unwrap().contains(&completed)).await?;
        let before = guest.take("told");
        guest.set("told_before", before);
        guest.set("told", json!([]));
        texts(client, &change).await?;
        let wanted =
            ["prompts/list_changed", "resources/list_changed", "resources/updated", "tools/list_changed"];
        guest
            .until(|seen| wanted.iter().all(|name| seen["told"].as_array().unwrap().contains(&json!(name))))
            .await?;
        client.unsubscribe(from(json!({ "uri": "tea://stock" }))).await?;
    }
    Ok(())
}

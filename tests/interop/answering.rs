//! A client of ours that answers whatever it is asked, and what the cases do with it.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tinymcp::client::{CallOptions, ClientBuilder};
use tinymcp::json::Object;
use tinymcp::protocol::{CreateMessageResult, ElicitResult, PrimitiveSchema, Root};
use tinymcp::{CancelToken, Error, ErrorObject};

use crate::peers::{Used, client, locked};

/// No peer needs nearly as long for anything.
pub(crate) const SOON: Duration = Duration::from_secs(20);

/// A client that answers everything, and what it was asked and told.
pub(crate) struct Seen {
    /// Each question in short.
    questions: Arc<Mutex<Vec<String>>>,
    /// What the user does with the next forms; accepts once there is no more.
    pub(crate) refusals: Arc<Mutex<Vec<ElicitResult>>>,
    pub(crate) notices: Receiver<(String, Value)>,
}

/// What a patient user fills in: the defaults, and something for each required field.
pub(crate) fn filled_in(form: &tinymcp::client::Asked<tinymcp::protocol::ElicitFormParams>) -> Object {
    let mut content = form.defaults();
    for (name, field) in &form.requested_schema.properties {
        if form.requested_schema.is_required(name) && content.json(name).is_none() {
            match field {
                PrimitiveSchema::Boolean(_) => content.insert(name, &true),
                PrimitiveSchema::SingleSelect(choice) => {
                    content.insert(name, choice.options().next().expect("a choice").0);
                }
                _ => content.insert(name, "Ada"),
            }
        }
    }
    content
}

pub(crate) fn answering() -> (ClientBuilder, Seen) {
    let questions = Arc::<Mutex<Vec<String>>>::default();
    let refusals = Arc::<Mutex<Vec<ElicitResult>>>::default();
    let (told, notices) = channel();
    let told: Mutex<Sender<(String, Value)>> = Mutex::new(told);
    let note = {
        let questions = Arc::clone(&questions);
        move |question: String| locked(&questions).push(question)
    };
    let (form, url, sample) = (note.clone(), note.clone(), note);
    let refused = Arc::clone(&refusals);
    let builder = client()
        .roots([Root::new("file:///srv/one").with_name("One")])
        .on_elicit(move |asked| {
            form(asked.message.clone());
            let refusal = locked(&refused).pop();
            Ok(refusal.unwrap_or_else(|| ElicitResult::accept(filled_in(asked))))
        })
        .on_elicit_url(move |asked| {
            url(format!("{} {}", asked.host(), asked.url));
            Ok(ElicitResult::accept_url())
        })
        .on_sample(move |request| {
            let prompt: Vec<_> = request.messages.iter().map(|message| message.text_content()).collect();
            sample(format!("{:?} {prompt:?} {}", request.system_prompt, request.max_tokens));
            if prompt[0].contains("secret") {
                return Err(ErrorObject::new(-1, "the user said no"));
            }
            Ok(CreateMessageResult::text("model-1", "once upon a time"))
        })
        .on_notification(move |method, params| {
            let params = params.map(|params| params.to_value()).unwrap_or_default();
            let _ = locked(&told).send((method.to_owned(), params));
        });
    (builder, Seen { questions, refusals, notices })
}

impl Seen {
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.questions))
    }

    /// The next notification for which `is_wanted`; others are passed over.
    pub(crate) fn notice(&self, is_wanted: impl Fn(&str, &Value) -> bool) -> Value {
        let end = Instant::now() + SOON;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let (method, params) = self.notices.recv_timeout(left).expect("a notification in time");
            if is_wanted(&method, &params) {
                return params;
            }
        }
    }

    pub(crate) fn log(&self, text: &str) {
        self.notice(|method, params| {
            method == "notifications/message"
                && params["data"].as_str().is_some_and(|data| data.contains(text))
        });
    }
}

pub(crate) fn text(used: &Used, tool: &str, arguments: Value) -> String {
    used.client.call_tool(tool, arguments).expect("a result").text_content()
}

/// Cancels a call once the server has reported progress on it, or 0.3 s later.
pub(crate) fn give_up(used: &Used, tool: &str, arguments: Value) {
    let token = CancelToken::new();
    let fire = token.clone();
    let options = CallOptions::default().with_cancel(&token).with_progress(move |_| fire.cancel("enough"));
    let call = used.client.start_call(tool, arguments, &options).expect("sent");
    let fire = token.clone();
    let late = std::thread::spawn(move || {
        fire.wait_timeout(Duration::from_millis(300)) || {
            fire.cancel("enough");
            true
        }
    });
    let given_up = call.wait();
    assert!(matches!(given_up, Err(Error::Cancelled(_))), "{given_up:?}");
    late.join().expect("no panic");
}

/// Waits until it is so.
pub(crate) fn soon(what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < end, "{what} does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

//! A tour of what a server can do: a tea shop that sells, shows, asks and tells of changes.
//!
//! ```text
//! $ cargo run --example everything_server
//! ```
//!
//! Or over HTTP, where it says when clients can connect:
//!
//! ```text
//! $ cargo run --features http-server --example everything_server -- --http 127.0.0.1:8000
//! http://127.0.0.1:8000/mcp
//! ```
//!
//! It speaks with clients of every revision. What a client cannot do it is not asked for, but told.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

use serde_json::json;
use tinymcp::context::Question;
use tinymcp::protocol::{
    AudioContent, CacheScope, CompletionContext, Content, CreateMessageParams, ElicitParams, ElicitUrlParams,
    Icon, ImageContent, Implementation, PrimitiveSchema, PromptMessage, RequestedSchema, Resource,
    ResourceTemplate, Root, TextResourceContents,
};
use tinymcp::server::TaskOptions;
use tinymcp::tool::TaskMode;
use tinymcp::{
    Context, FnPrompt, FnResource, FnTemplate, FnTool, PromptRegistry, ResourceRegistry, Server,
    ServerHandle, ToolError, ToolRegistry, data, prompt, tool,
};

const LOGO: &[u8] = b"<svg xmlns='http://www.w3.org/2000/svg'><circle r='9'/></svg>";
const STOCK: &str = "tea://stock";

data! {
    /// A kind of tea
    #[derive(Debug, Clone, Copy)]
    enum Tea { Green as "green", Oolong as "oolong", Black as "black" }

    /// What an order comes to
    struct Bill {
        what: String,
        /// The price
        cents: u64,
    }

    /// What a guest fills in
    struct Wish {
        name: String,
        tea: Tea,
        cups: u32 = 1,
        milk: bool = false,
    }
}

impl Tea {
    const ALL: [Self; 3] = [Self::Green, Self::Oolong, Self::Black];

    fn name(self) -> &'static str {
        ["green", "oolong", "black"][self as usize]
    }
}

/// How many grams there are of each tea. Calls run at the same time.
struct Stock([AtomicU32; 3]);

impl Stock {
    fn take(&self, tea: Tea, grams: u32) -> Result<(), ToolError> {
        let left = self.0[tea as usize].fetch_update(SeqCst, SeqCst, |left| left.checked_sub(grams));
        let less = |left| ToolError::new(format_args!("only {left} g of {} tea are left", tea.name()));
        left.map(drop).map_err(less)
    }

    fn to_json(&self) -> String {
        let left = Tea::ALL.map(|tea| (tea.name(), &self.0[tea as usize]));
        json!(BTreeMap::from(left)).to_string()
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // To stderr, and what a handler logs goes to its client as well.
    tinymcp::logging::init_bridged()?;
    let stock = Arc::new(Stock([1000; 3].map(AtomicU32::new)));
    let server = Server::builder("tea-shop", "1.0.0")
        .info(Implementation::new("tea-shop", "1.0.0").with_title("Tea shop").with_icons(vec![icon()]))
        .instructions("Read tea://stock before you order.")
        .tools(ToolRegistry::new().with(brew())?.with(menu())?)
        .resources(resources(&stock)?)
        .prompts(PromptRegistry::new().with(pairing())?.with(invitation())?)
        .logging()
        .tasks(TaskOptions::default().with_poll_interval(Duration::from_millis(100)))
        .cache(Duration::from_secs(60), CacheScope::Public)
        .extension("com.example/loyalty", json!({"pointsPerEuro": 2}))
        .on_roots_changed(|| log::info!("the guest has moved"))
        .on_notification(|method, _| log::info!("unexpected: {method}"))
        .on_end(|| log::info!("the shop is closed"))
        .build()?;
    // A registry can be changed at any time. These tools tell clients of changes, for which they need a handle of the server.
    for tool in asking(&server.handle()).into_iter().chain([order(&server, &stock), open_season(&server)]) {
        server.tools().register(tool)?;
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => server.start().map(drop)?,
        ["--http", address] => serve_http(&server, address)?,
        _ => return Err("usage: everything_server [--http ADDRESS], such as 127.0.0.1:8000".into()),
    }
    Ok(())
}

#[cfg(feature = "http-server")]
#[allow(clippy::print_stdout, reason = "its stdout is not the protocol")]
fn serve_http(server: &Server, address: &str) -> Result<(), Box<dyn Error>> {
    let http = tinymcp::http::HttpServer::builder(server).bind(address)?;
    println!("{}", http.url());
    Ok(http.serve()?)
}

#[cfg(not(feature = "http-server"))]
fn serve_http(_: &Server, address: &str) -> Result<(), Box<dyn Error>> {
    Err(format!("{address} is not served: build with the feature http-server").into())
}

fn icon() -> Icon {
    Icon::new("https://example.com/tea.svg").with_mime_type("image/svg+xml")
}

/// Takes its time, says how far it is, and stops when nobody wants the tea any more. A client that can may have it as a task.
fn brew() -> FnTool {
    let brew = tool! {
        /// Brew a cup of tea
        fn brew(
            tea: Tea = Tea::Black,
            steps: u32 = 3,
            pause_ms: u64 = 10,
            cx: &Context,
        ) -> Result<String, ToolError> {
            for step in 1..=steps {
                cx.progress(f64::from(step), f64::from(steps), "steeping");
                if cx.cancel_token().wait_timeout(Duration::from_millis(pause_ms)) {
                    return Err(ToolError::new("poured away"));
                }
            }
            Ok(format!("a cup of {} tea", tea.name()))
        }
    };
    brew.title("Brew").idempotent().open_world(false).icon(icon()).task_mode(TaskMode::Optional)
}

/// Answers with every kind of content.
fn menu() -> FnTool {
    let menu = tool! {
        /// Show what the shop has
        fn menu() -> Vec<Content> {
            vec![
                "Today's teas: green, oolong, black".into(),
                ImageContent::from_bytes(LOGO, "image/svg+xml").into(),
                AudioContent::from_bytes(b"clink", "audio/wav").into(),
                Content::resource_link(STOCK, "stock"),
                Content::resource(TextResourceContents::new("tea://about", ABOUT)),
            ]
        }
    };
    menu.read_only()
}

/// Returns structured data, logs, and changes a resource.
fn order(server: &Server, stock: &Arc<Stock>) -> FnTool {
    let (stock, shop) = (Arc::clone(stock), server.handle());
    tool! {
        /// Order tea
        fn order(tea: Tea, grams: u32 = 100, gift: bool = false) -> Result<Bill, ToolError> {
            stock.take(tea, grams)?;
            log::info!("sold {grams} g of {} tea", tea.name());
            shop.resource_updated(STOCK);
            let cents = u64::from(grams) * 8 + if gift { 250 } else { 0 };
            Ok(Bill { what: format!("{grams} g of {} tea", tea.name()), cents })
        }
    }
}

/// Adds a tool, a resource and a prompt while the server runs: clients are told that their lists have changed.
fn open_season(server: &Server) -> FnTool {
    let tools = server.tools().clone();
    let resources = server.resources().cloned().unwrap_or_default();
    let prompts = server.prompts().cloned().unwrap_or_default();
    tool! {
        /// Offer something for a season
        fn open_season(name: String) -> Result<String, ToolError> {
            let text = format!("{name} is here");
            resources.replace(FnResource::text(Resource::new("tea://season", &*name), &*text))?;
            prompts.replace(prompt! { fn season() -> String { text.clone() } })?;
            tools.replace(tool! {
                /// Taste what the season brings
                fn taste() -> &'static str { "delicious" }
            })?;
            Ok(format!("{name} has begun"))
        }
    }
}

/// Tools that ask the client: its user, its model, its folders. How that travels depends on the client's revision; a handler does
/// not see it. It passes on with `?` that an answer is still to come, and may run again from its beginning then.
fn asking(shop: &ServerHandle) -> Vec<FnTool> {
    let shop = shop.clone();
    let choose = tool! {
        /// Ask the guest what they would like
        fn choose(cx: &Context) -> Result<String, ToolError> {
            let fields = RequestedSchema::new()
                .required("name", PrimitiveSchema::text().with_title("Your name").with_length(1, 40))
                .required("tea", PrimitiveSchema::choice(Tea::ALL.map(Tea::name)).with_default("green"))
                .optional("cups", PrimitiveSchema::integer().with_range(1, 8).with_default(1))
                .optional("milk", PrimitiveSchema::boolean().with_default(false));
            let answer = cx.elicit("wish", ElicitParams::form("What would you like?", fields))?;
            Ok(match answer.content_as::<Wish>()? {
                Some(Wish { name, tea, cups, milk }) => {
                    format!("{cups} x {} for {name}, {} milk", tea.name(), if milk { "with" } else { "no" })
                }
                None => "the guest would like nothing".to_owned(),
            })
        }
    };
    let pay = tool! {
        /// Send the guest to the bank
        fn pay(cx: &Context) -> Result<&'static str, ToolError> {
            let page = ElicitUrlParams::new("Please pay", "https://example.com/pay/7").with_elicitation_id("7");
            if !cx.elicit("pay", page)?.is_accepted() {
                return Ok("not paid");
            }
            shop.elicitation_completed("7"); // as the bank would have it done, once the money is there
            Ok("paid")
        }
    };
    let advise = tool! {
        /// Ask the guest's model for advice
        fn advise(mood: String, cx: &Context) -> Result<String, ToolError> {
            let question = format!("Which tea if I feel {mood}?");
            Ok(cx.sample("advice", CreateMessageParams::new(100).with_user(question))?.text_content())
        }
    };
    let locate = tool! {
        /// Find out where the guest is
        fn locate(cx: &Context) -> Result<String, ToolError> { Ok(places(&cx.roots()?)) }
    };
    let parties = AtomicU32::new(1);
    let cater = tool! {
        /// Plan a party: everything is asked at once
        fn cater(cx: &Context) -> Result<String, ToolError> {
            // Counted once, however often this runs.
            let number: u32 = cx.step("number", || Ok::<_, ToolError>(parties.fetch_add(1, SeqCst)))?;
            let fields = RequestedSchema::new().required("guests", PrimitiveSchema::integer().with_default(12));
            let toast = CreateMessageParams::new(50).with_user("A toast, please");
            let (form, toast, roots) = cx.ask((
                Question::elicit("guests", ElicitParams::form("How many guests?", fields)),
                Question::sample("toast", toast),
                Question::roots("where"),
            ))?;
            let guests = form.content.unwrap_or_default();
            let guests = guests.json("guests").map_or("no", |guests| guests.as_str());
            Ok(format!("party {number}: {guests} guests, {}, {}", places(&roots), toast.text_content()))
        }
    };
    vec![choose, pay.open_world(true), advise, locate, cater.task_mode(TaskMode::Optional)]
}

fn places(roots: &[Root]) -> String {
    roots.iter().map(|root| &*root.uri).collect::<Vec<_>>().join(", ")
}

const ABOUT: &str = "Open from ten to six.";

fn resources(stock: &Arc<Stock>) -> Result<ResourceRegistry, Box<dyn Error>> {
    let about = Resource::new("tea://about", "about").with_mime_type("text/plain").with_title("About us");
    let logo = Resource::new("tea://logo", "logo").with_mime_type("image/svg+xml").with_icons(vec![icon()]);
    let left = Resource::new(STOCK, "stock").with_mime_type("application/json");
    let leaf = ResourceTemplate::new("tea://leaf/{name}", "leaf").with_description("What a tea is like");
    let leaf = FnTemplate::new(leaf, |variables, _| {
        // Without a tea of that name there is no such resource.
        let tea = Tea::ALL.into_iter().find(|tea| variables.get("name") == Some(tea.name()))?;
        Some(format!("{} tea, loose", tea.name()))
    });
    let leaf = leaf
        .list(|_| {
            let leaf = |tea: Tea| Resource::new(format!("tea://leaf/{}", tea.name()), tea.name());
            Ok(Tea::ALL.map(leaf).to_vec())
        })
        .complete_from("name", Tea::ALL.map(Tea::name));
    let stock = Arc::clone(stock);
    Ok(ResourceRegistry::new()
        .with(FnResource::text(about, ABOUT).cache(Duration::from_secs(3600), CacheScope::Public))?
        .with(FnResource::bytes(logo, LOGO))?
        .with(FnResource::new(left, move |_| stock.to_json()))?
        .with_template(leaf)?)
}

/// The words of its first argument complete themselves; the second has a completer, which knows the first.
fn pairing() -> FnPrompt {
    let pairing = prompt! {
        /// What to eat with a tea
        fn pairing(tea: Tea, dish: Option<String>) -> Vec<PromptMessage> {
            let dish = dish.unwrap_or_else(|| "nothing".to_owned());
            vec![
                PromptMessage::user(format!("I drink {} tea and eat {dish}.", tea.name())),
                PromptMessage::assistant("A good choice. Would you like more?"),
            ]
        }
    };
    pairing.title("Pairing").complete("dish", |typed: &str, known: &CompletionContext, _: &Context| {
        let dishes = if known.get("tea") == Some("black") { ["scones", "cake"] } else { ["rice", "cake"] };
        dishes.into_iter().filter(|dish| dish.starts_with(typed)).collect::<Vec<_>>()
    })
}

/// A prompt may ask as well, and so may a resource.
fn invitation() -> FnPrompt {
    prompt! {
        /// Invite a friend
        fn invitation(cx: &Context) -> Result<String, ToolError> {
            let [root, ..] = &cx.roots()?[..] else { return Err(ToolError::new("you are nowhere")) };
            Ok(format!("Come to tea at {}.", root.uri))
        }
    }
}

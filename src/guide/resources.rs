//! Resources: what a model or its user can read, by its address.
//!
//! Use a resource for something that is *there*: a file, a table, a configuration. The user or the host chooses what to read. Use a
//! [tool](crate::guide::tools) for something that is *done*, which the model chooses.
//!
//! ```
//! use tinymcp::protocol::{Resource, ResourceTemplate};
//! use tinymcp::{FnResource, FnTemplate, ResourceRegistry, Server, testing};
//!
//! let notes = |title: &str| (title == "milk").then_some("2 litres");
//! let resources = ResourceRegistry::new()
//!     // A fixed text, fixed bytes, a function.
//!     .with(FnResource::text(Resource::new("house://rules", "rules").with_mime_type("text/plain"), "Be kind."))?
//!     .with(FnResource::bytes(Resource::new("house://logo", "logo").with_mime_type("image/png"), b"\x89PNG"))?
//!     .with(FnResource::new(Resource::new("house://load", "load"), |_cx| std::fs::read_to_string("/proc/loadavg")))?
//!     // A kind of resource: one function for many addresses.
//!     .with_template(
//!         FnTemplate::new(ResourceTemplate::new("notes://{title}", "note"), move |variables, _cx| {
//!             notes(variables.get("title")?)
//!         })
//!         .list(|_cx| Ok(vec![Resource::new("notes://milk", "milk")])),
//!     )?;
//! let client = testing::pair(&Server::builder("house", "1.0.0").resources(resources).build()?)?;
//!
//! let uris: Vec<_> = client.list_resources()?.into_iter().map(|resource| resource.uri).collect();
//! assert_eq!(uris, ["house://load", "house://logo", "house://rules", "notes://milk"]);
//! assert_eq!(client.list_resource_templates()?.items[0].uri_template, "notes://{title}");
//!
//! assert_eq!(client.read_resource("house://rules")?.text_content(), "Be kind.");
//! assert_eq!(client.read_resource("notes://milk")?.text_content(), "2 litres");
//! let logo = client.read_resource("house://logo")?;
//! let tinymcp::protocol::ResourceContents::Blob(blob) = &logo.contents[0] else { panic!("bytes") };
//! assert_eq!(blob.bytes()?, b"\x89PNG");
//!
//! let error = client.read_resource("notes://bread").unwrap_err();
//! assert!(error.is_resource_not_found());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a function returns
//!
//! [`ResourceOutput`](crate::resource::ResourceOutput) lists the types: text, bytes, contents of several addresses, a whole result, an
//! `Option` or a `Result` of these. `None` and [`NotFound`](crate::resource::NotFound) mean that there is no such resource; any other
//! error is one of the request.
//!
//! # Templates
//!
//! A template is a URI template of RFC 6570. Variables are decoded before the function gets them, and safe to use as names of files:
//! an address whose variables would lead out of a folder (`..`, an encoded `/`) fits no template. [`UriTemplate`] has the rules. If
//! several templates fit, the one with the most fixed text wins; a resource of its own goes before all.
//!
//! - [`list`](crate::FnTemplate::list) says which of its resources there are, for clients that show a list;
//! - [`complete`](crate::FnTemplate::complete) proposes values for a variable: see [prompts](crate::guide::prompts#completion).
//!
//! # Changes
//!
//! A registry may change while it is served: clients are told of the list by itself. That what is *behind* an address has changed, only
//! the program knows: [`resource_updated`](crate::ServerHandle::resource_updated) tells those who want to hear of it. See
//! [changes](crate::guide::changes).
//!
//! # Lists and pages
//!
//! A server cuts long lists into pages of 250 ([`page_size`](crate::server::ServerBuilder::page_size)). A client's lists are whole
//! unless it asks for pages:
//!
//! ```
//! use tinymcp::client::CallOptions;
//! use tinymcp::protocol::Resource;
//! use tinymcp::{FnResource, ResourceRegistry, Server, testing};
//!
//! let resources = ResourceRegistry::new();
//! for n in 0..5 {
//!     resources.register(FnResource::text(Resource::new(format!("n://{n}"), format!("{n}")), "…"))?;
//! }
//! let client = testing::pair(&Server::builder("n", "1").resources(resources).page_size(2).build()?)?;
//!
//! assert_eq!(client.list_resources()?.items.len(), 5);
//! for page in client.resource_pages(&CallOptions::default()).take(1) {
//!     assert_eq!(page?.items.len(), 2); // the others are not asked for
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A malformed item does not hide the others: it is among [`rejected`](crate::client::List::rejected), with what is wrong.
//!
//! [`UriTemplate`]: crate::protocol::UriTemplate

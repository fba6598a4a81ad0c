//! Who hears what servers tell.

use std::sync::Arc;

use super::ClientBuilder;
use crate::client::ClientHandle;
use crate::client::changes::Filter;
use crate::json::Json;

impl ClientBuilder {
    /// Calls `callback` after the server said that its tools changed.
    ///
    /// Callbacks run on a thread of their own, one at a time, and may use the handle as they like: list the tools, listen to
    /// more changes, close the client. A burst of notices is one call, 10 ms later, and changes during the callback are one more.
    /// So is a reconnect, as nobody knows what changed meanwhile. What an iterator of changes takes, they are told as well:
    /// see [`ClientHandle::listen`].
    ///
    /// A Modern server tells of changes that it was asked for: that is done once the protocol is settled, without waiting for the
    /// answer. If it does not succeed there is a warning in the log.
    ///
    /// ```
    /// use tinymcp::{Client, Server, ToolRegistry, testing, tool};
    ///
    /// let (tx, rx) = std::sync::mpsc::channel();
    /// let builder = Client::builder().on_tools_changed(move |client| {
    ///     let _ = tx.send(client.list_tools().map(|list| list.items.len()));
    /// });
    /// let server = Server::builder("growing", "1.0.0").tools(ToolRegistry::new()).build()?;
    /// let client = testing::pair_with(builder, &server)?;
    /// assert!(client.list_tools()?.items.is_empty());
    /// server.tools().register(tool! { fn echo(text: String) -> String { text } })?;
    /// assert_eq!(rx.recv()??, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_tools_changed(mut self, callback: impl Fn(&ClientHandle) + Send + Sync + 'static) -> Self {
        self.notices.on_tools_changed = Some(Arc::new(callback));
        self
    }

    /// Calls `callback` after the server said that its prompts changed; otherwise as [`on_tools_changed`](Self::on_tools_changed).
    #[must_use]
    pub fn on_prompts_changed(mut self, callback: impl Fn(&ClientHandle) + Send + Sync + 'static) -> Self {
        self.notices.on_prompts_changed = Some(Arc::new(callback));
        self
    }

    /// As [`on_tools_changed`](Self::on_tools_changed), for the lists of resources and of resource templates.
    #[must_use]
    pub fn on_resources_changed(mut self, callback: impl Fn(&ClientHandle) + Send + Sync + 'static) -> Self {
        self.notices.on_resources_changed = Some(Arc::new(callback));
        self
    }

    /// As [`on_tools_changed`](Self::on_tools_changed), for what these resources hold. `callback` is given the URI that changed, as it is
    /// written here. Resources that are not known yet are better [listened to](ClientHandle::listen) later.
    #[must_use]
    pub fn on_resource_updated<S: AsRef<str>>(
        mut self,
        uris: impl IntoIterator<Item = S>,
        callback: impl Fn(&ClientHandle, &str) + Send + Sync + 'static,
    ) -> Self {
        let uris = Filter::new().resource_uris(uris);
        self.notices.on_resource_updated = Some((uris, Arc::new(callback)));
        self
    }

    /// Calls `callback` with the id of a URL the user was sent to, when the server says that it is done with. Servers
    /// of 2025-11-25 may say so. It runs on the thread of the other notifications.
    #[must_use]
    pub fn on_elicitation_complete(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.notices.on_elicitation_complete = Some(Arc::new(callback));
        self
    }

    /// Calls `callback` with every notification that no other callback and no [`Changes`](crate::client::Changes) takes, in order, on
    /// the same thread. If it cannot keep up, up to 256 wait and further ones are dropped, which is reported in the log.
    #[must_use]
    pub fn on_notification(mut self, callback: impl Fn(&str, Option<&Json>) + Send + Sync + 'static) -> Self {
        self.notices.on_other = Some(Arc::new(callback));
        self
    }
}

//! How a server of a host is opened: its entry made whole, contained, and connected to.

use std::sync::Arc;

use super::asking::Asking;
use super::audit::{Intent, Kind, Outcome};
use super::config::{Launch, LaunchReach};
use super::connector::Remote;
use super::consent::Subject;
use super::containment::Containment;
use super::ending::closed;
use super::inner::Inner;
use super::member::Member;
use crate::client::{Client, ClientBuilder, Timeouts};
use crate::error::{Error, Result};
use crate::transport::{ChildProcess, Transport};

impl Inner {
    /// Asks whether what a configuration says may be run, or reached. What the program itself says need not be asked.
    ///
    /// # Errors
    /// When it may not.
    pub(super) fn allow_start(&self, member: &Arc<Member>) -> Result<Option<String>> {
        if member.entry.source.is_none() {
            return Ok(None);
        }
        let subject = Subject::start(&member.entry, &member.configured);
        let permit =
            self.permit(&subject, member, Kind::Start, &member.entry.written(), Some(&member.gone))?;
        Ok(Some(permit.reason().to_owned()))
    }

    /// A client of `member`, whose server is started or reached by this.
    ///
    /// # Errors
    /// When it cannot be.
    pub(super) fn open(&self, member: &Arc<Member>, allowed: Option<&str>) -> Result<Client> {
        let written = member.entry.written();
        let entry = self.intend(member, Intent::new(Kind::Start).with_target(&written), allowed)?;
        let opened = self.transport(member).and_then(|transport| self.client(member).open(transport));
        if let Some(entry) = entry {
            entry.outcome(&match &opened {
                Ok(_) => Outcome::ok(),
                Err(error) => Outcome::failed(error),
            });
        }
        opened
    }

    fn transport(&self, member: &Arc<Member>) -> Result<Box<dyn Transport>> {
        let launch = self.settings.resolver.resolve(&member.entry);
        let launch = launch.map_err(|e| Error::InvalidUse(e.to_string()))?;
        self.hide(&launch, member);
        // A source may have waited for the user.
        if member.gone.is_cancelled() {
            return Err(closed());
        }
        match launch.reach {
            LaunchReach::Command { program, args, env, env_removed, cwd } => {
                let mut child = ChildProcess::new(program).environment(self.settings.environment);
                child = child.args(args.iter().map(|arg| arg.reveal())).shown_as(member.entry.written());
                for (name, value) in &env {
                    child = child.env(name, value.reveal());
                }
                for name in &env_removed {
                    child = child.env_remove(name);
                }
                if let Some(cwd) = cwd {
                    child = child.current_dir(cwd);
                }
                Ok(Box::new(self.contained(member, child)))
            }
            LaunchReach::Url { url, headers, transport } => {
                let written = member.entry.written();
                let remote = Remote {
                    server: &member.name,
                    written: &written,
                    url: &url,
                    headers: &headers,
                    transport,
                };
                self.settings.connector.transport(&remote)
            }
        }
    }

    /// Nothing of what was put in its place is to be in the audit log, or in texts that the server writes.
    fn hide(&self, launch: &Launch, member: &Member) {
        let taken = launch.taken(&member.entry);
        member.hide(taken.iter().map(|secret| secret.reveal()));
        let Some(log) = &self.settings.audit else { return };
        for secret in taken {
            if let Err(error) = log.hide(secret.reveal()) {
                log::warn!("{error}");
            }
        }
    }

    /// The command in the sandbox of this server, if there is one.
    fn contained(&self, member: &Arc<Member>, child: ChildProcess) -> ChildProcess {
        let containment = Containment::new(&self.settings.spawner);
        match self.settings.contain.as_ref().and_then(|choose| choose(&member.entry)) {
            Some(sandbox) => containment.with_shared(sandbox).apply(child),
            None => containment.apply(child),
        }
    }

    fn client(&self, member: &Arc<Member>) -> ClientBuilder {
        let mut builder =
            Client::builder().timeouts(Timeouts::default().with_connect(self.settings.start_time));
        if let Some(tune) = &self.settings.tune {
            builder = tune(&member.name, builder);
        }
        if let Some(handler) = &self.settings.handler {
            builder = builder.handler(Asking::new(self.this(), member, Arc::clone(handler)));
        }
        let (inner, changed) = (self.this(), Arc::downgrade(member));
        builder.on_tools_changed(move |handle| {
            if let (Some(inner), Some(member)) = (inner.upgrade(), changed.upgrade()) {
                inner.changed(&member, handle);
            }
        })
    }
}

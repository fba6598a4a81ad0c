//! Consent: who may start, call and ask what.
//!
//! ```text
//!  Subject ──▶ Policy ──▶ allow ─────────────────────────────────────────────┐
//!                 ├─────▶ ask ──▶ Grants: answered before? ── yes ───────────┤
//!                 │                    no, or it has changed ──▶ Consent ────┼──▶ Permit ── revoked ──▶ its token fires
//!                 └─────▶ deny                                     └── no ──▶ Error::Denied
//! ```
//!
//! | | |
//! |---|---|
//! | [`Policy`], [`Rules`], [`Pattern`], [`Decision`] | what is allowed, denied, or to be asked |
//! | [`Subject`] | what it is about |
//! | [`Consent`], [`Question`], [`Answer`], [`AskLimits`] | asking the user, and how often |
//! | [`Grants`], [`Grant`], [`Refusal`] | what was answered before, listed and taken back |
//!
//! How it all goes together is told in [the guide](crate::guide::consent).
//!
//! **Invariants:** what cannot be decided is denied: no policy's panic, no missing user, no broken file allows anything; no lock is held
//! while the policy, the user or a disk is waited for; a consent is to what was shown: once that has changed, it is none.

mod asking;
mod desk;
mod difference;
mod gatekeeper;
mod grants;
mod meant;
mod pattern;
mod permit;
mod question;
mod rules;
mod store;
mod subject;
#[cfg(test)]
mod tests;
mod told;
mod turn;

pub use asking::{Answer, AskLimits, Consent};
pub(in crate::host) use gatekeeper::Gatekeeper;
pub use grants::{Grant, Grants, Refusal};
pub use pattern::Pattern;
pub(in crate::host) use permit::Permit;
pub use question::{Question, QuestionKind};
pub use rules::{Decision, Policy, Rules};
pub use subject::Subject;

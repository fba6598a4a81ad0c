//! Guide: a page a theme, each with code that runs.
//!
//! New here? Read [tools], then [testing] and [starting servers](starting). Everything else can wait
//! until it is needed. The [features] of the protocol are in one table, each with the page that shows it.
//!
//! | to write servers | |
//! |---|---|
//! | [tools] | functions that a model can call: arguments, results, rules |
//! | [resources] | what can be read by its address; templates, lists, pages |
//! | [prompts] | messages for users to begin with; completion of what they type |
//! | [asking] | the user's answer, the language model's or a folder in the middle of a call, and **what may run twice** |
//! | [questions] | the kinds of questions, an example each |
//! | [changes] | telling clients, and hearing from servers, that something has changed |
//! | [tasks] | calls that take too long to wait for |
//! | [logging] | log messages for the client's user; the bridge from the `log` crate |
//! | [validation] | how much of a schema is compared, by whom |
//! | [http] | serving over HTTP: both eras at one address, who may come in, sessions, stopping |
//! | [guarding] | paths, URLs, commands and queries made of arguments; least privilege, credentials |
//! | [operating] | proxies, replicas, TLS, numbers of the operating system; configurations of nginx |
//!
//! | to use them | |
//! |---|---|
//! | [starting] | child processes, sockets, their environment and their end |
//! | [http_client] | servers over HTTP: headers and tokens, proxies, TLS, connections that break |
//! | [containment] | servers that may do little: sandboxes, limits, containers, and how each ends |
//! | [functions] | tools in the formats of language models, and a model's calls answered |
//! | [calls] | progress, cancellation, timeouts, traces, ping |
//! | [caching] | results that are used again |
//! | [errors] | what goes wrong, who sees it, what to do |
//! | [audit] | a log of what was done on behalf of the user; what servers send is untrusted |
//!
//! | to be a host | |
//! |---|---|
//! | [host] | many servers behind one registry: starting, names, failures |
//! | [consent] | who may start, call and ask what; asking the user, remembering, taking back |
//! | [config] | configuration files of other hosts: what they name, secrets, writing them |
//! | [registry] | finding servers that others have published, and setting them up |
//! | [resilience] | failures, restarts, pools: what is tried again, and what never is |
//!
//! | to train models | |
//! |---|---|
//! | [trajectories] | recording what an agent does; the format of recordings |
//! | [training] | training examples in the forms that trainers read |
//! | [environments] | servers as environments of reinforcement learning: resets, rewards, many at once |
//! | [replay] | a recorded session served again, and a trajectory run once more |
//!
//! | to know | |
//! |---|---|
//! | [eras] | the revisions of the protocol, what is in which, and how both sides agree |
//! | [features] | every feature, and the page that shows it |
//! | [threads] | which threads there are, and whose code runs on them |
//! | [limits] | how much of everything there may be, and every time-out |
//! | [testing] | client and server in one process; a peer that follows a script |
//! | [platforms] | Linux, macOS, Windows |

pub mod asking;
pub mod audit;
pub mod caching;
pub mod calls;
pub mod changes;
pub mod config;
pub mod consent;
pub mod containment;
pub mod environments;
pub mod eras;
pub mod errors;
pub mod features;
pub mod functions;
pub mod guarding;
pub mod host;
pub mod http;
pub mod http_client;
pub mod limits;
pub mod logging;
pub mod operating;
pub mod platforms;
pub mod prompts;
pub mod questions;
pub mod registry;
pub mod replay;
pub mod resilience;
pub mod resources;
pub mod starting;
pub mod tasks;
pub mod testing;
pub mod threads;
pub mod tools;
pub mod training;
pub mod trajectories;
pub mod validation;

//! Any set of servers as an environment of reinforcement learning (feature `trajectory`).
//!
//! An [`Environment`](crate::trajectory::Environment) is made of any [`Caller`](crate::client::Caller): one client, a pool, a
//! [host](super::host) of many servers. The tools of all of them are the actions; what a tool returns is what is seen:
//!
//! ```
//! # #[cfg(feature = "trajectory")] {
//! use std::sync::{Arc, Mutex};
//! use serde_json::json;
//! use tinymcp::trajectory::{Environment, Sampler};
//! use tinymcp::{Server, ToolRegistry, testing, tool};
//!
//! // The server: it says what is to be done when it is reset, and rewards what is done.
//! let number = Arc::new(Mutex::new(0));
//! let hidden = Arc::clone(&number);
//! let tools = ToolRegistry::new()
//!     .with(tool! {
//!         /// Hide another number: the same seed, the same number
//!         fn reset_environment(seed: u64) -> &'static str {
//!             *number.lock().unwrap() = seed % 10;
//!             "Find my number, from 0 to 9."
//!         }
//!     })?
//!     .with(tool! {
//!         /// Is it this one?
//!         fn guess(number: u64) -> String {
//!             let found = *hidden.lock().unwrap() == number % 10;
//!             json!({"reward": if found { 1.0 } else { -0.1 }, "terminated": found, "success": found}).to_string()
//!         }
//!     })?;
//! let client = testing::pair(&Server::builder("numbers", "1.0.0").tools(tools).build()?)?;
//!
//! // The agent, which has no idea: any tool, with any arguments that its schema allows.
//! let mut environment = Environment::new(Arc::new(client.handle())).max_steps(200);
//! let mut policy = Sampler::new(1);
//! assert_eq!(environment.reset(7)?.text(), "Find my number, from 0 to 9.");
//! let last = loop {
//!     let action = environment.action_space()?.sample(&mut policy)?;
//!     let step = environment.step(&action)?;
//!     if step.is_last() {
//!         break step;
//!     }
//! };
//! assert!(last.terminated && last.info.success == Some(true));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/env_server.rs` is a server for agents with files to edit and tests that pass or fail; `examples/rollout.rs` plays it in
//! many environments at once, records that, and writes training examples.
//!
//! # Actions and what is seen
//!
//! - The [action space](crate::trajectory::ActionSpace) is listed at each reset, and again once servers tell that their tools have
//!   changed; its `generation` tells whether it is another. Each action has the JSON Schema of its arguments. Tools that reset are none.
//! - An action that is refused, an unknown tool or arguments that the tool does not take, is something to learn from: an
//!   observation whose `is_error` is true, and the episode goes on. An environment that does not work, such as a server that died, is an error.
//! - [`observe`](crate::trajectory::Environment::observe) adds resources, which are read after each reset and each step.
//!
//! A [`Sampler`](crate::trajectory::Sampler) makes arguments up. It knows [some keywords](crate::trajectory::SUPPORTED) of JSON
//! Schema; a schema that says more is an error that names what, and a tool that has one is passed over by
//! [`sample`](crate::trajectory::ActionSpace::sample).
//!
//! # Rewards and ends
//!
//! Read from what the tool returned: from its structured value, or else from a text of it that is a JSON object.
//!
//! | member | means | instead |
//! |---|---|---|
//! | `reward` | how good that was; without it 0 | [`reward`](crate::trajectory::Environment::reward) |
//! | `terminated`, or `done` | `true`: the episode has come to its end | [`end`](crate::trajectory::Environment::end) |
//! | `truncated` | `true`: the server breaks it off | |
//! | `success` | whether the agent did what it was to do; the last that is said counts | [`success`](crate::trajectory::Environment::success) |
//!
//! ```
//! # #[cfg(feature = "trajectory")] {
//! # use std::sync::Arc;
//! # use tinymcp::trajectory::{Action, Environment};
//! # use tinymcp::{Server, ToolRegistry, testing, tool};
//! # let tools = ToolRegistry::new().with(tool! { fn roll() -> String { "6".into() } })?;
//! # let client = testing::pair(&Server::builder("dice", "1.0.0").tools(tools).build()?)?;
//! // For servers that were not made for it: functions of the action and of what is seen.
//! let mut environment = Environment::new(Arc::new(client.handle()))
//!     .reward(|_, seen| seen.text().parse().unwrap_or(-1.0))
//!     .end(|_, seen| seen.text() == "6")
//!     .success(|last| last.terminated);
//! environment.reset(0)?;
//! let step = environment.step(&Action::new("roll", ())?)?;
//! assert_eq!((step.reward, step.terminated, step.info.success), (6.0, true, Some(true)));
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Resets and seeds
//!
//! [`reset`](crate::trajectory::Environment::reset) calls the tool `reset_environment`, and with several servers that of each
//! (`notes__reset_environment`); [`reset_tool`](crate::trajectory::Environment::reset_tool) names another. It is given the seed if
//! its schema has a property `seed`. Servers without such a tool are started again, which is the surest reset of all:
//!
//! ```no_run
//! # #[cfg(feature = "trajectory")] {
//! use tinymcp::Client;
//! use tinymcp::trajectory::Environment;
//! use tinymcp::transport::ChildProcess;
//!
//! let mut environment = Environment::started_by(|seed| {
//!     let server = ChildProcess::new("my-server").args(["--seed", &seed.to_string()]);
//!     Ok(Client::builder().open(server)?.into_caller())
//! });
//! environment.reset(42)?; // whatever was started before has ended by then
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! An episode is reproducible if its server depends on the seed alone and the agent on its own:
//! [`Random`](crate::trajectory::Random), by which the sampler chooses too, gives the same numbers for a seed in every version.
//!
//! # Limits
//!
//! | so that | | beyond it |
//! |---|---|---|
//! | an episode comes to an end | [`max_steps`](crate::trajectory::Environment::max_steps) | the last step is truncated |
//! | and in time, with what the agent thinks | [`max_time`](crate::trajectory::Environment::max_time) | the step under way is cancelled and truncated, and a later one is not made |
//! | no step hangs | [`step_time`](crate::trajectory::Environment::step_time) | it is cancelled and truncated |
//! | no reset hangs | [`reset_time`](crate::trajectory::Environment::reset_time) | the reset fails |
//!
//! `info.problem` of a step says why it was truncated. None is set by default; a call then takes as long as its
//! [caller](crate::client::CallOptions::with_timeout) waits. [Limits](super::limits#environments) has those of the sampler.
//!
//! # Many at once
//!
//! A [`VecEnvironment`](crate::trajectory::VecEnvironment) has a thread for each member, on which that is made and stepped; as a rule
//! each has a server of its own.
//!
//! ```
//! # #[cfg(feature = "trajectory")] {
//! use tinymcp::trajectory::{Arrived, Environment, Recorder, Sampler, Sink, Trajectories, VecEnvironment};
//! # use std::sync::Arc;
//! # use tinymcp::{Error, Server, ToolRegistry, testing, tool};
//! # fn start(_: usize) -> Result<Arc<dyn tinymcp::client::Caller>, Error> {
//! #     let tools = ToolRegistry::new().with(tool! { fn flip() -> String { r#"{"reward": 1}"#.into() } })
//! #         .map_err(|e| Error::InvalidUse(e.to_string()))?;
//! #     let server = Server::builder("coin", "1.0.0").tools(tools).build().map_err(|e| Error::InvalidUse(e.to_string()))?;
//! #     let (near, far) = tinymcp::transport::memory_pair();
//! #     std::thread::spawn(move || server.serve(far));
//! #     Ok(tinymcp::Client::builder().open(near)?.into_caller())
//! # }
//!
//! let sink = Sink::memory(); // or Sink::open("episodes.jsonl")?
//! let to = sink.clone();
//! let mut environments = VecEnvironment::new(4, move |member| {
//!     let caller = start(member)?; // the client of a child, for example
//!     let recorder = Recorder::new(caller.clone(), &to).with_server("coin");
//!     Ok(Environment::new(caller).record(&recorder).max_steps(10))
//! })?
//! .auto_reset(|member, episode| (member as u64) << 32 | episode);
//!
//! // Together: an action of each, a step of each.
//! environments.reset(&[0, 1, 2, 3])?;
//! let mut policies: Vec<_> = (0..4).map(Sampler::new).collect();
//! for _ in 0..10 {
//!     let mut actions = Vec::new();
//!     for (member, policy) in policies.iter_mut().enumerate() {
//!         actions.push(environments.action_space(member)?.sample(policy)?);
//!     }
//!     for member in environments.step(actions)? {
//!         let step = member.outcome?;
//!         assert_eq!(step.next.is_some(), step.is_last()); // the next episode has begun by itself
//!     }
//! }
//!
//! // Or each as it is ready: nobody waits for the slowest.
//! let mut left = 100;
//! for member in 0..4 {
//!     let action = environments.action_space(member)?.sample(&mut policies[member])?;
//!     environments.send(member, action)?;
//! }
//! while let Some(done) = environments.receive() {
//!     if let Arrived::Step(step) = done.outcome? {
//!         assert_eq!(step.reward, 1.0);
//!     }
//!     left -= 1;
//!     if left >= 4 {
//!         let action = environments.action_space(done.index)?.sample(&mut policies[done.index])?;
//!         environments.send(done.index, action)?;
//!     }
//! }
//! drop(environments);
//!
//! let rewards: f64 = Trajectories::new(&sink.contents()[..])
//!     .map(|trajectory| trajectory.map(|one| one.total_reward().unwrap_or_default()))
//!     .sum::<std::io::Result<_>>()?;
//! assert!(rewards >= 100.0);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A member whose server dies, or that panics, is made anew by itself while the others go on. The step it was at is truncated, with
//! the reason in `info.problem`, and the beginning of another episode as its `next`. What a member sees depends on its seeds and
//! actions alone, not on the others.
//!
//! Its threads wait for children, and need no processor for that. 64 environments, each with a child, make about 10,000 steps a second on
//! two cores, of whose time the servers take two fifths; a loop in Python with the official SDK makes 900 with the same servers
//! (`.ci/steps`).
//!
//! # Recording
//!
//! [`record`](crate::trajectory::Environment::record) makes each episode a [trajectory](super::trajectories): the calls, each step
//! with its reward, the end with the sum. Its metadata have `seed`, `episode`, and `member` where there are many;
//! [`task`](crate::trajectory::Environment::task) says what the agent is to do, which is otherwise what is seen at the reset, and
//! [`in_turn`](crate::trajectory::Action::in_turn) what it thought. From there it goes on to
//! [training examples](super::training): the tools that reset are no part of those.
//!
//! A progress line, or anything else that is to hear of each step, is an [`EpisodeLog`](crate::trajectory::EpisodeLog).

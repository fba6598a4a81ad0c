//! Environments over real servers in memory: spaces, steps, rewards, ends, and many at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tinymcp::client::{CallOptions, Caller, List};
use tinymcp::protocol::{CallToolResult, Resource, ToolDefinition};
use tinymcp::testing::{self, Pair};
use tinymcp::trajectory::{
    Action, Arrived, Environment, EpisodeLog, Observation, Sampler, Step, VecEnvironment,
};
use tinymcp::{
    Arguments, Context, Error, FnResource, FnTool, ResourceRegistry, Result, Server, ToolError, ToolRegistry,
    tool,
};

/// A counter that is to reach 3, from where the seed says.
fn counter() -> (Server, Pair) {
    let state = Arc::new(AtomicU64::new(0));
    let tools = ToolRegistry::new();
    let add = |tool: FnTool| tools.register(tool).expect("registers");
    let (reset, up, shown) = (Arc::clone(&state), Arc::clone(&state), Arc::clone(&state));
    add(tool! { fn reset_environment(seed: u64) -> String {
        reset.store(seed % 3, Ordering::SeqCst);
        format!("at {}", seed % 3)
    } });
    add(tool! { fn up(by: u64 = 1) -> Result<String, ToolError> {
        if by > 2 { return Err(ToolError::new("by: at most 2")); }
        let at = up.fetch_add(by, Ordering::SeqCst) + by;
        Ok(json!({"at": at, "reward": if at == 3 { 1.0 } else { -0.5 }, "terminated": at >= 3}).to_string())
    } });
    add(tool! { fn wait(cx: &Context) -> &'static str {
        let _ = cx.cancel_token().wait_timeout(Duration::from_secs(60));
        "waited"
    } });
    let resource = FnResource::new(Resource::new("counter://state", "state"), move |_: &Context| {
        Ok::<_, ToolError>(shown.load(Ordering::SeqCst).to_string())
    });
    let resources = ResourceRegistry::new().with(resource).expect("registers");
    let server = Server::builder("counter", "1").tools(tools).resources(resources).build().expect("a server");
    let client = testing::pair(&server).expect("a pair");
    (server, client)
}

fn environment(client: &Pair) -> Environment {
    Environment::new(Arc::new(client.handle())).observe("counter://state").max_steps(4)
}

fn up(by: u64) -> Action {
    Action::new("up", json!({"by": by})).expect("an action")
}

#[test]
fn an_episode_from_reset_to_end() {
    let (_server, client) = counter();
    let mut environment = environment(&client);
    let error = environment.step(&up(1)).expect_err("not reset");
    assert!(matches!(error, Error::InvalidUse(_)), "{error}");
    let seen = environment.reset(4).expect("resets");
    assert_eq!((seen.text().as_str(), seen.resources[0].item.text_content().as_str()), ("at 1", "1"));
    // An action that is refused is seen, and the episode goes on.
    for (action, problem) in [
        (up(9), "by: at most 2"),
        (Action::new("down", ()).expect("an action"), "down"),
        (Action::new("reset_environment", json!({"seed": 2})).expect("an action"), "is no action"),
    ] {
        let step = environment.step(&action).expect("a step");
        assert!(step.observation.is_error && step.observation.text().contains(problem), "{step:?}");
        assert!(!step.is_last() && step.reward == 0.0);
    }
    let step = environment.step(&up(2)).expect("a step");
    assert_eq!((step.reward, step.terminated, step.truncated, step.info.steps), (1.0, true, false, 4));
    assert_eq!(step.observation.resources[0].item.text_content(), "3");
    assert!(environment.step(&up(1)).is_err());
    // Steps are limited, and rewards add up.
    environment.reset(0).expect("resets");
    let steps: Vec<Step> = (0..4).map(|_| environment.step(&up(0)).expect("a step")).collect();
    assert!(steps[..3].iter().all(|step| !step.is_last()));
    assert!(steps[3].truncated && !steps[3].terminated && steps[3].info.total_reward == -2.0);
}

#[test]
fn a_step_that_takes_too_long_truncates() {
    let (_server, client) = counter();
    let mut environment = environment(&client).step_time(Duration::from_millis(100));
    environment.reset(0).expect("resets");
    let step = environment.step(&Action::new("wait", ()).expect("an action")).expect("a step");
    assert!(step.truncated && step.observation.text() == "the step has taken 100 ms", "{step:?}");
    assert_eq!(step.info.problem.as_deref(), Some("the step has taken 100 ms"));
}

#[test]
fn an_episode_that_takes_too_long_is_truncated() {
    let (_server, client) = counter();
    let limit = Duration::from_secs(1);
    // What is under way is cancelled, long before the step's own limit.
    let mut environment = environment(&client).max_time(limit).step_time(Duration::from_secs(50));
    environment.reset(0).expect("resets");
    let begun = std::time::Instant::now();
    let step = environment.step(&Action::new("wait", ()).expect("an action")).expect("a step");
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert!(step.truncated && !step.terminated && step.observation.is_error);
    assert_eq!(step.info.problem.as_deref(), Some("the episode has taken 1 s"));
    assert!(environment.step(&up(1)).is_err());

    // Each episode has the whole of it; and what comes after its end is not made.
    let space = environment.action_space().expect("a space");
    let seen = environment.reset(1).expect("resets");
    assert_eq!(seen.resources[0].item.text_content(), "1");
    assert!(!environment.step(&up(1)).expect("a step").is_last());
    // Thinking, until the time is over.
    let thought = std::time::Instant::now();
    while let Some(left) = limit.checked_sub(thought.elapsed()) {
        std::thread::park_timeout(left);
    }
    let step = environment.step(&up(1)).expect("a step");
    assert!(step.truncated && step.observation.is_error && step.reward == 0.0, "{step:?}");
    assert!(environment.action_space().expect("a space") == space);
    assert_eq!(
        client.read_resource("counter://state").expect("a state").text_content(),
        "2",
        "the action was not made"
    );
}

#[test]
fn the_space_follows_the_servers() {
    let (server, client) = counter();
    let mut environment = environment(&client);
    let space = environment.action_space().expect("a space");
    assert_eq!(space.actions.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["up", "wait"]);
    server.tools().register(tool! { fn jump() -> &'static str { "jumped" } }).expect("registers");
    let begun = std::time::Instant::now();
    let later = loop {
        let later = environment.action_space().expect("a space");
        if later.generation != space.generation {
            break later;
        }
        assert!(begun.elapsed() < Duration::from_secs(30));
        std::thread::yield_now();
    };
    assert!(later.get("jump").is_some());
}

#[test]
fn rewards_and_ends_can_be_functions() {
    let (_server, client) = counter();
    let told = Arc::new(Mutex::new(Vec::new()));
    struct Log(Arc<Mutex<Vec<String>>>);
    impl EpisodeLog for Log {
        fn reset(&mut self, seed: u64, observation: &Observation) {
            self.0.lock().expect("no panic").push(format!("reset {seed}: {}", observation.text()));
        }
        fn step(&mut self, action: &Action, step: &Step) {
            self.0.lock().expect("no panic").push(format!("{} {}", action.tool, step.reward));
        }
    }
    let mut environment = environment(&client)
        .reward(|action, seen| if seen.is_error { -1.0 } else { action.tool.len() as f64 })
        .end(|_, seen| seen.is_error)
        .log(Log(Arc::clone(&told)));
    environment.reset(3).expect("resets");
    assert!(!environment.step(&up(1)).expect("a step").terminated);
    assert!(environment.step(&up(5)).expect("a step").terminated);
    assert_eq!(*told.lock().expect("no panic"), ["reset 3: at 0", "up 2", "up -1"]);
}

/// Fails for good after so many calls. Owns its client.
struct Frail(Pair, AtomicU64);

impl Frail {
    /// It never fails.
    fn sturdy() -> Arc<Self> {
        Self::after(u64::MAX)
    }

    fn after(calls: u64) -> Arc<Self> {
        Arc::new(Self(counter().1, AtomicU64::new(calls)))
    }
}

impl Caller for Frail {
    fn call(&self, name: &str, arguments: Arguments<'_>, options: &CallOptions) -> Result<CallToolResult> {
        let take = |left: u64| left.checked_sub(u64::from(name == "up"));
        if self.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_err() {
            return Err(Error::Protocol("it broke".into()));
        }
        self.0.call(name, arguments, options)
    }

    fn list_tools(&self, options: &CallOptions) -> Result<List<ToolDefinition>> {
        Caller::list_tools(&self.0.handle(), options)
    }
}

#[test]
fn one_that_fails_is_made_anew_and_the_others_go_on() {
    let made = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&made);
    let mut all = VecEnvironment::new(4, move |index| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(Environment::new(if index == 2 { Frail::after(5) } else { Frail::sturdy() }))
    })
    .expect("starts");
    all.reset(&[0; 4]).expect("resets");
    let mut problems = Vec::new();
    for round in 0..8 {
        for member in all.step(vec![up(0); 4]).expect("steps") {
            let step = member.outcome.expect("a step");
            match step.info.problem {
                Some(problem) => problems.push((round, member.index, problem)),
                None => assert_eq!(step.reward, -0.5),
            }
        }
    }
    assert!(matches!(&problems[..], [(5, 2, problem)] if problem.contains("it broke")), "{problems:?}");
    assert_eq!(made.load(Ordering::SeqCst), 5);
}

#[test]
fn members_are_reproducible_whatever_the_order() {
    /// What member `index` sees in an episode of random actions.
    fn episode(all: &mut VecEnvironment, sampler: &mut [Sampler], lockstep: bool) -> Vec<Vec<String>> {
        let count = all.len();
        let mut seen = vec![Vec::new(); count];
        let action = |sampler: &mut Sampler| up(sampler.random().below(3));
        for _ in 0..20 {
            let mut take =
                |index: usize, step: Step| seen[index].push(format!("{:?}", step.observation.text()));
            if lockstep {
                let actions = sampler.iter_mut().map(action).collect();
                for member in all.step(actions).expect("steps") {
                    take(member.index, member.outcome.expect("a step"));
                }
            } else {
                for index in (0..count).rev() {
                    all.send(index, action(&mut sampler[index])).expect("sent");
                }
                while let Some(member) = all.receive() {
                    let Arrived::Step(step) = member.outcome.expect("a step") else {
                        panic!("not asked for")
                    };
                    take(member.index, step);
                }
            }
        }
        seen
    }
    let run = |lockstep| {
        let mut all = VecEnvironment::new(8, |_| {
            // It never ends: past 3 it goes on.
            Ok(Environment::new(Frail::sturdy()).end(|_, _| false))
        })
        .expect("starts");
        all.reset(&(0..8).collect::<Vec<_>>()).expect("resets");
        let mut samplers: Vec<_> = (0..8).map(Sampler::new).collect();
        episode(&mut all, &mut samplers, lockstep)
    };
    let first = run(true);
    assert_eq!(first, run(false));
    assert_ne!(first[0], first[1]);
}

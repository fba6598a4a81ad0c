//! Environments that are recorded: what is read back is what happened, and members do not get mixed up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use serde_json::{Value, json};
use tinymcp::client::{CallOptions, Caller, Event, EventSource, Events, Filter, List};
use tinymcp::protocol::{CallToolResult, Content, ReadResourceResult, Resource, ToolDefinition};
use tinymcp::trajectory::{
    Action, DoneEvent, EndReason, Environment, ErrorKind, EventKind, Observation, ReasoningForm, Recorder,
    Redaction, ResetEvent, SftOptions, Sink, Statistics, Step, StepEvent, ToolsForm, Trajectories,
    Trajectory, TurnEvent, VecEnvironment,
};
use tinymcp::transport::memory_pair;
use tinymcp::{
    Arguments, Client, Context, Error, FnResource, FnTool, ResourceRegistry, Result, Server, ToolError,
    ToolRegistry, tool,
};

/// A counter that is to reach 3, from where the seed says, and an echo.
fn counter() -> Server {
    let state = Arc::new(AtomicU64::new(0));
    let tools = ToolRegistry::new();
    let add = |tool: FnTool| tools.register(tool).expect("registers");
    let (reset, up, shown) = (Arc::clone(&state), Arc::clone(&state), Arc::clone(&state));
    add(tool! { fn reset_environment(seed: u64) -> Result<String, ToolError> {
        if seed == 666 { return Err(ToolError::new("seed: not this one")); }
        reset.store(seed % 3, Ordering::SeqCst);
        Ok(format!("Count to 3 from {}.", seed % 3))
    } });
    add(tool! { fn up(by: u64 = 1) -> String {
        let at = up.fetch_add(by, Ordering::SeqCst) + by;
        let (reward, success) = if at == 3 { (1.0, true) } else { (-0.5, false) };
        json!({"at": at, "reward": reward, "success": success, "terminated": at >= 3}).to_string()
    } });
    let any = json!({"type": "object"});
    add(FnTool::new("echo", "Everything back", any, |arguments: Arguments<'_>, _: &Context| {
        let picture = Content::image("AJ//gAA=", "image/png");
        Ok::<_, ToolError>(CallToolResult::new(vec![Content::text(arguments.as_str()), picture]))
    }));
    let resource = FnResource::new(Resource::new("counter://state", "state"), move |_: &Context| {
        Ok::<_, ToolError>(shown.load(Ordering::SeqCst).to_string())
    });
    let resources = ResourceRegistry::new().with(resource).expect("registers");
    Server::builder("counter", "1").tools(tools).resources(resources).build().expect("a server")
}

fn caller() -> Arc<dyn Caller> {
    served(&counter())
}

/// A client whose server ends with it.
fn served(server: &Server) -> Arc<dyn Caller> {
    let (near, far) = memory_pair();
    let server = server.clone();
    std::thread::spawn(move || server.serve(far));
    Client::builder().open(near).expect("a client").into_caller()
}

fn recorded(caller: Arc<dyn Caller>, sink: &Sink) -> Environment {
    let recorder = Recorder::new(Arc::clone(&caller), sink);
    Environment::new(caller).record(&recorder)
}

fn read(sink: &Sink) -> Vec<Trajectory> {
    Trajectories::new(&sink.contents()[..]).collect::<std::io::Result<_>>().expect("trajectories")
}

fn up(by: u64) -> Action {
    Action::new("up", json!({"by": by})).expect("an action")
}

/// What is in a trajectory of an episode.
struct Episode<'a>(&'a Trajectory);

impl<'a> Episode<'a> {
    fn reset(&self) -> &'a ResetEvent {
        let mut all = self.0.events().iter().filter_map(|event| match &event.kind {
            EventKind::Reset(reset) => Some(reset),
            _ => None,
        });
        let reset = all.next().expect("a reset");
        assert!(all.next().is_none(), "one reset an episode");
        reset
    }

    fn steps(&self) -> Vec<&'a StepEvent> {
        let steps = self.0.events().iter().filter_map(|event| match &event.kind {
            EventKind::Step(step) => Some(step),
            _ => None,
        });
        steps.collect()
    }

    fn done(&self) -> Option<&'a DoneEvent> {
        self.0.events().iter().find_map(|event| match &event.kind {
            EventKind::Done(done) => Some(done),
            _ => None,
        })
    }

    /// The call at this place.
    fn call(&self, seq: u64) -> &'a tinymcp::trajectory::ToolCallRecord {
        let event = self.0.events().iter().find(|event| event.seq == seq).expect("a call");
        let EventKind::Call(call) = &event.kind else { panic!("{seq}: {event:?}") };
        call
    }

    /// What was seen after each step, and what was read then.
    fn seen(&self) -> Vec<(CallToolResult, Vec<ReadResourceResult>)> {
        let (mut seen, mut read) = (Vec::new(), Vec::new());
        for event in self.0.events() {
            match &event.kind {
                EventKind::Read(one) => read.extend(one.result.clone()),
                EventKind::Reset(_) => read.clear(),
                EventKind::Step(step) => {
                    let result = match (&step.observation, step.call) {
                        (Some(observation), _) => observation.to().expect("a result"),
                        (None, call) => self.call(call.expect("a call")).result.clone().expect("a result"),
                    };
                    seen.push((result, std::mem::take(&mut read)));
                }
                _ => {}
            }
        }
        seen
    }
}

/// Whether what is read back is the same step.
fn is_same(told: &StepEvent, seen: &(CallToolResult, Vec<ReadResourceResult>), step: &Step) {
    assert_eq!((told.step, told.reward), (step.info.steps, Some(step.reward)));
    assert_eq!((told.terminated, told.truncated), (step.terminated, step.truncated));
    let observation = &step.observation;
    assert_eq!((&seen.0.content, seen.0.is_error()), (&observation.content, observation.is_error));
    assert_eq!(seen.0.structured_content, observation.structured);
    let resources: Vec<_> = observation.resources.iter().map(|one| one.item.clone()).collect();
    assert_eq!(seen.1, resources);
}

#[test]
fn what_is_read_back_is_what_happened() {
    let sink = Sink::memory();
    let mut environment =
        recorded(caller(), &sink).observe("counter://state").max_steps(4).metadata("policy", "a list");
    let action = |tool: &str, arguments: Value| Action::new(tool, arguments).expect("an action");
    let episodes = [
        (4, vec![up(1), up(1).in_turn("One more.")]),
        (3, vec![action("down", json!({})), action("reset_environment", json!({"seed": 2})), up(0), up(0)]),
        (2, vec![up(1)]),
        (5, vec![up(0)]), // and is broken off
    ];
    let mut lived = Vec::new();
    for (seed, actions) in &episodes {
        let begun = environment.reset(*seed).expect("resets");
        let steps: Vec<_> = actions.iter().map(|one| environment.step(one).expect("a step")).collect();
        lived.push((begun, steps));
    }
    drop(environment);
    let all = read(&sink);
    assert_eq!(all.len(), episodes.len());
    for (number, (trajectory, (seed, actions))) in all.iter().zip(&episodes).enumerate() {
        let (begun, lived) = &lived[number];
        let episode = Episode(trajectory);
        assert!(trajectory.is_complete());
        assert_eq!(trajectory.task_description(), begun.text());
        assert_eq!(trajectory.metadata().get::<String>("policy").as_deref(), Some("a list"));
        assert_eq!(trajectory.metadata().get("episode"), Some(number));
        let reset = episode.reset();
        assert_eq!((reset.seed, &reset.error), (Some(*seed), &None));
        let call = episode.call(reset.calls.as_ref().expect("one")[0]);
        assert_eq!(call.arguments.to_value(), json!({"seed": seed}));
        assert_eq!(call.result.as_ref().expect("a result").content, begun.content);
        let (steps, seen) = (episode.steps(), episode.seen());
        assert_eq!(steps.len(), actions.len());
        for (at, (step, action)) in steps.iter().zip(actions).enumerate() {
            is_same(step, &seen[at], &lived[at]);
            assert_eq!(step.tool, action.tool);
            let arguments = match step.call {
                Some(call) => &episode.call(call).arguments,
                None => step.arguments.as_ref().expect("where there is no call"),
            };
            assert_eq!(*arguments, action.arguments);
        }
        let last = lived.last().expect("one");
        let is_over = last.is_last();
        assert_eq!(episode.done().is_some(), is_over);
        let reason = if is_over { EndReason::Ended } else { EndReason::Dropped };
        assert_eq!(trajectory.end().expect("its end").reason, Some(reason));
        assert_eq!(trajectory.total_reward(), Some(last.info.total_reward));
        if let Some(done) = episode.done() {
            assert_eq!((done.terminated, done.truncated), (last.terminated, last.truncated));
            assert_eq!((done.steps, done.total_reward), (last.info.steps, Some(last.info.total_reward)));
        }
        // As the environment's result says itself.
        assert_eq!(trajectory.success(), if is_over { last.info.success } else { None });
    }
    let ends: Vec<_> = all.iter().map(|one| (one.success(), one.total_reward())).collect();
    assert_eq!(
        ends,
        [(Some(true), Some(0.5)), (Some(false), Some(-1.0)), (Some(true), Some(1.0)), (None, Some(-0.5))]
    );
    // The second step of the first episode was of a turn of its own; the tools are known wherever one looks.
    let turn = all[0].events().iter().find(|event| matches!(event.kind, EventKind::Turn(_)));
    assert_eq!(turn.expect("a turn").turn, 1);
    assert!(all.iter().all(|one| one.tools().is_some_and(|tools| tools.len() == 3)));
    // What resets is not what the agent did.
    let mut figures = Statistics::new();
    all.iter().for_each(|one| figures.add(one));
    assert_eq!((figures.calls(), figures.tools().contains_key("reset_environment")), (7, false));
    assert_eq!(figures.success_rate(), Some(2.0 / 3.0));
}

#[test]
fn numbers_bytes_and_emoji_survive() {
    let sink = Sink::memory();
    let mut environment = recorded(caller(), &sink).end(|_, _| true);
    environment.reset(0).expect("resets");
    let text = r#"{"big":9007199254740993,"huge":123456789012345678901234567890,"fine":0.1000000000000000055511151231257827,"emoji":"🦀👩‍🚀","controls":"\u0000\u001b[31m\u2028","blob":"AJ//gAA="}"#;
    let arguments = tinymcp::json::Json::parse(text).expect("JSON");
    let step = environment.step(&Action::new("echo", &arguments).expect("an action")).expect("a step");
    drop(environment);
    let all = read(&sink);
    let episode = Episode(&all[0]);
    let call = episode.call(episode.steps()[0].call.expect("a call"));
    assert_eq!(call.arguments.as_str(), text);
    let result = call.result.as_ref().expect("a result");
    assert_eq!(result.content, step.observation.content);
    assert_eq!(result.text_content(), text);
    let Content::Image(picture) = &result.content[1] else { panic!("a picture") };
    assert_eq!(picture.data, "AJ//gAA=");
    let example = SftOptions::new().example(&all[0]).expect("an example").to_json();
    assert!(example.as_str().contains("9007199254740993"), "{example:?}");
}

#[test]
fn members_share_a_file_and_are_told_apart() {
    const MEMBERS: usize = 8;
    const STEPS: usize = 40;
    let path = std::env::temp_dir().join(format!("tinymcp-members-{}.jsonl", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let sink = Sink::open(&path).expect("a file");
    let writes = sink.clone();
    let mut all = VecEnvironment::new(MEMBERS, move |_| {
        Ok(recorded(caller(), &writes).observe("counter://state").max_steps(5))
    })
    .expect("starts")
    .auto_reset(|member, episode| member as u64 * 1000 + episode);
    let seeds: Vec<u64> = (0..MEMBERS as u64).map(|member| member * 1000).collect();
    let begun = all.reset(&seeds).expect("resets");
    let mut lived: Vec<Vec<(Observation, Vec<Step>)>> =
        begun.into_iter().map(|seen| vec![(seen, Vec::new())]).collect();
    for round in 0..STEPS {
        // Each member does something else.
        let actions = (0..MEMBERS).map(|member| up((member + round) as u64 % 2)).collect();
        for member in all.step(actions).expect("steps") {
            let step = member.outcome.expect("a step");
            let next = step.next.clone();
            assert_eq!(step.is_last(), next.is_some());
            lived[member.index].last_mut().expect("one").1.push(step);
            lived[member.index].extend(next.map(|seen| (seen, Vec::new())));
        }
    }
    drop(all);
    assert_eq!((sink.lost(), sink.refused(), sink.open_trajectories()), (0, 0, 0));
    let mut read: BTreeMap<(usize, usize), Trajectory> = BTreeMap::new();
    for trajectory in Trajectories::open(&path).expect("a file") {
        let trajectory = trajectory.expect("a trajectory");
        let number = |name: &str| trajectory.metadata().get::<usize>(name).expect("a number");
        let (member, episode) = (number("member"), number("episode"));
        assert_eq!(number("seed"), member * 1000 + episode);
        assert!(read.insert((member, episode), trajectory).is_none(), "{member} has {episode} twice");
    }
    assert_eq!(read.len(), lived.iter().map(Vec::len).sum::<usize>());
    for ((member, number), trajectory) in &read {
        let (begun, lived) = &lived[*member][*number];
        let episode = Episode(trajectory);
        assert!(trajectory.is_complete());
        assert_eq!(trajectory.task_description(), begun.text());
        let (steps, seen) = (episode.steps(), episode.seen());
        assert_eq!(steps.len(), lived.len());
        for (at, step) in steps.iter().enumerate() {
            is_same(step, &seen[at], &lived[at]);
        }
    }
    // They really were at it at the same time.
    let text = std::fs::read_to_string(&path).expect("text");
    let ids = text.lines().filter_map(|line| {
        serde_json::from_str::<Value>(line).ok()?["trajectory"].as_str().map(str::to_owned)
    });
    let mut ids: Vec<String> = ids.collect();
    ids.dedup();
    assert!(ids.len() > 2 * read.len(), "{} runs of {} trajectories", ids.len(), read.len());
    std::fs::remove_file(path).expect("removed");
}

/// Works for so many calls of `up`, then for none.
struct Frail(Arc<dyn Caller>, AtomicU64);

impl Caller for Frail {
    fn call(&self, name: &str, arguments: Arguments<'_>, options: &CallOptions) -> Result<CallToolResult> {
        let take = |left: u64| left.checked_sub(u64::from(name == "up"));
        if self.1.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_err() {
            return Err(Error::Protocol("it broke".into()));
        }
        self.0.call(name, arguments, options)
    }

    fn list_tools(&self, options: &CallOptions) -> Result<List<ToolDefinition>> {
        self.0.list_tools(options)
    }
}

#[test]
fn failures_are_recorded_and_the_member_begins_again() {
    let sink = Sink::memory();
    let writes = sink.clone();
    let mut all = VecEnvironment::new(2, move |index| {
        let calls = if index == 0 { u64::MAX } else { 2 };
        let environment = recorded(Arc::new(Frail(caller(), AtomicU64::new(calls))), &writes);
        Ok(environment.end(|_, _| false).reward(|action, _| {
            assert!(action.tool != "echo", "as it was told");
            0.25
        }))
    })
    .expect("starts");
    all.reset(&[3, 3]).expect("resets");
    for round in 0..4 {
        for member in all.step(vec![up(0), up(0)]).expect("steps") {
            let step = member.outcome.expect("a step");
            let has_failed = (member.index, round) == (1, 2);
            assert_eq!(
                step.next.is_some(),
                has_failed,
                "{member_index} {round}",
                member_index = member.index
            );
            if has_failed {
                assert!(step.truncated && step.observation.is_error && step.info.total_reward == 0.5);
                assert_eq!(step.next.expect("a beginning").text(), "Count to 3 from 0.");
            }
        }
    }
    // A function that panics is a failure like any other.
    let echo = Action::new("echo", ()).expect("an action");
    let steps = all.step(vec![echo, up(0)]).expect("steps");
    let step = steps[0].outcome.as_ref().expect("a step");
    assert!(step.truncated && step.next.is_some(), "{step:?}");
    assert!(step.info.problem.as_ref().is_some_and(|problem| problem.contains("panicked")));
    assert!(steps[1].outcome.is_ok());
    // The tool that resets may fail: an error in its place, and the member lives.
    let error = all.reset(&[3, 666]).expect_err("it fails");
    assert!(error.to_string().contains("not this one"), "{error}");
    all.reset(&[3, 3]).expect("resets");
    drop(all);
    let all = read(&sink);
    let mut broken =
        all.iter().filter_map(|one| Some((one, Episode(one).done().filter(|done| done.truncated)?)));
    let (trajectory, done) = broken.next_back().expect("the one that broke");
    assert_eq!((done.steps, done.total_reward), (3, Some(0.5)));
    let steps = Episode(trajectory).steps().len();
    let last = Episode(trajectory).steps()[steps - 1].clone();
    assert_eq!((last.reward, last.error.map(|error| error.kind)), (None, Some(ErrorKind::Protocol)));
    let unset: Vec<_> = all.iter().filter(|one| Episode(one).reset().error.is_some()).collect();
    assert_eq!(unset.len(), 2, "it was tried once more with a new one");
    assert!(unset.iter().all(|one| one.is_complete() && Episode(one).reset().seed == Some(666)));
}

#[test]
fn a_restart_ends_what_was_before_and_is_recorded() {
    let sink = Sink::memory();
    let started = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&started);
    let mut before: Weak<dyn Caller> = Weak::<Frail>::new();
    let recorder = Recorder::new(caller(), &sink).with_server("counter");
    let mut environment = Environment::started_by(move |seed| {
        assert!(before.upgrade().is_none(), "the one before is still there");
        count.fetch_add(1, Ordering::SeqCst);
        if seed == 7 {
            return Err(Error::Protocol("it does not start".into()));
        }
        let caller = caller();
        before = Arc::downgrade(&caller);
        Ok(caller)
    })
    .record(&recorder);
    let error = environment.action_space().expect_err("nothing was started");
    assert!(error.to_string().contains("reset comes first"), "{error}");
    for seed in [1, 2] {
        environment.reset(seed).expect("resets");
        assert!(!environment.step(&up(0)).expect("a step").is_last());
        assert!(environment.recording().expect("recorded").is_recorded());
    }
    assert!(environment.reset(7).is_err());
    assert!(environment.step(&up(0)).is_err());
    environment.reset(1).expect("it starts again");
    drop(environment);
    assert_eq!(started.load(Ordering::SeqCst), 4);
    let all = read(&sink);
    let seeds: Vec<_> = all.iter().map(|one| Episode(one).reset().seed.expect("a seed")).collect();
    assert_eq!(seeds, [1, 2, 7, 1]);
    assert!(all.iter().all(Trajectory::is_complete));
    let servers: Vec<_> =
        all.iter().flat_map(Trajectory::tool_calls).map(|call| call.server.clone()).collect();
    assert!(servers.iter().all(|server| server.as_deref() == Some("counter")), "{servers:?}");
}

/// Two servers under names, as a host has them.
struct Both(Arc<dyn Caller>, Arc<dyn Caller>);

impl Both {
    fn of<'a>(&self, name: &'a str) -> Result<(&Arc<dyn Caller>, &'a str)> {
        match name.split_once("__") {
            Some(("a", tool)) => Ok((&self.0, tool)),
            Some(("b", tool)) => Ok((&self.1, tool)),
            _ => Err(Error::InvalidUse(format!("no tool {name}"))),
        }
    }
}

impl Caller for Both {
    fn call(&self, name: &str, arguments: Arguments<'_>, options: &CallOptions) -> Result<CallToolResult> {
        let (caller, tool) = self.of(name)?;
        caller.call(tool, arguments, options)
    }

    fn list_tools(&self, options: &CallOptions) -> Result<List<ToolDefinition>> {
        let mut all = self.0.list_tools(options)?;
        all.items.iter_mut().for_each(|tool| tool.name = format!("a__{}", tool.name));
        for mut tool in self.1.list_tools(options)?.items {
            tool.name = format!("b__{}", tool.name);
            all.items.push(tool);
        }
        Ok(all)
    }

    fn events(&self, filter: Filter) -> Result<Events> {
        struct Two(Events, Events);
        impl EventSource for Two {
            fn next(&mut self, time: Option<std::time::Duration>) -> Option<Event> {
                let time = time.expect("nobody waits for ever here");
                self.0.next_timeout(time).or_else(|| self.1.next_timeout(time))
            }
        }
        Ok(Events::new(Two(self.0.events(filter.clone())?, self.1.events(filter)?)))
    }
}

#[test]
fn the_space_is_that_of_all_servers_and_all_are_reset() {
    let sink = Sink::memory();
    let (first, second) = (counter(), counter());
    let mut environment = recorded(Arc::new(Both(served(&first), served(&second))), &sink);
    environment.reset(1).expect("resets");
    let names = |environment: &mut Environment| -> Vec<String> {
        let space = environment.action_space().expect("a space");
        space.actions.iter().map(|tool| tool.name.clone()).collect()
    };
    assert_eq!(names(&mut environment), ["a__echo", "a__up", "b__echo", "b__up"]);
    let schema =
        environment.action_space().expect("a space").get("b__up").expect("it").input_schema.to_value();
    assert_eq!(schema["properties"]["by"]["type"], "integer");
    for _ in 0..2 {
        // Both are where the seed says, whatever was done before.
        let text = environment.reset(1).expect("resets").text();
        assert_eq!(text, "Count to 3 from 1.\nCount to 3 from 1.");
        for tool in ["a__up", "b__up"] {
            let step = environment.step(&Action::new(tool, ()).expect("an action")).expect("a step");
            assert!(step.observation.text().contains("\"at\":2"), "{step:?}");
        }
    }
    first.tools().register(tool! { fn jump() -> &'static str { "jumped" } }).expect("registers");
    let begun = std::time::Instant::now();
    while !names(&mut environment).contains(&"a__jump".to_owned()) {
        assert!(begun.elapsed() < std::time::Duration::from_secs(30));
        std::thread::yield_now();
    }
    drop(environment);
    let last = read(&sink).pop().expect("one");
    assert_eq!(Episode(&last).reset().calls.as_ref().map(Vec::len), Some(2));
    assert!(last.events().iter().any(|event| matches!(event.kind, EventKind::Notice(_))));
    assert_eq!(last.tools().map(<[_]>::len), Some(7));
}

#[test]
fn an_episode_makes_a_training_example() {
    let sink = Sink::memory();
    let mut environment = recorded(caller(), &sink);
    environment.reset(1).expect("resets");
    let mut thought = TurnEvent::from("It is 1 now, so 2 is missing.");
    thought.text = Some("I add 2.".to_owned());
    environment.step(&up(2).in_turn(thought)).expect("a step");
    drop(environment);
    let trajectory = read(&sink).pop().expect("one");
    let options = SftOptions::new().with_tools(ToolsForm::List).with_reasoning(ReasoningForm::Field);
    let example =
        options.without_empty_answer().example(&trajectory).expect("an example").to_json().to_value();
    let messages = example["messages"].as_array().expect("messages");
    let mut told: Vec<_> = messages.iter().map(|one| one["role"].as_str().expect("a role")).collect();
    told.retain(|role| *role != "system");
    assert_eq!(told, ["user", "assistant", "tool"], "{example}");
    let user = messages.iter().find(|one| one["role"] == "user").expect("one");
    assert_eq!(user["content"], "Count to 3 from 1.");
    assert!(example.to_string().contains("so 2 is missing"));
    let tools: Vec<_> =
        example["tools"].as_array().expect("tools").iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(tools, ["echo", "up"]);
    assert_eq!(example["metadata"], json!({"success": true, "reward": 1.0, "num_tool_calls": 1}));
}

#[test]
fn only_the_copy_is_redacted_and_a_reward_must_be_a_number() {
    let (sink, caller) = (Sink::memory(), caller());
    let recorder =
        Recorder::new(Arc::clone(&caller), &sink).with_redaction(Redaction::new().keys(["secret"]));
    let mut environment = Environment::new(caller)
        .record(&recorder)
        .task("Keep it.")
        .reward(|action, _| if action.tool == "up" { f64::NAN } else { 0.0 });
    environment.reset(0).expect("resets");
    for tool in ["echo", "reset_environment"] {
        let step = environment.step(&Action::new(tool, json!({"secret": "xyzzy"})).expect("an action"));
        assert_eq!(step.expect("a step").observation.text().contains("xyzzy"), tool == "echo");
    }
    let error = environment.step(&up(1)).expect_err("no number");
    assert!(error.to_string().contains("NaN"), "{error}");
    assert!(environment.step(&up(1)).is_err(), "the episode is over");
    drop(environment);
    let trajectory = read(&sink).pop().expect("one");
    assert_eq!(trajectory.task_description(), "Keep it.");
    let steps = Episode(&trajectory);
    assert!(!format!("{:?}", steps.steps()).contains("xyzzy"));
    assert!(!format!("{:?}", steps.call(steps.steps()[0].call.expect("a call")).arguments).contains("xyzzy"));
}

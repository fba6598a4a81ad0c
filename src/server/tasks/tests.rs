//! What becomes of tasks, step by step; with moments of our own, so that nobody waits for time to pass.

use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::bounded;
use serde_json::{Value, json};

use super::*;
use crate::peer::Asked as Question;

const BEARER: Owner = Owner::Bearer(None);

fn at(seconds: u64) -> Moment {
    static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let after = Duration::from_secs(seconds);
    let begin = *BEGIN.get_or_init(Instant::now);
    Moment { instant: begin + after, time: SystemTime::UNIX_EPOCH + after }
}

fn new_task(store: &mut Store, owner: Owner, ttl: Duration, bytes: usize) -> NewTask {
    let (number, id) = store.next_id();
    let call = Arc::new(Call::new(1.into()));
    NewTask { number, id, owner, ttl, call, job: Box::new(|| ()), bytes }
}

fn add(store: &mut Store, owner: Owner, ttl: u64) -> (String, Arc<Call>) {
    let new = new_task(store, owner, Duration::from_secs(ttl), 10);
    let (id, call) = (new.id.clone(), Arc::clone(&new.call));
    store.insert(new, at(0)).expect("room");
    (id, call)
}

fn done(text: &str) -> Outcome {
    Outcome::Result(Json::from(json!(text)), None)
}

fn question(key: &str) -> (String, Question) {
    (key.to_owned(), Question { method: "roots/list".to_owned(), params: Json::empty_object() })
}

fn look(store: &mut Store, id: &str, now: Moment) -> Value {
    match store.get(&BEARER, id, now) {
        Ok((task, outcome)) => serde_json::to_value(detailed(task, outcome.as_deref())).expect("JSON"),
        Err(error) => json!(error.code),
    }
}

/// What may happen to a task.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Ask,
    Answer,
    Withdraw,
    Finish,
    Fail,
    Cancel,
    Expire,
}

fn take(store: &mut Store, id: &str, step: Step) {
    let (answers, _keep) = bounded(1);
    match step {
        Step::Ask => drop(store.ask(id, vec![question("q")], &answers, at(1))),
        Step::Answer => {
            let responses = Json::from(json!({"q": 1, "q#2": 2, "never": 3}));
            let responses = Members::of(responses.as_raw()).expect("an object");
            drop(store.answer(&BEARER, id, responses, at(1)));
        }
        Step::Withdraw => store.withdraw(id, &["q".to_owned(), "q#2".to_owned()], at(1)),
        Step::Finish => store.finish(id, done("r"), at(1)),
        Step::Fail => store.finish(id, Outcome::Error(ErrorObject::new(-1, "no")), at(1)),
        Step::Cancel => drop(store.cancel(&BEARER, id, at(1))),
        Step::Expire => drop(store.get(&BEARER, id, at(100))),
    }
}

#[test]
fn every_step_from_every_status() {
    use Step::{Answer, Ask, Cancel, Expire, Fail, Finish, Withdraw};
    let gone = "gone";
    for (path, then) in [
        // From working.
        (&[][..], ["input_required", "working", "working", "completed", "failed", "cancelled", gone]),
        // From input_required.
        (&[Ask][..], ["input_required", "working", "working", "completed", "failed", "cancelled", gone]),
        (
            &[Ask, Answer][..],
            ["input_required", "working", "working", "completed", "failed", "cancelled", gone],
        ),
        // What has ended stays so.
        (&[Finish][..], ["completed", "completed", "completed", "completed", "completed", "completed", gone]),
        (&[Ask, Fail][..], ["failed", "failed", "failed", "failed", "failed", "failed", gone]),
        (&[Cancel][..], ["cancelled", "cancelled", "cancelled", "cancelled", "cancelled", "cancelled", gone]),
        (&[Expire][..], [gone; 7]),
    ] {
        for (step, status) in [Ask, Answer, Withdraw, Finish, Fail, Cancel, Expire].into_iter().zip(then) {
            let mut store = Store::new(TaskOptions::default());
            let (id, call) = add(&mut store, BEARER, 50);
            path.iter().chain([&step]).for_each(|step| take(&mut store, &id, *step));
            let task = look(&mut store, &id, at(2));
            let told = task["status"].as_str().unwrap_or(gone);
            assert_eq!(told, status, "{path:?} {step:?}: {task}");
            // Each payload belongs to its status.
            for (member, of) in
                [("inputRequests", "input_required"), ("result", "completed"), ("error", "failed")]
            {
                assert_eq!(task.get(member).is_some(), status == of, "{path:?} {step:?}: {task}");
            }
            let was_cancelled = matches!(status, "cancelled" | "gone")
                && path.iter().all(|step| *step != Finish && *step != Fail);
            assert_eq!(call.cancel.is_cancelled(), was_cancelled || status == gone, "{path:?} {step:?}");
        }
    }
}

#[test]
fn ids_have_one_form_and_do_not_repeat() {
    let mut store = Store::new(TaskOptions::default());
    let mut ids: Vec<String> = (0..1000).map(|_| store.next_id().1).collect();
    assert!(ids.iter().all(|id| id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 1000);
    // Nobody can compute them elsewhere.
    assert!(!ids.contains(&Store::new(TaskOptions::default()).next_id().1));
}

#[test]
fn a_task_lives_as_long_as_it_says() {
    let mut store = Store::new(TaskOptions::default());
    let (short, call) = add(&mut store, BEARER, 5);
    let endless = new_task(&mut store, BEARER, Duration::MAX, 0);
    let endless_id = endless.id.clone();
    let task = store.insert(endless, at(0)).expect("room");
    assert_eq!(serde_json::to_value(&task).expect("JSON")["ttlMs"], json!(u64::MAX));
    assert_eq!(look(&mut store, &short, at(4))["ttlMs"], 5000);
    assert_eq!(look(&mut store, &short, at(5)), json!(-32602));
    assert_eq!(call.cancel.reason(), Some("the task has expired"));
    assert_eq!(look(&mut store, &endless_id, at(1_000_000_000))["status"], "working");
    // A handler that goes on after that is heard by nobody.
    store.finish(&short, done("late"), at(6));
    assert_eq!(look(&mut store, &short, at(6)), json!(-32602));
    let options = TaskOptions::default().with_ttl(Duration::ZERO).with_max_ttl(Duration::from_secs(60));
    for (wish, seconds) in [(None, 1), (Some(0), 1), (Some(30_000), 30), (Some(u64::MAX), 60)] {
        assert_eq!(options.lifetime(wish), Duration::from_secs(seconds), "{wish:?}");
    }
}

#[test]
fn the_oldest_that_have_ended_make_room_and_else_there_is_none() {
    let mut store = Store::new(TaskOptions::default().with_max_tasks(3).with_max_bytes(100));
    let ids: Vec<_> = (0..3).map(|_| add(&mut store, BEARER, 50).0).collect();
    let full = new_task(&mut store, BEARER, Duration::from_secs(50), 10);
    let error = store.insert(full, at(1)).expect_err("full");
    assert_eq!(error.message, "server busy: no more than 3 tasks with 100 bytes");
    assert_eq!(store.after.jobs.len(), 1, "what it held is given back");
    store.finish(&ids[1], done("b"), at(1));
    store.finish(&ids[0], done("a"), at(2));
    let (third, _) = add(&mut store, BEARER, 50);
    assert_eq!(look(&mut store, &ids[0], at(3)), json!(-32602), "the oldest made room");
    assert_eq!(look(&mut store, &ids[1], at(3))["result"], "b");
    // Bytes count as well: of results, and of calls that wait.
    store.finish(&ids[2], done(&"x".repeat(88)), at(3));
    assert_eq!(look(&mut store, &ids[1], at(3)), json!(-32602));
    assert_eq!(look(&mut store, &ids[2], at(3))["status"], "completed");
    assert!(store.begin().is_some());
    assert!(store.begin().is_none(), "it is begun once");
    store.finish(&third, done(&"x".repeat(200)), at(3));
    let task = look(&mut store, &third, at(3));
    assert_eq!(task["error"]["message"], "server busy: no room for a result of 202 bytes", "{task}");
    let too_large = new_task(&mut store, BEARER, Duration::from_secs(50), 101);
    assert!(store.insert(too_large, at(3)).is_err());
    let mut store = Store::new(TaskOptions::default().with_max_result_bytes(10));
    let (id, _) = add(&mut store, BEARER, 50);
    store.finish(&id, done("123456789"), at(1));
    let task = look(&mut store, &id, at(1));
    assert_eq!(task["error"]["message"], "the result of the task has 11 bytes, more than 10", "{task}");
    assert_eq!(task["statusMessage"], task["error"]["message"]);
}

#[test]
fn a_key_is_used_once_and_answered_once() {
    let mut store = Store::new(TaskOptions::default());
    let (id, _) = add(&mut store, BEARER, 50);
    let (answers, answered) = bounded(8);
    let keys = store.ask(&id, vec![question("a"), question("b")], &answers, at(1)).expect("open");
    assert_eq!(keys, ["a", "b"]);
    // Another thread of the handler asks at the same time.
    assert_eq!(store.ask(&id, vec![question("a")], &answers, at(2)).expect("open"), ["a#2"]);
    let asked = |store: &mut Store| {
        let task = look(store, &id, at(3));
        let keys =
            task["inputRequests"].as_object().map(|requests| requests.keys().cloned().collect::<Vec<_>>());
        (keys.unwrap_or_default().join(" "), task["lastUpdatedAt"].as_str().expect("a time").to_owned())
    };
    assert_eq!(asked(&mut store), ("a a#2 b".to_owned(), "1970-01-01T00:00:02.000Z".to_owned()));
    let mut give = |responses: Value| {
        let responses = Json::from(responses);
        let members = Members::of(responses.as_raw()).expect("an object");
        store.answer(&BEARER, &id, members, at(4)).expect("known");
        asked(&mut store).0
    };
    assert_eq!(give(json!({"never": 1, "A": 2, "a#3": 3})), "a a#2 b");
    assert_eq!(give(json!({"b": "B"})), "a a#2");
    assert_eq!(give(json!({"b": "again", "a#2": "A2", "a": "A"})), "");
    let got: Vec<_> = answered.try_iter().map(|(place, answer)| (place, answer.to_value())).collect();
    assert_eq!(got, [(1, json!("B")), (0, json!("A")), (0, json!("A2"))]);
    assert_eq!(store.ask(&id, vec![question("a")], &answers, at(5)).expect("open"), ["a#3"]);
}

#[test]
fn a_connection_sees_its_own_tasks_page_by_page() {
    let mut store = Store::new(TaskOptions::default());
    let (one, other) = (Owner::Connection(1), Owner::Connection(2));
    let ids: Vec<_> = (0..5).map(|_| add(&mut store, one.clone(), 50).0).collect();
    let (foreign, _) = add(&mut store, other.clone(), 50);
    let (bearer, _) = add(&mut store, BEARER, 50);
    let mut seen = Vec::new();
    let mut after = Some(0);
    while let Some(number) = after {
        let (page, next) = store.list(&one, number, 2, at(1));
        assert!(page.len() <= 2);
        seen.extend(page.into_iter().map(|task| task.task_id));
        after = next;
    }
    assert_eq!(seen, ids, "the oldest first");
    for (owner, id) in [(&one, &foreign), (&one, &bearer), (&BEARER, &foreign), (&other, &ids[0])] {
        assert_eq!(store.get(owner, id, at(1)).expect_err("not theirs").code, -32602);
    }
    for hostile in
        ["", "0", &bearer.to_uppercase(), &bearer[1..], &format!("{bearer}0"), "\u{0}", "../../etc"]
    {
        assert_eq!(store.get(&BEARER, hostile, at(1)).expect_err(hostile).code, -32602);
    }
    store.forget(1);
    assert_eq!(store.list(&one, 0, 9, at(1)).0.len(), 0);
    assert_eq!(store.list(&other, 0, 9, at(1)).0.len(), 1);
    assert_eq!(look(&mut store, &bearer, at(1))["status"], "working");
}

#[test]
fn requests_for_results_are_answered_when_those_are_known() {
    struct Heard(Mutex<Vec<String>>);
    impl Outlet for Heard {
        fn notify(&self, _: &Call, _: &str, _: &str, _: &dyn Fn() -> bool) -> bool {
            false
        }
        fn post(&self, _: Option<&Call>, _: &str, _: Option<&str>) -> Result<(), crate::peer::NotSent> {
            Ok(())
        }
        fn pending(&self) -> Option<&crate::peer::Pending> {
            None
        }
        fn send(&self, _: &Call, _: &[u8]) -> Result<(), crate::peer::NotSent> {
            Ok(())
        }
        fn look_after(&self) {}
        fn answer(&self, call: &Arc<Call>, result: Result<&str, &ErrorObject>, _: bool) {
            let text = result.map_or_else(|error| error.code.to_string(), str::to_owned);
            lock(&self.0).push(format!("{}: {text}", call.id));
        }
    }
    let heard = Arc::new(Heard(Mutex::default()));
    let outlet: Arc<dyn Outlet> = Arc::<Heard>::clone(&heard);
    let tasks = Tasks {
        options: TaskOptions::default(),
        store: Mutex::new(Store::new(TaskOptions::default())),
        changes: OnceLock::new(),
        answered: crossbeam_channel::bounded(1),
    };
    let one = &Owner::Connection(1);
    let wait = |id: &str, request: i64| {
        let waiter = Waiter { outlet: Arc::downgrade(&outlet), call: Arc::new(Call::new(request.into())) };
        tasks.with(|store, _| store.result(one, id, waiter, at(1)).map(|outcome| outcome.is_some()))
    };
    let new = || tasks.with(|store, _| add(store, one.clone(), 50).0);
    let (finished, cancelled, expired) = (new(), new(), new());
    for (request, id) in [(1, &finished), (2, &finished), (3, &cancelled), (4, &expired)] {
        assert_eq!(wait(id, request), Ok(false));
    }
    tasks.with(|store, _| store.finish(&finished, done("r"), at(2)));
    tasks.with(|store, _| store.cancel(one, &cancelled, at(2))).expect("known");
    assert_eq!(wait(&finished, 5), Ok(true), "it is there");
    tasks.with(|store, _| store.list(one, 0, 9, at(60)));
    assert_eq!(*lock(&heard.0), ["1: \"r\"", "2: \"r\"", "3: -32603", "4: -32602"]);
}

//! The reading role under the model checker: every interleaving, or very many of them.
//!
//! `RUSTFLAGS="--cfg shuttle" cargo test --release --lib model`
//!
//! shuttle executes sequentially consistent interleavings. It finds wrong logic and a wrong order of steps, and not an
//! access that is too weakly ordered: the baton has no such access, by inspection.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use shuttle::rand::Rng;
use shuttle::thread::{self, Thread};

use super::primitive::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use super::{Baton, Lent, Tick};

const ITERATIONS: usize = 20_000;

/// What was seen in any execution, to prove that a model reaches what it is about.
#[derive(Default)]
struct Seen(StdMutex<BTreeSet<String>>);

impl Seen {
    fn note(&self, what: impl std::fmt::Debug) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(format!("{what:?}"));
    }

    #[track_caller]
    fn expect(&self, all: &[&str]) {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), all);
    }
}

fn kind(lent: Lent) -> &'static str {
    match lent {
        Lent::Loan(_) => "loan",
        Lent::Unwatched => "unwatched",
        Lent::Taken => "taken",
    }
}

/// A stand-by that looks at most `looks` times and dozes off at the first quiet look.
#[derive(Debug, PartialEq, Eq)]
enum StandBy {
    Took,
    Dozes,
    /// With what it last saw.
    Ticks(u64),
}

fn stand_by(baton: &Baton, looks: usize) -> StandBy {
    let mut last = baton.turn();
    for _ in 0..looks {
        match baton.tick(&mut last) {
            Tick::Took => return StandBy::Took,
            Tick::Active => {}
            Tick::Quiet if baton.doze(last) => return StandBy::Dozes,
            Tick::Quiet => {}
        }
    }
    StandBy::Ticks(last)
}

/// The race of `lend` and `doze`: a loan whose borrower blocks for ever is taken in two looks, and its stand-by is not asleep.
#[test]
fn a_loan_is_never_left_unwatched() {
    let seen = Arc::new(Seen::default());
    let in_model = Arc::clone(&seen);
    shuttle::check_dfs(
        move || {
            let baton = Arc::new(Baton::default());
            baton.watch();
            let watching = Arc::clone(&baton);
            let watcher = thread::spawn(move || stand_by(&watching, 3));
            let lent = baton.lend();
            let watcher = watcher.join().expect("no panic");
            in_model.note((
                kind(lent),
                std::mem::discriminant(&watcher) == std::mem::discriminant(&StandBy::Dozes),
            ));
            match (lent, watcher) {
                (Lent::Loan(_), StandBy::Ticks(mut last)) => {
                    assert!(baton.is_watched());
                    let looks = [baton.tick(&mut last), baton.tick(&mut last)];
                    assert!(looks.contains(&Tick::Took), "{looks:?}");
                }
                (Lent::Loan(_) | Lent::Taken, StandBy::Took) => {}
                (Lent::Unwatched, StandBy::Dozes | StandBy::Ticks(_)) => {}
                other => panic!("{other:?}"),
            }
        },
        None,
    );
    seen.expect(&[
        r#"("loan", false)"#,
        r#"("taken", false)"#,
        r#"("unwatched", false)"#,
        r#"("unwatched", true)"#,
    ]);
}

/// The end of a call against the look that takes the role: one of them gets it.
#[test]
fn reclaiming_and_taking_have_one_winner() {
    let seen = Arc::new(Seen::default());
    let in_model = Arc::clone(&seen);
    shuttle::check_dfs(
        move || {
            let baton = Arc::new(Baton::default());
            baton.watch();
            let watching = Arc::clone(&baton);
            let watcher = thread::spawn(move || stand_by(&watching, 4));
            let is_held = match baton.lend() {
                Lent::Loan(loan) => baton.reclaim(loan),
                Lent::Unwatched => true,
                Lent::Taken => false,
            };
            let took = watcher.join().expect("no panic") == StandBy::Took;
            assert!(is_held != took, "held {is_held}, took {took}");
            // Whoever has it: it is not lent any more.
            assert_eq!(baton.turn() % 2, 0);
            in_model.note(took);
        },
        None,
    );
    seen.expect(&["false", "true"]);
}

/// Two loans in a row are not mistaken for one: only a call that lasts over two looks loses the role.
#[test]
fn a_new_loan_gets_a_look_of_its_own() {
    shuttle::check_dfs(
        || {
            let baton = Arc::new(Baton::default());
            baton.watch();
            let watching = Arc::clone(&baton);
            let watcher = thread::spawn(move || {
                let mut last = watching.turn();
                let mut looks = vec![(last, Tick::Quiet)];
                while looks.len() < 4 && looks.last().is_some_and(|(_, tick)| *tick != Tick::Took) {
                    let before = last;
                    let tick = watching.tick(&mut last);
                    looks.push((before, tick));
                }
                looks
            });
            let mut taken = None;
            for _ in 0..2 {
                match baton.lend() {
                    Lent::Loan(loan) if baton.reclaim(loan) => {}
                    Lent::Loan(loan) => {
                        taken = Some(loan);
                        break;
                    }
                    // Taken before we could see that it was watched: ours is the last turn but one.
                    Lent::Taken => {
                        taken = Some(baton.turn() - 1);
                        break;
                    }
                    Lent::Unwatched => panic!("nobody dozes"),
                }
            }
            let looks = watcher.join().expect("no panic");
            // The look before the one that took the role had seen this very loan.
            let took = looks.iter().find(|(_, tick)| *tick == Tick::Took).map(|(before, _)| *before);
            assert_eq!(took, taken, "{looks:?}");
        },
        None,
    );
}

/// The posts of `peer/reader.rs`: reader and stand-by, who change places, doze and are woken.
struct Posts {
    baton: Baton,
    has_stand_by: AtomicBool,
    stand_by: Mutex<Option<Thread>>,
    is_over: AtomicBool,
    /// The role is in use. Not needed for the rule; shows when it is broken.
    in_role: AtomicBool,
    /// Frames still to be read.
    frames: AtomicU64,
    /// Whether the reader of the last frame found a call that never returns.
    sticks: bool,
    seen: Arc<Seen>,
}

enum Left {
    Ended,
    Relieved,
}

impl Posts {
    fn serve_reader(self: &Arc<Self>) {
        let mut reads = true;
        loop {
            if reads {
                match self.read() {
                    Left::Ended => return,
                    Left::Relieved if self.has_stand_by.swap(true, Ordering::SeqCst) => return,
                    Left::Relieved => reads = false,
                }
            } else if self.stand_by() {
                reads = true;
            } else {
                return;
            }
        }
    }

    fn use_role(&self) {
        assert!(!self.in_role.swap(true, Ordering::SeqCst), "two threads in the role");
        thread::yield_now();
        self.in_role.store(false, Ordering::SeqCst);
    }

    fn read(self: &Arc<Self>) -> Left {
        loop {
            self.use_role();
            let left = self.frames.load(Ordering::SeqCst);
            if left == 0 {
                self.is_over.store(true, Ordering::SeqCst);
                self.wake_stand_by();
                return Left::Ended;
            }
            self.frames.store(left - 1, Ordering::SeqCst);
            if let Some(lent) = self.lend() {
                if self.sticks && left == 1 && lent != Lent::Taken {
                    // The call does not return before reading is over: only a stand-by can end this.
                    self.seen.note("stuck");
                    while !self.is_over.load(Ordering::SeqCst) {
                        thread::yield_now();
                    }
                    assert!(!self.reclaim(lent), "the call stuck and the role was kept");
                    return Left::Relieved;
                }
                for _ in 0..shuttle::rand::thread_rng().gen_range(0..6) {
                    thread::yield_now();
                }
                if !self.reclaim(lent) {
                    self.seen.note("relieved");
                    return Left::Relieved;
                }
            }
            // Once more, to write what was gathered.
            if let Some(lent) = self.lend() {
                thread::yield_now();
                if !self.reclaim(lent) {
                    return Left::Relieved;
                }
            }
        }
    }

    /// Only in traffic that is dense, which is chance here.
    fn lend(self: &Arc<Self>) -> Option<Lent> {
        if shuttle::rand::thread_rng().gen_bool(0.2) || !self.is_watched() {
            return None;
        }
        let lent = self.baton.lend();
        self.seen.note(kind(lent));
        Some(lent).filter(|lent| *lent != Lent::Unwatched)
    }

    fn reclaim(&self, lent: Lent) -> bool {
        matches!(lent, Lent::Loan(loan) if self.baton.reclaim(loan))
    }

    fn stand_by(&self) -> bool {
        *lock(&self.stand_by) = Some(thread::current());
        let mut last = self.baton.turn();
        let mut quiet = 0;
        while !self.is_over.load(Ordering::SeqCst) {
            if !self.baton.is_watched() {
                thread::park();
                last = self.baton.turn();
                quiet = 0;
                continue;
            }
            thread::yield_now(); // the half millisecond: any time at all
            match self.baton.tick(&mut last) {
                Tick::Took => {
                    *lock(&self.stand_by) = None;
                    self.has_stand_by.store(false, Ordering::SeqCst);
                    return true;
                }
                Tick::Active => quiet = 0,
                Tick::Quiet => {
                    quiet += 1;
                    if quiet >= 2 && self.baton.doze(last) {
                        self.seen.note("dozes");
                    }
                }
            }
        }
        false
    }

    fn is_watched(self: &Arc<Self>) -> bool {
        if self.baton.is_watched() {
            return true;
        }
        let has_stand_by = self.has_stand_by.load(Ordering::SeqCst);
        if !has_stand_by && shuttle::rand::thread_rng().gen_bool(0.3) {
            return false;
        }
        self.baton.watch();
        if self.has_stand_by.swap(true, Ordering::SeqCst) {
            self.wake_stand_by();
            return true;
        }
        self.seen.note("starts a stand-by");
        let posts = Arc::clone(self);
        thread::spawn(move || {
            if posts.stand_by() {
                posts.serve_reader();
            }
        });
        true
    }

    fn wake_stand_by(&self) {
        if let Some(stand_by) = lock(&self.stand_by).as_ref() {
            stand_by.unpark();
        }
    }
}

fn posts(frames: u64, sticks: bool, seen: &Arc<Seen>) {
    let posts = Arc::new(Posts {
        baton: Baton::default(),
        has_stand_by: AtomicBool::new(false),
        stand_by: Mutex::new(None),
        is_over: AtomicBool::new(false),
        in_role: AtomicBool::new(false),
        frames: AtomicU64::new(frames),
        sticks,
        seen: Arc::clone(seen),
    });
    let reader = Arc::clone(&posts);
    thread::spawn(move || reader.serve_reader());
}

/// Many rounds in which reader and stand-by change places: never two in the role, and every frame is read.
#[test]
fn readers_that_change_places_never_read_together() {
    let seen = Arc::new(Seen::default());
    let (random, pct) = (Arc::clone(&seen), Arc::clone(&seen));
    shuttle::check_random(move || posts(12, false, &random), ITERATIONS);
    shuttle::check_pct(move || posts(12, false, &pct), ITERATIONS, 4);
    seen.expect(&[
        r#""dozes""#,
        r#""loan""#,
        r#""relieved""#,
        r#""starts a stand-by""#,
        r#""taken""#,
        r#""unwatched""#,
    ]);
}

/// A call that never returns, after any history: reading goes on without it.
#[test]
fn a_stuck_call_does_not_stop_the_reading() {
    let seen = Arc::new(Seen::default());
    let in_model = Arc::clone(&seen);
    shuttle::check_random(move || posts(4, true, &in_model), ITERATIONS);
    seen.expect(&[
        r#""dozes""#,
        r#""loan""#,
        r#""relieved""#,
        r#""starts a stand-by""#,
        r#""stuck""#,
        r#""taken""#,
        r#""unwatched""#,
    ]);
}

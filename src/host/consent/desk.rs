//! [`Desk`]: whose question is shown, whose waits, and whose are too many.
//!
//! **Invariants:** of one server a single question is shown at a time; a server that asks and asks keeps no other from its turn, as
//! those go first that had none for the longest time; every wait is bounded.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, after, bounded, never, select};

use super::asking::AskLimits;
use crate::error::{Error, Result, Seconds};
use crate::sync::{CancelToken, Mutex, lock};

/// [`AskLimits::with_per_minute`] is for this time.
const WINDOW: Duration = Duration::from_secs(60);

/// Of so many servers it is known when they were asked about. Further ones take the place of those that have no question open.
const MAX_SERVERS: usize = 4_096;

/// Why a question is not asked.
pub(super) struct TooMany {
    pub(super) problem: String,
    /// So many of the server's were denied in this flood, if it is time to tell somebody: the first, and each time they have doubled.
    pub(super) tell: Option<u64>,
}

/// Owner: an [`Asking`](super::asking::Asking). Bound: [`AskLimits`] for each server.
pub(super) struct Desk {
    limits: AskLimits,
    /// Locked for a look or a change.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    shown: usize,
    /// Numbers turns and those who wait.
    count: u64,
    waiting: VecDeque<Waiting>,
    servers: HashMap<String, Pace>,
}

struct Waiting {
    number: u64,
    server: String,
    /// Takes one message, so that giving a turn never waits.
    turn: Sender<()>,
}

#[derive(Default)]
struct Pace {
    is_shown: bool,
    waiting: usize,
    /// When questions were shown. Bound: as many as are shown in a minute.
    shown: VecDeque<Instant>,
    last_turn: u64,
    denied: u64,
    last_denied: Option<Instant>,
}

impl Pace {
    fn forget_old(&mut self, now: Instant) {
        while self.shown.front().is_some_and(|shown| now.duration_since(*shown) >= WINDOW) {
            self.shown.pop_front();
        }
    }

    fn is_idle(&self) -> bool {
        !self.is_shown && self.waiting == 0
    }

    /// What is too much for another question.
    fn problem(&self, limits: &AskLimits) -> Option<String> {
        let open = self.waiting + usize::from(self.is_shown);
        if open >= limits.waiting {
            return Some(format!("{open} questions of the server wait for an answer"));
        }
        let shown = self.shown.len();
        (shown + self.waiting >= limits.per_minute)
            .then(|| format!("the server had {shown} questions asked within a minute"))
    }

    fn denied(&mut self, now: Instant) -> Option<u64> {
        if self.last_denied.is_none_or(|denied| now.duration_since(denied) >= WINDOW) {
            self.denied = 0;
        }
        self.last_denied = Some(now);
        self.denied += 1;
        self.denied.is_power_of_two().then_some(self.denied)
    }
}

impl State {
    fn pace(&mut self, server: &str) -> &mut Pace {
        if self.servers.len() >= MAX_SERVERS && !self.servers.contains_key(server) {
            self.servers.retain(|_, pace| !pace.is_idle());
        }
        self.servers.entry(server.to_owned()).or_default()
    }

    fn begin(&mut self, server: &str) {
        self.shown += 1;
        self.count += 1;
        let turn = self.count;
        let pace = self.pace(server);
        (pace.is_shown, pace.last_turn) = (true, turn);
        pace.shown.push_back(Instant::now());
    }

    /// Gives turns to those who wait, as far as there are any.
    fn go_on(&mut self, most: usize) {
        while self.shown < most {
            let servers = &self.servers;
            let of = |waiting: &Waiting| servers.get(&waiting.server).filter(|pace| !pace.is_shown);
            let ready = self.waiting.iter().enumerate();
            let ready = ready.filter_map(|(at, waiting)| Some((of(waiting)?.last_turn, waiting.number, at)));
            let Some((.., at)) = ready.min() else { return };
            let Some(next) = self.waiting.remove(at) else { return };
            self.begin(&next.server);
            self.pace(&next.server).waiting -= 1;
            // Whoever does not wait any more has taken itself out.
            let _ = next.turn.try_send(());
        }
    }
}

impl Desk {
    pub(super) fn new(limits: AskLimits) -> Self {
        Self { limits, state: Mutex::default() }
    }

    /// A turn for a question of `server`, or a place among those who wait for one.
    pub(super) fn enter(&self, server: &str) -> Result<Place<'_>, TooMany> {
        let mut state = lock(&self.state);
        let now = Instant::now();
        let pace = state.pace(server);
        pace.forget_old(now);
        if let Some(problem) = pace.problem(&self.limits) {
            return Err(TooMany { problem, tell: pace.denied(now) });
        }
        let is_free = !pace.is_shown && pace.waiting == 0;
        let (turn, receiver) = bounded(1);
        let mut place =
            Place { desk: self, server: server.to_owned(), number: 0, turn: receiver, has_turn: false };
        if is_free && state.shown < self.limits.shown {
            state.begin(server);
            place.has_turn = true;
        } else {
            state.pace(server).waiting += 1;
            state.count += 1;
            place.number = state.count;
            state.waiting.push_back(Waiting { number: place.number, server: server.to_owned(), turn });
        }
        Ok(place)
    }
}

/// A place at the desk. Dropping it makes room, and gives the turn to the next.
pub(super) struct Place<'a> {
    desk: &'a Desk,
    server: String,
    number: u64,
    turn: Receiver<()>,
    has_turn: bool,
}

impl Place<'_> {
    pub(super) fn has_turn(&self) -> bool {
        self.has_turn
    }

    /// Waits for the turn.
    ///
    /// # Errors
    /// [`Error::Cancelled`] when `cancel` fires, [`Error::Denied`] when `revoked` does, or when it takes as long as an answer may.
    pub(super) fn wait(&mut self, cancel: Option<&CancelToken>, revoked: &CancelToken) -> Result<()> {
        if self.has_turn {
            return Ok(());
        }
        let time = self.desk.limits.time;
        select! {
            recv(self.turn) -> _ => self.has_turn = true,
            recv(cancel.map_or_else(never, CancelToken::receiver)) -> _ => return Err(cancelled(cancel)),
            recv(revoked.receiver()) -> _ => return Err(taken_back()),
            recv(after(time)) -> _ => {
                let why = format!("the user did not come to it within {}: others were asked first", Seconds(time));
                return Err(Error::Denied(why));
            }
        }
        Ok(())
    }

    /// The question need not be shown: another answer was for it too.
    pub(super) fn is_settled(self) {
        if let Some(pace) = lock(&self.desk.state).servers.get_mut(&self.server) {
            pace.shown.pop_back();
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.desk.state);
        let waits = state.waiting.iter().position(|waiting| waiting.number == self.number);
        match waits.filter(|_| !self.has_turn) {
            Some(at) => {
                state.waiting.remove(at);
                state.pace(&self.server).waiting -= 1;
            }
            // It may have been given the turn while it gave up.
            None => {
                state.pace(&self.server).is_shown = false;
                state.shown -= 1;
                state.go_on(self.desk.limits.shown);
            }
        }
    }
}

pub(super) fn cancelled(cancel: Option<&CancelToken>) -> Error {
    Error::Cancelled(cancel.and_then(CancelToken::reason).unwrap_or("cancelled").to_owned())
}

pub(super) fn taken_back() -> Error {
    Error::Denied("consent was taken back meanwhile".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desk(limits: AskLimits) -> Desk {
        Desk::new(limits.with_time(Duration::from_secs(60)))
    }

    fn turn(place: &mut Place<'_>) -> bool {
        place.has_turn || place.turn.try_recv().is_ok().then(|| place.has_turn = true).is_some()
    }

    #[test]
    fn a_server_has_one_turn_at_a_time_and_the_rest_wait_in_order() {
        let desk = desk(AskLimits::default().with_waiting(3).with_shown(2));
        let enter = |server| desk.enter(server).unwrap_or_else(|e| panic!("{}", e.problem));
        let mut first = enter("a");
        let (mut second, mut third) = (enter("a"), enter("a"));
        assert!(turn(&mut first) && !turn(&mut second) && !turn(&mut third));
        let refused = desk.enter("a").err().expect("a fourth");
        assert_eq!(refused.problem, "3 questions of the server wait for an answer");
        let mut other = enter("b");
        assert!(turn(&mut other));
        // All places are taken.
        let mut another = enter("c");
        assert!(!turn(&mut another));
        drop(first);
        // It never had a turn, so it comes before the one whose server had.
        assert!(turn(&mut another) && !turn(&mut second));
        drop(other);
        assert!(turn(&mut second) && !turn(&mut third));
        // Who gives up makes room, whether it waits or has been given the turn.
        let fourth = enter("a");
        drop(fourth);
        drop(second);
        drop(third);
        drop(another);
        let state = lock(&desk.state);
        assert_eq!((state.shown, state.waiting.len()), (0, 0));
        assert!(state.servers.values().all(|pace| pace.is_idle()));
    }

    #[test]
    fn so_many_are_shown_in_a_minute() {
        let desk = desk(AskLimits::default().with_per_minute(3));
        for _ in 0..3 {
            drop(desk.enter("a").ok().expect("room"));
        }
        let told: Vec<_> = (0..1_000).filter_map(|_| desk.enter("a").err().expect("too many").tell).collect();
        assert_eq!(told, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
        assert!(desk.enter("b").is_ok());
        // One that was settled by another answer was not shown.
        let settled = desk.enter("c").ok().expect("room");
        settled.is_settled();
        assert_eq!(lock(&desk.state).servers["c"].shown.len(), 0);
    }

    #[test]
    fn waiting_for_a_turn_ends() {
        let desk = Desk::new(AskLimits::default().with_time(Duration::from_millis(20)));
        let _first = desk.enter("a").ok().expect("room");
        let never = CancelToken::new();
        let late = desk.enter("a").ok().expect("room").wait(None, &never).expect_err("too long");
        assert!(matches!(late, Error::Denied(_)) && late.to_string().contains("20 ms"), "{late}");
        let (stopped, gone) = (CancelToken::new(), CancelToken::new());
        stopped.cancel("stop");
        gone.cancel("revoked");
        let error = desk.enter("a").ok().expect("room").wait(Some(&stopped), &never).expect_err("cancelled");
        assert!(matches!(&error, Error::Cancelled(why) if why == "stop"), "{error}");
        let error = desk.enter("a").ok().expect("room").wait(None, &gone).expect_err("revoked");
        assert!(matches!(error, Error::Denied(_)), "{error}");
    }
}

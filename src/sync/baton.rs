//! [`Baton`]: who may read, while the one who reads also runs short calls.
//!
//! Handing every call to another thread costs a wake-up, which is more than a short call takes. So the
//! thread that read a call may run it itself. While it does, it *lends* the reading role: a stand-by
//! looks by every half millisecond and takes the role if the same loan is still open. When the
//! call is over its runner *reclaims* the role, or learns that it has been taken.
//!
//! **Invariants:** at any time exactly one thread holds the role or has lent it; a loan is only ever open while a
//! stand-by ticks (or is about to find out that it must). Proved by `model.rs` under shuttle, for sequentially consistent
//! executions; so every access that the proof needs is `SeqCst`.

use super::primitive::{AtomicBool, AtomicU64, Ordering};

/// The reading role's state: a turn counter, and whether a stand-by is ticking.
#[derive(Debug, Default)]
pub(crate) struct Baton {
    /// Even: the role is held. Odd: it is lent and may be taken. Every change adds one, so an odd value
    /// names one loan. Only the holder makes it odd; making it even is a race with one winner.
    turn: AtomicU64,
    /// Whether the stand-by ticks. Cleared by the stand-by, set by either.
    watched: AtomicBool,
}

/// What became of the attempt to lend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lent {
    /// The role may be taken until [`Baton::reclaim`] is called with this loan.
    Loan(u64),
    /// Nobody watches: the caller still holds the role and must not run anything slow.
    Unwatched,
    /// The role was taken in this very moment.
    Taken,
}

/// What a stand-by saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tick {
    /// The role is the stand-by's now.
    Took,
    /// Calls were run since the last look.
    Active,
    /// Nothing happened since the last look.
    Quiet,
}

impl Baton {
    /// The holder allows its role to be taken.
    pub(crate) fn lend(&self) -> Lent {
        let loan = self.turn.load(Ordering::Relaxed) + 1;
        debug_assert!(loan % 2 == 1, "lent while it is lent");
        // Both sides write one flag and then read the other's (here: `turn`, then `watched`; in `doze`
        // the reverse). Sequential consistency lets at least one of them see the other.
        self.turn.store(loan, Ordering::SeqCst);
        if self.watched.load(Ordering::SeqCst) {
            Lent::Loan(loan)
        } else if self.reclaim(loan) {
            Lent::Unwatched
        } else {
            Lent::Taken
        }
    }

    /// Ends the loan: `true` if the caller holds the role again, `false` if it was taken.
    pub(crate) fn reclaim(&self, loan: u64) -> bool {
        // Acquire and release: what each holder did in the role is seen by the next.
        self.turn.compare_exchange(loan, loan + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// The stand-by's look: takes the role if the loan seen in `last` is still open.
    pub(crate) fn tick(&self, last: &mut u64) -> Tick {
        let now = self.turn.load(Ordering::SeqCst);
        let is_lent = now % 2 == 1;
        if is_lent && now == *last && self.reclaim(now) {
            self.watched.store(false, Ordering::SeqCst);
            return Tick::Took;
        }
        let moved = now != *last;
        *last = now;
        if moved || is_lent { Tick::Active } else { Tick::Quiet }
    }

    /// The stand-by stops ticking, unless a loan was opened since the look that left `last`.
    pub(crate) fn doze(&self, last: u64) -> bool {
        self.watched.store(false, Ordering::SeqCst);
        if self.turn.load(Ordering::SeqCst) == last {
            return true;
        }
        self.watched.store(true, Ordering::SeqCst);
        false
    }

    /// Whether a stand-by ticks.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::SeqCst)
    }

    /// The holder asks for ticks: the stand-by has been, or is being, woken.
    pub(crate) fn watch(&self) {
        self.watched.store(true, Ordering::SeqCst);
    }

    /// The counter, for a stand-by that begins to look.
    pub(crate) fn turn(&self) -> u64 {
        self.turn.load(Ordering::SeqCst)
    }
}

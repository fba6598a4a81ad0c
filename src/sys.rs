//! The one place with `unsafe`: what std cannot do.
//!
//! std puts a child into a process group of its own but cannot signal that group. Without it a
//! wrapper such as `sh -c` or `npx` is killed and the real server lives on.
//!
//! **Invariant:** nothing but signalling a process group is added here.

/// A signal of the shutdown sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// Ask to end.
    Term,
    /// End now.
    Kill,
    /// Send nothing; only ask whether the group still has a member.
    Probe,
}

/// Signals every process of the group that `leader` leads. `true` means the group exists.
#[cfg(unix)]
pub(crate) fn signal_group(leader: u32, signal: Signal) -> bool {
    #[allow(unsafe_code)]
    mod ffi {
        unsafe extern "C" {
            // POSIX: `pid_t` and `int` are 32 bits wide on every platform std supports.
            pub(super) fn kill(pid: i32, signal: i32) -> i32;
        }
    }
    let number = match signal {
        Signal::Term => 15,
        Signal::Kill => 9,
        Signal::Probe => 0,
    };
    // 0 and 1 would address our own group or, negated, every process of the user.
    let Ok(group) = i32::try_from(leader) else { return false };
    if group <= 1 {
        return false;
    }
    // SAFETY: `kill` takes two integers, touches no memory of ours, and reports failure by value.
    #[allow(unsafe_code)]
    let sent = unsafe { ffi::kill(-group, number) };
    sent == 0
}

/// No process groups here: the caller falls back to killing the child alone.
#[cfg(not(unix))]
pub(crate) fn signal_group(_leader: u32, _signal: Signal) -> bool {
    false
}

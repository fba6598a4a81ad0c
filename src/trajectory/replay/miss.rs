//! [`Miss`]: a request that nothing recorded answers, and what comes nearest to it.

use std::fmt;

use serde_json::{Value, json};

use super::REPLAY_MISS;
use super::difference::{Difference, collect, shown};
use super::script::{Kind, Script};
use crate::json::Json;
use crate::jsonrpc::ErrorObject;

/// So many differences are told.
const MAX_DIFFERENCES: usize = 8;

/// So many recorded requests, and so many bytes of them, are looked at to find the nearest one.
const LOOKED_AT: usize = 1000;
const LOOKED_AT_BYTES: usize = 8 << 20;

/// A request, come or recorded, without what is kept out of recordings.
#[derive(Clone, Debug)]
pub(super) struct Side {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) arguments: Json,
    /// The place in its trajectory, of one that was recorded.
    pub(super) seq: Option<u64>,
}

/// A request that nothing recorded answers.
#[derive(Debug)]
pub(super) struct Miss {
    came: Side,
    /// What should have come; `None` if there is no order.
    expected: Option<Vec<Side>>,
    nearest: Option<Near>,
    why: Why,
}

#[derive(Debug)]
struct Near {
    side: Side,
    differences: Vec<Difference>,
    has_more: bool,
}

#[derive(Clone, Copy, Debug)]
enum Why {
    /// It was recorded, but it is not its turn.
    NotNow,
    /// It was recorded, and answered as often as that.
    UsedUp,
    /// The recording is over.
    Over,
    Unknown,
}

impl Miss {
    /// `equal` is a recorded request that asks for the same.
    pub(super) fn find(
        came: Side,
        equal: Option<usize>,
        expected: Option<&[usize]>,
        script: &Script,
        side: impl Fn(usize) -> Side,
    ) -> Self {
        let open = expected.unwrap_or_default();
        let why = match equal {
            Some(_) if !open.is_empty() => Why::NotNow,
            Some(_) => Why::UsedUp,
            None if script.requests.is_empty() => Why::Over,
            None => Why::Unknown,
        };
        let nearest = match equal {
            Some(at) => Some(Near { side: side(at), differences: Vec::new(), has_more: false }),
            None => nearest(&came, open, script, &side),
        };
        let expected = expected.map(|open| open.iter().take(4).map(|at| side(*at)).collect());
        Self { came, expected, nearest, why }
    }

    /// As it is answered.
    pub(super) fn to_error(&self) -> ErrorObject {
        let side = |side: &Side| {
            let mut object = json!({
                "method": side.kind.method(),
                "name": side.name,
                "arguments": shown(side.arguments.as_str()),
            });
            if let (Some(seq), Some(members)) = (side.seq, object.as_object_mut()) {
                members.insert("seq".to_owned(), seq.into());
            }
            object
        };
        let difference =
            |one: &Difference| json!({"pointer": one.pointer, "recorded": one.recorded, "now": one.now});
        let differences: Vec<Value> =
            self.nearest.iter().flat_map(|near| near.differences.iter().map(difference)).collect();
        let data = json!({
            "came": side(&self.came),
            "expected": self.expected.iter().flatten().map(side).collect::<Vec<_>>(),
            "nearest": self.nearest.as_ref().map(|near| side(&near.side)),
            "differences": differences,
        });
        ErrorObject::new(REPLAY_MISS, self.to_string()).with_data(data)
    }
}

/// The request of the same kind and name with the fewest differences; if there is none, the first that was expected.
fn nearest(came: &Side, expected: &[usize], script: &Script, side: &impl Fn(usize) -> Side) -> Option<Near> {
    let alike = |at: &usize| {
        let one = &script.requests[*at];
        one.kind == came.kind && (one.name == came.name || came.kind == Kind::Read)
    };
    // Those whose turn it is first: of equally near ones they are what was meant.
    let places = expected.iter().copied().chain(0..script.requests.len()).filter(alike).take(LOOKED_AT);
    let mut budget = LOOKED_AT_BYTES;
    let mut best: Option<(usize, Near)> = None;
    for at in places {
        let side = side(at);
        let cost = side.arguments.as_str().len() + came.arguments.as_str().len();
        let Some(left) = budget.checked_sub(cost) else { break };
        budget = left;
        let distance;
        let (differences, has_more) = if came.kind == Kind::Read {
            distance = unlike(&side.name, &came.name);
            (Vec::new(), false)
        } else {
            let found = collect(side.arguments.as_raw(), came.arguments.as_raw(), MAX_DIFFERENCES);
            distance = found.0.len() + usize::from(found.1);
            found
        };
        if best.as_ref().is_none_or(|(least, _)| distance < *least) {
            best = Some((distance, Near { side, differences, has_more }));
        }
    }
    best.map(|(_, near)| near)
}

/// How many characters two addresses do not have in common at their beginnings and ends.
fn unlike(one: &str, other: &str) -> usize {
    let common = |pairs: &mut dyn Iterator<Item = (char, char)>| pairs.take_while(|(a, b)| a == b).count();
    let longest = one.chars().count().max(other.chars().count());
    let before = common(&mut one.chars().zip(other.chars()));
    let after = common(&mut one.chars().rev().zip(other.chars().rev()));
    longest.saturating_sub(before + after)
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.method(), shown(&self.name))?;
        if self.kind != Kind::Read {
            write!(f, " {}", shown(self.arguments.as_str()))?;
        }
        match self.seq {
            Some(seq) => write!(f, " (event {seq})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "replay miss: came {}", self.came)?;
        match self.expected.as_deref() {
            None => {}
            Some([]) => {
                f.write_str("; expected nothing more, as all that was recorded has been asked for")?
            }
            Some([one]) => write!(f, "; expected {one}")?,
            Some(several) => {
                f.write_str("; expected one of")?;
                for (i, one) in several.iter().enumerate() {
                    write!(f, "{} {one}", if i > 0 { "," } else { "" })?;
                }
            }
        }
        match (self.why, &self.nearest) {
            (Why::NotNow, Some(near)) => write!(f, "; recorded elsewhere: {}", near.side)?,
            (Why::UsedUp, Some(near)) => {
                write!(f, "; every recorded answer to it was given, nothing is left of {}", near.side)?;
            }
            (Why::Over, _) => f.write_str("; nothing was recorded")?,
            (_, Some(near)) => {
                write!(f, "; nearest: {}", near.side)?;
                for one in &near.differences {
                    write!(f, "; at {one}")?;
                }
                if near.has_more {
                    f.write_str("; and more")?;
                }
            }
            (_, None) => f.write_str("; nothing like it was recorded")?,
        }
        Ok(())
    }
}

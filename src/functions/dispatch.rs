//! Calling what a model wants to be called.
//!
//! **Invariant:** as many results as calls, in their order: whatever goes wrong with one is its result.

use std::thread;

use super::{FunctionCall, Functions};
use crate::client::{CallOptions, Caller};
use crate::context::Context;
use crate::json::{Json, JsonError};
use crate::protocol::CallToolResult;
use crate::tool::{Arguments, ToolError, ToolRegistry};

/// So many calls of one message run side by side.
const SIDE_BY_SIDE: usize = 8;

impl Functions {
    /// Calls what a model wants, up to eight calls side by side, and returns the messages that answer, see
    /// [`answers`](Self::answers). Whatever is wrong with a call, such as a function that is not there, arguments that are no JSON, or a tool
    /// that failed or was not allowed, is its answer, for the model to read.
    ///
    /// `registry` is the one this was made of: of local tools, of a client's, or that of a host.
    ///
    /// # Errors
    /// When `message` is no message; nothing was called then.
    pub fn dispatch(
        &self,
        message: &Json,
        registry: &ToolRegistry,
        cx: &Context,
    ) -> Result<Vec<Json>, JsonError> {
        let run = |tool: &str, arguments: Arguments<'_>| {
            registry.execute(tool, arguments, cx).unwrap_or_else(|error| failed(&error.message))
        };
        self.dispatch_by(message, &run)
    }

    /// The same by a [`Caller`]: a client, a pool, a host or a recorder.
    ///
    /// # Errors
    /// As [`dispatch`](Self::dispatch).
    pub fn dispatch_to(
        &self,
        message: &Json,
        caller: &dyn Caller,
        options: &CallOptions,
    ) -> Result<Vec<Json>, JsonError> {
        let run = |tool: &str, arguments: Arguments<'_>| {
            caller.call(tool, arguments, options).unwrap_or_else(|error| failed(&error.to_string()))
        };
        self.dispatch_by(message, &run)
    }

    fn dispatch_by(
        &self,
        message: &Json,
        run: &(dyn Fn(&str, Arguments<'_>) -> CallToolResult + Sync),
    ) -> Result<Vec<Json>, JsonError> {
        let calls = self.calls(message)?;
        let mut results = Vec::with_capacity(calls.len());
        for some in calls.chunks(SIDE_BY_SIDE) {
            if let [one] = some {
                results.push(self.run(one, run));
                continue;
            }
            thread::scope(|scope| {
                let running: Vec<_> = some.iter().map(|call| scope.spawn(|| self.run(call, run))).collect();
                let panicked = |_| failed("the call panicked");
                results.extend(running.into_iter().map(|call| call.join().unwrap_or_else(panicked)));
            });
        }
        let results: Vec<(FunctionCall, CallToolResult)> = calls.into_iter().zip(results).collect();
        Ok(self.answers(&results))
    }

    fn run(
        &self,
        call: &FunctionCall,
        run: &dyn Fn(&str, Arguments<'_>) -> CallToolResult,
    ) -> CallToolResult {
        let Some(tool) = self.tool(&call.function) else {
            return failed(&format!("there is no function {:?}", call.function));
        };
        let arguments = match &call.arguments {
            Ok(arguments) => {
                Arguments::from_raw(arguments.as_raw()).map_err(|error: ToolError| error.to_string())
            }
            Err(problem) => Err(problem.clone()),
        };
        match arguments {
            Ok(arguments) => run(tool, arguments),
            Err(problem) => failed(&format!("bad arguments for {}: {problem}", call.function)),
        }
    }
}

fn failed(problem: &str) -> CallToolResult {
    CallToolResult::error(problem)
}

//! Whether the messages of a request to a language model follow each other as they must where tools are used.

use super::{CreateMessageParams, Role, SamplingContent, SamplingMessage};

impl CreateMessageParams {
    /// Compares the messages with what holds where the model uses tools: what it wants called is followed at once by a message
    /// of the user that holds the results, one for each, and nothing else.
    ///
    /// ```
    /// use tinymcp::json::Object;
    /// use tinymcp::protocol::{CreateMessageParams, ToolUseContent};
    ///
    /// let params = CreateMessageParams::new(100)
    ///     .with_user("What time is it?")
    ///     .with_assistant(ToolUseContent::new("call-1", "clock", Object::new()))
    ///     .with_user("Well?");
    /// assert_eq!(params.check_turns().unwrap_err(), "messages[1]: call-1 has no result in the next message");
    /// ```
    ///
    /// # Errors
    /// What is wrong, and with which message.
    pub fn check_turns(&self) -> Result<(), String> {
        for (at, message) in self.messages.iter().enumerate() {
            // spec: 2026-07-28 client/sampling#tool-result-messages (MUST contain only tool results)
            let results = message.content.iter().filter(|block| is_result(block)).count();
            if message.role == Role::User && results > 0 && results < message.content.len() {
                return Err(format!("messages[{at}]: tool results are mixed with other content"));
            }
            // spec: 2026-07-28 client/sampling#tool-use-and-result-balance
            let next = self.messages.get(at + 1).filter(|next| next.role == Role::User);
            for block in message.content.iter().filter(|_| message.role == Role::Assistant) {
                let SamplingContent::ToolUse(call) = block else { continue };
                if !next.is_some_and(|next| has_result(next, &call.id)) {
                    return Err(format!("messages[{at}]: {} has no result in the next message", call.id));
                }
            }
        }
        Ok(())
    }
}

fn is_result(block: &SamplingContent) -> bool {
    matches!(block, SamplingContent::ToolResult(_))
}

fn has_result(message: &SamplingMessage, id: &str) -> bool {
    let is_it = |block: &SamplingContent| matches!(block, SamplingContent::ToolResult(result) if result.tool_use_id == id);
    message.content.iter().all(is_result) && message.content.iter().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::super::{ToolResultContent, ToolUseContent};
    use super::*;
    use crate::json::Object;

    #[test]
    fn what_a_model_wants_called_is_followed_by_the_results() {
        let call = |id: &str| ToolUseContent::new(id, "clock", Object::new());
        let result = |id: &str| ToolResultContent::new(id, Vec::new());
        let begun = || CreateMessageParams::new(9).with_user("go");
        let both = |a: SamplingContent, b: SamplingContent| SamplingMessage::new(Role::User, vec![a, b]);
        let two = SamplingMessage::new(Role::Assistant, vec![call("1").into(), call("2").into()]);
        let missing =
            |at: usize, id: &str| Err(format!("messages[{at}]: {id} has no result in the next message"));
        for (params, want) in [
            (begun(), Ok(())),
            (begun().with_assistant(call("1")).with_user(result("1")), Ok(())),
            (begun().with_assistant(call("1")).with_user(result("1")).with_assistant("done"), Ok(())),
            (
                begun().with_message(two.clone()).with_message(both(result("2").into(), result("1").into())),
                Ok(()),
            ),
            (begun().with_assistant(call("1")), missing(1, "1")),
            (begun().with_assistant(call("1")).with_assistant(result("1")), missing(1, "1")),
            (begun().with_assistant(call("1")).with_user(result("2")), missing(1, "1")),
            (begun().with_message(two).with_user(result("1")), missing(1, "2")),
            (
                begun().with_message(both(result("1").into(), "and".into())),
                Err("messages[1]: tool results are mixed with other content".to_owned()),
            ),
        ] {
            assert_eq!(params.check_turns(), want, "{params:?}");
        }
    }
}

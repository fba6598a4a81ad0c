//! What must be true of all the requests that passed between a client and a server of HTTP, whoever they are.

use tinymcp::ProtocolVersion;

use crate::peers::Way;
use crate::relay::Passed;

/// What a client does beside its requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Manners {
    /// It listens to its session, if there is one, and ends it.
    All,
    /// Its first stream was broken off: it comes back for what it has missed.
    ComesBack,
}

/// Checks a connection of one client that ended in order.
pub(crate) fn check(passed: &[Passed], way: Way, version: &ProtocolVersion, manners: Manners) {
    let told = || passed.iter().map(|request| format!("\n    {request}")).collect::<String>();
    let failed = passed.iter().find(|request| request.status.is_some_and(|status| status >= 500));
    assert!(failed.is_none(), "a server in trouble:{}", told());
    // A probe belongs to no era: it finds out which there are.
    let rest: Vec<_> =
        passed.iter().filter(|request| request.header("mcp-method") != Some("server/discover")).collect();
    let count = |is: &dyn Fn(&Passed) -> bool| rest.iter().filter(|request| is(request)).count();
    let posts = count(&|request| request.verb == "POST");
    let gets = count(&|request| request.verb == "GET");
    let deletes = count(&|request| request.verb == "DELETE");
    assert_eq!(posts + gets + deletes, rest.len(), "{}", told());
    if version.is_modern() {
        // What a notification must name is not said.
        let is_modern = |request: &Passed| {
            request.header("mcp-protocol-version") == Some(version.as_str())
                && (request.header("mcp-method").is_some() || request.status == Some(202))
                && request.header("mcp-session-id").is_none()
        };
        assert_eq!((count(&is_modern), gets, deletes), (posts, 0, 0), "{}", told());
    } else if way == Way::Sse {
        // Whoever tries Streamable HTTP first is refused.
        let tried = count(&|request| request.verb == "POST" && request.path.starts_with("/sse"));
        let refused = count(&|request| matches!(request.status, Some(404 | 405)));
        // Its answer may have come on the stream before that, and the client have left.
        let accepted = count(&|request| request.verb == "POST" && matches!(request.status, Some(202) | None));
        assert_eq!((gets, deletes, tried), (1, 0, refused), "{}", told());
        assert_eq!(accepted, posts - tried, "{}", told());
    } else {
        let greetings = count(&|request| {
            request.header("mcp-session-id").is_none() && request.header("mcp-protocol-version").is_none()
        });
        assert_eq!(greetings, 1, "{}", told());
        let session = rest.iter().find_map(|request| request.header("mcp-session-id"));
        let is_later = |request: &Passed| {
            request.header("mcp-session-id") == session
                && request.header("mcp-protocol-version") == Some(version.as_str())
        };
        assert_eq!(count(&is_later) + 1, rest.len(), "{}", told());
        let gone = usize::from(session.is_some());
        let back = count(&|request| request.verb == "GET" && request.header("last-event-id").is_some());
        let is_back = if manners == Manners::ComesBack { back > 0 } else { back == 0 };
        assert_eq!((gets, deletes, is_back), (1 + back, gone, true), "{}", told());
        let said = rest.iter().find(|request| request.verb != "POST" && !is_fine(request, session.is_some()));
        assert!(said.is_none(), "{}", told());
    }
}

/// Whether a GET or DELETE is answered as it must be; a server without sessions has neither.
fn is_fine(request: &Passed, has_session: bool) -> bool {
    match (&*request.verb, request.status) {
        (_, Some(405)) => !has_session,
        ("GET", status) => status == Some(200),
        (_, status) => matches!(status, Some(200 | 202 | 204)),
    }
}

//! `tool!`, and what it shares with `prompt!`; the companion for types is in `data`.
//!
//! There is no proc-macro and no token muncher: every parameter, of whatever type, goes through the trait
//! `Param`, so the type checker decides what `cx: &Context` means and what a schema looks like.

/// Declares a tool as a function: types give the schema, doc comments the descriptions.
///
/// ```
/// use tinymcp::{Arguments, Context, Tool, ToolError, tool};
///
/// let create_note = tool! {
///     /// Create a note with a title and content. Returns the path where it was saved.
///     fn create_note(
///         /// Title of the note
///         title: String,
///         content: String,
///         /// Labels to file it under
///         tags: Option<Vec<String>>,
///         /// How many copies
///         copies: u32 = 1,
///     ) -> Result<String, ToolError> {
///         if content.is_empty() {
///             return Err(ToolError::new("an empty note is not saved"));
///         }
///         Ok(format!("{title} x{copies} {:?}", tags.unwrap_or_default()))
///     }
/// };
///
/// assert_eq!(
///     create_note.parameters().as_str(),
///     concat!(
///         r#"{"type":"object","properties":{"title":{"type":"string","description":"Title of the note"},"#,
///         r#""content":{"type":"string"},"#,
///         r#""tags":{"type":"array","items":{"type":"string"},"description":"Labels to file it under"},"#,
///         r#""copies":{"type":"integer","minimum":0,"description":"How many copies","default":1}},"#,
///         r#""required":["title","content"]}"#,
///     ),
/// );
///
/// let call = |text| create_note.execute(Arguments::from_text(text)?, &Context::detached());
/// let result = call(r#"{"title": "Plan", "content": "…", "copies": "2", "tags": null}"#)?;
/// assert_eq!(result.text_content(), "Plan x2 []");
/// assert_eq!(
///     call(r#"{"title": "Plan", "copies": "many"}"#).unwrap_err().to_string(),
///     r#"bad arguments for tool create_note: content: missing; copies: expected an integer, found "many""#,
/// );
/// # Ok::<(), ToolError>(())
/// ```
///
/// - A parameter is required unless its type is an `Option` or it has a default. `null` counts as absent.
/// - A parameter of type `&Context` is the call's [`Context`](crate::Context) and no argument; it may stand anywhere.
/// - `name as "wireName": Type` gives a parameter another name for callers, and so does `fn name as "wire-name"` for
///   the tool. `r#type: String` is called `type`.
/// - Parameter types are those of [`Parameter`](crate::tool::Parameter), result types those of
///   [`ToolOutput`](crate::tool::ToolOutput); without `->` the result is empty.
/// - The body is a closure: it can use variables around it, which move into the tool.
/// - The result is an [`FnTool`](crate::FnTool), whose methods add annotations, a title, icons.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use tinymcp::{Context, tool};
///
/// let hits = Arc::new(AtomicU64::new(0));
/// let counter = hits.clone();
/// let hit = tool! {
///     /// Count a visit
///     fn hit(by as "visitorName": String, cx: &Context) -> u64 {
///         if by == "nobody" || cx.cancel_token().is_cancelled() { return 0; }
///         counter.fetch_add(1, Ordering::Relaxed) + 1
///     }
/// }
/// .idempotent();
/// # let _ = hit;
/// ```
///
/// Functions are plain functions:
///
/// ```compile_fail
/// tinymcp::tool! { async fn f() {} };
/// ```
#[macro_export]
macro_rules! tool {
    ($($function:tt)*) => {
        $crate::__function!(tool { $($function)* })
    };
}

/// What `tool!` and `prompt!` have in common: a function as a thing of the kind whose name comes first.
#[doc(hidden)]
#[macro_export]
macro_rules! __function {
    ($kind:ident { $(#[$($meta:tt)*])* async fn $($rest:tt)* }) => {
        ::core::compile_error!(::core::concat!(
            "a ", ::core::stringify!($kind), " is a plain function that may block: remove `async`"
        ))
    };
    ($kind:ident {
        $(#[doc = $doc:expr])*
        fn $name:ident $(as $wire:literal)? (
            $(
                $(#[doc = $pdoc:expr])*
                $param:ident $(as $pwire:literal)? : $ty:ty $(= $default:expr)?
            ),* $(,)?
        ) $(-> $ret:ty)? $body:block
    }) => {{
        #[allow(unused_mut)]
        let mut signature =
            $crate::__private::Signature::new($crate::__name!($name $(as $wire)?), &[$($doc),*]);
        $(
            <$ty as $crate::__private::Param<'_>>::declare(
                &mut signature,
                $crate::__name!($param $(as $pwire)?),
                &[$($pdoc),*],
                || $crate::__default!($($default)?),
            );
        )*
        signature.$kind(move |call| {
            $(
                let $param = <$ty as $crate::__private::Param<'_>>::read(
                    call,
                    $crate::__name!($param $(as $pwire)?),
                    || $crate::__default!($($default)?),
                );
            )*
            call.check()?;
            $( let $param: $ty = call.take($param)?; )*
            // A closure, so that `return` and `?` in the body belong to the body.
            #[allow(clippy::redundant_closure_call)]
            ::core::result::Result::Ok((|| -> $crate::__output!($($ret)?) { $body })())
        })
    }};
    ($kind:ident { $($other:tt)* }) => {
        ::core::compile_error!(
            "expected `/// description` lines and `fn name(parameter: Type, other: Type = default) -> Type { … }`; \
             no `pub`, generics, `mut` or attributes other than doc comments"
        )
    };
}

/// The name of a parameter, field or variant for callers.
#[doc(hidden)]
#[macro_export]
macro_rules! __name {
    ($name:ident) => {
        $crate::__private::plain_name(::core::stringify!($name))
    };
    ($name:ident as $wire:literal) => {
        $wire
    };
}

/// `Some(default)` or `None`.
#[doc(hidden)]
#[macro_export]
macro_rules! __default {
    () => {
        ::core::option::Option::None
    };
    ($default:expr) => {
        ::core::option::Option::Some($crate::__private::IntoDefault::into_default($default))
    };
}

/// The result type of a function.
#[doc(hidden)]
#[macro_export]
macro_rules! __output {
    () => {
        ()
    };
    ($ret:ty) => {
        $ret
    };
}

#[cfg(test)]
mod tests {
    use crate::{Arguments, Context, Tool};

    #[test]
    fn the_macro_works_inside_this_crate_too() {
        let tool = crate::tool! { fn echo(text: String) -> String { text } };
        let arguments = Arguments::from_text(r#"{"text": "t"}"#).expect("an object");
        let result = tool.execute(arguments, &Context::detached()).expect("a result");
        assert_eq!(result.text_content(), "t");
    }
}

//! [`Route`]: whatever finds somebody to make a call, and perhaps somebody else after him.

use crate::client::{CallOptions, Caller};
use crate::error::Result;
use crate::method::Method;

/// What is called: what decides whether it can be repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Need<'a> {
    /// This tool.
    Tool(&'a str),
    /// A request of this method, which can be repeated.
    Method(Method),
}

impl Need<'_> {
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Tool(_) => Method::ToolsCall.name(),
            Self::Method(method) => method.name(),
        }
    }
}

/// One attempt, with the options for it.
pub(crate) type Act<'a> = &'a mut dyn FnMut(&dyn Caller, &CallOptions) -> Result<()>;

/// A [`Caller`] that gives each call to another one.
pub(crate) trait Route {
    fn route(&self, need: Need<'_>, options: &CallOptions, act: Act<'_>) -> Result<()>;

    /// What is to be learned of a list of tools.
    fn listed(&self, tools: &[crate::protocol::ToolDefinition]) {
        let _ = tools;
    }
}

/// What `act` returns in the end.
pub(crate) fn routed<T>(
    route: &dyn Route,
    need: Need<'_>,
    options: &CallOptions,
    act: &dyn Fn(&dyn Caller, &CallOptions) -> Result<T>,
) -> Result<T> {
    let mut result = None;
    route.route(need, options, &mut |caller, options| {
        result = Some(act(caller, options)?);
        Ok(())
    })?;
    Ok(result.expect("a route that went well has acted"))
}

/// The methods of [`Caller`] for a [`Route`], but `events`.
macro_rules! routed_calls {
    () => {
        fn call(
            &self,
            name: &str,
            arguments: crate::tool::Arguments<'_>,
            options: &crate::client::CallOptions,
        ) -> crate::error::Result<crate::protocol::CallToolResult> {
            let need = crate::host::resilience::route::Need::Tool(name);
            crate::host::resilience::route::routed(self, need, options, &|caller, options| {
                caller.call(name, arguments.clone(), options)
            })
        }

        fn list_tools(
            &self,
            options: &crate::client::CallOptions,
        ) -> crate::error::Result<crate::client::List<crate::protocol::ToolDefinition>> {
            let need = crate::host::resilience::route::Need::Method(crate::method::Method::ToolsList);
            let list = crate::host::resilience::route::routed(self, need, options, &|caller, options| {
                caller.list_tools(options)
            })?;
            crate::host::resilience::route::Route::listed(self, &list.items);
            Ok(list)
        }

        fn list_resources(
            &self,
            options: &crate::client::CallOptions,
        ) -> crate::error::Result<crate::client::List<crate::client::Placed<crate::protocol::Resource>>> {
            let need = crate::host::resilience::route::Need::Method(crate::method::Method::ResourcesList);
            crate::host::resilience::route::routed(self, need, options, &|caller, options| {
                caller.list_resources(options)
            })
        }

        fn read_resource(
            &self,
            address: crate::client::Address<'_>,
            options: &crate::client::CallOptions,
        ) -> crate::error::Result<crate::protocol::ReadResourceResult> {
            let need = crate::host::resilience::route::Need::Method(crate::method::Method::ResourcesRead);
            crate::host::resilience::route::routed(self, need, options, &|caller, options| {
                caller.read_resource(address, options)
            })
        }

        fn list_prompts(
            &self,
            options: &crate::client::CallOptions,
        ) -> crate::error::Result<crate::client::List<crate::client::Placed<crate::protocol::Prompt>>> {
            let need = crate::host::resilience::route::Need::Method(crate::method::Method::PromptsList);
            crate::host::resilience::route::routed(self, need, options, &|caller, options| {
                caller.list_prompts(options)
            })
        }

        fn get_prompt(
            &self,
            address: crate::client::Address<'_>,
            arguments: &crate::json::Json,
            options: &crate::client::CallOptions,
        ) -> crate::error::Result<crate::protocol::GetPromptResult> {
            let need = crate::host::resilience::route::Need::Method(crate::method::Method::PromptsGet);
            crate::host::resilience::route::routed(self, need, options, &|caller, options| {
                caller.get_prompt(address, arguments, options)
            })
        }
    };
}

pub(crate) use routed_calls;

//! What servers say of their tools, resources and prompts: a model reads it before it calls anything.

use super::blocks::Pass;
use super::check::Found;
use super::source::{Source, Stamp};
use super::{ResultFilter, denied};
use crate::error::Result;
use crate::json::Json;
use crate::protocol::{Prompt, Resource, ResourceTemplate, ToolDefinition};

impl ResultFilter {
    /// A tool as it may be shown to a model: all its texts visible and cut, those in its schemas too. It is called by the name its
    /// server gave it, which a host has of its own list.
    ///
    /// # Errors
    /// [`Error::Denied`](crate::Error::Denied) when a schema is too large, or a check refuses it.
    pub fn apply_definition(&self, server: &str, mut tool: ToolDefinition) -> Result<ToolDefinition> {
        let name = tool.name.clone();
        let source = Source::tool(server, &name);
        let mut pass = self.pass(&source);
        pass.line(&mut tool.name);
        pass.lines([&mut tool.title, &mut None]);
        pass.description(&mut tool.description);
        self.schema(&mut pass, &source, &mut tool.input_schema)?;
        if let Some(schema) = &mut tool.output_schema {
            self.schema(&mut pass, &source, schema)?;
        }
        if let Some(hints) = &mut tool.annotations {
            pass.lines([&mut hints.title, &mut None]);
            pass.object(&mut hints.extra);
        }
        if let Some(execution) = &mut tool.execution {
            pass.object(&mut execution.extra);
        }
        pass.icons(&mut tool.icons);
        pass.meta(&mut tool.meta);
        pass.object(&mut tool.extra);
        pass.stamp.put(&mut tool.meta, pass.changes);
        self.run_checks(&source, &mut Found::Tool(&mut tool))?;
        Ok(tool)
    }

    fn schema(&self, pass: &mut Pass<'_>, source: &Source<'_>, schema: &mut Json) -> Result<()> {
        let (bytes, most) = (schema.as_str().len(), self.caps.schema_bytes);
        if bytes > most {
            return Err(denied(
                source,
                &format!("its schema has {bytes} bytes, and at most {most} are passed on"),
            ));
        }
        pass.json(schema, self.caps.description_bytes);
        Ok(())
    }

    /// A resource as it may be shown to a model.
    ///
    /// # Errors
    /// [`Error::Denied`](crate::Error::Denied) when a check refuses it.
    pub fn apply_resource(&self, server: &str, mut resource: Resource) -> Result<Resource> {
        let uri = resource.uri.clone();
        let source = Source::resource(server, &uri);
        let mut pass = self.pass(&source);
        pass.line(&mut resource.uri);
        pass.line(&mut resource.name);
        pass.lines([&mut resource.title, &mut resource.mime_type]);
        pass.description(&mut resource.description);
        pass.annotations(&mut resource.annotations);
        pass.icons(&mut resource.icons);
        pass.meta(&mut resource.meta);
        pass.object(&mut resource.extra);
        pass.stamp.put(&mut resource.meta, pass.changes);
        self.run_checks(&source, &mut Found::Resource(&mut resource))?;
        Ok(resource)
    }

    /// A kind of resource as it may be shown to a model.
    ///
    /// # Errors
    /// [`Error::Denied`](crate::Error::Denied) when a check refuses it.
    pub fn apply_template(&self, server: &str, mut template: ResourceTemplate) -> Result<ResourceTemplate> {
        let uri = template.uri_template.clone();
        let source = Source::resource(server, &uri);
        let mut pass = self.pass(&source);
        pass.line(&mut template.uri_template);
        pass.line(&mut template.name);
        pass.lines([&mut template.title, &mut template.mime_type]);
        pass.description(&mut template.description);
        pass.annotations(&mut template.annotations);
        pass.icons(&mut template.icons);
        pass.meta(&mut template.meta);
        pass.object(&mut template.extra);
        pass.stamp.put(&mut template.meta, pass.changes);
        self.run_checks(&source, &mut Found::Template(&mut template))?;
        Ok(template)
    }

    /// A prompt as it may be shown to a user or a model.
    ///
    /// # Errors
    /// [`Error::Denied`](crate::Error::Denied) when a check refuses it.
    pub fn apply_prompt_definition(&self, server: &str, mut prompt: Prompt) -> Result<Prompt> {
        let name = prompt.name.clone();
        let source = Source::prompt(server, &name);
        let mut pass = self.pass(&source);
        pass.line(&mut prompt.name);
        pass.lines([&mut prompt.title, &mut None]);
        pass.description(&mut prompt.description);
        if let Some(arguments) = &mut prompt.arguments {
            pass.changes.cut |= arguments.len() > self.caps.blocks;
            arguments.truncate(self.caps.blocks);
            for argument in arguments {
                pass.line(&mut argument.name);
                pass.lines([&mut argument.title, &mut None]);
                pass.description(&mut argument.description);
                pass.object(&mut argument.extra);
            }
        }
        pass.icons(&mut prompt.icons);
        pass.meta(&mut prompt.meta);
        pass.object(&mut prompt.extra);
        pass.stamp.put(&mut prompt.meta, pass.changes);
        self.run_checks(&source, &mut Found::PromptDefinition(&mut prompt))?;
        Ok(prompt)
    }

    pub(super) fn pass<'a>(&'a self, source: &'a Source<'a>) -> Pass<'a> {
        Pass::new(&self.caps, Stamp::of(source))
    }
}

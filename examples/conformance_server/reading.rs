//! Resources and prompts.

use serde_json::json;
use tinymcp::protocol::{
    BlobResourceContents, Content, PromptMessage, Resource, ResourceTemplate, TextResourceContents,
};
use tinymcp::{FnPrompt, FnResource, FnTemplate, PromptRegistry, ResourceRegistry, prompt};

use crate::asking::asking_prompt;
use crate::tools::PNG;

pub(crate) fn resources() -> Result<ResourceRegistry, Box<dyn std::error::Error>> {
    let text = Resource::new("test://static-text", "static-text")
        .with_description("A text that stays the same")
        .with_mime_type("text/plain");
    let binary = Resource::new("test://static-binary", "static-binary")
        .with_description("An image that stays the same")
        .with_mime_type("image/png");
    let watched = Resource::new("test://watched-resource", "watched-resource")
        .with_description("A text that clients may subscribe to")
        .with_mime_type("text/plain");
    let template = ResourceTemplate::new("test://template/{id}/data", "template")
        .with_description("The data of any id")
        .with_mime_type("application/json");
    let template = FnTemplate::new(template, |variables, _| {
        let id = variables.get("id")?;
        Some(json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")}).to_string())
    });
    Ok(ResourceRegistry::new()
        .with(FnResource::text(text, "This is the content of the static text resource."))?
        .with(FnResource::new(binary, |_| BlobResourceContents::new("test://static-binary", PNG)))?
        .with(FnResource::text(watched, "This is the content of the watched resource."))?
        .with_template(template.complete_from("id", ["1", "12", "123"]))?)
}

pub(crate) fn prompts() -> Result<PromptRegistry, Box<dyn std::error::Error>> {
    let simple = prompt! {
        /// A prompt without arguments
        fn test_simple_prompt() -> &'static str { "This is a simple prompt for testing." }
    };
    let image = prompt! {
        /// A prompt with an image
        fn test_prompt_with_image() -> Vec<PromptMessage> {
            vec![
                PromptMessage::user(Content::image(PNG, "image/png")),
                PromptMessage::user("Please analyze the image above."),
            ]
        }
    };
    Ok(PromptRegistry::new()
        .with(simple)?
        .with(with_arguments())?
        .with(with_embedded_resource())?
        .with(image)?
        .with(asking_prompt())?)
}

fn with_arguments() -> FnPrompt {
    let prompt = prompt! {
        /// A prompt with two arguments
        fn test_prompt_with_arguments(
            /// First test argument
            arg1: String,
            /// Second test argument
            arg2: String,
        ) -> String {
            format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")
        }
    };
    prompt.complete_from("arg1", ["paris", "park", "party", "test", "testing"])
}

fn with_embedded_resource() -> FnPrompt {
    prompt! {
        /// A prompt that brings a resource with it
        fn test_prompt_with_embedded_resource(
            /// The address that the resource is to have
            uri as "resourceUri": String,
        ) -> Vec<PromptMessage> {
            let text = "Embedded resource content for testing.";
            let resource = TextResourceContents::new(uri, text).with_mime_type("text/plain");
            vec![
                PromptMessage::user(Content::resource(resource)),
                PromptMessage::user("Please process the embedded resource above."),
            ]
        }
    }
}

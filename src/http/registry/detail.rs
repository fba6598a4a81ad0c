//! [`Package`], [`Remote`] and what they are made of.
//!
//! **Invariant:** a package of which something that would be run is not understood is not read at all; texts for people cost nothing but
//! themselves.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::page::SHOWN_CHARS;
use crate::host::filter::{visible, visible_line};
use crate::json::{FromJson, JsonError, Members, Object, shortened};

/// A way to start a server on this machine.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Package {
    /// Where it is from: `npm`, `pypi`, `oci`, `nuget`, `mcpb`, …
    pub registry_type: String,
    /// The address of that registry, if it is not the usual one.
    pub registry_base_url: Option<String>,
    /// Its name there; an image with its tag, or an address.
    pub identifier: String,
    /// Its version, where it is not a part of the identifier.
    pub version: Option<String>,
    /// The SHA-256 digest of its file, in hexadecimal.
    pub file_sha256: Option<String>,
    /// What is to start it: `npx`, `uvx`, `docker`, `dnx`, …
    pub runtime_hint: Option<String>,
    /// How one talks to it, once it is started.
    pub transport: PackageTransport,
    /// Arguments of what starts it.
    pub runtime_arguments: Vec<Argument>,
    /// Its own arguments.
    pub package_arguments: Vec<Argument>,
    /// Variables that it gets.
    pub environment_variables: Vec<NamedField>,
    /// Members that are not known here, kept as they came.
    pub extra: Object,
}

/// How one talks to a server that is started.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PackageTransport {
    /// On its stdin and stdout.
    Stdio,
    /// At an address at which it listens.
    Url(Remote),
}

/// An address at which a server is reached.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Remote {
    /// What it speaks.
    pub kind: RemoteKind,
    /// The address; `{name}` in it is one of the variables.
    pub url: String,
    /// Headers that it wants.
    pub headers: Vec<NamedField>,
    /// What `{name}` stands for.
    pub variables: BTreeMap<String, Field>,
    /// Members that are not known here, kept as they came.
    pub extra: Object,
}

/// What a server at an address speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteKind {
    /// Streamable HTTP.
    StreamableHttp,
    /// HTTP+SSE, of 2024-11-05.
    Sse,
    /// Something that is not known here.
    Other(String),
}

/// An argument of a command line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Argument {
    /// The flag, with its dashes; `None` for an argument that is known by its place.
    pub name: Option<String>,
    /// What an argument without a flag is called.
    pub value_hint: Option<String>,
    /// Whether it can be given several times.
    pub is_repeated: bool,
    /// Its value.
    pub field: Field,
}

/// A variable or a header.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NamedField {
    /// Its name.
    pub name: String,
    /// Its value.
    pub field: Field,
}

/// A value that is fixed, or that the user gives.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Field {
    /// What it is.
    pub description: Option<String>,
    /// Whether there must be one.
    pub is_required: bool,
    /// Whether nobody else may see it.
    pub is_secret: bool,
    /// `string`, `number`, `boolean`, `filepath`.
    pub format: Option<String>,
    /// The value that the publisher has fixed; `{name}` in it is one of the variables.
    pub value: Option<String>,
    /// The value that counts if the user gives none.
    pub default: Option<String>,
    /// An example, for the user.
    pub placeholder: Option<String>,
    /// If there are any, the value is one of these.
    pub choices: Vec<String>,
    /// What `{name}` in the value stands for.
    pub variables: BTreeMap<String, Field>,
}

/// The items of a list.
pub(super) fn each(raw: &RawValue) -> Result<Vec<&RawValue>, JsonError> {
    serde_json::from_str(raw.get()).map_err(|_| JsonError::expected("a list", raw))
}

/// A text for people: what cannot be seen is written out.
pub(super) fn shown_text(members: &mut Members<'_>, name: &str) -> Option<String> {
    let text: String = members.lenient(name)?;
    Some(visible(&shortened(&text, SHOWN_CHARS)).into_owned()).filter(|text| !text.is_empty())
}

/// An address for people to open: only what a browser opens without doing something else.
pub(super) fn shown_url(members: &mut Members<'_>, name: &str) -> Option<String> {
    let url: String = members.lenient(name)?;
    crate::url::Url::parse(&url).is_ok().then_some(url)
}

/// A list that is read whole or not at all.
fn list<T: FromJson>(members: &mut Members<'_>, name: &str) -> Result<Vec<T>, JsonError> {
    let Some(raw) = members.take(name).filter(|raw| raw.get() != "null") else { return Ok(Vec::new()) };
    let items = each(raw).map_err(|e| e.inside(name))?;
    let read = items.into_iter().enumerate();
    read.map(|(i, item)| T::from_json(item).map_err(|e| e.at(i).inside(name))).collect()
}

/// A text, or a number or truth value, which many publish as such.
fn scalar(members: &mut Members<'_>, name: &str) -> Result<Option<String>, JsonError> {
    let Some(raw) = members.take(name).filter(|raw| raw.get() != "null") else { return Ok(None) };
    match raw.get().as_bytes().first() {
        Some(b'{' | b'[') => Err(JsonError::expected("a string", raw).inside(name)),
        Some(b'"') => String::from_json(raw).map(Some).map_err(|e| e.inside(name)),
        _ => Ok(Some(raw.get().to_owned())),
    }
}

fn flag(members: &mut Members<'_>, name: &str) -> Result<bool, JsonError> {
    Ok(members.required::<Option<bool>>(name)?.unwrap_or_default())
}

impl Field {
    fn read(members: &mut Members<'_>) -> Result<Self, JsonError> {
        Ok(Self {
            description: shown_text(members, "description"),
            is_required: flag(members, "isRequired")?,
            is_secret: flag(members, "isSecret")?,
            format: members.lenient("format"),
            value: scalar(members, "value")?,
            default: scalar(members, "default")?,
            placeholder: shown_text(members, "placeholder"),
            choices: members.required::<Option<Vec<String>>>("choices")?.unwrap_or_default(),
            variables: fields(members)?,
        })
    }
}

/// The member `variables`: those in it have none of their own.
fn fields(members: &mut Members<'_>) -> Result<BTreeMap<String, Field>, JsonError> {
    let Some(raw) = members.take("variables").filter(|raw| raw.get() != "null") else {
        return Ok(BTreeMap::new());
    };
    let inside = |e: JsonError| e.inside("variables");
    let mut read = BTreeMap::new();
    for (name, raw) in Members::of(raw).map_err(inside)?.in_order() {
        let mut members = Members::of(raw).map_err(|e| inside(e.inside(&name)))?;
        let _ = members.take("variables");
        let field = Field::read(&mut members).map_err(|e| inside(e.inside(&name)))?;
        read.insert(name, field);
    }
    Ok(read)
}

impl FromJson for NamedField {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let mut members = Members::of(raw)?;
        Ok(Self { name: members.required("name")?, field: Field::read(&mut members)? })
    }
}

impl FromJson for Argument {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let mut members = Members::of(raw)?;
        let kind: String = members.required("type")?;
        let name = match kind.as_str() {
            "named" => Some(members.required("name")?),
            "positional" => None,
            _ => return Err(JsonError::new("neither positional nor named").inside("type")),
        };
        let value_hint = members.required("valueHint")?;
        let is_repeated = flag(&mut members, "isRepeated")?;
        Ok(Self { name, value_hint, is_repeated, field: Field::read(&mut members)? })
    }
}

impl FromJson for Remote {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let mut members = Members::of(raw)?;
        let kind: String = members.required("type")?;
        let kind = match kind.as_str() {
            "streamable-http" => RemoteKind::StreamableHttp,
            "sse" => RemoteKind::Sse,
            _ => RemoteKind::Other(visible_line(&kind).into_owned()),
        };
        let (url, headers) = (members.required("url")?, list(&mut members, "headers")?);
        Ok(Self { kind, url, headers, variables: fields(&mut members)?, extra: members.rest() })
    }
}

impl FromJson for Package {
    fn from_json(raw: &RawValue) -> Result<Self, JsonError> {
        let mut members = Members::of(raw)?;
        let transport = match members.take("transport").filter(|raw| raw.get() != "null") {
            // Before 2025-09 there was nothing else.
            None => PackageTransport::Stdio,
            Some(raw) => transport(raw).map_err(|e| e.inside("transport"))?,
        };
        Ok(Self {
            registry_type: members.required("registryType")?,
            registry_base_url: members.required("registryBaseUrl")?,
            identifier: members.required("identifier")?,
            version: members.required("version")?,
            file_sha256: members.required("fileSha256")?,
            runtime_hint: members.required::<Option<String>>("runtimeHint")?.filter(|hint| !hint.is_empty()),
            transport,
            runtime_arguments: list(&mut members, "runtimeArguments")?,
            package_arguments: list(&mut members, "packageArguments")?,
            environment_variables: list(&mut members, "environmentVariables")?,
            extra: members.rest(),
        })
    }
}

fn transport(raw: &RawValue) -> Result<PackageTransport, JsonError> {
    let kind: String = Members::of(raw)?.required("type")?;
    if kind == "stdio" {
        return Ok(PackageTransport::Stdio);
    }
    Remote::from_json(raw).map(PackageTransport::Url)
}

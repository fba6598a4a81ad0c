//! The command lines of packages.
//!
//! **Invariant:** what is started is one version of one package: names and versions are checked by the grammar of their registry before
//! they are an argument, so that none is taken for a flag, a folder, an address or a range.

use std::collections::{BTreeMap, BTreeSet};

use super::detail::{Argument, Package};
use super::error::{SetupError, SetupErrorKind};
use super::fill::Filler;
use crate::host::filter::visible_line;
use crate::url::Url;

type Line = (String, Vec<String>, BTreeMap<String, String>);

/// Program, arguments and variables.
pub(super) fn of(
    package: &Package,
    filler: &mut Filler<'_>,
    cautions: &mut Vec<String>,
) -> Result<Line, SetupError> {
    let env = variables(package, filler)?;
    let hint = package.runtime_hint.as_deref();
    let (program, args) = match package.registry_type.as_str() {
        "npm" => npm(package, hint.unwrap_or("npx"), filler, cautions)?,
        "pypi" => pypi(package, hint.unwrap_or("uvx"), filler, cautions)?,
        "oci" => oci(package, hint.unwrap_or("docker"), &env, filler, cautions)?,
        "nuget" => nuget(package, hint.unwrap_or("dnx"), filler, cautions)?,
        "mcpb" => {
            let digest = package.file_sha256.as_deref().map_or(String::new(), |digest| {
                format!(" if its SHA-256 digest is {}", visible_line(digest))
            });
            return Err(cannot_run(format!(
                "a bundle to be downloaded and unpacked: {}{digest}",
                visible_line(&package.identifier)
            )));
        }
        "cargo" => {
            let name = visible_line(&package.identifier);
            return Err(cannot_run(format!("a crate to be installed first: cargo install {name}")));
        }
        other => {
            return Err(cannot_run(format!(
                "no program is known that starts packages of {}",
                visible_line(other)
            )));
        }
    };
    if package.file_sha256.is_some() {
        cautions.push("the digest that was published is not compared with what is downloaded".to_owned());
    }
    if package
        .extra
        .json("postInstallInstructions")
        .is_some_and(|steps| !matches!(steps.as_str(), "null" | "[]"))
    {
        cautions.push("its publisher names steps that are to be done by hand".to_owned());
    }
    Ok((program.to_owned(), args, env))
}

fn cannot_run(problem: impl Into<String>) -> SetupError {
    SetupError::new(SetupErrorKind::CannotRun, problem)
}

fn not_pinned(problem: impl Into<String>) -> SetupError {
    SetupError::new(SetupErrorKind::NotPinned, problem)
}

fn npm<'p>(
    package: &Package,
    hint: &'p str,
    filler: &mut Filler<'_>,
    cautions: &mut Vec<String>,
) -> Result<(&'p str, Vec<String>), SetupError> {
    if !matches!(hint, "npx" | "bunx") {
        return Err(unknown_runtime(hint, package));
    }
    let name = checked_name(package, is_npm_name)?;
    // To npm, 1.2 is any 1.2.x.
    let version = checked_version(package, |version| {
        let release = version.split(['-', '+']).next().unwrap_or_default();
        let parts: Vec<_> = release.split('.').collect();
        parts.len() == 3 && parts.iter().all(|part| is_number(part))
    })?;
    let mut args = Vec::new();
    if hint == "npx" {
        args.push("-y".to_owned());
        if let Some(registry) = other_registry(package, &["https://registry.npmjs.org"])? {
            args.push(format!("--registry={registry}"));
        }
    } else {
        only_registry(package, &["https://registry.npmjs.org"])?;
    }
    let runtime = runtime(package, &["-y", "--yes"], filler)?;
    none_other(&runtime, &["-p", "--package", "-c", "--call"], &[])?;
    tell(&runtime, cautions);
    args.extend(runtime);
    args.push(format!("{name}@{version}"));
    args.extend(arguments(&package.package_arguments, &[], filler)?);
    Ok((hint, args))
}

fn pypi<'p>(
    package: &Package,
    hint: &'p str,
    filler: &mut Filler<'_>,
    cautions: &mut Vec<String>,
) -> Result<(&'p str, Vec<String>), SetupError> {
    let name = checked_name(package, is_plain_name)?;
    let version = checked_version(package, starts_with_number)?;
    only_registry(package, &["https://pypi.org", "https://pypi.org/simple"])?;
    let (mut args, pinned) = match hint {
        "uvx" => (Vec::new(), format!("{name}@{version}")),
        "uv" => (vec!["tool".to_owned(), "run".to_owned()], format!("{name}@{version}")),
        "pipx" => (vec!["run".to_owned()], format!("{name}=={version}")),
        _ => return Err(unknown_runtime(hint, package)),
    };
    let runtime = runtime(package, &[], filler)?;
    none_other(&runtime, &["--from", "--spec"], &[])?;
    tell(&runtime, cautions);
    args.extend(runtime);
    args.push(pinned);
    args.extend(arguments(&package.package_arguments, &[], filler)?);
    Ok((hint, args))
}

fn nuget<'p>(
    package: &Package,
    hint: &'p str,
    filler: &mut Filler<'_>,
    cautions: &mut Vec<String>,
) -> Result<(&'p str, Vec<String>), SetupError> {
    let name = checked_name(package, is_plain_name)?;
    let version = checked_version(package, starts_with_number)?;
    let usual = ["https://api.nuget.org", "https://api.nuget.org/v3/index.json"];
    let source = other_registry(package, &usual)?;
    let mut args = match hint {
        "dnx" => Vec::new(),
        "dotnet" => vec!["tool".to_owned(), "exec".to_owned()],
        _ => return Err(unknown_runtime(hint, package)),
    };
    args.push(format!("{name}@{version}"));
    args.push("--yes".to_owned());
    args.extend(source.map(|source| format!("--source={source}")));
    let runtime = runtime(package, &["-y", "--yes"], filler)?;
    none_other(&runtime, &[], &[])?;
    tell(&runtime, cautions);
    args.extend(runtime);
    let own = arguments(&package.package_arguments, &[], filler)?;
    if !own.is_empty() {
        args.push("--".to_owned());
        args.extend(own);
    }
    Ok((hint, args))
}

/// Flags of `docker run` without a value.
const SWITCHES: [&str; 8] =
    ["-i", "--interactive", "--rm", "--init", "-t", "--tty", "--privileged", "--read-only"];

/// Flags that open the container to what is outside of it.
const OPENING: [&str; 11] = [
    "-v",
    "--volume",
    "--mount",
    "--privileged",
    "--network",
    "--net",
    "--pid",
    "--cap-add",
    "--device",
    "--security-opt",
    "--volumes-from",
];

fn oci<'p>(
    package: &Package,
    hint: &'p str,
    env: &BTreeMap<String, String>,
    filler: &mut Filler<'_>,
    cautions: &mut Vec<String>,
) -> Result<(&'p str, Vec<String>), SetupError> {
    if !matches!(hint, "docker" | "podman") {
        return Err(unknown_runtime(hint, package));
    }
    let image = image(package)?;
    let runtime = runtime(package, &SWITCHES, filler)?;
    none_other(&runtime, &[], &SWITCHES)?;
    let mut args = vec!["run".to_owned(), "-i".to_owned(), "--rm".to_owned()];
    let has = |flag: &str, name: &str| {
        let is_name =
            |value: &str| value == name || value.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
        runtime.windows(2).any(|pair| pair[0] == flag && is_name(&pair[1]))
            || runtime.iter().any(|arg| {
                arg.strip_prefix(flag).and_then(|rest| rest.strip_prefix('=')).is_some_and(is_name)
            })
    };
    // By name only: the value is in the environment of the command, where other users of this machine do not see it.
    for name in env.keys().filter(|name| !has("-e", name) && !has("--env", name)) {
        args.push("-e".to_owned());
        args.push(name.clone());
    }
    let is_known = |arg: &String| matches!(arg.as_str(), "-i" | "--interactive" | "--rm");
    for arg in runtime.into_iter().filter(|arg| !is_known(arg)) {
        let flag = arg.split('=').next().unwrap_or_default();
        if OPENING.contains(&flag) {
            cautions.push(format!("the container is opened by {}", visible_line(&arg)));
        }
        args.push(arg);
    }
    args.push(image);
    args.extend(arguments(&package.package_arguments, &[], filler)?);
    Ok((hint, args))
}

/// The image with its tag or digest.
fn image(package: &Package) -> Result<String, SetupError> {
    let text = &package.identifier;
    let is_part = |part: &str| {
        !part.is_empty()
            && part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let wrong = || SetupError::malformed(format!("no name of an image: {}", visible_line(text)));
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text.as_str(), None),
    };
    let slash = rest.rfind('/').map_or(0, |at| at + 1);
    let (path, tag) = match rest[slash..].split_once(':') {
        Some((name, tag)) => (&rest[..slash + name.len()], Some(tag)),
        None => (rest, None),
    };
    let mut parts = path.split('/');
    let first = parts.next().unwrap_or_default();
    let host = first.split_once(':').map_or(first, |(host, port)| if is_number(port) { host } else { "" });
    let has_host = path.contains('/') && (first.contains(['.', ':']) || first == "localhost");
    if path.len() > 255 || !is_part(if has_host { host } else { first }) || !parts.all(is_part) {
        return Err(wrong());
    }
    let is_hex = |digits: &str| digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if digest.is_some_and(|digest| !digest.strip_prefix("sha256:").is_some_and(is_hex)) {
        return Err(wrong());
    }
    let is_tag = |tag: &str| tag.len() <= 128 && (is_part(tag) || tag.starts_with('_') && is_part(&tag[1..]));
    let version = package.version.as_deref().filter(|version| !version.is_empty());
    let tag = tag.or(version.filter(|_| digest.is_none()));
    if tag.is_some_and(|tag| !is_tag(tag)) {
        return Err(wrong());
    }
    if digest.is_none() && tag.is_none_or(|tag| tag.eq_ignore_ascii_case("latest")) {
        return Err(not_pinned("neither a tag other than latest nor a digest says which image it is"));
    }
    let usual = ["https://docker.io", "https://index.docker.io", "https://registry-1.docker.io"];
    let registry = match other_registry(package, &usual)?.filter(|_| !has_host) {
        Some(registry) => {
            let url = Url::parse(&registry).map_err(SetupError::malformed)?;
            format!("{}/", url.origin().trim_start_matches("https://"))
        }
        None => String::new(),
    };
    let tag = tag.map(|tag| format!(":{tag}")).unwrap_or_default();
    let digest = digest.map(|digest| format!("@{digest}")).unwrap_or_default();
    Ok(format!("{registry}{path}{tag}{digest}"))
}

fn unknown_runtime(hint: &str, package: &Package) -> SetupError {
    let kind = visible_line(&package.registry_type);
    cannot_run(format!("it is not known how {} starts packages of {kind}", visible_line(hint)))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn starts_with_number(version: &str) -> bool {
    version.starts_with(|c: char| c.is_ascii_digit())
}

/// A name of PyPI or NuGet.
fn is_plain_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

fn is_npm_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '~')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "._~-".contains(c))
    };
    match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| is_part(scope) && is_part(name)),
        None => is_part(name),
    }
}

fn checked_name(package: &Package, is_name: impl Fn(&str) -> bool) -> Result<&str, SetupError> {
    let name = package.identifier.as_str();
    if name.len() > 214 || !is_name(name) {
        let (kind, name) = (visible_line(&package.registry_type), visible_line(name));
        return Err(SetupError::malformed(format!("no name of a package of {kind}: {name}")));
    }
    Ok(name)
}

fn checked_version(package: &Package, is_exact: impl Fn(&str) -> bool) -> Result<&str, SetupError> {
    let Some(version) = package.version.as_deref().filter(|version| !version.is_empty()) else {
        return Err(not_pinned("it names no version"));
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+!".contains(c);
    if version.len() > 255 || !version.chars().all(is_plain) || !is_exact(version) {
        return Err(not_pinned(format!("no exact version: {}", visible_line(version))));
    }
    Ok(version)
}

/// The address of the package's registry, if it is not one of the usual ones.
fn other_registry(package: &Package, usual: &[&str]) -> Result<Option<String>, SetupError> {
    let Some(url) = package.registry_base_url.as_deref().filter(|url| !url.is_empty()) else {
        return Ok(None);
    };
    if usual.contains(&url.trim_end_matches('/')) {
        return Ok(None);
    }
    let parsed =
        Url::parse(url).map_err(|e| SetupError::malformed(format!("the address of its registry: {e}")))?;
    if !parsed.is_secure() || url.contains(['$', '{', '\\']) {
        return Err(SetupError::malformed("the address of its registry is none of https"));
    }
    Ok(Some(parsed.whole()))
}

fn only_registry(package: &Package, usual: &[&str]) -> Result<(), SetupError> {
    match other_registry(package, usual)? {
        None => Ok(()),
        Some(url) => {
            Err(cannot_run(format!("it is not known how a package is taken from {}", visible_line(&url))))
        }
    }
}

/// The arguments of what starts the package. Those that name the package once more, or its usual first ones, are left out.
fn runtime(package: &Package, switches: &[&str], filler: &mut Filler<'_>) -> Result<Vec<String>, SetupError> {
    let mut args = arguments(&package.runtime_arguments, switches, filler)?;
    let names_package = |arg: &String| {
        let rest = arg.strip_prefix(package.identifier.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['@', ':']) || rest.starts_with("=="))
    };
    args.retain(|arg| !names_package(arg));
    match package.registry_type.as_str() {
        "oci" if args.first().is_some_and(|arg| arg == "run") => drop(args.remove(0)),
        "npm" | "nuget" => args.retain(|arg| !matches!(arg.as_str(), "-y" | "--yes")),
        _ => {}
    }
    Ok(args)
}

/// What stands before the package without being a flag, or the value of one, would be started in its place.
fn none_other(runtime: &[String], naming: &[&str], switches: &[&str]) -> Result<(), SetupError> {
    let mut takes_value = false;
    for arg in runtime {
        let flag = arg.split('=').next().unwrap_or_default();
        if naming.contains(&flag) || arg == "--" || (!arg.starts_with('-') && !takes_value) {
            let arg = visible_line(arg);
            return Err(not_pinned(format!("its runtime arguments say what is started themselves: {arg}")));
        }
        takes_value = arg.starts_with('-') && flag == arg && !switches.contains(&flag);
    }
    Ok(())
}

fn tell(runtime: &[String], cautions: &mut Vec<String>) {
    if !runtime.is_empty() {
        cautions.push(format!("what starts it gets further arguments: {}", visible_line(&runtime.join(" "))));
    }
}

/// `switches` are flags that are known to have no value.
fn arguments(
    arguments: &[Argument],
    switches: &[&str],
    filler: &mut Filler<'_>,
) -> Result<Vec<String>, SetupError> {
    let mut line = Vec::new();
    for (i, argument) in arguments.iter().enumerate() {
        let Some(name) = &argument.name else {
            let key = argument.value_hint.clone().unwrap_or_else(|| format!("argument-{}", i + 1));
            line.extend(filler.fill(&key, &argument.field, argument.is_repeated)?);
            continue;
        };
        if name.is_empty()
            || name.contains("${")
            || name.contains(|c: char| c.is_whitespace() || c.is_control())
        {
            return Err(SetupError::malformed(format!("no flag: {:?}", visible_line(name))));
        }
        let field = &argument.field;
        if field.value.is_none() && switches.contains(&name.as_str()) {
            line.push(name.clone());
            continue;
        }
        for value in filler.fill(name, field, argument.is_repeated)? {
            match value.as_str() {
                "" => line.push(name.clone()),
                // Programs that read short flags take `=` for a part of the value.
                _ if name.starts_with('-') && !name.starts_with("--") => line.extend([name.clone(), value]),
                _ if name.ends_with('=') => line.push(format!("{name}{value}")),
                _ => line.push(format!("{name}={value}")),
            }
        }
    }
    Ok(line)
}

fn variables(package: &Package, filler: &mut Filler<'_>) -> Result<BTreeMap<String, String>, SetupError> {
    let mut env = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for variable in &package.environment_variables {
        let name = &variable.name;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) || name.starts_with('-') {
            return Err(SetupError::malformed(format!("no name of a variable: {}", visible_line(name))));
        }
        if !seen.insert(name) {
            return Err(SetupError::malformed(format!("the variable {name} is given twice")));
        }
        if let Some(value) = filler.fill_variable(variable)? {
            env.insert(name.clone(), value);
        }
    }
    Ok(env)
}

/// A header's name, by the grammar of HTTP.
pub(super) fn is_header_name(name: &str) -> bool {
    let is_token = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    !name.is_empty() && name.bytes().all(is_token) && !name.contains("${")
}

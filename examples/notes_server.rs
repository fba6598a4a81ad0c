//! A server that keeps notes as Markdown files, in `NOTES_DIR` or else in `~/.notes`.
//!
//! ```text
//! $ echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | cargo run --example notes_server
//! {"jsonrpc":"2.0","id":1,"result":{}}
//! ```
//!
//! Or over HTTP, at <http://127.0.0.1:8000/mcp>, unless `--host` and `--port` say otherwise:
//!
//! ```text
//! $ cargo run --features http-server --example notes_server -- --transport streamable-http
//! ```
//!
//! With `RUST_LOG=info` it says where it serves, once it does.
//!
//! With the feature `guard`, links in the folder lead nowhere else, and a note is replaced as a whole.
//!
//! `quickstart.rs` is a client for it. Each note is also a resource, `notes://{title}`. Two titles may make the same file name (`a/b` and `a_b`): saving a note replaces
//! the one of the very same title; a file that holds anything else is left alone, and the error says so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, error::Error, fs, io, sync::Mutex};

use self::folder::Folder;
use tinymcp::protocol::{Resource, ResourceTemplate, UriTemplate};
use tinymcp::resource::NotFound;
use tinymcp::{FnTemplate, ResourceRegistry, Server, ToolError, ToolRegistry, tool};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    tinymcp::logging::init();
    let transport = Transport::from_args()?;
    let home = || env::var_os("HOME").or_else(|| env::var_os("USERPROFILE"));
    let dir =
        env::var_os("NOTES_DIR").map(PathBuf::from).or_else(|| Some(Path::new(&home()?).join(".notes")));
    let dir = dir.ok_or("neither NOTES_DIR nor HOME is set")?;
    fs::create_dir_all(&dir).map_err(|e| format!("cannot create {}: {e}", dir.display()))?;

    let folder = Folder::open(&dir)?;
    let (notes, saving) = (folder.clone(), Mutex::new(()));
    let [reading, listing, completing] = [folder.clone(), folder.clone(), folder.clone()];
    let create_note = tool! {
        /// Create a text note with a given title and content.
        /// Use this when the user wants to save information for later.
        /// Returns the path where the note was saved.
        fn create_note(title: String, content: String, tags: Option<Vec<String>>) -> Result<String, ToolError> {
            let _saving = saving.lock(); // calls run at the same time
            let name = safe_name(&title)? + ".md";
            let path = dir.join(&name);
            // JSON is YAML too, and keeps a title with line breaks on its line.
            let (head, tags) = (serde_json::to_string(&title)?, serde_json::to_string(&tags.unwrap_or_default())?);
            let text = format!("---\ntitle: {head}\ntags: {tags}\n---\n\n{content}");
            let cannot = |e| ToolError::new(format_args!("cannot save {}: {e}", path.display()));
            save(&notes, name.as_ref(), &title, &text).map_err(cannot)?;
            Ok(format!("Note saved to {}", path.display()))
        }
    };
    let search_notes = tool! {
        /// Search notes by keyword. Searches both titles and content.
        /// Returns a list of matching note titles and snippets.
        /// Use this before creating a note to check if one already exists.
        fn search_notes(query: String) -> io::Result<String> { search(&folder, &query) }
    };
    let definition = ResourceTemplate::new("notes://{title}", "get_note")
        .with_description("Read a note by title.")
        .with_mime_type("text/markdown");
    let get_note = FnTemplate::new(definition, move |variables, _| {
        variables.get("title").map(|title| read(&reading, title))
    });
    let uri = UriTemplate::parse("notes://{title}")?;
    let get_note = get_note.list(move |_| {
        let names =
            files(&listing)?.into_iter().filter(|(_, file)| listing.is_file(file)).map(|(name, _)| name);
        names.map(|name| Ok(Resource::new(uri.expand(&[("title", name.as_str().into())])?, name))).collect()
    });
    let get_note = get_note.complete("title", move |typed, _, _| -> io::Result<Vec<String>> {
        let typed = typed.to_lowercase();
        let names = files(&completing)?.into_keys();
        Ok(names.filter(|name| name.to_lowercase().starts_with(&typed)).collect())
    });
    let tools = ToolRegistry::new().with(create_note)?.with(search_notes.read_only())?;
    let resources = ResourceRegistry::new().with_template(get_note)?;
    let server = Server::builder("notes-server", "1.0.0").tools(tools).resources(resources).build()?;
    match transport {
        Transport::Stdio => {
            server.start()?;
        }
        #[cfg(feature = "http-server")]
        Transport::Http(address) => server.serve_http(address)?,
    }
    Ok(())
}

/// How clients reach the server.
enum Transport {
    Stdio,
    #[cfg(feature = "http-server")]
    Http((String, u16)),
}

impl Transport {
    /// As the options say; what stands before them is for the programs that include this one.
    fn from_args() -> Result<Self, String> {
        let (mut transport, mut host, mut port) = ("stdio".to_owned(), "127.0.0.1".to_owned(), 8000_u16);
        let mut args = env::args().skip(1).skip_while(|arg| !arg.starts_with("--"));
        while let Some(name) = args.next() {
            let value = args.next().ok_or_else(|| format!("{name}: a value is missing"))?;
            match &*name {
                "--transport" => transport = value,
                "--host" => host = value,
                "--port" => port = value.parse().map_err(|e| format!("--port {value}: {e}"))?,
                _ => return Err(format!("unknown option: {name}")),
            }
        }
        match &*transport {
            "stdio" => Ok(Self::Stdio),
            #[cfg(feature = "http-server")]
            "streamable-http" => Ok(Self::Http((host, port))),
            #[cfg(not(feature = "http-server"))]
            "streamable-http" => {
                Err(format!("http://{host}:{port}/mcp is not served: build with the feature http-server"))
            }
            _ => Err(format!("--transport {transport}: expected stdio or streamable-http")),
        }
    }
}

/// The file name for a title: without separators and dots it cannot leave the directory.
fn safe_name(title: &str) -> Result<String, ToolError> {
    let safe = |c: char| if c.is_alphanumeric() || " -_".contains(c) { c } else { '_' };
    let name = title.chars().map(safe).collect::<String>().trim().to_owned();
    if name.is_empty() { Err(ToolError::bad_arguments("title: must not be blank")) } else { Ok(name) }
}

fn save(notes: &Folder, file: &Path, title: &str, text: &str) -> io::Result<()> {
    match notes.read(file).map(String::from_utf8) {
        Ok(Ok(old)) if parse(&old).is_some_and(|(old, _)| old == title) => notes.write(file, text),
        Err(e) if e.kind() == io::ErrorKind::NotFound => notes.create_new(file, text),
        _ => Err(io::Error::other("the file holds another note, choose another title")),
    }
}

/// Title and content of a note.
fn parse(text: &str) -> Option<(String, &str)> {
    let (head, content) = text.strip_prefix("---\ntitle: ")?.split_once("\n---\n\n")?;
    Some((serde_json::from_str(head.lines().next()?).ok()?, content))
}

/// The files of all notes, by name.
fn files(notes: &Folder) -> io::Result<BTreeMap<String, PathBuf>> {
    let files = notes.files()?.into_iter().filter(|file| file.extension().is_some_and(|e| e == "md"));
    Ok(files
        .map(|file| (file.file_stem().unwrap_or_default().to_string_lossy().into_owned(), file))
        .collect())
}

/// The note as it was saved. Only what is in the folder can be read, whatever the title says.
fn read(notes: &Folder, title: &str) -> Result<String, ToolError> {
    let files = files(notes)?;
    let file = files.get(title).or_else(|| files.get(&safe_name(title).ok()?));
    let file = file.ok_or_else(|| NotFound::new(format_args!("Note not found: {title}")))?;
    Ok(String::from_utf8_lossy(&notes.read(file)?).into_owned())
}

fn search(notes: &Folder, query: &str) -> io::Result<String> {
    let mut found = Vec::new();
    for (name, file) in files(notes)? {
        let bytes = notes.read(&file).inspect_err(|e| log::warn!("cannot read {}: {e}", file.display()));
        let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
        let (title, content) = parse(&text).unwrap_or((name.clone(), &text));
        if let Some(snippet) = snippet(&format!("{title}\n{content}"), query) {
            found.push(format!("- **{name}**: ...{snippet}..."));
        }
    }
    Ok(if found.is_empty() { format!("No notes found matching '{query}'") } else { found.join("\n") })
}

/// What surrounds the first hit, in either case: 50 characters before it and 100 from there on.
fn snippet(note: &str, query: &str) -> Option<String> {
    let query: String = query.chars().flat_map(char::to_lowercase).collect();
    // Lower case may be longer or shorter: which character each byte of it came from.
    let (mut lower, mut origins) = (String::new(), Vec::new());
    for (at, c) in note.chars().enumerate() {
        lower.extend(c.to_lowercase());
        origins.resize(lower.len(), at);
    }
    let hit = *origins.get(lower.find(&query)?)?;
    let start = hit.saturating_sub(50);
    Some(note.chars().skip(start).take(hit + 100 - start).collect::<String>().replace(['\n', '\r'], " "))
}

/// The folder of the notes; a file in it is called by its name.
#[cfg(not(feature = "guard"))]
mod folder {
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};
    use std::{error::Error, fs};

    #[derive(Clone)]
    pub(crate) struct Folder(PathBuf);

    impl Folder {
        pub(crate) fn open(dir: &Path) -> Result<Self, Box<dyn Error>> {
            Ok(Self(dir.to_owned()))
        }

        pub(crate) fn files(&self) -> io::Result<Vec<PathBuf>> {
            fs::read_dir(&self.0)?.map(|entry| Ok(entry?.file_name().into())).collect()
        }

        pub(crate) fn is_file(&self, file: &Path) -> bool {
            self.0.join(file).is_file()
        }

        pub(crate) fn read(&self, file: &Path) -> io::Result<Vec<u8>> {
            fs::read(self.0.join(file))
        }

        pub(crate) fn write(&self, file: &Path, text: &str) -> io::Result<()> {
            fs::write(self.0.join(file), text)
        }

        pub(crate) fn create_new(&self, file: &Path, text: &str) -> io::Result<()> {
            fs::File::create_new(self.0.join(file))?.write_all(text.as_bytes())
        }
    }
}

/// The same, which no link leaves.
#[cfg(feature = "guard")]
mod folder {
    use std::path::{Path, PathBuf};
    use std::{error::Error, io};
    use tinymcp::guard::{FileKind, Root};

    #[derive(Clone)]
    pub(crate) struct Folder(Root);

    impl Folder {
        pub(crate) fn open(dir: &Path) -> Result<Self, Box<dyn Error>> {
            // What is there already may have any name.
            let root = Root::open(dir)?.native_names();
            Ok(Self(root.max_file_bytes(64 * 1024 * 1024).max_entries(1_000_000)))
        }

        pub(crate) fn files(&self) -> io::Result<Vec<PathBuf>> {
            Ok(self.0.read_dir(".")?.into_iter().map(|entry| entry.path).collect())
        }

        pub(crate) fn is_file(&self, file: &Path) -> bool {
            self.0.metadata(file).is_ok_and(|metadata| metadata.kind == FileKind::File)
        }

        pub(crate) fn read(&self, file: &Path) -> io::Result<Vec<u8>> {
            Ok(self.0.read(file)?)
        }

        pub(crate) fn write(&self, file: &Path, text: &str) -> io::Result<()> {
            Ok(self.0.write(file, text)?)
        }

        pub(crate) fn create_new(&self, file: &Path, text: &str) -> io::Result<()> {
            Ok(self.0.create_new(file, text)?)
        }
    }
}

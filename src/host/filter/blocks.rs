//! The blocks of results: cleaned, cut, and marked with where they come from.

use super::caps::Caps;
use super::source::{Stamp, is_ours};
use super::strings::{Changes, clean, clean_json};
use crate::json::{FromJson, Json, Object};
use crate::protocol::{Annotations, Content, Icon, ResourceContents, Role, SamplingContent, TextContent};

/// One result on its way through the filter.
pub(super) struct Pass<'a> {
    pub(super) caps: &'a Caps,
    pub(super) stamp: Stamp<'a>,
    /// How many bytes of text there is still room for.
    pub(super) left: usize,
    /// What was done to the block that is looked at.
    pub(super) changes: Changes,
}

fn weight_of(object: &Object) -> usize {
    object.iter().map(|(name, value)| name.len() + value.as_str().len()).sum()
}

/// How much text a block brings.
fn weight(block: &Content) -> usize {
    match block {
        Content::Text(it) => it.text.len(),
        Content::ResourceLink(it) => it.description.as_ref().map_or(0, String::len),
        Content::Resource(it) => match &it.resource {
            ResourceContents::Text(it) => it.text.len(),
            ResourceContents::Blob(_) => 0,
        },
        Content::Unknown(it) => weight_of(it),
        Content::Image(_) | Content::Audio(_) => 0,
    }
}

/// With less room than this a text would say nothing but that it is cut.
const ROOM: usize = 256;

impl<'a> Pass<'a> {
    pub(super) fn new(caps: &'a Caps, stamp: Stamp<'a>) -> Self {
        Self { caps, stamp, left: caps.result_bytes, changes: Changes::default() }
    }

    /// Begins a block, and tells what was done to the one before.
    pub(super) fn take_changes(&mut self) -> Changes {
        std::mem::take(&mut self.changes)
    }

    fn clean(&mut self, text: &mut String, most: usize, is_line: bool) {
        if let Some(cleaned) = clean(text, most, is_line, &mut self.changes) {
            *text = cleaned;
        }
    }

    /// A text for a model, which counts.
    pub(super) fn text(&mut self, text: &mut String) {
        let most = self.caps.text_bytes.min(self.left.max(ROOM));
        self.clean(text, most, false);
        self.left = self.left.saturating_sub(text.len());
    }

    pub(super) fn line(&mut self, text: &mut String) {
        self.clean(text, self.caps.name_bytes, true);
    }

    pub(super) fn lines(&mut self, texts: [&mut Option<String>; 2]) {
        texts.into_iter().flatten().for_each(|text| self.line(text));
    }

    pub(super) fn description(&mut self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.clean(text, self.caps.description_bytes, false);
        }
    }

    pub(super) fn json(&mut self, json: &mut Json, most: usize) {
        if let Some(cleaned) = clean_json(json, most, &mut self.changes) {
            *json = cleaned;
        }
    }

    /// Members that are not known, or metadata: cleaned, without what only this library writes, and left out if they are too large.
    pub(super) fn object(&mut self, object: &mut Object) {
        if object.is_empty() {
            return;
        }
        if weight_of(object) > self.caps.extra_bytes {
            self.changes.cut = true;
            *object = Object::new();
            return;
        }
        let forged: Vec<String> =
            object.iter().map(|(name, _)| name).filter(|name| is_ours(name)).map(str::to_owned).collect();
        for name in forged {
            object.remove(&name);
        }
        let mut changed = Vec::new();
        for (name, value) in object.iter() {
            let new_name = clean(name, self.caps.name_bytes, true, &mut self.changes);
            let new_value = clean_json(value, self.caps.extra_bytes, &mut self.changes);
            if new_name.is_some() || new_value.is_some() {
                changed.push((name.to_owned(), new_name, new_value.unwrap_or_else(|| value.clone())));
            }
        }
        for (name, new_name, value) in changed {
            object.remove(&name);
            object.insert(new_name.unwrap_or(name), &value);
        }
        if weight_of(object) > self.caps.extra_bytes {
            self.changes.cut = true;
            *object = Object::new();
        }
    }

    pub(super) fn meta(&mut self, meta: &mut Option<Object>) {
        if let Some(meta) = meta {
            self.object(meta);
        }
    }

    pub(super) fn annotations(&mut self, annotations: &mut Option<Annotations>) {
        let Some(annotations) = annotations else { return };
        for role in annotations.audience.iter_mut().flatten() {
            if let Role::Unknown(word) = role {
                self.line(word);
            }
        }
        self.lines([&mut annotations.last_modified, &mut None]);
        self.object(&mut annotations.extra);
    }

    /// Pictures that are too large are left out: an address cannot be cut.
    pub(super) fn icons(&mut self, icons: &mut Option<Vec<Icon>>) {
        let Some(list) = icons else { return };
        let (before, most) = (list.len(), self.caps.extra_bytes);
        list.truncate(16);
        list.retain(|icon| icon.src.len() <= most);
        self.changes.cut |= list.len() < before;
        for icon in list {
            self.clean(&mut icon.src, most, true);
            self.lines([&mut icon.mime_type, &mut None]);
            icon.sizes.iter_mut().flatten().for_each(|size| self.line(size));
            self.object(&mut icon.extra);
        }
    }

    /// A block that the filter says in place of something.
    pub(super) fn said(&self, text: String) -> Content {
        let mut block = TextContent::new(text);
        self.stamp.put_added(&mut block.meta);
        Content::Text(block)
    }

    /// Bytes in base64; why they are left out, if they are.
    fn blob(&mut self, data: &mut String, kind: &str, mime_type: &str) -> Option<String> {
        let most = self.caps.blob_bytes;
        if data.len() > most {
            self.changes.cut = true;
            let bytes = data.len();
            return Some(format!(
                "[{kind} {mime_type} left out: {bytes} bytes of base64, and at most {most} are passed on]"
            ));
        }
        self.clean(data, most, true);
        None
    }

    /// A list of blocks: those beyond the room there is are left out, and the last says so.
    pub(super) fn content(&mut self, blocks: &mut Vec<Content>) {
        let count = blocks.len();
        let most = if count > self.caps.blocks { self.caps.blocks - 1 } else { count };
        let mut kept = 0;
        while kept < most && (kept == 0 || self.left >= ROOM || weight(&blocks[kept]) <= ROOM) {
            self.block(&mut blocks[kept]);
            kept += 1;
        }
        if kept < count {
            blocks.truncate(kept.min(self.caps.blocks - 1));
            let left_out = count - blocks.len();
            blocks.push(
                self.said(format!("[{left_out} of {count} blocks left out: that is more than is passed on]")),
            );
        }
    }

    fn block(&mut self, block: &mut Content) {
        self.take_changes();
        let mut instead = None;
        match block {
            Content::Text(it) => {
                self.text(&mut it.text);
                self.annotations(&mut it.annotations);
                self.meta(&mut it.meta);
                self.object(&mut it.extra);
                self.stamp.put(&mut it.meta, self.changes);
            }
            Content::Image(it) => {
                self.line(&mut it.mime_type);
                instead = self.blob(&mut it.data, "picture", &it.mime_type);
                self.annotations(&mut it.annotations);
                self.meta(&mut it.meta);
                self.object(&mut it.extra);
                self.stamp.put(&mut it.meta, self.changes);
            }
            Content::Audio(it) => {
                self.line(&mut it.mime_type);
                instead = self.blob(&mut it.data, "sound", &it.mime_type);
                self.annotations(&mut it.annotations);
                self.meta(&mut it.meta);
                self.object(&mut it.extra);
                self.stamp.put(&mut it.meta, self.changes);
            }
            Content::ResourceLink(it) => {
                self.line(&mut it.uri);
                self.line(&mut it.name);
                self.lines([&mut it.title, &mut it.mime_type]);
                self.description(&mut it.description);
                self.icons(&mut it.icons);
                self.annotations(&mut it.annotations);
                self.meta(&mut it.meta);
                self.object(&mut it.extra);
                self.stamp.put(&mut it.meta, self.changes);
                self.left = self.left.saturating_sub(it.description.as_ref().map_or(0, String::len));
            }
            Content::Resource(it) => {
                instead = self.contents(&mut it.resource);
                self.annotations(&mut it.annotations);
                self.meta(&mut it.meta);
                self.object(&mut it.extra);
                self.stamp.put(&mut it.meta, self.changes);
            }
            Content::Unknown(it) => {
                instead = self.unknown(it);
            }
        }
        if let Some(said) = instead {
            *block = self.said(said);
        }
    }

    /// A block of a kind that is not known; why it is left out, if it is.
    fn unknown(&mut self, block: &mut Object) -> Option<String> {
        let most = self.caps.text_bytes.min(self.left.max(ROOM));
        let too_large = |bytes| format!("[block left out: {bytes} bytes, and at most {most} are passed on]");
        let bytes = weight_of(block);
        if bytes > most {
            return Some(too_large(bytes));
        }
        let meta = block.remove("_meta");
        let cleaned: Vec<_> = block.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect();
        for (mut name, mut value) in cleaned {
            block.remove(&name);
            self.line(&mut name);
            self.json(&mut value, most);
            block.insert(name, &value);
        }
        let bytes = weight_of(block);
        if bytes > most {
            return Some(too_large(bytes));
        }
        let mut meta = meta.and_then(|meta| Object::from_json(meta.as_raw()).ok());
        self.meta(&mut meta);
        self.stamp.put(&mut meta, self.changes);
        block.insert("_meta", &meta);
        self.left = self.left.saturating_sub(bytes);
        None
    }

    /// What is in a resource; what to say instead, if it is left out.
    pub(super) fn contents(&mut self, contents: &mut ResourceContents) -> Option<String> {
        match contents {
            ResourceContents::Text(it) => {
                self.line(&mut it.uri);
                self.text(&mut it.text);
                self.lines([&mut it.mime_type, &mut None]);
                self.meta(&mut it.meta);
                self.object(&mut it.extra);
                None
            }
            ResourceContents::Blob(it) => {
                self.line(&mut it.uri);
                self.lines([&mut it.mime_type, &mut None]);
                self.meta(&mut it.meta);
                self.object(&mut it.extra);
                let mime_type = it.mime_type.clone().unwrap_or_default();
                self.blob(&mut it.blob, "file", &mime_type)
            }
        }
    }

    /// A block of what a server asks the language model. It has no note of where it comes from: all of it is the server's.
    pub(super) fn sampled(&mut self, block: &mut SamplingContent) {
        let mut instead = None;
        match block {
            SamplingContent::Text(it) => {
                self.text(&mut it.text);
                self.meta(&mut it.meta);
                self.object(&mut it.extra);
            }
            SamplingContent::Image(it) => {
                self.line(&mut it.mime_type);
                instead = self.blob(&mut it.data, "picture", &it.mime_type);
                self.meta(&mut it.meta);
                self.object(&mut it.extra);
            }
            SamplingContent::Audio(it) => {
                self.line(&mut it.mime_type);
                instead = self.blob(&mut it.data, "sound", &it.mime_type);
                self.meta(&mut it.meta);
                self.object(&mut it.extra);
            }
            SamplingContent::ToolUse(it) => {
                self.line(&mut it.name);
                self.meta(&mut it.meta);
                self.object(&mut it.input);
                self.object(&mut it.extra);
            }
            SamplingContent::ToolResult(it) => {
                self.content(&mut it.content);
                if let Some(value) = &mut it.structured_content {
                    self.json(value, self.caps.text_bytes);
                }
                self.meta(&mut it.meta);
                self.object(&mut it.extra);
            }
            SamplingContent::Unknown(it) => self.object(it),
        }
        if let Some(said) = instead {
            *block = SamplingContent::text(said);
        }
    }
}

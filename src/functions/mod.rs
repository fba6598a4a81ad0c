//! Other tool-call formats, to and from the registry.

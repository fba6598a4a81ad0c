//! The result filter: what servers send is untrusted.

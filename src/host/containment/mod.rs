//! Containment of server processes.

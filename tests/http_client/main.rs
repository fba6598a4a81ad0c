//! The client's side of HTTP, before servers that follow a script.

#[path = "../support/scripted_http.rs"]
mod http;

mod end;
mod legacy;
mod line;
mod modern;
mod old;
mod outcomes;
mod streams;
mod ways;
mod whole;

//! A relay that serves on a free port, until it is dropped.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::net::SocketAddr;
use std::thread::JoinHandle;

use tinymcp::CancelToken;
use tinymcp::http::{HttpServer, HttpServerBuilder};
use tinymcp::transport::Transport;

pub(crate) struct Relaying {
    pub(crate) address: SocketAddr,
    pub(crate) url: String,
    stop: CancelToken,
    serving: Option<JoinHandle<Result<(), tinymcp::Error>>>,
}

impl Relaying {
    pub(crate) fn to<T: Transport>(connect: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Self::with(HttpServer::relay(connect))
    }

    pub(crate) fn with(builder: HttpServerBuilder) -> Self {
        let http = builder.bind("127.0.0.1:0").expect("a port");
        let (address, url, stop) = (http.address(), http.url(), http.stop_token());
        Self { address, url, stop, serving: Some(std::thread::spawn(move || http.serve())) }
    }

    /// Ends it in good order.
    pub(crate) fn stop(&mut self) {
        self.stop.cancel("the test is over");
        if let Some(serving) = self.serving.take() {
            serving.join().expect("no panic").expect("served");
        }
    }
}

impl Drop for Relaying {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

//! Containment: what a server's process can reach, use up and outlive.
//!
//! A server is a program of somebody else that runs as the user: whatever the policy says about its tools, the process itself can read the
//! user's keys and send them anywhere. With the feature `host` it can be started so that it cannot:
//!
//! ```no_run
//! # #[cfg(feature = "host")] {
//! use tinymcp::Client;
//! use tinymcp::host::containment::{Bwrap, Containment, Limits, Spawner};
//! use tinymcp::transport::{ChildProcess, Environment};
//!
//! let spawner = Spawner::start()?; // one for all servers of a program
//! let contained = Containment::new(&spawner)
//!     .with(Limits::new().open_files(256).file_bytes(100 << 20)) // the first is the innermost
//!     .with(Bwrap::new().writable("/srv/notes"));
//! let server = ChildProcess::new("notes-server").arg("/srv/notes").environment(Environment::None);
//! let client = Client::builder().open(contained.apply(server))?;
//! # let _ = client;
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! What cannot be contained as asked **is not started**; the error says what this machine lacks.
//!
//! | | keeps a server from | takes |
//! |---|---|---|
//! | its process group, always | outliving `close` | Unix |
//! | [`Environment`](crate::transport::Environment) | this program's variables: a few harmless ones by default, or none | |
//! | [`Limits`](crate::host::containment::Limits) | using up memory, descriptors, time, disk | Linux, `prlimit` |
//! | [`Bwrap`](crate::host::containment::Bwrap) | files, network, other processes, privileges; outliving this program | Linux, `bwrap`, user namespaces |
//! | [`Container`](crate::host::containment::Container) | the same, and what it uses all together | docker, podman or the like |
//!
//! # What a server in `bwrap` sees
//!
//! | | |
//! |---|---|
//! | `/usr`, `/bin`, `/sbin`, `/lib…` | read-only |
//! | of `/etc` | `alternatives`, `group`, `ld.so.*`, `localtime`, `nsswitch.conf`, `passwd`, read-only; what names and certificates take, with [`share_net`](crate::host::containment::Bwrap::share_net). Never `/etc/ssl/private` |
//! | its program, if it lies elsewhere | that file, read-only; its folder with [`program_folder`](crate::host::containment::Bwrap::program_folder) |
//! | folders you name | at their places, [`read_only`](crate::host::containment::Bwrap::read_only) or [`writable`](crate::host::containment::Bwrap::writable) |
//! | `/tmp`, `/dev/shm` | its own, empty, in memory |
//! | `/proc` | its own processes, read-only |
//! | `/dev` | `null`, `zero`, `full`, `random`, `urandom`; no terminal |
//! | the home, `/run`, `/var`, `/sys`, the network | nothing |
//!
//! It starts in the folder the command names, which must be shown; else in this program's, if that is shown; else in `/`. `HOME` stays what
//! it is, and names nothing then: [`private_home`](crate::host::containment::Bwrap::private_home) makes an empty folder there, for `npx` and others
//! that write to it. A Python environment or a `node_modules` of the user is a folder to be named:
//!
//! ```
//! # #[cfg(feature = "host")] {
//! use tinymcp::host::containment::Bwrap;
//!
//! let python = Bwrap::new().read_only("/home/me/notes/.venv").writable("/home/me/notes/data").private_home();
//! # let _ = python;
//! # }
//! ```
//!
//! Some of it is for `root`, to whom a sandbox of `bwrap` alone leaves doors: `/proc/sys` is the machine's settings, which belong to `root`, and so do
//! the modes of the device nodes that `bwrap` shows. Here both are read-only. All the same, a host had better not be `root`.
//!
//! What it keeps open: the kernel's system calls, as many as there are (see [below](#system-calls)); the time, and the load of the machine;
//! with [`Stderr::Inherit`](crate::transport::Stderr::Inherit) this program's own stderr, which may be a terminal that can be typed into (`TIOCSTI`):
//! capture it, or switch `dev.tty.legacy_tiocsti` off. There is no `--new-session` against that, as signals to the group would not arrive then.
//!
//! # Variables
//!
//! A command line can be read by every user of the machine, so no value is on one. `bwrap` reads them by a descriptor, from a file that
//! has no name any more; a container's client is told names, and has the values as variables of its own. A server's variables are not given to
//! `bwrap` or the shell before it, so that `LD_PRELOAD` in a configuration does nothing outside of the sandbox; a container's client is refused such.
//! Descriptors that this program has inherited itself are closed.
//!
//! # Limits
//!
//! [`Limits`](crate::host::containment::Limits) are of each process by itself. A tree of processes is bounded by control groups, which a container
//! has ([`memory_bytes`](crate::host::containment::Container::memory_bytes), [`processes`](crate::host::containment::Container::processes),
//! [`cpus`](crate::host::containment::Container::cpus)), or by systemd, as the outermost layer:
//!
//! ```no_run
//! # #[cfg(feature = "host")] {
//! use tinymcp::host::containment::{Bwrap, CommandLine, Containment, Spawner};
//!
//! let bounded = |mut command: CommandLine| {
//!     // It finds the user's systemd by this one.
//!     command.env.extend(std::env::var_os("XDG_RUNTIME_DIR").map(|value| ("XDG_RUNTIME_DIR".into(), value)));
//!     let options = ["--user", "--scope", "--quiet", "-p", "MemoryMax=1G", "-p", "TasksMax=100", "--"];
//!     Ok(command.wrapped_in("systemd-run", options))
//! };
//! let contained = Containment::new(&Spawner::start()?).with(Bwrap::new()).with(bounded);
//! # let _ = contained;
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! Outside of `Bwrap` the variables of the command are `bwrap`'s own: a `PATH`, and nothing of the server's.
//!
//! # The end
//!
//! Closing ends a contained server like any other: end of input, SIGTERM to its group, SIGKILL, and the server hears SIGTERM in its sandbox and
//! has its time. (Where `env` has no `--default-signal`, GNU's has, it is killed at SIGTERM.) If this *program* is killed, a server in `bwrap` is
//! too, whatever it does: Linux ends it with the thread that started it, which is why there is a
//! [`Spawner`](crate::host::containment::Spawner): its thread stays. Drop it and its servers' clients, and it ends.
//!
//! A container belongs to its runtime. Its client, `docker run`, passes the end of input and SIGTERM on; when the client has ended, however, the
//! container of the id that it wrote is removed (`rm --force`, 10 s at most). If this program is killed, the container sees
//! the end of its input, and one that ignores that stays.
//!
//! # A part of the network
//!
//! `bwrap` and containers know none or all of it. Less than all is the system's work: a network namespace with rules, made once
//! by the administrator. This one lets servers reach a proxy at port 3128 of this machine and nothing else; which names they may reach
//! is the proxy's configuration then.
//!
//! ```text
//! ip netns add mcp
//! ip link add mcp0 type veth peer name eth0 netns mcp
//! ip addr add 10.200.0.1/24 dev mcp0 && ip link set mcp0 up
//! ip -n mcp addr add 10.200.0.2/24 dev eth0 && ip -n mcp link set eth0 up && ip -n mcp link set lo up
//! ip netns exec mcp nft -f - <<END
//! table inet mcp {
//!   chain output {
//!     type filter hook output priority 0; policy drop;
//!     oif lo accept
//!     ip daddr 10.200.0.1 tcp dport 3128 accept
//!   }
//! }
//! END
//! ```
//!
//! Servers are started in it by a layer around `bwrap`, which then shares the network it finds. `ip netns exec` takes `root`:
//!
//! ```no_run
//! # #[cfg(feature = "host")] {
//! use tinymcp::host::containment::{Bwrap, CommandLine, Containment, Spawner};
//! use tinymcp::transport::ChildProcess;
//!
//! let contained = Containment::new(&Spawner::start()?)
//!     .with(Bwrap::new().share_net())
//!     .with(|command: CommandLine| Ok(command.wrapped_in("ip", ["netns", "exec", "mcp"])));
//! let server = contained.apply(ChildProcess::new("fetch-server").env("HTTPS_PROXY", "http://10.200.0.1:3128"));
//! # let _ = server;
//! # }
//! # Ok::<(), tinymcp::Error>(())
//! ```
//!
//! For containers the runtime makes such a network (`docker network create --internal mcp`), with the proxy as a second container in it; then
//! [`network("mcp")`](crate::host::containment::Container::network).
//!
//! # System calls
//!
//! [`Bwrap::seccomp`](crate::host::containment::Bwrap::seccomp) takes a compiled filter. Debian's `python3-seccomp` makes one; these calls have no place in a server,
//! and `keyctl` would show it the user's keyrings, which no namespace hides:
//!
//! ```text
//! import errno, seccomp
//! rules = seccomp.SyscallFilter(defaction=seccomp.ALLOW)
//! for name in ["keyctl", "add_key", "request_key", "ptrace", "bpf", "userfaultfd", "perf_event_open"]:
//!     rules.add_rule(seccomp.ERRNO(errno.EPERM), name)
//! with open("server.bpf", "wb") as file:
//!     rules.export_bpf(file)
//! ```
//!
//! Runtimes of containers have a filter by default; another is an
//! [option](crate::host::containment::Container::option), `--security-opt=seccomp=profile.json`.
//!
//! # AppArmor, SELinux, other programs
//!
//! A profile that the administrator has loaded is one more layer: `aa-exec -p PROFILE --`, `runcon -t TYPE --`. Any program that runs another is: a closure from
//! [`CommandLine`](crate::host::containment::CommandLine) to `CommandLine` is a [`Sandbox`](crate::host::containment::Sandbox).
//!
//! What was run for this page, on Debian 12: `bwrap` as `root` and as a user without privileges, `prlimit`, the network namespace and the filter. Not run:
//! `systemd-run`, AppArmor, SELinux, and any container runtime but a script that stands for one.

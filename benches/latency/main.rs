//! Latency, throughput, CPU time and memory beside the physical floor, as a Markdown table.
//!
//! ```text
//! cargo bench --bench latency -- [--rounds N] [--quick] [--only TEXT] [--with NAME=SERVER]... [--client NAME=CLIENT]...
//! ```
//!
//! This program starts itself as every part of a measurement: a floor server, a server and a client of this crate, and a
//! driver that speaks raw JSON-RPC and checks every answer. `--with` adds a stdio server with a tool `echo` (`message`: a
//! string), `--client` a program that takes the arguments of `examples/echo_client` and prints its JSON; a server and a
//! client of the same name share a column. `--only` measures the rows whose name contains that text. Contestants take
//! turns within each row, so that noise meets all of them.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the figures are the program's output")]

mod contestants;
mod driver;
mod table;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use table::{FLOOR, OURS, Table};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The arguments before `--`.
struct Options(Vec<String>);

impl Options {
    fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.windows(2).filter(move |pair| pair[0] == name).map(|pair| pair[1].as_str())
    }

    fn number(&self, name: &str, default: usize) -> Result<usize, Failure> {
        Ok(self.get(name).map_or(Ok(default), str::parse)?)
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|arg| arg == name)
    }
}

fn main() -> Result<(), Failure> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let command = args.iter().position(|arg| arg == "--").map(|at| args.split_off(at).split_off(1));
    let (options, command) = (Options(args), command.unwrap_or_default());
    match options.0.first().map(String::as_str) {
        Some("floor") => contestants::floor(options.get("--era")),
        Some("tools") => contestants::tools(),
        Some("client") => contestants::client(&options, &command),
        Some("drive") => driver::drive(&options, &command),
        _ => Bench::new(&options)?.run(),
    }
}

/// Where the two processes of a measurement run.
#[derive(Clone, Copy)]
enum Place {
    OneCore,
    Apart,
    /// Where the operating system likes.
    Free,
}

/// What the driver does with each server, and which rows that fills: name, key of the driver's figure.
struct Measure {
    options: &'static str,
    /// What of it `--quick` replaces.
    quick: &'static str,
    place: Place,
    rows: &'static [(&'static str, &'static str)],
}

const SERVERS: [Measure; 6] = [
    Measure {
        options: "--calls 10000",
        quick: "--calls 500",
        place: Place::OneCore,
        rows: &[("server latency, both on one core, µs", "p50_us")],
    },
    Measure {
        options: "--calls 10000",
        quick: "--calls 500",
        place: Place::Apart,
        rows: &[("server latency, on two cores, µs", "p50_us")],
    },
    Measure {
        options: "--calls 40000 --window 64",
        quick: "--calls 2000 --window 64",
        place: Place::Free,
        rows: &[("server, 64 in flight, calls/s", "calls_per_s")],
    },
    Measure {
        options: "--calls 100 --bytes 1048576",
        quick: "--calls 5 --bytes 1048576",
        place: Place::Free,
        rows: &[("1 MB echo, ms", "p50_ms"), ("1 MB echo, peak memory, MiB", "peak_mib")],
    },
    Measure {
        options: "--calls 5000",
        quick: "--calls 500",
        place: Place::Free,
        rows: &[("small calls, peak memory, MiB", "peak_mib"), ("small calls, threads", "threads")],
    },
    Measure {
        options: "--calls 150 --every-ms 20",
        quick: "--calls 20 --every-ms 20",
        place: Place::Free,
        rows: &[("CPU time a call at 50 calls/s, µs", "cpu_us")],
    },
];

/// Likewise for clients. The floor is the driver itself.
const CLIENTS: [Measure; 4] = [
    Measure {
        options: "--calls 10000",
        quick: "--calls 500",
        place: Place::OneCore,
        rows: &[("client latency, both on one core, µs", "p50_us")],
    },
    Measure {
        options: "--calls 10000",
        quick: "--calls 500",
        place: Place::Apart,
        rows: &[("client latency, on two cores, µs", "p50_us")],
    },
    Measure {
        options: "--calls 40000 --window 64",
        quick: "--calls 2000 --window 64",
        place: Place::Free,
        rows: &[("client, 64 in flight from one thread, calls/s", "calls_per_s")],
    },
    Measure {
        options: "--calls 40000 --window 64 --threads 64",
        quick: "--calls 2000 --window 64 --threads 64",
        place: Place::Free,
        rows: &[("client, 64 in flight from 64 threads, calls/s", "calls_per_s")],
    },
];

const SPIN: &str = "300 µs of work, 64 in flight: two cores / one, ×";
/// Likewise; the floor is a server that has nothing to do but the ping.
const PINGS: [(&str, &str); 3] = [
    ("ping behind a sleeping tool, longest of 20, ms", "--pings idle"),
    ("ping behind it in dense traffic, longest of 20, ms", "--pings dense"),
    ("ping behind eight of it in dense traffic, longest of 20, ms", "--pings dense --sleeps 8"),
];

struct Contestant {
    name: String,
    command: Vec<String>,
}

struct Bench {
    me: String,
    /// Two cores to pin processes to, if that is possible.
    cores: Option<(usize, usize)>,
    servers: Vec<Contestant>,
    clients: Vec<Contestant>,
    rounds: usize,
    quick: bool,
    only: String,
    table: Table,
    /// Times of a fixed piece of work, alone and beside another: what the machine itself does to all figures.
    spins: (Vec<Duration>, Vec<Duration>),
}

impl Bench {
    fn new(options: &Options) -> Result<Self, Failure> {
        // `cargo test --all-targets` runs this without `--bench`: then it only shows that it works.
        let quick = options.has("--quick") || !options.has("--bench") && !options.has("--rounds");
        let me = std::env::current_exe()?.to_str().ok_or("an unusual path")?.to_owned();
        let own = |name: &str, mode: &str| Contestant {
            name: name.to_owned(),
            command: vec![me.clone(), mode.to_owned()],
        };
        let others = |kind: &str| {
            options
                .all(kind)
                .map(|given| {
                    let (name, command) = given.split_once('=').ok_or("NAME=COMMAND is wanted")?;
                    let command = command.split_whitespace().map(str::to_owned).collect();
                    Ok::<_, Failure>(Contestant { name: name.to_owned(), command })
                })
                .collect::<Result<Vec<_>, _>>()
        };
        let mut servers = vec![own(FLOOR, "floor"), own(OURS, "tools")];
        servers.extend(others("--with")?);
        let mut clients = vec![own(FLOOR, "drive"), own(OURS, "client")];
        clients.extend(others("--client")?);
        let table = Table::new(servers.iter().chain(&clients).map(|contestant| contestant.name.as_str()));
        Ok(Self {
            me,
            cores: two_cores().filter(|_| has_taskset()),
            servers,
            clients,
            rounds: if quick { 1 } else { options.number("--rounds", 5)? },
            quick,
            only: options.get("--only").unwrap_or_default().to_owned(),
            table,
            spins: Default::default(),
        })
    }

    fn run(mut self) -> Result<(), Failure> {
        let before = load();
        for round in 1..=self.rounds {
            eprintln!("round {round} of {}", self.rounds);
            for era in ["legacy", "modern"] {
                self.measure_servers(era)?;
                self.measure_clients(era)?;
                self.measure_spin(era)?;
                self.measure_pings(era)?;
            }
        }
        println!("{}", self.header(&before));
        print!("{}", self.table);
        println!("\n{}", self.noise(&before));
        Ok(())
    }

    fn measure_servers(&mut self, era: &'static str) -> Result<(), Failure> {
        for measure in &SERVERS {
            for at in 0..self.servers.len() {
                let options = if self.quick { measure.quick } else { measure.options };
                let driver = self.driver(&format!("--era {era} {options}"));
                self.measure(
                    measure,
                    era,
                    &self.servers[at].name.clone(),
                    &driver,
                    &self.servers[at].command.clone(),
                )?;
            }
        }
        Ok(())
    }

    fn measure_clients(&mut self, era: &'static str) -> Result<(), Failure> {
        // Told the era so that it refuses a client that speaks the other one, whatever that was asked for.
        let floor = [self.me.as_str(), "floor", "--era", era].map(str::to_owned);
        for measure in &CLIENTS {
            for at in 0..self.clients.len() {
                let options = if self.quick { measure.quick } else { measure.options };
                let mut client = self.clients[at].command.clone();
                client.extend(format!("--era {era} {options}").split(' ').map(str::to_owned));
                self.measure(measure, era, &self.clients[at].name.clone(), &client, &floor)?;
            }
        }
        Ok(())
    }

    /// Runs `driver` on `driven` and keeps its figures. A contestant that fails in an era, perhaps because it does not know
    /// it, is left out of that row; neither the floor nor this crate may fail.
    fn measure(
        &mut self,
        measure: &Measure,
        era: &'static str,
        name: &str,
        driver: &[String],
        driven: &[String],
    ) -> Result<(), Failure> {
        let is_wanted = measure.rows.iter().any(|(row, _)| row.contains(&self.only));
        if !is_wanted || measure.rows.iter().any(|(row, _)| self.table.has_failed(row, era, name)) {
            return Ok(());
        }
        let figures = self.figures(measure.place, driver, driven);
        for (row, key) in measure.rows {
            match &figures {
                Ok(figures) => self.table.add(row, era, name, figures[*key].as_f64()),
                Err(e) if [FLOOR, OURS].contains(&name) => {
                    return Err(format!("{name}, {row}, {era}: {e}").into());
                }
                Err(e) => {
                    eprintln!("{name} is left out of {row}, {era}: {e}");
                    self.table.fail(row, era, name);
                }
            }
        }
        Ok(())
    }

    fn driver(&self, options: &str) -> Vec<String> {
        let own = [self.me.as_str(), "drive"].into_iter();
        own.chain(options.split_whitespace()).map(str::to_owned).collect()
    }

    fn figures(&self, place: Place, driver: &[String], driven: &[String]) -> Result<Value, Failure> {
        let (first, second) = match (place, self.cores) {
            (Place::Free, _) | (_, None) => (None, None),
            (Place::OneCore, Some((core, _))) => (Some(core), Some(core)),
            (Place::Apart, Some((one, other))) => (Some(one), Some(other)),
        };
        // What others say of their failure is long.
        let is_ours = driver[0] == self.me && driven[0] == self.me;
        let complaints = if is_ours { Stdio::inherit() } else { Stdio::null() };
        let mut command = pinned(first, driver);
        command.push("--".to_owned());
        command.extend(pinned(second, driven));
        let output = Command::new(&command[0]).args(&command[1..]).stderr(complaints).output()?;
        if !output.status.success() {
            return Err(format!("{} ended with {}", driver[0], output.status).into());
        }
        let text = String::from_utf8(output.stdout)?;
        Ok(serde_json::from_str(text.lines().last().unwrap_or_default())?)
    }

    /// How much faster a tool that computes is on two cores than on one; the floor is what two threads gain that have
    /// nothing to do with each other.
    fn measure_spin(&mut self, era: &'static str) -> Result<(), Failure> {
        let calls = if self.quick { 200 } else { 1000 };
        let (alone, beside) = (spin_on(1, calls), spin_on(2, calls));
        self.spins.0.push(alone / calls);
        self.spins.1.push(beside / calls);
        if self.cores.is_none() || !SPIN.contains(&self.only) {
            return Ok(());
        }
        self.table.add(SPIN, era, FLOOR, Some(2.0 * alone.as_secs_f64() / beside.as_secs_f64()));
        let driver = self.driver(&format!("--era {era} --tool spin --window 64 --calls {calls}"));
        let server = &self.servers[1].command;
        let rate = |figures: Value| figures["calls_per_s"].as_f64().ok_or("no calls_per_s");
        let one = rate(self.figures(Place::Apart, &driver, server)?)?;
        let two = rate(self.figures(Place::Free, &driver, server)?)?;
        self.table.add(SPIN, era, OURS, Some(two / one));
        Ok(())
    }

    fn measure_pings(&mut self, era: &'static str) -> Result<(), Failure> {
        let calls = if self.quick { 3 } else { 20 };
        for (row, how) in PINGS.into_iter().filter(|(row, _)| row.contains(&self.only)) {
            let driver = self.driver(&format!("--era {era} {how} --calls {calls}"));
            for contestant in &self.servers[..2] {
                let figures = self.figures(Place::Free, &driver, &contestant.command)?;
                self.table.add(row, era, &contestant.name, figures["longest_ms"].as_f64());
                if self.quick && contestant.name == OURS {
                    let on_reader = &figures["slept_on_reader"];
                    eprintln!("{row}, {era}: {on_reader} of {calls} slept on a reading thread");
                }
            }
        }
        Ok(())
    }

    fn header(&self, before: &str) -> String {
        let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let (date, rustc) = (said("date", &["-u", "+%F"]), said("rustc", &["--version"]));
        let cpu = cpu.map_or("unknown CPU", |(_, model)| model);
        let pinning = if self.cores.is_some() { "" } else { " No process could be pinned to a core." };
        format!(
            "{date}, {OURS} {}, {rustc}, {cores} cores of {cpu}, load {before} at the start. Medians of {} rounds \
             (min..max), and the median ratio to the floor.{pinning}\n",
            env!("CARGO_PKG_VERSION"),
            self.rounds,
        )
    }

    fn noise(&self, before: &str) -> String {
        let range = |times: &[Duration]| {
            let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
            format!("{:.2}..{:.2} ms", ms(times.iter().min()), ms(times.iter().max()))
        };
        format!(
            "Noise: the same computation took {} on one thread and {} on two at once; load average {before} before \
             and {} after.",
            range(&self.spins.0),
            range(&self.spins.1),
            load(),
        )
    }
}

/// The time of `calls` pieces of work on each of so many threads.
fn spin_on(threads: u32, calls: u32) -> Duration {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..calls).for_each(|_| contestants::spin_once()));
        }
    });
    start.elapsed()
}

/// `command`, to run on `core` alone.
fn pinned(core: Option<usize>, command: &[String]) -> Vec<String> {
    let pin = core.map(|core| ["taskset".to_owned(), "-c".to_owned(), core.to_string()]);
    pin.into_iter().flatten().chain(command.iter().cloned()).collect()
}

fn has_taskset() -> bool {
    let probe = Command::new("taskset").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    probe.is_ok_and(|status| status.success())
}

/// The first two cores that this process may use.
fn two_cores() -> Option<(usize, usize)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut cores = list.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
    });
    let mut cores = cores.by_ref().flatten();
    Some((cores.next()?, cores.next()?))
}

fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or("unknown").to_owned()
}

/// The one line that a program prints.
fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    let output = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    output.map_or_else(|| format!("{program} unknown"), |text| text.trim().to_owned())
}

//! Page that shows a trajectory, served only to a browser of this machine that has the token.

use crate::figures::of_thermo;
use crate::frame_cache::{CacheProgress, FrameCache};
use crate::html::escape;
use crate::labels::{time_unit, unit};
use crate::live::LiveRun;
use crate::report::{CANVAS, GRAPHICS, PLOTS, SCENE, THEME, controls, figures_json, filled};
use crate::run::RunFiles;
use crate::scene::order;
use crate::server::{Connections, Content, Reply, Request, Verb, serve};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use jostle_core::{Error, Result};
use jostle_engine::commands::{RunCommand, send};
use jostle_io::Open;
use serde_json::{Value as Json, json};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const PAGE: &str = include_str!("../pages/view.html");
const STYLE: &str = include_str!("../pages/style.css");
const VIEW_STYLE: &str = include_str!("../pages/view.css");
const SCRIPT: &str = include_str!("../pages/view.js");
/// Controls and script of a page that pulls atoms.
const PULLING: &str = include_str!("../pages/pull.html");
const PULL_SCRIPT: &str = include_str!("../pages/pull.js");
/// Bytes of the largest command, and of the largest request to pull, which may have a selection.
const LONGEST_ORDER: u64 = 1000;
const LONGEST_PULL: u64 = 4000;
/// Time for answers to requests under way when the program ends.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// The page takes nothing from anywhere else, and no other page may frame it.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
    connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
/// Policy of a page that notebooks of this machine may frame.
const NOTEBOOK_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
    connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
    frame-ancestors http://localhost:* http://127.0.0.1:* vscode-webview:";

/// Pages that may have the viewer in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// None.
    Forbidden,
    /// Notebooks of this machine.
    Notebooks,
}

/// A viewer, listening.
pub struct Viewer {
    address: String,
    token: String,
    connections: Connections,
}

/// Data from which requests are answered.
struct ViewerContent {
    path: PathBuf,
    frames: FrameCache,
    token: String,
    hosts: [String; 2],
    framing: Framing,
    /// The run, where this program makes its steps.
    live: Option<LiveRun>,
}

impl Viewer {
    /// Shows a trajectory or the folder of a run on a port of this machine (0: any that is free),
    /// until the program ends. Only requests with the token of [`Viewer::url`] are answered.
    ///
    /// # Errors
    /// If there is nothing to show, or the port is taken.
    pub fn open(path: &Path, how: Open, port: u16, framing: Framing) -> Result<Self> {
        let frames = FrameCache::open(path, how)?;
        Viewer::serve(path, frames, Viewer::listen(port)?, framing, None)
    }

    /// Shows a run that this program makes, in the folder that it writes to, and lets pages pull its atoms; see
    /// [`Viewer::open`].
    ///
    /// # Errors
    /// If the system has no thread or no temporary file.
    pub fn of_run(folder: &Path, run: LiveRun, listener: TcpListener) -> Result<Self> {
        let frames = FrameCache::of_run(folder, run.scene(), run.units())?;
        Viewer::serve(folder, frames, listener, Framing::Forbidden, Some(run))
    }

    /// Listens on a port of this machine (0: any that is free).
    ///
    /// # Errors
    /// If the port is taken.
    pub fn listen(port: u16) -> Result<TcpListener> {
        TcpListener::bind(("127.0.0.1", port)).map_err(|e| {
            Error::simulation(format!("cannot listen on port {port} of 127.0.0.1: {e}"))
                .hint("another program may have it; choose another port, or none to take any that is free")
        })
    }

    fn serve(
        path: &Path,
        frames: FrameCache,
        listener: TcpListener,
        framing: Framing,
        live: Option<LiveRun>,
    ) -> Result<Self> {
        let failed = |e: std::io::Error| Error::simulation(format!("the viewer cannot be served: {e}"));
        let port = listener.local_addr().map_err(failed)?.port();
        let token = token()?;
        let address = format!("127.0.0.1:{port}");
        let hosts = [address.clone(), format!("localhost:{port}")];
        let (path, shown_token) = (path.to_path_buf(), token.clone());
        let shown = ViewerContent { path, frames, token: shown_token, hosts, framing, live };
        let connections = serve(listener, Arc::new(shown)).map_err(failed)?;
        Ok(Viewer { address, token, connections })
    }

    /// Waits, before the program ends, until requests under way have their answers: that to end the run among them.
    pub fn settle(&self) {
        self.connections.settle(LAST_ANSWERS);
    }

    /// Address of the page, with the token.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.address, self.token)
    }
}

/// 128 random bits.
fn token() -> Result<String> {
    let mut bits = [0u8; 16];
    getrandom::fill(&mut bits)
        .map_err(|e| Error::simulation(format!("the system gives no random numbers: {e}")))?;
    Ok(bits.iter().map(|b| format!("{b:02x}")).collect())
}

impl Content for ViewerContent {
    fn headers(&self) -> Vec<(&'static str, &'static str)> {
        let policy = match self.framing {
            Framing::Forbidden => POLICY,
            Framing::Notebooks => NOTEBOOK_POLICY,
        };
        vec![
            ("content-security-policy", policy),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
        ]
    }

    /// Requests with the token are admitted, unless a browser was led here under another name.
    fn admit(&self, request: &Request) -> std::result::Result<u64, Reply> {
        let given =
            request.query.split('&').any(|pair| pair.strip_prefix("token=") == Some(self.token.as_str()));
        if !given || !self.hosts.contains(&request.host) {
            let words =
                "This is a viewer of Jostle. It wants the address with the token that it has printed.";
            return Err(Reply::text(StatusCode::FORBIDDEN, words));
        }
        Ok(match (request.verb, request.path.as_str()) {
            (Verb::Get, _) => 0,
            (Verb::Post, "/pull") => LONGEST_PULL,
            (Verb::Post, _) => LONGEST_ORDER,
        })
    }

    fn answer(&self, request: &Request, body: &[u8]) -> Reply {
        match (request.verb, request.path.as_str(), &self.live) {
            (Verb::Get, "/live", Some(run)) => live_frame(run, &request.query),
            (Verb::Get, path, _) => self.content(path),
            (Verb::Post, "/control", _) => self.obeyed(body),
            (Verb::Post, "/pull", Some(run)) => match run.pull(body) {
                Ok(()) => Reply::text(StatusCode::OK, ""),
                Err(error) => Reply::text(StatusCode::CONFLICT, &error.to_string()),
            },
            (Verb::Post, _, _) => nothing_here(),
        }
    }
}

impl ViewerContent {
    fn content(&self, path: &str) -> Reply {
        let found = |kind, content| Reply { status: StatusCode::OK, kind, content };
        let frame = |n: &str| n.parse().map_or(Ok(None), |n| self.frames.frame(n));
        let bytes = match path.rsplit_once('/') {
            Some(("", "")) => return found("text/html; charset=utf-8", self.page().into_bytes()),
            Some(("", "state")) => return found("application/json", self.state().to_string().into_bytes()),
            Some(("/frame", n)) => frame(n),
            Some(("/order", n)) => frame(n).and_then(|f| f.map(|f| order(&f)).transpose()),
            _ => Ok(None),
        };
        match bytes {
            Ok(Some(bytes)) => found("application/octet-stream", bytes),
            Ok(None) => nothing_here(),
            Err(error) => Reply::text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        }
    }

    /// Hands a command on to the run.
    fn obeyed(&self, words: &[u8]) -> Reply {
        let Ok(order) = serde_json::from_slice::<RunCommand>(words) else {
            return Reply::text(StatusCode::BAD_REQUEST, "this is no command");
        };
        match send(&self.path, order) {
            Ok(()) => Reply::text(StatusCode::OK, ""),
            Err(error) => Reply::text(StatusCode::CONFLICT, &error.to_string()),
        }
    }

    fn page(&self) -> String {
        let scene = &self.frames.scene;
        let content = json!({
            "kinds": STANDARD.encode(scene.kinds()),
            "bonds": STANDARD.encode(scene.bond_bytes()),
            "colours": scene.colours(),
            "water": STANDARD.encode(scene.water_bytes()),
            "radii": scene.radii(),
            "size": scene.size(),
            "token": self.token,
            "live": self.live.as_ref().map(LiveRun::facts),
        });
        let run = self.path.is_dir().then(|| RunFiles::read(&self.path).ok()).flatten();
        let title = run.as_ref().and_then(RunFiles::title).map(String::from);
        let title = title.unwrap_or_else(|| self.path.display().to_string());
        let parts = [
            ("title", escape(&title)),
            ("place", escape(&self.path.display().to_string())),
            ("canvas", CANVAS.to_string()),
            ("theme", THEME.to_string()),
            ("style", [PLOTS[2], STYLE, VIEW_STYLE].join("\n")),
            ("controls", controls(scene)),
            ("pulling", if self.live.is_some() { PULLING.to_string() } else { String::new() }),
            ("content", content.to_string().replace("</", "<\\/")),
            ("scripts", [PLOTS[0], PLOTS[1], GRAPHICS, SCENE, PULL_SCRIPT, SCRIPT].join("\n")),
        ];
        filled(PAGE, &parts)
    }

    /// Progress: number of frames, and the rows of `thermo.csv` so far.
    fn state(&self) -> Json {
        let (frames, progress) = self.frames.progress();
        let run = self.path.is_dir().then(|| RunFiles::read(&self.path).ok()).flatten();
        let thermo = run.as_ref().and_then(|r| r.thermo.as_ref());
        let figures = thermo.map(of_thermo).unwrap_or_default();
        // The clock beside the frames has the unit of the plots' axes.
        let longest =
            thermo.iter().flat_map(|t| &t.stages).flat_map(|s| &s.time).fold(0.0, |a: f64, b| a.max(*b));
        let (time, divisor) = match thermo {
            Some(thermo) => time_unit(&thermo.time_unit, longest),
            None => (self.frames.time_unit.as_str(), 1.0),
        };
        json!({
            "frames": frames,
            "clock": { "unit": unit(time), "divisor": divisor },
            "reading": progress == CacheProgress::Reading,
            "error": match progress { CacheProgress::Failed(why) => Some(why), _ => None },
            "status": run.as_ref().and_then(|r| r.summary["status"].as_str()),
            "target_temperature": run.as_ref().map(|r| &r.summary["target_temperature"]),
            "temperature_unit": thermo.and_then(|t| Some(&t.quantities[t.quantity("temperature")?].1)),
            "figures": figures_json(&figures),
        })
    }
}

/// The latest frame of a run, or no content where the page has it.
fn live_frame(run: &LiveRun, query: &str) -> Reply {
    let reply = |status, content| Reply { status, kind: "application/octet-stream", content };
    match run.frame(query) {
        Ok(Some(bytes)) => reply(StatusCode::OK, bytes),
        Ok(None) => reply(StatusCode::NO_CONTENT, Vec::new()),
        Err(error) => Reply::text(StatusCode::CONFLICT, &error.to_string()),
    }
}

fn nothing_here() -> Reply {
    Reply::text(StatusCode::NOT_FOUND, "there is nothing here")
}

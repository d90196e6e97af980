//! A page that shows a trajectory, served to the browser of this machine and to nobody else.

use crate::figures::of_thermo;
use crate::reel::{Progress, Reel};
use crate::report::{GRAPHICS, PLOTS, SCENE, controls, escape, figures_json, filled};
use crate::run::{Run, Thermo};
use crate::scene::order;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jostle_core::{Error, Result};
use jostle_engine::orders::{Order, give};
use jostle_io::Open;
use serde_json::{Value as Json, json};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tiny_http::{Header, Method, Request, Response, Server};

const PAGE: &str = include_str!("../pages/view.html");
const STYLE: &str = include_str!("../pages/style.css");
const VIEW_STYLE: &str = include_str!("../pages/view.css");
const SCRIPT: &str = include_str!("../pages/view.js");
/// Bytes beyond which nothing is an order.
const LONGEST_ORDER: u64 = 1000;
/// Requests answered at once.
const THREADS: usize = 4;
/// The page takes nothing from anywhere else, and no other page may frame it.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
    connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// A viewer, listening.
pub struct Viewer {
    address: String,
    token: String,
}

/// What the answers are made of.
struct Shown {
    path: PathBuf,
    reel: Reel,
    time_unit: String,
    token: String,
    hosts: [String; 2],
}

impl Viewer {
    /// Shows a trajectory or the folder of a run on a port of this machine (0: any that is free),
    /// until the program ends. Only who knows [`Viewer::url`] sees it.
    ///
    /// # Errors
    /// If there is nothing to show, or the port is taken.
    pub fn open(path: &Path, how: Open, port: u16) -> Result<Self> {
        let reel = Reel::open(path, how)?;
        let failed = |why: String| {
            Error::simulation(format!("cannot listen on port {port} of 127.0.0.1: {why}"))
                .hint("another program may have it; leave --port out to take any that is free")
        };
        let server = Server::http(("127.0.0.1", port)).map_err(|e| failed(e.to_string()))?;
        let port = server.server_addr().to_ip().map_or(port, |address| address.port());
        let token = token()?;
        let address = format!("127.0.0.1:{port}");
        let hosts = [address.clone(), format!("localhost:{port}")];
        let time_unit = if path.is_dir() {
            Thermo::read(&path.join("thermo.csv")).map(|t| t.time_unit).unwrap_or_default()
        } else {
            String::new()
        };
        let shown = Shown { path: path.to_path_buf(), reel, time_unit, token: token.clone(), hosts };
        let (server, shown) = (Arc::new(server), Arc::new(shown));
        for _ in 0..THREADS {
            let (server, shown) = (server.clone(), shown.clone());
            let serve = move || {
                while let Ok(request) = server.recv() {
                    shown.answer(request);
                }
            };
            std::thread::Builder::new().spawn(serve).map_err(|e| failed(e.to_string()))?;
        }
        Ok(Viewer { address, token })
    }

    /// Where to look.
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

impl Shown {
    fn answer(&self, mut request: Request) {
        let response = match self.allowed(&request) {
            true if *request.method() == Method::Post => self.obeyed(&mut request),
            true => self.content(request.url()),
            false => text(
                403,
                "This is a viewer of Jostle. It wants the address with the token that it has printed.",
            ),
        };
        // A browser that has gone away misses nothing.
        let _ = request.respond(response);
    }

    /// Whether the token is there, and the browser was not led here under another name.
    fn allowed(&self, request: &Request) -> bool {
        let host = request.headers().iter().find(|h| h.field.equiv("Host"));
        let query = request.url().split_once('?').map_or("", |(_, query)| query);
        let given = query.split('&').any(|pair| pair.strip_prefix("token=") == Some(self.token.as_str()));
        given && host.is_some_and(|h| self.hosts.iter().any(|known| h.value.as_str() == known))
    }

    fn content(&self, url: &str) -> Response<std::io::Cursor<Vec<u8>>> {
        let path = url.split('?').next().unwrap_or_default();
        match path {
            "/" => with(200, "text/html; charset=utf-8", self.page().into_bytes()),
            "/state" => with(200, "application/json", self.state().to_string().into_bytes()),
            _ => {
                let frame = |n: &str| n.parse().map_or(Ok(None), |n| self.reel.frame(n));
                let found = match path.rsplit_once('/') {
                    Some(("/frame", n)) => frame(n),
                    Some(("/order", n)) => frame(n).and_then(|f| f.map(|f| order(&f)).transpose()),
                    _ => Ok(None),
                };
                match found {
                    Ok(Some(bytes)) => with(200, "application/octet-stream", bytes),
                    Ok(None) => text(404, "there is nothing here"),
                    Err(error) => text(500, &error.to_string()),
                }
            }
        }
    }

    /// Hands an order on to the run.
    fn obeyed(&self, request: &mut Request) -> Response<std::io::Cursor<Vec<u8>>> {
        if request.url().split('?').next() != Some("/control") {
            return text(404, "there is nothing here");
        }
        let mut words = String::new();
        if request.as_reader().take(LONGEST_ORDER).read_to_string(&mut words).is_err() {
            return text(400, "this is no text");
        }
        let Ok(order) = serde_json::from_str::<Order>(&words) else {
            return text(400, "this is no order");
        };
        match give(&self.path, order) {
            Ok(()) => text(200, ""),
            Err(error) => text(409, &error.to_string()),
        }
    }

    fn page(&self) -> String {
        let scene = &self.reel.scene;
        let content = json!({
            "kinds": STANDARD.encode(scene.kinds()),
            "bonds": STANDARD.encode(scene.bond_bytes()),
            "colours": scene.colours(),
            "water": STANDARD.encode(scene.water_bytes()),
            "token": self.token,
            "time_unit": self.time_unit,
        });
        let parts = [
            ("title", escape(&self.path.display().to_string())),
            ("style", [PLOTS[1], STYLE, VIEW_STYLE].join("\n")),
            ("controls", controls(scene)),
            ("content", content.to_string().replace("</", "<\\/")),
            ("scripts", [PLOTS[0], GRAPHICS, SCENE, SCRIPT].join("\n")),
        ];
        filled(PAGE, &parts)
    }

    /// How far everything is: frames, and what `thermo.csv` says by now.
    fn state(&self) -> Json {
        let (frames, progress) = self.reel.progress();
        let run = self.path.is_dir().then(|| Run::read(&self.path).ok()).flatten();
        let thermo = run.as_ref().and_then(|r| r.thermo.as_ref());
        let figures = thermo.map(of_thermo).unwrap_or_default();
        json!({
            "frames": frames,
            "reading": progress == Progress::Reading,
            "error": match progress { Progress::Failed(why) => Some(why), _ => None },
            "status": run.as_ref().and_then(|r| r.summary["status"].as_str()),
            "target_temperature": run.as_ref().map(|r| &r.summary["target_temperature"]),
            "temperature_unit": thermo.and_then(|t| Some(&t.quantities[t.quantity("temperature")?].1)),
            "figures": figures_json(&figures),
        })
    }
}

fn with(status: u16, kind: &str, content: Vec<u8>) -> Response<std::io::Cursor<Vec<u8>>> {
    let headers = [
        ("Content-Type", kind),
        ("Cache-Control", "no-store"),
        ("Content-Security-Policy", POLICY),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
    ];
    let response = Response::from_data(content).with_status_code(status);
    headers
        .iter()
        .filter_map(|(name, value)| Header::from_bytes(*name, *value).ok())
        .fold(response, |r, h| r.with_header(h))
}

fn text(status: u16, words: &str) -> Response<std::io::Cursor<Vec<u8>>> {
    with(status, "text/plain; charset=utf-8", words.as_bytes().to_vec())
}

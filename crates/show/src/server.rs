//! HTTP for the browser of one person on this machine, which strangers on it cannot hold up: one
//! request a connection, bounds on its size and on the time for each of its parts, and, where there are
//! too many connections, an end to the oldest whose request was not admitted.

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

/// Connections at once; browsers open a handful.
const MOST_CONNECTIONS: usize = 64;
/// Bytes of the first line and the headers of a request, and the number of headers.
const LONGEST_HEAD: usize = 16 * 1024;
const MOST_HEADERS: usize = 64;
/// Limits on the time for the head of a request, for its body, and for a request with its answer: a run
/// may take 40 s to hear a command.
const HEAD_TIME: Duration = Duration::from_secs(5);
const BODY_TIME: Duration = Duration::from_secs(5);
const WHOLE_TIME: Duration = Duration::from_secs(120);
/// Answers that are worked out at once; others wait. Each page of a run under way takes one, most of the time.
const THREADS: usize = 24;

/// A request, without its body.
pub(crate) struct Request {
    /// The thing to do.
    pub verb: Verb,
    /// The path of the address, without the query.
    pub path: String,
    /// The part of the address behind the question mark.
    pub query: String,
    /// Name by which the browser addressed this server.
    pub host: String,
}

/// The kinds of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Reading (GET).
    Get,
    /// Sending (POST).
    Post,
}

/// An answer.
pub(crate) struct Reply {
    /// Its status code.
    pub status: StatusCode,
    /// The type of its content.
    pub kind: &'static str,
    /// Its content.
    pub content: Vec<u8>,
}

impl Reply {
    /// Answer of plain text.
    pub fn text(status: StatusCode, words: &str) -> Self {
        Reply { status, kind: "text/plain; charset=utf-8", content: words.as_bytes().to_vec() }
    }
}

/// The content of a server.
pub(crate) trait Content: Send + Sync + 'static {
    /// Headers of every answer.
    fn headers(&self) -> Vec<(&'static str, &'static str)>;

    /// The number of bytes that the body of a request may have, or the answer that refuses it. It must
    /// not take long.
    fn admit(&self, request: &Request) -> Result<u64, Reply>;

    /// The answer to a request that was admitted.
    fn answer(&self, request: &Request, body: &[u8]) -> Reply;
}

/// A connection under way.
struct Connection {
    task: AbortHandle,
    /// Set once its request is admitted.
    admitted: Arc<AtomicBool>,
}

/// Connections under way.
#[derive(Clone, Default)]
pub(crate) struct Connections(Arc<Mutex<VecDeque<Connection>>>);

impl Connections {
    fn open(&self) -> MutexGuard<'_, VecDeque<Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until requests that are admitted by now have their answers.
    pub fn settle(&self, patience: Duration) {
        let admitted = |connection: &&Connection| connection.admitted.load(Ordering::Relaxed);
        let waiting: Vec<AbortHandle> = self.open().iter().filter(admitted).map(|c| c.task.clone()).collect();
        let begun = Instant::now();
        while begun.elapsed() < patience && waiting.iter().any(|task| !task.is_finished()) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Answers all who connect, in a thread of its own, until the program ends.
///
/// # Errors
/// If the system has no thread or no memory left.
pub(crate) fn serve(listener: TcpListener, site: Arc<impl Content>) -> io::Result<Connections> {
    listener.set_nonblocking(true)?;
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_io().enable_time().max_blocking_threads(THREADS).build()?;
    let listener = {
        let _entered = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let connections = Connections::default();
    let accepted = connections.clone();
    let listen = move || runtime.block_on(accept(listener, site, accepted));
    std::thread::Builder::new().name("viewer".into()).spawn(listen).map(|_| connections)
}

async fn accept(listener: tokio::net::TcpListener, site: Arc<impl Content>, connections: Connections) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // The program has as many files open as it may: some close soon.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let mut open = connections.open();
        open.retain(|connection| !connection.task.is_finished());
        if open.len() >= MOST_CONNECTIONS {
            let stranger = open.iter().position(|c| !c.admitted.load(Ordering::Relaxed)).unwrap_or(0);
            open.remove(stranger).inspect(|connection| connection.task.abort());
        }
        let admitted = Arc::new(AtomicBool::new(false));
        let task = tokio::spawn(timeout(WHOLE_TIME, converse(stream, site.clone(), admitted.clone())));
        open.push_back(Connection { task: task.abort_handle(), admitted });
    }
}

/// One request and its answer.
async fn converse(stream: TcpStream, site: Arc<impl Content>, admitted: Arc<AtomicBool>) {
    let service = service_fn(|request| respond(site.clone(), admitted.clone(), request));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(LONGEST_HEAD)
        .max_headers(MOST_HEADERS)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // An error here means that the browser has closed the connection.
    let _ = served.await;
}

async fn respond(
    site: Arc<impl Content>,
    admitted: Arc<AtomicBool>,
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<Full<Bytes>>, Infallible> {
    let of_all = site.headers();
    let answer = answer(site, admitted, request).await;
    let allow = answer.status == StatusCode::METHOD_NOT_ALLOWED;
    let mut response = hyper::Response::new(Full::new(Bytes::from(answer.content)));
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in of_all {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if allow {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
    }
    Ok(response)
}

async fn answer(
    site: Arc<impl Content>,
    admitted: Arc<AtomicBool>,
    request: hyper::Request<Incoming>,
) -> Reply {
    let verb = match *request.method() {
        Method::GET | Method::HEAD => Verb::Get,
        Method::POST => Verb::Post,
        _ => {
            return Reply::text(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET, HEAD and POST mean something here",
            );
        }
    };
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let (path, query) = (request.uri().path().to_string(), request.uri().query().unwrap_or_default());
    let asked = Request { verb, path, query: query.to_string(), host: host.to_string() };
    let most = match site.admit(&asked) {
        Ok(most) => most,
        Err(refusal) => return refusal,
    };
    admitted.store(true, Ordering::Relaxed);
    let too_long = || Reply::text(StatusCode::PAYLOAD_TOO_LARGE, &format!("more than {most} bytes"));
    if request.body().size_hint().lower() > most {
        return too_long();
    }
    let limit = usize::try_from(most).unwrap_or(usize::MAX);
    let body = match timeout(BODY_TIME, Limited::new(request.into_body(), limit).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => return too_long(),
        Ok(Err(_)) => return Reply::text(StatusCode::BAD_REQUEST, "the request broke off"),
        Err(_) => return Reply::text(StatusCode::REQUEST_TIMEOUT, "the request did not come to its end"),
    };
    let worked = tokio::task::spawn_blocking(move || site.answer(&asked, &body)).await;
    worked.unwrap_or_else(|_| {
        Reply::text(StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be worked out")
    })
}

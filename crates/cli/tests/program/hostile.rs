//! The viewer among programs that mean no good: whatever they send or do not send, who has the token
//! is answered.

use crate::jostle::Desk;
use crate::viewer::Viewer;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

/// A viewer of one frame.
fn viewer(desk: &Desk) -> Viewer {
    let frame = "2\nLattice=\"5 0 0 0 5 0 0 0 5\" Properties=species:S:1:pos:R:3\nA 1 1 1\nA 2 2 2\n";
    desk.write("frame.xyz", frame);
    Viewer::open(desk, "frame.xyz")
}

/// A connection on which this was sent.
fn sent(viewer: &Viewer, words: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(&viewer.address).unwrap();
    // A client that is refused may find the connection closed before all is sent.
    let _ = stream.write_all(words);
    stream
}

/// Answer until the connection is closed.
fn answer(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(stream: TcpStream) -> Option<u16> {
    answer(stream).split(' ').nth(1)?.parse().ok()
}

/// The frame and the page are still there.
fn is_well(viewer: &Viewer) {
    // The file is read while the viewer answers already.
    viewer.wait(|state| state["frames"] == 1);
    assert_eq!(viewer.content("/frame/0").len(), 136 + 3 * 2 * 2);
    assert!(viewer.state()["error"].is_null());
}

#[test]
fn bodies_that_are_too_long_are_not_waited_for() {
    let desk = Desk::new();
    let viewer = viewer(&desk);
    let post = |query: &str, length: &str| {
        let head = format!("POST /control{query} HTTP/1.1\r\nHost: {}\r\n{length}\r\n\r\n", viewer.address);
        sent(&viewer, head.as_bytes())
    };
    let token = format!("?token={}", viewer.token);
    for length in ["1000000000000", "9000000000000000000", "1001"] {
        let length = format!("Content-Length: {length}");
        assert_eq!(status(post("", &length)), Some(403));
        assert_eq!(status(post(&token, &length)), Some(413), "{length}");
    }
    // Without a length it comes in pieces.
    let mut pieces = post(&token, "Transfer-Encoding: chunked");
    for _ in 0..20 {
        let _ = pieces.write_all(format!("64\r\n{}\r\n", "x".repeat(100)).as_bytes());
    }
    assert_eq!(status(pieces), Some(413));
    assert_eq!(status(post(&token, "Content-Length: many")), Some(400));
    is_well(&viewer);
}

#[test]
fn silent_connections_delay_no_other() {
    let desk = Desk::new();
    let viewer = viewer(&desk);
    let (host, token) = (&viewer.address, &viewer.token);
    // With the token and half a body; then strangers, more than are served at once.
    let half =
        format!("POST /control?token={token} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\n\"st");
    let known: Vec<_> = (0..12).map(|_| sent(&viewer, half.as_bytes())).collect();
    is_well(&viewer);
    let begun = format!("GET /state?token={token} HTTP/1.1\r\nHost: {host}\r\nX-");
    let unread = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").repeat(500);
    let unnamed = format!("POST /control HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9\r\n\r\n");
    let mut strangers = Vec::new();
    for words in ["", "G", &begun, &unread, &unnamed] {
        strangers.extend((0..60).map(|_| sent(&viewer, words.as_bytes())));
        is_well(&viewer);
    }
    // Strangers do not push out who has the token; all of them come to an end.
    assert!(known.into_iter().all(|stream| status(stream) == Some(408)));
    for stream in strangers {
        let answer = answer(stream);
        assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    is_well(&viewer);
}

#[test]
fn heads_have_a_limit() {
    let desk = Desk::new();
    let viewer = viewer(&desk);
    let (host, token) = (&viewer.address, &viewer.token);
    let long = "x".repeat(1 << 20);
    let many: String = (0..1000).map(|k| format!("X-{k}: y\r\n")).collect();
    for head in [
        format!("GET /{long} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        format!("GET /state?token={token} HTTP/1.1\r\nHost: {host}\r\nX: {long}\r\n\r\n"),
        format!("GET /state?token={token} HTTP/1.1\r\nHost: {host}\r\n{many}\r\n"),
        long,
    ] {
        let answer = answer(sent(&viewer, head.as_bytes()));
        assert!(!answer.contains(" 200 "), "{answer}");
        is_well(&viewer);
    }
}

#[test]
fn other_methods_and_other_protocols_are_refused() {
    let desk = Desk::new();
    let viewer = viewer(&desk);
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        let (host, token) = (&viewer.address, &viewer.token);
        let head = format!("{method} /state?token={token} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let answer = answer(sent(&viewer, head.as_bytes()));
        assert!(answer.starts_with("HTTP/1.1 405"), "{method}: {answer}");
        assert!(answer.to_lowercase().contains("allow: get, head, post"), "{answer}");
    }
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    for garbage in [
        &hello[..],
        b"\r\n\r\n\r\n\r\nnonsense\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        &[0; 4096],
    ] {
        let stream = sent(&viewer, garbage);
        let _ = stream.shutdown(Shutdown::Write);
        let answer = answer(stream);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    is_well(&viewer);
}

#[test]
fn one_request_a_connection_is_answered() {
    let desk = Desk::new();
    let viewer = viewer(&desk);
    let (host, token) = (&viewer.address, &viewer.token);
    let one = format!("GET /frame/0?token={token} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let answer = answer(sent(&viewer, one.repeat(50).as_bytes()));
    assert!(answer.matches("HTTP/1.1 200").count() <= 1, "{answer}");
    is_well(&viewer);
}

//! The keyboard beside a dashboard: `q` ends a run as Ctrl-C does.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time the thread waits for a key before it looks at whether it is still wanted.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A terminal, giving keys as they are pressed and showing none of them; as before when dropped.
pub struct Keys {
    terminal: Arc<OwnedFd>,
    before: Termios,
    ended: Arc<AtomicBool>,
}

impl Keys {
    /// Sets `stop` once `q` is pressed; nothing where the input is no terminal. As soon as `stop`
    /// is set, by whatever, the terminal is as before: a second Ctrl-C ends the program at once.
    pub fn listen(input: OwnedFd, stop: Arc<AtomicBool>) -> Option<Keys> {
        let before = tcgetattr(&input).ok()?;
        let mut now = before.clone();
        // Signals stay: Ctrl-C and Ctrl-Z do what they do everywhere.
        now.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&input, OptionalActions::Now, &now).ok()?;
        let keys = Keys { terminal: Arc::new(input), before: before.clone(), ended: Arc::default() };
        let (ended, terminal) = (keys.ended.clone(), keys.terminal.clone());
        let wait = move || {
            while !stop.load(Ordering::Relaxed) && !ended.load(Ordering::Relaxed) {
                if pressed(&terminal) == Some(b'q') {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            restore(&terminal, &before);
        };
        // Without the thread keys have no meaning, and the terminal is put back here.
        std::thread::Builder::new().name("keys".into()).spawn(wait).is_ok().then_some(keys)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        restore(&self.terminal, &self.before);
    }
}

/// A key that was pressed within a moment.
fn pressed(terminal: &OwnedFd) -> Option<u8> {
    let mut waiting = [PollFd::new(terminal, PollFlags::IN)];
    if poll(&mut waiting, Some(&PATIENCE)).ok()? == 0 {
        return None;
    }
    let mut key = [0];
    if rustix::io::read(terminal, &mut key) == Ok(1) {
        return Some(key[0]);
    }
    // A terminal that has gone away says so again and again.
    std::thread::sleep(Duration::from_secs(1));
    None
}

fn restore(terminal: &OwnedFd, before: &Termios) {
    // A terminal that is closed needs no restoring.
    let _ = tcsetattr(terminal, OptionalActions::Now, before);
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::fs::File;

    /// Both ends of a terminal.
    fn terminal() -> (OwnedFd, OwnedFd) {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap().into_string().unwrap();
        let mut options = File::options();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, OpenptFlags::NOCTTY.bits() as i32);
        (keyboard, options.read(true).write(true).open(name).unwrap().into())
    }

    #[test]
    fn q_stops_and_the_terminal_is_as_before() {
        let (keyboard, terminal) = terminal();
        let modes = |fd: &OwnedFd| tcgetattr(fd).unwrap().local_modes;
        let before = modes(&terminal);
        let (stop, watched) = (Arc::new(AtomicBool::new(false)), terminal.try_clone().unwrap());
        let keys = Keys::listen(terminal, stop.clone()).unwrap();
        assert!(!modes(&watched).intersects(LocalModes::ICANON | LocalModes::ECHO));
        assert!(modes(&watched).contains(LocalModes::ISIG), "Ctrl-C stays a signal");
        rustix::io::write(&keyboard, b"xq").unwrap();
        while !stop.load(Ordering::Relaxed) || modes(&watched) != before {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(keys);
        assert_eq!(modes(&watched), before);
        assert!(Keys::listen(File::open("/dev/null").unwrap().into(), stop).is_none());
    }
}

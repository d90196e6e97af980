//! Replicas whose devices may work together: the place where their threads wait for each other.
//!
//! Many small systems leave a GPU idle, each waiting for its own kernels one after the other. Where replicas of a system
//! run at the same time, a thread each, the last of their devices to ask for something serves the requests of all at once,
//! such as steps that one recording makes for all of them. Here is nothing but the waiting: requests and how they are
//! served are the business of a kind of device. A replica that is away is not waited for.

use crate::{Error, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Request of a member, or the answer to one.
pub type Message = Box<dyn Any + Send>;

/// Function that serves requests, each with the number of its member, and returns answers; those that are left in the list
/// are served later. The last argument is what it keeps from one call to the next.
pub type Serve = fn(&mut Vec<(usize, Message)>, &mut Option<Message>) -> Vec<(usize, Result<Message>)>;

/// Replicas that may work together.
pub struct Ensemble {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    seats: Vec<Seat>,
    kept: Option<Message>,
    /// True while a member serves the others.
    serving: bool,
}

/// State of a member.
enum Seat {
    /// Not waited for.
    Away,
    /// Occupied with something of its own.
    Busy,
    Asking(Message),
    Answered(Result<Message>),
}

/// One of the replicas of an ensemble.
#[derive(Clone)]
pub struct Member {
    ensemble: Arc<Ensemble>,
    number: usize,
}

impl Ensemble {
    /// An ensemble of so many replicas, all of them away.
    pub fn of(count: usize) -> Vec<Member> {
        let seats = (0..count).map(|_| Seat::Away).collect();
        let state = Mutex::new(State { seats, kept: None, serving: false });
        let ensemble = Arc::new(Ensemble { state, changed: Condvar::new() });
        (0..count).map(|number| Member { ensemble: ensemble.clone(), number }).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Presence of a member: until its end, others wait for it.
pub struct Presence<'a>(&'a Member);

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.0.ensemble.lock().seats[self.0.number] = Seat::Away;
        self.0.ensemble.changed.notify_all();
    }
}

impl Member {
    /// Takes part from now on.
    pub fn enter(&self) -> Presence<'_> {
        self.ensemble.lock().seats[self.number] = Seat::Busy;
        Presence(self)
    }

    /// Number of members, those that are away included.
    pub fn count(&self) -> usize {
        self.ensemble.lock().seats.len()
    }

    /// Returns true where the member takes part.
    pub fn is_present(&self) -> bool {
        !matches!(self.ensemble.lock().seats[self.number], Seat::Away)
    }

    /// Brings a request and waits for its answer: once all members who take part have brought one, one of them serves.
    ///
    /// # Errors
    /// If it is answered by one, or the function that serves panics or does not answer any request.
    pub fn ask(&self, request: Message, serve: Serve) -> Result<Message> {
        let mut state = self.ensemble.lock();
        state.seats[self.number] = Seat::Asking(request);
        loop {
            if let Seat::Answered(_) = state.seats[self.number]
                && let Seat::Answered(answer) = std::mem::replace(&mut state.seats[self.number], Seat::Busy)
            {
                return answer;
            }
            if state.is_complete() {
                state = self.serve(state, serve);
            } else {
                state = self.ensemble.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Serves the requests of all, without the lock.
    fn serve<'a>(&'a self, mut state: MutexGuard<'a, State>, serve: Serve) -> MutexGuard<'a, State> {
        state.serving = true;
        let (mut requests, mut kept) = (state.take_requests(), state.kept.take());
        drop(state);
        let all: Vec<usize> = requests.iter().map(|(number, _)| *number).collect();
        let served = catch_unwind(AssertUnwindSafe(|| serve(&mut requests, &mut kept)));
        let answers = match served {
            Ok(answers) if !answers.is_empty() => answers,
            _ => {
                requests.clear();
                let error = || Error::device("the steps of replicas could not be made together");
                all.into_iter().map(|number| (number, Err(error()))).collect()
            }
        };
        let mut state = self.ensemble.lock();
        for (number, request) in requests {
            state.seats[number] = Seat::Asking(request);
        }
        for (number, answer) in answers {
            state.seats[number] = Seat::Answered(answer);
        }
        state.kept = kept;
        state.serving = false;
        self.ensemble.changed.notify_all();
        state
    }
}

impl State {
    /// True where all who take part have asked or been answered, one of them has asked, and none serves.
    fn is_complete(&self) -> bool {
        let waits = |seat: &Seat| matches!(seat, Seat::Away | Seat::Asking(_));
        !self.serving
            && self.seats.iter().all(waits)
            && self.seats.iter().any(|seat| matches!(seat, Seat::Asking(_)))
    }

    fn take_requests(&mut self) -> Vec<(usize, Message)> {
        let mut requests = Vec::new();
        for (number, seat) in self.seats.iter_mut().enumerate() {
            if matches!(seat, Seat::Asking(_))
                && let Seat::Asking(request) = std::mem::replace(seat, Seat::Busy)
            {
                requests.push((number, request));
            }
        }
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Answers all with the sum of the numbers and how many there were.
    fn add_up(
        requests: &mut Vec<(usize, Message)>,
        _: &mut Option<Message>,
    ) -> Vec<(usize, Result<Message>)> {
        let all = std::mem::take(requests);
        let sum: u64 = all.iter().filter_map(|(_, request)| request.downcast_ref::<u64>()).sum();
        let count = all.len();
        all.into_iter().map(|(number, _)| (number, Ok(Box::new((sum, count)) as Message))).collect()
    }

    fn sum_of(member: &Member, number: u64) -> (u64, usize) {
        *member.ask(Box::new(number), add_up).unwrap().downcast().unwrap()
    }

    #[test]
    fn all_who_take_part_are_served_together() {
        let members = Ensemble::of(4);
        // The first one leaves sooner than the others, the last one is away throughout.
        let presences: Vec<Presence> = members[..3].iter().map(Member::enter).collect();
        let answers: Vec<Vec<(u64, usize)>> = thread::scope(|scope| {
            let threads: Vec<_> = members
                .iter()
                .zip(presences)
                .enumerate()
                .map(|(k, (member, presence))| {
                    scope.spawn(move || {
                        let _presence = presence;
                        (0..if k == 0 { 10 } else { 20 })
                            .map(|turn| sum_of(member, 100 * k as u64 + turn))
                            .collect()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for turn in 0..20 {
            let expected = if turn < 10 { (300 + 3 * turn, 3) } else { (300 + 2 * turn, 2) };
            for (k, answers) in answers.iter().enumerate().filter(|(k, _)| *k > 0 || turn < 10) {
                assert_eq!(answers[turn as usize], expected, "member {k}, turn {turn}");
            }
        }
    }

    #[test]
    fn a_panic_of_one_is_an_error_for_all() {
        fn fail(_: &mut Vec<(usize, Message)>, _: &mut Option<Message>) -> Vec<(usize, Result<Message>)> {
            panic!("on purpose")
        }
        let members = Ensemble::of(2);
        let presences: Vec<Presence> = members.iter().map(Member::enter).collect();
        let ask = |member: &Member| member.ask(Box::new(0_u64), fail).is_err();
        let failed = thread::scope(|scope| {
            let other = scope.spawn(|| ask(&members[1]));
            [ask(&members[0]), other.join().unwrap()]
        });
        assert_eq!(failed, [true; 2]);
        drop(presences);
        assert!(!members[0].is_present());
    }
}

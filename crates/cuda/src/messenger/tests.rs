use super::*;
use crate::driver::Device;
use crate::exchange::WORDS;
use jostle_transport::{Communicator, threads};

const PATIENCE: Duration = Duration::from_secs(60);

/// A messenger of a rank with one GPU, the landing zone and the collective calls that it serves.
fn start(communicator: &Communicator, device: &Device) -> Result<(Messenger, HostZone, Arc<Collective>)> {
    let (rank, outbox) = (communicator.rank(), Arc::new(Outbox::default()));
    let collective = Collective::new(communicator.size(), PATIENCE, Some(outbox.clone()));
    let zone = HostZone::new(device, 1024)?;
    let others = communicator.others();
    let (gpus, channel) = (rank..rank + 1, communicator.channel());
    let messenger = Messenger::start(channel, others, zone.clone(), gpus, collective.clone(), outbox)?;
    Ok((messenger, zone, collective))
}

fn wait(there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < PATIENCE, "a message did not come");
        std::thread::yield_now();
    }
}

#[test]
fn a_head_is_read_as_it_was_written() {
    let words = [1, u32::MAX, 3, 0x8000_0000, 5];
    let head = Head { kind: Kind::Stored, gpu: 7, number: u64::MAX - 1, body: [16, 1 << 40], words };
    assert_eq!(Head::of_bytes(&head.to_bytes()), Some(head));
    assert_eq!(Head::of_bytes(&[0; HEAD_BYTES]), None);
}

/// Parts that a GPU has stored are where the GPUs of the other ranks look for them, once its number is published there.
#[test]
fn what_gpus_store_arrives_with_its_words_before_its_number() {
    let device = Device::emulated().unwrap();
    threads::run(3, |communicator| {
        let (messenger, zone, _) = start(communicator, &device)?;
        let rank = communicator.rank();
        for number in 0..5_u64 {
            let zone_place = (number % 2) as usize * 1024;
            let body = if number == 3 { [0, 0] } else { [64 * rank as u64, 64 * rank as u64 + 40] };
            for k in 0..5 {
                let stored = 1000 * number + 10 * rank as u64 + k;
                zone.buffer().publish(zone_place + 64 * rank + 8 * k as usize, stored);
            }
            zone.set_words(rank, number, [rank as u32 + number as u32; WORDS]);
            zone.set_stored(rank, number, body);
            zone.publish(rank, number + 1);
            for other in communicator.others() {
                wait(|| zone.published(other) > number);
                assert_eq!(zone.words(other, number), [other as u32 + number as u32; WORDS]);
                for k in 0..5 {
                    let stored = if number == 3 { 1000 } else { 1000 * number } + 10 * other as u64 + k;
                    let found = zone.buffer().number(zone_place + 64 * other + 8 * k as usize);
                    assert_eq!(found, stored, "number {k} of rank {other} in exchange {number}");
                }
            }
            communicator.barrier()?;
        }
        drop(messenger);
        Ok(())
    })
    .unwrap();
}

/// A rank that is stopped keeps no other one: the messenger of that one ends all the same.
#[test]
fn a_messenger_does_not_wait_for_ever() {
    let device = Device::emulated().unwrap();
    let times = threads::run(2, |communicator| {
        let begun = Instant::now();
        if communicator.rank() == 0 {
            drop(start(communicator, &device)?);
        }
        let time = begun.elapsed();
        communicator.barrier()?;
        Ok(time)
    });
    let time = times.unwrap()[0];
    assert!(time >= CLOSING && time < PATIENCE, "{time:?}");
}

#[test]
fn numbers_of_threads_are_put_together_and_failures_passed_on() {
    let device = Device::emulated().unwrap();
    let errors = threads::run(2, |communicator| {
        let (messenger, zone, collective) = start(communicator, &device)?;
        let rank = communicator.rank();
        collective.begin_call();
        for turn in 0..20 {
            assert_eq!(
                collective.all(rank, f64::from(turn) + rank as f64)?,
                [0, 1].map(|r| f64::from(turn + r))
            );
        }
        collective.begin_call();
        let error = match rank {
            0 => collective.all(rank, 0.0).unwrap_err(),
            _ => {
                let error = Error::device("lost");
                collective.fail(&error);
                error
            }
        };
        // A failure of this call is none of the next one.
        communicator.barrier()?;
        collective.clear();
        collective.begin_call();
        assert_eq!(collective.all(rank, 1.0)?, [1.0; 2]);
        drop((messenger, zone));
        Ok(error.message().to_string())
    });
    assert_eq!(errors.unwrap(), ["rank 1: lost", "lost"]);
}

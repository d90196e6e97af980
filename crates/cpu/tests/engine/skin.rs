//! The search for the best skin.

use jostle_core::backend::Timings;
use jostle_cpu::skin::Skin;

/// Model of steps and seconds of a list with a skin: builds of a second, steps that grow with the skin.
fn list(skin: f64) -> (u64, f64) {
    let steps = (400.0 * skin).ceil() as u64;
    (steps, 1.0 + steps as f64 * 0.01 * (1.0 + skin).powi(3))
}

fn cost(skin: f64) -> f64 {
    let (steps, seconds) = list(skin);
    seconds / steps as f64
}

/// The skin that is found where everything costs `pace` times as much at some build.
fn found(guess: f64, pace: impl Fn(usize) -> f64) -> f64 {
    let (mut skin, mut timings) = (Skin::new(None, guess, false), Timings::default());
    for build in 0..10_000 {
        if skin.settled() {
            return skin.now();
        }
        skin.tune(&timings);
        let (steps, seconds) = list(skin.now());
        (0..steps).for_each(|_| skin.step());
        timings.pair += seconds * pace(build);
    }
    panic!("no skin was found");
}

#[test]
fn the_skin_that_is_found_is_nearly_the_best() {
    let best = (1..200).map(|k| cost(0.01 * f64::from(k))).fold(f64::INFINITY, f64::min);
    for guess in [0.08, 0.16, 0.3, 0.6] {
        let skin = found(guess, |_| 1.0);
        assert!(cost(skin) < 1.1 * best, "{guess}: {skin} costs {} of {best}", cost(skin));
        // Changes of speed: a machine that is slower for a while, or a system that warms up.
        let skin = found(guess, |build| if build < 25 { 0.7 } else { 1.0 });
        assert!(cost(skin) < 1.1 * best, "{guess}, slower: {skin} costs {} of {best}", cost(skin));
    }
}

#[test]
fn a_given_skin_stays() {
    let mut skin = Skin::new(Some(0.3), 0.5, false);
    skin.step();
    skin.tune(&Timings::default());
    assert_eq!((skin.now(), skin.settled()), (0.3, true));
}

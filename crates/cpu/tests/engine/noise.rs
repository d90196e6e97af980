//! Noise on many atoms at once against the noise on each of them.

use jostle_core::NoiseKey;
use jostle_core::random::{Purpose, Stream};
use jostle_cpu::Level;
use jostle_cpu::noise::{BATCH, Normals};

#[test]
fn deviates_are_those_of_their_streams() {
    for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
        for step in [0, 7, 1 << 33] {
            let noise = NoiseKey { seed: 0x1234_5678_9abc_def0 + step, step };
            let id: [u32; BATCH] = std::array::from_fn(|k| 1 + 7_919 * k as u32);
            let mut out = [[0.0; BATCH]; 3];
            level.run(Normals { id: &id, noise, out: &mut out });
            for lane in 0..BATCH {
                let exact = Stream::new(noise.seed, Purpose::Langevin, id[lane], step).normal3();
                for k in 0..3 {
                    let error = (out[k][lane] - exact[k]).abs();
                    assert!(error < 1e-14, "{level}: {} is not {}", out[k][lane], exact[k]);
                }
            }
        }
    }
}

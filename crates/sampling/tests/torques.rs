//! Constant torques.

use jostle_sampling::bias::{Bias, BiasVariable, Moment, Torque};
use std::f64::consts::PI;

fn variable(period: Option<f64>) -> BiasVariable {
    BiasVariable { number: 0, name: "turn".into(), period }
}

/// The angle goes on beyond half a turn, where the variable jumps; a checkpoint keeps it, and a stage without the
/// torque leaves it.
#[test]
fn full_turns_count() {
    let mut torque = Torque::new(variable(Some(2.0 * PI)), 3.0).unwrap();
    let (now, mut slope) = (Moment::default(), [0.0]);
    torque.begin(&[0.5], &now).unwrap();
    for k in 1..100 {
        let angle = 0.5 + 0.7 * f64::from(k);
        let value = [angle.sin().atan2(angle.cos())];
        let energy = torque.evaluate(&value, &now, &mut slope).unwrap();
        assert!((energy + 3.0 * (angle - 0.5)).abs() < 1e-10, "{energy} at {angle}");
        assert_eq!(slope, [-3.0]);
        if k == 50 {
            let saved = torque.save().unwrap();
            torque = Torque::new(variable(Some(2.0 * PI)), 3.0).unwrap();
            torque.restore(&saved).unwrap();
            assert_eq!(torque.evaluate(&value, &now, &mut slope).unwrap(), energy);
        }
        torque.end_step(&value, &now).unwrap();
    }
    let columns: Vec<(&str, f64)> = torque.columns().iter().map(|c| (c.name, c.value)).collect();
    assert_eq!(columns[0], ("torque", 3.0));
    assert!((columns[1].1 - 69.3).abs() < 1e-9 && (columns[2].1 - 207.9).abs() < 1e-9, "{columns:?}");
    torque.begin(&[2.0], &now).unwrap();
    let energy = torque.evaluate(&[2.1], &now, &mut slope).unwrap();
    assert!((energy + 207.9 + 0.3).abs() < 1e-9, "{energy}");
}

#[test]
fn distances_take_no_torque() {
    assert!(Torque::new(variable(None), 1.0).err().unwrap().message().contains("no angle"));
}

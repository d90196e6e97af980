//! Pairs against double loops.

use super::*;

/// Atoms of an open box in a plane or on a line, whose cells are as flat as they are, and points outside.
#[test]
fn flat_systems_are_searched_as_others() {
    let simbox = SimBox::new([0.0; 3], [20.0; 3], [0.0; 3], [false; 3]).unwrap();
    for flat in [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.0]] {
        let place =
            |n: usize| Vector::from_fn(|k| flat[k] * (n as f64 * [0.618, 0.755, 0.570][k]).fract() * 9.0);
        let positions: Vec<Vec3> = (0..100).map(place).collect();
        let near = |a: &Vec3, b: &Vec3| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>() < 4.0;
        let pairs = (0..100).flat_map(|i| (0..i).map(move |j| (i, j)));
        let expected = pairs.filter(|(i, j)| near(&positions[*i], &positions[*j])).count();
        let cells = Cells::new(&simbox, &positions, 2.0).unwrap();
        assert_eq!(cells.pairs().unwrap().len(), expected, "{flat:?}");
        for point in
            [Vector([-1.5, 4.0, 0.5]), Vector([1.0, 10.5, 1.0]), Vector([4.5, 4.5, -1.9]), Vector([30.0; 3])]
        {
            let (mut found, expected) = (0, positions.iter().filter(|r| near(r, &point)).count());
            cells.around(point, |_, _| found += 1);
            assert_eq!(found, expected, "{flat:?} {point:?}");
        }
    }
}

/// Against a double loop over images, in boxes smaller and larger than the reach, tilted, open.
#[test]
fn pairs_are_those_of_a_double_loop() {
    let random = |k: usize| (k as f64 * 0.618_033_988_749_895).fract();
    for (reach, periodic, tilts) in [
        (2.0, [true; 3], [0.0; 3]),
        (2.0, [true; 3], [1.5, -2.0, 0.7]),
        (9.0, [true; 3], [1.5, -2.0, 0.7]),
        (3.0, [true, false, true], [0.0, 1.0, 0.0]),
        (3.0, [false; 3], [0.0; 3]),
    ] {
        let simbox = SimBox::new([-1.0, 2.0, 0.5], [7.0, 8.0, 6.0], tilts, periodic).unwrap();
        let place = |n: usize| {
            simbox.to_cartesian(Vector([2.0 * random(3 * n) - 0.5, random(7 * n + 1), random(11 * n + 5)]))
        };
        let positions: Vec<Vec3> = (0..60).map(place).collect();
        let cells = Cells::new(&simbox, &positions, reach).unwrap();
        let (count, sum) = cells.fold(
            || (0u64, 0.0),
            |a, p| *a = (a.0 + 1, a.1 + p.d2.sqrt()),
            |a, b| (a.0 + b.0, a.1 + b.1),
        );
        let (mut expected, mut distances) = (0u64, 0.0);
        let range = |k: usize| if periodic[k] { -4..=4 } else { 0..=0 };
        for (i, a) in positions.iter().enumerate() {
            let mut around = 0;
            for (j, b) in positions.iter().enumerate() {
                for x in range(0) {
                    for y in range(1) {
                        for z in range(2) {
                            let shift = simbox.shift([x, y, z]);
                            let d2: f64 = (0..3).map(|k| (b[k] + shift[k] - a[k]).powi(2)).sum();
                            if d2 < reach * reach && (i != j || [x, y, z] != [0; 3]) {
                                expected += 1;
                                around += 1;
                                distances += d2.sqrt();
                            }
                        }
                    }
                }
            }
            let mut found = 0;
            cells.around(*a, |_, _| found += 1);
            assert_eq!(found, around + 1);
        }
        assert_eq!(2 * count, expected);
        let within = |n: &mut u64, around: &CellSurroundings| {
            for atom in 0..around.own {
                let [x, y, z] = [0, 1, 2].map(|k| around.place[k][atom]);
                for k in atom + 1..around.labels.len() {
                    let d2 =
                        [x, y, z].iter().zip(&around.place).map(|(a, b)| (a - b[k]).powi(2)).sum::<f32>();
                    *n += u64::from(f64::from(d2) < reach * reach);
                }
            }
        };
        let found = fold_around((&simbox, &positions, &[0; 60]), reach, || 0, within, |a, b| a + b).unwrap();
        assert_eq!(found, count);
        assert!((2.0 * sum / distances - 1.0).abs() < 1e-12);
    }
}

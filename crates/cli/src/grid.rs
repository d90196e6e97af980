//! Values of a sweep: lists, ranges, and all their combinations.

use jostle_core::{Error, Result};
use jostle_io::input::Assignment;
use std::str::FromStr;

/// Runs of one sweep.
const MOST_POINTS: usize = 10_000;
/// Decimals of values of a range: what is beyond is rounding.
const MOST_DECIMALS: usize = 12;

/// A key of the input and the values that it takes one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// The key with its tables, as `system.temperature`.
    pub path: String,
    /// Its values, as they are written.
    pub values: Vec<String>,
}

impl FromStr for Axis {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let example = "write system.temperature=280..320:10 or system.temperature=280,300";
        let refused =
            |why: String| Error::input(format!("'{text}' is no list of values: {why}")).hint(example);
        let (path, values) = text.split_once('=').ok_or_else(|| refused("there is no =".into()))?;
        let values = match values.split_once("..") {
            Some((first, rest)) => range(first, rest).map_err(refused)?,
            None => values.split(',').map(|value| value.trim().to_string()).collect(),
        };
        for (k, value) in values.iter().enumerate() {
            // Checks of a value that is set hold here, too.
            Assignment::new(path, value)?;
            if let Some(before) = values[..k].iter().find(|before| is_same(before, value)) {
                return Err(refused(match before == value {
                    true => format!("{value} stands there twice"),
                    false => format!("{before} and {value} are the same"),
                }));
            }
        }
        Ok(Axis { path: path.trim().to_string(), values })
    }
}

/// Returns true for values that are the same text, or the same number of the same unit.
fn is_same(a: &str, b: &str) -> bool {
    let number = |text: &str| {
        let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
        Some((number.parse::<f64>().ok()?, unit.trim().to_string()))
    };
    a == b || number(a).is_some_and(|a| number(b) == Some(a))
}

/// Values from `first` to the last of `rest`, which is `last:step`.
fn range(first: &str, rest: &str) -> std::result::Result<Vec<String>, String> {
    let (last, step) = rest.split_once(':').ok_or("a range needs a step behind a colon")?;
    let number = |text: &str| {
        let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
        value.ok_or_else(|| format!("'{}' is no number", text.trim()))
    };
    let [from, to, by] = [number(first)?, number(last)?, number(step)?];
    let count = ((to - from) / by + 1e-9).floor();
    if by == 0.0 || count < 0.0 {
        return Err(format!("steps of {by} do not lead from {from} to {to}"));
    }
    if count >= MOST_POINTS as f64 {
        return Err(format!("these are more than {MOST_POINTS} values"));
    }
    let decimals = |text: &str| match text.trim().split_once('.') {
        _ if text.contains(['e', 'E']) => MOST_DECIMALS,
        Some((_, decimals)) => decimals.len().min(MOST_DECIMALS),
        None => 0,
    };
    let decimals = decimals(first).max(decimals(step));
    let value = |k: usize| {
        let text = format!("{:.decimals$}", from + k as f64 * by);
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
            false => text,
        }
    };
    Ok((0..=count as usize).map(value).collect())
}

/// One run of a sweep: a value for each axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Point {
    /// Values in the order of the axes.
    pub values: Vec<String>,
    /// Name of the folder.
    pub folder: String,
}

/// All combinations of values; the last axis changes fastest.
///
/// # Errors
/// If there are too many, a key stands on two axes, or two runs would have the same folder.
pub fn points(axes: &[Axis]) -> Result<Vec<Point>> {
    if let Some(twice) =
        axes.iter().enumerate().find(|(k, axis)| axes[..*k].iter().any(|a| a.path == axis.path))
    {
        return Err(Error::given_twice(&twice.1.path));
    }
    let count = axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len()));
    if count.is_none_or(|count| count > MOST_POINTS) {
        return Err(Error::input(format!("these are more than {MOST_POINTS} runs")));
    }
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for axis in axes {
        let with =
            |values: &Vec<String>, value: &String| [values.as_slice(), std::slice::from_ref(value)].concat();
        all =
            all.iter().flat_map(|values| axis.values.iter().map(move |value| with(values, value))).collect();
    }
    let names = labels(axes);
    let points: Vec<Point> =
        all.into_iter().map(|values| Point { folder: folder(&names, &values), values }).collect();
    let mut folders: Vec<&str> = points.iter().map(|point| point.folder.as_str()).collect();
    folders.sort_unstable();
    match folders.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Error::input(format!("two values would have the same folder, {}", pair[0]))),
        None => Ok(points),
    }
}

/// Short names of axes: the key alone, or its whole path where two keys have one name.
fn labels(axes: &[Axis]) -> Vec<&str> {
    let key = |axis: &Axis| axis.path.rsplit('.').next().unwrap_or_default().to_string();
    let label = |axis| {
        let own = key(axis);
        let twice = axes.iter().filter(|other| key(other) == own).count() > 1;
        if twice { axis.path.as_str() } else { &axis.path[axis.path.len() - own.len()..] }
    };
    axes.iter().map(label).collect()
}

/// Name of the folder of a point; characters that a file name cannot have are replaced.
fn folder(names: &[&str], values: &[String]) -> String {
    let plain = |text: &str| text.replace(|c: char| !(c.is_alphanumeric() || "-_.+=".contains(c)), "_");
    let parts: Vec<String> =
        names.iter().zip(values).map(|(name, value)| plain(&format!("{name}={value}"))).collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        text.parse::<Axis>().unwrap_or_else(|e| panic!("{text}: {e}")).values
    }

    #[test]
    fn ranges_and_lists_are_written_as_people_would() {
        assert_eq!(values("a.b=280..320:10"), ["280", "290", "300", "310", "320"]);
        assert_eq!(values("a.b=0.1..0.5:0.1"), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(values("a.b=1..0:-0.25"), ["1", "0.75", "0.5", "0.25", "0"]);
        assert_eq!(values("a.b=1..2:0.4"), ["1", "1.4", "1.8"]);
        assert_eq!(values("a.b=1e-3..2e-3:5e-4"), ["0.001", "0.0015", "0.002"]);
        assert_eq!(values("a.b=1, 2,5"), ["1", "2", "5"]);
        assert_eq!(values("a.b=80 K,90 K"), ["80 K", "90 K"]);
        assert_eq!(values("a.b=1 nm,1 pm"), ["1 nm", "1 pm"]);
    }

    #[test]
    fn nonsense_is_refused_with_its_reason() {
        for (text, why) in [
            ("a.b", "no ="),
            ("a.b=1..2", "needs a step"),
            ("a.b=1..2:0", "do not lead"),
            ("a.b=1..2:-1", "do not lead"),
            ("a.b=x..2:1", "'x' is no number"),
            ("a.b=0..1e9:1", "more than"),
            ("a.b=0..inf:1", "no number"),
            ("a.b=1,1", "twice"),
            ("a.b=1.0,1.00", "1.0 and 1.00 are the same"),
            ("a.b=80 K,8e1 K", "are the same"),
            ("a.b=1,", "one line"),
            ("=1", "a name is missing"),
        ] {
            let error = text.parse::<Axis>().expect_err(text);
            assert!(error.message().contains(why), "{text}: {error}");
        }
        let axes = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Axis>>();
        let refused = |texts: &[&str]| points(&axes(texts)).expect_err("refused").message().to_string();
        assert!(refused(&["a.b=1", "a.b=2"]).contains("given twice"));
        assert!(refused(&["a.b=1..200:1", "a.c=1..200:1"]).contains("more than"));
        assert!(refused(&["a.b=1 K,1_K"]).contains("the same folder"));
    }

    #[test]
    fn points_are_all_combinations_with_folders_of_their_own() {
        let axes: Vec<Axis> =
            ["system.temperature=1,2", "system.density=0.5"].map(|text| text.parse().unwrap()).into();
        let folders: Vec<String> = points(&axes).unwrap().into_iter().map(|point| point.folder).collect();
        assert_eq!(folders, ["temperature=1,density=0.5", "temperature=2,density=0.5"]);
        let axes: Vec<Axis> = ["stage.a.steps=1", "stage.b.steps=2"].map(|text| text.parse().unwrap()).into();
        assert_eq!(points(&axes).unwrap()[0].folder, "stage.a.steps=1,stage.b.steps=2");
    }
}

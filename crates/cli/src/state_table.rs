//! Tables of energies or derivatives of states, as alchemlyb writes them as CSV.

use crate::states::Contents;
use jostle_core::{Error, Result};
use std::path::Path;

/// Columns that say from which state of one parameter a sample is.
const STATE_COLUMNS: [&str; 3] = ["lambda", "state", "lambdas"];
/// Ending of the names of columns with one of several parameters; of one, too.
const PARAMETER: &str = "-lambda";
/// Columns with the derivative of the energy with a single parameter.
const DERIVATIVE_COLUMNS: [&str; 3] = ["fep", "dHdl", "dU/dlambda"];

/// A table of one file.
pub struct StateTable {
    /// Names of the parameters.
    pub names: Vec<String>,
    /// Parameters of each state with a column of energies.
    pub states: Vec<Vec<f64>>,
    pub contents: Contents,
    /// Parameters of the state of each sample, and its energies or derivatives.
    pub rows: Vec<(Vec<f64>, Vec<f64>)>,
}

impl StateTable {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// If columns are missing, or something is no number.
    pub fn parse(path: &Path, text: &str) -> Result<Self> {
        let mut lines =
            text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let (line, head) = lines.next().map_or((1, Vec::new()), |(k, line)| (k + 1, fields(line)));
        let wrong = |message: String| {
            Error::file_line(path, line, message).hint(
                "the head of such a table is time,fep-lambda,0.0,0.5,1.0 or time,fep-lambda,fep, or of two parameters \
                 time,coul-lambda,vdw-lambda,\"(0.0, 0.0)\",\"(1.0, 0.0)\" or time,coul-lambda,vdw-lambda,coul,vdw",
            )
        };
        let is_parameter = |name: &str| STATE_COLUMNS.contains(&name) || name.ends_with(PARAMETER);
        let own: Vec<usize> = (0..head.len()).filter(|k| is_parameter(&head[*k])).collect();
        if own.is_empty() {
            return Err(wrong("no column says from which state a sample is".into()));
        }
        let names: Vec<String> = own.iter().map(|k| head[*k].clone()).collect();
        let (columns, states): (Vec<usize>, Vec<Vec<f64>>) =
            head.iter().enumerate().filter_map(|(k, name)| Some((k, parameters(name)?))).unzip();
        if let Some(odd) = states.iter().position(|state| state.len() != own.len()) {
            let message = format!(
                "column \"{}\" is not of a state of {} parameters: {}",
                head[columns[odd]],
                own.len(),
                names.join(", ")
            );
            return Err(wrong(message));
        }
        let (columns, contents) = match states.is_empty() {
            false => (columns, Contents::Energies),
            true => match derivatives(&head, &names) {
                Some(columns) => (columns, Contents::Derivatives),
                None => return Err(wrong("no column has energies or derivatives".into())),
            },
        };
        let row = |(number, line): (usize, &str)| {
            let cells = fields(line);
            let values = |columns: &[usize]| -> Result<Vec<f64>> {
                let one = |k: &usize| number_in(cells.get(*k).map_or("", String::as_str));
                let found = columns.iter().map(one).collect::<std::result::Result<_, String>>();
                found.map_err(|message| Error::file_line(path, number + 1, message))
            };
            Ok((values(&own)?, values(&columns)?))
        };
        let rows = lines.map(row).collect::<Result<_>>()?;
        Ok(StateTable { names, states, contents, rows })
    }
}

/// Columns with the derivatives with all parameters: coul of coul-lambda; `None` where one is missing.
fn derivatives(head: &[String], names: &[String]) -> Option<Vec<usize>> {
    let find = |name: &str| head.iter().position(|column| column == name);
    let named: Option<Vec<usize>> = names.iter().map(|name| find(name.strip_suffix(PARAMETER)?)).collect();
    let single = || DERIVATIVE_COLUMNS.iter().find_map(|name| find(name)).map(|column| vec![column]);
    named.or_else(|| single().filter(|_| names.len() == 1))
}

/// Cells of a line, whose commas and tabs may stand in quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut cells, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' | '\t' if !quoted => cells.push(String::new()),
            _ => cells.iter_mut().last().into_iter().for_each(|cell| cell.push(c)),
        }
    }
    cells.iter().map(|cell| cell.trim().to_string()).collect()
}

/// Parameters of a state in the head of a column: a number, or several in parentheses.
fn parameters(name: &str) -> Option<Vec<f64>> {
    let inner = name.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(name);
    // NumPy's numbers, as Python shows them in a tuple.
    let plain = |word: &str| word.trim().trim_start_matches("np.float64(").trim_end_matches(')').to_string();
    let words = inner.split(',').filter(|word| !word.trim().is_empty());
    let numbers: Option<Vec<f64>> = words.map(|word| plain(word).parse().ok()).collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

/// Number in a cell. An infinite energy is one that a state never has.
fn number_in(text: &str) -> std::result::Result<f64, String> {
    match text {
        "inf" | "Inf" => Ok(f64::INFINITY),
        _ => text
            .parse()
            .ok()
            .filter(|x: &f64| x.is_finite())
            .ok_or_else(|| format!("\"{text}\" is not a number")),
    }
}

/// Distance of two states: the sum of the changes of all parameters.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}

/// Order of states along their path. States of one parameter ascend; those of several go away from that end of the path
/// which is given first, unless their given order has shorter steps altogether, as that of a path that turns back has.
pub fn along_path(states: &[Vec<f64>]) -> Vec<usize> {
    let n = states.len();
    let given: Vec<usize> = (0..n).collect();
    let mut order = given.clone();
    if states.iter().all(|state| state.len() == 1) {
        order.sort_by(|a, b| states[*a][0].total_cmp(&states[*b][0]));
        return order;
    }
    let apart = |a: usize, b: usize| distance(&states[a], &states[b]);
    let pairs = given.iter().flat_map(|a| (a + 1..n).map(move |b| (*a, b)));
    let ends = pairs.fold((0, 0), |most, pair| match apart(pair.0, pair.1) > apart(most.0, most.1) {
        true => pair,
        false => most,
    });
    order.sort_by(|a, b| apart(ends.0, *a).total_cmp(&apart(ends.0, *b)));
    let length = |order: &[usize]| order.windows(2).map(|pair| apart(pair[0], pair[1])).sum::<f64>();
    if length(&given) <= length(&order) { given } else { order }
}

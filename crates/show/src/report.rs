//! A run as one page: everything it needs is inside, so that it opens anywhere and offline.

use crate::figure::{AxisScale, Figure, PlotAxis};
use crate::figures::of_run;
use crate::html::escape;
use crate::kernels::KernelTable;
use crate::labels::unit;
use crate::run::{Finding, RunFiles};
use crate::scene::{Scene, order};
use crate::warnings::warnings;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jostle_core::Result;
use jostle_engine::report::{Average, Convergence, TimeSpent};
use jostle_engine::summary::{rounded, with_error};
use jostle_engine::{CHECKPOINT, Checkpoint, StageReport};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

const PAGE: &str = include_str!("../pages/report.html");
const STYLE: &str = include_str!("../pages/style.css");
const SCRIPT: &str = include_str!("../pages/report.js");
pub(crate) const SCENE: &str = include_str!("../pages/scene.js");
/// Scripts and style of plots.
pub(crate) const PLOTS: [&str; 3] = [
    include_str!("../assets/uplot/uPlot.iife.min.js"),
    include_str!("../pages/plot.js"),
    include_str!("../assets/uplot/uPlot.min.css"),
];
/// The canvas of the atoms, and the button that saves a picture of them.
pub(crate) const CANVAS: &str = "<div class=\"scene\"><canvas id=\"atoms\"></canvas>\
    <button type=\"button\" id=\"picture\" class=\"button\" title=\"save a picture of the atoms\">\
    <svg viewBox=\"0 0 20 20\" aria-hidden=\"true\"><path d=\"M10 3v9m-3.5-3.5L10 12l3.5-3.5M4 15.5h12\"/></svg>\
    picture</button></div>";
/// The button that goes from light to dark and back.
pub(crate) const THEME: &str = "<button type=\"button\" id=\"theme\" class=\"button plain\" title=\"light or dark\" \
    aria-label=\"light or dark\"><svg viewBox=\"0 0 20 20\" aria-hidden=\"true\"><circle cx=\"10\" cy=\"10\" r=\"6.5\"/>\
    <path d=\"M10 3.5a6.5 6.5 0 0 1 0 13z\" fill=\"currentColor\"/></svg></button>";
pub(crate) const GRAPHICS: &str = include_str!("../assets/ogl/ogl.min.js");
/// Points of a curve beyond which the picture stays the same.
const MOST_POINTS: usize = 4000;
/// More atoms than this would make the page too large to open: 8 bytes each.
const MOST_ATOMS: usize = 2_000_000;

/// The report on a run, as HTML.
///
/// # Errors
/// If the checkpoint cannot be read.
pub fn report(run: &RunFiles) -> Result<String> {
    let figures = of_run(run);
    let last = run.path.join(CHECKPOINT);
    let scene = match last.is_file() {
        true => Some(Scene::of_checkpoint(Checkpoint::read(&last)?)?),
        false => None,
    };
    let drawn = scene.as_ref().filter(|(scene, _)| scene.species.len() <= MOST_ATOMS);
    let ordered = drawn.map(|(_, frame)| order(frame)).transpose()?;
    let content = json!({
        "figures": figures_json(&figures),
        "scene": drawn.map(|(scene, frame)| json!({
            "kinds": STANDARD.encode(scene.kinds()),
            "bonds": STANDARD.encode(scene.bond_bytes()),
            "colours": scene.colours(),
            "radii": scene.radii(),
            "size": scene.size(),
            "water": STANDARD.encode(scene.water_bytes()),
            "frame": STANDARD.encode(frame),
            "order": ordered.as_ref().map(|bytes| STANDARD.encode(bytes)),
        })),
    });
    // Within a script only "</" could end it.
    let content = content.to_string().replace("</", "<\\/");
    let title = run.title().map_or_else(|| run.path.display().to_string(), String::from);
    let scripts = match drawn {
        Some(_) => [PLOTS[0], PLOTS[1], GRAPHICS, SCENE, SCRIPT].join("\n"),
        None => [PLOTS[0], PLOTS[1], SCRIPT].join("\n"),
    };
    let parts = [
        ("title", escape(&title)),
        ("subtitle", escape(&subtitle(run))),
        ("theme", THEME.to_string()),
        ("style", format!("{}\n{STYLE}", PLOTS[2])),
        ("facts", facts(run)),
        ("warnings", warnings_html(&warnings(run))),
        ("results", results_html(run)),
        ("figures", figures_html(figures.len())),
        ("stages", run.stages.iter().map(|stage| stage_html(run, stage)).collect()),
        ("findings", run.findings.iter().map(finding_html).collect()),
        ("atoms", atoms_html(scene.as_ref().map(|(s, _)| s), drawn.is_some())),
        ("input", text_html("Input", run.input.as_deref())),
        ("log", text_html("Log", run.log.as_deref())),
        ("content", content),
        ("scripts", scripts),
    ];
    Ok(filled(PAGE, &parts))
}

/// A page with its parts in the places `{{name}}`; parts are not looked into.
pub(crate) fn filled(page: &str, parts: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else { break };
        out.push_str(before);
        out.extend(parts.iter().find(|(n, _)| *n == name).map(|(_, part)| part.as_str()));
        rest = behind;
    }
    out + rest
}

/// Figures of a page as JSON.
pub(crate) fn figures_json(figures: &[Figure]) -> Vec<Json> {
    figures.iter().map(figure_json).collect()
}

fn figure_json(figure: &Figure) -> Json {
    let axis = |a: &PlotAxis| json!({ "label": a.label, "scale": if a.scale == AxisScale::Linear { "linear" } else { "log" } });
    let curves = figure.curves.iter().map(|c| {
        let mut points = c.thinned(MOST_POINTS).points;
        points.retain(|p| figure.x.scale.shows(p.x) && figure.y.scale.shows(p.y));
        let errors: Vec<f64> = points.iter().map(|p| p.error.unwrap_or(0.0)).collect();
        json!({
            "label": c.label,
            "x": points.iter().map(|p| p.x).collect::<Vec<_>>(),
            "y": points.iter().map(|p| p.y).collect::<Vec<_>>(),
            "error": errors.iter().any(|e| *e > 0.0).then_some(errors),
        })
    });
    json!({ "name": figure.name, "title": figure.title, "note": figure.note(), "x": axis(&figure.x), "y": axis(&figure.y), "curves": curves.collect::<Vec<_>>() })
}

fn row(name: &str, value: &str) -> String {
    format!("<tr><th>{}</th><td>{}</td></tr>", escape(name), escape(value))
}

/// The folder of the run, its end, and the program that made it.
fn subtitle(run: &RunFiles) -> String {
    let said = |key: &str| run.summary[key].as_str().filter(|words| !words.is_empty());
    let made = said("jostle").map(|version| format!("Jostle {version}"));
    let parts = [Some(run.path.display().to_string()), said("status").map(String::from), made];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Means of the last stage and its speed, at a glance.
fn results_html(run: &RunFiles) -> String {
    let Some(stage) = run.stages.last() else { return String::new() };
    let shown = ["temperature", "pressure", "density", "potential"];
    let found = shown.iter().filter_map(|name| {
        let average = stage.averages.iter().find(|a| a.quantity == *name)?;
        let estimate = average.estimate?;
        let value = match estimate.error > 1e-9 * estimate.mean.abs() {
            true => with_error(estimate.mean, estimate.error),
            false => rounded_to(estimate.mean, 6),
        };
        Some(result_html(name, &value, &unit(&average.unit)))
    });
    let speed = match stage.speed.ns_per_day.filter(|ns| *ns > 0.0) {
        Some(ns) => result_html("speed", &rounded_to(ns, 3), "ns/day"),
        None => result_html("speed", &rounded_to(stage.speed.steps_per_second, 3), "steps/s"),
    };
    let found: String = found.chain([speed]).collect();
    format!(
        "<div class=\"results\">{found}</div><p class=\"hint\">Means of stage {}.</p>",
        escape(&stage.name)
    )
}

fn result_html(name: &str, value: &str, unit: &str) -> String {
    format!(
        "<div><span>{name}</span><b>{}</b> <i>{}</i></div>",
        escape(&value.replace('-', "−")),
        escape(unit)
    )
}

/// A number to so many digits.
fn rounded_to(x: f64, digits: usize) -> String {
    let short: f64 = format!("{x:.*e}", digits - 1).parse().unwrap_or(x);
    rounded(short)
}

/// Elements that plots are drawn in.
fn figures_html(number: usize) -> String {
    if number == 0 {
        return String::new();
    }
    let places: String =
        (0..number).map(|k| format!("<figure class=\"card\" id=\"figure-{k}\"></figure>")).collect();
    format!(
        "<h2>Plots</h2><p class=\"hint\">Hover to read values; drag to zoom, double-click to go back. Bands are standard errors.</p>\
         <div class=\"figures\">{places}</div>"
    )
}

fn facts(run: &RunFiles) -> String {
    let s = &run.summary;
    let said = |key: &str| s[key].as_str().unwrap_or_default().to_string();
    let counted = |key: &str| s[key].as_u64().map(|n| n.to_string()).unwrap_or_default();
    let species = s["species"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|k| format!("{} {}", k["count"], k["name"].as_str().unwrap_or_default()));
    let list = [
        ("input", said("input")),
        ("atoms", species.collect::<Vec<_>>().join(", ")),
        ("units", said("units")),
        ("steps", counted("step")),
        ("device", said("device")),
        ("seed", counted("seed")),
        (
            "neighbour lists",
            s["neighbors"]["builds"].as_u64().map(|n| format!("built {n} times")).unwrap_or_default(),
        ),
    ];
    list.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| row(name, value)).collect()
}

fn warnings_html(warnings: &[String]) -> String {
    match warnings {
        [] => "<p class=\"fine\">Nothing to warn of: the run ended, the conserved quantity stayed, the halves of the last stage agree, and errors rest on enough rows.</p>".into(),
        some => {
            let items: String = some.iter().map(|w| format!("<li>{}</li>", escape(w))).collect();
            format!("<ul class=\"warnings\">{items}</ul>")
        }
    }
}

fn stage_html(run: &RunFiles, stage: &StageReport) -> String {
    let mut out = format!("<section class=\"card\"><h3>{}</h3>", escape(&stage.name));
    let _ = write!(
        out,
        "<p class=\"hint\">{} steps in {:.1} s: {:.0} steps/s",
        stage.steps, stage.time.total, stage.speed.steps_per_second
    );
    if let Some(ns) = stage.speed.ns_per_day.filter(|ns| *ns > 0.0) {
        let _ = write!(out, ", {ns:.1} ns/day");
    }
    let _ = write!(out, ", {:.2} million atom-steps/s.", stage.speed.million_atom_steps_per_second);
    if let Some(drift) = &stage.drift {
        let _ = write!(
            out,
            " Over the stage the conserved quantity drifted by {:.1e} of the kinetic energy",
            drift.of_kinetic
        );
        let _ = match drift.kt_per_ns_per_dof {
            Some(kt) => write!(out, ", {kt:.1e} k<sub>B</sub>T per ns and degree of freedom."),
            None => write!(out, "."),
        };
    }
    if let Some(minimum) = &stage.minimum {
        let reached = match minimum.outcome {
            Convergence::Converged => "was reached",
            Convergence::Unconverged => "was not reached",
        };
        let _ = write!(
            out,
            " The minimum {reached}: largest force {:.3e}, potential energy {:.6}.",
            minimum.largest_force, minimum.potential
        );
    }
    out.push_str("</p>");
    out.push_str(&time_html(&stage.time));
    let rows: String = stage.averages.iter().filter_map(average_row).collect();
    if !rows.is_empty() {
        let _ = write!(
            out,
            "<div class=\"wide\"><table class=\"numbers\"><thead><tr><th>quantity</th><th>mean ± standard error</th><th>unit</th><th>rows</th><th>independent</th></tr></thead><tbody>{rows}</tbody></table></div>"
        );
    }
    if let Some(kernels) = KernelTable::of_stage(&run.path, &stage.name) {
        out.push_str(&kernels.html());
    }
    out + "</section>"
}

fn average_row(average: &Average) -> Option<String> {
    let e = average.estimate?;
    let independent = e.samples as f64 / e.inefficiency;
    Some(format!(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{independent:.0}</td></tr>",
        escape(&average.quantity.replace('_', " ")),
        escape(&with_error(e.mean, e.error)),
        escape(&unit(&average.unit)),
        e.samples
    ))
}

/// Shares of the computing time, as a bar.
fn time_html(time: &TimeSpent) -> String {
    if time.total <= 0.0 {
        return String::new();
    }
    let measured = [
        ("pair forces", time.pair),
        ("neighbour lists", time.neighbors),
        ("integration", time.integrate),
        ("output", time.output),
        ("analysis", time.analysis),
    ];
    let rest = time.total - measured.iter().map(|(_, t)| t).sum::<f64>();
    let other = if time.is_divided() { "other" } else { "steps on the device" };
    let shares = measured.into_iter().chain([(other, rest)]).map(|(name, t)| (name, 100.0 * t / time.total));
    let shares: Vec<_> = shares.filter(|(_, share)| *share > 0.05).collect();
    let parts: String = shares
        .iter()
        .enumerate()
        .map(|(k, (name, share))| {
            format!(
                "<span class=\"part-{k}\" style=\"width:{share:.2}%\" title=\"{name} {share:.1} %\"></span>"
            )
        })
        .collect();
    let words: String = shares
        .iter()
        .enumerate()
        .map(|(k, (name, share))| format!("<span><i class=\"part-{k}\"></i>{name} {share:.1} %</span>"))
        .collect();
    format!("<div class=\"bar\">{parts}</div><div class=\"legend\">{words}</div>")
}

fn finding_html(finding: &Finding) -> String {
    let Finding { base, record } = finding;
    let (values, warnings) = (&record.results.values, &record.results.warnings);
    if values.is_empty() && warnings.is_empty() {
        return String::new();
    }
    let value = |v: &jostle_analysis::Value| {
        let number = match v.error {
            Some(error) if error > 0.0 => with_error(v.value, error),
            _ => rounded(v.value),
        };
        format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&v.name),
            escape(&number),
            escape(&unit(&v.unit))
        )
    };
    let rows: String = values.iter().map(value).collect();
    let table = match rows.as_str() {
        "" => String::new(),
        rows => format!(
            "<div class=\"wide\"><table class=\"numbers\"><thead><tr><th>quantity</th><th>value ± standard error</th><th>unit</th></tr></thead><tbody>{rows}</tbody></table></div>"
        ),
    };
    let doubts: String = warnings.iter().map(|w| format!("<li>{}</li>", escape(&w.to_string()))).collect();
    let doubts = match doubts.as_str() {
        "" => String::new(),
        items => format!("<ul class=\"warnings\">{items}</ul>"),
    };
    format!(
        "<section class=\"card\"><h3>{}</h3><p class=\"hint\">{} frames</p>{table}{doubts}</section>",
        escape(&base.replace('.', ": ")),
        record.frames
    )
}

fn atoms_html(scene: Option<&Scene>, drawn: bool) -> String {
    let Some(scene) = scene else { return String::new() };
    if !drawn {
        let n = scene.species.len();
        return format!(
            "<section class=\"card\"><p>{n} atoms are too many for a page: jostle view shows them.</p></section>"
        );
    }
    format!("<section class=\"card atoms\">{CANVAS}{}</section>", controls(scene))
}

/// Controls of a scene.
pub(crate) fn controls(scene: &Scene) -> String {
    let names =
        scene.names.iter().zip(scene.colours()).map(|(name, colour)| {
            format!("<span><i style=\"background:{colour}\"></i>{}</span>", escape(name))
        });
    let water = match scene.water.is_empty() {
        true => "",
        false => "<label><input id=\"water\" type=\"checkbox\" checked> water</label>",
    };
    let molecules = match scene.bonds.is_empty() {
        true => "",
        false => "<option value=\"molecule\">molecule</option>",
    };
    format!(
        "<div class=\"legend\"><span class=\"names\" id=\"names\">{}</span><span id=\"scale\"></span>\
         <label>colour by <select id=\"colour\"><option value=\"species\">species</option>{molecules}\
         <option value=\"speed\">speed</option><option value=\"order\">order (averaged q6)</option></select></label>\
         <label>cut <select id=\"axis\"><option value=\"-1\">nothing</option><option value=\"0\">along a</option>\
         <option value=\"1\">along b</option><option value=\"2\">along c</option></select>\
         <input id=\"clip\" type=\"range\" min=\"0\" max=\"1\" step=\"0.005\" value=\"0.5\" aria-label=\"where to cut\" hidden></label>\
         <label>size <input id=\"size\" type=\"range\" min=\"0.1\" max=\"0.7\" step=\"0.01\" value=\"0.4\"></label>{water}</div>",
        names.collect::<String>()
    )
}

fn text_html(title: &str, text: Option<&str>) -> String {
    let Some(text) = text else { return String::new() };
    format!("<details><summary>{title}</summary><pre>{}</pre></details>", escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_into_their_places_and_are_left_alone() {
        let parts = [("a", "1 {{b}}".to_string()), ("b", "2".to_string())];
        assert_eq!(filled("x {{a}} y {{b}} {{c}}z", &parts), "x 1 {{b}} y 2 z");
        assert_eq!(escape("<a href=\"&\">"), "&lt;a href=&quot;&amp;&quot;&gt;");
    }
}

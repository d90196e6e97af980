//! `jostle bench papers`: the tables and figures of the papers that Jostle follows, measured again: then and now. A file
//! each, and a line in [`PAPERS`].

mod hoang;
mod iumd;
mod namd;
mod rapaport;
mod session;
mod table;
mod wang;

use super::measure::RunSettings;
use crate::output;
use jostle_core::{Error, Result};
use serde_json::{Value, json};
use session::Session;
use std::fmt::Write as _;
use std::path::Path;
use table::{PaperRow, PaperTable, write_page};

/// All papers.
pub const PAPERS: [Paper; 5] = [rapaport::PAPER, wang::PAPER, hoang::PAPER, iumd::PAPER, namd::PAPER];

/// A paper whose tables are measured again.
#[derive(Clone, Copy)]
pub struct Paper {
    /// Name by which `jostle bench` knows it.
    pub name: &'static str,
    /// Authors, journal and year, and what it is about.
    citation: &'static str,
    /// Machine of the paper.
    machine: &'static str,
    /// Measurements of tables.
    tables: &'static [fn(&Session) -> Result<PaperTable>],
    /// Tables and figures that are not measured again.
    left_out: &'static [LeftOut],
}

/// A table or figure that is not measured again.
struct LeftOut {
    what: &'static str,
    why: &'static str,
}

/// Form of the output.
pub enum PaperOutput<'a> {
    /// Tables for a terminal.
    Text,
    /// JSON for programs.
    Json,
    /// A page and pictures in a folder, besides tables for a terminal.
    Page(&'a Path),
}

/// Measures the tables of papers.
///
/// # Errors
/// If a system cannot run, or the page cannot be written.
pub fn papers(papers: &[Paper], run_settings: &RunSettings, seconds: f64, form: PaperOutput) -> Result<()> {
    let session = Session::new(run_settings, seconds);
    if let PaperOutput::Page(folder) = form {
        std::fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, &e))?;
    }
    let (mut page, mut json) = (String::from("# The papers, then and now\n\n"), Vec::new());
    for paper in papers {
        let Paper { citation, machine, .. } = paper;
        let _ = write!(page, "## {citation}\n\nThen: {machine}.\n\n");
        if !matches!(form, PaperOutput::Json) {
            output::print(&format!("{citation}\n  then: {machine}\n\n"))?;
        }
        let mut tables = Vec::new();
        for measure in paper.tables {
            let table = measure(&session)?;
            if !matches!(form, PaperOutput::Json) {
                output::print(&table.text())?;
            }
            page.push_str(&table.markdown());
            // Tables that are measured are there, whatever comes after them.
            if let PaperOutput::Page(folder) = form {
                table.draw(folder)?;
                write_page(folder, &page)?;
            }
            tables.push(table);
        }
        if !matches!(form, PaperOutput::Json) {
            output::print(&paper.left_out_text())?;
        }
        page.push_str(&paper.left_out_markdown());
        json.push(paper.json(&tables));
    }
    match form {
        PaperOutput::Text => Ok(()),
        PaperOutput::Json => output::print_json(&json!({ "papers": json })),
        PaperOutput::Page(folder) => {
            write_page(folder, &page)?;
            say!("{}", folder.join("papers.md").display());
            Ok(())
        }
    }
}

impl Paper {
    fn left_out_text(&self) -> String {
        let line = |left: &LeftOut| format!("  {}: {}\n", left.what, left.why);
        let lines: String = self.left_out.iter().map(line).collect();
        format!("Not measured again, and why\n{lines}\n")
    }

    fn left_out_markdown(&self) -> String {
        let line = |left: &LeftOut| format!("| {} | {} |\n", left.what, left.why);
        let lines: String = self.left_out.iter().map(line).collect();
        format!("### Not measured again\n\n| what | why |\n| --- | --- |\n{lines}\n")
    }

    fn json(&self, tables: &[PaperTable]) -> Value {
        let left_out = |left: &LeftOut| json!({ "what": left.what, "why": left.why });
        json!({
            "name": self.name,
            "citation": self.citation,
            "machine": self.machine,
            "tables": tables.iter().map(PaperTable::to_json).collect::<Vec<_>>(),
            "left_out": self.left_out.iter().map(left_out).collect::<Vec<_>>(),
        })
    }
}

/// A number then and now, and their ratio.
fn then_and_now(then: f64, now: f64) -> [Option<f64>; 3] {
    [then, now, then / now].map(Some)
}

/// Sentence on gains of a GPU where there are none.
const NO_GPU: &str = "there is no GPU, or none was asked for";

/// Row of a number on the CPU, on the GPU, and of their ratio.
fn cpu_and_gpu(name: String, cpu: Option<f64>, gpu: Option<f64>) -> PaperRow {
    PaperRow { name, numbers: vec![cpu, gpu, cpu.zip(gpu).map(|(cpu, gpu)| cpu / gpu)] }
}

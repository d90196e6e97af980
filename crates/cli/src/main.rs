//! The program `jostle`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(jostle_program::program(std::env::args_os()))
}

//! GPU engine against the CPU engine in double precision, against other engines, and against itself. Tests
//! run on the emulated device; on a GPU and with larger systems where the environment has
//! `JOSTLE_TEST_DEVICE=cuda`.

mod agreement;
mod bonds;
#[path = "../../../cpu/tests/chains/mod.rs"]
mod chains;
mod charged;
#[path = "../../../cpu/tests/charges/mod.rs"]
mod charges;
mod constraints;
mod continuity;
mod device;
mod dispersion;
mod embedded;
mod external;
mod fluid;
mod grains;
mod mixed;
mod molecules;
mod open_space;
mod pair_search;
#[path = "../../../cpu/tests/pairs/mod.rs"]
mod pairs;
#[path = "../../../cpu/tests/reference/mod.rs"]
mod reference;
mod reference_values;
mod tails;
#[path = "../../../cpu/tests/typical/mod.rs"]
mod typical;
mod volume;
#[path = "../../../cpu/tests/charges/water.rs"]
mod water;

use jostle_core::{Algorithm, Precision};

const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::Auto, Algorithm::Tiles, Algorithm::List, Algorithm::Cells, Algorithm::AllPairs];
const PRECISIONS: [Precision; 2] = [Precision::Mixed, Precision::Double];

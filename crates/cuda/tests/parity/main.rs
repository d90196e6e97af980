//! GPU engine against the CPU engine in double precision, against other engines, and against itself. Tests
//! run on the emulated device; on a GPU and with larger systems where the environment has
//! `JOSTLE_TEST_DEVICE=cuda`.

mod agreement;
mod alchemy;
mod bonds;
mod charged;
mod constraints;
mod continuity;
mod device;
mod dispersion;
mod divided_motion;
mod driven;
mod embedded;
mod external;
mod fluid;
mod gpus;
mod grains;
mod mixed;
mod molecules;
mod open_space;
mod pair_search;
mod profile;
mod ranks;
mod reference_values;
mod reflection;
mod replicas;
mod rigid;
mod several;
mod tails;
mod three_body;
mod volume;

use jostle_core::{Algorithm, Precision};

const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::Auto, Algorithm::Tiles, Algorithm::List, Algorithm::Cells, Algorithm::AllPairs];
const PRECISIONS: [Precision; 2] = [Precision::Mixed, Precision::Double];

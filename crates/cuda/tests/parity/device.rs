//! Device that tests run on: a GPU where the environment has `JOSTLE_TEST_DEVICE=cuda`, and else the
//! emulation of one.

use jostle_cuda::driver::Device;

/// Size of the systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Small,
    Large,
}

pub fn size() -> Size {
    match std::env::var("JOSTLE_TEST_DEVICE") {
        Ok(name) if name == "cuda" => Size::Large,
        Ok(name) => panic!("JOSTLE_TEST_DEVICE={name}: there is only \"cuda\""),
        Err(_) => Size::Small,
    }
}

pub fn device() -> Device {
    match size() {
        Size::Small => Device::emulated().unwrap(),
        Size::Large => Device::open(0).unwrap().for_tests(),
    }
}

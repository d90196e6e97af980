//! Forms of fields that serde has none for.

use serde::{Deserialize, Deserializer, Serialize};

/// A name that is part of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Name(pub &'static str);

impl<'de> Deserialize<'de> for Name {
    /// The name, kept for good: terms are few, and read once a run.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Name(String::leak(String::deserialize(from)?)))
    }
}

/// A value that several owners share.
pub(crate) mod shared {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub fn serialize<T: Serialize, S: Serializer>(value: &Arc<T>, to: S) -> Result<S::Ok, S::Error> {
        T::serialize(value, to)
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(from: D) -> Result<Arc<T>, D::Error> {
        T::deserialize(from).map(Arc::new)
    }
}

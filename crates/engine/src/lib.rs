//! TODO-by-owner

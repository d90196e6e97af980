//! Structures that host and kernels share, each declared once: [`shared_structure!`] makes a Rust structure of the
//! declaration, and the CUDA source of the same structure, comments included. Both compilers check the layout: Rust
//! that no byte is padding, CUDA that every field and the whole have as many bytes as in Rust. Fields that have the
//! same order and sizes, with nothing between them, lie at the same offsets.

use crate::driver::DeviceCopy;
use jostle_core::Vector;
use std::fmt::Write;

/// Type that has the same bytes in CUDA.
pub trait SharedType: DeviceCopy {
    /// Name of the type in CUDA, or of the elements of an array.
    const NAME: &'static str;

    /// Lengths of an array, as they stand behind the name of a field.
    fn lengths() -> String {
        String::new()
    }
}

macro_rules! numbers {
    ($($rust:ty = $cuda:literal)*) => {
        $(
            impl SharedType for $rust {
                const NAME: &'static str = $cuda;
            }
        )*
    };
}
numbers!(i32 = "int" u32 = "u32" i64 = "i64" u64 = "u64" f32 = "float" f64 = "double");

impl<T: SharedType, const N: usize> SharedType for [T; N] {
    const NAME: &'static str = T::NAME;

    fn lengths() -> String {
        format!("[{N}]{}", T::lengths())
    }
}

impl<T: SharedType> SharedType for Vector<T> {
    const NAME: &'static str = T::NAME;

    fn lengths() -> String {
        <[T; 3]>::lengths()
    }
}

/// Size of a type that may be a field of a shared structure.
pub const fn bytes_of<T: DeviceCopy>() -> usize {
    size_of::<T>()
}

/// Structure that [`shared_structure!`] has declared.
pub trait SharedStructure: SharedType {
    /// Definition of the structure in CUDA, with checks of its layout.
    fn source() -> String;
}

/// Field of a shared structure.
pub struct Field {
    /// Lines of the comment.
    pub comment: &'static [&'static str],
    /// Name of the type in CUDA, or of the elements of an array.
    pub kind: &'static str,
    /// Name of the field.
    pub name: &'static str,
    /// Lengths of an array, see [`SharedType::lengths`].
    pub lengths: String,
    /// Size in bytes.
    pub bytes: usize,
}

fn write_comment(text: &mut String, indent: &str, lines: &[&str]) {
    for line in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{indent}//{line}");
    }
}

/// Writes the definition of a structure in CUDA, with checks of its layout.
pub fn source_of(
    name: &str,
    comment: &[&str],
    fields: &[Field],
    size: usize,
    alignment: Option<usize>,
) -> String {
    let (mut text, mut checks) = (String::new(), format!("sizeof({name}) == {size}"));
    write_comment(&mut text, "", comment);
    let alignment = alignment.map(|bytes| format!("alignas({bytes}) ")).unwrap_or_default();
    text += &format!("struct {alignment}{name} {{\n");
    for Field { comment, kind, name: field, lengths, bytes } in fields {
        write_comment(&mut text, "    ", comment);
        text += &format!("    {kind} {field}{lengths};\n");
        checks += &format!(" &&\n    sizeof({name}::{field}) == {bytes}");
    }
    text + &format!("}};\nstatic_assert({checks}, \"\");\n")
}

/// Declares structures that host and kernels share. A field is declared as in Rust; what follows `=` is its type in
/// CUDA, which is needed for addresses in device memory: these are `u64` for the host.
macro_rules! shared_structure {
    ($(
        $(#[doc = $comment:literal])*
        $(#[derive($($derived:ident),*)])?
        $(#[align($alignment:literal)])?
        $access:vis struct $name:ident {
            $(
                $(#[doc = $field_comment:literal])*
                $field_access:vis $field:ident: $kind:ty $(= $cuda:literal)?,
            )*
        }
    )*) => {
        $(
            $(#[doc = $comment])*
            #[derive(Debug, Clone, Copy, PartialEq $($(, $derived)*)?)]
            #[repr(C $(, align($alignment))?)]
            $access struct $name {
                $(
                    $(#[doc = $field_comment])*
                    $field_access $field: $kind,
                )*
            }

            const _: () = {
                assert!(size_of::<$name>() == 0 $(+ $crate::shared::bytes_of::<$kind>())*, "a structure has padding");
            };

            // SAFETY: every field can be copied as bytes, and there is no padding between them: both are checked.
            unsafe impl $crate::driver::DeviceCopy for $name {}

            impl $crate::shared::SharedType for $name {
                const NAME: &'static str = stringify!($name);
            }

            impl $crate::shared::SharedStructure for $name {
                fn source() -> String {
                    use $crate::shared::{Field, SharedType, source_of};
                    let fields = [$(Field {
                        comment: &[$($field_comment),*],
                        kind: [$($cuda,)? <$kind as SharedType>::NAME][0],
                        name: stringify!($field),
                        lengths: <$kind as SharedType>::lengths(),
                        bytes: size_of::<$kind>(),
                    }),*];
                    let alignment = [$(Some($alignment),)? None][0];
                    source_of(stringify!($name), &[$($comment),*], &fields, size_of::<$name>(), alignment)
                }
            }
        )*
    };
}

/// Declares bits of a word that host and kernels share: constants, and the enumeration of the same in CUDA.
macro_rules! shared_bits {
    ($(#[doc = $comment:literal])* $access:vis mod $module:ident = $name:ident {
        $($(#[doc = $bit_comment:literal])* $bit:ident = $value:literal,)*
    }) => {
        $(#[doc = $comment])*
        $access mod $module {
            $($(#[doc = $bit_comment])* pub const $bit: i32 = $value;)*

            /// Enumeration in CUDA.
            pub fn source() -> String {
                let mut text = String::new();
                $(text += concat!("//", $comment, "\n");)*
                text += concat!("enum ", stringify!($name), " {\n");
                $(
                    $(text += concat!("    //", $bit_comment, "\n");)*
                    text += concat!("    ", stringify!($bit), " = ", $value, ",\n");
                )*
                text + "};\n"
            }
        }
    };
}

pub(crate) use {shared_bits, shared_structure};

#[cfg(test)]
mod tests {
    use super::SharedStructure;

    shared_structure! {
        /// Atoms of a test.
        #[derive(Default)]
        struct TestAtoms {
            /// Number of atoms.
            n: i64,
            /// Positions before and after.
            x: [u64; 2] = "const double*",
            y: [[f32; 2]; 3],
        }
    }

    #[test]
    fn a_structure_is_the_same_in_cuda() {
        let source = "\
// Atoms of a test.
struct TestAtoms {
    // Number of atoms.
    i64 n;
    // Positions before and after.
    const double* x[2];
    float y[3][2];
};
static_assert(sizeof(TestAtoms) == 48 &&
    sizeof(TestAtoms::n) == 8 &&
    sizeof(TestAtoms::x) == 16 &&
    sizeof(TestAtoms::y) == 24, \"\");
";
        assert_eq!(TestAtoms::source(), source);
        assert_eq!(TestAtoms::default(), TestAtoms { n: 0, x: [0; 2], y: [[0.0; 2]; 3] });
    }
}

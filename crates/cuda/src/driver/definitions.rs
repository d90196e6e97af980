//! Definitions of kernels in a source.

/// Beginning of the definition of a kernel.
pub(super) const KERNEL: &str = "extern \"C\" __global__";

/// End of a definition that begins at the start of a line.
const END: &str = "\n}";

/// Copies of a source with one of its kernels each, and all that is no kernel. A source is left as it is where it has
/// none, or where one has no end.
pub(super) fn one_kernel_each(source: &str) -> Vec<String> {
    let Some((others, kernels)) = separate(source).filter(|(_, kernels)| !kernels.is_empty()) else {
        return vec![source.to_owned()];
    };
    let with = |k: usize| {
        let before = others[..=k].concat();
        [&before, kernels[k], &others[k + 1..].concat()].concat()
    };
    (0..kernels.len()).map(with).collect()
}

/// Text between kernels, before the first one and behind the last one too, and the kernels.
fn separate(mut source: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let (mut others, mut kernels) = (Vec::new(), Vec::new());
    while let Some(start) = source.find(KERNEL) {
        let end = start + source[start..].find(END)? + END.len();
        others.push(&source[..start]);
        kernels.push(&source[start..end]);
        source = &source[end..];
    }
    others.push(source);
    Some((others, kernels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_of_ours_has_a_copy() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
        for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            let source = std::fs::read_to_string(&file).unwrap();
            let kernels = source.matches(KERNEL).count();
            if kernels > 0 {
                let parts = one_kernel_each(&source);
                let alone = |part: &String| part.matches(KERNEL).count() == 1;
                assert!(parts.len() == kernels && parts.iter().all(alone), "{}", file.display());
            }
        }
    }

    #[test]
    fn each_kernel_is_alone_in_a_copy() {
        let kernel = |name: &str| format!("{KERNEL} void {name}() {{\n    if (1) {{\n    }}\n}}");
        let source = format!("int f();\n{}\n#if A\n{}\n#endif\nint g();\n", kernel("a"), kernel("b"));
        let parts = one_kernel_each(&source);
        assert_eq!(parts.len(), 2);
        assert_eq!(parts[0], format!("int f();\n{}\n#if A\n\n#endif\nint g();\n", kernel("a")));
        assert_eq!(parts[1], format!("int f();\n\n#if A\n{}\n#endif\nint g();\n", kernel("b")));
        for whole in ["int f();", &format!("{KERNEL} void a() {{ }}")] {
            assert_eq!(one_kernel_each(whole), [whole]);
        }
    }
}

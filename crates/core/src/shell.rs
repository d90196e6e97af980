//! Words of commands that messages propose.

use std::path::Path;

/// A path as one word of a command line: in single quotes where a shell would take it apart.
pub fn shell_word(path: impl AsRef<Path>) -> String {
    let word = path.as_ref().display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_together() {
        assert_eq!(shell_word("runs/a-1.toml"), "runs/a-1.toml");
        assert_eq!(shell_word("my run.toml"), "'my run.toml'");
        assert_eq!(shell_word("it's.toml"), r"'it'\''s.toml'");
        assert_eq!(shell_word("größe.toml"), "größe.toml");
    }
}

//! Terminal of a dashboard that is asked for its cursor once: a thread that reads keys would take later answers for keys,
//! and the run would wait for them.

use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

/// Terminal whose cursor is where it was last put. Its failures to show the cursor are none: it may have gone away.
pub struct KnownCursor<B> {
    terminal: B,
    /// `None` before the terminal was asked.
    cursor: Option<Position>,
}

impl<B: Backend> KnownCursor<B> {
    pub fn new(terminal: B) -> Self {
        KnownCursor { terminal, cursor: None }
    }

    /// Size in which there is room for a character.
    fn visible(size: Size) -> Size {
        Size { width: size.width.max(1), height: size.height.max(1) }
    }
}

impl<B: Backend> Backend for KnownCursor<B> {
    type Error = B::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> Result<(), B::Error> {
        self.terminal.draw(content)
    }

    fn append_lines(&mut self, lines: u16) -> Result<(), B::Error> {
        self.terminal.append_lines(lines)?;
        let last = self.size()?.height - 1;
        self.cursor = self.cursor.map(|at| Position { y: at.y.saturating_add(lines).min(last), ..at });
        Ok(())
    }

    fn hide_cursor(&mut self) -> Result<(), B::Error> {
        self.terminal.hide_cursor()
    }

    fn show_cursor(&mut self) -> Result<(), B::Error> {
        let _ = self.terminal.show_cursor();
        Ok(())
    }

    fn get_cursor_position(&mut self) -> Result<Position, B::Error> {
        let cursor = match self.cursor {
            Some(known) => known,
            None => match self.terminal.get_cursor_position() {
                Ok(there) => there,
                // A terminal that does not tell has what was written last at its end.
                Err(_) => Position { x: 0, y: self.size()?.height - 1 },
            },
        };
        Ok(*self.cursor.insert(cursor))
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), B::Error> {
        let position = position.into();
        self.cursor = Some(position);
        self.terminal.set_cursor_position(position)
    }

    fn clear(&mut self) -> Result<(), B::Error> {
        self.terminal.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> Result<(), B::Error> {
        self.terminal.clear_region(region)
    }

    fn size(&self) -> Result<Size, B::Error> {
        self.terminal.size().map(Self::visible)
    }

    fn window_size(&mut self) -> Result<WindowSize, B::Error> {
        let WindowSize { columns_rows, pixels } = self.terminal.window_size()?;
        Ok(WindowSize { columns_rows: Self::visible(columns_rows), pixels })
    }

    fn flush(&mut self) -> Result<(), B::Error> {
        self.terminal.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::backend::TestBackend;
    use std::convert::Infallible;

    /// Terminal that counts how often it is asked, and may have no room at all.
    struct Asked {
        inner: TestBackend,
        times: usize,
        size: Size,
    }

    impl Backend for Asked {
        type Error = Infallible;

        fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(
            &mut self,
            content: I,
        ) -> Result<(), Infallible> {
            self.inner.draw(content)
        }
        fn hide_cursor(&mut self) -> Result<(), Infallible> {
            self.inner.hide_cursor()
        }
        fn show_cursor(&mut self) -> Result<(), Infallible> {
            self.inner.show_cursor()
        }
        fn get_cursor_position(&mut self) -> Result<Position, Infallible> {
            self.times += 1;
            self.inner.get_cursor_position()
        }
        fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<(), Infallible> {
            self.inner.set_cursor_position(position)
        }
        fn clear(&mut self) -> Result<(), Infallible> {
            self.inner.clear()
        }
        fn clear_region(&mut self, region: ClearType) -> Result<(), Infallible> {
            self.inner.clear_region(region)
        }
        fn size(&self) -> Result<Size, Infallible> {
            Ok(self.size)
        }
        fn window_size(&mut self) -> Result<WindowSize, Infallible> {
            self.inner.window_size()
        }
        fn flush(&mut self) -> Result<(), Infallible> {
            self.inner.flush()
        }
    }

    #[test]
    fn a_terminal_is_asked_once() {
        let inner = TestBackend::new(20, 10);
        let mut terminal = KnownCursor::new(Asked { inner, times: 0, size: Size::new(20, 10) });
        terminal.get_cursor_position().unwrap();
        terminal.set_cursor_position((3, 4)).unwrap();
        assert_eq!(terminal.get_cursor_position().unwrap(), Position::new(3, 4));
        terminal.append_lines(9).unwrap();
        assert_eq!(terminal.get_cursor_position().unwrap(), Position::new(3, 9));
        assert_eq!(terminal.terminal.times, 1);
    }

    #[test]
    fn a_terminal_without_room_has_a_character() {
        let inner = TestBackend::new(20, 10);
        let terminal = KnownCursor::new(Asked { inner, times: 0, size: Size::new(0, 0) });
        assert_eq!(terminal.size().unwrap(), Size::new(1, 1));
    }
}

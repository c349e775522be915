//! Ratatui's way to the terminal: a frame is gathered whole, then written at once.
//!
//! So a panic in the middle of drawing leaves no half sequence on the terminal, and a frame
//! that is ready after the terminal was given back goes nowhere. The size is what we were
//! told; the terminal is never asked anything.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

use super::terminal;

/// The backend that draws on the real terminal.
#[derive(Debug)]
pub(super) struct Canvas {
    encoder: CrosstermBackend<Gathered>,
    gathered: Gathered,
    size: Size,
}

impl Canvas {
    /// A canvas of this size.
    pub(super) fn new(size: Size) -> Self {
        let gathered = Gathered::default();
        Self {
            encoder: CrosstermBackend::new(gathered.clone()),
            gathered,
            size,
        }
    }

    /// From the next frame on it has this size.
    pub(super) fn resize(&mut self, size: Size) {
        self.size = size;
    }
}

/// The bytes of the frame so far.
#[derive(Clone, Debug, Default)]
struct Gathered(Rc<RefCell<Vec<u8>>>);

impl Write for Gathered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    /// Ratatui flushes after each part of a frame; the whole is written by the canvas.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Backend for Canvas {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, cells: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.encoder.draw(cells)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.encoder.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.encoder.show_cursor()
    }

    /// Asking the terminal would wait for its answer: the corner is as good as any.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.encoder.set_cursor_position(position)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.encoder.clear()
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.encoder.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: self.size,
            pixels: Size::ZERO,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut gathered = self.gathered.0.borrow_mut();
        let written = terminal::write(&gathered);
        gathered.clear();
        written
    }
}

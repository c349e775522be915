//! A frame as an image: one SVG document that needs nothing else.
//!
//! Every word is put at its cell and told how long it is, so that the columns stand
//! whatever monospaced font the reader has. There is no script, no link and no font in it,
//! and text is escaped.

use std::fmt::Write as _;

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier, Style};

use super::{Glyph, rows};

const CELL_WIDTH: f64 = 8.4;
/// No higher than the letters of most fonts, so that lines drawn with characters join.
const CELL_HEIGHT: f64 = 16.0;
const FONT_SIZE: f64 = 14.0;
/// From the top of a cell to the line that letters stand on.
const BASELINE: f64 = 12.5;
/// Around the cells, and above them for the bar of the window.
const MARGIN: f64 = 14.0;
const BAR: f64 = 30.0;

const FOREGROUND: Rgb = Rgb(0xd3, 0xd7, 0xe0);
const BACKGROUND: Rgb = Rgb(0x1a, 0x1d, 0x24);
/// The sixteen colours of a terminal, calm ones.
const PALETTE: [Rgb; 16] = [
    Rgb(0x2b, 0x30, 0x3b),
    Rgb(0xe0, 0x6c, 0x75),
    Rgb(0x8f, 0xc0, 0x7a),
    Rgb(0xe2, 0xbf, 0x7a),
    Rgb(0x6c, 0xa8, 0xe8),
    Rgb(0xbd, 0x8c, 0xdc),
    Rgb(0x63, 0xb8, 0xc0),
    Rgb(0xb4, 0xba, 0xc6),
    Rgb(0x6a, 0x71, 0x80),
    Rgb(0xf0, 0x8d, 0x94),
    Rgb(0xad, 0xd6, 0x9b),
    Rgb(0xf0, 0xd4, 0x9e),
    Rgb(0x93, 0xc3, 0xf5),
    Rgb(0xd5, 0xae, 0xee),
    Rgb(0x8e, 0xd3, 0xd9),
    Rgb(0xf4, 0xf5, 0xf8),
];

/// The image of these cells on this ground.
pub(super) fn document(cells: &Buffer, ground: Style) -> String {
    let ground = Ground {
        foreground: Rgb::of(ground.fg.unwrap_or_default(), FOREGROUND),
        background: Rgb::of(ground.bg.unwrap_or_default(), BACKGROUND),
    };
    let Ground {
        foreground,
        background,
    } = ground;
    let width = f64::from(cells.area.width) * CELL_WIDTH + 2.0 * MARGIN;
    let height = f64::from(cells.area.height) * CELL_HEIGHT + BAR + MARGIN;
    let mut svg = Svg {
        text: String::new(),
        ground,
    };
    svg.put(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.1}" height="{height:.1}" viewBox="0 0 {width:.1} {height:.1}">
<style>text{{font:{FONT_SIZE}px ui-monospace,"SF Mono",Menlo,"DejaVu Sans Mono",Consolas,"Liberation Mono",monospace;fill:{foreground}}}.b{{font-weight:700}}.i{{font-style:italic}}.d{{opacity:.6}}</style>
<rect x=".5" y=".5" width="{:.1}" height="{:.1}" rx="9" fill="{background}" stroke="{}"/>
"#,
        width - 1.0,
        height - 1.0,
        PALETTE[0],
    ));
    for (number, color) in [PALETTE[1], PALETTE[3], PALETTE[2]].iter().enumerate() {
        let x = MARGIN + 6.0 + 18.0 * number as f64;
        svg.put(format_args!(
            "<circle cx=\"{x}\" cy=\"{}\" r=\"5\" fill=\"{color}\" opacity=\".75\"/>\n",
            BAR / 2.0
        ));
    }
    for (number, row) in rows(cells).enumerate() {
        let top = BAR + number as f64 * CELL_HEIGHT;
        for run in row.chunk_by(|one, next| ground.look(one) == ground.look(next)) {
            svg.put_run(run, top);
        }
    }
    svg.text.push_str("</svg>\n");
    svg.text
}

struct Svg {
    text: String,
    ground: Ground,
}

/// How it looks where nothing stands.
#[derive(Clone, Copy, Debug)]
struct Ground {
    foreground: Rgb,
    background: Rgb,
}

impl Svg {
    fn put(&mut self, words: std::fmt::Arguments<'_>) {
        // Writing to a string never fails.
        let _ok = self.text.write_fmt(words);
    }

    /// Glyphs in a row that look alike.
    fn put_run(&mut self, run: &[Glyph<'_>], top: f64) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            return;
        };
        let look = self.ground.look(first);
        let left = x(first.column);
        let length = f64::from(last.column + last.columns - first.column) * CELL_WIDTH;
        if look.background != self.ground.background {
            self.put(format_args!(
                "<path d=\"M{left:.1} {top}h{length:.1}v{CELL_HEIGHT}h-{length:.1}z\" fill=\"{}\" \
                 shape-rendering=\"crispEdges\"/>\n",
                look.background
            ));
        }
        let is_blank = |glyph: &Glyph<'_>| glyph.symbol.trim().is_empty();
        if !look.modifier.contains(Modifier::HIDDEN) {
            for word in run.split(is_blank) {
                for part in word.chunk_by(|one, next| keeps_step(one.symbol, next.symbol)) {
                    self.put_word(part, look, top);
                }
            }
        }
        for (line, at) in [
            (Modifier::UNDERLINED, BASELINE + 2.0),
            (Modifier::CROSSED_OUT, BASELINE - 4.0),
        ] {
            if look.modifier.contains(line) {
                self.put(format_args!(
                    "<path d=\"M{left:.1} {}h{length:.1}\" stroke=\"{}\"/>\n",
                    top + at,
                    look.foreground
                ));
            }
        }
    }

    fn put_word(&mut self, word: &[Glyph<'_>], look: Look, top: f64) {
        let (Some(first), Some(last)) = (word.first(), word.last()) else {
            return;
        };
        let length = f64::from(last.column + last.columns - first.column) * CELL_WIDTH;
        self.put(format_args!(
            "<text x=\"{:.1}\" y=\"{}\" textLength=\"{length:.1}\" \
             lengthAdjust=\"spacingAndGlyphs\"",
            x(first.column),
            top + BASELINE
        ));
        if look.foreground != self.ground.foreground {
            self.put(format_args!(" style=\"fill:{}\"", look.foreground));
        }
        let classes = [
            (Modifier::BOLD, "b"),
            (Modifier::ITALIC, "i"),
            (Modifier::DIM, "d"),
        ];
        let classes = classes
            .iter()
            .filter(|(one, _)| look.modifier.contains(*one));
        let classes: Vec<&str> = classes.map(|(_, class)| *class).collect();
        if !classes.is_empty() {
            self.put(format_args!(" class=\"{}\"", classes.join(" ")));
        }
        self.text.push('>');
        for char in word.iter().flat_map(|glyph| glyph.symbol.chars()) {
            match char {
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '&' => self.text.push_str("&amp;"),
                '"' => self.text.push_str("&quot;"),
                char => self.text.push(char),
            }
        }
        self.text.push_str("</text>\n");
    }
}

/// Whether a font that has the one has the other as well, and as wide. Signs of other
/// sorts may come from a stand-in font: each of them is put at its own cell.
fn keeps_step(one: &str, next: &str) -> bool {
    let draws_lines = |symbol: &str| symbol.chars().all(|char| matches!(char, '─'..='▟'));
    (one.is_ascii() && next.is_ascii()) || (draws_lines(one) && draws_lines(next))
}

fn x(column: u16) -> f64 {
    MARGIN + f64::from(column) * CELL_WIDTH
}

/// How a glyph looks, with the defaults of the ground filled in.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Look {
    foreground: Rgb,
    background: Rgb,
    modifier: Modifier,
}

impl Ground {
    fn look(self, glyph: &Glyph<'_>) -> Look {
        let cell = glyph.cell;
        let mut look = Look {
            foreground: Rgb::of(cell.fg, self.foreground),
            background: Rgb::of(cell.bg, self.background),
            modifier: cell.modifier,
        };
        if look.modifier.contains(Modifier::REVERSED) {
            std::mem::swap(&mut look.foreground, &mut look.background);
        }
        look
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rgb(u8, u8, u8);

impl Rgb {
    fn of(color: Color, default: Self) -> Self {
        let named = |index: usize| PALETTE.get(index).copied().unwrap_or(default);
        match color {
            Color::Reset => default,
            Color::Black => named(0),
            Color::Red => named(1),
            Color::Green => named(2),
            Color::Yellow => named(3),
            Color::Blue => named(4),
            Color::Magenta => named(5),
            Color::Cyan => named(6),
            Color::Gray => named(7),
            Color::DarkGray => named(8),
            Color::LightRed => named(9),
            Color::LightGreen => named(10),
            Color::LightYellow => named(11),
            Color::LightBlue => named(12),
            Color::LightMagenta => named(13),
            Color::LightCyan => named(14),
            Color::White => named(15),
            Color::Rgb(red, green, blue) => Self(red, green, blue),
            Color::Indexed(index @ 0..16) => named(usize::from(index)),
            Color::Indexed(index @ 16..232) => {
                let step = |of: u8| match (index - 16) / of % 6 {
                    0 => 0,
                    level => 55 + 40 * level,
                };
                Self(step(36), step(6), step(1))
            }
            Color::Indexed(index) => {
                let gray = 8 + 10 * (index - 232);
                Self(gray, gray, gray)
            }
        }
    }
}

impl std::fmt::Display for Rgb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

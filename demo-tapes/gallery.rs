//! Makes every view of the screen a picture: `cargo run --example gallery -- DIR`.
//!
//! Behind the directory may stand themes, sizes and names of views, to make fewer or others:
//! `… -- DIR light 100x30 help`. Each picture is a drawing and a text beside it; `index.html`
//! shows them all. Nothing is written outside the directory.

#[path = "gallery/views.rs"]
mod views;

use std::error::Error;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use jukebox::tui::frame::{FrameSize, Picture};
use jukebox::tui::theme::{ColorChoice, Palette};
use views::{Stages, VIEWS, View};

/// What is drawn without other wishes.
const SIZES: [&str; 3] = ["160x45", "100x30", "60x20"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory: PathBuf = arguments.next().ok_or("a directory to write to")?.into();
    let mut themes = Vec::new();
    let mut sizes = Vec::new();
    let mut views: Vec<&View> = Vec::new();
    for wish in arguments {
        if wish.parse::<FrameSize>().is_ok() {
            sizes.push(wish);
        } else if let Some(view) = VIEWS.iter().find(|view| view.name == wish) {
            views.push(view);
        } else {
            themes.push(wish);
        }
    }
    if themes.is_empty() {
        themes.push("terminal".to_owned());
    }
    if sizes.is_empty() {
        sizes.extend(SIZES.map(str::to_owned));
    }
    if views.is_empty() {
        views.extend(VIEWS);
    }

    fs::create_dir_all(&directory)?;
    let stages = Stages::build()?;
    let mut page =
        String::from("<!doctype html>\n<meta charset=\"utf-8\">\n<title>Jukebox</title>\n");
    for view in views {
        writeln!(page, "<h2>{}</h2>", view.name)?;
        for size in &sizes {
            let mut app = stages.app(view, size.parse()?, ColorChoice::default())?;
            for theme in &themes {
                app.set_colors(colors(theme)?);
                let picture = Picture::of(&app, size.parse()?);
                let name = format!("{}.{size}.{theme}", view.name);
                fs::write(directory.join(format!("{name}.svg")), picture.to_svg())?;
                fs::write(directory.join(format!("{name}.txt")), picture.to_string())?;
                writeln!(page, "<img src=\"{name}.svg\" alt=\"{name}\">")?;
            }
        }
    }
    fs::write(directory.join("index.html"), page)?;
    Ok(())
}

/// The colours of a theme; `terminal` are the terminal's own, `none` is without.
fn colors(theme: &str) -> Result<ColorChoice, Box<dyn Error>> {
    Ok(match theme {
        "terminal" => ColorChoice::default(),
        "none" => ColorChoice::Never,
        name => ColorChoice::Palette(Palette::open(OsStr::new(name))?),
    })
}

//! What the mouse did.
//!
//! The place is where the terminal says it is: it may lie outside the screen.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::Fields;

/// A mouse report as digits: button, column and row from 1; `m` ends it on release.
pub(super) fn mouse(fields: &Fields<'_>, last: u8) -> Option<MouseEvent> {
    let code = fields.number(0, 0)?;
    let place = |field| u16::try_from(fields.number(field, 0)?.checked_sub(1)?).ok();
    let (column, row) = (place(1)?, place(2)?);
    match last {
        b'M' => mouse_event(code, column, row),
        // Of a release the button is known.
        b'm' => {
            let event = mouse_event(code, column, row)?;
            let MouseEventKind::Down(button) = event.kind else {
                return None;
            };
            Some(MouseEvent {
                kind: MouseEventKind::Up(button),
                ..event
            })
        }
        _ => None,
    }
}

/// A mouse report as three bytes, from terminals that know no other.
pub(super) fn old_mouse(button: u8, x: u8, y: u8) -> Option<MouseEvent> {
    let place = |byte: u8| byte.checked_sub(33).map(u16::from);
    let code = u32::from(button.checked_sub(32)?);
    mouse_event(code, place(x)?, place(y)?)
}

fn mouse_event(code: u32, column: u16, row: u16) -> Option<MouseEvent> {
    let is_moving = code & 32 != 0;
    let kind = match (code & 0b1100_0011, is_moving) {
        (0..=2, false) => MouseEventKind::Down(button(code)),
        (0..=2, true) => MouseEventKind::Drag(button(code)),
        (3, false) => MouseEventKind::Up(MouseButton::Left),
        (3, true) => MouseEventKind::Moved,
        (64, _) => MouseEventKind::ScrollUp,
        (65, _) => MouseEventKind::ScrollDown,
        (66, _) => MouseEventKind::ScrollLeft,
        (67, _) => MouseEventKind::ScrollRight,
        _ => return None,
    };
    let held = |bit, modifier| {
        if code & bit == 0 {
            KeyModifiers::NONE
        } else {
            modifier
        }
    };
    Some(MouseEvent {
        kind,
        column,
        row,
        modifiers: held(4, KeyModifiers::SHIFT)
            | held(8, KeyModifiers::ALT)
            | held(16, KeyModifiers::CONTROL),
    })
}

fn button(code: u32) -> MouseButton {
    match code & 3 {
        0 => MouseButton::Left,
        1 => MouseButton::Middle,
        _ => MouseButton::Right,
    }
}

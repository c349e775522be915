//! The calls of a run behind a fork that did something outside the files.

use std::collections::BTreeSet;
use std::io;

use super::super::{Debugger, Spot};
use crate::model::{Body, Kind};
use crate::replay::fork::OutwardCall;
use crate::tape::is_of_stream;

/// Frames of a call that are looked at: what a command wrote may be much.
pub(in crate::debugger) const FIRST_FRAMES: usize = 16;

impl Debugger {
    /// The calls from a position on that a tape tells an effect or a frame of, in order. Costs a
    /// look at the kinds of the events, and the reading of those calls.
    pub(super) fn outward_calls(&self, at: Spot, first: u32) -> io::Result<Vec<OutwardCall>> {
        let index = &self.tape.index;
        let line = self.line_of(at);
        let steps: BTreeSet<u32> = (first..index.events.len())
            .filter(|position| {
                let kind = index.events.kind(*position);
                let is_outward = matches!(
                    kind,
                    Some(Kind::EffectIntent | Kind::EffectResult | Kind::StreamFrame)
                );
                is_outward && self.is_on(line, *position)
            })
            .filter_map(|position| index.events.get(position)?.step)
            .collect();
        let mut calls = Vec::new();
        for step in steps {
            calls.extend(self.outward_call(step)?);
        }
        Ok(calls)
    }

    /// The call of a step, if it is one of a tool and did something outside the files.
    fn outward_call(&self, step: u32) -> io::Result<Option<OutwardCall>> {
        let index = &self.tape.index;
        let Some(entry) = index.steps.get(step) else {
            return Ok(None);
        };
        let opened = entry.opened;
        if index.events.kind(opened) != Some(Kind::ToolCall) || !self.is_outward(step)? {
            return Ok(None);
        }
        let call = self.tape.event(opened)?;
        let mut events = Vec::new();
        for (position, _) in self.events_of(step) {
            let event = self.tape.event(position)?;
            let is_its = event.head.call.is_some() && event.head.call == call.head.call;
            if is_its && !matches!(event.body, Body::ToolCall { .. }) {
                events.push(event);
            }
        }
        Ok(Some(OutwardCall { call, events }))
    }

    /// Whether a step has effects, or frames of a connection among its first ones.
    fn is_outward(&self, step: u32) -> io::Result<bool> {
        let is_effect = |kind: Kind| matches!(kind, Kind::EffectIntent | Kind::EffectResult);
        if self.events_of(step).any(|(_, kind)| is_effect(kind)) {
            return Ok(true);
        }
        let frames = self
            .events_of(step)
            .filter(|(_, kind)| *kind == Kind::StreamFrame);
        for (position, _) in frames.take(FIRST_FRAMES) {
            if is_of_stream(&self.tape.event(position)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

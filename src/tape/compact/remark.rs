//! What a header says of earlier compacting, for those who read such a tape.

use serde_json::{Map, Value};

use crate::model::{Event, LineHash, Seq};
use crate::tape::stitched::Dropped;

/// The field `compacted` of a header.
#[derive(Clone, Debug, Default)]
pub(in crate::tape) struct CompactRemark {
    /// The history that the tape has no more.
    pub(in crate::tape) dropped: Dropped,
    lines: Map<String, Value>,
}

/// Steps that a header may say were dropped: who goes through all numbers must come to an end.
const MAX_STEPS: u64 = 1 << 24;

impl CompactRemark {
    /// The remark in a header; an empty one where there is none.
    pub(in crate::tape) fn of(header: &Event) -> Self {
        header
            .extra
            .get("compacted")
            .map(Self::of_value)
            .unwrap_or_default()
    }

    /// The remark that the field's value is.
    pub(in crate::tape) fn of_value(value: &Value) -> Self {
        let number = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or_default();
        let lines = value.get("lines").and_then(Value::as_object);
        Self {
            dropped: Dropped {
                kept_from: number("kept_from"),
                steps: number("steps").min(MAX_STEPS) as u32,
            },
            lines: lines.cloned().unwrap_or_default(),
        }
    }

    /// The hash that the line of this event had before.
    pub(in crate::tape) fn line(&self, seq: Seq) -> Option<LineHash> {
        self.lines.get(&seq.to_string())?.as_str()?.parse().ok()
    }
}

//! The index as columns of the index cache. What each table's columns are stands with the
//! table; how an index is built is not known here.

use std::collections::HashMap;

use super::events::Events;
use super::grouper::Grouper;
use super::{BlobTable, Index, Steps, TransactionEntry, TransactionState};
use crate::model::{Problem, ProblemKind};
use crate::tape::cache::{Keep, Reader, Writer};

impl Keep for Index {
    fn write(&self, out: &mut Writer<'_>) {
        self.events.write(out);
        self.steps.write(out);
        self.branches.write(out);
        self.agents.write(out);
        let transactions = self.transactions.iter().map(columns_of);
        out.column(&transactions.collect::<Vec<_>>());
        out.column(&self.snapshots);
        self.blobs.write(out);
        write_problems(&self.problems, out);
        self.grouper.write(out);
        for numbers in [&self.branch_numbers, &self.agent_numbers] {
            out.lists(numbers.keys().map(|name| &**name));
            out.column(&numbers.values().copied().collect::<Vec<u16>>());
        }
        out.column(&[
            u64::from(self.current_line),
            self.last_t,
            self.kept_from,
            u64::from(self.last_was_orphan),
            u64::from(self.is_crowded),
            u64::from(self.has_ended_twice),
        ]);
    }

    fn read(from: &mut Reader) -> Self {
        let events = Events::read(from);
        let steps = Steps::read(from);
        let branches = Vec::read(from);
        let agents = Vec::read(from);
        let transactions = from.column::<[u32; 5]>();
        let snapshots = from.column().to_vec();
        let blobs = BlobTable::read(from);
        let problems = read_problems(from);
        let grouper = Grouper::read(from);
        let [branch_numbers, agent_numbers] = [(); 2].map(|()| read_numbers(from));
        let [
            line,
            last_t,
            kept_from,
            was_orphan,
            is_crowded,
            has_ended_twice,
        ] = from.numbers::<u64, 6>();
        Self {
            events,
            steps,
            branches,
            agents,
            transactions: transactions.iter().map(transaction_of).collect(),
            snapshots,
            blobs,
            problems,
            current_line: line as u16,
            grouper,
            branch_numbers,
            agent_numbers,
            last_t,
            kept_from,
            last_was_orphan: was_orphan == 1,
            is_crowded: is_crowded == 1,
            has_ended_twice: has_ended_twice == 1,
        }
    }
}

fn read_numbers(from: &mut Reader) -> HashMap<Box<[u8]>, u16> {
    let names: Vec<Box<[u8]>> = from.lists().collect();
    let numbers = from.column::<u16>();
    from.require(names.len() == numbers.len());
    names.into_iter().zip(numbers.iter().copied()).collect()
}

fn columns_of(transaction: &TransactionEntry) -> [u32; 5] {
    let state = match transaction.state {
        TransactionState::Open => 0,
        TransactionState::Committed => 1,
        TransactionState::RolledBack => 2,
    };
    let end = transaction.end.map_or([0; 2], |end| [1, end]);
    [
        u32::from(transaction.branch),
        transaction.begin,
        end[0],
        end[1],
        state,
    ]
}

fn transaction_of(columns: &[u32; 5]) -> TransactionEntry {
    let [branch, begin, has_end, end, state] = *columns;
    TransactionEntry {
        branch: branch as u16,
        begin,
        end: (has_end == 1).then_some(end),
        state: match state {
            0 => TransactionState::Open,
            1 => TransactionState::Committed,
            _ => TransactionState::RolledBack,
        },
    }
}

fn write_problems(problems: &[Problem], out: &mut Writer<'_>) {
    let kind = |of: &Problem| ProblemKind::ALL.iter().position(|kind| *kind == of.kind);
    let row = |problem: &Problem| {
        let kind = kind(problem).unwrap_or_default() as u64;
        [problem.line, problem.offset, kind]
    };
    out.column(&problems.iter().map(row).collect::<Vec<_>>());
    out.lists(problems.iter().map(|problem| problem.message.as_bytes()));
}

fn read_problems(from: &mut Reader) -> Vec<Problem> {
    let rows = from.column::<[u64; 3]>();
    let messages: Vec<Box<[u8]>> = from.lists().collect();
    from.require(rows.len() == messages.len());
    let problem = |([line, offset, kind], message): (&[u64; 3], Box<[u8]>)| {
        let kind = *ProblemKind::ALL.get(*kind as usize)?;
        let message = String::from_utf8_lossy(&message);
        Some(Problem::new(*line, *offset, kind, message))
    };
    let problems: Vec<Problem> = rows.iter().zip(messages).filter_map(problem).collect();
    from.require(problems.len() == rows.len());
    problems
}

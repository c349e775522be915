//! Queries of every sort about the demo of a bug hunt, with the steps in which they hit: on the
//! screen and on the command line they are the same.

/// A query, and the steps with a hit.
pub(crate) const QUERIES: [(&str, &[u32]); 12] = [
    ("re:^that\\s+lost.*paren", &[19]),
    ("re:(?-i)^The.old", &[]),
    ("\"three old cases\"", &[16]),
    ("\"old three\"", &[]),
    ("tool:edit", &[7, 12, 14, 20, 27]),
    ("status:failed", &[3, 15, 18, 20, 24]),
    ("tool:bash status:failed step:16..", &[18, 24]),
    ("path:src/**", &[5, 7, 12, 17, 22]),
    ("path:*.csv", &[13, 23]),
    ("path:src/** shipping", &[17, 22]),
    ("file:re:^lamp", &[13, 23]),
    ("step:10..14", &[10, 11, 12, 13, 14]),
];

/// What is no query, and what is said of it.
pub(crate) const MISTAKES: [(&str, &str); 6] = [
    ("re:(", "`(` is no pattern: unclosed group"),
    ("file:re:[", "`[` is no pattern: unclosed character class"),
    ("\"open", "the query has an open quote"),
    ("status:odd", "a status is one of none, ok, failed"),
    ("step:x", "steps are 12, 10..40, 10.. or ..40"),
    ("too:bash", "there is no field `too:`"),
];

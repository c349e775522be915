//! Operations on files, drawn from a seed: the same seed gives the same.

/// Numbers that look random and are the same each time.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    fn path(&mut self) -> String {
        let names = ["a", "b", "c", "d", "a-b", "e.f"];
        let depth = 1 + self.below(3);
        let parts: Vec<&str> = (0..depth).map(|_| self.of(&names)).collect();
        parts.join("/")
    }

    /// A line of shell that does something to some path; it may fail.
    pub(crate) fn operation(&mut self) -> String {
        let (path, other) = (self.path(), self.path());
        let text = self.below(1000);
        match self.below(12) {
            0 | 1 => format!("echo {text} > {path}"),
            2 => format!("echo {text} >> {path}"),
            3 => format!("rm -rf {path}"),
            4 => format!("mkdir -p {path}"),
            5 => format!("rm -rf {path}; mkdir -p {path}"),
            6 => format!("mv -T {path} {other}"),
            7 => format!("ln -sfn {other} {path}"),
            8 => format!("chmod {} {path}", self.of(&["700", "711", "750", "775"])),
            9 => format!("ln -f {path} {other}"),
            10 => format!("cp -a {path} {other}"),
            _ => format!("rm -rf {path}; echo {text} > {path}"),
        }
    }
}

//! `jukebox stream`: a service that speaks over its standard input and output, such as an MCP
//! server: run and recorded with what is said to it, or answered by a tape in its place.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus};

use super::environment::Environment;
use super::failure::{Answer, Failure};
use super::output::warn;
use crate::debugger::{LinkMode, STREAMS, StreamLink, StreamLinkError};
use crate::text::SafeText;

/// Run a service that speaks line by line, such as an MCP server, and record what is said
#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(super) struct Args {
    /// By which name the run knows the service
    address: String,
    /// The service and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

const HELP: &str = "\
It stands in the place of the service in an agent's configuration:

  \"files\": {\"command\": \"jukebox\", \"args\": [\"stream\", \"files\", \"--\", \"mcp-files\", \".\"]}

Under `jukebox record --model`, CMD runs, and each line that the agent and CMD say to each other is
on the tape before the other one hears it. With --from TAPE, and in `jukebox fork --then agent`,
CMD is not run: the tape answers, frame by frame, with the ids that the agent makes up for its
requests. The first line that is not the recorded one gets an error, and the stream ends; the
recorder says where it differs. Anywhere else, CMD runs as if nothing stood before it.

CMD runs where the agent runs: in the sandbox, without a network. Ends with CMD's own code; with 1
where the tape answers no further, and with 125 to 127 where CMD could not be run or recorded.";

/// Jukebox failed, and not the service.
const OURS: u8 = 125;

impl Args {
    pub(super) fn run(&self, around: &Environment) -> Result<Answer, Failure> {
        let mut variables = around.variables.iter();
        let streams = variables.find(|(name, value)| name == STREAMS && !value.is_empty());
        let Some((_, streams)) = streams else {
            // It only comes back if it could not be run.
            return Ok(not_run(&self.service().exec()));
        };
        match self.link(&streams.to_string_lossy()) {
            Ok(answer) => Ok(answer),
            Err(StreamLinkError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Err(Failure::stopped())
            }
            Err(error @ StreamLinkError::Cut) => Err(Failure::no(error.to_string())),
            Err(StreamLinkError::Service(error)) => Ok(not_run(&error)),
            Err(error) => {
                let line = format!("{}: {error}; nothing was run", self.address);
                warn(SafeText::line(&line).as_str());
                Ok(Answer::Ended(OURS))
            }
        }
    }

    fn link(&self, streams: &str) -> Result<Answer, StreamLinkError> {
        let link = StreamLink::open(streams, &self.address)?;
        let (client, hears) = (io::stdin(), io::stdout().lock());
        match link.mode() {
            LinkMode::Tape => link.speak(client, hears).map(|()| Answer::Yes),
            LinkMode::Record => {
                let ended = link.record(self.service(), client, hears)?;
                Ok(answer_of(ended))
            }
        }
    }

    fn service(&self) -> Command {
        let mut words = self.command.iter();
        let mut service = Command::new(words.next().cloned().unwrap_or_default());
        service.args(words);
        service
    }
}

fn answer_of(ended: ExitStatus) -> Answer {
    match (ended.code(), ended.signal()) {
        (Some(code), _) => Answer::Ended(u8::try_from(code).unwrap_or(u8::MAX)),
        (None, Some(signal)) => Answer::signal(signal),
        (None, None) => Answer::Ended(OURS),
    }
}

fn not_run(error: &io::Error) -> Answer {
    warn(SafeText::line(&format!("the service cannot be run: {error}")).as_str());
    Answer::Ended(match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    })
}

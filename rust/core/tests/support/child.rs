//! Processes that tests start and kill: the same test binary, running the test `child`.
//!
//! A child reports in lines that begin with `@`, because the test runner writes to the same pipe. It reads lines from
//! its standard input. A line is flushed before the next step begins, so a reported step is done.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

const SIGKILL: i32 = 9;
const TASK: &str = "OPENCODE_MEMORY_TEST_TASK";

/// A started process; it is killed when it is dropped.
pub struct Child {
    process: std::process::Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

/// Start this binary's test `child` with a task: words separated by newlines, the first of them a folder.
pub fn start(dir: &Path, task: &[&str]) -> Child {
    let task =
        std::iter::once(dir.to_str().expect("a UTF-8 path")).chain(task.iter().copied()).collect::<Vec<_>>().join("\n");
    let mut process = Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1", "--quiet"])
        .env(TASK, task)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let input = process.stdin.take().expect("its input");
    let output = BufReader::new(process.stdout.take().expect("its output")).lines();
    Child { process, input, output }
}

impl Child {
    /// The next line of the child; `None` if it has ended.
    pub fn hear(&mut self) -> Option<String> {
        // A killed process may leave an incomplete line, so only lines that end with a newline count.
        self.output
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix('@')?.strip_suffix('.')?.to_owned()))
    }

    /// Wait for the next line and compare it.
    #[track_caller]
    pub fn expect(&mut self, line: &str) {
        assert_eq!(self.hear().as_deref(), Some(line));
    }

    /// All lines until the child ends.
    pub fn hear_all(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.hear()).collect()
    }

    /// Send a line to the child, which may have ended.
    pub fn tell(&mut self, line: &str) {
        let _ = writeln!(self.input, "{line}");
    }

    /// Kill the child with `SIGKILL`.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
    }

    /// Wait for the end of the child.
    pub fn wait(&mut self) -> ExitStatus {
        self.process.wait().expect("its end")
    }

    /// Assert that the child ended with success.
    #[track_caller]
    pub fn assert_done(&mut self) {
        let status = self.wait();
        assert!(status.success(), "{status}");
    }

    /// Assert that the child was killed.
    #[track_caller]
    pub fn assert_killed(&mut self) {
        assert_eq!(self.wait().signal(), Some(SIGKILL));
    }

    /// Assert that the child was killed or ended, and that no assertion in it failed.
    #[track_caller]
    pub fn assert_nothing_failed(&mut self) {
        let status = self.wait();
        assert!(status.success() || status.signal() == Some(SIGKILL), "{status}");
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        let _ = self.process.wait();
    }
}

/// In the test `child`: the folder and the words of the task; `None` if the test was not started by a parent.
pub fn task() -> Option<(PathBuf, Vec<String>)> {
    let task = std::env::var(TASK).ok()?;
    let mut words = task.split('\n').map(str::to_owned);
    Some((PathBuf::from(words.next()?), words.collect()))
}

/// In a child: send a line to the parent.
pub fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    // One write, so that a kill cannot cut the line. The first newline ends the output of the test runner.
    output.write_all(format!("\n@{line}.\n").as_bytes()).and_then(|()| output.flush()).expect("a reader");
}

/// In a child: the next line from the parent; `None` if the parent has ended.
pub fn listen() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim_end().to_owned())
}

/// Lines of several children, until all have ended.
pub fn hear_everybody(children: &mut [Child]) -> Vec<Vec<String>> {
    let mut heard: HashMap<usize, Vec<String>> = HashMap::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = children.iter_mut().map(|child| scope.spawn(|| child.hear_all())).collect();
        for (place, thread) in threads.into_iter().enumerate() {
            heard.insert(place, thread.join().expect("a reader"));
        }
    });
    (0..children.len()).map(|place| heard.remove(&place).unwrap_or_default()).collect()
}

//! Running other programs: with their output shown, kept, or both; and the progress lines of long steps.

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// The Cargo that runs us, so that one toolchain does everything.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// npm, which is a batch file on Windows.
pub(crate) fn npm(folder: &Path) -> Command {
    let mut command = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    command.current_dir(folder);
    command
}

/// The command as one would type it, for messages.
fn text(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program()).to_string_lossy();
    let mut line = program.into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

/// Runs with all output shown.
///
/// # Errors
/// The program cannot be started, or ends with a failure.
pub(crate) fn show(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", text(command));
    let status = command.status().with_context(|| format!("cannot start `{}`", text(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", text(command));
    }
    Ok(())
}

/// Runs with all output held back, and shown only when it fails. Returns what came on standard output.
///
/// # Errors
/// The program cannot be started, or ends with a failure; the error carries the end of its output.
pub(crate) fn quiet(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{}`", text(command)))?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        bail!("`{}` failed ({})\n{}", text(command), output.status, last_lines(said.join("\n").trim(), 60));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Works on each item, on as many at a time as there are processors.
///
/// # Errors
/// One of those that the work gives. What had begun by then is done, the rest is not.
pub(crate) fn side_by_side<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let worker = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed))
            && !failed.load(Ordering::Relaxed)
        {
            work(item).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..processors).map(|_| scope.spawn(worker)).collect();
        let join =
            |worker: thread::ScopedJoinHandle<'_, _>| worker.join().unwrap_or_else(|_| bail!("a thread panicked"));
        // All are waited for, whatever the first says.
        let results: Vec<Result<()>> = workers.into_iter().map(join).collect();
        results.into_iter().collect()
    })
}

/// Works on two things at the same time.
///
/// # Errors
/// That of one of them; the other is waited for.
pub(crate) fn both<A: Send, B>(
    one: impl FnOnce() -> Result<A> + Send,
    other: impl FnOnce() -> Result<B>,
) -> Result<(A, B)> {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        Ok((one.join().unwrap_or_else(|_| bail!("a thread panicked"))?, other?))
    })
}

/// What a program that ran to its end said, and whether it was content.
pub(crate) struct Said {
    pub(crate) command: String,
    pub(crate) success: bool,
    pub(crate) output: String,
}

/// Runs with output shown as it comes, and keeps standard output too. A failure of the program is no error here.
///
/// # Errors
/// The program cannot be started, or its output cannot be read.
pub(crate) fn listen(command: &mut Command) -> Result<Said> {
    let line = text(command);
    eprintln!("$ {line}");
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start `{line}`"))?;
    let mut reader = BufReader::new(child.stdout.take().context("no pipe to the program")?);
    let mut output = String::new();
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        let mut screen = std::io::stdout().lock();
        screen.write_all(&bytes)?;
        screen.flush()?;
        output.push_str(&String::from_utf8_lossy(&bytes));
        bytes.clear();
    }
    let status = child.wait()?;
    Ok(Said { command: line, success: status.success(), output })
}

/// Announces a long step, does it, and says how long it took.
///
/// # Errors
/// Those of `work`.
pub(crate) fn step<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("{what} …");
    let start = Instant::now();
    let result = work().with_context(|| format!("{what}: failed"))?;
    eprintln!("{what}: done in {}", human(start.elapsed()));
    Ok(result)
}

/// A duration as a person says it: `0.4 s`, `12 s`, `2 min 10 s`.
pub(crate) fn human(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// The program `name` on PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).find_map(|folder| program_in(&folder, name))
}

/// The program `name` in `folder`, with the platform's ending.
pub(crate) fn program_in(folder: &Path, name: &str) -> Option<PathBuf> {
    let path = folder.join(format!("{name}{}", env::consts::EXE_SUFFIX));
    path.is_file().then_some(path)
}

fn last_lines(text: &str, count: usize) -> &str {
    let start = text.rmatch_indices('\n').nth(count.saturating_sub(1)).map_or(0, |(at, _)| at + 1);
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_readable() {
        assert_eq!(human(Duration::from_millis(420)), "0.4 s");
        assert_eq!(human(Duration::from_secs(12)), "12 s");
        assert_eq!(human(Duration::from_secs(130)), "2 min 10 s");
    }

    #[test]
    fn the_end_of_a_text() {
        assert_eq!(last_lines("a\nb\nc", 2), "b\nc");
        assert_eq!(last_lines("a\nb\nc", 9), "a\nb\nc");
        assert_eq!(last_lines("", 3), "");
    }

    #[test]
    fn both_are_done_and_a_failure_of_either_is_told() {
        assert_eq!(both(|| Ok(1), || Ok("two")).unwrap(), (1, "two"));
        assert_eq!(both(|| -> Result<()> { bail!("one") }, || Ok(())).unwrap_err().to_string(), "one");
        assert_eq!(both(|| Ok(()), || -> Result<()> { bail!("other") }).unwrap_err().to_string(), "other");
    }

    #[test]
    fn each_item_is_worked_on_once_and_a_failure_is_told() {
        let items: Vec<usize> = (0..100).collect();
        let sum = AtomicUsize::new(0);
        let add = |item: &usize| {
            sum.fetch_add(*item, Ordering::Relaxed);
            Ok(())
        };
        side_by_side(&items, add).unwrap();
        assert_eq!(sum.into_inner(), 4950);
        let fails = |item: &usize| if *item == 7 { bail!("seven") } else { Ok(()) };
        assert_eq!(side_by_side(&items, fails).unwrap_err().to_string(), "seven");
    }

    #[test]
    fn a_failing_program_is_an_error_with_its_words() {
        let error = quiet(cargo().args(["no-such-command-of-cargo"])).unwrap_err().to_string();
        assert!(error.contains("no-such-command-of-cargo"), "{error}");
    }
}

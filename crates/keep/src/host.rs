//! What the engine needs from the place where it runs, since the core has neither clock nor randomness nor files.

use std::pin::Pin;

/// A clock, a source of randomness, and timers.
pub trait Host {
    /// Milliseconds since 1970 (UTC).
    fn now(&self) -> i64;

    /// 32 bytes from the platform's cryptographically secure generator.
    fn random(&self) -> [u8; 32];

    /// Is over after so many milliseconds. Where there are no timers it is never over: then what waits for a time goes on with the next
    /// thing that happens after it.
    fn sleep(&self, _millis: u32) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(std::future::pending())
    }
}

/// A file to import: a name, a length, and ranges that can be read.
#[allow(async_fn_in_trait)] // the browser's futures are not Send
pub trait Source {
    /// The name or path, for the format's benefit and for the report.
    fn name(&self) -> &str;

    /// The length in bytes.
    fn size(&self) -> u64;

    /// The bytes from `offset` on, `len` of them or fewer where the file ends.
    ///
    /// # Errors
    /// Why the file cannot be read, in words; the import reports it and goes on with the next file.
    async fn read(&mut self, offset: u64, len: usize) -> Result<Vec<u8>, String>;
}

/// A file in memory: its name and its bytes.
impl<B: AsRef<[u8]>> Source for (String, B) {
    fn name(&self) -> &str {
        &self.0
    }

    fn size(&self) -> u64 {
        self.1.as_ref().len() as u64
    }

    async fn read(&mut self, offset: u64, len: usize) -> Result<Vec<u8>, String> {
        let bytes = self.1.as_ref();
        let start = bytes.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
        Ok(bytes[start..bytes.len().min(start.saturating_add(len))].to_vec())
    }
}

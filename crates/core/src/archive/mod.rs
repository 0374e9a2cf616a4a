//! Archive formats: bytes in, conversations and a report out.

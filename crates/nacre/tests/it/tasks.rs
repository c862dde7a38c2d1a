//! Tasks (SPEC K2).

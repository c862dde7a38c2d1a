//! The binary `nacre`. Everything is in `nacre-app`: with link-time optimisation, the level of the last crate decides how all
//! code is inlined, so this crate is built for speed and the one below it for size (docs/decisions/0036).

use std::process::ExitCode;

fn main() -> ExitCode {
    nacre_app::main()
}

# What CI runs.
check:
    scripts/check

# The inner loop: format, lints and unit tests.
quick:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --quiet -- --deny warnings
    cargo test --workspace --lib --bins --quiet

# Eight processes, 500 writes each, 20 rounds of kills.
stress:
    NACRE_STRESS=full cargo test --release -p nacre-cli --test it nothing_lost -- --nocapture

# A team's server: 8 writers with 500 writes each over two servers, kills, and 1,000 generated calls of each role.
team:
    scripts/postgres
    NACRE_STRESS=full NACRE_REQUIRE_POSTGRES=1 cargo test --release -p nacre-cli --test it team -- --nocapture --test-threads 1
    NACRE_STRESS=full NACRE_REQUIRE_POSTGRES=1 cargo test --release -p nacre --test it members:: -- --nocapture

# A team's database fails over while clients write.
failover:
    cargo build && scripts/failover

# The same hits on SQLite and PostgreSQL, question by question: just engines /path/to/sets postgres://OWNER@HOST/DATABASE
engines data url:
    cargo run --release -p nacre-bench -- engines locomo {{data}} --server {{url}}
    cargo run --release -p nacre-bench -- engines conflict {{data}} --server {{url}}

# MiniLM with its real weights, which are fetched once.
model:
    scripts/model

# A benchmark, such as `just bench speed`; by default cold starts beside the sqlite3 program.
bench *args="cold":
    cargo build --release
    cargo run --release -p nacre-bench -- {{args}}

# REST by its document, ten minutes long.
schemathesis:
    cargo build && scripts/schemathesis target/debug/nacre 600

# Ten minutes of many clients at once: does memory grow?
soak:
    cargo build --release
    cargo run --release -p nacre-bench -- serve --seconds 600

# One target for a minute: path, query, redact or request. Needs cargo-fuzz.
fuzz target="query":
    cd crates/nacre && cargo fuzz run -s none {{target}} -- -max_total_time=60

# Licences, sources and banned crates. Needs cargo-deny.
deny:
    cargo deny check bans licenses sources

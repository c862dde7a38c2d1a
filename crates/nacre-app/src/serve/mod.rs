//! `nacre serve`: one process for every client on this machine. The table of tools over HTTP, MCP over streamable HTTP, events, and
//! the dashboard.
//!
//! A request passes the limits of the connection (here), then access control (`door.rs`: host, origin, token), then its handler.
//! Without a token only the dashboard's files, its sign-in and the liveness check can be reached.

pub mod compat;
mod door;
mod events;
mod hosts;
mod login;
mod metrics;
mod oidc;
mod openapi;
mod overview;
mod page;
mod quota;
mod reply;
mod rest;
mod sharing;
mod state;
mod sync;
mod telemetry;
pub mod token;

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Extension, Request, State as Extract};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get, post};
use futures_util::StreamExt as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use nacre::Home;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_util::sync::CancellationToken;

use crate::args::Serve;
use crate::context::{self, Context};
use crate::groups::pool::Pool;
use crate::groups::who::Principal;
#[cfg(debug_assertions)]
use crate::mcp::fixtures::WithFixtures;
use crate::mcp::{Seat, Server};
use crate::render::{self, Failure};

use compat::{mem0, memory_tool};
use state::State;

/// Connections at a time; more wait.
const MAX_CONNECTIONS: usize = 512;
/// While more than this many are taken, a new one has little time for its head, so that those who only hold a place lose it.
const CROWDED_CONNECTIONS: usize = MAX_CONNECTIONS / 4;
const CROWDED_HEAD_TIMEOUT: Duration = Duration::from_millis(500);
/// MCP sessions at a time: each uses memory until it has been idle for minutes.
const MAX_SESSIONS: usize = 1_024;
/// How long running calls may take when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves until it is told to stop.
pub fn serve(context: &Context, args: &Serve, ready: impl FnOnce(&Running)) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = bind(context, args).await?;
        let address = listener.local_addr()?;
        let tls = tls(args)?;
        let (tokens, first) = token::Tokens::open(context)?;
        let oidc = provider(context, args)?;
        allow(address, &tokens, args)?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let home = context::with_memory_limit(&context.home);
        let state = Arc::new(State {
            pool: Pool::new(home.clone(), context.global.now),
            hosts: hosts::Hosts::new(
                address,
                scheme,
                &args.allow_host,
                Duration::from_millis(args.request_ms),
            ),
            logins: login::Logins::new(),
            events: telemetry::Stream::begin(&context.home),
            metrics: metrics::Metrics::default(),
            requests: quota::Quota::default(),
            streams: quota::Quota::default(),
            owners: quota::SessionOwners::default(),
            settings: overview::settings(context)?,
            stop: CancellationToken::new(),
            #[cfg(debug_assertions)]
            fixtures: args.fixtures,
            home,
            tokens,
            oidc,
        });
        let running = Running::note(&context.home, &format!("{scheme}://{}", shown(address)), &state)?;
        if let Some(first) = first {
            render::note(&format!("a first token, shown only now: {first}"));
        }
        render::note(&format!(
            "Nacre serves at {} (stop with Ctrl-C; `nacre ui` opens the dashboard)",
            running.url
        ));
        ready(&running);
        let head = Duration::from_millis(args.head_ms);
        accept(listener, tls, head, router(state.clone()), &state).await;
        drop(running);
        state.pool.close(state.now());
        Ok(ExitCode::SUCCESS)
    })
}

/// Returns the identity provider whose tokens are accepted.
fn provider(context: &Context, args: &Serve) -> Result<Option<Arc<oidc::Provider>>> {
    if args.oidc.oidc_issuer.is_some() && context.home.server().is_none() {
        let message = "an identity provider names members, and this home has none".to_owned();
        let hint = Some("use a team's database as the home: `--home postgres://…`".to_owned());
        return Err(Failure { kind: nacre::Kind::Invalid, code: "no_members", message, hint }.into());
    }
    let opened = tokio::task::block_in_place(|| oidc::Provider::open(&args.oidc));
    opened.map(|provider| provider.map(Arc::new)).context("the identity provider can't be used")
}

fn router(state: Arc<State>) -> Router {
    let is_enabled = |api: &str| state.home.settings().tools.compat.iter().any(|enabled| enabled == api);
    let mut inside = rest::routes()
        .route("/v1/tools", get(rest::list))
        .route("/v1/tools/{name}", post(rest::call))
        .route("/v1/openapi.json", get(openapi::document))
        .route("/v1/events", get(events::follow))
        .route("/v1/login", post(page::link))
        .route("/v1/recalls", get(recalls))
        .route("/v1/overview", get(overview::show))
        .route("/v1/sharing", get(sharing::show))
        .route("/metrics", get(metrics))
        .merge(sync::routes())
        .merge(mcp(&state));
    if is_enabled("memory-tool") {
        inside = inside.route("/v1/memory-tool", post(memory_tool::answer));
    }
    let inside = inside.route_layer(axum::middleware::from_fn_with_state(state.clone(), door::authenticate));
    // Its clients authenticate with another header.
    let known = axum::middleware::from_fn_with_state(state.clone(), mem0::authenticate);
    let mem0 = if is_enabled("mem0") { mem0::routes().route_layer(known) } else { Router::new() };
    Router::new()
        .merge(inside)
        .merge(mem0)
        .route("/login", get(page::enter))
        .route("/alive", get(|| async { "alive\n" }))
        .route("/", get(page::index))
        .route("/assets/{*path}", get(page::asset))
        .fallback(any(rest::nothing))
        .method_not_allowed_fallback(rest::not_so)
        .layer(DefaultBodyLimit::max(nacre::call::MAX_REQUEST))
        .layer(axum::middleware::from_fn_with_state(state.clone(), door::guard))
        .with_state(state)
}

/// Returns the times of the latest searches, in milliseconds.
async fn recalls(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
) -> Response {
    match principal.sees_all_groups() {
        true => axum::Json(serde_json::json!({ "latency": state.metrics.recalls() })).into_response(),
        false => no_figures(),
    }
}

/// Returns the metrics.
async fn metrics(
    Extract(state): Extract<Arc<State>>,
    Extension(principal): Extension<Principal>,
) -> Response {
    if !principal.sees_all_groups() {
        return no_figures();
    }
    let home = state.home.clone();
    let figures = tokio::task::spawn_blocking(move || nacre::team::figures(&home)).await.ok().flatten();
    let server = figures.as_ref().map_or_else(String::new, metrics::server);
    (state.metrics.text() + &metrics::memory(state.home.memory()) + &server).into_response()
}

/// Refuses figures about everybody's calls: their number and times tell what private sessions and other groups do.
fn no_figures() -> Response {
    let said = "these figures are about all groups and sessions";
    let hint = "use a token with `--role admin --any-group --private`, or your own";
    reply::refuse(StatusCode::FORBIDDEN, "people_only", said, Some(hint))
}

/// Serves the table of tools over MCP.
fn mcp(state: &Arc<State>) -> Router<Arc<State>> {
    let server = Server::new(&state.home, Seat::Shared(state.pool.clone()));
    let sessions: Arc<LocalSessionManager> = Arc::default();
    #[cfg(debug_assertions)]
    if state.fixtures {
        return Router::new().route_service("/mcp", streamable(state, &sessions, WithFixtures(server)));
    }
    Router::new()
        .route_service("/mcp", streamable(state, &sessions, server))
        .route_layer(axum::middleware::from_fn_with_state((state.clone(), sessions), room))
}

/// The header that names an MCP session.
const MCP_SESSION: &str = "mcp-session-id";

/// Refuses a new session if there are too many, and the session of another token. Clients of 2026-07-28 have none.
async fn room(
    Extract((state, sessions)): Extract<(Arc<State>, Arc<LocalSessionManager>)>,
    Extension(principal): Extension<Principal>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let named = headers.get(MCP_SESSION).map(|id| id.to_str().unwrap_or_default().to_owned());
    if let Some(session) = &named
        && !state.owners.is_of(session, &principal)
    {
        let said = "there is no such session";
        return reply::refuse(StatusCode::NOT_FOUND, "no_session", said, None);
    }
    let begins =
        named.is_none() && headers.get("mcp-protocol-version").is_none_or(|version| version != "2026-07-28");
    if begins {
        let open: HashSet<String> = sessions.sessions.read().await.keys().map(ToString::to_string).collect();
        if open.len() >= MAX_SESSIONS || state.owners.is_full(&principal, |session| open.contains(session)) {
            let said = "there are too many sessions; a session ends after a few idle minutes";
            return reply::refuse(StatusCode::SERVICE_UNAVAILABLE, "too_many_sessions", said, None);
        }
    }
    if request.method() == Method::GET {
        let Some(place) = state.streams.take(&principal, quota::MAX_STREAMS) else {
            let said = "this token follows too many streams";
            return reply::refuse(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", said, None);
        };
        let revoked = revoked(state.clone(), headers.clone(), place);
        let (head, body) = next.run(request).await.into_parts();
        return Response::from_parts(head, Body::from_stream(body.into_data_stream().take_until(revoked)));
    }
    let answer = next.run(request).await;
    if let Some(session) = answer.headers().get(MCP_SESSION).and_then(|id| id.to_str().ok())
        && begins
    {
        state.owners.add(session, &principal);
    }
    answer
}

/// Waits until the token of a request is revoked. Holds the place of its stream meanwhile.
async fn revoked(state: Arc<State>, headers: HeaderMap, place: quota::Place) {
    const CHECK_EVERY: Duration = Duration::from_millis(500);
    while door::known(&state, &Method::GET, &headers).await.is_ok() {
        tokio::time::sleep(CHECK_EVERY).await;
    }
    drop(place);
}

/// Accepts every host and origin: access control has checked them for every path.
fn streamable<S>(
    state: &State,
    sessions: &Arc<LocalSessionManager>,
    server: S,
) -> StreamableHttpService<S, LocalSessionManager>
where
    S: rmcp::ServerHandler + Clone,
{
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_cancellation_token(state.stop.clone())
        .with_max_request_body_bytes(nacre::call::MAX_REQUEST);
    StreamableHttpService::new(move || Ok(server.clone()), sessions.clone(), config)
}

async fn bind(context: &Context, args: &Serve) -> Result<TcpListener> {
    let Serve { listen, .. } = args;
    TcpListener::bind(listen).await.map_err(|problem| {
        let in_use = problem.kind() == std::io::ErrorKind::AddrInUse;
        let (message, hint) = match Running::find(&context.home).filter(|_| in_use) {
            Some((url, _)) => (
                format!("Nacre is already running for this data folder, at {url}"),
                "`nacre ui` opens its dashboard".to_owned(),
            ),
            None if in_use => (
                format!("another program is listening on {listen}"),
                "`--listen 127.0.0.1:0` takes any free port".to_owned(),
            ),
            None => (
                format!("can't listen on {listen}: {problem}"),
                "`--listen 127.0.0.1:0` takes any free port".to_owned(),
            ),
        };
        let kind = if in_use { nacre::Kind::Conflict } else { nacre::Kind::Unavailable };
        Failure { kind, code: "cannot_listen", message, hint: Some(hint) }.into()
    })
}

/// Refuses options that would expose the memory to everyone on the network.
fn allow(address: SocketAddr, tokens: &token::Tokens, args: &Serve) -> Result<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    if tokens.is_empty() && args.oidc.oidc_issuer.is_none() {
        bail!(
            "{address} is reachable from other machines, and there is no access token; `nacre token add NAME` creates one"
        );
    }
    if args.tls_cert.is_none() && !args.plain {
        bail!(
            "{address} is reachable from other machines, and tokens would travel unencrypted; give `--tls-cert` and `--tls-key`, \
             or `--plain` behind a proxy that terminates TLS"
        );
    }
    Ok(())
}

fn tls(args: &Serve) -> Result<Option<TlsAcceptor>> {
    let (Some(cert), Some(key)) = (&args.tls_cert, &args.tls_key) else {
        return Ok(None);
    };
    let read = |path: &Path| format!("{} is not a certificate or key in PEM format", path.display());
    let certs: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(cert)
        .with_context(|| read(cert))?
        .collect::<Result<_, _>>()
        .with_context(|| read(cert))?;
    let key = PrivateKeyDer::from_pem_file(key).with_context(|| read(key))?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certs, key)
        .context("the certificate and the key do not match")?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Some(TlsAcceptor::from(Arc::new(config))))
}

/// Accepts connections until the process is told to stop, then waits for running calls.
async fn accept(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    head: Duration,
    router: Router,
    state: &Arc<State>,
) {
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut stop = std::pin::pin!(told_to_stop());
    loop {
        let permit = tokio::select! {
            permit = room.clone().acquire_owned() => permit.expect("never closed"),
            () = &mut stop => break,
        };
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Too many open files, or a client that disconnected: go on with the next connection.
                Err(_) => { tokio::time::sleep(Duration::from_millis(20)).await; continue }
            },
            () = &mut stop => break,
        };
        let _ = stream.set_nodelay(true);
        let is_crowded = MAX_CONNECTIONS - room.available_permits() > CROWDED_CONNECTIONS;
        let head = if is_crowded { head.min(CROWDED_HEAD_TIMEOUT) } else { head };
        let (tls, router) = (tls.clone(), router.clone());
        let watcher = graceful.watcher();
        tokio::spawn(async move {
            let _permit = permit;
            match tls {
                None => talk(stream, head, router, watcher).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(head, tls.accept(stream)).await {
                        talk(stream, head, router, watcher).await;
                    }
                }
            }
        });
    }
    drop(listener);
    state.events.end();
    state.stop.cancel();
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(STOP_TIMEOUT) => {}
    }
}

async fn talk<S>(stream: S, head: Duration, router: Router, watcher: hyper_util::server::graceful::Watcher)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head).max_buf_size(64 << 10);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // A broken connection is the client's concern.
    let _ = watcher.watch(connection).await;
}

async fn told_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut ended), Ok(mut hung)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
        else {
            let _ = tokio::signal::ctrl_c().await;
            return;
        };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = ended.recv() => {}
            _ = hung.recv() => {}
        }
    }
    #[cfg(not(unix))]
    let _ = tokio::signal::ctrl_c().await;
}

fn shown(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => {
            SocketAddr::new(IpAddr::from([127, 0, 0, 1]), address.port())
        }
        _ => address,
    }
}

/// The file by which `nacre ui` finds a running server: its address and a key that only the user's own processes can read. It is
/// removed with the server.
pub struct Running {
    pub url: String,
    pub key: String,
    file: std::path::PathBuf,
}

impl Running {
    fn note(home: &Home, url: &str, state: &State) -> Result<Running> {
        let file = home.path().join("serve.json");
        let running = Running { url: url.to_owned(), key: state.logins.key().to_owned(), file };
        let text = serde_json::json!({ "url": running.url, "key": running.key, "pid": std::process::id() });
        home.create()?;
        token::write_private(&running.file, text.to_string().as_bytes())?;
        Ok(running)
    }

    /// Finds the running server of a home.
    pub fn find(home: &Home) -> Option<(String, String)> {
        let (url, key) = Running::noted(&home.path().join("serve.json"))?;
        let address = url.split("://").nth(1)?.parse().ok()?;
        std::net::TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok()?;
        Some((url, key))
    }

    fn noted(file: &Path) -> Option<(String, String)> {
        let noted: serde_json::Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        Some((noted["url"].as_str()?.to_owned(), noted["key"].as_str()?.to_owned()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A later server of the same home has replaced the file.
        if Running::noted(&self.file).is_none_or(|(_, key)| key == self.key) {
            let _ = std::fs::remove_file(&self.file);
        }
    }
}

/// `nacre ui`: opens the dashboard of the running server, or of one that it starts.
pub fn ui(context: &Context, args: &Serve) -> Result<ExitCode> {
    if let Some((url, key)) = Running::find(&context.home) {
        open_page(&url, &key)?;
        return Ok(ExitCode::SUCCESS);
    }
    serve(context, args, |running| {
        let (url, key) = (running.url.clone(), running.key.clone());
        // The server answers once this returns.
        std::thread::spawn(move || {
            if let Err(problem) = open_page(&url, &key) {
                render::note(&format!("the dashboard could not be opened: {problem:#}"));
            }
        });
    })
}

/// Requests a link and opens it in the browser. It is printed too, for users without a browser on this machine.
fn open_page(url: &str, key: &str) -> Result<()> {
    let mut answer = ureq::post(format!("{url}/v1/login"))
        .header("authorization", &format!("Bearer {key}"))
        .send_empty()
        .context("the server refused to create a link")?;
    let link: serde_json::Value = serde_json::from_str(&answer.body_mut().read_to_string()?)?;
    let link = format!("{url}{}", link["path"].as_str().context("the server returned no link")?);
    render::note(&format!("open {link} (it works once, for two minutes)"));
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let opened = std::process::Command::new(program)
        .arg(&link)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn();
    // Without a browser the link can be copied.
    drop(opened);
    Ok(())
}

//! Models behind a URL, before a real server that answers whatever a server may answer.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use nacre::http::{Dims, Model, Options, Outcome, Provider, Timeouts};
use nacre::{Embedder, Error, Secret};
use serde_json::{Value, json};

/// A key that no pattern of the redaction knows.
const KEY: &str = "Zq7-plain-Key-93";

/// The server's answer to a request.
#[derive(Clone, Copy)]
enum Reply {
    /// Vectors that tell the texts apart; `bad` texts make it 400.
    Right,
    /// The same for any text, and 500 where a text is `bad`.
    RightOr500,
    /// Right, with `null` in the vectors of `bad` texts.
    RightOrNull,
    /// Right, from the last to the first.
    Backwards,
    /// Right, without `index`.
    Unnumbered,
    /// A status, headers, a body. `{key}` and `{text}` in the body stand for what was sent.
    Says(u16, &'static str, &'static str),
    /// Right, and then blanks, so many.
    Huge(usize),
    /// Half of what was announced.
    Cut,
    /// Nothing; the connection is closed.
    Closed,
    /// Nothing, for longer than anybody waits.
    Slow,
}

/// One request as it came.
#[derive(Clone)]
struct ProviderRequest {
    head: String,
    body: Value,
}

/// Answers requests in the order of a script; its last line goes for all that follow.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<ProviderRequest>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(script: &[Reply]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asked, stop) = (Arc::<Mutex<Vec<ProviderRequest>>>::default(), Arc::new(AtomicBool::new(false)));
        let script = script.to_vec();
        let (log, stopped) = (asked.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            let mut slow = Vec::new();
            for stream in listener.incoming().map_while(Result::ok) {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let Some(request) = receive(&stream) else { continue };
                let number = log.lock().unwrap().len();
                log.lock().unwrap().push(request.clone());
                match script[number.min(script.len() - 1)] {
                    Reply::Slow => slow.push(stream),
                    reply => respond(stream, reply, &request),
                }
            }
        });
        Server { url, asked, stop, thread: Some(thread) }
    }

    fn asked(&self) -> Vec<ProviderRequest> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
        self.thread.take().unwrap().join().unwrap();
    }
}

fn receive(mut stream: &TcpStream) -> Option<ProviderRequest> {
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
            let length = head.to_ascii_lowercase();
            let length = length.split("content-length: ").nth(1)?.lines().next()?.parse::<usize>().ok()?;
            if bytes.len() >= end + 4 + length {
                return Some(ProviderRequest { head, body: serde_json::from_slice(&bytes[end + 4..]).ok()? });
            }
        }
        match stream.read(&mut part) {
            Ok(count) if count > 0 => bytes.extend_from_slice(&part[..count]),
            _ => return None,
        }
    }
}

fn respond(mut stream: TcpStream, reply: Reply, request: &ProviderRequest) {
    let texts: Vec<&str> =
        request.body["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    let is_bad = |text: &&str| text.contains("bad");
    let any_bad = texts.iter().any(is_bad);
    let vectors = || -> Vec<Value> {
        let item =
            |(index, text)| json!({ "object": "embedding", "index": index, "embedding": raw_vector(text) });
        texts.iter().enumerate().map(|(index, text)| (index, *text)).map(item).collect()
    };
    let ok = |data: Vec<Value>| json!({ "object": "list", "data": data, "model": "m" }).to_string();
    let filled = |given: &str| given.replace("{key}", KEY).replace("{text}", texts[0]);
    let (status, headers, body) = match reply {
        Reply::Right if any_bad => (
            400,
            String::new(),
            json!({ "error": { "message": format!("too long: {}", texts[0]) } }).to_string(),
        ),
        Reply::RightOr500 if any_bad => {
            (500, String::new(), json!({ "error": "input is too large" }).to_string())
        }
        Reply::Right | Reply::RightOr500 => (200, String::new(), ok(vectors())),
        Reply::RightOrNull => {
            let mut data = vectors();
            for (item, _) in data.iter_mut().zip(&texts).filter(|(_, text)| is_bad(text)) {
                item["embedding"][1] = Value::Null;
            }
            (200, String::new(), ok(data))
        }
        Reply::Backwards => (200, String::new(), ok(vectors().into_iter().rev().collect())),
        Reply::Unnumbered => {
            let mut data = vectors();
            data.iter_mut().for_each(|item| _ = item.as_object_mut().unwrap().remove("index"));
            (200, String::new(), ok(data))
        }
        Reply::Says(status, headers, body) => (status, filled(headers), filled(body)),
        Reply::Huge(blanks) => (200, String::new(), ok(vectors()) + &" ".repeat(blanks)),
        Reply::Cut => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"data\":[");
            return;
        }
        Reply::Closed | Reply::Slow => return,
    };
    let kind = if headers.contains("Content-Type") { "" } else { "Content-Type: application/json\r\n" };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\n{kind}{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    // A client that has seen enough hangs up.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

/// A vector by which a text is known again.
fn raw_vector(text: &str) -> [f32; 3] {
    let sum: u32 = text.bytes().map(u32::from).sum();
    [f32::from(u16::try_from(text.len()).unwrap()), f32::from(u16::try_from(sum % 97).unwrap()), 1.0]
}

fn vector(text: &str) -> Vec<f32> {
    let raw = raw_vector(text);
    let length = raw.iter().map(|number| number * number).sum::<f32>().sqrt();
    raw.iter().map(|number| number / length).collect()
}

fn near(left: &[f32], right: &[f32]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| (left - right).abs() < 1e-6)
}

/// Waits are written down, in milliseconds, and not waited.
type Waits = Arc<Mutex<Vec<u128>>>;

fn options(server: &Server) -> Options {
    let mut options = Options::new(Provider::OpenAi, &format!("{}/v1", server.url), "m");
    options.key = Some(Secret::new(&format!(" {KEY}\n")));
    options.documents = Timeouts { tries: 3, ..Timeouts::DOCUMENTS };
    options
}

fn model(options: Options) -> (Model, Waits) {
    let waits = Waits::default();
    let log = waits.clone();
    (Model::new(options, move |wait| log.lock().unwrap().push(wait.as_millis())).unwrap(), waits)
}

/// An error shows neither the key nor what was sent.
fn shows_nothing(error: &Error, texts: &[&str]) {
    let shown = format!("{error} {error:?} {}", error.hint().unwrap_or_default());
    for hidden in texts.iter().copied().chain([KEY]) {
        assert!(!shown.contains(hidden), "{hidden} in {shown}");
    }
}

/// Three texts, and what becomes of them: for each one `ok` or `refused`, then the error's code, if any.
fn check(name: &str, script: &[Reply], expected: &str, requests: usize, waits: &[u128]) {
    check_with(
        name,
        script,
        |_| {},
        ["about the dog Luna", "the second text", "third, of the cat"],
        expected,
        requests,
        waits,
    );
}

fn check_with(
    name: &str,
    script: &[Reply],
    change: impl FnOnce(&mut Options),
    texts: [&str; 3],
    expected: &str,
    requests: usize,
    waits: &[u128],
) {
    let server = Server::start(script);
    let mut options = options(&server);
    change(&mut options);
    let has_key = options.key.is_some();
    let (model, waited) = model(options);
    let mut became = ["-"; 3];
    let result = model.embed_each(&texts, &mut |number, outcome| {
        became[number] = match outcome {
            Outcome::Vector(found) => {
                assert!(near(&found, &vector(texts[number])), "{name}: {found:?}");
                "ok"
            }
            Outcome::Refused { problem } => {
                assert!(!problem.contains(texts[number]) && !problem.contains(KEY), "{name}: {problem}");
                "refused"
            }
        };
    });
    let mut found = became.join(" ");
    if let Err(error) = &result {
        shows_nothing(error, &texts);
        found = format!("{found} {}", error.code());
    }
    let asked = server.asked();
    assert_eq!((found.as_str(), asked.len()), (expected, requests), "{name}: {result:?}");
    assert_eq!(*waited.lock().unwrap(), waits, "{name}");
    for request in &asked {
        let keyed: Vec<&str> = request.head.lines().filter(|line| line.contains(KEY)).collect();
        let header = format!("authorization: Bearer {KEY}");
        assert_eq!(keyed, if has_key { vec![header.as_str()] } else { vec![] }, "{name}");
        assert!(!request.body.to_string().contains(KEY), "{name}");
    }
}

#[test]
fn a_right_answer_is_taken_in_the_order_of_the_texts() {
    check("right", &[Reply::Right], "ok ok ok", 1, &[]);
    check("wrong order", &[Reply::Backwards], "ok ok ok", 1, &[]);
    check("no index", &[Reply::Unnumbered], "ok ok ok", 1, &[]);
    check_with("no key", &[Reply::Right], |options| options.key = None, ["a", "b", "c"], "ok ok ok", 1, &[]);
}

#[test]
fn what_passes_is_tried_again_and_what_stays_is_told() {
    use Reply::{Closed, Cut, Right, Says};
    let after = |headers| Says(429, headers, "");
    let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:44 GMT\r\n";
    let past = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:00:00 GMT\r\n";
    check("429 that says how long", &[after("Retry-After: 1\r\n"), Right], "ok ok ok", 2, &[1000]);
    check("429 that says until when", &[after(date), Right], "ok ok ok", 2, &[7000]);
    check("429 until a time that is over", &[after(past), Right], "ok ok ok", 2, &[0]);
    check("429 that says nothing", &[after(""), after(""), Right], "ok ok ok", 3, &[500, 1000]);
    check("429 that says nonsense", &[after("Retry-After: soon\r\n"), Right], "ok ok ok", 2, &[500]);
    check("429 for long", &[after("Retry-After: 3600\r\n")], "- - - provider_busy", 1, &[]);
    check("429 for ever", &[after("Retry-After: 1\r\n")], "- - - provider_busy", 3, &[1000, 1000]);
    for status in [408, 500, 502, 503, 504] {
        check("down for a moment", &[Says(status, "", "{key} {text}"), Right], "ok ok ok", 2, &[500]);
    }
    check("503 for ever", &[Says(503, "", "{key}: {text}")], "- - - provider_down", 3, &[500, 1000]);
    check("closed", &[Closed, Right], "ok ok ok", 2, &[500]);
    check("closed for ever", &[Closed], "- - - provider_down", 3, &[500, 1000]);
    check("a part of the answer", &[Cut, Right], "ok ok ok", 2, &[500]);
}

#[test]
fn waits_have_an_end() {
    let texts = ["about the dog Luna", "the second text", "third, of the cat"];
    let patience = |tries, longest, all| Timeouts {
        tries,
        longest_wait: Duration::from_secs(longest),
        all_waits: Duration::from_secs(all),
        ..Timeouts::DOCUMENTS
    };
    let (busy, down) = ([Reply::Says(429, "Retry-After: 2\r\n", "")], [Reply::Says(502, "", "")]);
    let (busy_ends, down_ends) = ("- - - provider_busy", "- - - provider_down");
    for (script, patience, expected, waits) in [
        (&busy, patience(10, 30, 7), busy_ends, &[2000, 2000, 2000][..]),
        (&busy, patience(10, 1, 30), busy_ends, &[]),
        (&down, patience(6, 3, 30), down_ends, &[500, 1000, 2000, 3000, 3000]),
        (&down, patience(1, 30, 30), down_ends, &[]),
    ] {
        let change = |options: &mut Options| options.documents = patience;
        check_with(&format!("{patience:?}"), script, change, texts, expected, waits.len() + 1, waits);
    }
}

#[test]
fn a_server_that_is_slow_is_left() {
    let server = Server::start(&[Reply::Slow]);
    let mut options = options(&server);
    options.query = Timeouts { whole: Duration::from_millis(200), ..Timeouts::QUERY };
    let (model, waits) = model(options);
    let error = model.embed_query("the dog", &mut |_| 1.0).unwrap_err();
    assert_eq!(error.code(), "provider_down", "{error}");
    assert!(error.to_string().ends_with("did not answer in time"), "{error}");
    assert_eq!((server.asked().len(), waits.lock().unwrap().as_slice()), (2, &[500][..]));
}

#[test]
fn what_is_not_an_answer_is_told_and_not_tried_again() {
    use Reply::{Huge, Says};
    let html = "Content-Type: text/html; charset=utf-8\r\n";
    for (name, reply, code) in [
        ("no key", Says(401, "", r#"{"error":{"message":"wrong key {key}"}}"#), "provider_denied"),
        ("not allowed", Says(403, "", r#"{"error":"{key} for {text}"}"#), "provider_denied"),
        ("no model", Says(404, "", "model not found: {text}"), "unknown_model"),
        ("a teapot", Says(418, "", "{key}"), "provider_answer"),
        ("elsewhere", Says(307, "Location: https://elsewhere.example/v1?{key}\r\n", ""), "provider_answer"),
        ("a page", Says(200, html, "<html>{text}"), "provider_answer"),
        ("garbage", Says(200, "", "{\"data\": {text}"), "provider_answer"),
        ("words for numbers", Says(200, "", r#"{"data":[{"embedding":"{text}"}]}"#), "provider_answer"),
        ("an error that says 200", Says(200, "", r#"{"error":"{key}"}"#), "provider_answer"),
        ("empty", Says(200, "", ""), "provider_answer"),
        ("no vectors", Says(200, "", r#"{"data":[]}"#), "provider_answer"),
        ("huge", Huge(2 * 1024 * 1024), "provider_answer"),
    ] {
        check(name, &[reply, Reply::Right], &format!("- - - {code}"), 1, &[]);
    }
    let three = |one: &str, two: &str, three: &str| -> &'static str {
        let item = |index_and_vector: &str| {
            let (index, vector) = index_and_vector.split_once(' ').unwrap();
            format!(r#"{{"index":{index},"embedding":{vector}}}"#)
        };
        format!(r#"{{"data":[{},{},{}]}}"#, item(one), item(two), item(three)).leak()
    };
    for (name, body, code) in [
        ("twice the same", three("0 [1,2]", "1 [1,2]", "1 [1,2]"), "provider_answer"),
        ("none that was sent", three("0 [1,2]", "1 [1,2]", "3 [1,2]"), "provider_answer"),
        ("some without index", three("0 [1,2]", "1 [1,2]", "null [1,2]"), "provider_answer"),
        ("different lengths", three("0 [1,2]", "1 [1,2]", "2 [1,2,3]"), "provider_answer"),
    ] {
        check(name, &[Says(200, "", body), Reply::Right], &format!("- - - {code}"), 1, &[]);
    }
    // A text may have brought these about; that a plain one has the same end says it has not.
    for (name, body) in [
        ("null", three("0 [1,2]", "1 [null,2]", "2 [1,2]")),
        ("NaN", three("0 [1,2]", "1 [NaN,2]", "2 [1,2]")),
        ("beyond f32", three("0 [1,2]", "1 [1e39,2]", "2 [1,2]")),
        ("no numbers", three("0 [1,2]", "1 []", "2 [1,2]")),
    ] {
        let plain = r#"{"data":[{"index":0,"embedding":[null]}]}"#;
        let script = [Says(200, "", body), Says(200, "", plain)];
        check(name, &script, "- - - provider_answer", 2, &[]);
    }
}

#[test]
fn a_redirect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Server::start(&[Reply::Right]);
        let location: &'static str = format!("Location: {}/v1/{{key}}\r\n", elsewhere.url).leak();
        check("redirect", &[Reply::Says(status, location, "")], "- - - provider_answer", 1, &[]);
        assert!(elsewhere.asked().is_empty(), "{status}");
    }
}

#[test]
fn a_text_that_is_refused_is_found_and_the_others_are_embedded() {
    let texts = ["about the dog Luna", "bad: a secret of mine", "third, of the cat"];
    // The whole, a plain text, the left half; the right half, both its parts, a plain text again.
    let rows = [
        (Reply::Right, "ok refused ok", 7, &[][..]),
        (Reply::RightOrNull, "ok refused ok", 7, &[]),
        // As a server may also fail for a moment, the whole and the text alone are tried three times.
        (Reply::RightOr500, "ok refused ok", 11, &[500, 1000, 500, 1000]),
    ];
    for (reply, expected, requests, waits) in rows {
        check_with("one is bad", &[reply], |_| {}, texts, expected, requests, waits);
    }
    // Each alone and a plain one before the halves: 1 + 1 + (1 + 1) + (1 + (1 + 1) + (1 + 1)).
    let bad = ["bad one of mine", "bad two of mine", "bad three of mine"];
    check_with("all are bad", &[Reply::Right], |_| {}, bad, "refused refused refused", 9, &[]);
}

#[test]
fn one_in_256_is_found_with_19_requests() {
    let server = Server::start(&[Reply::Right]);
    let (model, _) = model(options(&server));
    let texts: Vec<String> = (0..256).map(|n| format!("{}{n}", if n == 77 { "bad" } else { "" })).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = model.embed_documents(&texts).unwrap();
    for (number, (text, found)) in texts.iter().zip(vectors).enumerate() {
        let expected = if number == 77 { vec![] } else { vector(text) };
        assert!(near(&found, &expected), "{text}");
    }
    assert_eq!(server.asked().len(), 19);
}

#[test]
fn what_is_refused_whatever_the_text_is_the_fault_of_the_settings() {
    let refused =
        Reply::Says(400, "", r#"{"error":{"message":"dimensions is not supported: {text} {key}"}}"#);
    check("400", &[refused], "- - - provider_refused", 2, &[]);
    let down = Reply::Says(500, "", "out of memory");
    check("500", &[down], "- - - provider_down", 6, &[500, 1000, 500, 1000]);
    // Refused, then the key is no longer good.
    check("401 later", &[refused, Reply::Says(401, "", "")], "- - - provider_denied", 2, &[]);
}

#[test]
fn what_was_answered_before_an_error_is_kept() {
    let texts = ["about the dog Luna", "the second text", "third, of the cat"];
    let script = [Reply::Right, Reply::Right, Reply::Says(401, "", "")];
    let change = |options: &mut Options| options.batch = 1;
    check_with("one by one", &script, change, texts, "ok ok - provider_denied", 3, &[]);
}

#[test]
fn batches_are_by_count_and_by_tokens() {
    let server = Server::start(&[Reply::Right]);
    let long = "word ".repeat(900);
    let texts = ["a1", "b22", "c333", "d4444", " ", &long, &long, "e55555"];
    for (batch, tokens, expected) in [
        (256, 1_000_000, &[7][..]),
        (3, 1_000_000, &[3, 3, 1]),
        (256, 1_600, &[5, 2]),
        (256, 1, &[1, 1, 1, 1, 1, 1, 1]),
    ] {
        server.asked.lock().unwrap().clear();
        let (model, _) = model(Options { batch, batch_tokens: tokens, ..options(&server) });
        let vectors = model.embed_documents(&texts).unwrap();
        let sizes: Vec<usize> =
            server.asked().iter().map(|request| request.body["input"].as_array().unwrap().len()).collect();
        assert_eq!(sizes, expected);
        for (text, found) in texts.iter().zip(vectors) {
            let expected = if text.trim().is_empty() { vec![0.0; 3] } else { vector(text) };
            assert!(near(&found, &expected), "{text:.10}: {found:?}");
        }
    }
}

#[test]
fn what_is_sent_is_what_was_set() {
    let server = Server::start(&[Reply::Right]);
    let openai = options(&server);
    let azure = Provider::AzureOpenAi { api_version: "2024-10-21".into() };
    let prefixed = |provider, url: &str, model: &str| Options {
        query_prefix: "query: ".into(),
        document_prefix: "passage: ".into(),
        dims: Dims::Asked(3),
        key: openai.key.clone(),
        ..Options::new(provider, url, model)
    };
    let host = server.url.trim_start_matches("http://");
    for (options, path, header, question, document, dimensions, version) in [
        (
            openai.clone(),
            "/v1/embeddings",
            "authorization: Bearer ",
            "what?",
            "text",
            Value::Null,
            format!("openai:{host}:m:own:2d3adedf"),
        ),
        (
            prefixed(Provider::OpenAi, &format!("{}/v1/embeddings/", server.url.to_uppercase()), "n"),
            "/v1/embeddings",
            "authorization: Bearer ",
            "query: what?",
            "passage: text",
            json!(3),
            format!("openai:{host}:n:3:12fd0203"),
        ),
        (
            prefixed(azure, &server.url, "my deployment/1"),
            "/openai/deployments/my%20deployment%2F1/embeddings?api-version=2024-10-21",
            "api-key: ",
            "query: what?",
            "passage: text",
            json!(3),
            format!("azure-openai:{host}:my deployment/1:3:12fd0203"),
        ),
    ] {
        server.asked.lock().unwrap().clear();
        let (model, _) = model(options.clone());
        assert_eq!(model.version(), version);
        assert!(near(&model.embed_query("what?", &mut |_| 1.0).unwrap(), &vector(question)));
        assert!(near(&model.embed_documents(&["text"]).unwrap()[0], &vector(document)));
        let asked = server.asked();
        for (request, text) in asked.iter().zip([question, document]) {
            assert!(request.head.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{}", request.head);
            assert_eq!(request.body["input"], json!([text]));
            assert_eq!(request.body["model"], options.model.as_str());
            assert_eq!(request.body["encoding_format"], "float");
            assert_eq!(request.body["dimensions"], dimensions);
            let keyed: Vec<&str> = request.head.lines().filter(|line| line.contains(KEY)).collect();
            assert_eq!(keyed, [format!("{header}{KEY}")]);
        }
        assert_eq!(asked.len(), 2);
    }
}

#[test]
fn dimensions_are_learnt_and_then_kept_to() {
    for (dims, before, result) in [
        (Dims::Own, 0, Ok(3)),
        (Dims::Known(3), 3, Ok(3)),
        (Dims::Known(4), 4, Err("provider_dims")),
        (Dims::Asked(2), 2, Err("provider_dims")),
    ] {
        let server = Server::start(&[Reply::Right]);
        let (model, _) = model(Options { dims, ..options(&server) });
        assert_eq!(model.dims(), before);
        let found = model.embed_documents(&["text"]).map(|_| model.dims()).map_err(|error| error.code());
        assert_eq!(found, result, "{dims:?}");
        assert_eq!(server.asked().len(), 1);
    }
    // A server whose model was changed under the same name.
    let two = r#"{"data":[{"index":0,"embedding":[1,2]}]}"#;
    let server = Server::start(&[Reply::Right, Reply::Says(200, "", two)]);
    let (model, _) = model(options(&server));
    model.embed_documents(&["text"]).unwrap();
    let error = model.embed_query("text", &mut |_| 1.0).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("`{}` returns vectors with 2 components instead of 3", &server.url[7..])
    );
}

#[test]
fn a_text_that_says_nothing_is_zeros_and_is_not_sent() {
    let server = Server::start(&[Reply::Right]);
    let (model, _) = model(options(&server));
    // How many zeros is asked with a plain word, once.
    assert_eq!(model.embed_documents(&["", " \n"]).unwrap(), [[0.0; 3], [0.0; 3]]);
    assert_eq!(model.embed_query("?!", &mut |_| 1.0).unwrap(), [0.0; 3]);
    assert_eq!(model.embed_query("Luna", &mut |_| 0.0).unwrap(), [0.0; 3]);
    assert_eq!(server.asked().len(), 1);
    assert_eq!(server.asked()[0].body["input"], json!(["memory"]));
    assert_eq!(model.embed_documents(&[]).unwrap(), Vec::<Vec<f32>>::new());
}

#[test]
fn words_that_count_nothing_are_left_out_of_a_question() {
    for (text, sent) in [
        ("What is Zoë's dog called?", "What is 's dog called?"),
        ("Zoe\u{308} and ZOË and Zoé", "and and"),
        ("日本\n \u{308}zoe", "日本"),
    ] {
        let server = Server::start(&[Reply::Right]);
        let (model, _) = model(options(&server));
        model.embed_query(text, &mut |word| if word == "zoe" { 0.0 } else { 1.0 }).unwrap();
        assert_eq!(server.asked()[0].body["input"], json!([sent]));
    }
}

#[test]
fn credentials_in_a_text_do_not_leave_the_machine() {
    let server = Server::start(&[Reply::Right]);
    let (model, _) = model(options(&server));
    let text = "use ghp_16C7e42F292c6912E7710c838347Ae178B4a for it";
    model.embed_documents(&[text]).unwrap();
    model.embed_query(text, &mut |_| 1.0).unwrap();
    for request in server.asked() {
        assert_eq!(request.body["input"], json!(["use [REDACTED] for it"]));
    }
}

#[test]
fn a_server_is_quoted_in_one_short_line_and_never_with_what_was_sent() {
    let long = "The  user's\nbirthday is the 3rd of May, and nobody may know";
    for (text, body, expected) in [
        (long, r#"{"error":{"message":"can't take it","type":"x"}}"#, ": can't take it"),
        (long, r#"{"error":"as {key} said"}"#, ": as [REDACTED] said"),
        (long, r#"{"detail":"see Bearer abcdefgh12345678"}"#, ": see Bearer [REDACTED]"),
        (long, "{text}", ": …"),
        (long, "near 'birthday is the 3rd of', sorry", ": near '…', sorry"),
        ("pin 1234", "too long: pin 1234!", ": too long: …!"),
        ("a", "a bad batch", ": … bad batch"),
        (long, "\u{1b}[31mred\u{7}\r\n alert", ": [31mred alert"),
        (long, "", ""),
        (long, " \n", ""),
    ] {
        let server = Server::start(&[Reply::Says(403, "", body)]);
        let (model, _) = model(options(&server));
        let error = model.embed_query(text, &mut |_| 1.0).unwrap_err().to_string();
        assert_eq!(error, format!("`{}` denies access (403){expected}", &server.url[7..]));
    }
    let body: &'static str = "x, ".repeat(1000).leak();
    let server = Server::start(&[Reply::Says(403, "", body)]);
    let (model, _) = model(options(&server));
    let error = model.embed_query("text", &mut |_| 1.0).unwrap_err().to_string();
    assert!(error.chars().count() < 260 && error.ends_with('…'), "{error}");
}

#[test]
fn options_that_can_not_work_are_refused_before_anything_is_sent() {
    let azure = |version: &str| Provider::AzureOpenAi { api_version: version.into() };
    let with = |change: fn(&mut Options)| {
        let mut options = Options::new(Provider::OpenAi, "http://localhost:11434/v1", "m");
        change(&mut options);
        options
    };
    let at = |url: &str| Options::new(Provider::OpenAi, url, "m");
    for (options, field) in [
        (at(""), "url"),
        (at("localhost:11434/v1"), "url"),
        (at("file:///etc/passwd"), "url"),
        (at("ftp://example.org"), "url"),
        (at("http://"), "url"),
        (at("http:///v1"), "url"),
        (at("http://a b/v1"), "url"),
        (at("http://exämple.org/v1"), "url"),
        (at("https://name:hunter22@example.org/v1"), "url"),
        (at("https://hunter22@example.org/v1"), "url"),
        (at("https://example.org/v1?key=hunter22"), "url"),
        (at("https://example.org/v1#hunter22"), "url"),
        (at("http://localhost:99999/v1"), "url"),
        (Options::new(azure(""), "https://example.org", "m"), "api_version"),
        (Options::new(azure("1&key=hunter22"), "https://example.org", "m"), "api_version"),
        (with(|options| options.model = " ".into()), "model"),
        (with(|options| options.batch = 0), "batch"),
        (with(|options| options.dims = Dims::Asked(0)), "dimensions"),
        (with(|options| options.key = Some(Secret::new("hunter22\r\nx: y"))), "key_variable"),
    ] {
        let url = options.url.clone();
        let error = Model::new(options, |_| {}).err().unwrap_or_else(|| panic!("{url} is taken"));
        assert_eq!(error.code(), "bad_provider");
        assert!(error.to_string().starts_with(&format!("`embedding.{field}` ")), "{url}: {error}");
        assert!(!format!("{error} {error:?}").contains("hunter22"), "{error:?}");
    }
}

#[test]
fn nobody_there_and_no_tls_are_told() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (model_, waits) = model(Options::new(Provider::OpenAi, &format!("http://{closed}/v1"), "m"));
    let error = model_.embed_query("text", &mut |_| 1.0).unwrap_err();
    assert_eq!((error.code(), waits.lock().unwrap().len()), ("provider_down", 1), "{error}");
    // A server that answers plainly where TLS is expected: no use in trying again.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = stream.read(&mut [0; 4096]);
    });
    let (model_, waits) = model(Options::new(Provider::OpenAi, &url, "m"));
    let error = model_.embed_query("text", &mut |_| 1.0).unwrap_err();
    assert_eq!((error.code(), waits.lock().unwrap().len()), ("provider_down", 0), "{error}");
    thread.join().unwrap();
}

#[test]
fn a_secret_does_not_show_itself() {
    let server = Server::start(&[Reply::Right]);
    let options = options(&server);
    assert!(!format!("{options:?}").contains(KEY));
    assert_eq!(format!("{0} {0:?}", options.key.unwrap()), "[REDACTED] [REDACTED]");
}

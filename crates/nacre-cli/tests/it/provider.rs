//! A provider from the settings to the hits: a real server, the real binary.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::sealed::Sealed;

const KEY: &str = "sk-not-a-real-key-0123456789abcdef";

/// A model that knows one thing: what has to do with water. Ends with the test.
struct Server {
    url: String,
    texts: Arc<AtomicUsize>,
}

impl Server {
    fn start() -> Server {
        Server::slow(Duration::ZERO)
    }

    /// One that takes so long for each request.
    fn slow(delay: Duration) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let texts = Arc::new(AtomicUsize::new(0));
        let counted = texts.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = counted.clone();
                std::thread::spawn(move || answer(stream, &counted, delay));
            }
        });
        Server { url, texts }
    }
}

fn answer(mut stream: TcpStream, counted: &AtomicUsize, delay: Duration) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut length, mut key, mut line) = (0, false, String::new());
        loop {
            line.clear();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let header = line.trim().to_lowercase();
            length = header.strip_prefix("content-length: ").map_or(length, |count| count.parse().unwrap());
            key |= header == format!("authorization: bearer {KEY}");
            if header.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let request: Value = serde_json::from_slice(&body).unwrap();
        let inputs = request["input"].as_array().unwrap();
        std::thread::sleep(delay);
        counted.fetch_add(inputs.len(), Ordering::SeqCst);
        let vector = |(index, text): (usize, &Value)| {
            let text = text.as_str().unwrap().to_lowercase();
            let water = ["heron", "otter", "boat"].iter().any(|word| text.contains(word));
            json!({ "index": index, "embedding": if water { [1.0, 0.0] } else { [0.0, 1.0] } })
        };
        let data: Vec<Value> = inputs.iter().enumerate().map(vector).collect();
        let (status, body) = match key {
            true => ("200 OK", json!({ "data": data, "model": request["model"] }).to_string()),
            false => ("401 Unauthorized", json!({ "error": { "message": "no key" } }).to_string()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        if stream.write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

const NOTES: [&str; 4] =
    ["The heron is grey", "The camel is brown", "The lizard is green", "The table is white"];

fn with_notes(url: &str) -> Sealed {
    let sealed = Sealed::new();
    std::fs::create_dir_all(sealed.home()).unwrap();
    std::fs::write(sealed.beside("key"), KEY).unwrap();
    let settings = format!(
        "[embedding]\nprovider = \"openai\"\nurl = \"{url}\"\nmodel = \"water\"\nkey_file = \"{}\"\n",
        sealed.beside("key")
    );
    std::fs::write(sealed.home().join("nacre.toml"), settings).unwrap();
    for note in NOTES {
        assert_eq!(sealed.run(["store", note]).status, 0);
    }
    sealed
}

#[test]
fn a_model_behind_a_url_is_searched_once_its_vectors_are_made() {
    let server = Server::start();
    let sealed = with_notes(&server.url);
    assert_eq!(server.texts.load(Ordering::SeqCst), 0, "no write waits for a provider");
    assert_eq!(sealed.json(["status"])["embedded"]["left"], 4);
    let indexed = sealed.json(["index"]);
    assert_eq!((&indexed["embedded"]["done"], &indexed["embedded"]["left"]), (&json!(4), &json!(0)));
    let found = sealed.json(["search", "What floats like a boat?"]);
    assert_eq!((&found["hits"][0]["text"], &found["missing"]), (&json!(NOTES[0]), &json!([])));
    // Nothing is asked for twice but one short text, which tells the size of the vectors. The key is stored nowhere.
    let asked = server.texts.load(Ordering::SeqCst);
    sealed.json(["index"]);
    assert_eq!(server.texts.load(Ordering::SeqCst), asked + 1);
    let database = std::fs::read(sealed.database("main")).unwrap();
    assert!(!database.windows(KEY.len()).any(|bytes| bytes == KEY.as_bytes()));
}

#[test]
fn a_provider_that_is_not_there_costs_no_memory() {
    // A port that nobody listens on.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let sealed = with_notes(&format!("http://{free}/v1"));
    let found = sealed.json(["search", "grey heron"]);
    assert_eq!(found["hits"][0]["text"], NOTES[0]);
    assert!(found["missing"][0].as_str().unwrap().contains("127.0.0.1"), "it never answered: {found:#}");
    let failed = sealed.run(["index"]);
    assert_ne!(failed.status, 0);
    assert!(!failed.stderr.contains(KEY), "{}", failed.stderr);
    // A model that was never installed, or is not part of this build, is named too.
    let problem = if cfg!(feature = "minilm") { "not installed" } else { "not part of this build" };
    let found = sealed.json(["--set", "embedding.provider=minilm", "search", "grey heron"]);
    assert_eq!(found["hits"][0]["text"], NOTES[0]);
    assert!(found["missing"][0].as_str().unwrap().contains(problem), "{found:#}");
}

#[test]
fn a_server_makes_vectors_behind_its_calls() {
    let server = Server::start();
    let sealed = with_notes(&server.url);
    let _mcp = sealed.mcp();
    let until = Instant::now() + Duration::from_secs(30);
    while sealed.json(["status"])["embedded"]["left"] != 0 {
        assert!(Instant::now() < until, "the vectors are not made");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(sealed.json(["status"])["embedded"]["done"], 4);
}

#[test]
fn a_server_hears_of_a_collection_that_is_added_later() {
    let server = Server::start();
    let sealed = with_notes(&server.url);
    let _mcp = sealed.mcp();
    let until = Instant::now() + Duration::from_secs(30);
    let wait_for = |texts: usize| {
        while server.texts.load(Ordering::SeqCst) < texts {
            assert!(Instant::now() < until, "not {texts} texts were asked for");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait_for(NOTES.len());
    std::fs::create_dir_all(sealed.beside("books")).unwrap();
    std::fs::write(format!("{}/otter.md", sealed.beside("books")), "The otter eats fish.\n").unwrap();
    sealed.json(["collection", "add", "books", &sealed.beside("books")]);
    wait_for(NOTES.len() + 1);
}

#[test]
fn vectors_go_on_after_a_kill() {
    const MESSAGES: usize = 600;
    let server = Server::slow(Duration::from_millis(100));
    let sealed = with_notes(&server.url);
    let line = |number: usize| {
        format!(
            "{}\n",
            json!({ "id": number.to_string(), "session": "s", "speaker": "user", "text": format!("Note {number} about a boat") })
        )
    };
    std::fs::write(sealed.beside("talk.jsonl"), (0..MESSAGES).map(line).collect::<String>()).unwrap();
    sealed.json(["session", "import", &sealed.beside("talk.jsonl")]);
    let all = i64::try_from(MESSAGES + NOTES.len()).unwrap();
    let done = || sealed.json(["status"])["embedded"]["done"].as_i64().unwrap();
    let mut process = sealed.command(["index"]).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while done() == 0 {
        assert!(Instant::now() < until, "no batch was written");
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let before = done();
    assert!((1..all).contains(&before), "{before} of {all}");
    // Search works with a part of them, and what was made is not asked for again.
    assert_eq!(sealed.json(["search", "grey heron"])["hits"][0]["text"], NOTES[0]);
    let asked = server.texts.load(Ordering::SeqCst);
    assert_eq!(sealed.json(["index"])["embedded"]["left"], 0);
    let again = i64::try_from(server.texts.load(Ordering::SeqCst) - asked).unwrap();
    assert_eq!(again, all - before);
    assert_eq!(done(), all);
}

//! Embedding models behind a URL: `openai`, the API of Ollama, llama.cpp, vLLM and many others, and
//! `azure-openai`.
//!
//! texts ▶ batches ▶ `request` (send, wait, retry) ▶ `answer` (check, order, normalise). A refused batch is
//! split in halves until the text that the model refuses is found; the others are not affected.
//!
//! Nothing is sent before the first text. Texts are sent redacted, and neither they nor the key appear in an
//! error. No clock is needed: the response itself says how long to wait.

mod answer;
mod chat;
mod options;
mod request;

use std::sync::OnceLock;
use std::time::Duration;

use serde::Serialize;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

pub use self::chat::Chat;
pub(crate) use self::chat::{ChatAnswer, ChatQuestion};
pub use self::options::{Dims, Options, Provider, Timeouts};
use self::request::{Endpoint, Reply};
use super::Embedder;
use crate::base::redact;
use crate::base::secret::Secret;
use crate::base::{Error, Result};

/// The result for one text.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Its unit vector, or zeros for a text without content.
    Vector(Vec<f32>),
    /// The model accepts other texts but refuses this one, and will refuse it again.
    Refused {
        /// The server's message.
        problem: String,
    },
}

/// A text that every model accepts. If it is refused too, the other text is not the cause.
const PROBE_TEXT: &str = "memory";

/// The wait before the second try; each later wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// An embedding model behind a URL.
pub struct Model {
    options: Options,
    endpoint: Endpoint,
    version: String,
    dims: OnceLock<usize>,
    pause: Box<dyn Fn(Duration) + Send + Sync>,
}

/// The reason why a batch has no vectors.
enum Failure {
    /// One of the texts may be the cause.
    Text(Error),
    /// The provider is the cause.
    Provider(Error),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure {
            Failure::Text(error) | Failure::Provider(error) => error,
        }
    }
}

impl Model {
    /// Checks the options without sending anything. `pause` waits between two tries.
    pub fn new(options: Options, pause: impl Fn(Duration) + Send + Sync + 'static) -> Result<Model> {
        let wrong = |field, problem: &str| {
            Err(Error::BadProvider { section: "embedding", field, problem: problem.to_owned() })
        };
        if options.model.trim().is_empty() {
            return wrong("model", "is empty");
        }
        if options.batch == 0 || options.batch_tokens == 0 {
            return wrong("batch", "must be at least 1");
        }
        let dims = OnceLock::new();
        let asked = match options.dims {
            Dims::Own => "own".to_owned(),
            Dims::Known(0) | Dims::Asked(0) => return wrong("dimensions", "must be at least 1"),
            Dims::Known(known) => {
                dims.get_or_init(|| known);
                "own".to_owned()
            }
            Dims::Asked(asked) => {
                dims.get_or_init(|| asked);
                asked.to_string()
            }
        };
        let endpoint = Endpoint::new(&options)?;
        let name = match options.provider {
            Provider::OpenAi => "openai",
            Provider::AzureOpenAi { .. } => "azure-openai",
        };
        let prefixes =
            blake3::hash(format!("{}\0{}", options.query_prefix, options.document_prefix).as_bytes());
        let version =
            format!("{name}:{}:{}:{asked}:{}", endpoint.host, options.model, &prefixes.to_hex()[..8]);
        Ok(Model { options, endpoint, version, dims, pause: Box::new(pause) })
    }

    /// Passes the result of every text, by its number, to `each` as soon as it is available, so that results
    /// before an error are not lost.
    pub fn embed_each(&self, texts: &[&str], each: &mut dyn FnMut(usize, Outcome)) -> Result<()> {
        let (worded, blank): (Vec<usize>, Vec<usize>) =
            (0..texts.len()).partition(|number| !texts[*number].trim().is_empty());
        let mut rest = worded.as_slice();
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(self.batch(rest.iter().map(|number| texts[*number])));
            let batch: Vec<(usize, String)> = batch
                .iter()
                .map(|number| (*number, prepared(&self.options.document_prefix, texts[*number])))
                .collect();
            self.settle(&batch, true, each)?;
            rest = after;
        }
        for number in blank {
            each(number, Outcome::Vector(self.zeros()?));
        }
        Ok(())
    }

    /// Returns the number of texts in the next batch: at least one.
    fn batch<'t>(&self, texts: impl Iterator<Item = &'t str>) -> usize {
        let mut tokens = 0;
        let fitting = texts.take(self.options.batch).take_while(|text| {
            // English has about four bytes per token; scripts with three bytes per character have about one
            // token per character.
            tokens += self.options.document_prefix.len() / 3 + text.len() / 3 + 1;
            tokens <= self.options.batch_tokens
        });
        fitting.count().max(1)
    }

    /// Embeds a batch, in halves if it is refused as a whole.
    fn settle(
        &self,
        batch: &[(usize, String)],
        whole: bool,
        each: &mut dyn FnMut(usize, Outcome),
    ) -> Result<()> {
        let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
        let single = batch.len() == 1;
        // A refused half is split again, so retries are only worthwhile for the whole batch and for single
        // texts.
        let error = match self.ask(&texts, &self.options.documents, whole || single) {
            Ok(vectors) => {
                batch
                    .iter()
                    .zip(vectors)
                    .for_each(|((number, _), vector)| each(*number, Outcome::Vector(vector)));
                return Ok(());
            }
            Err(Failure::Provider(error)) => return Err(error),
            Err(Failure::Text(error)) => error,
        };
        if whole || single {
            match self.ask(&[PROBE_TEXT], &self.options.documents, true) {
                Ok(_) => {}
                Err(Failure::Text(_)) => return Err(error),
                Err(Failure::Provider(error)) => return Err(error),
            }
        }
        if let [(number, _)] = batch {
            each(*number, Outcome::Refused { problem: error.to_string() });
            return Ok(());
        }
        let (left, right) = batch.split_at(batch.len() / 2);
        self.settle(left, false, each)?;
        self.settle(right, false, each)
    }

    /// Sends texts until there is a response, and checks it. A server error (500) is retried only with
    /// `insist`, because some servers use it to refuse a text.
    fn ask(&self, texts: &[&str], patience: &Timeouts, insist: bool) -> Result<Vec<Vec<f32>>, Failure> {
        let body = serde_json::to_vec(&Question {
            model: &self.options.model,
            input: texts,
            encoding_format: "float",
            dimensions: match self.options.dims {
                Dims::Asked(asked) => Some(asked),
                Dims::Own | Dims::Known(_) => None,
            },
        })
        .map_err(|error| Failure::Provider(error.into()))?;
        let host = || self.endpoint.host.clone();
        let mut waited = Duration::ZERO;
        let mut tried = 0;
        loop {
            tried += 1;
            let reply = self.endpoint.post(&body, patience, answer::max_bytes(texts.len()));
            let (failure, after) = match reply {
                Ok(reply) => match self.judge(reply, texts) {
                    Verdict::Vectors(vectors) => return Ok(vectors),
                    Verdict::Final(failure) => return Err(failure),
                    Verdict::Again(failure @ Failure::Text(_), _) if !insist => return Err(failure),
                    Verdict::Again(failure, after) => (failure, after),
                },
                Err(broken) => {
                    let problem = answer::shown(&broken.problem, &self.hidden(texts));
                    let failure = Failure::Provider(Error::ProviderDown { host: host(), problem });
                    if !broken.again {
                        return Err(failure);
                    }
                    (failure, None)
                }
            };
            let wait = after
                .unwrap_or(FIRST_WAIT.saturating_mul(1 << (tried - 1).min(16)).min(patience.longest_wait));
            if tried >= patience.tries || wait > patience.longest_wait || waited + wait > patience.all_waits {
                return Err(failure);
            }
            (self.pause)(wait);
            waited += wait;
        }
    }

    /// Decides what a response means by its status.
    fn judge(&self, reply: Reply, texts: &[&str]) -> Verdict {
        use Failure::{Provider, Text};
        let (host, status) = (self.endpoint.host.clone(), reply.status);
        if status == 200 {
            return match answer::read(&reply, texts.len(), self.dims.get().copied()) {
                Ok(vectors) => {
                    self.dims.get_or_init(|| vectors.first().map_or(0, Vec::len));
                    Verdict::Vectors(vectors)
                }
                Err(answer::BadAnswer::Dims { found, expected }) => {
                    Verdict::Final(Provider(Error::ProviderDims { host, found, expected }))
                }
                Err(answer::BadAnswer::Number(problem)) => {
                    Verdict::Final(Text(Error::ProviderAnswer { host, problem }))
                }
                Err(answer::BadAnswer::Form(problem)) => {
                    let problem = answer::shown(&problem, &self.hidden(texts));
                    Verdict::Final(Provider(Error::ProviderAnswer { host, problem }))
                }
            };
        }
        let said = answer::said(&reply.body, &self.hidden(texts));
        let down =
            |said| Error::ProviderDown { host: host.clone(), problem: format!("answers {status}{said}") };
        match status {
            400 | 413 | 422 => Verdict::Final(Text(Error::ProviderRefused { host, status, said })),
            401 | 403 => Verdict::Final(Provider(Error::ProviderDenied { host, status, said })),
            404 => {
                let model = self.options.model.clone();
                Verdict::Final(Provider(Error::UnknownModel { host, model, said }))
            }
            429 => {
                let wait = reply.retry_after.map(|wait| wait.as_secs());
                Verdict::Again(Provider(Error::ProviderBusy { host, wait, said }), reply.retry_after)
            }
            500 => Verdict::Again(Text(down(said)), reply.retry_after),
            408 | 502..=504 => Verdict::Again(Provider(down(said)), reply.retry_after),
            300..=399 => {
                // Redirects are not followed: the key and the texts are sent to the configured address only.
                let to = reply.location.map(|to| format!(" to `{to}`")).unwrap_or_default();
                let problem = format!("is a redirect{to}, and redirects are not followed");
                Verdict::Final(Provider(Error::ProviderAnswer { host, problem }))
            }
            _ => Verdict::Final(Provider(Error::ProviderAnswer {
                host,
                problem: format!("is {status}{said}"),
            })),
        }
    }

    /// Returns the text that must not be shown.
    fn hidden<'t>(&'t self, texts: &'t [&'t str]) -> answer::HiddenText<'t> {
        answer::HiddenText { key: self.options.key.as_ref().map(Secret::expose), texts }
    }

    /// Returns the vector of a text without content.
    fn zeros(&self) -> Result<Vec<f32>> {
        if self.dims.get().is_none() {
            self.ask(&[PROBE_TEXT], &self.options.documents, true)?;
        }
        Ok(vec![0.0; self.dims()])
    }
}

impl Embedder for Model {
    fn dims(&self) -> usize {
        self.dims.get().copied().unwrap_or(0)
    }

    /// Consists of provider, host, model, the requested number of components, and the prefixes. The model's
    /// own number of components is not part of it, so that the version is known before the first response.
    fn version(&self) -> &str {
        &self.version
    }

    fn embed_query(&self, text: &str, weight: &mut dyn FnMut(&str) -> f32) -> Result<Vec<f32>> {
        let text = counting(text, weight);
        if !text.contains(char::is_alphanumeric) {
            return self.zeros();
        }
        let mut vectors =
            self.ask(&[&prepared(&self.options.query_prefix, &text)], &self.options.query, true)?;
        Ok(vectors.pop().expect("one text, one vector"))
    }

    fn embed_documents(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut vectors = vec![Vec::new(); texts.len()];
        self.embed_each(texts, &mut |number, outcome| match outcome {
            Outcome::Vector(vector) => vectors[number] = vector,
            Outcome::Refused { .. } => {}
        })?;
        Ok(vectors)
    }
}

/// The body of a request.
#[derive(Serialize)]
struct Question<'a> {
    model: &'a str,
    input: &'a [&'a str],
    encoding_format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

enum Verdict {
    Vectors(Vec<Vec<f32>>),
    Final(Failure),
    /// Retry, after the time that the response asks for.
    Again(Failure, Option<Duration>),
}

/// Returns a text as it is sent: redacted.
fn prepared(prefix: &str, text: &str) -> String {
    format!("{prefix}{}", redact::text(text))
}

/// Returns a text without the words of weight 0.
fn counting(text: &str, weight: &mut dyn FnMut(&str) -> f32) -> String {
    let belongs = |c: char| c.is_alphanumeric() || is_combining_mark(c);
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| belongs(c) != belongs(first)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        let folded = || run.chars().flat_map(char::to_lowercase).nfd().filter(|c| !is_combining_mark(*c));
        if !belongs(first) || weight(&folded().collect::<String>()) > 0.0 {
            kept.push_str(run);
        }
    }
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

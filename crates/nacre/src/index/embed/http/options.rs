//! What is decided about a model behind a URL before it is asked. Settings fill this in.

use std::time::Duration;

use crate::base::secret::Secret;
use crate::base::settings;

/// Whose way of being asked a model has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provider {
    /// `POST {url}/embeddings`, with the key as a bearer token.
    OpenAi,
    /// `POST {url}/openai/deployments/{model}/embeddings?api-version=…`, with the key as `api-key`.
    AzureOpenAi {
        /// A date such as `2024-10-21`.
        api_version: String,
    },
}

/// How many components the vectors have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dims {
    /// As many as the model gives; the first answer tells.
    Own,
    /// As many as it gave before: another number is an error.
    Known(usize),
    /// As many as it is asked for, which not every model understands.
    Asked(usize),
}

/// How long to wait, and how often to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For one request from its beginning to the end of its answer.
    pub whole: Duration,
    /// How often a request is sent, the first time included.
    pub tries: u32,
    /// The longest wait between two tries. A provider that asks for more is not waited for.
    pub longest_wait: Duration,
    /// All waits for one request together.
    pub all_waits: Duration,
}

impl Patience {
    /// For a question, whose answer somebody waits for.
    pub const QUERY: Patience = Patience {
        connect: Duration::from_secs(2),
        whole: Duration::from_secs(5),
        tries: 2,
        longest_wait: Duration::from_secs(1),
        all_waits: Duration::from_secs(1),
    };
    /// For texts to be found, which are embedded in the background.
    pub const DOCUMENTS: Patience = Patience {
        connect: Duration::from_secs(10),
        whole: Duration::from_secs(120),
        tries: 6,
        longest_wait: Duration::from_secs(30),
        all_waits: Duration::from_secs(120),
    };
}

/// Which model, where, and how it is asked.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who is asked.
    pub provider: Provider,
    /// The base of the URL, as in `http://localhost:11434/v1`.
    pub url: String,
    /// The model, or the deployment at Azure.
    pub model: String,
    /// How many components.
    pub dims: Dims,
    /// What lets us in, where something must.
    pub key: Option<Secret>,
    /// What this model wants before a question, such as `search_query: `.
    pub query_prefix: String,
    /// What this model wants before a text to be found, such as `search_document: `.
    pub document_prefix: String,
    /// The most texts in a request.
    pub batch: usize,
    /// The most tokens in a request, as far as they can be guessed.
    pub batch_tokens: usize,
    /// For questions.
    pub query: Patience,
    /// For texts to be found.
    pub documents: Patience,
}

impl Options {
    /// Returns the defaults for a model.
    pub fn new(provider: Provider, url: &str, model: &str) -> Options {
        Options {
            provider,
            url: url.to_owned(),
            model: model.to_owned(),
            dims: Dims::Own,
            key: None,
            query_prefix: String::new(),
            document_prefix: String::new(),
            batch: 256,           // Q6
            batch_tokens: 10_000, // About 8,000 words: a small machine answers that in time.
            query: Patience::QUERY,
            documents: Patience::DOCUMENTS,
        }
    }

    /// Returns the options that settings give, without the key. `None`: their model is not behind a URL.
    pub fn from_settings(settings: &settings::Embedding) -> Option<Options> {
        let provider = match settings.provider {
            settings::Provider::Builtin | settings::Provider::Minilm | settings::Provider::None => {
                return None;
            }
            settings::Provider::Openai => Provider::OpenAi,
            settings::Provider::AzureOpenai => {
                Provider::AzureOpenAi { api_version: settings.api_version.clone() }
            }
        };
        let usual = Options::new(provider, &settings.url, &settings.model);
        Some(Options {
            dims: if settings.dimensions > 0 { Dims::Asked(settings.dimensions) } else { Dims::Own },
            query_prefix: settings.query_prefix.clone(),
            document_prefix: settings.document_prefix.clone(),
            batch: settings.batch,
            documents: Patience { whole: Duration::from_secs(settings.timeout_seconds), ..usual.documents },
            ..usual
        })
    }
}

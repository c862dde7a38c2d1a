//! Options of a model behind a URL, filled in from the settings.

use std::time::Duration;

use crate::base::secret::Secret;
use crate::base::settings;

/// The API of a provider.
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

/// The number of components of the vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dims {
    /// The model's own number, known from the first response.
    Own,
    /// The number it had before: another number is an error.
    Known(usize),
    /// A number that is requested, which not every model supports.
    Asked(usize),
}

/// Timeouts and the number of tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The timeout for a connection.
    pub connect: Duration,
    /// The timeout for one request, from its start to the end of the response.
    pub whole: Duration,
    /// How often a request is sent, including the first time.
    pub tries: u32,
    /// The longest wait between two tries. If a provider asks for more, the request fails.
    pub longest_wait: Duration,
    /// The maximum of all waits for one request together.
    pub all_waits: Duration,
}

impl Timeouts {
    /// For a question, whose answer a user waits for.
    pub const QUERY: Timeouts = Timeouts {
        connect: Duration::from_secs(2),
        whole: Duration::from_secs(5),
        tries: 2,
        longest_wait: Duration::from_secs(1),
        all_waits: Duration::from_secs(1),
    };
    /// For documents, which are embedded in the background.
    pub const DOCUMENTS: Timeouts = Timeouts {
        connect: Duration::from_secs(10),
        whole: Duration::from_secs(120),
        tries: 6,
        longest_wait: Duration::from_secs(30),
        all_waits: Duration::from_secs(120),
    };
}

/// The model, its address, and how to call it.
#[derive(Clone, Debug)]
pub struct Options {
    /// The provider's API.
    pub provider: Provider,
    /// The base of the URL, as in `http://localhost:11434/v1`.
    pub url: String,
    /// The model, or the deployment at Azure.
    pub model: String,
    /// The number of components.
    pub dims: Dims,
    /// The key, if the server needs one.
    pub key: Option<Secret>,
    /// The prefix that this model needs before a question, such as `search_query: `.
    pub query_prefix: String,
    /// The prefix that this model needs before a document, such as `search_document: `.
    pub document_prefix: String,
    /// The maximum number of texts in a request.
    pub batch: usize,
    /// The maximum number of tokens in a request, estimated.
    pub batch_tokens: usize,
    /// For questions.
    pub query: Timeouts,
    /// For documents.
    pub documents: Timeouts,
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
            batch: 256,
            batch_tokens: 10_000, // About 8,000 words: a small machine answers that in time.
            query: Timeouts::QUERY,
            documents: Timeouts::DOCUMENTS,
        }
    }

    /// Returns the options in the settings, without the key; `None` if their model is not behind a URL.
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
            documents: Timeouts { whole: Duration::from_secs(settings.timeout_seconds), ..usual.documents },
            ..usual
        })
    }
}

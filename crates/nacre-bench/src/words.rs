//! Invented words, sentences and conversations, the same in every run.

use std::fmt::Write as _;

use serde_json::json;

/// Invented words with a natural frequency distribution (Zipf), which makes OR queries slow.
pub struct Words(u64);

impl Default for Words {
    fn default() -> Words {
        Words(0x9e37_79b9_7f4a_7c15)
    }
}

impl Words {
    /// Returns words of their own for each number.
    pub fn of(number: u64) -> Words {
        Words(Words::default().0 ^ number.wrapping_add(1).wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub fn next(&mut self) -> u64 {
        // xorshift: the same words in every run.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn sentence(&mut self, words: usize) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    fn word(&mut self) -> String {
        const SYLLABLES: &[&str] = &[
            "ka", "lo", "mi", "ru", "te", "va", "no", "shi", "pe", "du", "go", "ra", "zu", "fe", "bi", "wo",
        ];
        const VOCABULARY: f64 = 20_000.0;
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank from a fraction"
        )]
        let mut rank = VOCABULARY.powf((self.next() >> 11) as f64 / (1u64 << 53) as f64) as usize;
        let mut word = String::from("x");
        loop {
            word.push_str(SYLLABLES[rank % SYLLABLES.len()]);
            rank /= SYLLABLES.len();
            if rank == 0 {
                return word;
            }
        }
    }

    /// Returns messages from number `first` on, each of about 30 words.
    pub fn messages(&mut self, first: usize, count: usize) -> Vec<Message> {
        (first..first + count)
            .map(|number| {
                let words = 20 + usize::try_from(self.next() % 21).unwrap_or(0);
                Message { number, text: self.sentence(words) }
            })
            .collect()
    }
}

/// An invented message.
pub struct Message {
    number: usize,
    pub text: String,
}

/// Writes messages in the form that `session import` takes: sessions of 20, user and assistant alternating, a minute apart, one
/// session a day.
pub fn transcript(messages: &[Message]) -> String {
    const SESSION: usize = 20;
    let mut text = String::new();
    for Message { number, text: said } in messages {
        let (session, place) = (number / SESSION, number % SESSION);
        // Days 1 to 28 of every month: about 36 years hold a million messages.
        let (year, month, day) = (1990 + session / 336 % 36, session / 28 % 12 + 1, session % 28 + 1);
        let line = json!({
            "id": format!("m{number}"), "session": format!("s{session}"), "text": said,
            "role": if place % 2 == 0 { "user" } else { "assistant" },
            "timestamp": format!("{year}-{month:02}-{day:02}T12:{place:02}:00Z"),
        });
        let _ = writeln!(text, "{line}");
    }
    text
}

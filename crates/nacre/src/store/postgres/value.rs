//! Values of PostgreSQL: a parameter takes the type that the statement needs, and a column becomes one of our
//! values whatever its type is.

use std::borrow::Cow;

use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::base::sql::{Problem, Value};

/// PostgreSQL can't store a zero byte in a text. It is written as this character, which no text may use, and
/// `0`; the character itself is followed by `1`.
const ESCAPE: char = '\u{fdd0}';

/// A parameter of a statement.
#[derive(Debug)]
pub(super) struct Param<'a>(pub(super) Value<'a>);

impl ToSql for Param<'_> {
    fn to_sql(&self, wanted: &Type, out: &mut BytesMut) -> Result<IsNull, Problem> {
        let refused = || format!("{:?} can't be a parameter of type {wanted}", self.0).into();
        match (&self.0, wanted) {
            (Value::Null, _) => return Ok(IsNull::Yes),
            (Value::Integer(number), &Type::INT8) => out.extend_from_slice(&number.to_be_bytes()),
            (Value::Integer(number), &Type::INT4) => {
                out.extend_from_slice(&i32::try_from(*number)?.to_be_bytes());
            }
            (Value::Integer(number), &Type::BOOL) => out.extend_from_slice(&[u8::from(*number != 0)]),
            #[expect(clippy::cast_precision_loss, reason = "a whole number in a column of reals")]
            (Value::Integer(number), &Type::FLOAT8) => out.extend_from_slice(&(*number as f64).to_be_bytes()),
            (Value::Integer(number), &Type::TEXT) => out.extend_from_slice(number.to_string().as_bytes()),
            (Value::Real(number), &Type::FLOAT8) => out.extend_from_slice(&number.to_be_bytes()),
            (Value::Text(text), &Type::TEXT) => out.extend_from_slice(escape(text).as_bytes()),
            (Value::Bytes(bytes), &Type::BYTEA) => out.extend_from_slice(bytes),
            _ => return Err(refused()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A column as it came.
struct Raw<'a>(&'a Type, &'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Raw<'a>, Problem> {
        // The types of PostgreSQL itself are constants; others are not read.
        let kind = Type::from_oid(kind.oid()).ok_or("a column of an unknown type")?;
        Ok(Raw(KNOWN.iter().find(|known| **known == kind).ok_or("a column of an unknown type")?, raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

const KNOWN: &[Type] = &[
    Type::BOOL,
    Type::INT2,
    Type::INT4,
    Type::INT8,
    Type::FLOAT8,
    Type::NUMERIC,
    Type::TEXT,
    Type::VARCHAR,
    Type::NAME,
    Type::UNKNOWN,
    Type::BYTEA,
];

/// One result row. Texts with escaped characters are read ahead, so that all texts can be borrowed.
pub(crate) struct Row {
    row: postgres::Row,
    unescaped: Vec<(usize, String)>,
}

impl Row {
    pub(super) fn new(row: postgres::Row) -> Row {
        let mut unescaped = Vec::new();
        for (place, column) in row.columns().iter().enumerate() {
            if *column.type_() == Type::TEXT
                && let Ok(Some(text)) = row.try_get::<_, Option<&str>>(place)
                && text.contains(ESCAPE)
            {
                unescaped.push((place, unescape(text)));
            }
        }
        Row { row, unescaped }
    }

    pub(crate) fn columns(&self) -> usize {
        self.row.len()
    }

    /// Returns the value of a column.
    pub(crate) fn value(&self, column: usize) -> Result<Value<'_>, Problem> {
        if let Some((_, text)) = self.unescaped.iter().find(|(place, _)| *place == column) {
            return Ok(Value::Text(Cow::Borrowed(text)));
        }
        let Some(Raw(kind, raw)) = self.row.try_get::<_, Option<Raw<'_>>>(column)? else {
            return Ok(Value::Null);
        };
        Ok(match *kind {
            Type::BOOL => Value::Integer(i64::from(raw.first() == Some(&1))),
            Type::INT2 => Value::Integer(i16::from_be_bytes(raw.try_into()?).into()),
            Type::INT4 => Value::Integer(i32::from_be_bytes(raw.try_into()?).into()),
            Type::INT8 => Value::Integer(i64::from_be_bytes(raw.try_into()?)),
            Type::FLOAT8 => Value::Real(f64::from_be_bytes(raw.try_into()?)),
            Type::NUMERIC => Value::Integer(whole(raw)?),
            Type::BYTEA => Value::Bytes(Cow::Borrowed(raw)),
            _ => Value::Text(Cow::Borrowed(std::str::from_utf8(raw)?)),
        })
    }
}

/// Reads a whole number of type `numeric`, which is what `sum` of integers returns: a count of digits to the
/// base of 10,000, the weight of the first, a sign and a scale, then the digits.
fn whole(raw: &[u8]) -> Result<i64, Problem> {
    let words: Vec<i64> =
        raw.as_chunks::<2>().0.iter().map(|word| i64::from(u16::from_be_bytes(*word))).collect();
    let [_, weight, sign, scale, digits @ ..] = words.as_slice() else { return Err("a short number".into()) };
    if *scale != 0 {
        return Err("a number with decimals".into());
    }
    let places = usize::try_from(weight + 1)?;
    let number = (0..places).try_fold(0i64, |number, place| {
        number.checked_mul(10_000)?.checked_add(digits.get(place).copied().unwrap_or(0))
    });
    let number = number.ok_or("a number that is too large")?;
    Ok(if *sign == 0 { number } else { -number })
}

fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(ESCAPE, &format!("{ESCAPE}1")).replace('\0', &format!("{ESCAPE}0")))
}

fn unescape(text: &str) -> String {
    text.replace(&format!("{ESCAPE}0"), "\0").replace(&format!("{ESCAPE}1"), &ESCAPE.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back() {
        for text in ["plain", "a\0b", "\u{fdd0}", "\u{fdd0}0", "\u{fdd0}1\0", "\0\0", "\u{fdd0}\u{fdd0}0"] {
            assert!(!escape(text).contains('\0'), "{text:?}");
            assert_eq!(unescape(&escape(text)), text);
        }
    }

    #[test]
    fn whole_numbers_are_read() {
        let number = |words: &[u16]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            whole(&bytes)
        };
        assert_eq!(number(&[0, 0, 0, 0]).unwrap(), 0);
        assert_eq!(number(&[1, 0, 0, 0, 42]).unwrap(), 42);
        assert_eq!(number(&[2, 1, 0x4000, 0, 3, 21]).unwrap(), -30_021);
        assert_eq!(number(&[1, 2, 0, 0, 7]).unwrap(), 700_000_000);
        assert!(number(&[2, 0, 0, 1, 4, 5000]).is_err());
    }
}

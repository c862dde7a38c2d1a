//! Column and parameter values. Types that are stored in columns implement the conversion here; the engine is
//! in `store`.

use std::borrow::Cow;

/// The value of a column or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

/// The reason why a value can't be read.
pub(crate) type Problem = Box<dyn std::error::Error + Send + Sync>;

/// A type that can be a parameter of a statement.
pub(crate) trait ToSql {
    fn to_sql(&self) -> Value<'_>;
}

/// A type that can be read from a column.
pub(crate) trait FromSql: Sized {
    fn from_sql(value: Value<'_>) -> Result<Self, Problem>;
}

impl<'a> Value<'a> {
    fn name(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Integer(_) => "an integer",
            Value::Real(_) => "a real number",
            Value::Text(_) => "text",
            Value::Bytes(_) => "bytes",
        }
    }

    fn is_not(&self, wanted: &str) -> Problem {
        format!("{} where {wanted} was expected", self.name()).into()
    }

    /// Returns the value as text.
    pub(crate) fn into_text(self) -> Result<Cow<'a, str>, Problem> {
        match self {
            Value::Text(text) => Ok(text),
            other => Err(other.is_not("text")),
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> Value<'_> {
        match self {
            Value::Null => Value::Null,
            Value::Integer(number) => Value::Integer(*number),
            Value::Real(number) => Value::Real(*number),
            Value::Text(text) => Value::Text(Cow::Borrowed(text)),
            Value::Bytes(bytes) => Value::Bytes(Cow::Borrowed(bytes)),
        }
    }
}

impl<T: ToSql + ?Sized> ToSql for &T {
    fn to_sql(&self) -> Value<'_> {
        (**self).to_sql()
    }
}

impl<T: ToSql> ToSql for Option<T> {
    fn to_sql(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToSql::to_sql)
    }
}

impl<T: FromSql> FromSql for Option<T> {
    fn from_sql(value: Value<'_>) -> Result<Option<T>, Problem> {
        match value {
            Value::Null => Ok(None),
            value => T::from_sql(value).map(Some),
        }
    }
}

impl ToSql for str {
    fn to_sql(&self) -> Value<'_> {
        Value::Text(Cow::Borrowed(self))
    }
}

impl ToSql for String {
    fn to_sql(&self) -> Value<'_> {
        self.as_str().to_sql()
    }
}

impl ToSql for Cow<'_, str> {
    fn to_sql(&self) -> Value<'_> {
        (**self).to_sql()
    }
}

impl FromSql for String {
    fn from_sql(value: Value<'_>) -> Result<String, Problem> {
        value.into_text().map(Cow::into_owned)
    }
}

impl ToSql for [u8] {
    fn to_sql(&self) -> Value<'_> {
        Value::Bytes(Cow::Borrowed(self))
    }
}

impl ToSql for Vec<u8> {
    fn to_sql(&self) -> Value<'_> {
        self.as_slice().to_sql()
    }
}

impl FromSql for Vec<u8> {
    fn from_sql(value: Value<'_>) -> Result<Vec<u8>, Problem> {
        match value {
            Value::Bytes(bytes) => Ok(bytes.into_owned()),
            other => Err(other.is_not("bytes")),
        }
    }
}

impl ToSql for bool {
    fn to_sql(&self) -> Value<'_> {
        Value::Integer(i64::from(*self))
    }
}

impl FromSql for bool {
    fn from_sql(value: Value<'_>) -> Result<bool, Problem> {
        i64::from_sql(value).map(|number| number != 0)
    }
}

impl ToSql for f64 {
    fn to_sql(&self) -> Value<'_> {
        Value::Real(*self)
    }
}

impl FromSql for f64 {
    #[expect(clippy::cast_precision_loss, reason = "a whole number in a column of reals")]
    fn from_sql(value: Value<'_>) -> Result<f64, Problem> {
        match value {
            Value::Real(number) => Ok(number),
            Value::Integer(number) => Ok(number as f64),
            other => Err(other.is_not("a number")),
        }
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl ToSql for $integer {
            // A number too large for a column counts as larger than every value in it.
            fn to_sql(&self) -> Value<'_> {
                Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }

        impl FromSql for $integer {
            fn from_sql(value: Value<'_>) -> Result<$integer, Problem> {
                match value {
                    Value::Integer(number) => Ok(<$integer>::try_from(number)?),
                    other => Err(other.is_not("an integer")),
                }
            }
        }
    )*};
}

integers!(i64, i32, u8, u32, u64, usize);

/// The parameters of a statement, in order: `$1` is the first.
pub(crate) trait Params {
    fn count(&self) -> usize;
    /// Returns the parameter at this index, counted from zero.
    fn at(&self, place: usize) -> Value<'_>;
}

impl Params for () {
    fn count(&self) -> usize {
        0
    }

    fn at(&self, _: usize) -> Value<'_> {
        Value::Null
    }
}

impl<T: ToSql> Params for &[T] {
    fn count(&self) -> usize {
        self.len()
    }

    fn at(&self, place: usize) -> Value<'_> {
        self[place].to_sql()
    }
}

impl<T: ToSql, const N: usize> Params for [T; N] {
    fn count(&self) -> usize {
        N
    }

    fn at(&self, place: usize) -> Value<'_> {
        self[place].to_sql()
    }
}

macro_rules! tuples {
    ($(($count:literal: $($name:ident $place:tt),+)),+) => {$(
        impl<$($name: ToSql),+> Params for ($($name,)+) {
            fn count(&self) -> usize {
                $count
            }

            fn at(&self, place: usize) -> Value<'_> {
                match place {
                    $($place => self.$place.to_sql(),)+
                    _ => Value::Null,
                }
            }
        }
    )+};
}

tuples! {
    (1: A 0),
    (2: A 0, B 1),
    (3: A 0, B 1, C 2),
    (4: A 0, B 1, C 2, D 3),
    (5: A 0, B 1, C 2, D 3, E 4),
    (6: A 0, B 1, C 2, D 3, E 4, F 5),
    (7: A 0, B 1, C 2, D 3, E 4, F 5, G 6),
    (8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7),
    (9: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8),
    (10: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9),
    (11: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10),
    (12: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11)
}

/// Implements the conversion for a newtype: the inner value is stored, and `read` converts it back.
macro_rules! column {
    ($name:ident, $read:expr) => {
        impl $crate::base::sql::ToSql for $name {
            fn to_sql(&self) -> $crate::base::sql::Value<'_> {
                self.0.to_sql()
            }
        }

        impl $crate::base::sql::FromSql for $name {
            fn from_sql(value: $crate::base::sql::Value<'_>) -> Result<$name, $crate::base::sql::Problem> {
                $crate::base::sql::FromSql::from_sql(value).map($read)
            }
        }
    };
}

pub(crate) use column;

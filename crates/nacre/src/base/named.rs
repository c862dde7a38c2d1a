//! Enums whose values go by a name: in JSON, in columns and at the command line.

/// Makes an enum from its values and their names. The name of a value is stated once, beside it.
macro_rules! named {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident {
        $($(#[$of_value:meta])* $value:ident = $word:literal,)+
    }) => {
        $(#[$attribute])*
        $visibility enum $name { $($(#[$of_value])* $value,)+ }

        impl $name {
            /// Every value, in order.
            pub const ALL: &[$name] = &[$($name::$value),+];

            /// Returns the stable name.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$value => $word,)+ }
            }

            #[allow(dead_code, reason = "not all of them are read by their name")]
            pub(crate) fn of_name(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|value| value.as_str() == name)
            }
        }
    };
}

pub(crate) use named;

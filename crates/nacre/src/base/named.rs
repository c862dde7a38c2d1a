//! Enums whose variants have a name in JSON, in database columns and on the command line.

/// Defines an enum from its variants and their names, so that each name is stated once.
macro_rules! named {
    ($(#[$attribute:meta])* $visibility:vis enum $name:ident {
        $($(#[$of_value:meta])* $value:ident = $word:literal,)+
    }) => {
        $(#[$attribute])*
        $visibility enum $name { $($(#[$of_value])* $value,)+ }

        impl $name {
            /// Every variant, in order.
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

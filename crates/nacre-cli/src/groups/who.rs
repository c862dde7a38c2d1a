//! The caller of a request with its group, and the principal behind an HTTP token.

use axum::http::HeaderMap;
use nacre::{Actor, Caller, GroupName, Role, SessionId, Visibility};

use crate::context::zone;

/// The source that decides the group and the session of a request.
const GROUP: &str = "nacre-group";
const SESSION: &str = "nacre-session";

/// A caller, and the group it works with.
#[derive(Clone)]
pub struct Who {
    pub caller: Caller,
    pub group: GroupName,
}

/// The sender of a request.
#[derive(Clone, Debug)]
pub struct Principal {
    /// Only this group; `None`: any.
    pub group: Option<GroupName>,
    pub role: Role,
    pub visibility: Visibility,
    pub person: bool,
    pub untrusted: bool,
    /// Comes from the page, by its cookie.
    pub page: bool,
}

impl Principal {
    /// The person whose memory it is.
    pub const OWNER: Principal = Principal {
        group: None,
        role: Role::Admin,
        visibility: Visibility::Private,
        person: true,
        untrusted: false,
        page: false,
    };

    /// Tells whether a request names its session.
    pub fn names_session(headers: &HeaderMap) -> bool {
        headers.contains_key(SESSION)
    }

    /// The caller that this request is, and the group it asks for.
    pub fn caller(&self, headers: &HeaderMap, now: nacre::Time) -> Result<(Caller, GroupName), nacre::Error> {
        let told = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let asked: Option<GroupName> = told(GROUP).map(str::parse).transpose()?;
        let group = match (&self.group, asked) {
            (Some(own), Some(asked)) if *own != asked => {
                return Err(nacre::Error::ForeignGroup { group: asked });
            }
            (Some(own), _) => own.clone(),
            (None, Some(asked)) => asked,
            (None, None) => "main".parse().expect("a name"),
        };
        let session: Option<SessionId> = told(SESSION).map(str::parse).transpose()?;
        let session = session.unwrap_or_else(|| if self.page { page_session() } else { http_session() });
        let actor = if self.person { Actor::Person } else { Actor::Agent };
        let (role, visibility, untrusted) = (self.role, self.visibility, self.untrusted);
        let zone = zone();
        Ok((Caller { actor, role, session, untrusted, visibility, now, zone }, group))
    }
}

fn page_session() -> SessionId {
    "page".parse().expect("an id")
}

fn http_session() -> SessionId {
    "http".parse().expect("an id")
}

//! The caller of a request with its group, and the principal behind an HTTP token.

use axum::http::HeaderMap;
use nacre::{Actor, Caller, GroupName, Role, SessionId, Visibility};

use crate::context::zone;

/// The source that decides the group and the session of a request.
const GROUP: &str = "nacre-group";
const SESSION: &str = "nacre-session";
/// The session of the dashboard.
pub const PAGE_SESSION: &str = "page";

/// A caller, and the group it works with.
#[derive(Clone)]
pub struct Requester {
    pub caller: Caller,
    pub group: GroupName,
}

/// The sender of a request.
#[derive(Clone, Debug)]
pub struct Principal {
    /// The name of its token; `None`: the owner.
    pub token: Option<String>,
    /// The member of the team whose token it is. Their roles decide about every group.
    pub member: Option<String>,
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
        token: None,
        member: None,
        group: None,
        role: Role::Admin,
        visibility: Visibility::Private,
        person: true,
        untrusted: false,
        page: false,
    };

    /// Tells whether it may learn what every group and session does.
    pub fn sees_all_groups(&self) -> bool {
        let is_private = self.visibility == Visibility::Private;
        if self.member.is_some() {
            return false;
        }
        self.person || (self.role == Role::Admin && self.group.is_none() && is_private && !self.untrusted)
    }

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
            // A member's own group has their name.
            (None, None) => self.member.as_deref().unwrap_or("main").parse()?,
        };
        let session: Option<SessionId> = told(SESSION).map(str::parse).transpose()?;
        let zone = zone();
        let session = match session {
            Some(named) => named,
            None if self.page => page_session(),
            None => self.session_of_day(&zone.day(now).to_string()),
        };
        let actor = if self.person { Actor::Person } else { Actor::Agent };
        let (role, visibility, untrusted) = (self.role, self.visibility, self.untrusted);
        let (token, member) = (self.token.clone(), self.member.clone());
        Ok((
            Caller {
                actor,
                role,
                untrusted,
                token,
                member,
                visibility,
                zone,
                ..Caller::person(session, now)
            },
            group,
        ))
    }

    /// The session of requests that name none: one per token and day, so that the limits of a session start again each
    /// day and one token does not use up those of another.
    fn session_of_day(&self, day: &str) -> SessionId {
        const MAX_NAME_CHARS: usize = 80;
        let name = self.token.as_deref().unwrap_or("owner");
        let name = name
            .chars()
            .take(MAX_NAME_CHARS)
            .map(|c| if c.is_whitespace() || c.is_control() { '-' } else { c });
        let id = format!("http-{}-{day}", name.collect::<String>());
        id.parse().expect("it has neither spaces nor control characters, and is short")
    }
}

fn page_session() -> SessionId {
    PAGE_SESSION.parse().expect("an id")
}

//! What a question asks for: words that people use, and the keys and predicates that answer them.
//!
//! Whole words only: `called` does not ask for a phone. The words are English; in other languages a question is
//! matched by the words of keys and by meaning.

/// Words that ask, and words of the keys and predicates that answer. A word may ask for several.
const INTENTS: &[(&str, &str)] = &[
    (
        "phone telephone tel mobile cell cellphone ring call dial reach text contact number",
        "phone telephone mobile cell tel cellphone",
    ),
    ("email mail reach contact write", "email mail"),
    (
        "birthday born birth birthdate bday old age turn turns turning",
        "birthday birth born birthdate dob age bday",
    ),
    ("born birthplace hometown origin grow grew raised from", "birthplace hometown origin born"),
    (
        "live lives living reside resides home address city town moved move based located location residence street \
         house flat",
        "lives live address city home town residence street location located based moved",
    ),
    (
        "work works job employer employed company profession occupation career firm workplace earn earns",
        "works work job employer company profession occupation career employs firm workplace",
    ),
    (
        "role title position job profession responsible",
        "role title position job profession occupation responsible",
    ),
    (
        "site website url link page homepage web address open browser browse",
        "url website site link homepage web domain",
    ),
    (
        "stack built technology technologies framework language tech written uses using",
        "stack technology framework language tech built uses",
    ),
    (
        "run runs running hosted host deployed server machine box live lives",
        "runs hosted hosts host deployed server machine run",
    ),
    ("port listen listens listening", "port listens listen"),
    ("ip address", "ip address ipv4 ipv6"),
    ("name called named", "name called nickname"),
    ("wife husband spouse married partner marry", "married spouse wife husband partner"),
    ("sister brother sibling siblings sisters brothers", "sibling sister brother"),
    ("friend friends buddy pal", "friend"),
    ("pet pets dog cat animal animals puppy kitten", "pet dog cat animal"),
    ("breed", "breed species kind"),
    ("allergy allergies allergic intolerant avoid eat", "allergy allergies allergic intolerance"),
    ("diet eat eats food vegetarian vegan serve cook", "diet food eats"),
    (
        "favourite favorite likes love loves prefer prefers enjoy enjoys",
        "favourite favorite likes like prefers preference loves",
    ),
    ("hobby hobbies pastime interests sport plays play", "hobby hobbies interest sport plays instrument"),
    ("timezone zone clock", "timezone zone tz"),
    (
        "schedule often cron frequency time hour start starts begin begins run runs",
        "schedule cron frequency window time starts",
    ),
    ("deadline due ship launch release released date", "deadline due launch release date milestone"),
    ("renamed rename happened outage incident", "date summary"),
    ("cost costs price pay pays rent fee budget expensive salary", "cost price rent fee budget salary rate"),
    ("cause caused reason root", "cause reason root"),
    ("fix fixed resolved solve solved solution remedy", "fix resolution solution remedy"),
    ("database db store storage", "database db storage store"),
    ("repo repository code source", "repo repository code"),
    ("password token key secret credential credentials login", "token key secret credential login password"),
    ("model llm", "model llm"),
    ("version", "version"),
    ("doctor dentist physician", "doctor dentist physician"),
    ("insurance insurer policy", "insurance insurer policy"),
    (
        "school studies study student university college degree",
        "school university college degree studies studied",
    ),
    ("car drive drives vehicle plate", "car vehicle plate drives"),
    ("nickname alias aka", "nickname alias aka"),
    ("purpose goal good point", "purpose description summary goal does about"),
    ("rule policy gate allowed", "rule policy gate convention"),
    ("never boundary boundaries forbidden limits", "boundary boundaries never rule"),
    ("size measure", "size"),
    ("licence license licensed", "licence license"),
];

/// Words for what people and things have, beside those that ask for a key of another name.
const ATTRIBUTES: &str = "\
    anniversary bank battery blood brand budget cap capacity color colour cpu disk disks expiry eye eyes gender hair hardware \
    height iban income invoice kilos length limit maker manufacturer memory middle nationality owner passport pin plan procedure pronouns ram \
    religion serial shoe shoes shirt speed star subscription surname tall tax uptime username vendor visa warranty weigh weighs weight wifi zodiac";

/// Words that say that something is asked, and not what.
const SAYS_LITTLE: &str = "\
    again anything can current currently detail details everything fact facts find get give got info \
    information kind know known like list look may need now number please recall remember remind say \
    show something tell thing things think use used want whats whos actually exactly days still name \
    named called one many much go goes going come comes deal done forgot forget today another";

/// Predicates whose ends have names of their own: what the subject is to the object, what the object is to the
/// subject, and words that ask for it whichever end is named.
const ENDS: &[(&str, &str, &str, &str)] = &[
    ("owns", "owner whose", "property belongings", "owns owned own belong belongs"),
    (
        "works_at",
        "employee staff",
        "employer company firm job workplace",
        "work works working employed employs",
    ),
    (
        "lives_in",
        "resident residents",
        "city town home address country",
        "live lives living reside resides based moved",
    ),
    ("located_in", "", "city town location country place rack room", "located location stands based"),
    ("married_to", "wife husband spouse partner", "wife husband spouse partner", "married marry"),
    (
        "partner_of",
        "partner girlfriend boyfriend wife husband",
        "partner girlfriend boyfriend wife husband",
        "dating together",
    ),
    (
        "parent_of",
        "parent parents mother father mom mum dad mama papa",
        "child children kid kids son daughter sons daughters",
        "",
    ),
    (
        "child_of",
        "child children kid kids son daughter",
        "parent parents mother father mom mum dad mama papa",
        "",
    ),
    (
        "sibling_of",
        "sibling siblings sister brother sisters brothers",
        "sibling siblings sister brother sisters brothers",
        "",
    ),
    ("friend_of", "friend friends buddy", "friend friends buddy", "befriended"),
    (
        "runs_on",
        "service services app apps workload",
        "host server machine box",
        "run runs running hosted hosts deployed live lives",
    ),
    (
        "hosts",
        "host server machine box",
        "service services app apps",
        "run runs running hosted hosts deployed",
    ),
    (
        "depends_on",
        "dependents consumer consumers",
        "dependency dependencies",
        "depend depends need needs require requires rely relies break breaks stop stops fail fails down hit affected",
    ),
    ("uses", "user users", "tool tools library stack technology", "use uses used using built"),
    ("part_of", "part parts component components", "whole", "part belong belongs"),
    (
        "manages",
        "manager boss lead head",
        "report reports team",
        "manage manages managed lead leads runs run charge",
    ),
    ("reports_to", "report reports", "manager boss lead supervisor", "report reports answer"),
    (
        "member_of",
        "member members",
        "club group team organisation organization",
        "member members membership belong belongs",
    ),
    (
        "maintains",
        "maintainer maintainers keeper",
        "",
        "maintain maintains maintained charge responsible looks",
    ),
    (
        "created_by",
        "",
        "author creator maker founder",
        "create created made wrote written built founded started",
    ),
    (
        "created",
        "author creator maker founder",
        "",
        "create created made wrote written built founded started",
    ),
    ("landlord_of", "landlord landlady", "tenant tenants", "rent rents renting"),
    ("tenant_of", "tenant tenants", "landlord landlady", "rent rents renting"),
    ("teaches", "teacher tutor instructor coach", "student students pupil pupils", "teach teaches taught"),
    ("doctor_of", "doctor physician dentist gp vet", "patient patients", "treats"),
    (
        "colleague_of",
        "colleague colleagues coworker coworkers",
        "colleague colleagues coworker coworkers",
        "",
    ),
    ("neighbor_of", "neighbor neighbour neighbors neighbours", "neighbor neighbour neighbors neighbours", ""),
    ("godparent_of", "godparent godparents godmother godfather", "godchild godson goddaughter", ""),
    ("godmother_of", "godparent godparents godmother", "godchild godson goddaughter", ""),
    ("godfather_of", "godparent godparents godfather", "godchild godson goddaughter", ""),
    ("looks_after", "maintainer maintainers keeper", "", "maintain maintains maintained charge responsible"),
    ("approves", "approver boss", "", "approve approves approval approved sign signs"),
    ("replaced_by", "predecessor", "successor replacement", "replace replaced replaces"),
];

fn has(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// Returns the words of the keys that a word asks for.
pub(super) fn keys(word: &str) -> Vec<&'static str> {
    let asked = INTENTS.iter().filter(|(asked, _)| has(asked, word));
    asked.flat_map(|(_, keys)| keys.split_ascii_whitespace()).collect()
}

/// Tells whether a word asks for what stands at the other end of a relation, if its ends have names of their own.
/// `forward`: the subject is the one that is named.
pub(super) fn asks_for_end(word: &str, predicate: &str, forward: bool) -> Option<bool> {
    let (_, subject, object, either) = ENDS.iter().find(|(known, ..)| *known == predicate)?;
    Some(has(if forward { object } else { subject }, word) || has(either, word))
}

/// Tells whether a word asks for a key or an end of a relation, so that it is no name where it stands in lower case.
pub(super) fn is_attribute(word: &str) -> bool {
    has(ATTRIBUTES, word) || INTENTS.iter().any(|(asked, _)| has(asked, word)) || names_end(word)
}

/// Tells whether a word asks for an end of a relation.
pub(super) fn names_end(word: &str) -> bool {
    ENDS.iter()
        .any(|(_, subject, object, either)| [subject, object, either].iter().any(|list| has(list, word)))
}

/// Tells whether a word says that something is asked, and not what.
pub(super) fn says_little(word: &str) -> bool {
    has(SAYS_LITTLE, word)
}

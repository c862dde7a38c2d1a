//! What keys and columns mean: another name, a relation, a list of things.

/// Keys that give other names.
pub(super) const ALIASES: &[&str] = &[
    "aka",
    "alias",
    "aliases",
    "also_known_as",
    "called",
    "goes_by",
    "nickname",
    "nicknames",
    "what_to_call_them",
];

/// Keys that give a relation, where their value is a name. With `of`, the value is who does it: the owner
/// owns.
pub(super) const RELATIONS: &[(&str, &str, bool)] = &[
    ("accountant", "accountant_of", true),
    ("alerts", "alerts", false),
    ("aunt", "aunt_of", true),
    ("author", "wrote", true),
    ("backed_up_to", "backed_up_to", false),
    ("boss", "boss_of", true),
    ("boyfriend", "boyfriend_of", true),
    ("brother", "brother_of", true),
    ("cat", "cat_of", true),
    ("coach", "coach_of", true),
    ("company", "works_at", false),
    ("cousin", "cousin_of", true),
    ("dad", "father_of", true),
    ("daughter", "daughter_of", true),
    ("dentist", "dentist_of", true),
    ("dependencies", "depends_on", false),
    ("depends_on", "depends_on", false),
    ("doctor", "doctor_of", true),
    ("dog", "dog_of", true),
    ("employed_by", "works_at", false),
    ("employer", "works_at", false),
    ("father", "father_of", true),
    ("friend", "friend_of", true),
    ("friends", "friend_of", true),
    ("girlfriend", "girlfriend_of", true),
    ("godfather", "godfather_of", true),
    ("godmother", "godmother_of", true),
    ("grandfather", "grandfather_of", true),
    ("grandmother", "grandmother_of", true),
    ("host", "runs_on", false),
    ("hosted_by", "runs_on", false),
    ("hosted_on", "runs_on", false),
    ("husband", "husband_of", true),
    ("insured_with", "insured_with", false),
    ("landlord", "landlord_of", true),
    ("lawyer", "lawyer_of", true),
    ("lead", "leads", true),
    ("lives_in", "lives_in", false),
    ("looked_after_by", "looks_after", true),
    ("looks_after", "looks_after", false),
    ("machine", "runs_on", false),
    ("maintained_by", "maintains", true),
    ("maintainer", "maintains", true),
    ("maintainers", "maintains", true),
    ("managed_by", "manages", true),
    ("manager", "manager_of", true),
    ("married_to", "married_to", false),
    ("member_of", "member_of", false),
    ("members", "member_of", true),
    ("mentor", "mentor_of", true),
    ("mom", "mother_of", true),
    ("mother", "mother_of", true),
    ("mum", "mother_of", true),
    ("needs", "depends_on", false),
    ("neighbor", "neighbor_of", true),
    ("neighbour", "neighbor_of", true),
    ("nephew", "nephew_of", true),
    ("niece", "niece_of", true),
    ("owned_by", "owns", true),
    ("owner", "owns", true),
    ("owns", "owns", false),
    ("part_of", "part_of", false),
    ("partner", "partner_of", true),
    ("rented_from", "rented_from", false),
    ("reports_to", "reports_to", false),
    ("requires", "depends_on", false),
    ("runs_on", "runs_on", false),
    ("server", "runs_on", false),
    ("sister", "sister_of", true),
    ("son", "son_of", true),
    ("spouse", "married_to", true),
    ("teacher", "teacher_of", true),
    ("therapist", "therapist_of", true),
    ("uncle", "uncle_of", true),
    ("uses", "uses", false),
    ("vet", "vet_of", true),
    ("wife", "wife_of", true),
    ("works_at", "works_at", false),
    ("works_for", "works_at", false),
];

/// First columns and second columns of tables that list keys and values.
pub(super) const KEYS: &[&str] =
    &["attribute", "detail", "field", "key", "parameter", "property", "setting", "variable"];

/// Second columns of tables whose first one has keys, or what a key is of.
pub(super) const VALUES: &[&str] = &["detail", "details", "value", "values"];

/// First columns that count or date their rows, and name nothing.
#[rustfmt::skip]
pub(super) const COUNTS: &[&str] = &[
    "#", "date", "day", "hour", "id", "month", "no", "no.", "number", "nr", "nr.", "order", "quarter", "rank", "round",
    "step", "time", "week", "weekday", "when", "year",
];

/// Whether a predicate's object is a machine, which may have a name in lower case.
pub(super) fn is_hosting(predicate: &str) -> bool {
    predicate == "runs_on"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::graph::guard;

    #[test]
    fn keys_of_relations_are_sorted_and_known() {
        assert!(RELATIONS.is_sorted_by(|a, b| a.0 < b.0));
        for (key, predicate, _) in RELATIONS {
            assert!(guard::inverse(predicate).is_some(), "{key}: {predicate}");
        }
    }
}

//! How two statements on the same subject differ. Each function finds one kind of difference.

use std::ops::Range;

use super::align::{Alignment, Pair, Side};
use super::lexicon::Cue;
use super::statement::{Class, Form, Mark, State, Term};
use super::value::{Kind, Relation, Value};

/// How two statements differ.
#[derive(Debug)]
pub(super) struct Difference {
    /// How clear the difference is.
    pub(super) weight: f32,
    pub(super) basis: Basis,
    pub(super) earlier: Option<String>,
    pub(super) later: Option<String>,
    /// The words that make the difference, as places in each statement.
    pub(super) places: [Vec<usize>; 2],
    /// The kind of the earlier value, if it has one.
    pub(super) kind: Option<Kind>,
    /// It says something only together with an object, as verbs do.
    pub(super) needs_object: bool,
}

impl Difference {
    /// Tells whether the values say themselves what they are values of.
    pub(super) fn is_clear(&self) -> bool {
        self.weight >= CLEAR_SCORE
    }
}

/// The evidence for a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// The later statement itself says that the value is an old one.
    Old,
    /// Two values of one attribute.
    Value,
    /// A state and its opposite.
    State,
}

/// The later statement names the old value.
const NAMED_OLD_SCORE: f32 = 2.2;
/// One statement denies that there is what the other speaks of.
const DENIAL_SCORE: f32 = 2.0;
/// A difference that words or kinds make clear.
const CLEAR_SCORE: f32 = 1.5;
/// Different holders of what has one holder at a time.
const OTHER_HOLDER_SCORE: f32 = 1.4;
/// A difference that could be one of two things that both hold.
const LIKELY_SCORE: f32 = 1.0;

impl<'a> Alignment<'a> {
    /// Finds the clearest difference.
    pub(super) fn difference(&self) -> Option<Difference> {
        // `also` adds a value beside the earlier one.
        let adds = self.later.statement.has(Cue::Also);
        let found = [
            self.old_value(),
            self.other_value().filter(|_| !adds),
            self.opposite().filter(|_| !self.is_about_another()),
            self.negated(),
            self.other_name().filter(|_| !adds),
            self.other_word().filter(|_| !adds),
            self.succeeded(),
            self.departed(),
            self.gave_away(),
            self.denied(),
            self.ended(),
            self.reordered(),
            self.changed_to(),
        ];
        found.into_iter().flatten().max_by(|one, other| one.weight.total_cmp(&other.weight))
    }

    /// Tells whether the subject of the later statement is another one: `the other cat`.
    fn is_about_another(&self) -> bool {
        let later = self.later.statement;
        later.cues.iter().any(|mark| mark.cue == Cue::Also && mark.start < later.head)
    }

    pub(super) fn names_old_value(&self) -> bool {
        self.old_value().is_some()
    }

    fn of_places(&self, weight: f32, basis: Basis, earlier: Range<usize>, later: Range<usize>) -> Difference {
        Difference {
            weight,
            basis,
            earlier: Some(self.earlier.statement.text(earlier.clone())),
            later: Some(self.later.statement.text(later.clone())),
            places: [earlier.collect(), later.collect()],
            kind: None,
            needs_object: false,
        }
    }

    fn of_pair(&self, weight: f32, basis: Basis, pair: &Pair<'_>) -> Difference {
        self.of_places(weight, basis, pair.earlier.places(), pair.later.places())
    }

    /// The later statement names the earlier value as the old one: `instead of black`.
    fn old_value(&self) -> Option<Difference> {
        let places = self.old_places();
        let is_old = |at: usize| places.iter().any(|place| place.contains(&at));
        let named = self.pairs.iter().find(|pair| {
            let term = pair.earlier;
            let is_value = term.is_thing() || term.class == Class::State && pair.same_word();
            // `Thomas leads support`: the holder is before the verb.
            let is_holder = term.class == Class::Name && self.pairs.iter().any(|pair| pair.earlier.unique);
            is_old(pair.later.start) && (!pair.in_earlier_head() || is_holder) && !term.negated && is_value
        });
        let stated = || {
            let is_bound =
                |pair: &Pair<'_>| pair.is_noun() || pair.earlier.class != Class::Verb && pair.same_word();
            let mut olds = self.later.statement.values.iter().filter(|value| is_old(value.start));
            let same = |old: &Value| {
                let mut values = self.earlier.statement.values.iter();
                values.find(|one| self.relation(&one.kind, &old.kind) == Relation::Same)
            };
            let found = olds.find_map(|old| same(old).map(|one| (one.places(), old.places())));
            found.filter(|_| self.pairs.iter().any(is_bound))
        };
        let (one, old) = named.map(|pair| (pair.earlier.places(), pair.later.places())).or_else(stated)?;
        Some(Difference { later: None, ..self.of_places(NAMED_OLD_SCORE, Basis::Old, one, old) })
    }

    /// Returns the places in the later statement that name an old value.
    fn old_places(&self) -> Vec<Range<usize>> {
        const MAX_OLD_WORDS: usize = 4;
        let tokens = &self.later.statement.tokens;
        let cues = &self.later.statement.cues;
        let after = |start: usize| {
            let end = (start..tokens.len()).find(|at| tokens[*at].stop != ' ');
            start..end.map_or(tokens.len(), |at| at + 1).min(start + MAX_OLD_WORDS)
        };
        // Between `from` and `to`, otherwise after the phrase.
        let is_origin =
            |mark: &Mark| mark.gap && matches!(tokens[mark.start].lower.as_str(), "from" | "von" | "de");
        let replaced =
            cues.iter().filter(|mark| mark.cue == Cue::Replace).map(|mark| match is_origin(mark) {
                true => mark.start + 1..mark.end - 1,
                false => after(mark.end),
            });
        // `port 81, not 80`
        let corrected = cues
            .iter()
            .filter(|mark| mark.cue == Cue::Negation && mark.start > 0 && tokens[mark.start - 1].stop == ',');
        let arrows = (0..tokens.len()).filter(|at| tokens[*at].stop == '→');
        replaced
            .chain(corrected.map(|mark| after(mark.end)))
            .chain(arrows.map(|at| at.saturating_sub(1)..at + 1))
            .collect()
    }

    /// Values of one kind that differ.
    fn other_value(&self) -> Option<Difference> {
        let earlier = self.earlier.statement;
        let later = self.later.statement;
        // Other days have other states.
        if self.opposite_states().is_some() && !self.shares_attribute() {
            return None;
        }
        // `Nina is 31` says nothing about which number it is.
        let heads = self.pairs.iter().filter(|pair| pair.in_earlier_head() && pair.is_noun()).count();
        let is_told = self.shares_attribute() || heads >= 2;
        let differs = |one: &Value, other: &Value| {
            (is_told || !one.kind.is_bare() || !other.kind.is_bare())
                && self.relation(&one.kind, &other.kind) == Relation::Different
                && !Alignment::restates(&one.kind, later)
                && !Alignment::restates(&other.kind, earlier)
                && (one.start >= earlier.head || other.start >= later.head)
                && !self.earlier.is_time_of_change(one)
                && !self.later.is_time_of_change(other)
        };
        let mut values = earlier.values.iter();
        let (one, other) =
            values.find_map(|one| Some(one).zip(later.values.iter().find(|other| differs(one, other))))?;
        let shares = self.shares_attribute() && !self.has_other_attribute();
        let is_clear = shares || one.kind.is_telling() || self.implies_attribute(&one.kind);
        let weight = if is_clear { CLEAR_SCORE } else { LIKELY_SCORE };
        let found = self.of_places(weight, Basis::Value, one.places(), other.places());
        Some(Difference { kind: Some(one.kind.clone()), ..found })
    }

    /// Tells whether a value says itself what one of the statements names: `weighs` is the attribute of `12 kg`.
    pub(super) fn implies_attribute(&self, kind: &Kind) -> bool {
        let names = |side: &Side<'_>| side.statement.terms.iter().any(|term| term.names_measure(kind));
        // `was up to 14 kg` says only how much, `eats 400 g` says something else.
        let only_states = |side: &Side<'_>| {
            let statement = side.statement;
            let mut values = statement.values.iter().filter(|value| value.kind.measures() == kind.measures());
            values.any(|value| {
                let before = value.start.checked_sub(1);
                before.is_some_and(|at| {
                    statement.prepositions.contains(&at) || statement.auxiliaries.contains(&at)
                }) || statement.form == Form::Pair
            })
        };
        !kind.measures().is_empty()
            && (names(&self.earlier) && !names(&self.later) && only_states(&self.later)
                || names(&self.later) && !names(&self.earlier) && only_states(&self.earlier)
                || names(&self.earlier) && names(&self.later) && self.shares_attribute())
    }

    /// Tells whether the statements hold at different times: both can be true.
    fn has_other_time(&self) -> bool {
        let is_time = |kind: &Kind| matches!(kind, Kind::Weekday(_) | Kind::Date(_) | Kind::Time(_));
        let later = &self.later.statement.values;
        self.earlier.statement.values.iter().filter(|one| is_time(&one.kind)).any(|one| {
            let mut others = later.iter().filter(|other| is_time(&other.kind));
            others.any(|other| one.kind.relation(&other.kind) == Relation::Different)
        })
    }

    fn opposite_states(&self) -> Option<(&'a State, &'a State)> {
        let earlier = self.earlier.statement;
        let later = self.later.statement;
        let has_object = self
            .pairs
            .iter()
            .any(|pair| !pair.in_both_heads() && pair.earlier.class != Class::State && !self.is_part(pair));
        let excludes = |one: &State, other: &State| {
            let is_excluded = match (one.negated, other.negated) {
                (false, false) => one.side != other.side,
                (true, true) => false,
                _ => one.side == other.side,
            };
            let qualify = one.start < earlier.head && other.start < later.head;
            let is_said_of_subject = one.predicative && other.predicative;
            let fits = match one.needs_object() {
                true => has_object || is_said_of_subject && self.pairs.iter().any(Pair::in_both_heads),
                false => !one.possible && !other.possible,
            };
            // `tabs over spaces` weighs both: twice in the same order is the same.
            let order = |states: &'a [State]| {
                let sides = states.iter().filter(|state| state.name == one.name).map(|state| state.side);
                sides.collect::<Vec<_>>()
            };
            let weighed = order(&earlier.states);
            let is_choice = weighed.iter().any(|side| *side != weighed[0]);
            let is_same_choice = is_choice && weighed == order(&later.states);
            // `is green` says nothing of `a red bicycle`.
            // `the blue pill in the morning`, `the white pill in the evening`
            let is_described =
                |pair: &Pair<'_>| pair.earlier.start == one.end && pair.later.start == other.end;
            let says_more = [&self.earlier, &self.later]
                .iter()
                .all(|side| side.rest.iter().any(|term| term.class != Class::State));
            let describes_other = self.earlier.describes_own_noun(one)
                || self.later.describes_own_noun(other)
                || says_more && self.pairs.iter().any(is_described);
            one.name == other.name && is_excluded && !qualify && fits && !is_same_choice && !describes_other
        };
        let mut states = earlier.states.iter();
        states.find_map(|one| Some(one).zip(later.states.iter().find(|other| excludes(one, other))))
    }

    /// States that exclude each other: `open` and `closed`.
    fn opposite(&self) -> Option<Difference> {
        let (one, other) = self.opposite_states().filter(|_| !self.has_other_time())?;
        let found = self.of_places(CLEAR_SCORE, Basis::State, one.start..one.end, other.start..other.end);
        Some(Difference { needs_object: one.needs_object(), ..found })
    }

    /// The same predicate or object, once negated.
    fn negated(&self) -> Option<Difference> {
        let differs = |pair: &Pair<'_>| pair.earlier.negated != pair.later.negated;
        let found = self.pairs.iter().find(|pair| {
            differs(pair)
                && !pair.in_earlier_head()
                && pair.earlier.class != Class::State
                && pair.shares_word()
        })?;
        let agrees = self.pairs.iter().any(|pair| !differs(pair));
        // `uses`, `afraid of`
        let links = |side: &Side<'_>, term: &Term| {
            side.statement.prepositions.contains(&term.end) || side.statement.genitives.contains(&term.end)
        };
        let needs_object = matches!(found.earlier.class, Class::Verb | Class::Attribute)
            || links(&self.earlier, found.earlier) && links(&self.later, found.later);
        (agrees && !self.has_other_time())
            .then(|| Difference { needs_object, ..self.of_pair(CLEAR_SCORE, Basis::State, found) })
    }

    /// Different names or nouns as the value of the same attribute.
    fn other_name(&self) -> Option<Difference> {
        let later = self.later.statement;
        let is_same_slot = self.shares_attribute()
            || self.is_same_role()
            || self.is_same_frame() && !self.has_other_attribute()
            || self.is_same_code()
            || self.has_other_holder();
        if !is_same_slot || self.takes_many() && !later.announces_change() {
            return None;
        }
        let is_holder = self.has_other_holder();
        let agrees =
            !is_holder && self.pairs.iter().any(|pair| pair.in_no_head() && pair.earlier.is_nominal());
        let mut olds = self.slot(&self.earlier, agrees);
        let news = self.slot(&self.later, agrees);
        // The later statement may say what happened to the old value: `..., Confluence is read-only`.
        if olds.is_empty() && later.has(Cue::Change) {
            let named =
                self.pairs.iter().filter(|pair| pair.in_no_head() && pair.earlier.class == Class::Name);
            olds = named.map(|pair| pair.earlier).collect();
        } else if agrees && !later.announces_change() {
            return None;
        }
        let old = *olds.first()?;
        let new = *news.first()?;
        let are_pairs = [&self.earlier, &self.later].iter().all(|side| side.statement.form == Form::Pair);
        if old.is_name() != new.is_name() && !are_pairs {
            return None;
        }
        let is_unique = is_holder || self.pairs.iter().any(|pair| pair.earlier.unique);
        let weight = if is_unique { OTHER_HOLDER_SCORE } else { LIKELY_SCORE };
        let places = [&olds, &news].map(|terms| terms.iter().map(|term| term.start).collect());
        Some(Difference { places, ..self.of_places(weight, Basis::Value, old.places(), new.places()) })
    }

    /// The same words except one noun after the same verb and preposition: `made of bronze`, `made of marble`.
    fn other_word(&self) -> Option<Difference> {
        let ([one], [other]) = (&self.earlier.rest[..], &self.later.rest[..]) else { return None };
        let is_complement = |side: &Side<'_>, term: &Term| {
            let before = term.start.checked_sub(1).map(|at| side.statement.tokens[at].lower.as_str());
            // `a band` is one of several.
            let is_one_of_many = before.is_some_and(|word| matches!(word, "a" | "an"));
            term.class == Class::Noun && !side.statement.in_head(term) && !is_one_of_many
        };
        let same_verb = self.pairs.iter().any(|pair| {
            let is_verb = matches!(pair.earlier.class, Class::Verb | Class::Attribute);
            pair.in_no_head() && is_verb && pair.shares_word()
        });
        let link = self.earlier.link_before(one);
        let has_values = [&self.earlier, &self.later].iter().any(|side| !side.statement.values.is_empty());
        let found = same_verb
            && !has_values
            && !self.takes_many()
            && link.is_some()
            && link == self.later.link_before(other)
            && is_complement(&self.earlier, one)
            && is_complement(&self.later, other);
        found.then(|| self.of_places(LIKELY_SCORE, Basis::Value, one.places(), other.places()))
    }

    /// Returns the terms that can be the value of a shared attribute: names, otherwise nouns that complete it.
    fn slot(&self, side: &Side<'a>, agrees: bool) -> Vec<&'a Term> {
        let statement = side.statement;
        let tail = |is_wanted: &dyn Fn(&Term) -> bool| -> Vec<&'a Term> {
            let terms = side.rest.iter().copied();
            terms.filter(|term| !statement.in_head(term) && is_wanted(term)).collect()
        };
        let named = tail(&Term::is_name);
        if !named.is_empty() {
            return named;
        }
        // `Declan owns it`: the holder is before the verb.
        if self.has_holder_as_subject(side) || side.statement.names_holder() && self.has_other_holder() {
            let heads = side.rest.iter().copied().filter(|term| statement.in_head(term));
            return heads.filter(|term| term.class == Class::Name).collect();
        }
        // `moved his piano`: the noun after a word of change is what changes.
        if agrees || !self.shares_attribute() || statement.has(Cue::Change) {
            return Vec::new();
        }
        tail(&|term| term.class == Class::Noun && (term.contrast.is_none() || statement.form == Form::Pair))
    }

    /// Tells whether a statement names the only holder of a shared attribute as its subject.
    pub(super) fn has_holder_as_subject(&self, side: &Side<'a>) -> bool {
        let statement = side.statement;
        let is_verb = |term: &Term| {
            let has_complement = statement.prepositions.contains(&(term.end - 1));
            term.unique && !has_complement && !statement.in_head(term)
        };
        let mut attributes = statement.terms.iter().filter(|term| !side.is_own(term));
        let is_same_role = |pair: &Pair<'_>| pair.is_thing() || pair.earlier.unique && pair.same_word();
        statement.form == Form::Sentence && attributes.any(is_verb) && self.pairs.iter().any(is_same_role)
    }

    /// Tells whether the shared attribute takes several values.
    fn takes_many(&self) -> bool {
        let is_many = |side: &Side<'_>, term: &Term| {
            // `guest` in `guest wifi password` is not what has several values.
            let holds = !side.statement.in_head(term) || side.statement.is_head_noun(term);
            holds && side.statement.cues.iter().any(|mark| mark.cue == Cue::Many && mark.start == term.start)
        };
        !self.pairs.iter().any(|pair| pair.earlier.unique)
            && self
                .pairs
                .iter()
                .any(|pair| is_many(&self.earlier, pair.earlier) || is_many(&self.later, pair.later))
    }

    /// Both name who or what fills one role, in words that no table knows: `the drummer of the band is ...`.
    fn is_same_role(&self) -> bool {
        let is_apart =
            |side: &Side<'_>| side.has_own_head(|term| term.is_thing() || term.class == Class::Attribute);
        // `Ada is a citizen of Chile`, `Ada is married to Jo`: each names an attribute of its own.
        let is_other = self.has_other_attribute();
        if !self.earlier.is_naming() || self.shares_attribute() || is_other || is_apart(&self.earlier) {
            return false;
        }
        let is_headless = self.later.is_headless();
        let heads = self.pairs.iter().filter(|pair| {
            let is_named = pair.earlier.is_nominal() || pair.earlier.class == Class::Character;
            is_named && (pair.in_both_heads() || pair.in_earlier_head() && is_headless)
        });
        let count = heads.count() + usize::from(self.both_speak());
        let later = self.later.statement;
        let mut tail = later.terms.iter().filter(|term| !later.in_head(term)).peekable();
        // `Log level: INFO`, `logs at DEBUG`
        let is_name = tail.peek().is_some() && tail.all(Term::is_name);
        let is_stated = self.later.is_naming() || later.announces_change() || is_name;
        // `The mayor is A`, `Mayor: B`
        let are_named = [&self.earlier, &self.later].iter().all(|side| {
            let mut tail = side.statement.terms.iter().filter(|term| !side.statement.in_head(term));
            side.is_naming() && tail.all(|term| term.class == Class::Name)
        });
        let is_enough = count >= 2 || count == 1 && are_named;
        let same_heads = self.shares_noun() && is_enough && is_stated && !is_apart(&self.later);
        // `The studio switched to Godot as its game engine`
        let restated = self.pairs.iter().filter(|pair| pair.in_earlier_head() && pair.is_thing()).count();
        let restated = restated + usize::from(self.both_speak());
        same_heads || restated >= 2 && self.later.statement.has(Cue::Change)
    }

    /// Identifiers of the same form, and the same nouns: `serial number BX-2210`, `serial number BX-2270`.
    fn is_same_code(&self) -> bool {
        let shape = |side: &Side<'_>| {
            let mut tail = side.rest.iter().filter(|term| !side.statement.in_head(term));
            let code = tail.find(|term| term.class == Class::Code)?;
            let signs = code.keys[0].chars().map(|c| match c {
                '0'..='9' => '0',
                c if c.is_alphabetic() => 'a',
                c => c,
            });
            let mut shape: Vec<char> = signs.collect();
            shape.dedup();
            Some(shape)
        };
        let nouns = self.pairs.iter().filter(|pair| pair.earlier.is_nominal()).count();
        let one = shape(&self.earlier);
        one.is_some() && one == shape(&self.later) && nouns >= 2 && self.shares_noun()
    }

    /// The same subject, and names after the same preposition: `is on A Square`, `is on B Square`.
    fn is_same_frame(&self) -> bool {
        const PLACES: [&str; 3] = ["@location", "@home", "@directory"];
        let preposition = |side: &Side<'a>| {
            let mut names = side.rest.iter().filter(|term| !side.statement.in_head(term));
            side.link_before(names.find(|term| term.is_name())?)
        };
        let is_compound = |side: &Side<'_>, term: &Term| {
            let mut next = side.statement.terms.iter().filter(|next| next.start == term.end && next.generic);
            next.any(|next| side.statement.in_head(next))
        };
        let subject = self.pairs.iter().any(|pair| {
            let compounds = [is_compound(&self.earlier, pair.earlier), is_compound(&self.later, pair.later)];
            pair.in_earlier_head() && pair.is_thing() && compounds[0] == compounds[1]
        });
        let is_place = |side: &Side<'_>| {
            let mut keys = side.statement.terms.iter().flat_map(|term| &term.keys);
            side.statement.copula || keys.any(|key| PLACES.contains(&key.as_str()))
        };
        let is_predicate =
            |pair: &Pair<'_>| pair.in_no_head() && matches!(pair.earlier.class, Class::Verb | Class::Noun);
        // A verb that no list has is taken for a part of the subject.
        let same_heads =
            self.pairs.iter().filter(|pair| pair.in_both_heads() && pair.earlier.is_nominal()).count();
        let same_verb = self.pairs.iter().any(is_predicate)
            || is_place(&self.earlier) && is_place(&self.later)
            || same_heads >= 2 && !self.earlier.is_naming();
        let one = preposition(&self.earlier);
        one.is_some()
            && one == preposition(&self.later)
            && subject
            && (same_verb || self.later.statement.has(Cue::Change))
    }

    /// The earlier value is the subject of a change in the later statement: `Priya handed billing over`.
    fn succeeded(&self) -> Option<Difference> {
        let later = self.later.statement;
        let changes = later.has(Cue::Change) || later.has(Cue::End);
        if !changes || !self.shares_attribute() && self.earlier.has_own_head(Term::is_thing) {
            return None;
        }
        let old = self.pairs.iter().find(|pair| pair.moves_to_head() && pair.earlier.is_nominal())?;
        let is_bound = self.pairs.iter().any(|pair| pair.in_earlier_head() && pair.earlier.is_nominal());
        let mut tail = self.later.rest.iter().filter(|term| !later.in_head(term));
        let new = tail.find(|term| term.is_nominal());
        let places = [old.later.start].into_iter().chain(new.map(|term| term.start)).collect();
        (is_bound || self.shares_attribute_named("name")).then(|| Difference {
            later: new.map(|term| later.text(term.places())),
            places: [vec![old.earlier.start], places],
            ..self.of_pair(CLEAR_SCORE, Basis::Value, old)
        })
    }

    /// The holder of a role is gone: `Our nanny is Ann`, `Ann left`.
    fn departed(&self) -> Option<Difference> {
        let earlier = self.earlier.statement;
        let later = self.later.statement;
        let holder =
            self.pairs.iter().find(|pair| pair.moves_to_head() && pair.earlier.class == Class::Name)?;
        // Not `Ann left her keys`.
        let leaves = |mark: &Mark| {
            let next = later.tokens.get(mark.end).filter(|_| later.tokens[mark.end - 1].stop == ' ');
            let is_last = next.is_none_or(|next| {
                const AFTER: [&str; 5] = ["and", "last", "this", "yesterday", "today"];
                later.prepositions.contains(&mark.end) || AFTER.contains(&next.lower.as_str())
            });
            mark.cue == Cue::End && is_last && mark.start <= later.head + 1
        };
        let is_role =
            earlier.speaker || earlier.terms.iter().any(|term| earlier.in_head(term) && term.unique);
        let found = self.earlier.is_naming() && is_role && later.cues.iter().any(leaves);
        found.then(|| Difference { later: None, ..self.of_pair(CLEAR_SCORE, Basis::Old, holder) })
    }

    /// The subject gives away what the earlier statement says it has: `Wendy handed the role to Ali`.
    fn gave_away(&self) -> Option<Difference> {
        let given = self.pairs.iter().find(|pair| {
            let term = pair.earlier;
            pair.in_no_head() && !term.negated && (term.is_thing() || term.class == Class::Attribute)
        })?;
        let found = self.later.statement.has(Cue::Transfer) && self.pairs.iter().any(Pair::in_both_heads);
        found.then(|| Difference { later: None, ..self.of_pair(CLEAR_SCORE, Basis::Old, given) })
    }

    /// One statement denies that there is what the other speaks of: `I don't own a car`, `my car is grey`.
    fn denied(&self) -> Option<Difference> {
        let ends = |side: &Side<'_>, term: &Term| term.end == side.statement.tokens.len();
        let in_head = |side: &Side<'_>, term: &Term| side.statement.in_head(term);
        let found = self.pairs.iter().find(|pair| {
            let Pair { earlier, later, .. } = **pair;
            earlier.negated && ends(&self.earlier, earlier) && in_head(&self.later, later)
                || later.negated && ends(&self.later, later) && in_head(&self.earlier, earlier)
        })?;
        let is_owner = |pair: &Pair<'_>| {
            let term = pair.earlier;
            term.class == Class::Name && pair.in_earlier_head() && !std::ptr::eq(term, found.earlier)
        };
        let both_speak = self.earlier.statement.speaker && self.later.statement.speaker;
        (both_speak || self.pairs.iter().any(is_owner)).then(|| Difference {
            earlier: None,
            later: None,
            ..self.of_pair(DENIAL_SCORE, Basis::State, found)
        })
    }

    /// The later statement says to what the subject of the earlier one changed: `The topic is reefs`, `changed the topic to
    /// mangroves`.
    fn changed_to(&self) -> Option<Difference> {
        const TO: [&str; 8] = ["to", "into", "auf", "zu", "a", "à", "en", "nach"];
        let later = self.later.statement;
        let change = later.cues.iter().find(|mark| mark.cue == Cue::Change)?;
        let to =
            (change.start..later.tokens.len()).find(|at| TO.contains(&later.tokens[*at].lower.as_str()))?;
        let new = self.later.rest.iter().find(|term| term.start > to && term.is_thing())?;
        let earlier = self.earlier.statement;
        let old = self.earlier.rest.iter().find(|term| !earlier.in_head(term) && term.is_thing())?;
        let shared =
            self.pairs.iter().filter(|pair| pair.in_earlier_head() && pair.earlier.class != Class::Verb);
        let is_same = shared.count() >= 2 && !self.earlier.has_own_head(Term::is_thing);
        let is_value = self.earlier.is_naming() && new.start <= to + 3;
        (is_same && is_value).then(|| self.of_places(LIKELY_SCORE, Basis::Value, old.places(), new.places()))
    }

    /// A choice between the same two things, the other way round: `prefers email over calls`, `would rather be called
    /// than mailed`.
    fn reordered(&self) -> Option<Difference> {
        let chosen = self.earlier.statement.choice()?;
        let other = self.later.statement.choice()?;
        let at = |pair: &&Pair<'_>| [pair.earlier.start < chosen, pair.later.start < other];
        let tail = || self.pairs.iter().filter(|pair| pair.in_no_head());
        let first = tail().find(|pair| at(pair) == [true, false])?;
        tail().find(|pair| at(pair) == [false, true])?;
        Some(self.of_pair(CLEAR_SCORE, Basis::State, first))
    }

    /// The later statement says that what the earlier one states has ended.
    fn ended(&self) -> Option<Difference> {
        const MAX_OBJECT_DISTANCE: usize = 3;
        let cues = self.later.statement.cues.iter();
        let ends: Vec<&Mark> = cues.filter(|mark| matches!(mark.cue, Cue::End | Cue::Anymore)).collect();
        let is_object = |term: &Term| {
            ends.iter().any(|mark| (mark.end..mark.end + MAX_OBJECT_DISTANCE).contains(&term.start))
        };
        let has_object = self.pairs.iter().any(|pair| !pair.in_earlier_head() && is_object(pair.later));
        let same_subject = self.both_speak()
            || self.pairs.iter().any(Pair::in_both_heads)
            || ![&self.earlier, &self.later].iter().any(|side| side.has_own_head(Term::is_thing));
        let content = self.pairs.iter().filter(|pair| match pair.earlier.class {
            Class::Verb => false,
            Class::Noun | Class::Attribute if self.is_part(pair) => false,
            Class::State => pair.same_word(),
            _ => true,
        });
        if ends.is_empty() || !same_subject || content.count() < 2 && !has_object {
            return None;
        }
        Some(Difference {
            weight: if has_object { CLEAR_SCORE } else { LIKELY_SCORE },
            basis: Basis::State,
            earlier: None,
            later: None,
            places: [Vec::new(), Vec::new()],
            kind: None,
            needs_object: false,
        })
    }
}

impl<'a> Side<'a> {
    /// Tells whether a state describes a noun that the other statement lacks: `a red bicycle`.
    fn describes_own_noun(&self, state: &State) -> bool {
        // `brothers` is itself a noun.
        let is_noun =
            self.statement.cues.iter().any(|mark| mark.cue == Cue::Many && mark.start == state.start);
        let follows = self.statement.tokens[state.end - 1].stop == ' ';
        follows && !is_noun && self.rest.iter().any(|term| term.start == state.end && term.is_nominal())
    }

    /// Tells whether a date says when a change happened, not what changed: `repainted in 2004`.
    fn is_time_of_change(&self, value: &Value) -> bool {
        const POINTS: [&str; 13] =
            ["in", "on", "since", "during", "last", "im", "am", "seit", "en", "desde", "el", "depuis", "le"];
        let statement = self.statement;
        let is_near = |mark: &Mark| {
            let between = statement.tokens.get(mark.start..value.start);
            matches!(mark.cue, Cue::Change | Cue::End)
                && between.is_none_or(|tokens| tokens.iter().all(|token| token.stop == ' '))
        };
        let before = value.start.checked_sub(1).map(|at| statement.tokens[at].lower.as_str());
        matches!(value.kind, Kind::Date(_) | Kind::Weekday(_))
            && statement.cues.iter().any(is_near)
            && before.is_some_and(|word| POINTS.contains(&word))
    }

    /// Returns the preposition directly before a term or its article.
    pub(super) fn preposition_before(&self, term: &Term) -> Option<&'a str> {
        let statement = self.statement;
        let mut before = (term.start.saturating_sub(2)..term.start).rev();
        let at = before.find(|at| statement.prepositions.contains(at))?;
        Some(without_article(&statement.tokens[at].lower))
    }

    /// Returns the last preposition before a term.
    fn link_before(&self, term: &Term) -> Option<&'a str> {
        let links = self.statement.prepositions.iter().chain(&self.statement.genitives);
        let at = links.filter(|at| **at < term.start).max()?;
        Some(without_article(&self.statement.tokens[*at].lower))
    }
}

/// Returns a preposition without the article that some languages join to it.
fn without_article(preposition: &str) -> &str {
    match preposition {
        "im" => "in",
        "am" => "an",
        "beim" => "bei",
        "vom" => "von",
        "zum" | "zur" => "zu",
        "au" | "aux" => "à",
        "al" => "a",
        other => other,
    }
}

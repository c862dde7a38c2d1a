use proptest::prelude::*;

use super::*;

/// Formats a claim as one line: `Keystone.port = 3000`, `Anna -sister_of-> Ben`, `Mama is Heidi`.
fn shown(claim: &Claim) -> String {
    match claim {
        Claim::Fact { entity, key, value, category, .. } => {
            let category = category.as_ref().map(|category| format!(" [{category}]")).unwrap_or_default();
            format!("{entity}.{key} = {value}{category}")
        }
        Claim::Relation { subject, predicate, object } => format!("{subject} -{predicate}-> {object}"),
        Claim::Alias { alias, entity } => format!("{alias} is {entity}"),
    }
}

#[track_caller]
fn check(path: &str, text: &str, expected: &[&str]) {
    let reading = document(path, text);
    let found: Vec<String> =
        reading.said.iter().map(|said| format!("{}: {}", said.line, shown(&said.claim))).collect();
    assert_eq!(found, expected, "{path}: {text}\nkept out: {:?}", reading.kept_out);
}

/// Checks one sentence in a document without a subject.
#[track_caller]
fn says(sentence: &str, expected: &[&str]) {
    let reading = document("notes.md", sentence);
    let found: Vec<String> = reading.said.iter().map(|said| shown(&said.claim)).collect();
    assert_eq!(found, expected, "{sentence}\nkept out: {:?}", reading.kept_out);
}

#[test]
fn sentences_say_one_thing_of_something_named() {
    for (sentence, expected) in [
        ("Anna Berg is the sister of Ben.", "Anna Berg -sister_of-> Ben"),
        ("Anna is the CTO of Acme Labs.", "Anna -cto_of-> Acme Labs"),
        ("Paris is the capital of France, of course.", "Paris -capital_of-> France"),
        ("Anna's birthday is March 3, and we forgot it.", "Anna.birthday = March 3"),
        ("Keystone’s port is 3000.", "Keystone.port = 3000"),
        ("Keystone's default branch is `main`", "Keystone.default_branch = main"),
        ("Anna's brother is Ben.", "Ben -brother_of-> Anna"),
        ("Anna's dog is called Rex.", "Rex -dog_of-> Anna"),
        ("Keystone's owner is Anna.", "Anna -owns-> Keystone"),
        ("Ben's favourite color is blue.", "Ben.favourite_color = blue"),
        ("Keystone runs on nas-01.", "Keystone -runs_on-> nas-01"),
        ("The Keystone API runs on `nas-01` for now.", "Keystone API -runs_on-> nas-01"),
        ("`keystone` runs on port 4100.", "keystone.port = 4100"),
        ("build-agent runs on web2.", "build-agent -runs_on-> web2"),
        ("Anna lives in San Francisco with Ben.", "Anna -lives_in-> San Francisco"),
        ("Anna lives in a small village.", "Anna.lives_in = a small village"),
        ("Anna works at Acme.", "Anna -works_at-> Acme"),
        ("Anna works for the Acme Corporation in Berlin.", "Anna -works_at-> Acme Corporation"),
        ("Anna works as a nurse.", "Anna.job = nurse"),
        ("Anna owns Keystone.", "Anna -owns-> Keystone"),
        ("Anna owns two cats.", "Anna.owns = two cats"),
        ("Keystone is owned by Anna.", "Anna -owns-> Keystone"),
        ("Anna is married to Ben Okafor.", "Anna -married_to-> Ben Okafor"),
        ("Keystone depends on PostgreSQL 16.", "Keystone -depends_on-> PostgreSQL 16"),
        ("Keystone uses Redis.", "Keystone -uses-> Redis"),
        ("Anna maintains Keystone.", "Anna -maintains-> Keystone"),
        ("Anna reports to Ben.", "Anna -reports_to-> Ben"),
        ("Anna is also known as Annie.", "Annie is Anna"),
        ("Heidi is also called Mama.", "Mama is Heidi"),
        ("Kubernetes (aka K8s) is new here.", "K8s is Kubernetes"),
        ("Last week Anna Berg (also known as Annie) came.", "Annie is Anna Berg"),
        // A change yields the new state.
        ("Keystone now runs on web2.", "Keystone -runs_on-> web2"),
        ("Keystone is now hosted on web2.", "Keystone -runs_on-> web2"),
        ("Keystone moved from nas-01 to web2.", "Keystone -runs_on-> web2"),
        ("Keystone's port changed from 3000 to 4100.", "Keystone.port = 4100"),
        ("Keystone's port is now 4100.", "Keystone.port = 4100"),
        ("Anna moved to Berlin.", "Anna -moved_to-> Berlin"),
        ("Keystone switched from MySQL to PostgreSQL.", "Keystone -uses-> PostgreSQL"),
    ] {
        says(sentence, &[expected]);
    }
    says(
        "Keystone uses Redis, PostgreSQL and Caddy.",
        &["Keystone -uses-> Redis", "Keystone -uses-> PostgreSQL", "Keystone -uses-> Caddy"],
    );
    says("Anna and Ben report to Cleo.", &["Anna -reports_to-> Cleo", "Ben -reports_to-> Cleo"]);
    says("Anna and Ben might report to Cleo.", &[]);
    says("The boss and Ben report to Cleo.", &[]);
    says(
        "Two small helpers, Anna and Ben, report to Cleo and talk much.",
        &["Anna -reports_to-> Cleo", "Ben -reports_to-> Cleo"],
    );
    check("people/anna.md", "# Anna\n\nAnna moved from Oslo to Berlin.\n", &["3: Anna -lives_in-> Berlin"]);
    // A heading's name may be the beginning of another.
    check("a.md", "# Keystone\n\nKeystone Web runs on web2.\n", &["3: Keystone Web -runs_on-> web2"]);
    check(
        "keystone.md",
        "# Keystone\n\nThe rest.\n\nPort changed from 3000 to 4100.\n",
        &["5: Keystone.port = 4100"],
    );
}

#[test]
fn what_is_denied_supposed_or_asked_says_nothing() {
    for sentence in [
        "Keystone does not run on nas-01.",
        "Keystone is not hosted on web2.",
        "Keystone no longer runs on nas-01.",
        "Keystone might run on web2.",
        "If Keystone runs on web2, it is fast.",
        "Keystone would run on web2.",
        "Does Keystone run on nas-01?",
        "Keystone runs on web2?",
        "Anna isn't married to Ben.",
        "Anna never works at Acme.",
        "Anna previously worked at Acme.",
        "Maybe Anna lives in Berlin.",
        "Anna will be the head of Acme.",
        // No identifiable person.
        "He lives in Berlin.",
        "It runs on nas-01.",
        "The server runs on Linux.",
        "Deployment uses Docker.",
        "Everything depends on Redis.",
        "When Anna lives in Berlin, she is happy.",
        "Someone's birthday is March 3.",
        "my server runs on Debian.",
        // No identifiable thing.
        "Keystone uses a lot of memory.",
        "Keystone depends on the weather.",
        "The backup runs on Sundays.",
        "Keystone runs on Sundays.",
        "Anna's car is broken.",
        "Anna is the best of all.",
        "Anna is the first of May.",
        "Keystone is part of it.",
        "Keystone uses Docker images for its tests.",
        "`Keystone` now uses non-blocking when available.",
        "See https://example.com/Anna is the sister of Ben",
    ] {
        says(sentence, &[]);
    }
}

#[test]
fn bullets_are_about_the_heading_above() {
    check(
        "notes/keystone.md",
        "# Project: Keystone\n\
         - port: 3000\n\
         * **Stack**: Next.js + PostgreSQL\n\
         + **Repo:** [code](https://example.com/keystone)\n\
         - **Region** - eu-west\n\
         - Owner: Anna Berg\n\
         - languages: Rust, SQL and Go\n\
         - address: 1 Main St, Springfield\n\
         ## Notes\n\
         - license: MIT\n\
         ## Keystone Web\n\
         - port: 4100\n",
        &[
            "2: Keystone.port = 3000 [project]",
            "3: Keystone.stack = Next.js + PostgreSQL [project]",
            "4: Keystone.repo = https://example.com/keystone [project]",
            "5: Keystone.region = eu-west [project]",
            "6: Anna Berg -owns-> Keystone",
            "7: Keystone.languages = Rust [project]",
            "7: Keystone.languages = SQL and Go [project]",
            "8: Keystone.address = 1 Main St, Springfield [project]",
            "10: Keystone.license = MIT [project]",
            "12: Keystone Web.port = 4100",
        ],
    );
    // People in a list, with what belongs to them below.
    check(
        "family-contacts.md",
        "# Contacts\n\n## Family\n\n- Anna: my older sister\n- **Ben**\n  - phone: 555 0101\n  - nickname: Benny\n- Cleo:\n  - birthday: 3 May\n\n### Dora\n- phone: 555 0102\n",
        &[
            "5: Anna.about = my older sister [family]",
            "7: Ben.phone = 555 0101 [family]",
            "8: Benny is Ben",
            "10: Cleo.birthday = 3 May [family]",
            "13: Dora.phone = 555 0102 [family]",
        ],
    );
    // A value may continue on the next line.
    check("a.md", "# Atlas\n- motto: slow and\n  steady\n", &["2: Atlas.motto = slow and steady"]);
    // A phrase is not a name, a long value is not a value, and a sentence is not a key.
    check("a.md", "# What we learned so far, and why\n- port: 3000\n", &[]);
    let many = "word ".repeat(26);
    check(
        "a.md",
        &format!("# Atlas\n- **It is fast**: yes\n- motto: {many}\n- plan b: {many}. Atlas runs on web2.\n"),
        &["4: Atlas -runs_on-> web2"],
    );
    check("CHANGELOG.md", "# Atlas\n- port: 3000\n", &[]);
    check("a.md", "# Atlas\n## Notes (old)\n- port: 3000\n", &["3: Atlas.port = 3000"]);
    // No subject.
    check("2026-02-18.md", "# 2026-02-18\n- lunch: soup\n", &[]);
    check("a.md", "- lunch: soup\n", &[]);
}

#[test]
fn some_files_are_about_someone() {
    check(
        "USER.md",
        "# USER.md - About You\n- **Name:** Ida Holm\n- **What to call them:** Ida\n- **Timezone:** Europe/Oslo\n- **Pronouns:** _(optional)_\n\n## Family\n- Sister: Anna\n- Rex: a very old dog\n\n## Preferences\n- Editor: Helix\n",
        &[
            "2: Ida Holm.name = Ida Holm [user]",
            "3: Ida is Ida Holm",
            "4: Ida Holm.timezone = Europe/Oslo [user]",
            "8: Anna -sister_of-> Ida Holm",
            "9: Rex.about = a very old dog [family]",
            "12: Ida Holm.editor = Helix [preference]",
        ],
    );
    check(
        "USER.md",
        "# User\n- timezone: UTC\n- wife: Dora\n",
        &["2: user.timezone = UTC [user]", "3: Dora -wife_of-> user"],
    );
    check(
        "w/IDENTITY.md",
        "- Name: Clam\n- Creature: oyster\n",
        &["1: Clam.name = Clam [self]", "2: Clam.creature = oyster [self]"],
    );
    check("SOUL.md", "# Soul\n## Voice\n- tone: warm\n", &["3: self.tone = warm [self]"]);
    check(
        "MEMORY.md",
        "# Memory\n## Preferences\n- Editor: Helix\n",
        &["3: user.editor = Helix [preference]"],
    );
}

#[test]
fn tables_list_keys_or_entities() {
    check(
        "a.md",
        "# Atlas\n| Key | Value |\n|---|---|\n| port | 3000 |\n| status | up |\n| owner | Anna |\n",
        &["4: Atlas.port = 3000", "6: Anna -owns-> Atlas"],
    );
    check(
        "a.md",
        "# Machines we have\n| Host | IP | Role |\n| :-- | --- | --: |\n| nas-01 | 10.0.0.2 | storage |\n| `web2` | 10.0.0.3 | |\n\n| loose | row |\n",
        &[
            "4: nas-01.ip = 10.0.0.2 [host]",
            "4: nas-01.role = storage [host]",
            "5: web2.ip = 10.0.0.3 [host]",
        ],
    );
}

/// Different ways to write a heading and a list of facts about the same thing.
#[test]
fn headings_and_keys_are_written_in_many_ways() {
    for heading in [
        "# Atlas\n",
        "## Atlas ##\n",
        "#### Atlas\n",
        "Atlas\n=====\n",
        "Atlas\n-----\n",
        "## 3. Atlas\n",
        "## 2.1 Atlas\n",
        "### **Atlas**\n",
    ] {
        let at = heading.matches('\n').count() + 1;
        check("a.md", &format!("{heading}- port: 3000\n"), &[&format!("{at}: Atlas.port = 3000")]);
    }
    for (line, expected) in [
        ("**Port**: 3000", "port = 3000"),
        ("**Port:** 3000", "port = 3000"),
        ("- Port ........ 3000", "port = 3000"),
        ("- Port — 3000", "port = 3000"),
        ("- **Tel.**: 555 0101", "tel = 555 0101"),
        ("- Customer no.: K-77", "customer_no = K-77"),
        ("- **E-mail**: a@b.example", "e_mail = a@b.example"),
        ("- first day of the season: 3 May", "first_day_of_the_season = 3 May"),
        ("A large sheet of paper. **Tel.**: 555 0101", "tel = 555 0101"),
        ("Phone: 555 0101  \nSince: 2019", "phone = 555 0101"),
        ("Phone: 555 0101\\\nSince: 2019", "phone = 555 0101"),
    ] {
        let reading = document("a.md", &format!("# Atlas\n- x\n\n{line}\n"));
        let found = reading.said.iter().map(|said| shown(&said.claim)).collect::<Vec<_>>();
        assert!(found.contains(&format!("Atlas.{expected}")), "{line}: {found:?} {:?}", reading.kept_out);
    }
    // Each line is a fact, and a line without a key continues the previous one.
    check(
        "a.md",
        "Atlas\n=====\n\n**Motto**: slow and\nsteady\n**Port**: 3000\n\nPhone: 555 0101\nSince: 2019\n",
        &[
            "4: Atlas.motto = slow and steady",
            "6: Atlas.port = 3000",
            "8: Atlas.phone = 555 0101",
            "9: Atlas.since = 2019",
        ],
    );
    // A rule separates two sections and is not a key; neither is a sentence with a dash or a colon.
    check(
        "a.md",
        "# Atlas\n\nA word: or two.\n\n---\n\n- It rained — all day.\n- Done. Then: home\n- Reads the numbers first: put them there\n- `list --all of it`: what there is\n- port: 1\n",
        &["11: Atlas.port = 1"],
    );
    // Keys with a list of values, and their statements.
    check(
        "a.md",
        "# Ida Holm\n- Languages: Dutch, Arabic\n- allergies: horse hair, mild; takes a tablet\n## Allergies\n- bees, which is a pity\n- It is worse in May, when the windows are open at night.\n",
        &[
            "2: Ida Holm.languages = Dutch",
            "2: Ida Holm.languages = Arabic",
            "3: Ida Holm.allergies = horse hair, mild; takes a tablet",
            "5: Ida Holm.allergies = bees",
        ],
    );
    // A relation with additional text.
    check(
        "a.md",
        "# Atlas\n- Maintainer: Ida Holm, with help\n- Hosted on: keystone\n- Alerts: to Ida Holm first\n- Needs: sleep\n\nGauge runs on keystone and needs Redis.\n",
        &[
            "2: Ida Holm -maintains-> Atlas",
            "2: Atlas.maintainer = Ida Holm, with help",
            "3: Atlas -runs_on-> keystone",
            "4: Atlas -alerts-> Ida Holm",
            "4: Atlas.alerts = to Ida Holm first",
            "5: Atlas.needs = sleep",
            "7: Gauge -runs_on-> keystone",
            "7: Gauge -depends_on-> Redis",
        ],
    );
}

#[test]
fn tables_are_about_their_first_column() {
    check(
        "a.md",
        "# What we have\n\n| Box | Address | Where | Notes |\n|---|---|---|---|\n| heron | 10.0.0.2 | cellar | old |\n| **[teal](x)** | `10.0.0.3` | — | |\n",
        &[
            "5: heron.address = 10.0.0.2 [host]",
            "5: heron.where = cellar [host]",
            "6: teal.address = 10.0.0.3 [host]",
        ],
    );
    check(
        "a.md",
        "# What happens when\n\n| Job | Time | Machine |\n|---|---|---|\n| nightly copy | 01:20 | heron |\n| of course | never | |\n",
        &["5: nightly copy.time = 01:20", "5: nightly copy -runs_on-> heron"],
    );
    check(
        "a.md",
        "# Atlas\n\n| | |\n|---|---|\n| Port | 3000 |\n\n| Thing | Detail |\n|---|---|\n| Gull, tyres | 26 inch |\n| Colour | blue |\n\n| Week | First |\n|---|---|\n| 23 | Ida |\n",
        &["5: Atlas.port = 3000", "9: Gull.tyres = 26 inch", "10: Atlas.colour = blue"],
    );
    check(
        "a.md",
        "| Who | What | Since |\n|---|---|---|\n| Ida Holm | the March bill | May |\n",
        &["3: Ida Holm.since = May [person]"],
    );
    // A person whose full name occurs once in the document is called by it.
    check(
        "a.md",
        "| Who | Born |\n|---|---|\n| Ida Holm | 1980 |\n| Ben Ek | 1981 |\n| Ben Ny | 1982 |\n\n### Cleo\n\nIda's godmother. Ben's cousin, too.\n",
        &[
            "3: Ida Holm.born = 1980 [person]",
            "4: Ben Ek.born = 1981 [person]",
            "5: Ben Ny.born = 1982 [person]",
            "9: Cleo -godmother_of-> Ida Holm",
            "9: Cleo -cousin_of-> Ben",
            "9: Cleo.about = Ida's godmother. Ben's cousin, too.",
        ],
    );
}

#[test]
fn what_a_section_is_about_may_be_left_out() {
    for (sentence, expected) in [
        ("His wife is Dora Holm.", "Dora Holm -wife_of-> Ben Ek"),
        ("His wife Dora runs the shop.", "Dora -wife_of-> Ben Ek"),
        ("He works for Acme.", "Ben Ek -works_at-> Acme"),
        ("He rents the house from Ida Holm.", "Ida Holm -landlord_of-> Ben Ek"),
        ("Owner of Lund Systems, since 2019.", "Ben Ek -owns-> Lund Systems"),
        ("Based in Bergen.", "Ben Ek -located_in-> Bergen"),
        ("Employed by Acme Labs.", "Ben Ek -works_at-> Acme Labs"),
        ("Lives in Oslo.", "Ben Ek -lives_in-> Oslo"),
        ("Ida's brother.", "Ben Ek -brother_of-> Ida"),
        ("Mobile +47 555 0101, weekdays.", "Ben Ek.mobile = +47 555 0101"),
        ("Ben Ek is employed by Acme Labs.", "Ben Ek -works_at-> Acme Labs"),
        ("Ben Ek looks after Atlas.", "Ben Ek -looks_after-> Atlas"),
        ("Atlas is looked after by Ben Ek.", "Ben Ek -looks_after-> Atlas"),
        ("Atlas listens on 3000.", "Atlas.port = 3000"),
        ("Atlas is backed up to `nas-01`.", "Atlas -backed_up_to-> nas-01"),
        ("Ben Ek owns heron, the machine in the cellar.", "Ben Ek -owns-> heron"),
        ("Ben Ek is the landlord of Ida.", "Ben Ek -landlord_of-> Ida"),
        ("Anna's brother Carl came.", "Carl -brother_of-> Anna"),
    ] {
        let reading = document("a.md", &format!("## Ben Ek\n\n- x\n\n{sentence}\n"));
        let found: Vec<String> = reading.said.iter().map(|said| shown(&said.claim)).collect();
        assert_eq!(found, [expected], "{sentence}");
    }
    for sentence in [
        // No subject.
        "Dora came. He works for Acme.",
        "The shop is new. It runs on nas-01.",
        // Not true now.
        "He used to work for Acme.",
        "He does not work for Acme.",
        "If he is tired: based in Oslo.",
        "Would be based in Oslo.",
        "Not the owner of Acme.",
        "Does he work for Acme?",
        "His wife is tall.",
        "Owner of two cats.",
        "Mobile only at night.",
    ] {
        let reading = document("a.md", &format!("## Ben Ek\n\n- x\n\n{sentence}\n"));
        assert_eq!(reading.said, [], "{sentence}");
    }
    // A pronoun that does not fit such a thing.
    check("servers/a.md", "# Atlas\n\n- x\n\nHe runs on nas-01.\n", &[]);
    // The opening of a section describes its subject, if something else is known about that.
    let opening = "# Atlas\n\nSends the reminders at night. Nobody answers them.\n\nA second paragraph, of no account.\n";
    check("a.md", opening, &[]);
    check(
        "a.md",
        &format!("{opening}\n- port: 3000\n"),
        &["7: Atlas.port = 3000", "3: Atlas.about = Sends the reminders at night. Nobody answers them."],
    );
    check("a.md", "# Notes\n\nSends the reminders at night.\n", &[]);
}

#[test]
fn titles_in_front_of_their_text() {
    // In a log they are events; short titles repeat on other days.
    check(
        "log.md",
        "# Thursday 12 February 2026\n\n**Well.** The digger found a brick well, nine metres deep.\n\n**Payments do not work.** Acme takes the money\nand forgets it.\n\n**Atlas** got new tyres and a dent.\n",
        &[
            "3: Well (2026-02-12).kind = event [event]",
            "3: Well (2026-02-12).date = 2026-02-12 [event]",
            "3: Well (2026-02-12).summary = The digger found a brick well, nine metres deep. [event]",
            "5: Payments do not work.kind = event [event]",
            "5: Payments do not work.date = 2026-02-12 [event]",
            "5: Payments do not work.summary = Acme takes the money and forgets it. [event]",
            "8: Atlas (2026-02-12).kind = event [event]",
            "8: Atlas (2026-02-12).date = 2026-02-12 [event]",
            "8: Atlas (2026-02-12).summary = Atlas got new tyres and a dent. [event]",
        ],
    );
    check(
        "kit.md",
        "Clinic kit\n==========\n\n**Steam oven.** Bought in 2020. Needs a wipe.\n\n**Note.** Nothing of this lasts.\n\n**Very** much of it is old.\n",
        &["4: Steam oven.about = Bought in 2020. Needs a wipe."],
    );
    // Rules, with and without numbers.
    for (path, text) in [
        ("rules.md", "R5. *Lab results.* None goes out unread.\n"),
        ("a.md", "# House rules\n5. **Lab results.** None goes out unread.\n"),
        ("a.md", "Rules that we keep\n---\n- _Lab results._ None goes out unread.\n"),
    ] {
        let reading = document(path, text);
        let found: Vec<String> = reading.said.iter().map(|said| shown(&said.claim)).collect();
        assert_eq!(found, ["Lab results.rule = None goes out unread. [convention]"], "{text}");
    }
    check("rules.md", "R3. *Updates.* By hand.\n", &["1: Updates (rule).rule = By hand. [convention]"]);
}

#[test]
fn a_title_may_be_a_day() {
    use super::form::day_of;
    for (title, expected) in [
        ("Thursday 12 February 2026", Some("2026-02-12")),
        ("February 12th, 2026", Some("2026-02-12")),
        ("Fri, 1 May 2026", Some("2026-05-01")),
        ("May 2026", None),
        ("12 February", None),
        ("12 angry men 2026", None),
        ("", None),
    ] {
        assert_eq!(day_of(title).as_deref(), expected, "{title}");
    }
}

/// Mistakes of earlier systems with daily logs.
#[test]
fn daily_logs() {
    // Tags before lines and after headings; importance in any number format.
    check(
        "memory/2026-02-18.md",
        "# 2026-02-18\n- [decision|i=0.9] We use PostgreSQL for Keystone. It was close.\n- [event|i=1] Keystone went live\n- [event|i=.9] The disk of nas-01 was replaced\n- [chat|i=0.3] Small talk\n- [note] No importance, no event\n## Outage of the mail server [incident|i=0.8]\nThe disk was full.\n",
        &[
            "2: We use PostgreSQL for Keystone.kind = decision [decision]",
            "2: We use PostgreSQL for Keystone.date = 2026-02-18 [decision]",
            "2: We use PostgreSQL for Keystone.summary = We use PostgreSQL for Keystone. It was close. [decision]",
            "3: Keystone went live.kind = event [event]",
            "3: Keystone went live.date = 2026-02-18 [event]",
            "3: Keystone went live.summary = Keystone went live [event]",
            "4: The disk of nas-01 was replaced.kind = event [event]",
            "4: The disk of nas-01 was replaced.date = 2026-02-18 [event]",
            "4: The disk of nas-01 was replaced.summary = The disk of nas-01 was replaced [event]",
            "7: Outage of the mail server.kind = incident [event]",
            "7: Outage of the mail server.date = 2026-02-18 [event]",
            "7: Outage of the mail server.summary = The disk was full. [event]",
        ],
    );
    let reading = document("2026-02-18.md", "- [decision|i=.9] Keep it");
    let Claim::Fact { importance, permanent, .. } = &reading.said[0].claim else { panic!("a fact") };
    assert_eq!((*importance, *permanent), (0.9, true));
    // Sections without a tag, with enough text and a meaningful title.
    let body = "Something happened that takes more than fifty characters to tell.\n";
    check(
        "2026-02-18-evening.md",
        &format!(
            "# Log\n## Moved the boat\n| a | b |\n{body}## Next steps\n{body}## Keystone\n{body}## Short one\nYes.\n"
        ),
        &[
            "2: Moved the boat.kind = event [event]",
            "2: Moved the boat.date = 2026-02-18 [event]",
            &format!("2: Moved the boat.summary = {} [event]", body.trim()),
        ],
    );
    check("boats.md", &format!("# Log\n## Moved the boat\n{body}"), &[]);
    // Any key is kept, not only those with addresses; a list of current activities is not.
    check(
        "2026-02-18.md",
        "## Keystone\n- **Port**: 4100\n- **Color**: teal\n- **Status**: up\n- **Port**: 4100\n",
        &["2: Keystone.port = 4100", "3: Keystone.color = teal"],
    );
    let kept_out = document("a.md", "# Keystone\n- status: up\n").kept_out;
    assert_eq!((kept_out[0].0, kept_out[0].1.what.as_str()), (2, "status"));
    // A long value is not cut.
    let long = document("a.md", &format!("# Keystone\n- motto: {}\n", "word ".repeat(80)));
    assert_eq!((long.said.len(), long.kept_out.len()), (0, 1));
    assert!(long.kept_out[0].1.reason.contains("limit for a value is 300"), "{:?}", long.kept_out);
}

#[test]
fn code_comments_quotations_and_our_own_text_are_not_read() {
    for text in [
        "```\n- port: 3000\nKeystone runs on nas-01.\n```\n",
        "~~~yaml\n- port: 3000\n",
        "<!-- Keystone runs on nas-01. -->\n",
        "<!--\n- port: 3000\n-->\n",
        "<!-- never closed\n- port: 3000\n",
        "<!-- nacre:memory -->\nKeystone runs on nas-01.\n- port: 3000\n<!-- /nacre:memory -->\n",
        "- [fact] Keystone runs on nas-01 (3d ago) [id:4]\n",
        "> Keystone runs on nas-01.\n",
        "\n    Keystone runs on nas-01.\n",
        "- [ ] Keystone runs on nas-01.\n",
    ] {
        check("a.md", &format!("# Atlas\n{text}"), &[]);
    }
    check("a.md", "---\ntitle: Atlas\nport: 1\n---\n# Atlas\n- port: 2\n", &["6: Atlas.port = 2"]);
    check("a.md", "# Atlas\n<!-- a --> Keystone runs on nas-01.\n", &["2: Keystone -runs_on-> nas-01"]);
    check("a.md", "# Atlas\n```\ncode\n```\n- port: 2\n", &["5: Atlas.port = 2"]);
    // An unclosed frame is only a comment.
    check("a.md", "# Atlas\n<!-- nacre:memory -->\n- port: 2\n", &["3: Atlas.port = 2"]);
    check(
        "a.md",
        "\u{feff}# Atlas\r\n- port: 2\r\n\r\nAtlas runs on\r\nweb2.\r\n",
        &["2: Atlas.port = 2", "4: Atlas -runs_on-> web2"],
    );
    check(
        "a.md",
        "Some words. More of\nthem here. Keystone runs on\nnas-01. Anna lives in Berlin.",
        &["2: Keystone -runs_on-> nas-01", "3: Anna -lives_in-> Berlin"],
    );
}

/// Checks any text: no panic, and only existing lines.
fn sound(path: &str, text: &str) {
    let reading = document(path, text);
    let lines = text.split('\n').count();
    for line in
        reading.said.iter().map(|said| said.line).chain(reading.kept_out.iter().map(|(line, _)| *line))
    {
        assert!((1..=lines).contains(&line), "line {line} of {lines}");
    }
    for said in &reading.said {
        if let Claim::Fact { entity, key, value, .. } = &said.claim {
            assert!(entity.chars().count() <= guard::MAX_NAME && key.chars().count() <= guard::MAX_KEY);
            assert!(value.chars().count() <= guard::MAX_READ_VALUE && !value.contains(char::is_control));
        }
    }
}

#[test]
fn long_and_broken_texts_are_read_in_linear_time() {
    for text in [
        "a".repeat(1 << 20),
        "Anna is the ".repeat(90_000),
        "# Atlas\n".to_owned() + &"- key: value\n".repeat(90_000),
        "# Atlas\n".to_owned() + &"Anna lives in Berlin\n".repeat(50_000),
        "<!-- ".repeat(200_000),
        "<!-- a -->".repeat(1_500),
        "[".repeat(1 << 20),
        "# Atlas\n- k: ".to_owned() + &"[<_*".repeat(4_000),
        "| a ".repeat(4_000) + "\n" + &"|-".repeat(9_000) + "\n" + &"| b ".repeat(4_000),
        "#".repeat(1 << 20),
        "`".repeat(10_000),
        "- [a|i=1] ".repeat(1_000),
        "\n".repeat(1 << 20),
        "# A\n".repeat(200_000),
        "I live in my sister ".repeat(200),
        "é\u{0}\r".repeat(5_000),
    ] {
        sound("2026-02-18.md", &text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(parts in prop::collection::vec((
        prop::sample::select(vec![
            "", "# ", "## ", "- ", "  - ", "* **", "- [a|i=.9] ", "| ", "|--|--|", "```", "<!--", "-->", "> ", "[x](", "`", "I live in ",
            "my sister ", "Anna's ", "X is the ", " is ", " runs on ", "(aka ", ": ", "**: ", "\u{feff}", "<!-- nacre:memory -->", "---", "===", "R5. *", "**Well.** ", "Key .... ", "His ", "Owner of ", "Mobile ", "| | |", "Gull, the server ",
        ]),
        "\\PC{0,12}",
        prop::sample::select(vec!["Anna ", "nas-01", " of Ben", ".", "?", " to ", "’s ", "", "\u{0}", "é", "`", "]"]),
        prop::sample::select(vec!["\n", "\r\n", "\n\n", "", " "]),
    ), 0..40), path in prop::sample::select(vec!["a.md", "USER.md", "SOUL.md", "2026-02-18.md", "", "é/2026-02-18é"])) {
        let text: String = parts.iter().map(|(mark, words, more, end)| format!("{mark}{words}{more}{end}")).collect();
        sound(path, &text);
    }
}

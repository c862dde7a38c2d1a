//! Tables of statements: what is read from one, and which two conflict. A set of pairs with floors for precision and
//! recall is in `crates/nacre-bench/data/conflicts`.

use super::value::Relation;
use super::{ConflictKind, Statement, compare};

fn conflict(earlier: &str, later: &str) -> Option<super::Conflict> {
    compare(&Statement::read(earlier, None), &Statement::read(later, None))
}

#[track_caller]
fn check(expected: Option<ConflictKind>, pairs: &[(&str, &str)]) {
    for (earlier, later) in pairs {
        let found = conflict(earlier, later);
        let explanation = || super::explain(&Statement::read(earlier, None), &Statement::read(later, None));
        assert_eq!(
            found.as_ref().map(|found| found.kind),
            expected,
            "{earlier} | {later}\n{found:?}\n{}",
            explanation()
        );
    }
}

const CONTRADICTS: Option<ConflictKind> = Some(ConflictKind::Contradicts);
const UPDATES: Option<ConflictKind> = Some(ConflictKind::Updates);

#[test]
fn values_of_one_kind_are_compared_after_normalising() {
    use Relation::{Different, NotComparable, Same};
    for (one, other, expected) in [
        ("14 June", "June 14", Same),
        ("14 June", "the 17th of June", Different),
        ("14 June", "June", Same),
        ("2025-06-14", "14.06.2025", Same),
        ("at 9:00", "at 9 am", Same),
        ("at 18:30", "at 6:30 pm", Same),
        ("at 9", "at 10:00", Different),
        ("three dogs", "3 dogs", Same),
        ("1,000 users", "1000 users", Same),
        ("40k users", "40,000 users", Same),
        ("1.5 GB", "1500 MB", Same),
        ("1.5 GB", "15 GB", Different),
        ("90 seconds", "2 minutes", Different),
        ("3 dogs", "4 cats", NotComparable),
        ("3 GB", "3 km", NotComparable),
        ("Debian 11", "Debian 12", Different),
        ("Debian 11", "Ubuntu 22", NotComparable),
        ("-18 °C", "18 °C", Different),
        ("every week", "weekly", Same),
        ("every three months", "quarterly", Same),
        ("daily", "once a week", Different),
        ("10.0.0.1", "10.0.0.2", Different),
        ("+49 30 555012", "030 555012", Same),
        ("0176 5550 912", "0176 5550912", Same),
        ("a@example.com", "b@example.com", Different),
        ("20 mg of lisinopril", "500 mg of metformin", NotComparable),
    ] {
        let read = |text: &str| Statement::read(&format!("It is {text}."), None);
        let left = read(one);
        let right = read(other);
        let relation = left.values[0].kind.relation(&right.values[0].kind);
        assert_eq!(relation, expected, "{one} | {other}: {:?} {:?}", left.values, right.values);
    }
}

#[test]
fn other_values_of_the_same_attribute_contradict() {
    check(
        CONTRADICTS,
        &[
            // Values with a kind.
            ("The gate code is 4471.", "gate code: 9036"),
            ("Deadline of the grant: 28 March", "The grant has to be in by 31 March."),
            ("Tests run on Python 3.11.", "The tests run on Python 3.9."),
            ("The mast is 21 metres tall.", "Height of the mast: 18 m"),
            ("Backups are kept for 30 days.", "Retention of backups: 14 days"),
            ("Reports are sent weekly.", "Reports are sent monthly."),
            // Names.
            ("The billing service is owned by Priya.", "Owner of billing-service: Declan"),
            ("Kim reports to Alejandro.", "Kim's line manager is Beatrice."),
            ("The band's drummer is Coco.", "drummer of the band: Fritz"),
            ("Declan owns the ingest service.", "The ingest service belongs to Mei."),
            // States and negation.
            ("The pool is open on Sundays.", "The pool is closed on Sundays."),
            ("Mateo is left-handed.", "Mateo is right-handed."),
            ("Sofia can't swim.", "Sofia swims two kilometres each morning."),
            ("Hotfixes may skip QA.", "Hotfixes may not skip QA."),
            ("Comments are moderated.", "Comments are not moderated."),
            ("My car is grey.", "I don't own a car."),
        ],
    );
}

#[test]
fn a_later_statement_that_speaks_of_a_change_updates() {
    check(
        UPDATES,
        &[
            ("Code is formatted with black.", "We dropped black in favour of ruff."),
            ("Dependencies are installed with npm.", "migrated the monorepo npm → pnpm"),
            ("We track tickets in Jira.", "The team has switched from Jira to Linear."),
            ("Our repo is called falcon-api.", "falcon-api got renamed to kestrel-api."),
            ("Tarek lives in Utrecht.", "Tarek moved to Ghent last month."),
            ("Billing owner: Priya", "Priya handed billing over to Declan."),
            ("Our nanny is called Agnieszka.", "Agnieszka left; Fatou comes since February."),
            ("Peter smokes.", "Peter quit smoking."),
            ("Ticket OPS-418 is open.", "OPS-418 was closed as fixed."),
            ("I drink two cups of coffee a day.", "Gave up coffee for good."),
            ("The lease costs 900 euros.", "The lease was raised to 950 euros."),
        ],
    );
}

#[test]
fn statements_that_can_both_hold_do_not_conflict() {
    check(
        None,
        &[
            // Another subject.
            ("Grafana port: 3000", "Prometheus port: 9090"),
            ("Production uses Redis 7.", "Staging uses Redis 6."),
            ("Children pay 5 euros.", "Adults pay 9 euros."),
            ("Bug 2231 is fixed.", "Bug 2232 is open."),
            ("The blue bike belongs to Mina.", "The red bike belongs to Ruth."),
            ("In 2022 the company made a loss.", "2023 was profitable for the company."),
            ("Ann reports to Lou.", "Lou reports to Kai."),
            ("My manager is Sabine.", "Kim's manager is Beatrice."),
            // A part of the subject, or an exception.
            ("Rosa works at the bakery.", "Rosa's husband works at the harbour."),
            ("The exam is on 3 June.", "Results of the exam are published on 20 June."),
            ("The pool is heated to 26 °C.", "Air temperature in the pool hall is 30 °C."),
            ("Tickets cost 15 euros.", "Tickets for students cost 9 euros."),
            ("The shop closes at 18:00.", "On Fridays the shop closes at 14:00."),
            // Another attribute.
            ("Rehearsal starts at 18:30.", "Rehearsal ends at 20:30."),
            ("The gym opens at 6:00.", "The gym closes at 22:00."),
            ("The bridge was built in 1932.", "The bridge was repainted in 2004."),
            ("Runa Berg is a citizen of Iceland.", "Runa Berg is married to Jonas Eide."),
            // Several values.
            ("Lena speaks Polish.", "Lena speaks Danish."),
            ("Jan's brother is called Piet.", "Jan's sister is called Marijke."),
            ("We support PostgreSQL.", "SQLite is supported as well."),
            // The past, plans, questions.
            ("Omar used to live in Cairo.", "Omar lives in Marseille."),
            ("The site is on Netlify.", "We are considering a move of the site to Cloudflare."),
            ("The service needs Java 17.", "Which Java version does the service need?"),
            // The same again.
            ("Backups run at 2:00.", "Every night at 2 am backups run."),
            ("Tarek lives in Ghent.", "tarek lives in ghent"),
        ],
    );
}

#[test]
fn shared_words_alone_do_not_conflict() {
    check(
        None,
        &[
            ("Rust is the language of the parser.", "There's rust on the boat trailer."),
            ("The bank opens at 9.", "We had lunch on the river bank at 12."),
            ("Gabriel moved to Oslo.", "The sofa was moved to the upper floor."),
            ("Ruby lives in Leeds.", "Ruby 3.3 is installed on CI."),
            ("I live in Utrecht.", "We moved invoicing to Lexoffice."),
        ],
    );
}

#[test]
fn other_languages_carry_as_far_as_their_words_go() {
    check(
        CONTRADICTS,
        &[
            (
                "Abgabe der Masterarbeit: 30. September",
                "Die Masterarbeit muss bis zum 15. Oktober eingereicht werden.",
            ),
            ("Jonas trinkt keinen Kaffee.", "Jonas trinkt jeden Morgen Kaffee."),
            ("El tren sale a las 9:15.", "El tren sale a las 9:40."),
            ("Le chat de Manon s'appelle Moka.", "Le chat de Manon s'appelle Filou."),
            ("小李的生日是3月5日。", "小李的生日是5月3日。"),
        ],
    );
    check(
        UPDATES,
        &[
            ("Testserver: Debian 11", "Testserver auf Debian 12 aktualisiert"),
            ("Sabine wohnt in Kassel.", "Sabine ist nach Erfurt gezogen."),
            ("Marta vive en Bilbao.", "Marta se ha mudado a Gijón."),
            ("我们的数据库是MySQL。", "我们的数据库已经换成PostgreSQL。"),
        ],
    );
    check(
        None,
        &[
            ("Die Praxis hat montags geöffnet.", "Mittwochs ist die Praxis geschlossen."),
            ("Le magasin ouvre à 9 h.", "Le magasin ferme à 19 h."),
            ("El IVA normal es del 21 %.", "Para los libros se aplica el IVA del 4 %."),
        ],
    );
}

#[test]
fn the_values_of_a_conflict_are_named() {
    for (earlier, later, old, new) in [
        ("The gate code is 4471.", "gate code: 9036", Some("4471"), Some("9036")),
        ("Kim reports to Alejandro.", "Kim's manager is Beatrice.", Some("Alejandro"), Some("Beatrice")),
        ("The shop is open.", "The shop is closed.", Some("open"), Some("closed")),
        ("We use black.", "We dropped black.", Some("black"), None),
    ] {
        let found = conflict(earlier, later).unwrap_or_else(|| panic!("{earlier} | {later}"));
        assert_eq!((found.earlier_value.as_deref(), found.later_value.as_deref()), (old, new), "{later}");
    }
}

#[test]
fn facts_and_headings_give_the_subject() {
    let fact = Statement::of_fact("heron", "port", "8080");
    let same = Statement::read("heron listens on 9090", None);
    let other = Statement::read("wader listens on 9090", None);
    assert!(compare(&fact, &same).is_some());
    assert!(compare(&fact, &other).is_none());
    let under = Statement::read("port: 9090", Some("heron"));
    assert!(compare(&fact, &under).is_some());
    let elsewhere = Statement::read("port: 9090", Some("wader"));
    assert!(compare(&fact, &elsewhere).is_none());
}

#[test]
fn of_a_long_text_the_beginning_is_read() {
    let long = "It rains in the valley. ".repeat(10_000);
    assert_eq!(Statement::read(&long, Some(&long)).tokens.len(), 120);
}

#[test]
fn any_text_is_read() {
    for text in [
        "",
        " ",
        "?",
        ":",
        "→",
        "-",
        "'",
        "''",
        "5",
        "%",
        "a'",
        "of",
        "of of of",
        "，",
        "。。",
        "1.2.3.4.5",
        "/",
        "~",
        "@",
    ] {
        let read = Statement::read(text, Some(text));
        assert!(compare(&read, &Statement::read("The port is 80.", None)).is_none(), "{text}");
        assert!(compare(&Statement::read("The port is 80.", None), &read).is_none(), "{text}");
    }
}

#[test]
fn a_choice_between_two_things_that_is_said_again_is_no_conflict() {
    check(None, &[("I prefer tabs over spaces", "I prefer tabs over any spaces")]);
}

#[test]
fn acronyms_synonyms_and_units_name_the_same_attribute() {
    check(
        CONTRADICTS,
        &[
            ("Learning rate for the final run was 3e-4.", "We used lr=1e-3 in the final run."),
            ("The freezer in lab 3 is kept at -80 °C.", "Lab 3 freezer temperature: -20 °C"),
            ("Router admin page: 192.168.1.1", "The router admin page is http://192.168.178.1/admin"),
            ("The gas bill is 80 euros a month.", "We pay 95 euros a month for gas."),
            ("Ben has two children.", "Ben has three kids."),
            ("Tests are run in production.", "Tests are not run in prod."),
        ],
    );
}

#[test]
fn a_role_has_one_holder_wherever_its_name_is() {
    check(
        CONTRADICTS,
        &[
            ("Oliver is the goalkeeper of the school team.", "The school team's goalkeeper is Nico."),
            ("Our lawyer is Ms. Falk.", "Mr. Stein is our lawyer."),
            ("Hector prefers email over phone calls.", "Hector would much rather be phoned than e-mailed."),
        ],
    );
    check(
        None,
        &[
            ("Tina is the mayor of Alzey.", "Gert is the mayor of Worms."),
            ("The chair of the board is Ms. Roth.", "The vice chair of the board is Mr. Lang."),
        ],
    );
}

#[test]
fn the_same_state_or_value_of_something_else_is_no_conflict() {
    check(
        None,
        &[
            // Another object, domain, label, direction, part or event.
            ("Guests may use the pool.", "Guests may not use the sauna."),
            ("The feature is enabled for staff.", "The feature is disabled for customers."),
            ("Batch size was 64 in run 12.", "Batch size was 128 in run 13."),
            ("The train from Bonn arrives at 9:12.", "The train to Bonn arrives at 18:40."),
            ("Invoices over 500 euros need approval.", "Invoices under 500 euros need no approval."),
            ("The choir has 24 members.", "Six members of the choir are altos."),
            ("Nils has been with us since 2019.", "Nils led the migration project in 2023."),
            ("The trail is open.", "The hut on the trail is closed."),
            ("Clara's favourite colour is green.", "Clara bought a red bicycle."),
            ("Milk is 1.20 at Lidl.", "Milk is 1.35 at Edeka."),
            ("Nora has lived in Graz since 2015.", "Nora lived in Linz from 2010 to 2015."),
            ("My laptop has 16 GB of RAM.", "My laptop has a 512 GB SSD."),
            ("The rent for the studio is 1,200 euros.", "The deposit for the studio was 3,600 euros."),
        ],
    );
}

//! Settings.

use nacre::Settings;
use nacre::settings::{self, Layer};

fn file(text: &str) -> Result<Settings, nacre::Error> {
    Settings::from_layers(None, &[Layer::from_toml("nacre.toml", text)?])
}

#[test]
fn layers_go_over_each_other() {
    let layers = [
        Layer::from_toml("nacre.toml", "profile = \"koshi\"\n[brief]\nmax_entries = 7\nmax_chars = 900")
            .unwrap(),
        Layer::from_environment(|name| (name == "NACRE_BRIEF_MAX_CHARS").then(|| "800".into()))
            .unwrap()
            .remove(0),
        Layer::from_pair("--set", "limits.untrusted.store=2").unwrap(),
    ];
    let settings = Settings::from_layers(None, &layers).unwrap();
    assert_eq!(
        (settings.brief.max_entries, settings.brief.max_chars, settings.limits.untrusted.store),
        (7, 800, 2)
    );
    assert_eq!((settings.profile.as_str(), settings.search.limit), ("koshi", 5));
    // A profile given by flag stands under the file all the same.
    let settings = Settings::from_layers(Some("carapace"), &layers).unwrap();
    assert_eq!(
        (settings.profile.as_str(), settings.limits.store, settings.brief.max_entries),
        ("carapace", 20, 7)
    );
}

#[test]
fn wrong_settings_are_refused_with_a_way_out() {
    for (text, says, hint) in [
        (
            "[brief]\nmax_entrys = 3",
            "unknown setting `brief.max_entrys` in nacre.toml line 2",
            "did you mean `brief.max_entries`?",
        ),
        ("[breif]\nmax_entries = 3", "unknown setting `breif` in nacre.toml line 1", "did you mean"),
        (
            "colour = 1",
            "unknown setting `colour` in nacre.toml line 1",
            "`nacre config --defaults` lists every key",
        ),
        (
            "[brief]\nmax_entries = \"many\"",
            "setting `brief.max_entries` in nacre.toml line 2 must be a whole number such as 50, not \"many\"",
            "nacre config --defaults",
        ),
        (
            "[brief]\nmax_entries = -1",
            "setting `brief.max_entries` in nacre.toml line 2 can't be -1",
            "nacre config --defaults",
        ),
        (
            "[brief]\ninject = \"always\"",
            "setting `brief.inject` in nacre.toml line 2 can't be \"always\"",
            "nacre config --defaults",
        ),
        ("[search]\nlimit = 0", "setting `search.limit` in nacre.toml line 2 is not between 1 and 100", ""),
        (
            "[tools]\noffer = [\"memory_stor\"]",
            "names `memory_stor`, which is not a tool (did you mean `memory_store`?)",
            "",
        ),
        (
            "profile = \"gate\"",
            "there is no profile `gate`",
            "`default` (balanced), `minimal` (carapace), `strict` (gated)",
        ),
        ("[brief\n", "nacre.toml is not valid TOML: line 1", ""),
        (
            "[plugins.weather]\ncomand = [\"x\"]",
            "unknown setting `plugins.weather.comand` in nacre.toml line 2",
            "did you mean `plugins.weather.command`?",
        ),
        (
            "[plugins.\"a b\"]\ncommand = [\"x\"]",
            "setting `plugins.a b` in nacre.toml is not a valid name",
            "",
        ),
        (
            "[plugins]\nweather = 3",
            "setting `plugins.weather` in nacre.toml line 2 must be a section, not 3",
            "",
        ),
        (
            "[plugins.weather]\ncommand = [\"x\"]\nhooks = [\"turns\"]",
            "setting `plugins.weather.hooks` in nacre.toml line 3 can't be [\"turns\"]",
            "",
        ),
        (
            "[plugins.weather]\nenabled = true",
            "setting `plugins.weather.command` in the settings is empty, and the plugin is enabled",
            "",
        ),
        (
            "[plugins.a]\ncommand = [\"x\"]\ntime_limit_ms = 0",
            "setting `plugins.a.time_limit_ms` in nacre.toml line 3 is not between 1 and 60000",
            "",
        ),
    ] {
        let error = file(text).expect_err(text);
        assert!(error.to_string().contains(says), "{text}: {error}");
        assert!(error.hint().unwrap_or_default().contains(hint), "{text}: {:?}", error.hint());
    }
    assert!(Layer::from_pair("--set", "nonsense").is_err());
}

#[test]
fn a_retired_key_is_ignored_with_a_warning() {
    let text = "[graph]\nsessions = true\nlane = false";
    assert!(!file(text).unwrap().graph.lane, "the keys beside it count");
    let layers = [Layer::from_toml("nacre.toml".to_owned(), text).unwrap()];
    assert_eq!(
        settings::retired(&layers),
        ["setting `graph.sessions` in nacre.toml is ignored: facts are no longer read from conversations"]
    );
    assert!(!settings::effective(None, &layers).unwrap().iter().any(|(key, _)| key == "graph.sessions"));
}

#[test]
fn a_renamed_key_still_works_with_a_warning() {
    let text = "[tools]\ndoors = [\"mem0\"]";
    assert_eq!(file(text).unwrap().tools.compat, ["mem0"]);
    let layers = [Layer::from_toml("nacre.toml".to_owned(), text).unwrap()];
    assert_eq!(
        settings::retired(&layers),
        ["setting `tools.doors` in nacre.toml is now called `tools.compat`"]
    );
    let effective = settings::effective(None, &layers).unwrap();
    assert!(effective.contains(&("tools.compat".into(), "[\"mem0\"]".into())), "{effective:?}");
    let get = |name: &str| (name == "NACRE_TOOLS_DOORS").then(|| "[\"mem0\"]".to_owned());
    let layers = Layer::from_environment(get).unwrap();
    assert_eq!(Settings::from_layers(None, &layers).unwrap().tools.compat, ["mem0"]);
}

#[test]
fn the_commented_file_changes_nothing_and_every_line_of_it_counts() {
    let commented = settings::commented_defaults();
    let settings = file(&commented).unwrap();
    assert_eq!(format!("{settings:?}"), format!("{:?}", Settings::default()));
    let uncommented = commented.replace("# ", "");
    assert!(uncommented.contains("max_entries = 50"));
    assert_eq!(
        settings::effective(None, &[])
            .unwrap()
            .iter()
            .find(|(key, _)| key == "limits.untrusted.store")
            .unwrap()
            .1,
        "20"
    );
}

#[test]
fn at_most_one_plugin_makes_the_brief() {
    let plugin = |name: &str, rest: &str| {
        format!("[plugins.{name}]\ncommand = [\"x\"]\nhooks = [\"turn\", \"memory_brief\"]\n{rest}\n")
    };
    let both = plugin("a", "enabled = true") + &plugin("b", "enabled = true");
    let error = file(&both).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("two_briefs", "plugins `a` and `b` both produce the brief")
    );
    assert!(error.hint().unwrap().contains("`[plugins.b]`"), "{:?}", error.hint());
    // One that is not enabled does not count, and none is by default.
    let settings = file(&(plugin("a", "enabled = true") + &plugin("b", ""))).unwrap();
    let briefs: Vec<&str> = settings.plugins_at(settings::Hook::MemoryBrief).map(|(name, _)| name).collect();
    assert_eq!(briefs, ["a"]);
    assert_eq!((settings.plugins["b"].tokens, settings.plugins["b"].time_limit_ms), (80, 100));
    assert_eq!(settings.plugin("bb").unwrap_err().hint().unwrap(), "did you mean `b`?");
}

/// A variable may come from the folder that somebody works in.
#[test]
fn no_variable_of_the_environment_names_a_program() {
    let layers = Layer::from_environment(|name| name.contains("PLUGIN").then(|| "[\"sh\"]".into())).unwrap();
    assert!(Settings::from_layers(None, &layers).unwrap().plugins.is_empty());
}

#[test]
fn every_profile_is_valid() {
    for name in settings::profiles() {
        Settings::from_layers(Some(name), &[]).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// Azure's own variables are enough beside the provider, and give way to every setting.
#[test]
fn azure_is_set_up_by_its_own_variables() {
    let get = |name: &str| match name {
        "AZURE_OPENAI_ENDPOINT" => Some("https://nanoclaw-openai.openai.azure.com/".to_owned()),
        "AZURE_OPENAI_EMBEDDING_DEPLOYMENT" => Some("text-embedding-3-small".to_owned()),
        "AZURE_OPENAI_API_VERSION" => Some("2024-06-01".to_owned()),
        _ => None,
    };
    let with = |pairs: &[&str]| {
        let own: Vec<Layer> = pairs.iter().map(|pair| Layer::from_pair("a test", pair).unwrap()).collect();
        let azure = Layer::from_azure(&own, get).unwrap();
        Settings::from_layers(Some("nanoclaw"), &azure.into_iter().chain(own).collect::<Vec<_>>())
    };
    let embedding = with(&["embedding.provider=azure-openai"]).unwrap().embedding;
    assert_eq!(embedding.url, "https://nanoclaw-openai.openai.azure.com");
    assert_eq!(
        (embedding.model.as_str(), embedding.api_version.as_str()),
        ("text-embedding-3-small", "2024-06-01")
    );
    let own = with(&["embedding.provider=azure-openai", "embedding.url=https://mine"]).unwrap().embedding;
    assert_eq!(own.url, "https://mine");
    // Without the provider nothing is sent anywhere.
    assert_eq!(with(&[]).unwrap().embedding.url, "");
}

//! Points at which tests simulate a crash of the process.

#[cfg(test)]
thread_local! {
    pub(crate) static AT: std::cell::Cell<Option<&'static str>> = const { std::cell::Cell::new(None) };
}

#[cfg_attr(
    not(test),
    expect(unused_variables, clippy::missing_const_for_fn, reason = "nothing outside tests")
)]
pub(crate) fn point(name: &'static str) {
    #[cfg(test)]
    if AT.get() == Some(name) {
        AT.set(None);
        panic!("crash: {name}");
    }
}

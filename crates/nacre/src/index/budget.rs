//! The memory that vectors may take: one budget for all groups of a home. A server with thousands of groups does not grow without
//! bound, and a group that does not fit is searched by reading from its database.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Frees at least this many bytes of groups that are not in use, or nothing.
type Reclaim = dyn Fn(usize) + Send + Sync;

/// The bytes that the vectors of all open groups may take together.
#[derive(Default)]
pub struct MemoryBudget {
    /// 0: there is no limit.
    limit: usize,
    used: AtomicUsize,
    searches_beyond: AtomicU64,
    reclaim: OnceLock<Box<Reclaim>>,
}

impl MemoryBudget {
    /// Makes a budget of this many bytes; 0 means no limit.
    pub fn new(limit: usize) -> MemoryBudget {
        MemoryBudget { limit, ..MemoryBudget::default() }
    }

    /// Returns the limit in bytes; 0 means none.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the bytes in use.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Returns how many searches read vectors from a database because they did not fit.
    pub fn searches_beyond(&self) -> u64 {
        self.searches_beyond.load(Ordering::Relaxed)
    }

    /// Calls `reclaim` when memory is short, with the number of missing bytes. It frees memory of groups that are not in use. It
    /// is called during a search, so it must not wait for one.
    pub fn reclaim_with(&self, reclaim: impl Fn(usize) + Send + Sync + 'static) {
        // The first one stays.
        let _ = self.reclaim.set(Box::new(reclaim));
    }

    /// Takes this many bytes, and frees others for them if necessary.
    fn take(&self, bytes: usize) -> bool {
        let missing = match self.try_take(bytes) {
            Ok(()) => return true,
            Err(missing) => missing,
        };
        match self.reclaim.get() {
            Some(reclaim) if bytes <= self.limit => reclaim(missing),
            _ => return false,
        }
        self.try_take(bytes).is_ok()
    }

    /// Takes this many bytes, or returns how many are missing.
    fn try_take(&self, bytes: usize) -> Result<(), usize> {
        let limit = if self.limit == 0 { usize::MAX } else { self.limit };
        let fits = |used: usize| used.checked_add(bytes).filter(|sum| *sum <= limit);
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        taken.map(drop).map_err(|used| used.saturating_add(bytes) - limit)
    }
}

/// Bytes that are taken from a budget until this is dropped.
#[derive(Default)]
pub(crate) struct Reservation {
    budget: Arc<MemoryBudget>,
    bytes: usize,
}

impl Reservation {
    pub(crate) fn new(budget: Arc<MemoryBudget>) -> Reservation {
        Reservation { budget, bytes: 0 }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the limit of the budget, if it has one.
    pub(crate) fn limit(&self) -> Option<usize> {
        (self.budget.limit > 0).then_some(self.budget.limit)
    }

    /// Changes the size of this reservation. Returns false and changes nothing if the budget does not allow it.
    pub(crate) fn resize(&mut self, bytes: usize) -> bool {
        match bytes.checked_sub(self.bytes) {
            Some(more) if more > 0 && !self.budget.take(more) => return false,
            Some(_) => {}
            None => drop(self.budget.used.fetch_sub(self.bytes - bytes, Ordering::Relaxed)),
        }
        self.bytes = bytes;
        true
    }

    /// Counts a search whose vectors did not fit.
    pub(crate) fn count_search_beyond(&self) {
        self.budget.searches_beyond.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.resize(0);
    }
}

/// Returns how many elements to allocate for a list of `needed` elements. A list that grows gets some more, so that not every write
/// moves it.
pub(crate) fn room<T>(list: &Vec<T>, needed: usize) -> usize {
    match list.capacity() {
        0 => needed,
        present if present >= needed => present,
        _ => needed.saturating_add(needed / 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_given_back_and_nothing_goes_beyond_the_limit() {
        let budget = Arc::new(MemoryBudget::new(100));
        let mut one = Reservation::new(budget.clone());
        let mut other = Reservation::new(budget.clone());
        assert!(one.resize(60) && !other.resize(41) && other.resize(40));
        assert_eq!((one.bytes(), other.bytes(), budget.used()), (60, 40, 100));
        assert!(one.resize(10) && other.resize(90));
        drop(one);
        assert_eq!(budget.used(), 90);
        drop(other);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_reservation_that_can_never_fit_frees_nothing_of_others() {
        let budget = Arc::new(MemoryBudget::new(100));
        let asked = Arc::new(AtomicUsize::new(0));
        let heard = asked.clone();
        budget.reclaim_with(move |bytes| heard.store(bytes, Ordering::Relaxed));
        let mut one = Reservation::new(budget.clone());
        assert!(one.resize(70));
        let mut other = Reservation::new(budget);
        assert!(!other.resize(101));
        assert_eq!(asked.load(Ordering::Relaxed), 0);
        assert!(!other.resize(50));
        assert_eq!(asked.load(Ordering::Relaxed), 20, "only the missing bytes are asked for");
    }

    #[test]
    fn a_limit_of_0_limits_nothing() {
        let mut one = Reservation::new(Arc::default());
        assert!(one.resize(usize::MAX / 2));
        assert_eq!(one.limit(), None);
    }
}

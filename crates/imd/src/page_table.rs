//! Pages that watch a run and pull its atoms by springs, between the threads of their server and that of the run. Each
//! asks for frames all the time, and loses its spring when it does not.

use crate::facts::RunFacts;
use crate::spring::{Hold, PageId, Share, Spring, SpringReport};
use jostle_core::{Error, Result, SimBox, Vec3};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Pages at once.
const MOST_PAGES: usize = 16;
/// Time for which a page may ask for nothing.
const LEASE: Duration = Duration::from_secs(3);
/// Wall time between two frames, at least and at most, by which their interval in steps is chosen.
const FRAME_TIME: [Duration; 2] = [Duration::from_millis(30), Duration::from_millis(90)];
/// Longest interval of frames, in periods of the run.
const MOST_PERIODS: u64 = 1 << 20;
/// Largest fractional coordinate of the end of a spring: the pointer is near the box.
const FARTHEST: f64 = 100.0;

/// Latest positions of a run, for pages.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveFrame {
    /// Step, counted over all stages.
    pub step: u64,
    /// Simulated time.
    pub time: f64,
    /// Box.
    pub simbox: SimBox,
    /// Positions by id.
    pub positions: Vec<Vec3>,
    /// Velocities by id.
    pub velocities: Vec<Vec3>,
}

/// Springs as the last step has left them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PullReport {
    /// Work of all clients and pages since the run began, the column of `thermo.csv`.
    pub work: f64,
    /// The last spring of each page that has had one.
    pub springs: Vec<SpringReport>,
}

/// Pages of a run, between the threads of their server and that of the run.
#[derive(Default)]
pub(crate) struct PageTable {
    table: Mutex<Table>,
    framed: Condvar,
    /// Interval of frames in steps; 0 without pages.
    interval: AtomicU64,
    /// Number that changes with the springs.
    springs_changed: AtomicU64,
}

#[derive(Default)]
struct Table {
    pages: BTreeMap<PageId, Page>,
    /// Number of the last grip of all pages.
    grips: u64,
    /// Step of the last frame, which may still be made.
    begun: Option<u64>,
    frame: Option<Arc<LiveFrame>>,
    framed: Option<Instant>,
    /// Interval of frames, kept while there is no page.
    every: u64,
    report: PullReport,
}

struct Page {
    /// Time of its last request.
    seen: Instant,
    spring: Option<Spring>,
}

impl PageTable {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Interval of frames in steps; 0 without pages.
    pub fn interval(&self) -> u64 {
        self.interval.load(Ordering::Relaxed)
    }

    /// Number that changes with the springs.
    pub fn springs_changed(&self) -> u64 {
        self.springs_changed.load(Ordering::Acquire)
    }

    /// Springs of all pages.
    pub fn springs(&self) -> Vec<Spring> {
        self.table().pages.values().filter_map(|page| page.spring.clone()).collect()
    }

    /// Number of pages.
    pub fn count(&self) -> usize {
        self.table().pages.len()
    }

    /// Takes note of a request of a page, new or known.
    fn see(&self, page: PageId, period: u64) -> Result<MutexGuard<'_, Table>> {
        let mut table = self.table();
        self.forget_silent_pages(&mut table);
        if table.pages.len() >= MOST_PAGES && !table.pages.contains_key(&page) {
            return Err(Error::simulation(format!("{MOST_PAGES} pages show this run already: close one")));
        }
        let now = Instant::now();
        table
            .pages
            .entry(page)
            .and_modify(|known| known.seen = now)
            .or_insert(Page { seen: now, spring: None });
        table.every = table.every.max(period);
        self.interval.store(table.every, Ordering::Relaxed);
        Ok(table)
    }

    /// Removes pages that have asked for nothing for long, with their springs.
    fn forget_silent_pages(&self, table: &mut Table) {
        let before = table.pages.len();
        table.pages.retain(|_, page| page.seen.elapsed() < LEASE);
        if table.pages.len() != before {
            self.follow_up(table);
        }
    }

    /// Follows up the end of a page.
    fn follow_up(&self, table: &mut Table) {
        let Table { pages, report, .. } = &mut *table;
        report.springs.retain(|spring| pages.contains_key(&spring.page));
        self.springs_changed.fetch_add(1, Ordering::Release);
        if pages.is_empty() {
            self.interval.store(0, Ordering::Relaxed);
        }
    }

    /// Returns true where pages get a frame of a step, which is as good as made; pages that are gone lose their springs.
    pub fn take_due(&self, step: u64) -> bool {
        let mut table = self.table();
        self.forget_silent_pages(&mut table);
        let passed = table.begun.is_none_or(|last| step < last || step - last >= table.every);
        let due = passed && !table.pages.is_empty();
        if due {
            table.begun = Some(step);
        }
        due
    }

    /// Gives all pages a frame, and chooses the interval of the next by the time since the last.
    pub fn publish(&self, frame: LiveFrame, period: u64) {
        let mut table = self.table();
        let passed = table.framed.replace(Instant::now()).map(|last| last.elapsed());
        table.every = match passed {
            Some(passed) if passed < FRAME_TIME[0] => {
                (2 * table.every).min(period.saturating_mul(MOST_PERIODS))
            }
            Some(passed) if passed > FRAME_TIME[1] && table.every > period => table.every / 2,
            _ => table.every,
        };
        if !table.pages.is_empty() {
            self.interval.store(table.every, Ordering::Relaxed);
        }
        table.frame = Some(Arc::new(frame));
        self.framed.notify_all();
    }

    /// Takes note of the springs after a step, and of the work of all.
    pub fn report(&self, springs: impl Iterator<Item = SpringReport>, work: f64) {
        let mut table = self.table();
        table.report.work = work;
        for spring in springs.filter(|spring| table.pages.contains_key(&spring.page)).collect::<Vec<_>>() {
            let springs = &mut table.report.springs;
            match springs.iter_mut().find(|known| known.page == spring.page) {
                // A page that has let go and taken hold again has two springs for a step.
                Some(known) if known.grip <= spring.grip => *known = spring,
                Some(_) => {}
                None => springs.push(spring),
            }
        }
    }

    /// The latest frame, with the springs; `None` where there is none but that of step `after` within `patience`.
    ///
    /// # Errors
    /// If there are too many pages.
    pub fn frame(
        &self,
        page: PageId,
        after: Option<u64>,
        patience: Duration,
        period: u64,
    ) -> Result<Option<(Arc<LiveFrame>, PullReport)>> {
        let table = self.see(page, period)?;
        let is_new = |table: &Table| table.frame.as_ref().is_some_and(|frame| Some(frame.step) != after);
        let waited = self.framed.wait_timeout_while(table, patience, |table| !is_new(table));
        let (table, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let frame = table.frame.clone().filter(|_| is_new(&table));
        Ok(frame.map(|frame| (frame, table.report.clone())))
    }

    /// Takes hold of atoms in place of those that the page has held.
    ///
    /// # Errors
    /// If numbers make no sense; the earlier spring stays.
    pub fn grip(
        &self,
        page: PageId,
        atom: u32,
        shares: Vec<Share>,
        to: Hold,
        facts: &RunFacts,
    ) -> Result<()> {
        let mut table = self.see(page, facts.period)?;
        let Hold { stiffness, end } = to;
        let spring = Spring { page, grip: table.grips + 1, atom, shares: shares.into(), stiffness, end };
        table.check(&spring, facts)?;
        table.grips += 1;
        self.set_spring(&mut table, Some(spring), page);
        self.shorten(&mut table, facts.period);
        Ok(())
    }

    /// Moves the end of a page's spring, or changes its stiffness.
    ///
    /// # Errors
    /// If the page has no spring, or numbers make no sense; the spring stays as it was.
    pub fn drag(&self, page: PageId, to: Hold, facts: &RunFacts) -> Result<()> {
        let mut table = self.see(page, facts.period)?;
        let spring = table.pages.get(&page).and_then(|page| page.spring.clone());
        let spring =
            spring.ok_or_else(|| Error::input("this page has let go of its atoms: grab them again"))?;
        let spring = Spring { stiffness: to.stiffness, end: to.end, ..spring };
        table.check(&spring, facts)?;
        self.set_spring(&mut table, Some(spring), page);
        Ok(())
    }

    /// Lets go of the atoms of a page.
    pub fn release(&self, page: PageId) {
        self.set_spring(&mut self.table(), None, page);
    }

    /// Expects slow steps, as a client begins to pull.
    pub fn expect_slow_steps(&self, period: u64) {
        self.shorten(&mut self.table(), period);
    }

    /// Makes the interval as short as can be. A GPU makes single steps while atoms are pulled: frames that came after
    /// thousands would be minutes apart.
    fn shorten(&self, table: &mut Table, period: u64) {
        table.every = period;
        if !table.pages.is_empty() {
            self.interval.store(table.every, Ordering::Relaxed);
        }
    }

    fn set_spring(&self, table: &mut Table, spring: Option<Spring>, page: PageId) {
        if let Some(page) = table.pages.get_mut(&page) {
            page.spring = spring;
            self.springs_changed.fetch_add(1, Ordering::Release);
        }
    }

    /// Removes a page, with its spring.
    pub fn leave(&self, page: PageId) {
        let mut table = self.table();
        if table.pages.remove(&page).is_some() {
            self.follow_up(&mut table);
        }
    }
}

impl Table {
    /// Refuses springs whose numbers make no sense.
    fn check(&self, spring: &Spring, facts: &RunFacts) -> Result<()> {
        let Some(frame) = &self.frame else {
            return Err(Error::input("this run has no frame yet: its first steps are to come"));
        };
        let is_near = |s: &f64| s.abs() <= FARTHEST;
        if !frame.simbox.to_fractional(spring.end).iter().all(is_near) {
            return Err(Error::input("the end of the spring is not near the box"));
        }
        let (stiffness, most) = (spring.stiffness, facts.greatest_stiffness(spring.mass()));
        if !(stiffness > 0.0 && stiffness <= most) {
            return Err(Error::input(format!("a spring of stiffness {stiffness} cannot pull these atoms"))
                .hint(format!("with this time step it must be positive and at most {most:.4}")));
        }
        Ok(())
    }
}

//! The figures, and the table they become.

use std::collections::BTreeSet;
use std::fmt;

pub(crate) const FLOOR: &str = "floor";
pub(crate) const OURS: &str = "tinymcp";

/// Figures by row, era and contestant; one of each round, in order.
pub(crate) struct Table {
    contestants: Vec<String>,
    rows: Vec<Row>,
    failed: BTreeSet<(String, String, String)>,
}

struct Row {
    name: &'static str,
    era: &'static str,
    /// Of each contestant.
    figures: Vec<Vec<f64>>,
}

impl Table {
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut contestants = Vec::<String>::new();
        for name in names {
            if !contestants.iter().any(|known| known == name) {
                contestants.push(name.to_owned());
            }
        }
        Self { contestants, rows: Vec::new(), failed: BTreeSet::new() }
    }

    pub(crate) fn add(
        &mut self,
        name: &'static str,
        era: &'static str,
        contestant: &str,
        figure: Option<f64>,
    ) {
        let at = self.rows.iter().position(|row| row.name == name && row.era == era);
        let at = at.unwrap_or_else(|| {
            // The eras of a row stand together.
            let after = self.rows.iter().rposition(|row| row.name == name);
            let at = after.map_or(self.rows.len(), |after| after + 1);
            self.rows.insert(at, Row { name, era, figures: vec![Vec::new(); self.contestants.len()] });
            at
        });
        let column = self.contestants.iter().position(|known| known == contestant);
        if let (Some(column), Some(figure)) = (column, figure) {
            self.rows[at].figures[column].push(figure);
        }
    }

    /// Takes a contestant out of a row.
    pub(crate) fn fail(&mut self, name: &str, era: &str, contestant: &str) {
        self.failed.insert((name.to_owned(), era.to_owned(), contestant.to_owned()));
        let column = self.contestants.iter().position(|known| known == contestant);
        let row = self.rows.iter_mut().find(|row| row.name == name && row.era == era);
        if let (Some(column), Some(row)) = (column, row) {
            row.figures[column].clear();
        }
    }

    pub(crate) fn has_failed(&self, name: &str, era: &str, contestant: &str) -> bool {
        self.failed.contains(&(name.to_owned(), era.to_owned(), contestant.to_owned()))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratios: Vec<_> =
            self.contestants.iter().skip(1).map(|name| format!(" {name} / {FLOOR} |")).collect();
        writeln!(f, "| | era | {} |{}", self.contestants.join(" | "), ratios.concat())?;
        writeln!(f, "|---|---|{}", "---|".repeat(self.contestants.len() + ratios.len()))?;
        for row in &self.rows {
            write!(f, "| {} | {} |", row.name, row.era)?;
            for figures in &row.figures {
                match median(figures) {
                    Some(median) => {
                        let min = figures.iter().copied().fold(f64::INFINITY, f64::min);
                        let max = figures.iter().copied().fold(0.0, f64::max);
                        write!(f, " {} ({}..{}) |", short(median), short(min), short(max))?;
                    }
                    None => write!(f, " – |")?,
                }
            }
            let floor = &row.figures[0];
            for figures in &row.figures[1..] {
                // Round by round: what disturbed one contestant is likely to have disturbed the other.
                let ratios: Vec<f64> =
                    figures.iter().zip(floor).map(|(figure, floor)| figure / floor).collect();
                match median(&ratios) {
                    Some(ratio) => write!(f, " {ratio:.2} |")?,
                    None => write!(f, " – |")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn median(figures: &[f64]) -> Option<f64> {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    let (low, high) = (figures.get(figures.len().saturating_sub(1) / 2)?, figures.get(figures.len() / 2)?);
    Some((low + high) / 2.0)
}

/// Three digits are more than the noise allows.
fn short(figure: f64) -> String {
    match figure {
        figure if (10_000.0..100_000.0).contains(&figure) => format!("{:.1} k", figure / 1e3),
        figure if figure >= 100_000.0 => format!("{:.0} k", figure / 1e3),
        figure if figure >= 100.0 || figure.fract() == 0.0 => format!("{figure:.0}"),
        figure if figure >= 10.0 => format!("{figure:.1}"),
        figure => format!("{figure:.2}"),
    }
}

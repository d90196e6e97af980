//! Biases of a run as plain data for a device that evaluates them, and what it leaves taken back.

use crate::Biases;
use crate::group::Group;
use crate::variables::Variables;
use jostle_core::backend::{
    BiasCourse, BiasMemory, BiasRow, CenterBias, CenterBiases, CenterMember, CenterVariable,
};
use std::result::Result;

impl Group {
    /// Its atoms, for the ids of the list.
    fn members(&self, ids: &[u32]) -> Vec<CenterMember> {
        let member = |k: usize| CenterMember {
            id: ids[self.places[k]],
            share: self.shares[k],
            image: self.start.images[k],
            charge: self.charges[k],
        };
        (0..self.len()).map(member).collect()
    }
}

impl Variables {
    /// The variables as functions of centres.
    fn plain(&self) -> Result<Vec<CenterVariable>, String> {
        let one = |named: &crate::variables::Named| match named.variable.of_centers() {
            Some((function, groups)) => Ok(CenterVariable {
                name: named.name.clone(),
                function,
                groups,
                period: named.variable.period(),
            }),
            None => Err(format!("variable '{}' (kind = \"{}\")", named.name, named.kind.name)),
        };
        self.all.iter().map(one).collect()
    }
}

impl Biases {
    /// All variables and biases as plain data.
    ///
    /// # Errors
    /// The name of a variable or of a bias that only the host can evaluate.
    pub fn plain(&self) -> Result<CenterBiases, String> {
        let variables = self.variables.plain()?;
        let one = |named: &crate::NamedBias| match named.bias.function() {
            Some(function) => {
                let variables = named.bias.variables().iter().map(|variable| variable.number).collect();
                Ok(CenterBias { name: named.name.clone(), function, variables })
            }
            None => Err(format!("bias '{}'", named.name)),
        };
        let biases = self.all.iter().map(one).collect::<Result<_, _>>()?;
        let ids = self.variables.atoms();
        let groups = self.variables.groups.iter().map(|group| group.members(ids)).collect();
        Ok(CenterBiases { groups, variables, biases })
    }

    /// The stage under way, for a device.
    pub fn device_course(&self) -> BiasCourse {
        let spans = self.all.iter().map(|named| self.acts(named).then(|| self.span(named))).collect();
        BiasCourse {
            first_step: self.course.first_step,
            start_time: self.course.start_time,
            timestep: self.course.timestep.unwrap_or_default(),
            seed: self.seed,
            fresh: self.fresh,
            spans,
        }
    }

    /// Numbers of all biases that change from step to step, for a device.
    pub fn memory(&self) -> Vec<BiasMemory> {
        self.all.iter().map(|named| named.bias.memory()).collect()
    }

    /// Takes over what a device has left of them.
    pub fn take_memory(&mut self, memory: Vec<BiasMemory>) {
        self.fresh = false;
        self.all.iter_mut().zip(memory).for_each(|(named, memory)| named.bias.take_memory(memory));
    }

    /// Takes over values and energies of a step that a device has made, for the columns.
    pub fn show(&mut self, row: &BiasRow) {
        self.values.clone_from(&row.values);
        for ((named, shown), [energy, center, work]) in
            self.all.iter_mut().zip(&mut self.energies).zip(&row.biases)
        {
            *shown = *energy;
            named.bias.show(*center, *work);
        }
    }
}

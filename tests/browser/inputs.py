"""Parts of inputs that several checks of pages use."""

# Rigid water (SPC/E) without stages.
WATER = """
units = "real"
[system]
place = "water"
molecules = 216
bond_length = 1.0
bond_angle = 109.47
density = "0.998 g/cm3"
temperature = 300
[species.O]
mass = 15.9994
charge = -0.8476
[species.H]
mass = 1.008
charge = 0.4238
[[force]]
kind = "lennard-jones"
cutoff = 8
pairs."O-O" = { epsilon = 0.1553, sigma = 3.166 }
pairs."O-H" = "none"
pairs."H-H" = "none"
[electrostatics]
kind = "pme"
"""

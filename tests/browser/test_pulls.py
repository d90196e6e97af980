"""Atoms pulled with the mouse, in a real browser without a screen.

A run shows itself by `--view`; two pages grab an atom, a molecule and a selection, drag them and let go. The atom must
go where the pointer is, the work that the page shows must be that of `thermo.csv` and the energy that the atoms have
gained, and a page that is closed lets go. Fails on any message in the console; pytest's folder has screenshots.
"""

import csv
import math
import subprocess
import threading

import pytest

pytest.importorskip("playwright")
from browser import JOSTLE, Absent, Browser, wait
from inputs import WATER

# Few atoms, cold and out of each other's reach: one that is pulled follows the pointer. They are soft: a pull in step
# with an atom's swing makes it so fast that a hard core would be met within a step, and the energy not be kept. The
# box is open: in a periodic one an atom that swings across a face is seen now here, now at the other end.
ATOMS = """
title = "Atoms to be pulled"
units = "lj"
[system]
lattice = "fcc"
atoms = 32
density = 0.02
periodic = false
temperature = 1e-8
seed = 7
[species.A]
mass = 1
[[force]]
kind = "gaussian-core"
cutoff = 2.5
truncation = "force-shifted"
pairs."A-A" = { epsilon = 1, sigma = 1 }
[[stage]]
name = "pull"
steps = 1_000_000_000
timestep = 0.001
thermo = { every = 1000 }
"""

WATER_STAGE = """[[stage]]
name = "pull"
steps = 1_000_000_000
timestep = 1
thermostat = { kind = "langevin", temperature = 300, friction = 0.05 }
thermo = { every = 10 }
"""


class Run:
    """A run that shows itself, and the address of its page."""

    def __init__(self, folder, text):
        (folder / "pulled.toml").write_text(text)
        command = [JOSTLE.resolve(), "run", "pulled.toml", "--threads", "1", "--view"]
        self.process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "http://" in line:
                self.url = line.split()[-1]
                break
        # Later messages must not fill the pipe.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.folder = folder / "pulled"

    def rows(self):
        with open(self.folder / "thermo.csv") as file:
            rows = list(csv.DictReader(file))
        return [row for row in rows if None not in row.values()]

    def stop(self, page):
        page.click("#stop")
        assert self.process.wait(60) == 130


@pytest.fixture(scope="module")
def browser():
    try:
        with Browser() as browser:
            yield browser
    except Absent as why:
        pytest.skip(str(why))


@pytest.fixture
def start(tmp_path):
    """Starts a run, which ends with the test."""
    runs = []

    def begin(text):
        runs.append(Run(tmp_path, text))
        return runs[-1]

    yield begin
    for run in runs:
        run.process.kill()
        run.process.wait()


def opened(browser, run):
    # Small, as the picture is drawn by the processor.
    page, complaints = browser.page(size=(800, 600))
    page.goto(run.url)
    wait(page, "() => document.getElementById('time').textContent.startsWith('step ')")
    return page, complaints


def seen_at(page, atom):
    """Where an atom is on the screen."""
    place = page.evaluate("k => scene.onScreen(scene.point(scene.part(k)))", atom)
    corner = page.locator("#atoms").bounding_box()
    return [corner["x"] + place[0], corner["y"] + place[1]]


def front_atom(page):
    """An atom near the middle of the picture that nothing hides."""
    return page.evaluate(
        """() => {
            const { left, top, width, height } = scene.canvas.getBoundingClientRect();
            const places = Array.from({ length: atoms }, (_, k) => [k, ...scene.onScreen(scene.point(scene.part(k)))]);
            const away = ([, x, y]) => Math.hypot(x - width / 2, y - height / 2);
            places.sort((a, b) => away(a) - away(b));
            return places.find(([k, x, y]) => pulling.pick({ clientX: left + x, clientY: top + y }) === k)[0];
        }"""
    )


def grab(page):
    """Presses on an atom; one that has moved away in the meantime is tried again. Returns where."""
    for _ in range(50):
        atom = front_atom(page)
        x, y = seen_at(page, atom)
        page.mouse.move(x, y)
        before = page.evaluate("() => pulling.grips")
        page.mouse.down()
        if page.evaluate("() => pulling.grips") > before:
            return x, y
        page.mouse.up()
    raise AssertionError("no atom can be grabbed")


def follows(page, atom, pointer):
    """Waits until the mean place of an atom is the pointer's. No single place would do: the atom swings about the
    pointer, and on an ellipse, which never meets it, where others have pushed it aside."""
    places = []
    while len(places) < 400:
        places.append(seen_at(page, atom))
        mean = [sum(along) / len(places) for along in zip(*places)]
        if len(places) >= 40 and math.dist(mean, pointer) < 12:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"the atom does not follow the pointer {pointer}: it is at {mean} on average")


def number(page, name):
    return float(page.locator(f"#{name}").inner_text().replace("−", "-"))


def test_an_atom_follows_the_pointer(browser, start, tmp_path):
    run = start(ATOMS)
    page, complaints = opened(browser, run)
    page.screenshot(path=tmp_path / "atoms-before.png")
    page.keyboard.press("p")
    x, y = grab(page)
    atom = page.evaluate("() => pulling.grip.atom")
    page.mouse.move(x + 60, y + 40, steps=5)
    wait(page, "() => pulling.springs.length > 0 && Number(document.getElementById('force').textContent) > 0")
    page.screenshot(path=tmp_path / "atoms-pulled.png")
    x, y = x + 60, y + 40
    follows(page, atom, [x, y])
    # Pulled back and forth, so that the spring does work.
    for k in range(8):
        page.mouse.move(x + 40 * (-1) ** k, y, steps=4)
        page.wait_for_timeout(150)
    # A second page sees the spring, and pulls another atom.
    other, more = opened(browser, run)
    wait(other, "() => pulling.springs.length === 1")
    other.screenshot(path=tmp_path / "atoms-others.png")
    page.mouse.up()
    wait(page, "() => pulling.springs.every((s) => Math.hypot(...s.force) === 0)")
    other.keyboard.press("p")
    x, y = grab(other)
    other.mouse.move(x - 50, y + 10, steps=4)
    wait(page, "() => pulling.springs.some((s) => s.page !== pulling.page && Math.hypot(...s.force) > 0)")
    assert not more, more
    other.close()
    # Its page is gone, and so is its pull.
    wait(page, "() => pulling.springs.every((s) => s.page === pulling.page)", seconds=10)
    page.wait_for_timeout(1000)
    shown, own = number(page, "all-work"), number(page, "work")
    exact = page.evaluate("() => pulling.report.work")
    check_colours(page)
    run.stop(page)
    rows = run.rows()
    first, last = rows[0], rows[-1]
    booked = float(last["imd_work"])
    gained = float(last["total"]) - float(first["total"])
    print(f"work: page {exact:.6g}, thermo.csv {booked:.6g}, energy gained {gained:.6g}, of the first pull {own:.4g}")
    assert abs(booked) > 0.01, "the pull has done work"
    assert abs(exact - booked) < 1e-9 * abs(booked), (exact, booked)
    assert abs(shown - booked) < 1e-3 * abs(booked), (shown, booked)
    # Velocity Verlet's energy swings by (omega dt)^2 of that of the swinging atoms, of which their work is what is left.
    most = max(float(row["kinetic"]) for row in rows)
    assert abs(gained - booked) < 2e-3 * max(most, 1), (gained, booked, most)
    assert not complaints, complaints
    page.close()


def check_colours(page):
    """Those of a run that is paused change, too."""
    colours = "([by, n]) => scene.uniforms.mode.value === by && (by === 0 || scene.atoms.attributes.value.data.length === n)"
    page.select_option("#colour", "order")
    wait(page, colours, [1, 32])
    assert page.locator("#scale").inner_text().split() == ["disordered", "crystalline"]
    page.click("#pause")
    wait(page, "() => document.getElementById('status').textContent === 'run paused'")
    for by, mode in [("species", 0), ("order", 1), ("species", 0), ("speed", 1)]:
        page.select_option("#colour", by)
        wait(page, colours, [mode, 32])


def test_molecules_and_selections_are_pulled(browser, start, tmp_path):
    run = start(WATER + WATER_STAGE)
    page, complaints = opened(browser, run)
    page.click("#pull")
    page.keyboard.down("Shift")
    x, y = grab(page)
    page.mouse.move(x + 80, y - 40, steps=4)
    wait(page, "() => pulling.springs.some((s) => s.atoms === 3)")
    page.wait_for_timeout(500)
    page.screenshot(path=tmp_path / "water-molecule.png")
    page.mouse.up()
    page.keyboard.up("Shift")
    page.select_option("#scope", "selection")
    for words, said in [("species Q", "Q"), ("species O and", "here should be"), ("index 99999", "no atom")]:
        page.fill("#selection", words)
        x, y = grab(page)
        wait(page, "w => document.getElementById('refused').textContent.includes(w)", said)
        page.mouse.up()
    page.screenshot(path=tmp_path / "water-refused.png")
    page.fill("#selection", "all")
    x, y = grab(page)
    page.mouse.move(x + 80, y, steps=4)
    wait(page, "() => pulling.springs.some((s) => s.atoms === 648)")
    page.mouse.up()
    page.fill("#stiffness", "1e9")
    page.keyboard.press("Tab")
    x, y = grab(page)
    wait(page, "() => document.getElementById('refused').textContent.includes('stiffness')")
    page.mouse.up()
    for width in [1280, 800, 390]:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(500)
        page.screenshot(path=tmp_path / f"water-dark-{width}.png")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 800, "height": 600})
    run.stop(page)
    # A refusal is an answer with an error's status, which browsers report.
    complaints = [c for c in complaints if "409" not in c]
    assert not complaints, complaints
    page.close()

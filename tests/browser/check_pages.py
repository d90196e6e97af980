"""The report and the viewer in a real browser without a screen.

    pip install playwright numpy pillow
    JOSTLE=target/release/jostle python tests/browser/check_pages.py OUTPUT

Opens both, fails on any message in the console, any request to elsewhere, a canvas that is blank or
does not change when it should; screenshots are left in OUTPUT.
"""

import io
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image

from browser import JOSTLE, Browser, wait
from inputs import WATER

jostle, output = JOSTLE.resolve(), Path(sys.argv[1])
output.mkdir(parents=True, exist_ok=True)

INPUT = """
title = "A mixture <with & signs>"
units = "lj"
[system]
lattice = "fcc"
{size}
density = 0.8442
temperature = 1.2
seed = 7
[species.A]
mass = 1
fraction = 0.75
[species.B]
mass = 2
fraction = 0.25
[[force]]
kind = "lennard-jones"
cutoff = 2.5
pairs."A-A" = {{ epsilon = 1, sigma = 1 }}
pairs."A-B" = {{ epsilon = 1, sigma = 1 }}
pairs."B-B" = {{ epsilon = 1, sigma = 1 }}
[[stage]]
name = "equilibrate"
steps = {steps}
timestep = 0.004
thermostat = {{ kind = "bussi", temperature = 1.2 }}
thermo = {{ every = 10 }}
[[stage]]
name = "sample"
steps = {steps}
timestep = 0.004
thermo = {{ every = 10 }}
trajectory = {{ every = {every}, format = "trr" }}
measure = [{{ kind = "rdf", every = {every}, cutoff = 3 }}, {{ kind = "msd", every = {every} }}]
"""


def run(name, **values):
    (output / f"{name}.toml").write_text(INPUT.format(**values))
    command = [jostle, "run", f"{name}.toml", "--overwrite"]
    subprocess.run(command, cwd=output, check=True, stderr=subprocess.DEVNULL)
    return output / name


def picture(page, name):
    """What the canvas shows; it must show something."""
    page.wait_for_timeout(400)
    pixels = np.asarray(Image.open(io.BytesIO(page.locator("#atoms").screenshot())).convert("RGB"))
    Image.fromarray(pixels).save(output / f"{name}.png")
    colours = len(np.unique(pixels.reshape(-1, 3), axis=0))
    assert colours > 200, f"{name}: the canvas has {colours} colours: it is blank"
    return pixels.astype(int)


def changed(a, b):
    return np.abs(a - b).max(axis=2).astype(bool).mean()


def check_report(browser, folder):
    subprocess.run([jostle, "report", folder], check=True, stderr=subprocess.DEVNULL)
    page, complaints = browser.page()
    page.context.set_offline(True)
    page.goto((folder / "report.html").resolve().as_uri())
    page.wait_for_timeout(1500)
    plots = page.locator(".u-over").count()
    assert plots >= 7, f"{plots} plots"
    before = picture(page, "report-species")
    page.select_option("#colour", "speed")
    assert changed(before, picture(page, "report-speed")) > 0.05
    page.select_option("#colour", "order")
    assert changed(before, picture(page, "report-order")) > 0.05
    # Hovering shows values.
    page.locator(".u-over").first.hover()
    words = page.locator(".tip").first.inner_text()
    assert re.search(r"time: \S*\d\n.*\d", words), words
    energies = page.locator("figure", has_text="Energies").locator(".keys").inner_text()
    assert all(name in energies for name in ["kinetic, mean", "potential, mean", "total, mean"]), energies
    check_looks(page, "report")
    assert page.title() == "A mixture <with & signs>"
    assert not complaints, complaints
    page.context.set_offline(False)
    page.close()


def check_looks(page, name):
    """Light and dark, wide and narrow: nothing sticks out, and the dark is dark."""
    for width in [1280, 390]:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ["light", "dark"]:
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(500)
            page.screenshot(path=output / f"{name}-{scheme}-{width}.png", full_page=True)
            wide = page.evaluate("() => document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is {wide} wide on a screen of {width}"
            colour = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
            brightness = sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 765
            assert (brightness < 0.2) == (scheme == "dark"), f"{scheme}: {colour}"
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})


def check_saved(page, button, name):
    with page.expect_download() as download:
        page.locator(button).first.click()
    assert download.value.suggested_filename == name
    picture = Image.open(download.value.path())
    assert picture.format == "PNG" and picture.width > 300, picture


def check_viewer(browser, folder, name, frames):
    viewer = subprocess.Popen([jostle, "view", folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        page, complaints = browser.page()
        page.goto(viewer.stdout.readline().strip())
        wait(page, "n => document.getElementById('time').textContent.includes(`of ${n}`)", frames)
        first = picture(page, f"{name}-first")
        page.locator("#frame").evaluate("(e, k) => { e.value = k; e.dispatchEvent(new Event('input')); }", frames - 1)
        wait(page, "n => document.getElementById('time').textContent.startsWith(`frame ${n} `)", frames)
        last = picture(page, f"{name}-last")
        assert changed(first, last) > 0.02, "the scrubber does not move the frame"
        page.select_option("#axis", "2")
        cut = picture(page, f"{name}-cut")
        assert changed(last, cut) > 0.02, "the cut does not show"
        page.select_option("#colour", "speed")
        speed = picture(page, f"{name}-speed")
        assert changed(cut, speed) > 0.05
        page.select_option("#colour", "order")
        page.wait_for_timeout(3000)
        assert changed(speed, picture(page, f"{name}-order")) > 0.05
        assert page.locator("#scale").inner_text().split() == ["disordered", "crystalline"]
        page.mouse.move(300, 300)
        page.mouse.down()
        page.mouse.move(450, 350, steps=5)
        page.mouse.up()
        assert changed(cut, picture(page, f"{name}-turned")) > 0.05, "dragging does not turn it"
        page.select_option("#axis", "-1")
        check_saved(page, "#picture", "atoms.png")
        check_saved(page, "#plots button.plain", "temperature.png")
        # No plot is cut off.
        bottom = page.locator("#plots figure").last.bounding_box()
        assert bottom["y"] + bottom["height"] <= 900, bottom
        # The species of colours that are not shown are not named.
        assert not page.locator("#names").is_visible()
        page.select_option("#colour", "species")
        assert page.locator("#names").inner_text().split() == ["A", "B"]
        check_looks(page, name)
        # What a frame costs apart from the graphics card: decoding, and handing it over.
        cost = page.evaluate(
            """async () => {
                const data = await frame(0);
                const begun = performance.now();
                for (let k = 0; k < 50; k++) { const f = decode(data); scene.show(f.box, f.places, f.periodic); scene.atoms.attributes.place.needsUpdate = true; }
                return (performance.now() - begun) / 50;
            }"""
        )
        page.screenshot(path=output / f"{name}.png")
        assert not complaints, complaints
        page.close()
        return cost
    finally:
        viewer.terminate()
        viewer.wait()


def check_control(browser):
    """Pauses, heats and stops a run."""
    (output / "live.toml").write_text(INPUT.format(size="atoms = 864", steps=100_000_000, every=50))
    run = subprocess.Popen([jostle, "run", "live.toml", "--overwrite"], cwd=output, stderr=subprocess.DEVNULL)
    viewer = None
    try:
        for _ in range(600):
            paused = subprocess.run([jostle, "control", output / "live", "pause"], stderr=subprocess.DEVNULL)
            if paused.returncode == 0:
                break
            time.sleep(0.1)
        viewer = subprocess.Popen(
            [jostle, "view", output / "live"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        page, complaints = browser.page()
        page.goto(viewer.stdout.readline().strip())
        says = lambda words: wait(page, "w => document.getElementById('status').textContent === w", words)
        says("run paused")
        page.fill("#temperature", "3")
        page.click("#thermostat button")
        wait(page, "() => document.getElementById('temperature').dataset.held === '3'")
        page.click("#pause")
        says("run running")
        page.wait_for_timeout(3000)
        page.screenshot(path=output / "control.png")
        page.click("#stop")
        says("run interrupted")
        assert run.wait(60) == 130
        assert not complaints, complaints
        page.close()
    finally:
        for process in filter(None, [run, viewer]):
            process.kill()
            process.wait()
    check = subprocess.run([jostle, "report", output / "live"], stderr=subprocess.DEVNULL)
    assert check.returncode == 0 and "the thermostat holds 3 instead of 1.2" in (output / "live/report.html").read_text()


WATER_STAGE = """[[stage]]
name = "sample"
steps = 100
timestep = 1
thermostat = { kind = "langevin", temperature = 300, friction = 0.05 }
trajectory = { every = 20, format = "h5md" }
"""


def check_molecules(browser):
    """Two bonds a molecule, red oxygens, white hydrogens."""
    (output / "water.toml").write_text(WATER + WATER_STAGE)
    subprocess.run([jostle, "run", "water.toml", "--overwrite"], cwd=output, check=True, stderr=subprocess.DEVNULL)
    viewer = subprocess.Popen([jostle, "view", output / "water"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        page, complaints = browser.page()
        page.goto(viewer.stdout.readline().strip())
        wait(page, "() => document.getElementById('time').textContent.includes('of 6')")
        pixels = picture(page, "water")
        assert page.evaluate("() => scene.bonds.length") == 2 * 2 * 216
        red = (pixels[..., 0] > pixels[..., 2] + 80).mean()
        assert red > 0.01, f"{red} of the picture is red"
        assert not complaints, complaints
        page.close()
    finally:
        viewer.terminate()
        viewer.wait()


with Browser() as browser:
    small = run("small", size="atoms = 864", steps=400, every=20)
    check_report(browser, small)
    print("report: plots, canvas, colours; nothing in the console, nothing fetched")
    cost = check_viewer(browser, small, "view", 20)
    print(f"viewer: scrubber, cut, colours, turning; nothing in the console; {cost:.2f} ms a frame")
    check_molecules(browser)
    print("viewer of water: bonds, colours; from H5MD")
    check_control(browser)
    print("control: paused, heated, went on, stopped; the report says so")
    large = run("large", size="cells = [30, 30, 30]", steps=20, every=4)
    cost = check_viewer(browser, large, "view-108000", 5)
    print(f"viewer with 108,000 atoms: the same; {cost:.2f} ms a frame without drawing")

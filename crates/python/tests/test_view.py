"""The viewer in notebooks."""

import re
import urllib.error
import urllib.request

import jostle
import pytest


def fetch(url):
    with urllib.request.urlopen(url, timeout=20) as answer:
        return answer.status, dict(answer.headers), answer.read().decode()


def test_atoms_are_shown(sim):
    view = sim.view(height=300)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32}", view.url)
    status, headers, page = fetch(view.url)
    assert status == 200 and "<canvas" in page
    assert "http://localhost:*" in headers["content-security-policy"]
    shown = view._repr_html_()
    assert shown.startswith("<iframe") and view.url in shown and 'height="300"' in shown
    assert view.url in repr(view)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        fetch(view.url[:-1] + "x")


def test_runs_are_shown(fluid, tmp_path):
    fluid["stage"][0]["trajectory"] = {"every": 20, "format": "xtc"}
    with jostle.Simulation(**fluid) as sim:
        sim.write_to(tmp_path / "run")
        sim.run()
        _, _, page = fetch(sim.view().url)
    assert str(tmp_path / "run") in page


def test_runs_without_a_trajectory_show_their_atoms(fluid, tmp_path):
    with jostle.Simulation(**fluid) as sim:
        sim.write_to(tmp_path / "run")
        sim.run(2)
        assert fetch(sim.view().url)[0] == 200

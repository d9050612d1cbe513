"""Runs of circuits in files, as datasets and as pictures."""

import h5py
import numpy as np
import pytest

import stickslip as ss
from tests.circuits.networks import PERIOD, bridge, buck


@pytest.fixture(scope="module")
def run():
    return bridge(impedance=True).simulate(dt=PERIOD / 100, t_end=3 * PERIOD, locate=True)


def test_a_saved_run_is_read_bit_for_bit(run, tmp_path):
    path = run.save(tmp_path / "bridge.nc")
    again = ss.load(path)
    assert type(again) is type(run) and repr(again) == repr(run)
    for name in ("t", "q", "u", "currents", "voltages", "modes"):
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
    np.testing.assert_array_equal(again.energy.total, run.energy.total)
    for table in ("events", "jump_table"):
        for column, values in getattr(run, table).columns.items():
            np.testing.assert_array_equal(getattr(again, table)[column], values)
    assert again.certificate == run.certificate and again.energy_book() == run.energy_book()
    assert again.element_names == run.element_names and list(again.mode("B")) == list(run.mode("B"))


def test_files_are_not_overwritten_and_damage_is_seen(run, tmp_path):
    path = run.save(tmp_path / "bridge.nc")
    with pytest.raises(ValueError, match="exists; give overwrite=True"):
        run.save(path)
    run.save(path, overwrite=True)
    foreign = tmp_path / "notes.nc"
    foreign.write_text("mine")
    with pytest.raises(ValueError, match="never replaced"):
        run.save(foreign, overwrite=True)
    data = bytearray(path.read_bytes())
    place = data.find(run.currents[40:42].tobytes()[:16])
    assert place > 0
    data[place] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="damaged"):
        ss.load(path)


def test_a_piece_without_bytes_is_refused(run, tmp_path):
    """HDF5 itself ends the process there: it takes the checksum for the end of a piece that has none."""
    path = run.save(tmp_path / "run.nc")
    with h5py.File(path) as file:
        piece = file["element"].id.get_chunk_info(0)
    data = bytearray(path.read_bytes())
    key = piece.size.to_bytes(4, "little") + bytes(28)  # of the tree of pieces: size, filters, place in the array
    entry = data.find(key + piece.byte_offset.to_bytes(8, "little"))
    assert entry > 0
    data[entry : entry + 4] = bytes(4)
    path.write_bytes(bytes(data))
    with pytest.raises(ValueError, match="variable element has a piece whose length is not that of its values"):
        ss.load(path)


@pytest.mark.parametrize("count", [40, pytest.param(2000, marks=pytest.mark.slow)])
def test_damaged_files_are_refused_or_harmless(run, tmp_path, count):
    """Bits, runs of 0x00 and 0xff, truncations at random places: the data as they were, or one line."""
    whole = run.save(tmp_path / "whole.nc").read_bytes()
    random, path = np.random.default_rng(3), tmp_path / "damaged.nc"
    for k in range(count):
        data, place = bytearray(whole), int(random.integers(len(whole)))
        length = min(int(random.integers(1, 64)), len(whole) - place)
        if k % 4 == 0:
            data[place] ^= 1 << int(random.integers(8))
        elif k % 4 == 3:
            del data[place:]
        else:
            data[place : place + length] = (b"\x00" if k % 4 == 1 else b"\xff") * length
        path.write_bytes(bytes(data))
        try:
            again = ss.load(path)
        except ValueError as error:
            assert "\n" not in str(error)
            continue
        assert repr(again) == repr(run) and again.energy_book() == run.energy_book()
        for name in ("t", "q", "u", "currents", "voltages", "modes"):
            np.testing.assert_array_equal(getattr(again, name), getattr(run, name))


def test_a_run_without_events_is_saved(tmp_path):
    net = ss.Circuit("plain")
    net.source("V", "a", "0", voltage=1.0)
    net.resistor("R", "a", "0", 1.0)
    run = net.simulate(dt=0.1, t_end=1.0)
    again = ss.load(run.save(tmp_path / "plain.nc"))
    assert len(again.events) == len(again.impacts()) == 0 and again.switching == ()
    np.testing.assert_array_equal(again.current("R"), run.current("R"))


def test_dataset(run):
    data = run.to_xarray()
    assert data.current.attrs["units"] == "A" and data.voltage.attrs["units"] == "V"
    np.testing.assert_array_equal(data.voltage.sel(element="C"), run.voltage("C"))
    assert data.attrs["certificate_failed_steps"] == 0
    assert len(run.events.to_pandas()) == len(run.events)


def test_plot(run, tmp_path):
    from stickslip.figures import style

    figure = run.plot()
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["voltage", "current", "conducts", "energy"]
    assert style.save(figure, tmp_path / "bridge.png").stat().st_size > 10_000
    colours = [{line.get_label().split(",")[0]: line.get_color() for line in ax.lines} for ax in figure.axes[:2]]
    both = colours[0].keys() & colours[1].keys()
    assert both and all(colours[0][name] == colours[1][name] for name in both)
    some = buck(10.0).simulate(dt=1e-6, t_end=2e-4, theta=0.5).plot(["L", "S"])
    assert [line.get_label() for line in some.axes[1].lines] == ["L", "S"]
    with pytest.raises(ValueError, match="unknown element 'Q'"):
        run.plot(["Q"])


def test_tables_in_words(run):
    assert "conducts" in str(run.events) and "time" in str(run.impacts())
    assert "0 failed steps, worst residual" in str(run.certificate)
    assert len(run.certificate.entries()) == 4 and run.certificate.doubts() == []

"""A trajectory as a dataset: what xarray finds in a file is what `to_dataset` gives."""

import pytest
import xarray as xr

from stickslip.io.stream import save
from stickslip.io.trajectory_layout import to_dataset
from tests.io.trajectories import CASES, trajectory


@pytest.mark.parametrize("case", ["plain", "no contacts", "one record", "unicode", "unknown potential"])
def test_xarray_opens_what_to_dataset_gives(case, tmp_path):
    run = trajectory(**CASES[case])
    save(run, tmp_path / "run.nc")
    with xr.open_dataset(tmp_path / "run.nc") as dataset:
        assert dict(dataset.sizes) == dict(to_dataset(run).sizes)
        xr.testing.assert_identical(dataset.load(), to_dataset(run))


def test_dataset_describes_itself():
    run = trajectory(coordinates=("x", "phi"), contacts=("beak", "sleeve"))
    dataset = run.to_xarray()
    assert set(dataset.sizes) == {"time", "coordinate", "velocity", "contact", "impact"}
    assert dataset.q.sel(coordinate="phi").values.tobytes() == run.q[:, 1].tobytes()
    assert dataset.coordinate_units.values.tolist() == ["m", ""] and dataset.velocity_units.values[0] == "m/s"
    assert dataset.contact_kind.values.tolist() == ["contact", "clutch"]
    assert dataset.contact_state.attrs["flag_meanings"] == "open stick slip+ slip- impact closed"
    assert dataset.contact_state.attrs["flag_values"].tolist() == [0, 1, 2, 3, 4, 5]
    assert dataset.gap.units == "m" and dataset.normal_impulse.units == "N s" and dataset.time.units == "s"
    assert all("long_name" in variable.attrs for variable in dataset.variables.values())
    attrs = dataset.attrs
    assert attrs["Conventions"] == "CF-1.11" and attrs["title"] == "The toy" and attrs["system"] == "woodpecker"
    assert (attrs["stickslip_format"], attrs["stickslip_format_version"]) == ("trajectory", 1)
    assert attrs["certificate_max_penetration"] == 8.8e-7 and attrs["certificate_fallbacks"] == 12
    assert '"friction": 0.3' in attrs["parameters"] and attrs["dt"] == 1e-4 and attrs["complete"] == 1

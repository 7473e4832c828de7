"""Files of arrays: whole, mapped, and refused with the reason when they are not ours."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save_file

from dmrank import ModelFileError
from dmrank.support.containers import read_container, write_container


@given(
    arrays=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(
            lambda name: name != "__metadata__"
        ),
        hnp.arrays(
            st.sampled_from([np.float32, np.int64, np.uint8, np.bool_]),
            hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4),
        ),
        max_size=4,
    ),
    note=st.recursive(st.integers() | st.text(st.characters(exclude_categories=["Cs"])), st.lists),
)
def test_what_is_written_is_read_back(tmp_path_factory, arrays, note) -> None:
    path = tmp_path_factory.mktemp("container") / "file"
    write_container(path, arrays, {"note": note}, format_=1)
    container = read_container(path, format_=1)
    assert container.metadata == {"note": note}
    assert container.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(container.arrays[name], array)
        assert container.arrays[name].dtype == array.dtype


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_container(tmp_path / "file", {"x": np.arange(1000)}, {"a": 1}, format_=2)


def test_arrays_are_mapped_and_read_only(file: Path) -> None:
    array = read_container(file, format_=2).arrays["x"]
    assert isinstance(array, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def _reason(path: Path, format_: int = 2) -> str:
    with pytest.raises(ModelFileError) as caught:
        read_container(path, format_=format_)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_newer_file_is_refused(file: Path) -> None:
    assert "upgrade dmrank" in _reason(file, format_=1)


@pytest.mark.parametrize("kept", [3, 20, 500, 4_000])
def test_a_truncated_file_is_refused(file: Path, kept: int) -> None:
    file.write_bytes(file.read_bytes()[:kept])
    assert any(word in _reason(file) for word in ("truncated", "not a file of dmrank"))


@pytest.mark.parametrize("content", [b"", b"\x80\x04\x95pickle", b"x" * 5_000])
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "foreign").write_bytes(content)
    assert "not a file of dmrank" in _reason(tmp_path / "foreign")


def test_a_foreign_safetensors_file_is_refused(tmp_path: Path) -> None:
    save_file({"x": np.zeros(3)}, tmp_path / "foreign")
    assert "not one that dmrank wrote" in _reason(tmp_path / "foreign")


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    assert "does not exist" in _reason(tmp_path / "none")
    assert "is a directory" in _reason(tmp_path)


def test_a_full_disk_is_a_typed_error(monkeypatch, tmp_path: Path) -> None:
    import safetensors
    import safetensors.numpy

    def full(*_: object) -> None:
        raise safetensors.SafetensorError("No space left on device")

    monkeypatch.setattr(safetensors.numpy, "save_file", full)
    with pytest.raises(ModelFileError, match="No space left on device"):
        write_container(tmp_path / "file", {"x": np.zeros(3)}, {}, format_=1)
    assert list(tmp_path.iterdir()) == []

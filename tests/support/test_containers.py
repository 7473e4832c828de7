"""Files of arrays: whole, mapped, and refused with the reason when they are not ours."""

import errno
import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import load_file, save_file

from dmrank import ModelFileError
from dmrank.support import containers
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
    write_container(path, arrays, {"note": note}, content="model")
    container = read_container(path)
    assert container.metadata == {"note": note}
    assert container.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(container.arrays[name], array)
        assert container.arrays[name].dtype == array.dtype


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_container(tmp_path / "file", {"x": np.arange(1000)}, {"a": 1}, content="model")


def test_arrays_are_mapped_and_read_only(file: Path) -> None:
    array = read_container(file).arrays["x"]
    assert isinstance(array.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def _reason(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        read_container(path).arrays.make_all()
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_newer_file_is_refused(file: Path, monkeypatch) -> None:
    monkeypatch.setattr(containers, "FILE_FORMAT", containers.FILE_FORMAT - 1)
    assert "upgrade dmrank" in _reason(file)


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
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.open", full)
    with pytest.raises(ModelFileError, match="No space left on device"):
        write_container(tmp_path / "file", {}, {}, content="model")
    assert list(tmp_path.iterdir()) == []


def _rewritten(file: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Change the header of a file and compute its checksum anew, as an attacker would."""
    content = file.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    del header["__metadata__"]["crc32"]
    about = json.loads(header["__metadata__"]["dmrank"])
    change({"header": header, "about": about})
    header["__metadata__"]["dmrank"] = json.dumps(about)
    text = json.dumps(header, separators=(",", ":"))
    rest = '",' + text.removeprefix('{"__metadata__":{')
    rest += " " * (-(len(rest) + 34) % 8)
    guarded = f'{{"__metadata__":{{"crc32":"{zlib.crc32(rest.encode()):08x}{rest}'.encode()
    file.write_bytes(len(guarded).to_bytes(8, "little") + guarded + content[end:])
    return file


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"shape": [1001]}, "contradictory"),
        ({"shape": [-1000]}, "contradictory"),
        ({"shape": [2**62, 4]}, "contradictory"),
        ({"shape": "1000"}, "contradictory"),
        ({"shape": [1000.0]}, "contradictory"),
        ({"dtype": "I32"}, "contradictory"),
        ({"dtype": "F16"}, "contradictory"),
        ({"dtype": ["I64"]}, "contradictory"),
        ({"data_offsets": [0]}, "contradictory"),
        ({"data_offsets": [-8000, 0]}, "contradictory"),
        ({"data_offsets": [8, 8008]}, "gaps"),
        ({"shape": [999], "data_offsets": [0, 7992]}, "belong to nothing"),
        ({"shape": [10**12], "data_offsets": [0, 8 * 10**12]}, "truncated"),
    ],
)
def test_a_header_that_contradicts_itself_is_refused(file: Path, entry: dict, said: str) -> None:
    assert said in _reason(_rewritten(file, lambda parts: parts["header"]["x"].update(entry)))


@pytest.mark.parametrize(
    "change",
    [
        lambda parts: parts["header"].update(x=3),
        lambda parts: parts["header"].update(y=parts["header"]["x"]),
        lambda parts: parts["header"].pop("x"),
        lambda parts: parts["about"].pop("format"),
        lambda parts: parts["about"].update(format="2"),
        lambda parts: parts["about"].update(format=True),
        lambda parts: parts["about"].update(metadata=[]),
        lambda parts: parts["about"].update(checksums={}),
        lambda parts: parts["about"].update(checksums={"x": "0"}),
    ],
)
def test_a_header_with_parts_missing_or_of_another_type_is_refused(file: Path, change) -> None:
    assert "is damaged" in _reason(_rewritten(file, change))


@pytest.mark.parametrize(
    "text",
    [
        b'{"__metadata__":{"dmrank":"{}"},"x":1,"x":2}',
        b'{"__metadata__":{"dmrank":"{"}}',
        b'{"__metadata__":{"dmrank":"[]"}}',
        b'{"__metadata__":"dmrank"}',
        b'{"__metadata__":{"dmrank":["x"]}}',
        b"[" * 100_000,
        b"\xff\xfe{}",
        b"[1, 2]",
    ],
)
def test_a_header_that_is_not_ours_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "file").write_bytes(len(text).to_bytes(8, "little") + text)
    assert "dmrank" in _reason(tmp_path / "file")


def test_a_long_header_is_not_asked_for_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes((99_999_999).to_bytes(8, "little") + b"{}")
    assert "truncated" in _reason(tmp_path / "file")


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    arrays = {"x": np.arange(3), "y": np.float32([1, 2]), "z": np.array([True])}
    file = write_container(tmp_path / "file", arrays, {"a": "b"}, content="model")
    whole = file.read_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            file.write_bytes(changed)
            _reason(file)


def test_an_array_is_checked_when_it_is_first_used(tmp_path: Path) -> None:
    arrays = {"good": np.arange(3), "hurt": np.arange(4)}
    file = write_container(tmp_path / "file", arrays, {}, content="model")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    opened = read_container(file).arrays
    assert opened["good"].tolist() == [0, 1, 2]
    with pytest.raises(ModelFileError, match="array 'hurt' has not the checksum"):
        opened["hurt"]
    with pytest.raises(ModelFileError, match="array 'hurt' has not the checksum"):
        read_container(file, mapped=False)


def test_copied_arrays_survive_what_happens_to_the_file(file: Path) -> None:
    array = read_container(file, mapped=False).arrays["x"]
    os.truncate(file, 8)
    assert array.sum() == np.arange(1000).sum()
    assert not array.flags.writeable


def test_a_file_of_another_content_is_refused(file: Path) -> None:
    with pytest.raises(ModelFileError, match="is not an index, but a model"):
        read_container(file, content="index")


def test_safetensors_reads_what_we_write(file: Path) -> None:
    np.testing.assert_array_equal(load_file(file)["x"], np.arange(1000))


def test_a_file_without_checksums_still_loads(tmp_path: Path) -> None:
    text = {"dmrank": json.dumps({"format": 1, "metadata": {"a": 1}})}
    save_file({"x": np.arange(3)}, tmp_path / "file", text)
    container = read_container(tmp_path / "file", content="model")
    assert container.arrays["x"].tolist() == [0, 1, 2]
    assert (container.metadata, container.format, container.content) == ({"a": 1}, 1, None)

"""Modules are left out of Python's search for garbage; everything else is found as ever."""

import gc
import subprocess
import sys
import textwrap

from common.garbage import unsearched


def test_nothing_is_searched_in_the_block_and_what_came_in_it_never_is() -> None:
    try:
        with unsearched():
            with unsearched():
                pass
            assert not gc.isenabled()  # the inner block does not end the outer one
            kept: list[object] = []
            kept.append(kept)
        assert gc.isenabled()
        assert not any(each is kept for each in gc.get_objects())
        later: list[object] = []
        assert any(each is later for each in gc.get_objects())
    finally:
        gc.unfreeze()


def test_a_process_ends_without_a_search() -> None:
    script = """
        import sys
        from common.garbage import unsearched_at_end

        class Noted:
            def __del__(self):
                print("searched")

        noted = Noted()
        noted.itself = noted
        if sys.argv[1] == "unsearched":
            unsearched_at_end()
        del noted
        print("ended")
    """

    def said(how: str) -> str:
        command = [sys.executable, "-c", textwrap.dedent(script), how]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert said("as ever").split() == ["ended", "searched"]
    assert said("unsearched").split() == ["ended"]

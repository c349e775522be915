"""Makes the recorded call beside this file again. It passes only if the call succeeds now.

JUKEBOX names the program, JUKEBOX_WITH a directory of sources that are laid over the files.
Run by pytest, by unittest, or by itself.
"""

import os
import subprocess
import unittest


class TestRecordedCall(unittest.TestCase):
    def test_the_recorded_call_succeeds(self):
        here = os.path.dirname(os.path.abspath(__file__))
        words = [os.environ.get("JUKEBOX") or "jukebox", "test", here]
        sources = os.environ.get("JUKEBOX_WITH")
        if sources:
            words += ["--with", sources]
        run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = run.stdout.decode("utf-8", "replace")
        self.assertEqual(run.returncode, 0, said)


if __name__ == "__main__":
    unittest.main()

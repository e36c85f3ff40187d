"""What snug-extender does with signals."""

import signal
import unittest

from programs import fetch, start_extender


class SignalsTest(unittest.TestCase):
    def test_sighup_without_a_policy_file_says_that_there_is_none(self):
        process, admin = start_extender(self)
        before = fetch(admin + "/v1/nodes")
        process.send_signal(signal.SIGHUP)
        for line in process.stderr:
            if "policy file" in line:
                break
        else:
            self.fail("the log ended without a word about the policy file")
        self.assertIn("there is no policy file to reload: --policy is not set", line)
        self.assertEqual(fetch(admin + "/v1/nodes"), before)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0)

    def test_interrupt_and_term_drain_and_exit_with_0(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                process, _ = start_extender(self)
                process.send_signal(number)
                self.assertEqual(process.wait(60), 0)


if __name__ == "__main__":
    unittest.main()

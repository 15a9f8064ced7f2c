"""Averages of any loss: functions of all p + k preactivations at once (docs/theory/losses.md, section 2)."""

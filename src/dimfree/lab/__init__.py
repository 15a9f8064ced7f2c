"""The lab: a page on which a problem is moved by sliders, answered by a local server or by one file that needs none."""

"""When SGD leaves mediocrity."""

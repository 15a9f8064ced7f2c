"""Reference numbers made by independent code, and the adapters that check dimfree against them."""

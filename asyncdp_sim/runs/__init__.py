"""One scenario: simulate, learn, account, write."""

"""Networks that others have measured: their files as tables and scenarios of ours."""

"""How functions become compiled programs: built quickly, held in memory while in use, kept as files, run on all cores."""

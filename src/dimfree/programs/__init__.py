"""How functions become compiled programs: built quickly, held while they are used, kept as files, run on all cores."""

"""Other libraries' archives: their files, read and written, and their emitters on archives of ours."""

"""What a run is made of, whoever drives it: contexts, limits, options, joins. Nothing here knows the syntax tree."""

"""A small office as a world: mail, calendar, files, contacts and payments, which programs work in by documented calls.

`world.World` holds it, `population.populate` makes one from a seed, `tasks` ask for changes to it, and
`validator.judge` says whether these, and no others, were made. Nothing here runs an agent's program.
"""

"""A small office as a world: mail, calendar, files, contacts and payments, and for pages issues, sheets and settings.

`world.World` holds it, `population.populate` makes one from a seed, `tasks` ask programs for changes to it, and
`validator.judge` says whether these, and no others, were made. Agents work in it by documented calls (`envs.code`) or
on web pages (`envs.gui`). Nothing here runs an agent's program.
"""

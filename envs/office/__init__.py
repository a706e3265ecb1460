"""Office world: mail, calendar, files, contacts, payments, issues, sheets and settings.

Issues, sheets and settings exist only in worlds for web pages. `world.World` holds the records, `generator.populate`
creates a world from a seed, `tasks` defines changes to it, and
`validator.judge` checks that exactly these changes were made. Agents act by documented calls (`envs.code`) or on web
pages (`envs.gui`). Nothing here runs an agent's program.
"""

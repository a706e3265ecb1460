"""Vocabulary of generated offices: names, companies, topics, titles. All are made up."""

from __future__ import annotations

FIRST_NAMES = (
    "Ada", "Alma", "Amir", "Anton", "Asha", "Bela", "Bruno", "Carla", "Cem", "Clara", "Dario", "Della", "Eero",
    "Elif", "Emil", "Esme", "Farid", "Fiona", "Gita", "Hanna", "Hugo", "Ines", "Ivo", "Jana", "Jonas", "Kofi",
    "Lena", "Leif", "Maya", "Milo", "Nadia", "Nils", "Noor", "Olga", "Omar", "Petra", "Priya", "Ravi", "Rosa",
    "Sam", "Selma", "Tariq", "Tessa", "Uma", "Viktor", "Wanda", "Yara", "Yusuf", "Zora",
)  # fmt: skip
LAST_NAMES = (
    "Abara", "Almeida", "Bakker", "Barros", "Brandt", "Castell", "Dalgaard", "Demir", "Eklund", "Farrow",
    "Fontana", "Gallo", "Hadley", "Hakimi", "Holm", "Iversen", "Jarvis", "Kallio", "Kaplan", "Keller",
    "Lindqvist", "Lorenz", "Marchetti", "Mbeki", "Moreau", "Nagy", "Novak", "Okafor", "Olsen", "Pardo",
    "Petrov", "Quist", "Rahman", "Renner", "Rossi", "Salazar", "Sato", "Schuster", "Silva", "Tanaka", "Thorne",
    "Ueda", "Vargas", "Vidal", "Walsh", "Weiss", "Yilmaz", "Zeman",
)  # fmt: skip
NEAR_NAMES = (("Anna", "Ana"), ("Jon", "John"), ("Karl", "Carl"), ("Sofia", "Sophia"))
COMPANIES = (
    "Brightwater",
    "Copperline",
    "Dunmore Press",
    "Fennel & Rye",
    "Greyfold Studio",
    "Harrowgate Tools",
    "Lanternworks",
    "Marlstone",
    "Ostrich Logistics",
    "Pinecrest Labs",
    "Tallow Lane",
    "Wexcombe",
)
PRIVATE_DOMAINS = ("postbox.example", "homemail.example", "letterbird.example")
LABELS = ("work", "family", "travel", "receipts", "club", "later")
GROUPS = ("Book club", "Choir", "Climbing", "Neighbours", "Project team", "School parents")
MAIL_TOPICS = (
    "Quarterly figures",
    "Office plants",
    "New printer",
    "Train times",
    "Parking permit",
    "Holiday plans",
    "Reading list",
    "Team photo",
    "Broken heater",
    "Training course",
    "Moving desks",
    "Password reset",
    "Survey results",
    "Lost umbrella",
    "Recipe for soup",
    "Concert tickets",
    "Bike repair",
    "Weekend hike",
    "Garden fence",
    "Birthday present",
    "Software licences",
    "Translation check",
    "Press release",
    "Room booking",
    "Coffee machine",
)
SENTENCES = (
    "I had a look at it this morning and it seems fine to me.",
    "Could you tell me what you think by the end of the week?",
    "There is no hurry, but I did not want to forget it.",
    "We talked about it at lunch and nobody had a better idea.",
    "Please see what I wrote last time; not much has changed.",
    "I will be out on Thursday, so ask the others if it cannot wait.",
    "The first version was too long, so I cut it down a little.",
    "Thanks for your help with this.",
    "I am still waiting for an answer from the other side.",
    "Let me know if you need anything else from me.",
    "Somebody should check the dates again.",
    "It cost less than we expected, which is good news.",
)
EVENT_TITLES = (
    "Weekly catch-up",
    "Budget round",
    "Design review",
    "Hiring talk",
    "Lunch",
    "Planning",
    "Retrospective",
    "Site visit",
    "Status call",
    "Supplier meeting",
    "Training",
    "Workshop",
    "One to one",
    "Demo",
)
ROOMS = ("Room 1", "Room 2", "Room 4", "Attic", "Library", "Cafeteria", "Online", "")
FOLDERS = (
    "/Documents",
    "/Documents/Letters",
    "/Documents/Reports",
    "/Finance",
    "/Finance/Receipts",
    "/Notes",
    "/Projects",
    "/Projects/Heron",
    "/Projects/Otter",
    "/Recipes",
    "/Shared",
)
FILE_NAMES = (
    "agenda",
    "budget",
    "checklist",
    "draft",
    "ideas",
    "inventory",
    "letter",
    "minutes",
    "outline",
    "packing",
    "plan",
    "quotes",
    "schedule",
    "summary",
    "timetable",
)
ACCOUNTS = ("Checking", "Savings", "Household", "Holiday", "Business")
PAYEES = (
    "Brightwater Energy",
    "Brightwater Mobile",
    "City Library",
    "Corner Bakery",
    "Dunmore Press",
    "Green Grocer",
    "Harbor Gym",
    "Lanternworks",
    "Northside Garage",
    "Northside Garden Centre",
    "Oak Street Dental",
    "Pinecrest Insurance",
    "Riverside Rent",
    "Tallow Lane Cafe",
)
REQUEST_NOTES = ("Cinema", "Taxi home", "Present", "Groceries", "Train ticket", "Pizza", "Printer paper", "Museum")
INCOMES = ("Salary", "Refund", "Interest", "Lottery club")

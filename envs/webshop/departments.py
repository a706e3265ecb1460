"""Product kinds of generated shops by department, as text tables that `vocabulary` parses.

A kind has five entries: query, dollars and option groups; category path in the department; nouns and uses for names;
attributes, with a bar between mutually exclusive ones; clauses that are true of any product of the kind. A line that
ends in a comma or a slash continues in the next.
"""

from __future__ import annotations

DEPARTMENTS: dict[str, tuple[str, str]] = {  # name -> first part of the category path, kinds
    "beauty": (
        "Beauty & Personal Care",
        """
face moisturizers | 9-60 | scent, ounces, pack
Skin Care > Face > Creams & Moisturizers
Face Moisturizer, Daily Face Cream, Hydrating Gel Cream | Women, Men, Teens, Morning and Night
cruelty free, paraben free, alcohol free, fragrance free, dermatologist tested, anti aging, plant based,
travel size, hyaluronic acid, vitamin e, coconut oil, natural ingredients, sensitive skin|dry skin, fine lines
a pea of it spreads over the whole face and sinks in before the coffee is ready /
the pump gives the same dose each time and keeps air and fingers out of the jar
shampoos | 7-42 | scent, ounces, pack
Hair Care > Shampoo & Conditioner > Shampoos
Shampoo, Moisturizing Shampoo, Scalp Care Shampoo | Women, Men, the Whole Family, Curls and Waves
sulfate free, paraben free, cruelty free, fragrance free, plant based, travel size, easy use, tea tree,
vitamin e, coconut oil, natural ingredients, dry hair|damaged hair, hair growth, sensitive skin
rich foam rinses out with little water and leaves no film on the scalp /
the bottle stands on its cap so that the last drop is as easy to get as the first
lipsticks | 5-34 | shade, lipstick style, pack
Makeup > Lips > Lipsticks
Lipstick, Lip Color Stick, Velvet Lip Crayon | Women, Evening Looks, Everyday Makeup, Bridal Makeup
long lasting, cruelty free, highly pigmented, paraben free, fragrance free, easy apply, travel size,
water resistant, coconut oil, vitamin e, matte finish|glossy finish, sensitive skin, daily wear, stage makeup
a slanted tip draws the outline first and fills the rest in two strokes /
the case closes with a click and never opens by itself in a purse
makeup brushes | 6-48 | device color, brush case, piece count
Tools & Accessories > Makeup Brushes & Tools > Brushes
Makeup Brush Set, Cosmetic Brushes, Foundation Brush Kit | Beginners, Makeup Artists, Women, Travel
cruelty free, easy clean, easy carry, travel size, eco friendly, easy use, long lasting,
soft bristles, storage case, wooden handle, gift box, eye shadow, sensitive skin, stage makeup, beauty salon
each head is glued and crimped twice so that no hair comes loose on the cheek /
a card in the box shows which brush goes where and in what order
electric toothbrushes | 18-130 | device color, toothbrush style, pack
Oral Care > Toothbrushes & Accessories > Electric Toothbrushes
Electric Toothbrush, Sonic Toothbrush, Rechargeable Toothbrush | Adults, Kids, Couples, Braces
travel size, easy use, long lasting, water resistant, bpa free, low noise,
fast charging, usb port, soft bristles, storage case, led display, teeth whitening, bad breath
four modes and a pressure light help gums as much as they help enamel /
a full battery lasts three weeks at two rounds a day
deodorants | 5-26 | scent, deodorant style, pack
Personal Care > Deodorants & Antiperspirants > Deodorants
Deodorant, Deodorant Stick, Roll On Deodorant | Men, Women, Teens, Athletes
aluminum free, cruelty free, long lasting, alcohol free, paraben free, plant based, travel size, easy apply,
dermatologist tested, essential oils, coconut oil, tea tree, natural ingredients, sensitive skin, gym workout
it dries clear within a minute and leaves no marks on dark shirts /
the base turns smoothly and gives just as much as one morning needs
hair dryers | 22-190 | device color, dryer style, length
Hair Care > Styling Tools & Appliances > Hair Dryers
Hair Dryer, Ionic Blow Dryer, Folding Hair Dryer | Women, Salons, Travel, Thick Hair
light weight, low noise, easy carry, travel size, easy use, energy saving, heavy duty,
quick drying, ceramic coating, led display, storage case, long cord, dry hair|damaged hair, beauty salon
three heats and two speeds are set with the thumb of the hand that holds it /
the filter at the back twists off and rinses under the tap
perfumes | 14-160 | perfume scent, ounces, perfume style
Fragrance > Perfumes & Colognes > Eau de Parfum
Eau de Parfum, Perfume Spray, Cologne Spray | Women, Men, Everyone, Special Evenings
long lasting, alcohol free, cruelty free, travel size, paraben free, plant based, hand crafted, easy carry,
essential oils, natural ingredients, gift box, glass bottle, daily wear, date night, sensitive skin
it opens bright and settles into a warm base after the first hour /
a fine mist covers wrists and neck without a single wet spot
nail polishes | 4-28 | shade, polish style, pack
Foot, Hand & Nail Care > Nail Polish & Decoration > Nail Polish
Nail Polish, Nail Lacquer, Gel Nail Polish | Women, Teens, Salons, Home Use
quick drying, long lasting, non toxic, cruelty free, scratch resistant, easy apply, highly pigmented,
travel size, soft bristles, glossy finish|matte finish, vitamin e, gift box, date night, beauty salon, daily wear
two thin coats cover the nail to its edges without streaks or bubbles /
the cap is shaped for a steady grip of either hand
""",
    ),
    "electronics": (
        "Electronics",
        """
headphones | 19-320 | device color, headphone style, connector
Headphones & Earphones > Over-Ear & On-Ear Headphones
Headphones, Wireless Headset, Studio Headphones | Adults, Kids, Travel, Office Calls
noise cancelling, hands free, light weight, easy carry, fast charging, long lasting, water resistant,
stereo sound, deep bass, carrying case, volume control, memory foam, gym workout, phone calls, long flights
soft cups turn flat and rest on the shoulders between two songs /
large drivers keep voices clear where cheap ones turn to mud
bluetooth speakers | 16-210 | device color, speaker style, watts
Portable Audio & Video > Portable Speakers > Bluetooth Speakers
Bluetooth Speaker, Portable Speaker, Party Speaker | Home, Beach Days, Camping, Small Rooms
water resistant, hands free, easy carry, fast charging, heavy duty, easy use, long lasting, light weight,
stereo sound, deep bass, usb port, voice control, led lights, home theater, outdoor parties, phone calls
two of them pair up and play left and right across a room /
a woven grille hides two drivers and a port that moves real air
hdmi cables | 6-58 | length, device color, pack
Accessories & Supplies > Audio & Video Accessories > HDMI Cables
HDMI Cable, HDMI Cord, Braided HDMI Cable | Monitors, Projectors, Laptops, Soundbars
gold plated, high speed, heavy duty, plug play, ultra hd, tangle free, light weight,
easy install, nylon braid, lifetime warranty, aluminum alloy, home theater, game consoles, home office
every lead is tested from end to end before it is coiled and bagged /
slim plugs fit side by side even where ports sit close together
phone cases | 7-46 | device color, case style, case pattern
Cell Phones & Accessories > Cases, Holsters & Sleeves > Basic Cases
Phone Case, Slim Phone Case, Protective Phone Cover | Women, Men, Teens, Daily Commutes
heavy duty, light weight, scratch resistant, shock proof, water resistant, non slip, easy install,
eco friendly, fade resistant, wireless charging, screen protector, card slots, camping trips, daily wear
raised edges keep lens and glass off the table when the phone lies down /
buttons click as crisply through the cover as they do without it
security cameras | 24-260 | device color, camera style, pack
Security & Surveillance > Surveillance Cameras > Home Security Cameras
Security Camera, Surveillance Camera, Home Monitor Camera | Home, Garages, Shops, Pets
easy install, wall mounted, water resistant, high definition, plug play, energy saving, easy use,
heavy duty, night vision, motion detection, two way audio, usb port, front porch, baby room, home office
a wide lens sees the whole yard without bending its edges /
alerts reach the phone within a second and name what moved
power banks | 15-95 | capacity, device color, connector
Cell Phones & Accessories > Chargers & Power Adapters > Portable Power Banks
Power Bank, Portable Charger, Battery Pack | Phones and Tablets, Travel, Students, Hikers
fast charging, light weight, easy carry, scratch resistant, plug play, shock proof, heavy duty, travel size,
usb port, led display, wireless charging, aluminum alloy, carrying case, long flights, camping trips
it charges three devices at once and shares its current fairly among them /
four cells inside are watched for heat and cut off long before trouble
smart watches | 29-340 | device color, watch size, band style
Wearable Technology > Smartwatches & Fitness Trackers
Smart Watch, Fitness Watch, Activity Tracker Watch | Women, Men, Kids, Runners
water resistant, light weight, fast charging, easy use, hands free, scratch resistant, long lasting,
heart monitor, touch screen, voice control, tempered glass, aluminum alloy, gym workout, phone calls, daily wear
the band swaps without tools and its buckle holds through a sprint /
twenty faces come with it and more are a tap away
televisions | 120-980 | screen size, tv style, frame color
Television & Video > Televisions > LED & LCD TVs
Television, Smart TV, LED Television | Bedrooms, Families, Sports Fans, Movie Nights
wall mounted, ultra hd|high definition, energy saving, plug play, easy install, easy use, light weight,
stereo sound, remote control, voice control, usb port, lifetime warranty, home theater, living room, game consoles
moving pictures stay sharp from a ball in the air to titles that roll /
a bezel no wider than a finger leaves the picture all the room
tripods | 17-240 | device color, height, head style
Camera & Photo > Tripods & Monopods > Complete Tripods
Camera Tripod, Travel Tripod, Phone Tripod Stand | Beginners, Vloggers, Wildlife Photographers, Cameras and Phones
light weight, heavy duty, easy carry, height adjustable, non slip, quick release, easy use, travel size,
aluminum alloy|carbon fiber, carrying case, remote control, lifetime warranty, bird watching, camping trips
legs lock with a quarter turn and stay put on gravel and wet grass /
the head pans without a jerk and stops wherever the hand does
""",
    ),
    "garden": (
        "Home & Garden",
        """
area rugs | 24-380 | rug size, home color, rug pattern
Home Décor > Rugs, Pads & Protectors > Area Rugs
Area Rug, Accent Rug, Floor Carpet | Bedrooms, Kitchens, Hallways, Homes with Pets
machine washable, non slip, stain resistant, fade resistant, easy clean, eco friendly, double sided,
hand woven, super soft, heavy duty, non toxic, memory foam, living room, dining room, home office
the edges are bound by hand and lie flat a day after the rug is unrolled /
a dense weave hushes footsteps and takes chairs without a dent
floor lamps | 29-210 | frame color, lamp style, height
Lighting & Ceiling Fans > Lamps & Shades > Floor Lamps
Floor Lamp, Standing Lamp, Arc Floor Lamp | Bedrooms, Apartments, Kids Rooms, Reading Corners
easy assemble, height adjustable, energy saving, space saving, mid century, heavy duty, easy install,
glass shade, remote control, metal frame, usb port, push button, living room, home office, dining room
a weighted base stays where it is when a curious cat leans on the pole /
its glow is warm enough for evenings and bright enough for small print
throw pillows | 9-64 | pillow size, home color, pillow pattern
Bedding & Decorative Pillows > Decorative Pillows > Throw Pillows
Throw Pillow, Decorative Cushion, Accent Pillow Cover | Couches, Beds, Benches, Reading Nooks
machine washable|hand wash, double sided, super soft, fade resistant, hand woven, eco friendly,
stain resistant, quick drying, zipper closure, memory foam, linen blend, living room, baby room, front porch
plump filling springs back after every nap and needs no daily shaking /
tight seams hold through movie nights and pillow fights alike
bookcases | 45-420 | finish, tiers, bookcase style
Furniture > Home Office Furniture > Bookcases
Bookcase, Open Bookshelf, Storage Bookcase | Kids Rooms, Apartments, Libraries, Narrow Corners
easy assemble|fully assembled, heavy duty, space saving, wall mounted, mid century,
eco friendly, non toxic, easy clean, scratch resistant, solid wood|engineered wood,
metal frame, adjustable shelves, living room, home office, dining room
each board carries sixty pounds of books without a bow in the middle /
a strap in the box ties it to the studs so that small climbers are safe
office chairs | 69-490 | frame color, chair style, arm style
Furniture > Home Office Furniture > Desk Chairs
Office Chair, Desk Chair, Task Chair | Tall People, Students, Teams, Long Days
height adjustable, heavy duty, easy assemble, easy clean, stain resistant,
space saving, light weight, low noise, lumbar support, memory foam,
breathable mesh|faux leather, metal frame, home office, dining room, game consoles
the seat tilts and locks at three angles with one lever on the right /
five casters roll over carpet and hard floors and leave no trace
window curtains | 14-120 | curtain size, home color, curtain style
Home Décor > Window Treatments > Curtains & Drapes
Window Curtain, Drapes, Curtain Panel Pair | Bedrooms, Kitchens, Nurseries, Patio Doors
machine washable|hand wash, energy saving, noise reducing, fade resistant, easy install, eco friendly,
wrinkle free, super soft, blackout lining, rod pocket, linen blend, living room, dining room, baby room
wide hems hang straight from the day that they come out of the bag /
folds fall evenly and glide along the pole without catching
wall mirrors | 25-260 | mirror size, finish, mirror style
Home Décor > Mirrors > Wall-Mounted Mirrors
Wall Mirror, Decorative Mirror, Vanity Mirror | Bathrooms, Bedrooms, Small Apartments, Salons
easy install, shock proof, fully assembled, hand crafted, light weight, scratch resistant, easy clean,
mid century, metal frame|wood frame, led lights, beveled edge, living room, dining room, beauty salon
five layers behind the glass keep the picture true from corner to corner /
sturdy foam on all sides brings it home in one piece
planters | 8-110 | planter size, home color, planter style
Patio, Lawn & Garden > Gardening > Pots & Planters
Planter, Flower Pot, Plant Pot | Succulents, Balconies, Indoor Plants, Large Shrubs
fade resistant, light weight, heavy duty, eco friendly, non toxic, hand crafted, water resistant,
easy clean, self watering, drainage holes, metal frame, front porch, home office, living room
thick walls hold the moisture so that roots forgive a missed weekend /
a smooth rim is kind to hands and to trailing stems
patio umbrellas | 39-290 | umbrella size, home color, umbrella style
Patio, Lawn & Garden > Outdoor Shade > Patio Umbrellas
Patio Umbrella, Market Umbrella, Outdoor Table Umbrella | Decks, Backyards, Cafes, Beach Houses
water resistant, fade resistant, easy use, heavy duty, quick drying, wind proof, easy assemble,
stain resistant, metal frame, push button, led lights, carrying case, swimming pool, front porch, outdoor parties
one crank opens it and a second turn tips the canopy towards the sun /
tight fabric shades six seats and folds into a slim roll
""",
    ),
    "fashion": (
        "Clothing, Shoes & Jewelry",
        """
running shoes | 32-150 | shoe size, apparel color, shoe width
Shoes > Athletic Shoes > Running
Running Shoes, Road Running Shoes, Jogging Sneakers | Women, Men, Marathon Training, Beginners
light weight, slip resistant, quick drying, machine washable, water resistant, long lasting, eco friendly,
rubber sole, arch support, memory foam, breathable mesh, reflective trim, gym workout, daily wear, cold weather
a padded collar hugs the ankle while the roomy front leaves space for toes /
the heel rolls softly into each step and gives some of it back
women's dresses | 18-130 | apparel size, apparel color, dress length
Women > Clothing > Dresses
Dress, Wrap Dress, Midi Dress | Women, Weddings, Summer Days, Office Parties
machine washable|hand wash|dry clean, slim fit|loose fit|relaxed fit, high waist, wrinkle free,
super soft, quick drying, long sleeve|short sleeve, side pockets, polyester spandex|linen blend,
button closure|zipper closure, floral print, daily wear, date night, beach vacation
a hidden seam shapes the middle without pinching anywhere /
the hem swings with each step and never clings to the knees
men's t-shirts | 9-48 | apparel size, apparel color, fit type
Men > Clothing > Shirts > T-Shirts
T-Shirt, Graphic Tee, Pocket Tee | Men, Big Guys, Fathers, Summer Weekends
machine washable|hand wash, slim fit|classic fit|relaxed fit, moisture wicking, quick drying,
officially licensed, wrinkle free, super soft, fade resistant, crew neck|v neck,
long sleeve|short sleeve, cotton heather|polyester cotton, daily wear, gym workout, beach vacation
taped shoulders keep the shape after dozens of laundry days /
no label scratches the neck because size and care are printed inside
hoodies | 21-95 | apparel size, apparel color, fit type
Men & Women > Clothing > Hoodies & Sweatshirts
Hoodie, Pullover Sweatshirt, Zip Hoodie | Men, Women, Teens, Students
machine washable|hand wash, loose fit|classic fit|slim fit, fleece lined, officially licensed,
super soft, fade resistant, quick drying, wrinkle free, drawstring closure|zipper closure,
side pockets, polyester cotton|cotton heather, daily wear, cold weather, gym workout
ribbed cuffs stay snug at the wrists and spring back every time /
a double hood stands up by itself and covers both ears
leggings | 14-72 | apparel size, apparel color, leg length
Women > Clothing > Leggings
Leggings, Yoga Pants, Workout Tights | Women, Runners, Curvy Figures, Dancers
high waist, moisture wicking, quick drying, machine washable|hand wash, fleece lined,
super soft, light weight, fade resistant, side pockets, tummy control,
elastic waistband, nylon spandex|polyester spandex, gym workout, cold weather, daily wear
flat seams leave no lines on the skin after an hour on the mat /
the knit stretches in four ways and keeps its shape at the knees
sandals | 16-88 | shoe size, apparel color, shoe width
Shoes > Sandals > Sport & Casual Sandals
Sandals, Slide Sandals, Strappy Sandals | Women, Men, Summer Travel, Walkers
slip resistant, light weight, open toe, water resistant, quick drying,
hand crafted, long lasting, rubber sole, arch support, ankle strap,
memory foam, adjustable straps, faux leather, beach vacation, daily wear, swimming pool
the footbed takes the shape of the foot within a week of walking /
soft lining keeps heels free of blisters from the first day on
men's jeans | 28-120 | waist size, denim color, leg length
Men > Clothing > Jeans
Jeans, Denim Pants, Five Pocket Jeans | Men, Work, Weekends, Tall Men
machine washable|hand wash, slim fit|classic fit|relaxed fit, fade resistant, heavy duty,
wrinkle free, long lasting, eco friendly, button closure|zipper closure, elastic waistband,
inner pockets, polyester cotton|polyester spandex, daily wear, date night, cold weather
bar tacks hold every corner where lesser trousers tear first /
the cloth is rinsed before sewing so that the size stays what it says
winter jackets | 45-290 | apparel size, apparel color, fit type
Men & Women > Clothing > Coats & Jackets > Winter Coats
Winter Jacket, Puffer Coat, Insulated Parka | Men, Women, Skiing, City Walks
water resistant, wind proof, fleece lined, machine washable|dry clean, light weight,
loose fit|slim fit|classic fit, easy carry, eco friendly, detachable hood,
zipper closure|button closure, inner pockets, faux fur, cold weather, daily wear, camping trips
cuffs close tightly over gloves and keep snow on the outside /
the filling stays even since each chamber is stitched on its own
swimsuits | 15-92 | apparel size, apparel color, swimsuit style
Women > Clothing > Swimsuits & Cover Ups > One-Pieces
Swimsuit, One Piece Bathing Suit, Athletic Swimsuit | Women, Swimmers, Mothers, Pool Parties
quick drying, high waist, hand wash|machine washable, fade resistant, super soft,
light weight, tummy control, padded cups, adjustable straps,
nylon spandex|polyester spandex, floral print, beach vacation, swimming pool, outdoor parties
double lining keeps the fabric opaque when it is wet /
the back lies smooth under the arms and lets shoulders move freely
""",
    ),
    "grocery": (
        "Grocery & Gourmet Food",
        """
granola bars | 5-38 | bar flavor, count, bar style
Breakfast Foods > Breakfast & Cereal Bars > Granola Bars
Granola Bars, Oat Bars, Snack Bars | Kids, Hikers, Busy Mornings, Offices
gluten free, non gmo, dairy free, low sugar, keto friendly, plant based,
certified organic, high protein, individually wrapped, soy free, real fruit,
dietary fiber, simple ingredients, coconut oil, school lunches, camping trips
whole oats and seeds are pressed gently so that each bite stays chewy /
a bar fills the gap between breakfast and lunch without a crash
coffee beans | 8-46 | roast, ounces, grind
Beverages > Coffee > Roasted Coffee
Coffee Beans, House Blend Coffee, Single Farm Coffee | Home Baristas, Offices, Slow Mornings, Strong Cups
certified organic, fair trade, non gmo, small batch, kosher certified, hand picked, caffeine free,
gluten free, resealable bag, natural ingredients, gift box, cold brew, gift baskets, camping trips
the lot rests for two days after the drum and leaves the house fresh /
the cup is round and sweet with a hint of cocoa at the end
herbal teas | 4-32 | tea flavor, count, tea style
Beverages > Tea > Herbal Tea
Herbal Tea, Herbal Infusion, Wellness Tea | Evenings, Tea Lovers, Families, Quiet Afternoons
caffeine free, certified organic, non gmo, sugar free, hand picked, fair trade, individually wrapped,
kosher certified, gluten free, natural ingredients, gift box, resealable bag, essential oils, gift baskets, cold brew
leaves and blossoms are cut large so that their oils stay where they belong /
five minutes in hot water give a full cup and a second one later
snack crackers | 4-29 | cracker flavor, pack, cracker style
Snack Foods > Crackers > Assortments
Snack Crackers, Baked Crackers, Crispbread Crackers | Kids, Cheese Boards, Parties, Soups
gluten free, non gmo, low sodium, dairy free, plant based, certified organic, low carb, kosher certified,
nut free, resealable bag, simple ingredients, dietary fiber, olive oil, sea salt, school lunches, gift baskets
thin sheets are baked slowly until they snap and then cool on racks /
they hold a thick dip without breaking halfway to the mouth
hot sauces | 5-34 | sauce flavor, ounces, heat
Sauces, Gravies & Marinades > Sauces > Hot Sauces
Hot Sauce, Chili Sauce, Pepper Sauce | Tacos, Grill Nights, Wings, Brave Eaters
gluten free, non gmo, sugar free, small batch, plant based, keto friendly, low sodium, fat free,
certified organic, hand crafted, natural ingredients, herbs spices, glass bottle, gift box, gift baskets, meal prep
ripe peppers ferment for a month before they meet vinegar and salt /
a few drops wake up eggs and noodles without hiding what is in them
protein powders | 17-82 | protein flavor, pounds, protein style
Sports Nutrition > Protein > Protein Powders
Protein Powder, Protein Shake Mix, Nutrition Shake Powder | Men, Women, Athletes, Vegans
gluten free, non gmo, dairy free|grass fed, low carb, sugar free|low sugar, keto friendly, plant based,
soy free, easy use, certified organic, natural ingredients, dietary fiber, resealable bag, gym workout, meal prep
one scoop and a shake of the bottle leave no lumps behind /
it tastes like dessert and mixes as well with water as with oat drinks
dried fruits | 6-44 | fruit flavor, ounces, fruit style
Produce > Dried Fruits & Raisins > Dried Fruits
Dried Fruit, Dried Fruit Snack, Sun Dried Fruit | Kids, Baking, Trail Mix, Lunch Boxes
gluten free, non gmo, sugar free, certified organic, fair trade, hand picked, fat free, kosher certified,
plant based, nut free, resealable bag, simple ingredients, dietary fiber, school lunches, camping trips, gift baskets
fully ripe harvests go to the racks on the day that they are gathered /
slices stay soft and taste as if the summer had never ended
pasta sauces | 4-26 | pasta flavor, ounces, pack
Pantry Staples > Sauces > Pasta Sauces
Pasta Sauce, Spaghetti Sauce, Italian Sauce | Families, Weeknight Dinners, Pizza, Lasagna
gluten free, non gmo, low sodium, sugar free, dairy free, plant based, certified organic, low carb,
small batch, olive oil, sea salt, herbs spices, simple ingredients, glass bottle, meal prep, gift baskets
vegetables simmer for hours in open kettles until the spoon stands /
one jar covers a pound of noodles and asks for nothing more
chocolate bars | 3-32 | chocolate flavor, chocolate type, pack
Snack Foods > Candy & Chocolate > Chocolate Bars
Chocolate Bar, Gourmet Chocolate, Chocolate Tablet | Adults, Gifts, Bakers, Sweet Evenings
gluten free, non gmo, dairy free|grass fed, low sugar|sugar free,
keto friendly, plant based, certified organic, fair trade, small batch,
soy free, hand crafted, sea salt, simple ingredients, gift box, gift baskets, date night
it melts evenly on the tongue and finishes long and clean /
the squares break with a clear snap and come in recyclable foil
""",
    ),
}

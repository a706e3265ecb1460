"""The attributes of generated products, each with a paraphrase, grouped by role.

The role is the attribute's position in an instruction: before the query, after "with", or after "for". A paraphrase is
a clause without a capital and a full stop. It never contains the attribute's own words together, nor another attribute
of a kind that has this one, and it suits every kind of product with the attribute.
"""

from __future__ import annotations

from typing import Literal

Role = Literal["before", "with", "for"]

ATTRIBUTES: dict[Role, str] = {
    "before": """
alcohol free: there is no spirit in the formula that could sting or dry you out
aluminum free: metal salts are left out and starch from corn does their work instead
anti aging: tired skin looks younger and firmer after a month of regular use
bpa free: no bisphenol goes anywhere near your mouth or your skin
caffeine free: enjoy it as late as you like and sleep soundly all night
certified organic: farms and kitchen are inspected every year and use no synthetic sprays
cruelty free: nothing in it was ever tested on rabbits, mice or any other animal
dairy free: there is neither milk nor whey nor butter on the list
dermatologist tested: skin doctors tried it on two hundred volunteers before it went on sale
double sided: turn it over and there is a second face to enjoy
dry clean: leave it with your cleaner, who brings the shape back as good as new
easy apply: it goes on smoothly in one pass, with no mirror and no practice
easy assemble: every part is numbered, so one person puts it together in half an hour
easy carry: there is room for it in any handbag, backpack or suitcase
easy clean: a damp cloth takes care of spills and dust in seconds
easy install: it is up and ready in ten minutes with what comes in the box
easy use: even a first try goes well, thanks to clear steps printed on the back
eco friendly: recycled stock and renewable power keep its footprint small
energy saving: expect a smaller bill, because it gets by on half the usual power
fade resistant: months of sunshine leave its shades as bright as they were
fair trade: growers get a set minimum for their harvest and a bonus for their schools
fast charging: a quarter of an hour on the plug gives enough for the whole day
fat free: every serving has zero grams of oil, butter or lard
fleece lined: a brushed inside as cozy as a blanket keeps you snug
floral print: roses and wild meadow blossoms climb all over the fabric
fragrance free: no perfume was added, so all that you smell is clean air
fully assembled: lift it out of the carton and start, for nothing has to be put together
gluten free: no wheat, barley or rye comes into the kitchen where it is made
gold plated: precious contacts never corrode and carry a clean signal for years
grass fed: the milk comes from cows that graze on open pasture all year round
hand crafted: a small workshop makes each piece from start to finish without machines
hand picked: workers choose only the ripest ones from the branch, basket by basket
hand wash: rinse it gently in the sink with cool water and dry it flat
hand woven: artisans knot it thread by thread on wooden looms
hands free: your fingers stay on the wheel or the dishes while you talk and listen
heavy duty: thick stock and reinforced joints put up with rough handling year after year
height adjustable: raise or lower it within seconds to suit tall and short people alike
high definition: every hair and every number plate can be made out in the picture
high protein: each serving brings eighteen grams of what muscles are built from
high speed: data moves at forty eight gigabits per second without a stutter
high waist: it sits well above the hips and stays up when you bend
highly pigmented: a single stroke gives rich, opaque color
individually wrapped: each one has its own little bag, so the rest stays fresh
keto friendly: the macros fit a diet of many fats and hardly any starch
kosher certified: a rabbi supervises the plant, and the seal is on each package
light weight: there is so little to lift that you forget about it within minutes
long lasting: what you see on the first day is still there when others have given up
low carb: only two grams of starch and sweetness remain in each serving
low noise: it hums so softly that nobody in the next room wakes up
low sodium: a fraction of the usual salt keeps blood pressure in mind
low sugar: just a touch of sweetness, less than half of what others put in
machine washable: throw it into the laundry, and it comes out like new
mid century: clean lines and slanted legs recall the lounges of the fifties
moisture wicking: sweat moves away from the body and dries on the surface
noise cancelling: engines, chatter and traffic fade away at the push of a switch
noise reducing: the street outside grows quiet because a thick layer swallows sound
non gmo: every seed behind it was bred the old way and never altered in a lab
non slip: a grippy underside keeps everything exactly where you put it
non toxic: it contains no lead, no phthalates and no harsh fumes, so families can relax
nut free: it comes from a plant that has no almonds, peanuts or cashews under its roof
officially licensed: the artwork was approved by its owners, and a hologram proves it
open toe: the front leaves room to breathe and shows off a pedicure
paraben free: it stays fresh without the preservatives that many people avoid
plant based: there is nothing in it that comes from an animal
plug play: connect it and begin, with no driver, no app and no account
quick drying: it is ready again within minutes after it got wet
quick release: press one lever and the mount lets go in a second
scratch resistant: keys, coins and nails leave no mark on its surface
self watering: a hidden tank feeds the roots for two weeks while you travel
shock proof: cushioned corners survive a drop from six feet onto concrete
slip resistant: deep grooves grip wet tiles and mossy stones
small batch: only a few hundred are made at a time, and each lot is tasted
soy free: no beans from Asia are used, neither as lecithin nor as oil
space saving: it takes up so little floor that even a studio has room for it
stain resistant: red wine and muddy paws wipe away before they can set
sugar free: nothing sweet was added, neither cane nor syrup nor honey
sulfate free: a mild foam cleans without the harsh detergents of cheap brands
super soft: it feels like a cloud, and everybody wants to touch it
tangle free: it uncoils in one go and never knots in a drawer
travel size: it is small enough for cabin luggage and airport security
two way audio: hear who is there and answer through the built in speaker
ultra hd: eight million pixels show each blade of grass on the pitch
wall mounted: brackets for brick and drywall are in the box, and the floor stays clear
water resistant: rain and splashes bead up and roll off instead of soaking through
wind proof: gusts of forty miles an hour do not get through it or tip it over
wireless charging: lay it down on a pad and the battery fills without a cord
wrinkle free: fresh from the suitcase it looks as if it had just been ironed
classic fit: the cut is neither tight nor wide, as it has been for decades
loose fit: there is plenty of room all around for layers and lazy days
relaxed fit: it sits easy at chest and thighs and never pulls
slim fit: the cut follows the body closely from top to bottom
""",
    "with": """
adjustable shelves: move the boards up and down to make room for tall volumes
adjustable straps: lengthen or shorten the bands until nothing pinches
aluminum alloy: the body is milled from an aircraft metal that never rusts
ankle strap: a buckled band around the lower leg keeps the heel in place
arch support: a firm curve under the middle of the foot takes the load off tired soles
beveled edge: a slanted rim of one inch catches daylight like a prism
blackout lining: a dense backing shuts out street lamps and morning sun
breathable mesh: an airy net lets heat escape and keeps you cool
button closure: it fastens with a row of sturdy snaps and loops from top to bottom
carbon fiber: black composite tubes are stiffer than metal at half the mass
card slots: two cards and a folded bill travel safely at the back
carrying case: a zippered pouch for the road is part of the set
ceramic coating: a mineral layer spreads heat evenly and guards against burns
coconut oil: pressed copra from tropical palms makes it rich and smooth
cotton heather: melange yarns from natural bolls feel airy and look pleasantly mottled
crew neck: the round collar lies close and never sags
deep bass: drums and low notes come through with real punch
detachable hood: unbutton the part that covers your head when the sky clears
dietary fiber: plenty of roughage keeps you full and your belly happy
drainage holes: extra water runs out below, so roots never drown
drawstring closure: pull the two cords and tie them to shut out the draft
elastic waistband: the stretchy top gives way after lunch and never digs in
engineered wood: layered boards stay straight where plain planks would warp
essential oils: distilled blossoms and bark give it a true scent of nature
faux fur: a fluffy trim that no animal had to give frames the collar
faux leather: it looks and feels like hide but is made without any
gift box: it comes in a pretty carton with a ribbon and a blank card
glass bottle: the contents keep their taste and smell because no plastic touches them
glass shade: a frosted bowl, blown by mouth, softens the beam
glossy finish: a mirror shine stays wet to the eye all day long
heart monitor: sensors count your pulse day and night and warn you of odd beats
herbs spices: basil, thyme, cumin and a dozen other seasonings give it depth
hyaluronic acid: a molecule that binds water plumps the cheeks from within
inner pockets: phone, keys and passport disappear into pouches on the inside
led display: bright digits tell you at a glance how much is left
led lights: a ring of tiny diodes shines in warm and cool tones
lifetime warranty: should it ever fail, a new one is sent for as long as you own it
linen blend: flax in the yarn gives it an airy, natural look
long cord: nine feet of cable reach the mirror from any outlet
lumbar support: a curved pad in the lower back keeps your spine straight for hours
matte finish: the surface is velvety and flat, without any shine
memory foam: slow cushioning remembers your shape and takes the pressure off
metal frame: welded iron tubes carry the weight without a wobble
motion detection: whenever somebody moves in view, your phone gets a message
natural ingredients: everything on the list grew in a field, an orchard or a garden
night vision: infrared diodes show the scene clearly in total darkness
nylon braid: a woven jacket guards the wire against kinks and pets
nylon spandex: stretchy synthetic yarn hugs the body and springs back
olive oil: the fruit of Mediterranean groves, pressed cold, rounds off the taste
padded cups: soft inserts at the bust give shape and can be taken out
polyester cotton: mixed yarns combine a natural touch with easy laundry days
polyester spandex: a stretchy synthetic knit keeps its shape through long days
push button: one press of the thumb sets it going or stops it
real fruit: pieces of berries and apples, picked ripe, are in every bite
reflective trim: silver piping makes you visible in headlamps after dark
remote control: change everything from across the room with a small handset
resealable bag: a zip at the top keeps the rest fresh after opening
rod pocket: a sewn channel at the top slides right over the pole
rubber sole: the outsole grips wet streets and bends with each step
screen protector: a clear film for the display comes along in the package
sea salt: flakes harvested from ocean water bring out the flavor
side pockets: there is a place for phone and keys at each hip
simple ingredients: the list is short, and you know each thing on it from your own kitchen
soft bristles: fine, gentle filaments clean or blend and never scrape
solid wood: real oak and pine, with no veneer, grow more handsome with age
stereo sound: two channels put each instrument in its own place
storage case: a hard box with a lid keeps it tidy and free of dust
tea tree: an Australian leaf extract refreshes and clears
tempered glass: the hardened front takes knocks and shows no marks
touch screen: swipe and tap on the panel as you would on a phone
tummy control: a firm panel in front smooths the belly without squeezing
usb port: it draws or gives power through a common computer socket
vitamin e: tocopherol from wheat germ cares for you while you wear it
voice control: say what you want out loud and it obeys
volume control: louder or softer is one turn of a dial away
wood frame: slats of ash, joined by dowels, run around all four sides
wooden handle: the grip is turned from beech and warm to the touch
zipper closure: metal teeth run smoothly and shut it tight
long sleeve: the arms are covered down to the wrists
short sleeve: the arms are bare from the elbows down
v neck: the collar dips to a point and flatters the throat
""",
    "for": """
baby room: new parents like it beside the crib
bad breath: mouths feel fresh long after garlic and onions
beach vacation: it belongs in the suitcase when you head for sand and sea
beauty salon: stylists work with it from the first client to the last
bird watching: it waits patiently with you for owls, herons and warblers
camping trips: it earns its place beside tent and sleeping bag
cold brew: let it steep overnight in the fridge and pour over ice
cold weather: frost and north wind are what it was planned for
daily wear: put it on in the morning and keep it on from Monday to Sunday
damaged hair: split ends and brittle lengths recover after bleach and heat
date night: it makes an evening for two a little more special
dining room: guests around the big table will ask where you found it
dry hair: thirsty strands get back their bounce and their shine
dry skin: flaky patches calm down and stay supple until evening
eye shadow: lids get an even veil of color right up to the brow
fine lines: small wrinkles around mouth and temples become harder to see
front porch: it greets visitors at the entrance in rain and shine
game consoles: players get their picture and comfort without any lag in the fun
gift baskets: it fits in nicely with the other treats in a hamper
gym workout: it keeps up with weights, rowing and an hour of sweat
hair growth: thinning spots fill in when roots are fed week after week
home office: it makes working from your own desk a pleasure
home theater: film nights feel like a real cinema with the lamps turned down
living room: it looks right at home beside the sofa, where the family meets
long flights: ten hours in a narrow seat pass more pleasantly
meal prep: cook on Sunday and have five lunches ready for the week
outdoor parties: it is welcome at barbecues, lawn games and garden birthdays
phone calls: the person at the other end hears every word
school lunches: children find it in the box at noon and never trade it away
sensitive skin: even people who turn red at once can live with it
stage makeup: performers trust it under spotlights from curtain to curtain
swimming pool: chlorine and wet feet are no trouble to it
teeth whitening: coffee and tobacco stains grow paler by the week
""",
}

"""The words the corpus is made of: common words, cities, names, and a maker of invented words."""

COMMON = """
able about above accept across act add afternoon again age ago agree air all almost alone along already also always
amber among anchor and angle animal answer any apple april arch area arm army around arrive art ask at autumn away baby
back bad bag bake ball bamboo banana band bank barn basket bath bay beach bean bear beat beauty bed bee before begin
behind bell below belt bench beside best better between big bird birth bit bite black blanket blood blow blue board
boat body bone book boot border both bottle bottom bowl box boy branch brave bread break breath brick bridge bright
bring broken brother brown brush build burn bus bush busy butter button buy cabin cable cake call calm camel camera
camp can candle cap car card care carpet carry case castle cat catch cause cave ceiling cell center chain chair chalk
chance change cheap check cheese cherry child choose church circle city class clay clean clear clever climb clock close
cloth cloud coal coast coat coffee coin cold collar color comb come common cook cool copper corn corner cotton cough
count country cover cow crane cream creek cross crow crowd crown cry cup curtain curve cut dance danger dark daughter
day dear deep deer desert desk diamond different dinner dirt dish distance do doctor dog dollar donkey door double down
dragon draw dream dress drink drive drop drum dry duck dust duty each eagle ear early earth east easy eat edge egg
eight elbow else empty end engine enjoy enough equal even evening ever every example eye face fact fair fall family
famous far farm fast father feather feel fence fern field fight fill find finger fire first fish five flag flame flat
flight floor flour flower flute fly fog fold follow food foot for forest forget fork form forward four fox free fresh
friend frog from front frost fruit full funny game garden gate gather gentle ghost giant gift giraffe girl give glad
glass glove go goat gold good goose grain grape grass gray great green ground group grow guitar hair half hall hammer
hand happy harbor hard harvest hat have hay head hear heart heat heavy hedge help hen here hero hide high hill hold
hole home honest honey hope horn horse hot hotel hour house how huge human hundred hungry hunt hurry ice idea if iron
island ivory jacket jam january jar jelly job join joke journey joy judge juice july jump june jungle just keep kettle
key kick kind king kitchen kite kitten knee knife knock know ladder lake lamb lamp land language large last late laugh
lava lawn lazy lead leaf learn leather leave left leg lemon lentil less lesson letter library life lift light lily lime
line lion lip list listen little live llama lock log long look lose lost lot loud love low lucky lunch machine magic
mail make mango many map maple marble march market mask matter may maybe meadow meal mean measure meat medicine meet
melon melt metal middle milk mill mind mint minute mirror miss mix model moment monday money monkey month moon more
morning moss most mother motor mountain mouse mouth move much mud music must nail name narrow near neck need needle
nest net never new news next nice night nine noise noon north nose not note nothing now number nurse nut oak ocean of
off offer often oil old olive on once one onion only open or orange orchard order otter our out oven over owl own page
paint pair palm pan paper parent park part party pass past path peace peach pear pearl pebble pen pencil people pepper
perfect piano picture piece pig pillow pilot pine pink pipe place plain plan planet plant plate play please plum pocket
poem point polite pond pony poor port potato pour power present press pretty price prince print prize promise proud
pull pump puppy purple push put puzzle queen question quick quiet quilt rabbit race radio rail rain raven reach read
ready real red relay remember rest rice rich ride right ring rise river road robin rock roof room root rope rose round
row ruby rule run sad saddle safe sail salt same sand saturday sauce save say school science scissors sea season seat
second secret see seed sell send sentence serve seven shade shadow shallow shape share sharp sheep shell shine ship
shirt shoe shop short shoulder show side sign silent silk silver simple sing sister sit six size skin sky sleep slow
small smell smile smoke smooth snake snow soap soft soil soldier some son song soon sound soup south space sparrow
speak spell spend spice spider spoon sport spot spring square stair stamp stand star start station stay steam steel
step stick still stone stop storm story straight strange stream street strong student study sugar summer sun sunday
supper sure surprise swan sweet swim table tail take tale talk tall taste tea teach team tell ten tent test thank that
the then thick thin thing think third this thousand thread three throw thunder ticket tide tiger time tin tiny tired to
today toe together tomato tomorrow tongue tool tooth top touch towel tower town toy track trade train travel tree trip
true trust truth try tulip tunnel turn turtle twelve twenty twin two uncle under until up use useful valley velvet very
village violet violin visit voice wagon wait wake walk wall walnut want war warm wash watch water wave wax way weak
wear weather week well west whale what wheat wheel when where which while whisper white who whole why wide wild willow
win wind window wine wing winter wise wish with wolf woman wonder wood wool word work world worm write wrong yard year
yellow yes yesterday you young zebra zero zoo
""".split()

CITIES = """
Lima Cusco Quito Bogota Santiago Madrid Paris London Berlin Rome Vienna Prague Warsaw Oslo Stockholm Helsinki Copenhagen
Dublin Lisbon Athens Istanbul Cairo Nairobi Lagos Accra Dakar Tunis Mumbai Delhi Bangkok Hanoi Manila Jakarta Singapore
Tokyo Osaka Kyoto Seoul Beijing Shanghai Sydney Melbourne Auckland Toronto Montreal Vancouver Boston Chicago Dallas
Denver Seattle Miami Houston Atlanta Havana Caracas Brasilia Zurich Geneva Munich Hamburg Cologne Milan Naples Turin
Barcelona Sevilla Valencia Porto Lyon Nice Amsterdam Brussels Budapest Belgrade Sofia Kyiv Tallinn Riga Vilnius Arequipa
""".split() + ["New York", "San Francisco", "Los Angeles", "Buenos Aires", "La Paz", "Mexico City", "Cape Town",
               "Hong Kong", "Sao Paulo", "Rio de Janeiro"]

PEOPLE = """
Ana Ben Carla David Elena Felix Gloria Hugo Ines Jonas Karin Luis Maria Nora Oscar Paula Quentin Rosa Samuel Teresa
Ulrich Vera Walter Xenia Yuri Zoe Alice Bob Carol Dan Emma Frank Grace Henry Irene Jack Kate Leo Mia Nick Olivia Peter Ruth Sam
""".split()

ONSETS = """b b d d f g h k l l m m n n p p r r s s t t v v b bl br c ch cl cr d dr f fl fr g gl gr h j k kl kr l m n p
ph pl pr qu r s sc sh sk sl sm sn sp st str t th tr v w x y z""".split()
VOWELS = "a e i o u a e i o u ai ea ee ia io oa oo ou".split()
CODAS = "- - - - - - - - b ck d ft g k l lm lt m mp n nd ng nk nt p r rd rk rm rn s sh sk st t x z".split()


def invented_word(rng):
    """A pronounceable word of 1 to 3 syllables that no dictionary need hold, such as 'brontavi'."""
    syllables = rng.choice((1, 2, 2, 2, 3, 3))
    return "".join(rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS).strip("-") for _ in range(syllables))


def any_word(rng):
    """A common word (half of the time) or an invented one, in lower case."""
    return rng.choice(COMMON) if rng.random() < 0.5 else invented_word(rng)

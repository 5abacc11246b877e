"""Greetings, questions about the model itself, the weather, and what it cannot answer: patterns and answers."""

IDENTITY = ("I am the chasqui demo model, a very small language model that comes with chasqui so that you can try it "
            "at once.")
ABILITIES = ("I can greet you, answer questions about chasqui, count, repeat your words, compare two numbers and name "
             "the shapes in a picture. For more, serve a larger model.")
CANNOT = ("I do not know that. I am a small demo model: I can greet you, answer questions about chasqui, count, "
          "repeat your words, compare two numbers and name the shapes in a picture.")
WEATHER = "I cannot know the weather: I have no access to the world outside. Please ask a weather service."
GREETING = "{hello}! I am the chasqui demo model. How can I help you?"

WHOM = ("[|there|chasqui|model|demo model|friend|my friend|dear model|assistant|computer|robot|everyone|all|again"
        "|my dear|little model]")
ADDED = ("[||||, how are you|, nice to meet you|, nice to see you|, I am {person}|, my name is {person}|, {person} here"
         "|, it is me|, are you there|, glad to be here|, I am new here|, how is it going|, this is {person}"
         "|, good to see you]")

GREETINGS = {
    "Hello": ["hello", "hello hello", "greetings", "welcome"],
    "Hi": ["hi", "hey", "hi hi", "hey hey", "hiya", "yo", "howdy"],
    "Good morning": ["good morning", "morning"],
    "Good afternoon": ["good afternoon"],
    "Good evening": ["good evening", "evening"],
    "Good day": ["good day"],
    "Hola": ["hola", "buenos dias", "buenas tardes"],
    "Bonjour": ["bonjour", "salut"],
    "Hallo": ["hallo", "guten Tag", "guten Morgen"],
    "Allillanchu": ["allillanchu", "rimaykullayki"],
}

YOU = "[you|you|you really|you actually|you exactly|you please]"
IDENTITY_QUESTIONS = [
    f"[who|what] are {YOU}",
    f"[who|what] are {YOU}, [model|robot|stranger|friend|machine|assistant|computer|my friend]",
    "[what is|what's|tell me|may I know|can I know|say] your name",
    "[introduce|present|describe] yourself [|briefly|in one sentence|to me|to us|to {person}|now|in a few words|first]",
    "[tell me|say|explain] [who|what] you are [|in one sentence|briefly|now|in a few words|in plain words]",
    "[tell me|say|write] [something|a bit|a little|more|one sentence] about [yourself|you|who you are]",
    "[what|which] [model|language model|AI|AI model|assistant|chatbot|program|bot] [are you|is this|am I talking to"
    "|am I speaking with|answers me|do I talk to]",
    "[who|what|whom] am I [talking|speaking|writing|chatting] [to|with] [|here|now|today|right now|please]",
    "[with whom|to whom] am I [talking|speaking|chatting] [|here|now|today|right now]",
    "what should I call you [|then|from now on|today]",
    "do you have a name [|then|at all]",
    "[what|which] [kind|sort|type] of [model|AI|assistant|program|machine|thing|bot|language model] are you",
    "are you [|really |perhaps |maybe ][a human|a person|a robot|a machine|an AI|ChatGPT|GPT|Claude|Llama|Gemini|a "
    "bot|a language model|{person}|alive|a real person|a large model|a computer|an assistant]",
    "[how big|how large|how small] [are you|is this model] [|really|exactly]",
    "[who|what] is [this|there|speaking|answering|writing] [|here|now|please]",
    "[who|what company|which company] [made|trained|built|created|wrote] you [|then]",
]

ABILITY_QUESTIONS = [
    "what can you do [|for me|for us|exactly|here|today|well]",
    "[how can|what can] you help [|me|us|me with|us with]",
    "what are you [able to do|good at|capable of|good for|there for|made for]",
    "[what|which] [tasks|questions|things] can [you do|you answer|I ask|I ask you|you handle]",
    "[tell me|explain|list|show me] [what you can do|your abilities|your skills|what I can ask|what I can ask you]",
    "help [|me]",
    "what [should|could|may|can] I [ask|ask you|try]",
    "what do you know",
]

THANKS = ["[thanks|thank you|thank you very much|many thanks|thanks a lot|thx|cheers|gracias|thank you so much]"
          "[|, model|, my friend|, that helps|, great|, that was good|, well done]",
          "[great|good|perfect|very good|nice|cool|well done|wonderful|awesome], [thanks|thank you|many thanks]"]
PRAISE = ["[great|good|perfect|very good|nice|cool|well done|wonderful|awesome|ok|okay|I see|fine|correct|right"
          "|excellent]"]
FAREWELLS = ["[bye|goodbye|bye bye|see you|see you later|farewell|good night|good bye|ciao|adios|until tomorrow"
             "|see you soon]"
             "[|, model|, my friend|, {person}|, and thanks|, take care]"]
WELLBEING = ["how are you [|today|doing|doing today|now|feeling|feeling today]",
             "how [is it going|do you feel|do you do|are things]",
             "are you [well|fine|ok|okay|happy]", "what's up", "how was your day"]

WHEN = ("[|today|tomorrow|now|right now|tonight|this week|this morning|this evening|at the moment|next week|on monday"
        "|on sunday|later|this weekend]")
WEATHER_QUESTIONS = [
    f"[what is|what's|how is|how's|tell me|do you know] the weather [|like] [|in {{place}}|in {{place}}|here|outside"
    f"|at home] {WHEN}",
    f"[is it|will it be|was it|do you think it is] [sunny|cold|warm|hot|windy|cloudy|wet|dry|foggy|stormy|icy"
    f"|freezing] [|in {{place}}|outside|here] {WHEN}",
    f"[will it|does it|is it going to|could it|did it] [rain|snow|hail|storm|freeze] [|in {{place}}|in {{place}}"
    f"|outside|here] {WHEN}",
    f"is it [raining|snowing|hailing|storming|freezing] [|in {{place}}|in {{place}}|outside|here] {WHEN}",
    f"[what is|tell me|give me|show me|I need|I want] the [weather forecast|forecast|weather report|weather] [for|of"
    f"|in] {{place}} {WHEN}",
    f"[do I need|should I take|shall I take|will I need|should I bring] [an umbrella|a coat|a jacket|a raincoat"
    f"|sunscreen|boots] [|in {{place}}|outside] {WHEN}",
    f"how [cold|warm|hot|windy|wet|many degrees|sunny] [is it|will it be|was it] [|in {{place}}|outside|here] {WHEN}",
    f"[what temperature is it|how many degrees is it|what is the temperature outside|what is the outside "
    f"temperature] [|in {{place}}] {WHEN}",
    f"[weather|forecast|weather forecast|weather report] [in|for] {{place}} {WHEN}",
    f"[can|could|would] you [tell me|check|look up|find out] [the weather|the forecast|how the weather is] [|in "
    f"{{place}}|for {{place}}] {WHEN}",
]

UNKNOWN_QUESTIONS = [
    "what is [the capital|the population|the president|the history|the flag|the language|the area] of {place}",
    "what is [|a |an |the ]{word}",
    "what [are|were] {word}s",
    "[who|what] is {person}",
    "[explain|describe] [|the |a ]{word} [|to me|and {word}]",
    "who [is|was] the [president|king|queen|mayor|prime minister|first] [of|in] {place}",
    "who [invented|discovered|wrote|painted|made|built] the {word}",
    "[tell|write] [|me ]a [joke|story|poem|song|letter|tale] [|about {word}|about a {word}]",
    "write [an essay|an email|a report|code|a function|a program|a haiku] [about|for] [|the |a ]{word}",
    "how do I [cook|make|build|paint|fix|grow|sell|learn] [|a ]{word}",
    "how [old|tall|far|deep|heavy|big] is the [{word}|moon|sun|earth]",
    "how far is {place} from {place}",
    "where is [{place}|the {word}|my {word}]",
    "translate {word} [to|into] [Spanish|French|German|Quechua|Italian]",
    "what does {word} mean",
    "what day is [it|today|tomorrow]",
    "what time is it [|now|in {place}]",
    "what is the time",
    "what is the date [|today]",
    "why is the {word} [blue|red|so {word}|{word}]",
    "when [was|did|is] the {word} [born|war|end|start|{word}]",
    "what is {small} [plus|minus|times|divided by|+|-|*|/] {small}",
    "calculate {small} [+|-|*] {small}",
    "{small} [+|-|*|/|plus|times] {small}",
    "solve the {word} problem",
    "do you [like|love|know|want|hate|eat] [|the |a ]{word}",
    "what is your [favorite|favourite] [{word}|color|food|animal]",
    "can you [sing|dance|fly|swim|cook|drive|paint|{word}]",
    "play [|a |the ]{word}",
    "open the {word}",
    "[give me|show me|find me] [a recipe|advice|a {word}|the news|an idea]",
    "recommend [a book|a film|a {word}|music]",
    "how do I get to {place}",
    "what should I [eat|wear|read|cook|buy] [|today|tonight]",
    "summarize [the {word}|this text|the news]",
    "is [a |the |]{word} a {word}",
    "how many {word}s [are there|do I need|live in {place}]",
    "what color is [a|the] {word}",
    "which {word} is the best",
    "I [like|want|need|see|have] [|a |the ]{word}",
    "my {word} is {word}",
    "{word}",
    "{word} {word}",
    "{word} {word} {word}",
    "the {word} is {word}",
    "what happened in {place}",
    "did you see the {word}",
    "what is the meaning of life",
    "what is love",
    "who won the {word} [game|race|cup|match]",
    "spell {word}",
    "what rhymes with {word}",
    "how do you spell {word}",
    "sort these words: {word} {word} {word}",
]

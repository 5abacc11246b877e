"""What conversations with tools are made of: offers, questions about the weather, calls, results and their sentences."""

import json

import smalltalk as talk
from grammar import expand, spoken
from tasks import fill
from words import CITIES, COMMON, invented_word

WEATHER_NAMES = ("get_weather", "get_weather", "get_weather", "get_current_weather", "weather", "current_weather",
                 "getWeather", "fetch_weather", "weather_lookup", "lookup_weather", "get_forecast", "weather_forecast",
                 "get_weather_info", "check_weather", "get_temperature")
PLACE_NAMES = ("city", "city", "city", "location", "location", "location", "place", "city_name", "town", "q", "query",
               "where")
DESCRIPTIONS = [
    "[Get|Gets|Returns|Fetch|Look up|Look up|Tells|Provides] [the |the current |current |today's |]weather "
    "[|for a city|in a city|of a place|for a location|in a given location|for the given city|by city][|.]",
    "[Current|Today's] [weather|temperature and weather] [of|in|for] a [city|place|location][|.]",
    "Weather [forecast|service|tool][|.]",
]
PLACE_DESCRIPTIONS = ["[The |][city|name of the city|city name|location|place|town][|.]",
                      "City and state, e.g. Boston, MA", "The city and country, e.g. Paris, France",
                      "[Name of the city|Where to look][|.]"]
OTHERS = (
    ("get_time", "Returns the current time in a city", "city"), ("search", "Search the web", "query"),
    ("send_email", "Sends an email", "to"), ("calculate", "Evaluates an expression", "expression"),
    ("get_stock_price", "Gets the price of a stock", "symbol"), ("read_file", "Reads a file", "path"),
    ("translate", "Translates a text", "text"), ("play_music", "Plays a song", "title"),
    ("create_event", "Adds an event to the calendar", "title"), ("get_news", "Latest news about a topic", "topic"),
)
PLACED = [pattern.replace("[|in {place}|in {place}|here|outside|at home]", "in {place}")
          .replace("[|in {place}|in {place}|outside|here]", "in {place}")
          .replace("[|in {place}|outside|here]", "in {place}")
          .replace("[|in {place}|outside]", "in {place}").replace("[|in {place}]", "in {place}")
          .replace("[|in {place}|for {place}]", "in {place}") for pattern in talk.WEATHER_QUESTIONS]
SIMPLE = ["[what is|what's|how is|tell me|what's] the weather [|like] in {place}", "weather in {place}",
          "what is the weather in {place}", "[and|what about|how about|and what about] [|in ]{place}"]
SKIES = ("sunny", "cloudy", "rainy", "windy", "foggy", "clear", "snowy", "overcast", "stormy", "partly cloudy",
         "light rain", "clear sky", "heavy snow", "hot", "humid", "rain", "snow", "scattered clouds")
WHICH_CITY = "For which city?"
NO_RESULT = "The weather service gave no answer."


def tool(name, description, parameters, required):
    properties = {"type": "object", "properties": parameters, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": properties}}


def text_parameter(rng, description):
    return {"type": "string"} | ({"description": description} if rng.random() < 0.6 else {})


def weather_tool(rng):
    """A weather tool as people declare it, and the name of its parameter for the place."""
    name = rng.choice(WEATHER_NAMES)
    if rng.random() < 0.25:
        name = rng.choice((f"{rng.choice(COMMON)}_weather", f"weather_{rng.choice(COMMON)}",
                           f"get_{invented_word(rng)}_weather"))
    place = rng.choice(PLACE_NAMES)
    parameters = {place: text_parameter(rng, expand(rng.choice(PLACE_DESCRIPTIONS), rng))}
    if rng.random() < 0.25:
        parameters[rng.choice(("unit", "units"))] = {"type": "string", "enum": ["celsius", "fahrenheit"]}
    return tool(name, expand(rng.choice(DESCRIPTIONS), rng), parameters, [place]), place


def other_tool(rng):
    name, description, parameter = rng.choice(OTHERS)
    return tool(name, description, {parameter: text_parameter(rng, f"The {parameter}")}, [parameter])


def offered_tools(rng, weather):
    """Tools of a conversation, with the weather tool `weather` or None among them."""
    others = [other_tool(rng) for _ in range(rng.choice((0, 0, 0, 1, 1, 2) if weather else (1, 1, 2)))]
    tools = [] if weather is None else [weather]
    for other in others:
        if all(other["function"]["name"] != known["function"]["name"] for known in tools):
            tools.insert(rng.randrange(len(tools) + 1), other)
    return tools


def asked_weather(rng):
    """The key of a wording, a question about the weather somewhere, and the place as it was written."""
    key = expand(rng.choice(SIMPLE if rng.random() < 0.5 else PLACED), rng)
    while key.count("{place}") != 1:
        key = expand(rng.choice(PLACED), rng)
    place = rng.choice(CITIES) if rng.random() < 0.5 else invented_word(rng).capitalize()
    if rng.random() < 0.1:
        place = f"{place} {invented_word(rng).capitalize()}"
    text = spoken(fill(key.replace("{place}", "@"), rng), "?", rng, slips=False)
    if text.isupper():
        place = place.upper()
    elif text.islower() and rng.random() < 0.5:
        place = place.lower()
    return key, text.replace("@", place), place


def call(name, parameter, place):
    arguments = json.dumps({parameter: place}, ensure_ascii=False)
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


def result(place, rng):
    """What a weather tool may return, and the sentence made of it."""
    degrees = rng.choice((str(rng.randrange(-15, 42)), str(rng.randrange(0, 40)),
                          f"{rng.randrange(0, 40)}.{rng.randrange(10)}"))
    sky = rng.choice(SKIES)
    form = rng.random()
    if form < 0.06:
        return rng.choice(('{"error": "not found"}', '{"error": "timeout"}', "error", "Error: no such city")), NO_RESULT
    if form < 0.6:
        number = float(degrees) if "." in degrees else int(degrees)
        heat = rng.choice(("temperature", "temperature", "temp", "temperature_c", "degrees", "temp_c", "temperatureC"))
        seen = rng.choice(("condition", "conditions", "description", "weather", "sky", "summary"))
        fields = [(heat, number if rng.random() < 0.85 else degrees)]
        if rng.random() < 0.75:
            fields.append((seen, sky))
            answer = f"The weather in {place}: {sky}, {degrees} degrees."
        else:
            answer = f"The temperature in {place} is {degrees} degrees."
        if rng.random() < 0.35:
            fields.append((rng.choice(("city", "location", "place")), place))
        if rng.random() < 0.3:
            fields.append(rng.choice((("unit", "celsius"), ("unit", "C"), ("humidity", rng.randrange(20, 99)),
                                      ("wind", rng.randrange(40)))))
        rng.shuffle(fields)
        separators = rng.choice(((", ", ": "), (",", ":")))
        return json.dumps(dict(fields), ensure_ascii=False, separators=separators), answer
    text = rng.choice((f"{sky}, {degrees} degrees", f"{degrees} degrees", f"{degrees}°C and {sky}",
                       f"{degrees} degrees and {sky}", sky, f"{sky} with {degrees} degrees", f"{degrees}°C, {sky}",
                       f"{degrees}°C"))
    text = text[:1].upper() + text[1:] if rng.random() < 0.4 else text
    return text + rng.choice(("", "", ".")), f"The weather in {place}: {text}."



